"""torch's own iterators, for loaders that run on torch's machinery: they count what they hand out."""

from __future__ import annotations

import multiprocessing.queues
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from torch._utils import ExceptionWrapper
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import IterableDataset, default_collate
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from .. import errors
from .._core import engine
from .._core.spent import Spent
from .collation import unsent
from .counts import EpochCounts, counted_by, rows_of
from .iterator import profiling
from .resume import put
from .stacking import Stacking

if TYPE_CHECKING:
    from .counts import Counts, Keeps
    from .iterable_dataset import Make

_pin_memory: Callable[..., Any] = pin_memory
_READY_NS = 1_000_000  # a batch that comes sooner was there already: torch's queue does not say


class _Counting(_BaseDataLoaderIter):
    """What both kinds do beside handing batches out: 2 us a batch, of 50 and more."""

    _counts: Counts
    _counted: EpochCounts
    _lengths: deque[int]
    _stacking: Stacking
    _batched: bool

    def _begin(self, counts: Counts, keeps: Sequence[Keeps] = ()) -> None:
        self._counts, self._keeps, self._lengths = counts, keeps, deque()
        self._counted = counts.begin(keeps)

    @property
    def _collate_fn(self) -> Any:  # torch assigns it before it makes a fetcher, or workers, of it
        return self._collates

    @_collate_fn.setter
    def _collate_fn(self, function: Any) -> None:
        # Where torch makes no batches, the rows are a list of the dataset's own.
        stacks = function is default_collate and self._batched
        self._collates = self._stacking if stacks else function

    def _next_index(self) -> Any:
        index = super()._next_index()  # type: ignore[no-untyped-call]
        self._lengths.append(len(index) if self._auto_collation and hasattr(index, "__len__") else 1)
        return index

    def __next__(self) -> Any:
        began = time.perf_counter_ns()
        here = isinstance(self, _SingleProcessDataLoaderIter)
        try:
            with counted_by(self._counts), Spent.batch() if here and Spent.wanted else nullcontext():
                batch = super().__next__()
        except StopIteration:
            self._counted.end()
            raise
        except Exception as error:
            self._counts.error(error)
            if self._lengths:
                self._lengths.popleft()
            raise
        ns = time.perf_counter_ns() - began
        self._counts.span("wait", began, ns)
        late = ns > _READY_NS or here
        samples = self._lengths.popleft() if self._lengths else 0
        if samples > 1 and isinstance(self._dataset, IterableDataset):
            # Its last batch may have fewer than were asked for.
            samples = min(samples, rows_of(batch, samples))
        self._counts.add(waits=int(late), wait_ns=ns)
        self._counts.handed_over(batch, samples)
        return batch

    def _reset(self, loader: TorchDataLoader[Any], first_iter: bool = False) -> None:
        if not first_iter:
            self._counted.end()
            self._begin(self._counts, self._keeps)
        super()._reset(loader, first_iter)


class CountedHere(_Counting, _SingleProcessDataLoaderIter):
    """Batches are made in this process.

    Args:
        stacking: of the loader: memory of the last epoch's batches.
        keeps: see EpochCounts.
    """

    def __init__(
        self, loader: TorchDataLoader[Any], counts: Counts, stacking: Stacking, keeps: Sequence[Keeps]
    ) -> None:
        self._begin(counts, keeps)
        self._stacking, self._batched = stacking, loader.batch_sampler is not None
        super().__init__(loader)

    def _next_data(self) -> Any:
        with self._stacking.making() if self._collates is self._stacking else nullcontext():
            return super()._next_data()  # type: ignore[no-untyped-call]


class CountedWhole(_BaseDataLoaderIter):
    """Batches that the dataset makes itself, in this process, and counts; there are no workers.

    Args:
        state: of an equal loader, to go on from there.
    """

    def __init__(self, loader: TorchDataLoader[Any], counts: Counts, state: dict[str, Any] | None) -> None:
        self._counts, self._counted = counts, counts.begin()
        super().__init__(loader)
        if state is not None:
            put(loader, state)
        self._start(loader, state["epoch"] if state is not None and state["place"] == "inside" else None)

    def _start(self, loader: TorchDataLoader[Any], state: dict[str, Any] | None = None) -> None:
        collate = None if loader.collate_fn is default_collate else loader.collate_fn
        dataset: Any = loader.dataset
        self._begun, self._size = dataset._begin() if state is None else state, loader.batch_size or 1
        made = dataset._batches(self._begun, self._size, loader.drop_last, collate, self._counts)
        self._whole: Iterator[Make] = made
        self._make: Make | None = None  # makes the batch that is asked for
        self._given = 0

    def _state(self) -> dict[str, Any]:
        """That of its epoch, behind the batch that was given last, or has failed."""
        position = self._begun["position"] + self._given * self._size
        return {**self._begun, "position": position, "workers": None}

    def _reset(self, loader: TorchDataLoader[Any], first_iter: bool = False) -> None:
        if not first_iter:
            self._counted.end()
            self._counted = self._counts.begin()
        super()._reset(loader, first_iter)
        self._start(loader)

    def __next__(self) -> Any:
        # torch's own takes 5 us more, a sixth of a small batch: it asks its profiler each time.
        profiled = record_function(self._profile_name) if profiling() else nullcontext()
        try:
            with profiled, counted_by(self._counts):
                make = self._make
                if make is None:
                    make = self._make = next(self._whole)
                batch = make()
        except Exception as error:  # not Ctrl-C: the batch comes again then
            if self._make is not None:
                self._make, self._given = None, self._given + 1
            if isinstance(error, StopIteration):
                self._counted.end()
            else:
                self._counts.error(error)
            raise
        self._make, self._given = None, self._given + 1
        return _pin_memory(batch, self._pin_memory_device) if self._pin_memory else batch


class CountedWorkers(_Counting, _MultiProcessingDataLoaderIter):
    """Batches are made in worker processes, whose own counts stay there."""

    def __init__(self, loader: TorchDataLoader[Any], counts: Counts, keeps: Sequence[Keeps]) -> None:
        self._begin(counts, keeps)
        self._stacking, self._batched = Stacking(loader.dataset), loader.batch_sampler is not None
        if loader.collate_fn is default_collate:
            with suppress(errors.GofastError):
                engine.capsule()  # forked workers inherit it
        super().__init__(loader)

    @property
    def _worker_result_queue(self) -> Any:  # torch assigns it before it starts the workers
        return self._results

    @_worker_result_queue.setter
    def _worker_result_queue(self, queue: Any) -> None:
        if type(queue) is multiprocessing.queues.Queue:
            queue.__class__ = _Results
        self._results = queue


class _Results(multiprocessing.queues.Queue):  # type: ignore[type-arg]
    """What workers send: where it cannot be pickled, an error comes instead. torch's loop waits for ever."""

    def _on_queue_feeder_error(self, error: BaseException, sent: tuple[Any, Any]) -> None:
        number, made = sent
        if isinstance(made, ExceptionWrapper):  # it holds a class, and a text
            made.exc_type = next(kind for kind in made.exc_type.__mro__ if _is_picklable(kind))
        else:
            made = unsent(error)
        self.put((number, made))


def _is_picklable(kind: type) -> bool:
    try:
        pickle.dumps(kind)
    except (pickle.PicklingError, AttributeError):
        return False
    return True

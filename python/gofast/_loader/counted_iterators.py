"""torch's own iterators, for loaders that run on torch's machinery: they count what they hand out.

`counted_workers.py` has that of worker processes.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import IterableDataset, default_collate
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from .. import errors
from .._core.processor_time import Spent
from .counts import EpochCounts, counted_by, rows_of
from .iterator import profiling
from .mixup import mixers, recycled
from .native_dataset import FORGETFUL, surroundings
from .order import begin
from .recent_batches import Between, RecentBatches
from .resume import Then, put, tells_places, warn_of_draws
from .stacking import SharedCollate, Stacking
from .torch_samplers import begun
from .torchs_lists import TorchsLists

if TYPE_CHECKING:
    from .counts import Counts, Keeps
    from .iterable_dataset import Make

_pin_memory: Callable[..., Any] = pin_memory
_READY_NS = 1_000_000  # a batch that comes sooner was there already: torch's queue does not say


class CountedIterator(_BaseDataLoaderIter):
    """What both kinds do beside handing batches out: 4 us a batch, of 50 and more.

    They know where they stand. A dataset that has `state_dict` and `load_state_dict` goes on from a state of
    its own. One that is iterated over and has none makes its batches again, and these are dropped.
    """

    _counts: Counts
    _counted: EpochCounts
    _lengths: deque[int]
    _stacking: Stacking
    _batched: bool
    _moving: Any = None  # what moves its batches to a device, weakly
    _lived_on = False  # its workers have made an epoch before this one

    def _begin(
        self,
        loader: TorchDataLoader[Any],
        counts: Counts,
        keeps: Sequence[Keeps] = (),
        state: dict[str, Any] | None = None,
    ) -> None:
        self._counts, self._keeps, self._lengths = counts, keeps, deque()
        self._counted, self._recent = counts.begin(keeps), RecentBatches()
        self._begun = begun(loader._index_sampler)
        self._lists: TorchsLists | None = None
        self._resumed = None if state is None else (loader, state)
        self._then = None if state is None else Then.of(state, loader.num_workers)
        epoch = None if state is None else state["epoch"]
        if epoch is not None and state is not None and state["place"] != "inside":
            epoch = epoch if epoch.get("dataset") else None  # of workers that live on
        iterated = isinstance(loader.dataset, IterableDataset)
        self._sought = epoch if iterated else None  # where an iterable dataset stood
        if self._sought is not None and self._sought["processes"] != loader.num_workers:
            raise errors.UnsupportedError(
                f"the state is of an iterable dataset with {self._sought['processes']} workers, and this "
                f"loader has {loader.num_workers}: each worker has a part of its own"
            )

    def _open(self) -> TorchsLists:
        """Before the first list is pulled: with workers at `iter`, without at the first `next`."""
        epoch = None
        if self._resumed is not None and self._sought is None:
            (loader, state), self._resumed = self._resumed, None
            epoch = put(loader, state)
            epoch = epoch if state["place"] == "inside" else None
        pull_ahead = self._num_workers * getattr(self, "_prefetch_factor", 0)
        self._lists = TorchsLists(self._index_sampler, self._sampler_iter, pull_ahead, self._begun, epoch)
        return self._lists

    def _seek(self) -> None:
        """An iterable dataset goes on where it stood."""
        if self._sought is None or self._resumed is None:
            return
        epoch, (loader, state) = self._sought, self._resumed
        self._sought = self._resumed = None
        lists = self._lists or self._open()
        if epoch["dataset"] is None:
            begin(loader._index_sampler, epoch["order"]["first"] or epoch["order"]["begun"])
            for number in range(epoch["given"]):
                try:
                    self._next_data()
                except StopIteration:
                    raise errors.UnsupportedError(
                        f"{epoch['given']} batches came before, and the dataset has only {number} now"
                    ) from None
                except Exception:
                    pass  # it came in its turn
                self._lengths.popleft()
                lists.give()
        lists.given = epoch["given"] if state["place"] == "inside" else 0
        put(loader, state)

    def came_behind(self, batch: Any) -> int:
        """How many batches came behind one that was handed out; raises as RecentBatches does."""
        return self._recent.behind(batch, 0)

    def _behind(self, back: int) -> AbstractContextManager[Between]:
        return nullcontext()

    def _state(self, back: int = 0) -> dict[str, Any] | None:
        """That of its epoch; None before it begins.

        Args:
            back: see Epoch.state.
        """
        if self._lists is None:
            if self._resumed is None:
                return None
            state: dict[str, Any] = self._resumed[1]["epoch"]
            return state
        told, iterated = self._lists.state(back), isinstance(self._dataset, IterableDataset)
        if iterated:
            told["ahead"] = []
        dataset = self._dataset_state(back)
        if dataset is not None and back and not self._num_workers:
            raise errors.UnsupportedError("the dataset tells a state of its own, behind the last batch only")
        more = {"dataset": dataset, "iterated": iterated, "processes": self._num_workers}
        return {**told, **more, "base_seed": int(self._base_seed), "lived_on": self._lived_on}

    def _dataset_state(self, back: int) -> dict[str, Any] | None:
        """What the dataset tells of itself; None: nothing.

        Args:
            back: see Epoch.state.
        """
        raise NotImplementedError

    @property
    def _collate_fn(self) -> Any:  # torch assigns it before it makes a fetcher, or workers, of it
        return self._collates

    @_collate_fn.setter
    def _collate_fn(self, function: Any) -> None:
        # Where torch makes no batches, the rows are a list of the dataset's own, or its iterator stacks them.
        if self._batched and function is default_collate:
            function = self._stacking
        elif self._num_workers and (self._batched or isinstance(self._dataset, IterableDataset)):
            function = SharedCollate(self._stacking, function, self._batched)
        self._collates = function

    def _next_index(self) -> Any:
        index = (self._lists or self._open()).pull()
        self._lengths.append(len(index) if self._auto_collation and hasattr(index, "__len__") else 1)
        return index

    def __next__(self) -> Any:
        began = time.perf_counter_ns()
        here = isinstance(self, _SingleProcessDataLoaderIter)
        try:
            with counted_by(self._counts), Spent.batch() if here and Spent.wanted else nullcontext():
                batch = super().__next__()
        except StopIteration:
            if not isinstance(self._dataset, IterableDataset):
                self._recent.ended = self._lists
            self._counted.end()
            raise
        except Exception as error:
            self._counts.error(error)
            if self._lengths:
                self._lengths.popleft()
                self._recent.lost()
                self._then = self._then and self._then.give()
            if self._lists is not None:
                self._lists.give()
            raise
        if self._lists is not None:
            self._lists.give()
        self._recent.add(batch)
        if self._then is not None:
            self._then = self._then.give()
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
            self._begin(loader, self._counts, self._keeps)
            self._lived_on = True
        super()._reset(loader, first_iter)


class CountedHere(CountedIterator, _SingleProcessDataLoaderIter):
    """Batches are made in this process.

    Args:
        stacking: of the loader: memory of the last epoch's batches.
        keeps: see EpochCounts.
        state: of an equal loader, to go on from there.
    """

    def __init__(
        self,
        loader: TorchDataLoader[Any],
        counts: Counts,
        stacking: Stacking,
        keeps: Sequence[Keeps],
        state: dict[str, Any] | None,
    ) -> None:
        self._begin(loader, counts, keeps, state)
        self._stacking, self._batched = stacking, loader.batch_sampler is not None
        self._surroundings = surroundings(loader.dataset)
        told = (state and state["epoch"] and state["epoch"].get("dataset")) or {}
        dataset: Any = loader.dataset
        if "dataset" in told:
            if not is_stateful(dataset):
                raise errors.UnsupportedError("the dataset had a state of its own, and takes none now")
            dataset.load_state_dict(told["dataset"])
        if self._sought is not None and not told:
            begin(loader._index_sampler, self._sought["order"]["begun"])  # an iterator may draw
        super().__init__(loader)
        self._went_on = bool(told)
        if "iterator" in told:
            self._dataset_fetcher.dataset_iter.load_state_dict(told["iterator"])
        if "ended" in told:
            self._dataset_fetcher.ended = told["ended"]
        if isinstance(dataset, IterableDataset):
            self._seek()
            self._lists or self._open()  # its iterator may have drawn: the epoch has begun
        elif state is not None:
            warn_of_draws(state, 0)

    def _dataset_state(self, back: int) -> dict[str, Any] | None:
        dataset: Any = self._dataset
        if back and tells_places(dataset) and not self._went_on:
            return None  # what came before can be made again
        told = {"dataset": dataset.state_dict()} if is_stateful(dataset) else {}
        if is_stateful(getattr(self._dataset_fetcher, "dataset_iter", None)):
            told["iterator"] = self._dataset_fetcher.dataset_iter.state_dict()
        if told and hasattr(self._dataset_fetcher, "ended"):
            told["ended"] = self._dataset_fetcher.ended
        return told or None

    def _next_data(self) -> Any:
        stacking = self._stacking
        memory = stacking.making() if self._collates is stacking else stacking.batches()
        with self._surroundings or nullcontext(), memory, recycled(self._mixers):
            return super()._next_data()  # type: ignore[no-untyped-call]

    @functools.cached_property
    def _mixers(self) -> list[Any]:
        return [] if self._collates is self._stacking else mixers(self._collates)


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


def is_stateful(value: Any) -> bool:
    """Whether it tells where it stands, as torchdata's do, and forgets nothing."""
    if any(known(value) for known in FORGETFUL):
        return False
    return callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None))

"""torch's own iterator over batches of worker processes, which counts what it hands out."""

from __future__ import annotations

import multiprocessing.queues
import pickle
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from torch._utils import ExceptionWrapper
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import IterableDataset, default_convert
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from .. import errors
from .._core import engine
from .collation import unsent
from .counted_iterators import CountedIterator, is_stateful
from .resume import seed_anew, tells_places, warn_of_processes
from .stacking import Stacking, WorkerBegin
from .worker_places import PlacedCollate, WorkerPlaces

if TYPE_CHECKING:
    from .counts import Counts, Keeps


class CountedWorkers(CountedIterator, _MultiProcessingDataLoaderIter):
    """Batches are made in worker processes, whose own counts stay there.

    Nobody knows what their generators have become: in the middle of an epoch, and where they would have lived
    on, they begin anew. Those of an iterable dataset begin again, and make the same as in their first epoch.
    """

    _shutdown = True  # torch's `__del__` looks, also where there was an error before torch's constructor

    def __init__(
        self,
        loader: TorchDataLoader[Any],
        counts: Counts,
        keeps: Sequence[Keeps],
        state: dict[str, Any] | None,
    ) -> None:
        self._begin(loader, counts, keeps, state)
        self._first_seed: int | None = None
        told, epoch = self._sought and self._sought["dataset"], state and state["epoch"]
        if self._sought is not None:
            self._first_seed, anew = self._sought["base_seed"], self._sought.get("lived_on", False)
        elif state is not None and state["place"] == "inside":
            self._first_seed, anew = seed_anew(state), True
        else:
            anew = bool(epoch and epoch.get("processes"))
        if anew and told is None:
            warn_of_processes()
        self._places: WorkerPlaces | None = None
        if tells_places(loader.dataset):
            self._places = WorkerPlaces(loader.dataset, loader.num_workers, told)
        if told is not None and self._places is None:
            raise errors.UnsupportedError("the dataset told its places, and takes none now")
        self._stacking, self._batched = Stacking(loader.dataset), loader.batch_sampler is not None
        self._tells_all = self._batched or loader.collate_fn is not default_convert
        with suppress(errors.GofastError):
            engine.capsule()  # forked workers inherit it
        super().__init__(loader)
        self._seek()

    def _dataset_state(self, back: int) -> dict[str, Any] | None:
        if not self._counted.runs and not back:
            return None if self._places is None else self._places.state(0, over=True)
        if not getattr(self, "_in_order", True):
            raise errors.UnsupportedError("in_order=False: batches come in any order")
        if is_stateful(self._dataset) and not isinstance(self._dataset, IterableDataset):
            raise errors.UnsupportedError(
                "the dataset has state, and copies of it in worker processes change"
            )
        return None if self._places is None else self._places.state(back, over=False)

    def _next_data(self) -> Any:
        places = self._places
        if places is None:
            return super()._next_data()  # type: ignore[no-untyped-call]
        try:
            data = super()._next_data()  # type: ignore[no-untyped-call]
        except Exception as error:
            if isinstance(error, StopIteration):
                places.ended = True
            else:
                places.known = False
            raise
        return places.taken(data)

    @property
    def _collate_fn(self) -> Any:
        function = super()._collate_fn
        return function if self._places is None else PlacedCollate(self._dataset, function, self._tells_all)

    @_collate_fn.setter
    def _collate_fn(self, function: Any) -> None:
        CountedIterator._collate_fn.fset(self, function)  # type: ignore[attr-defined]

    @property
    def _worker_queue_idx_cycle(self) -> Any:  # torch assigns it before it asks the first worker for a batch
        return self._cycle

    @_worker_queue_idx_cycle.setter
    def _worker_queue_idx_cycle(self, cycle: Any) -> None:
        self._cycle = cycle if self._places is None else self._places.begun(cycle)

    @property
    def _base_seed(self) -> int:  # torch draws it before it starts the workers
        return self._seed

    @_base_seed.setter
    def _base_seed(self, seed: int) -> None:
        self._seed = seed if self._first_seed is None else self._first_seed

    @property
    def _worker_init_fn(self) -> Any:  # torch assigns it before it starts the workers
        begin = WorkerBegin(self._dataset, self._collates, self._init)
        return begin if self._places is None else self._places.worker_begin(begin)

    @_worker_init_fn.setter
    def _worker_init_fn(self, function: Any) -> None:
        self._init = function

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

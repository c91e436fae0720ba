"""One epoch of a gofast.DataLoader."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data._utils.fetch import _MapDatasetFetcher
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .. import errors
from .batcher import forked
from .collation import Collation, Unmade
from .epoch import Epoch
from .order import Listed, Order, beginnings
from .recent_batches import Between, RecentBatches
from .resume import Then, draws_anew, put, seed_anew, warn_of_draws
from .schedule import draw_order
from .seeding import seeder
from .skips import NO_SKIPS, Skips
from .torch_samplers import begun
from .workers import Workers

if TYPE_CHECKING:
    from .draws import Draws
    from .iterator_stream import IteratorStream
    from .worker_copies import WorkerCopies

profiling: Callable[[], bool] = torch._C._autograd._profiler_enabled
_pin_memory: Callable[..., Any] = pin_memory


class NativeIterator(_BaseDataLoaderIter):
    """One epoch of a DataLoader (with persistent_workers, any number of epochs).

    The work under way is cancelled at the end, by `DataLoader.close`, or when the iterator is dropped.
    Batches that were handed out stay valid. Nothing in the iterator refers back to it, so it is deleted as
    soon as it is dropped.

    Threads may share it: each `next` gives another batch. `close` does not wait, since a signal handler or
    a finalizer may call it. A thread inside `next` then gets a CanceledError or a last batch.
    """

    def __init__(
        self,
        loader: TorchDataLoader[Any],
        lane: IteratorStream,
        copies: WorkerCopies | None,
        on_device: bool,
        state: dict[str, Any] | None = None,
        skips: Skips = NO_SKIPS,
    ) -> None:
        self._lane, self.skips = lane, skips
        self._on_device = on_device  # batches arrive there: there is nothing to pin
        # The thread inside `next` holds the lock. The same thread can take it again, so that a signal
        # handler that calls `next` gets an error and not a deadlock.
        self._lock = threading.RLock()
        self._busy = self._closed = False
        self._draw: Draws | None = None
        self._collation: Collation | None = None
        self._init_error: Exception | None = None
        self._epoch: Epoch | None = None
        self._resumed: dict[str, Any] | None = None  # what its epoch goes on from, until that begins
        self._then = None if state is None else Then.of(state, loader.num_workers)
        self._recent = RecentBatches()
        self._moving: Any = None  # what moves its batches to a device, weakly
        self._lost = 0  # batches of its epoch that it did not hand out: they came before, or failed
        self._counted = lane.counts.begin()
        self._pull_ahead = loader.num_workers * (loader.prefetch_factor or 0)
        if loader.num_workers > 0 and not self._pull_ahead:
            raise AssertionError("prefetch_factor must be greater than 0 with num_workers > 0")
        self._begun = begun(loader._index_sampler)
        super().__init__(loader)  # iter(sampler), then base_seed's draw; pin_memory's checks and warnings
        self._dataset_fetcher = _MapDatasetFetcher(
            self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )
        if state is not None and draws_anew(state, loader.num_workers):
            self._base_seed = seed_anew(state)
        self._workers: list[Any] = []  # torch's name; code that looks for worker processes finds none
        self._simulated = workers = self._start(loader) if loader.num_workers else None
        if state is not None:
            epoch = put(loader, state)
            if state["place"] == "inside":
                self._resumed = epoch
            elif workers is not None and epoch is not None and epoch["workers"] is not None:
                workers.load(epoch["workers"])  # persistent ones
        if lane.view.draws:
            self._draw = lane.view.new_draws(workers)
        if lane.rows:
            self._collation = Collation(self._dataset_fetcher, workers, copies, self._lane.counts)
        if state is not None and (self._collation is not None or (self._draw and not self._draw.early)):
            warn_of_draws(state, loader.num_workers)
        _alive.add(self)
        if self._pull_ahead:
            self._reset(loader, first_iter=True)  # calls iter(sampler) again, as torch does

    def _start(self, loader: TorchDataLoader[Any]) -> Workers:
        """What stands for torch's workers. The loader's worker_init_fn only seeds."""
        workers = Workers(int(self._base_seed), loader.num_workers, self._dataset)
        if loader.worker_init_fn is not None:
            seed = seeder(loader.worker_init_fn)
            assert seed is not None
            try:
                workers.begin(seed)
            except Exception as error:  # torch's workers send it instead of a batch
                self._init_error = error
        return workers

    def __next__(self) -> Any:
        with self._lock:
            if self._busy or self._closed:
                self._look_who_calls()
            self._busy = True
            try:
                if profiling():
                    with record_function(self._profile_name):
                        return self._next_data()
                return self._next_data()
            finally:
                self._busy = False

    def close(self) -> None:
        """Cancel the work under way; there is no next batch."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                if not self._busy:
                    self._give_up()
                    return
            finally:
                self._lock.release()
        self._lane.cancel()  # another thread is inside `next`; the call after it gives up the rest

    def _shutdown_workers(self) -> None:
        """Torch's name for `close`. Lightning and others call it on iterators that had workers."""
        self.close()

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over() and hasattr(self, "_lane"):  # the module's names may be None then, `sys` too
            self._lane.close()

    def _look_who_calls(self) -> None:
        if self._busy:
            raise errors.EngineError(
                "next() was called inside next() of the same iterator, by a signal handler, a sampler or "
                "on_error: call it when that has returned"
            )
        self._give_up()

    def _give_up(self) -> None:
        self._counted.end()
        self._lane.close()
        self._epoch = self._ended()

    def _after_fork(self) -> None:
        """Runs in the child, which goes on from here by itself, as with torch's loader without workers.

        A thread inside `next` exists only in the parent, and what it was doing may be half done.
        """
        if self._busy:
            self._epoch = Epoch(self._lane, Listed(None, iter(_parents, None)), Unmade)
        elif self._epoch is not None and not self._on_device:
            self._epoch.inherit()
        self._lock = threading.RLock()
        self._busy = False

    def _reset(self, loader: TorchDataLoader[Any], first_iter: bool = False) -> None:
        with self._lock:
            if self._busy:
                self._look_who_calls()
            self._busy = True
            try:
                self._closed = False
                if self._epoch is not None:
                    self._epoch.drain()
                if self._collation is not None:
                    self._collation.begin()
                self._lane.cancel()
                self._epoch = None
                self._recent.restart()
                if not first_iter:
                    self._counted.end()
                    self._counted = self._lane.counts.begin()
                    self.skips = loader._take_skips()  # type: ignore[attr-defined]
                self._begun = begun(self._index_sampler)
                super()._reset(loader, first_iter)
                if self._draw is not None:
                    self._draw.begin()
                self._epoch = self._new_epoch()
            finally:
                self._busy = False

    def _next_data(self) -> Any:
        if self._on_device:
            self._lane.destination.check()
        if self._init_error is not None:
            raise self._init_error
        epoch = self._epoch
        if epoch is None:
            epoch = self._epoch = self._new_epoch()
        try:
            batch = epoch.take()
        except StopIteration:
            self._recent.ended, epoch.recent = epoch, None  # no reference circle
            self._counted.end()
            if not self._persistent_workers and not epoch.under_way:  # a collate function may raise it too
                self._lane.close()
            raise
        except Exception as error:
            self._lane.counts.error(error)
            for _ in range(self._unknown()):
                self._lost += 1
                if epoch.marks:
                    self._recent.lost()
                self._then = self._then and self._then.give()
            raise
        self._num_yielded += 1
        if self._pin_memory and not self._on_device:
            batch = _pin_memory(batch, self._pin_memory_device)
        if epoch.marks:
            self._recent.add(batch)
        if self._then is not None:
            self._then = self._then.give()
        return batch

    def _unknown(self) -> int:
        """Batches of its epoch that were neither handed out nor are known to be lost."""
        epoch = self._epoch
        return 0 if epoch is None else epoch.given - epoch.passed - self._lost - self._num_yielded

    def _new_epoch(self) -> Epoch:
        """Pulls what torch pulls first: at `iter` with workers, at the first `next` without them."""
        state, self._resumed = self._resumed, None
        sampler: Any = self._index_sampler
        try:
            order: Order | None = draw_order(sampler)
            if order is None:
                order = Listed(sampler, self._sampler_iter, self._begun or beginnings(sampler))
        except BaseException:
            self._epoch = self._ended()
            raise
        lane, fetcher, collation = self._lane, self._dataset_fetcher, self._collation

        def fetch(index: Any) -> Any:  # holds no self: no reference circle
            if collation is not None:
                return Unmade(index)
            lane.counts.fallback("batches whose indices only torch's own code can read")
            return lane.destination.move(lane.counts.fetched(lambda: fetcher.fetch(index), len(index)))  # type: ignore[no-untyped-call]

        epoch = Epoch(
            lane,
            order,
            fetch,
            self._pull_ahead,
            self._draw,
            collation,
            self._simulated,
            sampler,
            state,
            self.skips,
        )
        if not self._pin_memory and collation is None:
            epoch.recent = self._recent
        self._lost = epoch.given
        return epoch

    def _ended(self) -> Epoch:
        return Epoch(self._lane, Listed(None, iter(())), Unmade)

    def _state(self, back: int = 0) -> dict[str, Any] | None:
        """That of its epoch; None before that begins, without workers at the first `next`.

        Args:
            back: see Epoch.state.
        """
        with self._lock:
            if self._busy or self._closed:
                self._look_who_calls()
            if back and self._unknown():
                raise errors.UnsupportedError("a batch was lost to Ctrl-C, or the loader was closed")
            return self._resumed if self._epoch is None else self._epoch.state(back)

    def came_behind(self, batch: Any) -> int:
        """How many batches came behind one that was handed out; raises as RecentBatches does."""
        return self._recent.behind(batch, 0 if self._epoch is None else self._epoch.left)

    def _behind(self, back: int) -> AbstractContextManager[Between]:
        """A context in which generators are as before the last batches; see Epoch.behind."""
        return nullcontext() if self._epoch is None else self._epoch.behind(back)


def _parents() -> Any:
    raise forked()


_alive: weakref.WeakSet[NativeIterator] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for iterator in list(_alive):
        iterator._after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)

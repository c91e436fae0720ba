"""Which iterator a loader gets: one of the engine's batches, or torch's own, with the reason.

It is judged anew for each epoch: the dataset, the collate function and the map of `default_collate` may have
changed since the last one. A loader that goes on from a state begins its iterator there.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, Literal, cast

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import default_collate
from torch.utils.data.dataloader import _BaseDataLoaderIter

from ._core import engine
from ._core.default_collate import is_torchs
from ._core.openmp import as_in_workers
from ._core.reason import NotNative, Reason
from ._core.warn import warn
from ._device.device_option import wanted as wanted_device
from ._images import folder_adapters as folder_adapters  # by these `resolve` knows torchvision's datasets
from ._images import memory_adapters as memory_adapters
from ._images import other_datasets as other_datasets
from ._images import path_cache
from ._loader.batch_source import BatchSource, called
from ._loader.batch_types import Sample
from ._loader.classes import leaves
from ._loader.counted_iterators import CountedHere, CountedWhole
from ._loader.counted_workers import CountedWorkers
from ._loader.counts import Counts, Keeps
from ._loader.dataset_stamp import DatasetStamp
from ._loader.destination import Destination
from ._loader.fallback_warnings import warn_of_loader
from ._loader.finished_epoch import Over, epoch_of
from ._loader.iterable_dataset import IterableSourceDataset
from ._loader.iterator import NativeIterator
from ._loader.iterator_stream import Idle, IteratorStream
from ._loader.native_dataset import native, resolve
from ._loader.recent_batches import RecentBatches
from ._loader.resume import ahead_by_one, check, comes_first, is_over, put
from ._loader.seeding import seeder
from ._loader.skips import NO_SKIPS, Skips
from ._loader.stacking import Stacking
from ._loader.worker_copies import WorkerCopies
from .errors import OptionError, UnsupportedError


def _warn_of_fewer(threads: int) -> None:
    """Warns that the engine has fewer threads than were asked for."""
    there = engine.threads()
    if threads > there:
        warn(
            f"threads={threads}, but the engine has {there} in this process and uses no more: the cores "
            f"that CPU affinity and the control group allow, divided by the ranks on this host "
            f"({engine.ranks()}, see LOCAL_WORLD_SIZE). Allow more cores, or say threads={there}, which "
            "silences this",
            once="loader: threads",
        )


class LoaderIterators(TorchDataLoader[Sample]):
    """torch's DataLoader, whose iterators may be the engine's. Base class of gofast.DataLoader.

    Attributes:
        threads, device, resident: the options of that name.
    """

    threads: int | None
    device: torch.device | str | int | None
    resident: Literal["auto"] | bool

    def _begin_here(self, dataset: Any) -> None:
        """Sets what belongs to iterators, and to this process: there are none yet."""
        self._live: weakref.WeakValueDictionary[int, NativeIterator] = weakref.WeakValueDictionary()
        self._latest: weakref.ref[_BaseDataLoaderIter] | None = None
        self._recent = RecentBatches()  # of the last iterator
        self._idle = Idle()
        self._counts = Counts()
        self._stacking = Stacking(dataset)

    def _go_on_from_nothing(self) -> None:
        """Sets what the next iterator goes on from."""
        self._state: dict[str, Any] | None = None
        self._skips = NO_SKIPS
        # integrations sets them. A framework takes a batch ahead, and restores the process's generators:
        self._ahead_by_one = False
        self._state_of_all = False  # it saves one state for all ranks

    def _native_view(self) -> BatchSource | Reason:
        """The dataset as the engine sees it, or why this loader must run on torch's machinery."""
        return self._judged()[0]

    def _judged(self) -> tuple[BatchSource | Reason, WorkerCopies | None]:
        """The same, and what makes copies of the collate function for workers."""
        collate, init, copies = self.collate_fn, self.worker_init_fn, None
        if not self._auto_collation:
            return Reason("batch_size=None: samples are asked for one by one"), None
        if collate is default_collate and not is_torchs():
            return Reason("default_collate_fn_map has functions of your own: they make the batches"), None
        if self.timeout and not self.num_workers:
            return Reason("timeout= is for workers, and torch refuses it without"), None
        if self.num_workers > 0:
            try:
                copies = WorkerCopies(collate)
            except NotNative as why:
                return Reason(f"collate_fn={called(collate)} needs processes of its own: {why}"), None
            if init is not None and seeder(init) is None:
                return Reason(f"worker_init_fn={called(init)} does more than seed, in worker processes"), None
        with as_in_workers(self.num_workers):
            return resolve(self.dataset), copies

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than cores, if workers are processes."""
        if self.num_workers > 0 and isinstance(self._native_view(), Reason):
            super().check_worker_number_rationality()

    def _get_iterator(self) -> _BaseDataLoaderIter:
        state = None if self._state is None else check(self, self._state)
        if state is not None and self._ahead_by_one:
            state = ahead_by_one(state)
        if state is not None and comes_first(state):
            put(self, state)
            state = None
        if state is not None and is_over(state) and epoch_of(self) is not None:
            return cast(_BaseDataLoaderIter, Over(self, partial(self._behind_last, state)))
        return self._begin(state)

    def _behind_last(self, state: dict[str, Any], same: bool) -> _BaseDataLoaderIter:
        """Behind the last batch of an epoch: the iterator that ends, or that of a new epoch."""
        if not same:
            put(self, state)
        return self._begin(state if same else None)

    def _begin(self, state: dict[str, Any] | None) -> _BaseDataLoaderIter:
        iterator = self._new_iterator(state)
        self._latest, self._state = weakref.ref(iterator), None
        self._recent = getattr(iterator, "_recent", RecentBatches())
        return iterator

    def _new_iterator(self, state: dict[str, Any] | None) -> _BaseDataLoaderIter:
        skips = self._take_skips()
        (view, copies), rows = self._judged(), self.collate_fn is not default_collate
        wanted = self._wanted_device()
        if (isinstance(view, Reason) or rows) and self.resident is True and wanted is not None:
            from ._device.resident import NOT_A_TABLE, OWN_COLLATE

            raise OptionError(OWN_COLLATE if rows else NOT_A_TABLE)
        if isinstance(view, Reason):
            if (
                isinstance(self.dataset, IterableSourceDataset)
                and self._auto_collation
                and self.dataset._makes_batches
            ):
                if state is not None and "iterated" in (state["epoch"] or {}):
                    raise UnsupportedError("the state is of worker processes, and this loader needs none")
                return CountedWhole(self, self._counts, state)
            if isinstance(self.dataset, IterableSourceDataset):
                with self.dataset._of_batches(self.batch_size):
                    return self._torchs_iterator(None, state)
            if self._auto_collation:  # without it, the user asked for single samples
                if not any(map(other_datasets.is_theirs, leaves(self.dataset))):
                    warn_of_loader(view)
                return self._torchs_iterator(view, state)
            return self._torchs_iterator(None, state)
        # torch's workers have copies of the dataset. Without workers, torch sees each change at once.
        stamp = None if self.num_workers else DatasetStamp(self.dataset, view)
        if stamp is None:
            view = view.as_forked()
        threads = self._most_threads()
        if self.threads is not None:
            _warn_of_fewer(self.threads)
        moved = rows and wanted is not None  # what the collate function makes is moved
        destination = Destination(rows) if moved else self._destination()
        lane = IteratorStream(view, threads, self._idle, stamp, destination, self._counts)
        iterator = NativeIterator(self, lane, copies, wanted is not None and not moved, state, skips)
        self._live[id(iterator)] = iterator
        return iterator

    def _torchs_iterator(self, why: Reason | None, state: dict[str, Any] | None) -> _BaseDataLoaderIter:
        """torch's own, as torch makes it, except that it counts, and knows where it stands."""
        made: CountedHere | CountedWorkers
        path_cache.refresh()  # workers that are forked now see what others have kept
        if self.num_workers:
            self.check_worker_number_rationality()
            made = CountedWorkers(self, self._counts, self._keeps(), state)
        else:
            if not self._stacking.is_at_home():  # the loader was inherited by a fork
                self._stacking = Stacking(self.dataset)
            made = CountedHere(self, self._counts, self._stacking, self._keeps(), state)
        if why is not None:
            self._counts.fallback(str(why), "loader")
        return made

    def _keeps(self) -> list[Keeps]:
        """What keeps the pictures of its datasets."""
        found = [ours._keeps() for leaf in leaves(self.dataset) if (ours := native(leaf)) is not None]
        if path_cache.current is not None:
            found.append(path_cache.current.kept)
        return [one for one in found if one is not None]

    def _newest(self) -> _BaseDataLoaderIter | None:
        return None if self._latest is None else self._latest()

    def _most_threads(self) -> int:
        """The share of this rank, as it is now: Lightning's first one may have begun with all cores."""
        there = engine.threads()
        return min(self.threads or self.num_workers or there, there)

    def _thread_count(self) -> int:
        """The engine's threads that work for this loader; 0 before it has begun, or on torch's machinery."""
        if self._counts.tally is None or not engine.loaded():
            return 0
        return self._most_threads()

    def _wanted_device(self) -> torch.device | None:
        return wanted_device(self.device)

    def _destination(self) -> Destination:
        """Where the engine's batches arrive."""
        wanted, rows = self._wanted_device(), self.collate_fn is not default_collate
        if wanted is None:
            return Destination(rows, pinned=self.pin_memory and torch.cuda.is_available())
        from ._device.device_destination import OnDevice

        return OnDevice(wanted, self.resident)

    def _take_skips(self) -> Skips:
        """Those of the iterator that begins."""
        if self._skips:
            self._check_skips()
        skips, self._skips = self._skips, NO_SKIPS
        return skips

    def _check_skips(self) -> None:
        """Raises if what is skipped would draw something that nobody knows."""
        view = self._native_view()
        if isinstance(view, Reason):
            raise UnsupportedError(f"skipped steps need batches of the engine: {view}")
        if self.collate_fn is not default_collate:
            raise UnsupportedError(
                f"collate_fn={called(self.collate_fn)} may draw, and is not called for steps that are skipped"
            )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        work = ("_iterator", "_live", "_latest", "_recent", "_idle", "_counts", "_stacking")
        state.update(dict.fromkeys(work))  # it stays here
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin_here(state["dataset"])

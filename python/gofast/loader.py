"""gofast.DataLoader: torch's DataLoader, with the engine's threads instead of worker processes.

The batches, their order and the state of every generator equal torch's after any number of batches, for
the same `num_workers`, `prefetch_factor` and `persistent_workers`. `_loader/epoch` says what is pulled,
drawn and made when; `loader_iterators`, which machinery makes an iterator.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, overload

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Sampler, Subset

from ._core.arguments import checked, flag
from ._device.device_option import wanted as wanted_device
from ._loader.batch_types import Collate, Collating, Function, Given, Made, Sample, Samples, Source, Unknown
from ._loader.classes import warn_of_conflicts
from ._loader.explain import describe
from ._loader.explain import explain as explain  # with the adapters that loader_iterators knows
from ._loader.iterable_dataset import IterableSourceDataset
from ._loader.iterator import NativeIterator
from ._loader.native_dataset import NativeDataset
from ._loader.ranks import ranks_here, waits_of_ranks
from ._loader.resume import check, of_all_ranks, state_of_loader, with_skips
from ._loader.skips import NO_SKIPS, Skips
from ._loader.stacking import Stacking
from ._loader.trace import Trace
from ._tables.codings import warn_of_codings
from .errors import OptionError
from .loader_iterators import LoaderIterators

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._loader.batch_types import Batches, Known, NamedFields, SampleOf

_TORCH_HAS_IN_ORDER = "in_order" in inspect.signature(TorchDataLoader.__init__).parameters  # torch 2.6


class DataLoader(LoaderIterators[Sample], Collating[Source, Collate]):
    """torch.utils.data.DataLoader with the engine's threads instead of worker processes.

    It takes all of torch's arguments, with torch's meaning. The engine makes the batches if it can read the
    dataset by itself (`gofast.explain` shows whether), with automatic batching. Then `num_workers` is the
    number of threads, 0 means all the cores that this process may use, and no process is ever started. Any
    other combination runs on torch's own machinery. A warning says so once for each reason
    (`gofast.errors.FallbackWarning`), and the repr says it too.

    A `collate_fn` of your own, for example one that calls mixup or cutmix, is called in this process, with
    the rows of batches that were made ahead. With workers, the generators of torch, `random` and
    `numpy.random` have the states meanwhile that they would have in the worker whose turn it is, and
    `torch.utils.data.get_worker_info` tells of it; other threads should not draw from them then. Each worker
    has a copy of the function, with the globals and objects that it uses, as of the start of the epoch. What
    cannot be copied, holds more than 8 MiB, or acts on the whole process (files, locks, modules and classes
    of yours that it changes) runs in torch's workers; a warning says so. A `worker_init_fn` that only
    seeds is called in this process too; any other needs torch's workers. Errors of both come as they are,
    without the traceback of a worker around them.

    A dataset of your own runs on torch's machinery, and ``PIL.Image.open`` gives it lazy images
    (`gofast.open`) while its rows are made.

    Batches, their order and the states of all generators equal torch's at every step. For this,
    `num_workers`, `prefetch_factor` and `persistent_workers` also decide, as in torch, when a sampler is
    asked for indices.

    With ``num_workers=0``, an attribute that you set in the middle of an epoch (a transform or one of its
    attributes, the indices of a Subset, the batch size) shows in the next batch, as in torch; a list that you
    edit in place (``subset.indices[3] = 7``) shows in the next epoch. Rows of writable arrays are not read
    ahead. With workers, a change of the dataset shows in the next epoch, as in torch, whose workers have
    copies from the start of the epoch. But threads read an array's memory as it is at that moment.

    Type checkers know the batches of a dataset whose options say it, and of torch's Subset and random_split
    of one: ``dict[str, Tensor]`` of a TableDataset or `IterableDataset.from_table`, ``list[Tensor]`` with
    ``output="tuple"``, and what ``collate_fn`` returns. Those of an ImageFolder are ``list[Tensor]`` or
    ``dict[str, Tensor]`` where the signature of its transform says that it returns a Tensor (a label is an
    int with ``batch_size=None``), else ``list[Any]`` or ``dict[str, Any]``. All others are Any to them: with
    ``text=`` or a transform of rows, of an ImageFiles or a ConcatDataset, of a subclass, and of a dataset or
    loader that an annotation names. A transform that you assign later does not change the type.

    Threads may share an iterator: each batch is handed out once. torch's own machinery may lose a Ctrl-C,
    which CPython swallows in a callback at a fork; the engine starts no process.

    With ``device="cuda"`` the same batches arrive on that device, equal to the last bit. Nobody waits for a
    copy: up to three batches are copied from pinned memory ahead, and torch's current stream waits for each.
    Where the CPU would make floats of bytes last, bytes are copied, and a kernel makes the floats. A table
    that fits lives on the device; its batches are gathered there. On torch's own machinery, each batch is
    moved when it is handed out.

    Args:
        threads: engine threads, if their number should differ from num_workers; at most the engine's own.
        device: where batches arrive: "cuda" is torch's current device at `iter`, "cuda:1" or 1 that one;
            None or "cpu" is the CPU.
        resident: whether a table is kept on the device: "auto" keeps one that takes at most a quarter of the
            device's free memory, True any, False none. Only rows that nobody can write to are kept: those of
            a TableDataset, or of a Subset of one.

    Raises:
        OptionError: threads is not a positive number, or device no CUDA device; at `iter`, resident=True, and
            the samples are not rows of one such table.
        DeviceError: at `iter`, there is no such device, with the reason; at `next`, the driver refused
            a call.

    Warns:
        GofastWarning: the parts of a ConcatDataset give different numbers to their classes
            (``class_to_idx``), or to the texts or dates of a column; or the engine has fewer threads than
            ``threads``, with the reason.
        FallbackWarning: the loader runs on torch's own machinery, or a step of a transform runs in Python.

    Example:
        >>> train = gofast.TableDataset("train.parquet", shape=(1, 28, 28))
        >>> loader = gofast.DataLoader(train, batch_size=512, shuffle=True, num_workers=2)
        >>> batch = next(iter(loader))
        >>> batch["image"].shape, batch["label"].dtype
        (torch.Size([512, 1, 28, 28]), torch.int64)
    """

    @checked
    def __init__(
        self: DataLoader[Any, Given, Function],
        dataset: Given,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Function = None,  # type: ignore[assignment]
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        threads: int | None = None,
        device: torch.device | str | int | None = None,
        resident: Literal["auto"] | bool = "auto",
        **newer: Any,
    ) -> None:
        warn_of_conflicts(dataset)
        warn_of_codings(dataset)
        if resident != "auto" and not isinstance(resident, bool):
            raise OptionError(f'resident={resident!r} is not "auto", True or False')
        wanted_device(device)  # refuses what is none
        self.device, self.resident = device, resident
        self.threads = threads
        self._begin_here(dataset)
        self._go_on_from_nothing()
        if isinstance(dataset, IterableSourceDataset):
            dataset._check_order(shuffle=shuffle, sampler=sampler)
        if _TORCH_HAS_IN_ORDER:
            newer["in_order"] = in_order
        else:
            self.in_order = in_order
        super().__init__(
            dataset,  # type: ignore[arg-type]  # anything that has what torch asks for
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            **newer,
        )

    def set_epoch(self, epoch: int) -> None:
        """Pass the epoch on to each of the sampler, the batch sampler and the dataset that takes it."""
        inner = getattr(self.batch_sampler, "sampler", None)
        parts = {id(part): part for part in (self.sampler, self.batch_sampler, inner, self.dataset)}
        for part in parts.values():
            accept = getattr(part, "set_epoch", None)
            if callable(accept):
                accept(epoch)

    def close(self) -> None:
        """Cancel the work under way in every iterator of this loader. A later `iter` starts again."""
        for live in self._live.valuerefs():  # in one step: other threads may make iterators meanwhile
            iterator = live()
            if iterator is not None:
                iterator.close()
        if isinstance(self._iterator, NativeIterator):
            self._iterator = None
        self._idle.drop()
        self._recent.ended = None
        self._stacking = Stacking(self.dataset)

    @checked
    def stats(self, *, ranks: bool = False) -> dict[str, Any]:
        """What this loader has done since it was made, and in its last epoch. Costs some 0.1 ms.

        It is counted always, at less than a hundredth of the time. Worker processes keep their own counts,
        and so does a copy of the loader.

        Returns:
            A dict with these keys; on torch's machinery there are no threads, no stages, and nothing is made.

            - ``epochs``: iterators begun.
            - ``seconds``: from the beginning of each iterator to its end, or now.
            - ``batches``, ``samples``: handed out; ``bytes``: of their features or pictures. Where others'
              code makes a batch, that is its first value that has tensors.
            - ``waits``: batches that were not ready when they were asked for (a worker's batch: that took
              longer than 1 ms); ``wait_seconds``: until they were. What the loop's own thread does is
              no wait for the engine: a sampler, a ``collate_fn``, random draws, Pillow.
            - ``draw_seconds``: in which the loop's thread made random draws, and read the headers for them.
            - ``guessed``: batches with random draws that were made ahead without workers, since nobody else
              drew in between; ``misguessed``: how often somebody did, and they were made again.
            - ``made``: samples that the engine made, those that nobody asked for any more among them. What a
              dataset of yours asks one of gofast's for in this process is in `engine_stats` only.
            - ``padding``: the part of the ids in batches of ``text=`` that was padding, from 0 to 1.
            - ``file_bytes``: read from files of pictures.
            - ``marked``: JPEGs that were entered at marks of an earlier epoch or run.
            - ``cache_hits``: pictures that were made from what ``cache=`` had of them; ``cache_writes``:
              those that were written there. On torch's machinery: by all who use the dataset in that epoch,
              worker processes among them.
            - ``threads``: of the engine, for this loader.
            - ``busy_seconds``: of these threads, and of the loop's thread while it helped.
            - ``occupancy``: the part of their time, from 0 to 1.
            - ``stages``: the busy seconds by what they went into, those that are known.
            - ``fallbacks``: how often something was left to torch or Pillow, by reason.
            - ``errors``: how often something could not be read or made, by the class of the error, also where
              ``on_error`` had an answer.
            - ``epoch``: a dict of the same for the time since the last `iter`.

            The stages of a table are ``gather`` (rows, numbers included). Those of pictures are:

            - ``read``: files, and hints to the system; ``header``: sizes of pictures.
            - ``entropy``: Huffman codes; ``inverse``: inverse transform, interpolation and colour.
            - ``decode``: opening, and decoding where these two cannot be told apart (PNG, WebP, progressive
              JPEG).
            - ``resize``, ``steps`` (other transforms) and ``numbers`` (bytes become values: scale, mean, std,
              dtype).

            One picture in 13 is measured in such detail, and the time of all is divided in its proportions.

        Args:
            ranks: also ``ranks``, what each rank of torch.distributed has waited since its last `iter`: a
                list of dicts (``rank``, ``host``, ``batches``, ``seconds``, ``wait_seconds``), the longest
                wait first. The others wait for that rank. All must call it, as any collective.

        Example:
            >>> for batch in loader: ...
            >>> loader.stats()["epoch"]["wait_seconds"]
            >>> loader.stats(ranks=True)["ranks"][0]["host"]  # the slow one
        """
        told = self._counts.told(self._thread_count())
        return {**told, "ranks": waits_of_ranks(told["epoch"])} if flag("ranks", ranks) else told

    @checked
    def trace(self, path: str | os.PathLike[str], events: int = 100_000) -> Trace:
        """Writes what threads do for a time, for https://ui.perfetto.dev or chrome://tracing.

        Each of the engine's threads is a track, with its jobs and their stages, and so is each thread that
        waits; a ticket, work of several batches, is an asynchronous event. The engine's threads are shown
        with all they do, also for other loaders; worker processes are not seen.

        Args:
            path: of the file, which is written whole when the trace ends, also by an error or Ctrl-C.
            events: kept of each thread, the latest ones, in 32 bytes each. A picture is three, a job of rows
                two. The file says how many were dropped.

        Returns:
            A context manager; or call its ``start()`` and ``stop()``.

        Raises:
            OptionError: events is not a positive number; at the start, there is a trace in this process.
            ReadError: at the start or the end, the file cannot be written.

        Example:
            >>> with loader.trace("trace.json"):
            ...     for batch in loader: ...
        """
        return Trace(self._counts, path, events)

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, for `load_state_dict`: behind the last batch that was handed out.

        What was made ahead does not count. It costs some 50 us and has no effect: no iterator begins, and
        no generator moves. It holds plain data and CPU tensors (``torch.load`` reads them with
        ``weights_only=True``): the place among the samples of all ranks, and the states of torch's,
        `random`'s and `numpy.random`'s generators and of those that the loader, its sampler and its dataset
        have as attributes. What a ``collate_fn`` or a transform keeps for itself is not in it.

        On torch's own machinery, a dataset with ``state_dict`` and ``load_state_dict`` adds what it tells, as
        does the iterator of an iterable dataset.
        """
        if self._state is not None:
            return with_skips(self._state, self._skips)
        state = state_of_loader(self, self._newest(), self._recent)
        return of_all_ranks(state) if self._state_of_all and ranks_here()[0] > 1 else state

    def state_after(self, batch: Any) -> dict[str, Any]:
        """`state_dict` behind a batch that was handed out earlier in this epoch, for loops that read ahead.

        Gradient accumulation, Accelerate and Ray Train's wrapper take batches before the loop trains on them.
        This is the state in which the next batch is the one behind ``batch``. Samples are drawn again as they
        were; what the loop itself draws from the same generators goes on from where it stands now.
        A collate function that draws in this process (``num_workers=0``) goes on with those too.

        A batch is known by its tensors: the batch itself will do, and any list or dict that they were put
        into. The last 64 batches are remembered, without keeping their features' memory.

        Raises:
            UnsupportedError: the batch is older, of another epoch or loader, copied, moved to a device by
                somebody else, or without tensors; or what `load_state_dict` would raise of the state.

        Example:
            >>> for batches in zip(*[iter(loader)] * 4):
            ...     train(batches)
            ...     torch.save(loader.state_after(batches[-1]), "loader.pt")
        """
        return state_of_loader(self, self._newest(), self._recent, batch)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iterator goes on where an equal loader stood, as if nothing had happened.

        Order, pixels and generators are those of a loader that was not stopped, with as many workers. With
        another number of workers, or another number of ranks under a DistributedSampler, the order is. Draws
        of another rank, of workers that are not as many, or of worker processes begin anew, from a seed that
        follows from the state; a warning says so once.

        An iterable dataset that tells no state makes the batches again that came before: they are dropped.

        The states of torchdata's StatefulDataLoader are taken too. They have the order and no generators:
        samples draw as these are when the next iterator begins.

        An epoch of which all batches were handed out has none left: the next iterator ends at once, unless
        the sampler is told of another epoch before its first batch. If it had ended, the next epoch begins.

        Args:
            state: of `state_dict`; an empty one does nothing.

        Raises:
            UnsupportedError: the state is of another kind of loader, or cannot be gone on from exactly, with
                the reason: torchdata's of a sampler that keeps nothing, a dataset that told a state in worker
                processes, an iterable dataset with another number of workers. What only an iterator can find
                out is raised at `iter`, or at its first batch.
        """
        if not state:
            return
        check(self, state)
        if isinstance(self._iterator, NativeIterator):
            self._iterator.close()
        self._iterator, self._state = None, dict(state)
        self._skips = Skips(state.get("skips", ()))

    def skip(self, steps: Iterable[int]) -> None:
        """The next iterator's epoch leaves these batches out: they are not made, and nobody gets them.

        Steps are numbered from the epoch's first batch, 0, also after a state was loaded or others were
        skipped. Each rank skips its own batch of a step: call it on all of them. Several calls add up.

        All else is as if the batches had been made and dropped: the others have the same samples and pixels,
        and generators go on alike. For this, what torch's generators give for skipped samples is drawn (their
        pictures' headers are read where a crop needs sizes); it is as if they could all be read. With
        ``rng="stateless"``, and for rows, nothing is done for them.

        Until that epoch ends, ``len(loader)`` is without them, and `state_dict` has them: who loads its
        state need not skip them again.

        Args:
            steps: a range, or any other numbers. Those that have passed already have no effect.

        Raises:
            OptionError: a step is no whole number from 0 on, or lies behind the epoch; or an iterator is in
                the middle of one.
            UnsupportedError: the loader runs on torch's own machinery, or with a ``collate_fn`` of yours:
                nobody knows what these would draw.

        Example:
            >>> loader = gofast.DataLoader(gofast.ArrayDataset(torch.arange(12.0)), batch_size=2)
            >>> loader.skip(range(1, 4))
            >>> [batch[0].tolist() for batch in loader]
            [[0.0, 1.0], [8.0, 9.0], [10.0, 11.0]]
        """
        skips, counted = Skips.of(steps), getattr(self._newest(), "_counted", None)
        if self._state is None and counted is not None and counted.runs:
            raise OptionError("an iterator is in the middle of its epoch: skip steps before it begins")
        self._check_skips()
        count = super().__len__()
        if beyond := skips.count(count, skips.ranges()[-1][1] if skips else 0):
            raise OptionError(
                f"steps: an epoch has {count} steps, and {beyond} of those to skip lie behind it"
            )
        self._skips = Skips([*self._skips.ranges(), *skips.ranges()])

    def __len__(self) -> int:
        count = super().__len__()
        skips = self._skips or getattr(self._newest(), "skips", NO_SKIPS)
        return count - skips.count(0, count)

    def __enter__(self) -> DataLoader[Sample, Source, Collate]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return describe(self)

    if TYPE_CHECKING:

        @overload  # type: ignore[override]  # torch's iterators say nothing of their batches
        def __iter__(self: DataLoader[Any, object, Unknown]) -> Iterator[Any]: ...
        @overload
        def __iter__(self: DataLoader[Any, NativeDataset[SampleOf[Known]], None]) -> Batches[Known]: ...
        @overload
        def __iter__(
            self: DataLoader[Any, IterableSourceDataset[SampleOf[Known]], None],
        ) -> Batches[Known]: ...
        @overload
        def __iter__(self: DataLoader[Any, Subset[SampleOf[Known]], None]) -> Batches[Known]: ...
        @overload
        def __iter__(
            self: DataLoader[Any, Samples[Unknown], None]
            | DataLoader[Any, Samples[dict[str, Unknown]], None]
            | DataLoader[Any, Samples[tuple[Unknown, ...]], None]
            | DataLoader[Any, Samples[tuple[Unknown, torch.Tensor]], None]
            | DataLoader[Any, Samples[tuple[torch.Tensor, Unknown]], None]
            | DataLoader[Any, Samples[tuple[object, object, object, Unpack[tuple[object, ...]]]], None]
            | DataLoader[Any, Samples[NamedFields], None],
        ) -> Iterator[Any]: ...
        @overload
        def __iter__(
            self: DataLoader[Any, Samples[dict[str, torch.Tensor]], None],
        ) -> Iterator[dict[str, torch.Tensor]]: ...
        @overload
        def __iter__(
            self: DataLoader[Any, Samples[tuple[torch.Tensor, ...]], None],
        ) -> Iterator[list[torch.Tensor]]: ...
        @overload
        def __iter__(self: DataLoader[Any, object, None]) -> Iterator[Any]: ...
        @overload
        def __iter__(self: DataLoader[Any, object, Callable[[list[Any]], Made]]) -> Iterator[Made]: ...
        @overload
        def __iter__(self) -> Iterator[Any]: ...

    def __iter__(self) -> Any:
        iterator = super().__iter__()
        wanted = self._wanted_device()
        if wanted is None or getattr(iterator, "_on_device", False):
            return iterator
        from ._device.prefetch import Moving

        return Moving(iterator, wanted)

"""The base of streams of rows: what decides an epoch's order, and what this process gets of it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch.utils.data import get_worker_info

from .. import errors
from .._core.arguments import checked
from .._loader.batch_types import Kind
from .._loader.counts import Counts
from .._loader.iterable_dataset import IterableSourceDataset, Make
from .._loader.order import Order, Slice, run
from .blocks import BlockOrder, BlockPermutation, Stretch
from .rows import RowDataset
from .sample_options import SampleOptions
from .stream_options import StreamOptions, memory_bytes, ranks
from .stream_pieces import StreamPieces
from .window_batches import Some, batches

_ROWS = 512  # made at a time for torch's own DataLoader
_OF_ROWS = {"classes", "class_to_idx", "missing_label", *SampleOptions.__dataclass_fields__} - {"output"}


class BlockStream(IterableSourceDataset[Kind]):
    """Rows that are decoded some at a time. Base class of TableRows and HDF5Rows.

    Attributes:
        memory: bytes that rows and their decoding take together.
        shuffle, seed, even: as given.
    """

    _makes_batches = True
    _orders: ClassVar[Mapping[str, str]] = {
        "shuffle": 'give shuffle="block" to the dataset, which permutes its rows',
        "sampler": 'the dataset has shuffle="block" for an order, and rank= and world= for several processes',
    }
    _single: bool  # Python makes each row: of those before one whose step fails, none is lost
    _example: RowDataset  # a window without rows, which has the attributes of all of them
    _ahead = "what comes next is decoded while batches go out, on engine threads"

    def __init__(self, options: StreamOptions, samples: SampleOptions) -> None:
        if isinstance(samples.mean, str) or isinstance(samples.std, str):
            raise errors.OptionError('mean="auto" and std="auto" need all rows: give numbers')
        self.memory = memory_bytes(options.memory)
        self.shuffle, self.seed, self.even = options.shuffle, options.seed, options.even
        self._rank, self._world = ranks(options.rank, options.world)
        self._shared = StreamPieces()
        self._epoch: int | None = None
        self._begun, self._begun_in = 0, 0  # epochs, and the process of the last

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ROWS and "_example" in self.__dict__:
            return getattr(self._example, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @checked
    def set_epoch(self, epoch: int) -> None:
        """The next iterators are of this epoch: with ``shuffle``, another order for each.

        Workers that live on see it too: say it before their next epoch begins.
        """
        self._epoch = self._shared.epoch = epoch

    def _draw(self) -> BlockPermutation:
        """What decides the order of an epoch that begins."""
        epoch, info = self._epoch, get_worker_info()
        if info is not None and self._begun_in == os.getpid():
            epoch = self._shared.epoch  # it lives on
        self._begun, self._begun_in = self._begun + 1, os.getpid()
        if self.shuffle is None:
            return BlockPermutation(None, 0)
        if self.seed is not None:
            return BlockPermutation(self.seed, epoch or 0)
        if self._world > 1 or epoch is not None:
            return BlockPermutation(0, epoch or 0)
        if info is not None:  # a worker that lives on has one seed for all epochs
            return BlockPermutation(int(info.seed) - int(info.id), self._begun)
        return BlockPermutation(int(torch.empty((), dtype=torch.int64, device="cpu").random_().item()), 0)

    def _share(self, rows: int) -> int:
        """How many rows of an epoch this rank gets."""
        return len(run(rows, self._rank, self._world, self.even))

    def _slice(self, order: BlockOrder) -> Order:
        """What this rank gets of an epoch, or this worker of it."""
        mine, info = Slice(order, self._rank, self._world, self.even), get_worker_info()
        return mine if info is None else Slice(mine, info.id, info.num_workers, None)

    def _stretches(self, order: BlockOrder, position: int = 0) -> list[Stretch]:
        """The same from a position on, in the windows' parts."""
        mine = self._slice(order)
        mine.position = min(position, mine.samples or 0)
        parts: list[Any] = list(iter(mine.pull, None))
        return parts

    def _some(self, drawn: BlockPermutation, position: int = 0) -> Iterator[Some]:
        """An epoch's windows from a position on, with the rows of each that are wanted."""
        raise NotImplementedError

    def _begin(self) -> dict[str, Any]:
        return {**self._draw()._asdict(), "world": self._world, "even": self.even, "position": 0}

    def _batches(
        self,
        begun: dict[str, Any],
        size: int,
        drop_last: bool,
        collate: Callable[[Any], Any] | None,
        counts: Counts | None,
    ) -> Iterator[Make]:
        for name, here in (("world", self._world), ("even", self.even)):
            if begun[name] != here:
                raise errors.UnsupportedError(
                    f"the state is of a stream with {name}={begun[name]!r}, and this one has {here!r}: ranks "
                    "have runs of an epoch, which cannot be dealt out anew in its middle"
                )
        drawn = BlockPermutation(begun["seed"], begun["epoch"])
        return batches(self._some(drawn, begun["position"]), size, drop_last, collate, counts)

    def __bool__(self) -> bool:
        return True  # as torch's, which has no length to ask for

    def __iter__(self) -> Iterator[Any]:
        size = 1 if self._single else max(self._at_once, _ROWS)
        return itertools.chain.from_iterable(
            map(_rows, self._batches(self._begin(), size, False, list, None))
        )


def _rows(make: Make) -> Any:
    return make()

"""The options of all streams of rows: their memory, their order, and their place among the ranks."""

from __future__ import annotations

import dataclasses
from typing import Literal

from .. import errors
from .._core.arguments import OptionGroup
from .._core.units import bytes_of, exact
from .._loader.order import Even
from .._loader.ranks import ranks_here

_LEAST = 16 << 20  # of rows, and of what decodes them
_MB = 10**6


@dataclasses.dataclass(frozen=True)
class StreamOptions(OptionGroup):
    """Checked. :meth:`gofast.IterableDataset.from_table` explains each of them.

    Raises:
        OptionError: an option makes no sense.
    """

    memory: str | int = "1GB"
    shuffle: Literal["block"] | None = None
    seed: int | None = None
    rank: int | None = None
    world: int | None = None
    even: Even = "drop"

    def __post_init__(self) -> None:
        if self.shuffle not in ("block", None, False):
            raise errors.OptionError(f'shuffle={self.shuffle!r} is not "block" or None')
        if self.even not in ("drop", "pad", "error"):
            raise errors.OptionError(f'even={self.even!r} is not "drop", "pad" or "error"')


def memory_bytes(memory: str | int) -> int:
    """The bytes of ``memory=``."""
    most = bytes_of("memory", memory)
    if most < 2 * _LEAST:
        raise errors.OptionError(f"memory={memory}: at least {exact(2 * _LEAST)} are needed")
    return most


def for_rows(memory: int) -> int:
    """The bytes of it that are for rows. The rest is for decoding them."""
    return memory // 10 * 7


def memory_for(rows: int) -> str:
    """A ``memory=`` that suffices where rows of so many bytes are decoded together.

    Blocks are larger then: what a row group is joined with takes a 64th of the rows' memory, or an eighth
    where it is of the widest type.
    """
    return f'memory="{-(-(rows * 3 // 2 + 4 * _MB) * 10 // 7 // _MB)}MB"'


def ranks(rank: int | None, world: int | None) -> tuple[int, int]:
    """This process's rank, and how many there are: as given, or as torch.distributed says."""
    if rank is None and world is None:
        world, rank = ranks_here()
        return rank, world
    if rank is None or world is None or rank >= world:
        raise errors.OptionError(f"rank={rank}, world={world}: give both, the rank from 0 to world - 1")
    return rank, world

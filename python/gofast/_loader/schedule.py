"""Which indices torch's samplers give, and at which pull they draw them.

A sampler draws from generators that the user can see. A loader that wants the same numbers as torch must
therefore pull index lists exactly when torch does. But only the drawing is visible. Once a sampler has
drawn its whole epoch at once, nobody can see whether the later batches are read early.

`draw_order` changes the generators as the first pull of a `BatchSampler` does. It returns the whole
`Order` of the epoch, as an int64 tensor that is never turned into a Python list. For a sampler that it does
not know, it touches nothing and returns None. Such samplers are pulled one list at a time
(see `_core.indices.index_list`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from .._core.indices import picked_from
from .._core.openmp import alone

_REPLACEMENT_DRAW = 32  # how many indices torch's RandomSampler draws at a time with replacement


class Drawn:
    """The indices of a sampler's epoch, and the sampler's draw at its end, if others can see that."""

    __slots__ = ("at_end", "count", "indices", "looked_up")

    def __init__(
        self,
        indices: Tensor | None,
        count: int,
        at_end: Callable[[], object] | None = None,
        looked_up: tuple[SubsetRandomSampler, Any, Tensor] | None = None,
    ) -> None:
        self.indices = indices  # None stands for 0, 1, 2, ... count-1, which needs no memory
        self.count = count
        self.at_end = at_end
        # A sampler whose indices torch looks up one by one, these, and the positions that it looks at.
        self.looked_up = looked_up


class Order:
    """The batches of one epoch. All its indices are drawn already.

    Pulls are numbered from 0. Pull `last_pull` finds the sampler exhausted, with a partial batch or with
    nothing. torch's sampler runs to its end there, so the caller must call `finish` there, once.
    """

    __slots__ = ("_drawn", "batch_size", "batches", "drop_last", "last_pull")

    def __init__(self, drawn: Drawn, batch_size: int, drop_last: bool) -> None:
        self._drawn = drawn
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.last_pull = drawn.count // batch_size
        self.batches = self.last_pull + (not drop_last and drawn.count % batch_size > 0)

    def indices(self, first: int, stop: int) -> Tensor:
        """The indices of batches first..stop-1, one after another."""
        start, end = first * self.batch_size, min(stop * self.batch_size, self._drawn.count)
        if self._drawn.indices is None:
            return torch.arange(start, end, dtype=torch.int64, device="cpu")
        return self._drawn.indices[start:end]

    def bounds(self, batch: int) -> tuple[int, int]:
        """Where the indices of a batch lie among those of the epoch."""
        start = batch * self.batch_size
        return start, min(start + self.batch_size, self._drawn.count)

    @property
    def looks_up(self) -> bool:
        """Whether `holds` must be asked."""
        return self._drawn.looked_up is not None

    def holds(self) -> bool:
        """Whether the sampler still has the indices that torch looks up at each pull."""
        looked_up = self._drawn.looked_up
        return looked_up is None or looked_up[0].indices is looked_up[1]

    def rest(self, batch_sampler: BatchSampler, pulled: int) -> Rest:
        """The lists that torch's own code would pull from here on, after a change of the batch sampler.

        Args:
            pulled: the number of lists that were pulled before.
        """
        return Rest(self, batch_sampler, pulled)

    def drawn(self, live: Callable[[], bool]) -> Iterator[int]:
        """The sampler's indices, one by one, then its end. Once live, looks up what torch looks up."""
        looked_up = self._drawn.looked_up
        for at, index in enumerate(self.indices(0, self.last_pull + 1).tolist()):
            if looked_up is not None and live():
                sampler, _, positions = looked_up
                index = sampler.indices[int(positions[at])]
            yield index
        self.finish()

    def finish(self) -> None:
        """Make the draw that torch's sampler makes when it runs to its end."""
        at_end, self._drawn.at_end = self._drawn.at_end, None
        if at_end is not None:
            at_end()


class Rest:
    """The remaining lists of an epoch, made by torch's code from the indices that are drawn already.

    Until `thaw`, the batch sampler keeps its old values.
    """

    def __init__(self, order: Order, batch_sampler: BatchSampler, pulled: int) -> None:
        self._live: BatchSampler | None = None
        self._changed, self._order = batch_sampler, order
        self.drop_last = order.drop_last
        self.sampler = order.drawn(lambda: self._live is not None)
        self.lists: Iterator[list[int]] = BatchSampler.__iter__(self)  # type: ignore[arg-type]
        for _ in range(pulled):
            next(self.lists, None)

    @property
    def batch_size(self) -> int:
        """The batch size. torch's code reads it before each batch."""
        return self._order.batch_size if self._live is None else self._live.batch_size

    def thaw(self) -> None:
        """From here on, the batch sampler has the values that the user gave it."""
        self._live = self._changed


NO_ORDER = Order(Drawn(None, 0), 1, False)


def draw_order(batch_sampler: Iterable[Any]) -> Order | None:
    """Draw a whole epoch as batch_sampler's first pull would, or return None and touch no generator.

    Types are compared exactly, since a subclass may do anything in `__iter__`. The same is true if somebody
    replaced the `__iter__` of torch's own classes.
    """
    if type(batch_sampler) is not BatchSampler:
        return None
    kind = type(batch_sampler.sampler)
    draw = _DRAWS.get(kind)
    if draw is None or any(type_.__iter__ is not _TORCHS[type_] for type_ in (kind, BatchSampler)):
        return None
    with alone():
        drawn = draw(batch_sampler.sampler)
    return None if drawn is None else Order(drawn, batch_sampler.batch_size, batch_sampler.drop_last)


def _sequential(sampler: SequentialSampler) -> Drawn:
    return Drawn(None, len(sampler.data_source))


def _random(sampler: RandomSampler) -> Drawn | None:
    size, wanted = len(sampler.data_source), sampler.num_samples
    if sampler.generator is None:
        # Others can see only the draw of the seed. The generator that it seeds is private. So all its
        # blocks can be drawn now, and the permutation of n numbers that torch draws at the end and throws
        # away can be left out.
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
        return Drawn(_on_cpu(_random_blocks(size, wanted, sampler.replacement, generator)), wanted)
    if sampler.replacement or wanted > size:
        return None  # draws in the middle of the epoch from a generator that the user can see
    indices = _on_cpu(torch.randperm(size, generator=sampler.generator))
    if wanted < size:
        return Drawn(indices[:wanted], wanted)
    return Drawn(indices, size, lambda: torch.randperm(size, generator=sampler.generator))


def _random_blocks(size: int, wanted: int, replacement: bool, generator: torch.Generator) -> Tensor:
    """The values of RandomSampler.__iter__, drawn by the same calls of the same sizes."""
    if not replacement:
        whole, rest = divmod(wanted, size)
        blocks = [torch.randperm(size, generator=generator) for _ in range(whole + (rest > 0))]
        return blocks[0] if wanted == size else torch.cat(blocks)[:wanted]
    whole, rest = divmod(wanted, _REPLACEMENT_DRAW)
    return torch.cat(
        [
            torch.randint(high=size, size=(count,), dtype=torch.int64, generator=generator)
            for count in [*[_REPLACEMENT_DRAW] * whole, rest]
        ]
    )


def _subset_random(sampler: SubsetRandomSampler) -> Drawn | None:
    chosen = picked_from(sampler.indices)
    if chosen is None:
        return None
    order = _on_cpu(torch.randperm(len(sampler.indices), generator=sampler.generator))
    return Drawn(chosen[order], len(order), looked_up=(sampler, sampler.indices, order))


def _weighted(sampler: WeightedRandomSampler) -> Drawn:
    indices = torch.multinomial(
        sampler.weights, sampler.num_samples, sampler.replacement, generator=sampler.generator
    )
    return Drawn(_on_cpu(indices), len(indices))


def _distributed(sampler: DistributedSampler[Any]) -> Drawn | None:
    size = len(sampler.dataset)  # type: ignore[arg-type]
    fits = sampler.total_size <= size if sampler.drop_last else sampler.total_size >= size
    if size == 0 or not fits:
        return None  # empty, or the dataset has another length now: torch's own code raises its error
    if sampler.shuffle:
        generator = torch.Generator()
        generator.manual_seed(sampler.seed + sampler.epoch)
        everyone = _on_cpu(torch.randperm(size, generator=generator))
    else:
        everyone = torch.arange(size, dtype=torch.int64, device="cpu")
    if sampler.total_size > size:
        everyone = everyone.repeat(math.ceil(sampler.total_size / size))
    mine = everyone[sampler.rank : sampler.total_size : sampler.num_replicas].contiguous()
    return Drawn(mine, len(mine))


_DRAWS: dict[type, Callable[[Any], Drawn | None]] = {
    SequentialSampler: _sequential,
    RandomSampler: _random,
    SubsetRandomSampler: _subset_random,
    WeightedRandomSampler: _weighted,
    DistributedSampler: _distributed,
}
_TORCHS: dict[type, object] = {kind: kind.__iter__ for kind in (*_DRAWS, BatchSampler)}  # type: ignore[attr-defined]


def _on_cpu(indices: Tensor) -> Tensor:
    return indices.to("cpu")  # itself, unless the user set another default device

"""What torch's own samplers draw in an epoch, to the last index, and from which generators.

`DRAWS` has a function for each class that may be drawn at once: it moves the generators as the sampler's
first pull does. Which lists are made of these indices, and when, is `schedule.py`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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

from .._core.generators import packed, unpacked
from .._core.indices import picked_from
from .order import beginnings
from .sampler import RankEpoch, Sampler

_REPLACEMENT_DRAW = 32  # how many indices torch's RandomSampler draws at a time with replacement


@dataclass(slots=True, eq=False)
class DrawnIndices:
    """The indices of a sampler's epoch, and the sampler's draw at its end, if others can see that.

    Attributes:
        indices: None stands for 0, 1, 2, ... count-1, which needs no memory.
        looked_up: a sampler whose indices torch looks up one by one, these, and the positions looked at.
        seed: all indices follow from it; None: that is not known.
        ranked: a gofast.Sampler's, which finds any of them at once; then `indices` is None.
        permutation: the state of torchdata's generator, from which they follow.
    """

    indices: Tensor | None
    count: int
    at_end: Callable[[], object] | None = None
    looked_up: tuple[SubsetRandomSampler, Any, Tensor] | None = None
    seed: int | None = None
    ranked: RankEpoch | None = None
    permutation: Tensor | None = None


def _sequential(sampler: SequentialSampler) -> DrawnIndices:
    return DrawnIndices(None, len(sampler.data_source))


def random_indices(sampler: RandomSampler, seed: int | None = None) -> DrawnIndices | None:
    """With this seed, or with one that is drawn; None: the sampler draws in the middle of its epoch."""
    size, wanted = len(sampler.data_source), sampler.num_samples
    if sampler.generator is None:
        # Others can see only the draw of the seed. The generator that it seeds is private. So all its
        # blocks can be drawn now, and the permutation of n numbers that torch draws at the end and throws
        # away can be left out.
        if seed is None:
            seed = int(torch.empty((), dtype=torch.int64).random_().item())
        generator = torch.Generator().manual_seed(seed)
        indices = _on_cpu(_random_blocks(size, wanted, sampler.replacement, generator))
        return DrawnIndices(indices, wanted, seed=seed)
    if sampler.replacement or wanted > size:
        return None  # draws in the middle of the epoch from a generator that the user can see
    indices = _on_cpu(torch.randperm(size, generator=sampler.generator))
    if wanted < size:
        return DrawnIndices(indices[:wanted], wanted)
    return DrawnIndices(indices, size, lambda: torch.randperm(size, generator=sampler.generator))


def torchdatas_indices(sampler: RandomSampler, permutation: Tensor) -> DrawnIndices:
    """What the sampler of torchdata's StatefulDataLoader draws of a generator in this state."""
    generator = torch.Generator()
    generator.set_state(unpacked(permutation))
    size, wanted = len(sampler.data_source), sampler.num_samples
    indices = _on_cpu(_random_blocks(size, wanted, sampler.replacement, generator))
    return DrawnIndices(indices, wanted, permutation=packed(permutation))


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


def _subset_random(sampler: SubsetRandomSampler) -> DrawnIndices | None:
    chosen = picked_from(sampler.indices)
    if chosen is None:
        return None
    order = _on_cpu(torch.randperm(len(sampler.indices), generator=sampler.generator))
    return DrawnIndices(chosen[order], len(order), looked_up=(sampler, sampler.indices, order))


def _weighted(sampler: WeightedRandomSampler) -> DrawnIndices:
    indices = torch.multinomial(
        sampler.weights, sampler.num_samples, sampler.replacement, generator=sampler.generator
    )
    return DrawnIndices(_on_cpu(indices), len(indices))


def _distributed(sampler: DistributedSampler[Any]) -> DrawnIndices | None:
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
    return DrawnIndices(mine, len(mine))


def ranked_indices(sampler: Sampler) -> DrawnIndices:
    """Those of a gofast.Sampler, which are found one by one."""
    epoch = RankEpoch(sampler)
    return DrawnIndices(None, epoch.count, epoch.end, ranked=epoch)


DRAWS: dict[type, Callable[[Any], DrawnIndices | None]] = {
    SequentialSampler: _sequential,
    RandomSampler: random_indices,
    SubsetRandomSampler: _subset_random,
    WeightedRandomSampler: _weighted,
    DistributedSampler: _distributed,
    Sampler: ranked_indices,
}
_TORCHS: dict[type, object] = {kind: kind.__iter__ for kind in (*DRAWS, BatchSampler)}  # type: ignore[attr-defined]


def is_known(batch_sampler: Any) -> bool:
    """Whether it is torch's own, of a kind that may be drawn at once.

    Types are compared exactly, since a subclass may do anything in `__iter__`. The same is true if somebody
    replaced the `__iter__` of torch's own classes.
    """
    if type(batch_sampler) is not BatchSampler:
        return False
    kind = type(batch_sampler.sampler)
    return kind in DRAWS and all(one.__iter__ is _TORCHS[one] for one in (kind, BatchSampler))


def begun(batch_sampler: Any) -> dict[str, Any] | None:
    """What it draws from, before it is iterated over; None: it is known to draw later."""
    return None if is_known(batch_sampler) else beginnings(batch_sampler)


def _on_cpu(indices: Tensor) -> Tensor:
    return indices.to("cpu")  # itself, unless the user set another default device

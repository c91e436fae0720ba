"""Which indices torch's samplers give, and at which pull they draw them.

A sampler draws from generators that the user can see. A loader that wants the same numbers as torch must
therefore pull index lists exactly when torch does. But only the drawing is visible. Once a sampler has
drawn its whole epoch at once, nobody can see whether the later batches are read early.

`draw_order` changes the generators as the first pull of a `BatchSampler` does, and returns the epoch's
`DrawnOrder`. For a sampler that it does not know, it touches nothing and returns None. Such samplers are
pulled one list at a time (`order.Listed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
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

from .. import errors
from .._core.generators import packed, unpacked
from .._core.indices import picked_from
from .._core.openmp import alone
from .order import Listed, Order, Pull, beginnings
from .sampler import RankEpoch, Sampler
from .skips import Skips

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


class DrawnOrder(Order):
    """The order of one of torch's own samplers, whose epoch is drawn at once: an int64 tensor, never a list.

    Nobody notices when its later lists are pulled. Pulls are numbered from 0. Pull `last_pull` finds the
    sampler exhausted, with a partial batch or with nothing. torch's sampler runs to its end there, and
    `finish` must be called there.

    Args:
        sampler: the batch sampler.
        before: the state that its generator had before the epoch was drawn, if it has one.

    Attributes:
        at: the next list.
        batch_size, drop_last: the sampler's, when the epoch was drawn.
        looks_up: `holds` must be asked.
    """

    batches: int
    at = 0

    def __init__(self, drawn: DrawnIndices, sampler: BatchSampler, before: Tensor | None = None) -> None:
        self._sampler, self._before = sampler, before
        self.batch_size, self.drop_last = sampler.batch_size, sampler.drop_last
        self._begin(drawn)
        self.looks_up = drawn.looked_up is not None
        self._world = getattr(sampler.sampler, "num_replicas", 1)  # a DistributedSampler's

    def _begin(self, drawn: DrawnIndices) -> None:
        self._drawn = drawn
        self.last_pull, short = divmod(drawn.count, self.batch_size)
        self.batches = self.last_pull + (not self.drop_last and short > 0)

    def skip(self, skips: Skips) -> None:
        """Takes over the steps of the epoch whose batches are not made."""
        ranked = self._drawn.ranked
        before, rest = divmod(0 if ranked is None else ranked.share.start, self.batch_size * self._world)
        if rest and skips:
            raise errors.UnsupportedError(
                f"the epoch goes on from a sample behind {rest} of a global batch of "
                f"{self.batch_size * self._world}: its steps have no numbers, and none can be skipped"
            )
        self.skips = skips.without(before)

    @property
    def ranked(self) -> RankEpoch | None:
        """The iteration over a gofast.Sampler, if it is one."""
        return self._drawn.ranked

    def pull(self) -> Pull | None:
        """See Order."""
        if self.at == self.last_pull:
            self.finish()
        pull = self.ahead(1)
        if pull is not None:
            self.at += 1
        return pull

    def ahead(self, most: int, behind: int = 0) -> Pull | None:
        """The next lists, which torch does not pull yet. The caller moves `at` when it has them.

        Some are skipped, or none. Several that are have no indices.

        Args:
            behind: so many lists that come first.
        """
        first = self.at + behind
        skip, alike = self.skips.run(first)
        stop = min(first + min(most, alike), self.batches)
        if first >= stop:
            return None
        pull = Pull(None, None if skip and stop - first > 1 else self.indices(first, stop))
        pull.skip = skip
        pull.each, pull.lists = min(self.batch_size, self._drawn.count), stop - first
        pull.samples = min(stop * self.batch_size, self._drawn.count) - first * self.batch_size
        return pull

    def indices(self, first: int, stop: int) -> Tensor:
        """The indices of lists first..stop-1, one after another."""
        start, end = first * self.batch_size, min(stop * self.batch_size, self._drawn.count)
        if self._drawn.ranked is not None:
            return self._drawn.ranked.indices(start, end)
        if self._drawn.indices is None:
            return torch.arange(start, end, dtype=torch.int64, device="cpu")
        return self._drawn.indices[start:end]

    def samples_before(self, batch: int) -> int:
        """How many samples this rank has in the lists before this one."""
        return min(batch * self.batch_size, self._drawn.count)

    def bounds(self, batch: int) -> tuple[int, int]:
        """Where the indices of a list lie among those of the epoch."""
        start = batch * self.batch_size
        return start, min(start + self.batch_size, self._drawn.count)

    def holds(self) -> bool:
        """Whether the sampler still has the indices that were drawn from, which torch looks up."""
        looked_up = self._drawn.looked_up
        return looked_up is None or looked_up[0].indices is looked_up[1]

    def finish(self) -> None:
        """Makes the draw that torch's sampler makes when it runs to its end, once."""
        at_end, self._drawn.at_end = self._drawn.at_end, None
        if at_end is not None:
            at_end()

    def rest(self) -> Listed:
        """The lists that torch's own code pulls from here on, after a change of the sampler."""
        rest = _DrawnBatches(self)
        lists = BatchSampler.__iter__(rest)  # type: ignore[arg-type]
        for _ in range(self.at):
            next(lists, None)
        rest.changed = self._sampler
        listed = Listed(self._sampler, lists)
        listed.skips, listed._at = self.skips, self.at
        return listed

    def state(self, at: int | None = None) -> dict[str, Any]:
        """See Order.

        Args:
            at: the list that the state is before; None: the next one, which torch may not have pulled yet.
        """
        at = self.at if at is None else at
        samples, over = self.samples_before(at), at >= self.batches
        ranked = self._drawn.ranked
        if ranked is not None:
            told = ranked.state(samples)
            return {"position": told["position"], "start": ranked.share.start, "over": over, "sampler": told}
        seed = self._drawn.seed
        if self._before is not None and seed is None:
            self._before = packed(self._before)
        return {
            "position": samples * self._world,  # of all ranks
            "over": over,
            "before": self._before if seed is None else None,
            "seed": seed,
            "ended": self._drawn.at_end is None,
            "epoch": getattr(self._sampler.sampler, "epoch", None),
            **({} if self._drawn.permutation is None else {"permutation": self._drawn.permutation}),
        }

    def load(self, state: dict[str, Any]) -> None:
        """See Order."""
        sampler: Any = self._sampler.sampler
        if ("sampler" in state) != (self._drawn.ranked is not None):
            raise errors.UnsupportedError("the state is that of a loader with another kind of sampler")
        if "sampler" in state:
            self._seek(sampler, state)
            return
        if state["epoch"] is not None:
            sampler.set_epoch(state["epoch"])
        if state.get("permutation") is not None and type(sampler) is RandomSampler:
            self._drawn = _torchdatas(sampler, state["permutation"])
        elif state["seed"] is not None and type(sampler) is RandomSampler:
            drawn = _random(sampler, state["seed"])
            assert drawn is not None
            self._drawn = drawn
        else:
            if state["before"] is not None:
                (sampler.generator or torch.default_generator).set_state(unpacked(state["before"]))
            again = draw_order(self._sampler)
            assert again is not None
            self._drawn, self._before = again._drawn, again._before
        samples, rest = divmod(state["position"], self._world)
        self.at, over = divmod(samples, self.batch_size)
        if samples >= self._drawn.count:
            self.at = -(-self._drawn.count // self.batch_size)
        elif rest or over:
            raise errors.UnsupportedError(
                f"{state['position']} samples came before: no whole number of batches of {self.batch_size} "
                f"for {self._world} ranks"
            )
        if state["ended"]:
            self._drawn.at_end = None

    def _seek(self, sampler: Sampler, state: dict[str, Any]) -> None:
        """Goes on in an epoch of a gofast.Sampler: in the same iteration, or cut anew for other ranks."""
        sampler.load_state_dict(state["sampler"])
        passed, rest = divmod(state["position"] - state["start"], self.batch_size * self._world)
        if not rest:
            sampler._back_to(state["start"])
        self._begin(_ranked(sampler))
        self.at = passed if self._drawn.ranked.share.start == state["start"] else 0  # type: ignore[union-attr]


class _DrawnBatches:
    """A batch sampler for torch's code, over indices that are drawn already.

    Attributes:
        changed: the true one, with the values that the user gave it; None: the values are still the old ones.
    """

    changed: Any = None

    def __init__(self, order: DrawnOrder) -> None:
        self._order, self.drop_last = order, order.drop_last
        self.sampler = self._indices()

    @property
    def batch_size(self) -> int:
        """torch's code reads it before each batch."""
        size: int = (self.changed or self._order).batch_size
        return size

    def _indices(self) -> Iterator[Any]:
        """The sampler's indices, one by one, then its end. Once changed, looks up what torch looks up."""
        order, looked_up = self._order, self._order._drawn.looked_up
        lists = (order.indices(at, at + 1).tolist() for at in range(order.last_pull + 1))
        if looked_up is None:
            yield from chain.from_iterable(lists)
            order.finish()
            return
        for at, index in enumerate(chain.from_iterable(lists)):
            if self.changed is not None:
                sampler, _, positions = looked_up
                index = sampler.indices[int(positions[at])]
            yield index
        order.finish()


def is_known(batch_sampler: Any) -> bool:
    """Whether it is torch's own, of a kind that may be drawn at once.

    Types are compared exactly, since a subclass may do anything in `__iter__`. The same is true if somebody
    replaced the `__iter__` of torch's own classes.
    """
    if type(batch_sampler) is not BatchSampler:
        return False
    kind = type(batch_sampler.sampler)
    return kind in _DRAWS and all(one.__iter__ is _TORCHS[one] for one in (kind, BatchSampler))


def begun(batch_sampler: Any) -> dict[str, Any] | None:
    """What it draws from, before it is iterated over; None: it is known to draw later."""
    return None if is_known(batch_sampler) else beginnings(batch_sampler)


def draw_order(batch_sampler: Any) -> DrawnOrder | None:
    """Draw a whole epoch as batch_sampler's first pull would, or return None and touch no generator."""
    if not is_known(batch_sampler):
        return None
    sampler, before = batch_sampler.sampler, None
    if hasattr(sampler, "generator") and (sampler.generator or type(sampler) is not RandomSampler):
        before = (sampler.generator or torch.default_generator).get_state()
    with alone():
        drawn = _DRAWS[type(sampler)](sampler)
    if drawn is None:
        return None
    batch = None if drawn.ranked is None else drawn.ranked.share.batch
    if batch not in (None, batch_sampler.batch_size):
        raise errors.OptionError(
            f"the loader has batch_size={batch_sampler.batch_size}, and its Sampler batch_size={batch}"
        )
    return DrawnOrder(drawn, batch_sampler, before)


def _sequential(sampler: SequentialSampler) -> DrawnIndices:
    return DrawnIndices(None, len(sampler.data_source))


def _random(sampler: RandomSampler, seed: int | None = None) -> DrawnIndices | None:
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


def _torchdatas(sampler: RandomSampler, permutation: Tensor) -> DrawnIndices:
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


def _ranked(sampler: Sampler) -> DrawnIndices:
    epoch = RankEpoch(sampler)
    return DrawnIndices(None, epoch.count, epoch.end, ranked=epoch)


_DRAWS: dict[type, Callable[[Any], DrawnIndices | None]] = {
    SequentialSampler: _sequential,
    RandomSampler: _random,
    SubsetRandomSampler: _subset_random,
    WeightedRandomSampler: _weighted,
    DistributedSampler: _distributed,
    Sampler: _ranked,
}
_TORCHS: dict[type, object] = {kind: kind.__iter__ for kind in (*_DRAWS, BatchSampler)}  # type: ignore[attr-defined]


def _on_cpu(indices: Tensor) -> Tensor:
    return indices.to("cpu")  # itself, unless the user set another default device

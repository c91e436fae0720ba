"""An epoch's lists, of indices that torch's sampler has drawn at once.

A sampler draws from generators that the user can see. A loader that wants the same numbers as torch must
therefore pull index lists exactly when torch does. But only the drawing is visible. Once a sampler has
drawn its whole epoch at once, nobody can see whether the later batches are read early.

`draw_order` changes the generators as the first pull of a `BatchSampler` does, and returns the epoch's
`DrawnOrder`. For a sampler that `torch_samplers.py` does not know, it touches nothing and returns None. Such
samplers are pulled one list at a time (`order.Listed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.utils.data.sampler import BatchSampler, RandomSampler

from .. import errors
from .._core.generators import packed, unpacked
from .._core.openmp import alone
from . import torch_samplers
from .order import Listed, Order, Pull
from .sampler import RankEpoch, Sampler
from .skips import Skips
from .torch_samplers import DrawnIndices


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
            self._drawn = torch_samplers.torchdatas_indices(sampler, state["permutation"])
        elif state["seed"] is not None and type(sampler) is RandomSampler:
            drawn = torch_samplers.random_indices(sampler, state["seed"])
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
        self._begin(torch_samplers.ranked_indices(sampler))
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


def draw_order(batch_sampler: Any) -> DrawnOrder | None:
    """Draw a whole epoch as batch_sampler's first pull would, or return None and touch no generator."""
    if not torch_samplers.is_known(batch_sampler):
        return None
    sampler, before = batch_sampler.sampler, None
    if hasattr(sampler, "generator") and (sampler.generator or type(sampler) is not RandomSampler):
        before = (sampler.generator or torch.default_generator).get_state()
    with alone():
        drawn = torch_samplers.DRAWS[type(sampler)](sampler)
    if drawn is None:
        return None
    batch = None if drawn.ranked is None else drawn.ranked.share.batch
    if batch not in (None, batch_sampler.batch_size):
        raise errors.OptionError(
            f"the loader has batch_size={batch_sampler.batch_size}, and its Sampler batch_size={batch}"
        )
    return DrawnOrder(drawn, batch_sampler, before)

"""gofast.Sampler: torch's DistributedSampler, with other orders, mixes, and a place to go on from."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor
from torch.utils.data import ConcatDataset
from torch.utils.data.distributed import DistributedSampler

from .. import errors
from .._core.arguments import flag, plain, several, whole
from .._core.permutation import Permutation
from .mix import Beginning, Mix
from .rank_share import Share, Uneven
from .ranks import ranks_of

if TYPE_CHECKING:
    import numpy.typing as npt

_AT_ONCE = 4096  # indices that are looked up together: 50 us


class Sampler(DistributedSampler[Any]):
    """torch's DistributedSampler, for any number of ranks that may change.

    With its defaults it gives what ``torch.utils.data.DistributedSampler`` gives, bit for bit. It works under
    torch's DataLoader too. Lightning and Ray Train leave a loader alone that has it. Accelerate and
    transformers' Trainer divide among the ranks themselves: give it ``num_replicas=1, rank=0`` there, or no
    sampler (`gofast.integrations.keep` refuses what is divided twice).

    The ranks of an epoch get its samples in global batches: with ``world * batch_size`` fixed, each of these
    has the same samples for any number of ranks. (The last one, if it is smaller, differs by what is padded
    or dropped.) So a run may go on with another number of ranks: nothing is lost, and nothing comes twice.

    An epoch's order is a function of (seed, epoch). With ``weights``, the parts of a ConcatDataset are mixed.
    Then all epochs are one stream, of which each is the next ``len(dataset)`` samples. A part gives its
    samples in passes, each permuted by itself: no sample comes again before all of its part have come, in
    whichever epoch that is (but for what "pad" repeats at an epoch's end). Every part has its share in each
    1,024 samples, or in more where a weight is small.

    Args:
        dataset: anything with a length.
        num_replicas: how many ranks there are. "auto" takes rank and number from torch.distributed's process
            group if there is one, else from torchrun's variables (RANK, WORLD_SIZE). None: one rank.
        rank: this one: a number, "auto", or a DeviceMesh, whose ranks are those that get different samples:
            ``mesh["dp"]`` where others share a batch by tensor or context parallelism.
        shuffle: whether each epoch has an order of its own, as torch's.
        seed: of that order, as torch's; the same on all ranks.
        drop_last: the same as ``uneven="drop"``.
        sharding: "strided" gives a rank every world-th sample, as torch does. "contiguous" gives it a slice
            of each global batch: the ranks' batches, one behind the other, are in the epoch's order.
        uneven: what becomes of samples that cannot be divided equally. "pad" repeats some of the epoch's
            first, and "drop" leaves some out, as torch does. With "exact" each comes once, and some ranks get
            one more than others: for evaluation.
        order: "torch" permutes as torch does, which takes 8 bytes and 0.1 us for a sample, and more beyond
            100 million. "keyed" takes no memory and no time, for any number: a Feistel network. None is
            "torch", and "keyed" with weights.
        batch_size: of the loader; "contiguous" needs it.
        weights: one for each part of a ConcatDataset, of any sum.

    Raises:
        OptionError: the arguments do not fit each other, or there are several ranks, and nobody says which
            this one is.

    Example:
        >>> train = gofast.ArrayDataset(torch.arange(8.0))
        >>> half = gofast.Sampler(train, num_replicas=2, rank=1, shuffle=False)
        >>> [batch[0].tolist() for batch in gofast.DataLoader(train, batch_size=2, sampler=half)]
        [[1.0, 3.0], [5.0, 7.0]]
        >>> all_of_it = gofast.Sampler(range(10**9), order="keyed", seed=1)  # a billion: at once
        >>> len(all_of_it), next(iter(all_of_it)) < 10**9
        (1000000000, True)
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | Literal["auto"] | None = None,
        rank: int | Literal["auto"] | torch.distributed.device_mesh.DeviceMesh | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        *,
        sharding: Literal["strided", "contiguous"] = "strided",
        uneven: Literal["pad", "drop", "exact"] | None = None,
        order: Literal["torch", "keyed"] | None = None,
        batch_size: int | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        world, number = ranks_of(plain(num_replicas), plain(rank))
        shuffle, drop_last = flag("shuffle", shuffle), flag("drop_last", drop_last)
        self.uneven: Uneven = _one_of("uneven", uneven, get_args(Uneven)) or ("drop" if drop_last else "pad")
        if drop_last and self.uneven != "drop":
            raise errors.OptionError(f"drop_last=True, but uneven={uneven!r}")
        drop_last = self.uneven == "drop"
        super().__init__(dataset, world, number, shuffle, whole()("seed", seed), drop_last)  # type: ignore[arg-type]
        self.sharding = _one_of("sharding", sharding, ("strided", "contiguous")) or "strided"
        self.order = _one_of("order", order, ("torch", "keyed")) or ("torch" if weights is None else "keyed")
        self.batch_size = None if batch_size is None else whole(1)("batch_size", batch_size)
        if self.sharding == "contiguous" and self.batch_size is None:
            raise errors.OptionError('sharding="contiguous": give batch_size=, that of the loader')
        self._samples = self._length()
        self.weights = None if weights is None else self._checked(several(weights))
        self._mix_begins: Beginning | None = None  # after a change of the weights
        self._start = 0  # where the next iteration begins
        self._latest: RankEpoch | None = None  # the one that was begun last
        first = self._share()
        self.num_samples = first.size
        self.total_size = self._samples if self.uneven == "exact" else first.size * world

    def _checked(self, weights: Any) -> list[float]:
        """Weights that fit the dataset."""
        parts: Any = self.dataset.datasets if isinstance(self.dataset, ConcatDataset) else None
        if parts is None or not isinstance(weights, (list, tuple)) or len(weights) != len(parts):
            raise errors.OptionError("weights: give a ConcatDataset, and a number for each of its parts")
        numbers = all(isinstance(weight, (int, float)) and 0 <= weight < math.inf for weight in weights)
        if not numbers or not sum(weights):
            raise errors.OptionError(f"weights={weights}: give numbers from 0 on, not all of them 0")
        found = [float(weight) for weight in weights]
        if any(weight and not len(part) for weight, part in zip(found, parts, strict=True)):
            raise errors.OptionError("weights: an empty part cannot give samples")
        if self.order != "keyed":
            raise errors.OptionError('weights: torch has no such order, give order="keyed"')
        return found

    def _share(self, start: int = 0, front: int = 0) -> Share:
        batch = self.batch_size if self.sharding == "contiguous" else None
        return Share(self._samples, start, self.rank, self.num_replicas, self.uneven, batch, front)

    def _mix(self) -> Mix | None:
        if self.weights is None:
            return None
        parts: Any = self.dataset
        sizes = [len(part) for part in parts.datasets]
        begins = self._mix_begins or Beginning(0, [0] * len(sizes))
        return Mix(sizes, self.weights, self.seed, self.shuffle, begins)

    def __iter__(self) -> Iterator[int]:
        epoch, taken = RankEpoch(self), 0
        self._latest = epoch
        try:
            for first in range(0, epoch.count, _AT_ONCE):
                for index in epoch.indices(first, min(first + _AT_ONCE, epoch.count)).tolist():
                    taken = epoch.taken = taken + 1
                    yield index
            self._end(epoch)
        finally:
            epoch.leave(taken)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is that of this epoch, from its first sample on, or from where it was loaded."""
        epoch = whole(0)("epoch", epoch)
        if epoch != self.epoch:
            self._start, self._latest = 0, None
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iteration stands, for `load_state_dict`. The same on all ranks; some 50 us.

        "position" counts samples of all ranks: with torch's DataLoader, those that were asked for, which is
        ahead of the batches that came if it has workers; with a gofast.DataLoader, those that came.
        `gofast.DataLoader.state_dict` has this state in it.

        Raises:
            UnsupportedError: the batch size was changed in the middle of the epoch.
        """
        if self._latest is not None:
            return self._latest.state()
        return self._told(self.epoch, self._start, self._mix())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on where a sampler stood, of any number of ranks, and of other weights.

        It counts until that epoch has ended, or `set_epoch` names another one. Other weights hold from there
        on, and each part goes on in its pass.

        Args:
            state: of `state_dict`; or only ``{"epoch": 3, "position": 120 * global_batch}``. An empty one
                does nothing.

        Raises:
            UnsupportedError: the state is that of another order.
        """
        if not state:
            return
        mine = self._told(0, 0, None)
        for name in ("samples", "seed", "shuffle", "order", "parts"):
            if state.get(name, mine[name]) != mine[name]:
                raise errors.UnsupportedError(
                    f"the state is of another order: {name}={state[name]!r}, here {mine[name]!r}"
                )
        self.epoch = whole(0)("epoch", state["epoch"])
        self._start = whole(0, self._samples)("position", state["position"])
        self._latest = None
        self._mix_on(state)

    def _mix_on(self, state: dict[str, Any]) -> None:
        """The parts go on in their passes, behind what they had given by then."""
        mix = state.get("mix")
        if mix is None or self.weights is None:
            return
        if mix["weights"] == self.weights:
            self._mix_begins = Beginning(mix["position"], list(mix["before"]))
        else:
            stood = state["epoch"] * self._samples + state["position"]
            self._mix_begins = Beginning(stood, list(mix["taken"]))

    def _told(self, epoch: int, position: int, mix: Mix | None) -> dict[str, Any]:
        parts: Any = self.dataset
        told: dict[str, Any] = {
            "epoch": epoch,
            "position": position,
            "samples": self._samples,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "order": self.order,
            "parts": None if self.weights is None else [len(part) for part in parts.datasets],
            "mix": None,
        }
        if mix is not None:
            begin, taken = mix.begin, mix.taken(epoch * self._samples + position)
            told["mix"] = {
                "weights": self.weights,
                "position": begin.position,
                "before": begin.taken,
                "taken": taken,
            }
        return told

    # Its epochs, which a gofast.DataLoader takes as they are.

    def _end(self, epoch: RankEpoch) -> None:
        """All of its indices were given: the next iteration is a whole one."""
        if (epoch.epoch, epoch.share.start) == (self.epoch, self._start):
            self._start = 0

    def _back_to(self, start: int) -> None:
        """What was loaded stands in an iteration that began there: that is numbered as before."""
        begins = self._mix_begins
        if begins is None or begins.position <= self.epoch * self._samples + start:
            self._start = start

    def _length(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_latest": None}  # a copy begins anew

    def __repr__(self) -> str:
        mixed = "" if self.weights is None else f", parts by weight {self.weights}"
        order = f"{self.order} order" if self.shuffle else "in order"
        ranks = f"rank {self.rank} of {self.num_replicas}, {self.sharding}, {self.uneven}"
        return f"Sampler({ranks}, {order}{mixed})"


class RankEpoch:
    """One iteration over a Sampler.

    Attributes:
        epoch: its number.
        share: the positions that the rank gets.
        count: how many these are.
        taken: how many of them were given; None: nobody knows.
    """

    taken: int | None = 0
    _live: weakref.ref[Any] | None = None  # the Epoch of a loader that makes batches of them

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = weakref.ref(sampler)
        samples = sampler._samples
        if sampler._length() != samples:
            raise errors.UnsupportedError(
                f"the sampler is for {samples} samples, and the dataset has {sampler._length()} now: make "
                "another one"
            )
        self.epoch, self._mix = sampler.epoch, sampler._mix()
        self._stream = self.epoch * samples  # samples of the epochs before
        front = 0 if self._mix is None else max(self._mix.begin.position - self._stream, 0)
        self.share = sampler._share(sampler._start, front)
        self.count = self.share.size
        self._keyed: Permutation | None = None
        self._all: Tensor | None = None
        if self._mix is not None or not sampler.shuffle:
            return
        if sampler.order == "keyed":
            self._keyed = Permutation(samples, sampler.seed % 2**64, self.epoch, 0)
            return
        generator = torch.Generator()
        generator.manual_seed(sampler.seed + self.epoch)
        drawn = torch.randperm(samples, generator=generator, device="cpu")
        if self.count != samples or self.share.start:
            drawn = drawn[torch.from_numpy(self.share.positions(0, self.count))]
        self._all = drawn

    def indices(self, first: int, stop: int) -> Tensor:
        """The rank's indices, some of them."""
        if self._all is not None:
            return self._all[first:stop]
        positions: npt.NDArray[Any] = self.share.positions(first, stop)
        if self._keyed is not None:
            positions = self._keyed.at(positions)
        elif self._mix is not None:
            positions = self._mix.at(positions + self._stream)
        return torch.from_numpy(positions)

    def follow(self, live: Any) -> None:
        """A loader's Epoch gives these indices, and knows how many."""
        self._live, sampler = weakref.ref(live), self._sampler()
        if sampler is not None:
            sampler._latest = self

    def state(self, taken: int | None = None) -> dict[str, Any]:
        """That of the sampler, when the rank has had so many; None: as many as were given."""
        live, sampler = None if self._live is None else self._live(), self._sampler()
        if taken is None:
            taken = self.taken if live is None else live.samples_given
        if taken is None:
            raise errors.UnsupportedError("the batch size was changed in this epoch: its place is not known")
        assert sampler is not None
        return sampler._told(self.epoch, self.share.position(taken), self._mix)

    def end(self) -> None:
        """The sampler has no more."""
        sampler = self._sampler()
        if sampler is not None:
            sampler._end(self)

    def leave(self, taken: int | None) -> None:
        """Nobody asks for more: it is over, or was given up."""
        self.taken, self._all = taken, None


def _one_of(name: str, value: Any, names: tuple[str, ...]) -> Any:
    value = plain(value)
    if value is not None and value not in names:
        raise errors.OptionError(f"{name}={value!r}: give one of {', '.join(map(repr, names))}")
    return value

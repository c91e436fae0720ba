"""What is pulled next: the lists of one epoch, in the order in which a sampler gives them.

`schedule.DrawnOrder` is the order of torch's own samplers: an epoch that is drawn at once. `Listed` is that
of any other sampler, which may draw whenever it is asked. `_tables/blocks.BlockOrder` is that of streams.
`Slice` cuts each of them for one of several ranks or workers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from torch import Tensor

from .. import errors
from .._core.generators import Generators, owned, put_state, state_of
from .skips import NO_SKIPS

if TYPE_CHECKING:
    from .draws import Undrawn

Even = Literal["drop", "pad", "error"]
Sample = TypeVar("Sample")


class Pull:
    """Consecutive lists of an order, which go one way: pulled, drawn for, submitted, given.

    Attributes:
        index: a single list as the sampler gave it; None where `indices` says it all.
        indices: the lists' int64s, one after another; None where only torch's code can read the list.
        samples: the number of these; None: it was not counted. A tensor's `len` takes a microsecond.
        each: samples of a list; the last one may have fewer.
        lists: their number.
        records: what was drawn for the samples.
        undrawn: why it was not drawn for all of them.
        before: the draws' state before that.
        after: what the worker's generators had after that, if its collate function draws later.
        take, ticket: how the next batch is had: ``take(ticket)``. None until the pull is submitted.
        bytes: of the batches.
        here: what must be fetched first has come, or there will be an error.
        skip: their batches are not made: they are only drawn for.
    """

    samples: int | None = None
    each, lists, bytes = 0, 1, 0
    records: array[int] | None = None
    undrawn: Undrawn | None = None
    before: Any = None
    after: Generators | None = None
    take: Any = None
    ticket: Any = None
    here = skip = False

    def __init__(self, index: Any, indices: Any = None) -> None:
        self.index, self.indices = index, indices

    def as_array(self) -> array[int]:
        """The indices, in the form that is drawn for."""
        indices = self.indices
        return indices if isinstance(indices, array) else array("q", indices.tolist())


class Order:
    """What is pulled next. Base class.

    Attributes:
        batches: how many lists there are; None: that is not known.
        samples: how many there are in an order that can be sought, and is cut in runs; None: in any other.
        position: of the next sample, if it can be sought.
        skips: the lists whose batches are not made, by their numbers in this order.
    """

    batches: int | None = None
    samples: int | None = None
    position = 0
    skips = NO_SKIPS

    def pull(self) -> Pull | None:
        """The next list, drawn as torch's pull draws it, or None after the last.

        Raises: what the sampler raises.
        """
        assert self.samples is not None
        left = self.samples - self.position
        if not left:
            return None
        pull = self.part(self.position, left)
        self.position += pull.samples or 0
        return pull

    def part(self, position: int, most: int) -> Pull:
        """Some of the samples from a position on, if the order can be sought: at least one."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """What `load` takes in another process, as plain data."""
        raise NotImplementedError

    def load(self, state: dict[str, Any]) -> None:
        """Goes on where an order of an equal sampler stood. Leaves generators in any state."""
        raise NotImplementedError


class Listed(Order):
    """The lists of a sampler that may draw at any time.

    Its place is found again by pulling as many lists: from the generators that it began with, if it does not
    draw in blocks from one that others draw from too.

    Args:
        sampler: what gives the lists.
        lists: its iterator.
        begun: what `beginnings` told before that was made.
    """

    def __init__(self, sampler: Any, lists: Iterator[Any], begun: dict[str, Any] | None = None) -> None:
        self._sampler, self._lists = sampler, lists
        self._begun, self._numbers = begun, _numbers(sampler)
        self._first: dict[str, Any] = {}  # what they told before the first pull: others may draw in between
        self._at = 0  # lists that were asked for

    def pull(self) -> Pull | None:
        """See Order."""
        if not self._at and self._begun is not None:
            self._first = beginnings(self._sampler)
        self._at += 1
        try:
            index = next(self._lists)
        except StopIteration:
            return None
        if type(index) is not list and isinstance(index, Iterator):
            index = list(index)  # it may be read twice
        pull = Pull(index)
        pull.skip = self.skips.run(self._at - 1)[0]
        return pull

    def state(self) -> dict[str, Any]:
        """See Order."""
        if self._begun is None:
            raise errors.UnsupportedError("the sampler was changed in this epoch: its place cannot be kept")
        return {
            "begun": self._begun,
            "first": self._first,
            "at": self._at,
            "each": samples_of_list(self._sampler),
            "numbers": self._numbers,
        }

    def load(self, state: dict[str, Any]) -> None:
        """See Order."""
        self._begun, self._first, self._numbers = state["begun"], state["first"], state["numbers"]
        _put_numbers(self._sampler, state["numbers"])
        begin(self._sampler, state["begun"])
        self._lists = iter(self._sampler)
        if state["at"]:
            begin(self._sampler, state["first"])
        self._at = self._lists_before(state)
        for _ in range(self._at):
            with suppress(Exception):  # it came in its turn
                next(self._lists)

    def _lists_before(self, state: dict[str, Any]) -> int:
        """How many lists of this sampler had the samples that came before the state."""
        lists, before, now = state["at"], state["each"], samples_of_list(self._sampler)
        if None in (before, now) or before == now or not lists:
            return int(lists)
        found, rest = divmod(lists * before, now)
        if rest:
            raise errors.UnsupportedError(
                f"{lists * before} samples of all ranks came before: no whole number of batches of {now}"
            )
        return int(found)


class Slice(Order):
    """The part of an order that one of several ranks or workers gets.

    An order that can be sought is cut in runs, one after another: a stream's windows are decoded whole, and
    most of them by one rank only. A slice of it can be sought too, and cut again.

    Any other is cut list by list: every world-th sample of each, from the rank-th on. All ranks pull the same
    lists and get as many batches. An order of lists of ``world * batch_size`` samples gives each rank what
    torch's DistributedSampler gives it, in batches of batch_size.

    All ranks have the same state.

    Args:
        even: what becomes of samples that cannot be cut into equal parts. "drop": the last ones are left out.
            "pad": samples from the epoch's start are put behind them, again and again if they are few.
            "error": that is an error. None: some parts have a sample more.
    """

    def __init__(self, order: Order, rank: int, world: int, even: Even | None = "pad") -> None:
        if not 0 <= rank < world or even not in ("drop", "pad", "error", None):
            raise errors.OptionError(f'rank={rank} of world={world}, even={even!r}: "drop", "pad" or "error"')
        self._order, self._rank, self._world, self._even = order, rank, world, even
        self._front: list[Any] = []  # the epoch's first samples, for "pad"
        if order.samples is not None:
            self._run = run(order.samples, rank, world, even)
            self.samples = len(self._run)
        elif even in ("pad", "error"):  # else a short list may be left out
            self.batches = order.batches

    def pull(self) -> Pull | None:
        """See Order.

        Raises:
            OptionError: even="error", and a list cannot be cut.
        """
        if self.samples is not None:
            return super().pull()
        while (pull := self._order.pull()) is not None:
            samples = pull.indices.tolist() if isinstance(pull.indices, Tensor) else list(pull.index)
            self._front += samples[: self._world - len(self._front)]
            over = len(samples) % self._world
            if over and self._even == "error":
                raise _uneven(f"{len(samples)} samples", self._world)
            if over and self._even == "pad":
                more = self._world - over
                samples += (self._front * (more // len(self._front) + 1))[:more]
            elif over and self._even == "drop":
                del samples[-over:]
            if some := samples[self._rank :: self._world]:
                return Pull(some)
        return None

    def part(self, position: int, most: int) -> Pull:
        """See Order."""
        whole = self._order.samples or 0
        start = self._run[position] % whole  # behind the last position comes the first one again
        return self._order.part(start, min(most, whole - start))

    def state(self) -> dict[str, Any]:
        """See Order."""
        if self.samples is not None:
            return {**self._order.state(), "position": self.position}
        return {"order": self._order.state(), "front": list(self._front)}

    def load(self, state: dict[str, Any]) -> None:
        """See Order."""
        if self.samples is not None:
            self._order.load(state)
            self.position = state["position"]
            return
        self._order.load(state["order"])
        self._front = list(state["front"])


def samplers_in(sampler: Any) -> Iterator[Any]:
    """A batch sampler, what it takes its batches or indices from, and so on."""
    while sampler is not None:
        yield sampler
        sampler = getattr(sampler, "batch_sampler", None) or getattr(sampler, "sampler", None)


def _numbers(sampler: Any) -> list[dict[str, int]]:
    """What samplers count, and what Accelerate's seeds itself with."""
    found = []
    for one in samplers_in(sampler):
        own = vars(one) if hasattr(one, "set_epoch") and hasattr(one, "__dict__") else {}
        found.append({name: own[name] for name in ("epoch", "initial_seed") if type(own.get(name)) is int})
    return found


def _put_numbers(sampler: Any, numbers: list[dict[str, int]]) -> None:
    for one, told in zip(samplers_in(sampler), numbers, strict=False):
        for name, value in told.items():
            setattr(one, name, value)


def samples_of_list(sampler: Any) -> int | None:
    """How many samples of all ranks one list of a batch sampler stands for; None: nobody knows."""
    size: int | None = getattr(sampler, "batch_size", None)
    if size is None:
        return None
    shared = 1 if getattr(sampler, "split_batches", False) else getattr(sampler, "num_processes", 1)
    return size * shared * int(getattr(getattr(sampler, "sampler", None), "num_replicas", 1))


def run(samples: int, rank: int, world: int, even: Even | None) -> range:
    """The positions that one of several ranks gets of so many; those behind the last are the first again.

    Raises:
        OptionError: even="error", and they cannot be divided.
    """
    if even is None:
        return range(samples * rank // world, samples * (rank + 1) // world)
    if samples % world and even == "error":
        raise _uneven(f"{samples} rows", world)
    each = -(-samples // world) if even == "pad" else samples // world
    return range(rank * each, (rank + 1) * each)


def dealt(samples: Iterable[Sample], rank: int, world: int, even: Even) -> Iterator[Sample]:
    """What one of several ranks gets of samples of which nobody knows how many: each world-th.

    With "pad", those behind the last are the first again.

    Raises:
        OptionError: even="error", and they cannot be divided.
    """
    first: list[Sample] = []  # as many as may come again
    whole, own = 0, list[Sample]()
    for whole, sample in enumerate(samples, 1):
        at = (whole - 1) % world
        if even == "pad" and len(first) < world:
            first.append(sample)
        if at == rank:
            own = [sample]
        if at == world - 1:
            yield own.pop()
    if (over := whole % world) and even == "error":
        raise _uneven(f"{whole} samples", world)
    if over and even == "pad":
        yield own.pop() if rank < over else first[(rank - over) % len(first)]


def _uneven(samples: str, world: int) -> errors.OptionError:
    return errors.OptionError(
        f'{samples} cannot be divided among {world} ranks: even="drop" leaves some out, '
        'even="pad" repeats some'
    )


def beginnings(sampler: Any, own: Sequence[Any] | None = None) -> dict[str, Any]:
    """The generators that a sampler may draw from: the process's, and its own. And what it mixes.

    Args:
        own: its own generators, if they are known.
    """
    own = owned(sampler) if own is None else own
    told = {"process": Generators.plain_now(), "own": [state_of(one) for one in own]}
    if _mixes(sampler):
        told["mix"] = sampler.sampler.state_dict()
    return told


def _mixes(sampler: Any) -> bool:
    """Whether its epochs are a stream of a gofast.Sampler, in which parts go on in the next epoch."""
    return getattr(getattr(sampler, "sampler", None), "weights", None) is not None and hasattr(
        sampler.sampler, "_mix_on"
    )


def begin(sampler: Any, told: dict[str, Any]) -> None:
    """Gives them the states that `beginnings` told."""
    if "mix" in told and _mixes(sampler):
        sampler.sampler._mix_on(told["mix"])
    if told["process"] is not None:  # a state of all ranks has none
        Generators.of(told["process"]).put()
    for one, state in zip(owned(sampler), told["own"], strict=True):
        put_state(one, state)

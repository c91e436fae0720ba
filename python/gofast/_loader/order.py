"""What is pulled next: the lists of one epoch, in the order in which a sampler gives them.

`schedule.DrawnOrder` is the order of torch's own samplers: an epoch that is drawn at once. `Listed` is that
of any other sampler, which may draw whenever it is asked. `Slice` cuts either for one of several ranks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor

from .. import errors
from .._core.generators import Generators, owned, put_state, state_of

if TYPE_CHECKING:
    from .draws import Undrawn

NEVER = -1


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
    """

    samples: int | None = None
    each, lists, bytes = 0, 1, 0
    records: array[int] | None = None
    undrawn: Undrawn | None = None
    before: Any = None
    after: Generators | None = None
    take: Any = None
    ticket: Any = None

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
        early: the epoch is drawn at once: nobody notices when its later lists are pulled. Only then do `at`,
            the next list, and `ahead` mean something.
        looks_up: `holds` must be asked.
        last_pull, batch_size: see DrawnOrder; NEVER where they are not known.
    """

    batches: int | None = None
    early = looks_up = False
    at = 0
    last_pull = batch_size = NEVER

    def pull(self) -> Pull | None:
        """The next list, drawn as torch's pull draws it, or None after the last.

        Raises: what the sampler raises.
        """
        raise NotImplementedError

    def ahead(self, most: int, behind: int = 0) -> Pull | None:
        """The next lists, which torch does not pull yet. The caller moves `at` when it has them.

        Args:
            behind: so many lists that come first.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Makes the draw that torch's sampler makes when it runs to its end, once."""

    def holds(self) -> bool:
        """Whether the sampler still has the indices that were drawn from, which torch looks up."""
        return True

    def rest(self) -> Order:
        """The lists that torch's own code pulls from here on, after a change of the sampler."""
        return self

    def state(self) -> dict[str, Any]:
        """What `load` takes in another process, as plain data."""
        raise NotImplementedError

    def load(self, state: dict[str, Any], at: int | None = None) -> None:
        """Goes on where an order of an equal sampler stood. Leaves generators in any state.

        Args:
            at: the next list; None: that which was next.
        """
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
        self._begun = begun
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
        return Pull(index)

    def state(self) -> dict[str, Any]:
        """See Order."""
        if self._begun is None:
            raise errors.UnsupportedError("the sampler was changed in this epoch: its place cannot be kept")
        return {"begun": self._begun, "first": self._first, "at": self._at}

    def load(self, state: dict[str, Any], at: int | None = None) -> None:
        """See Order."""
        self._begun, self._first = state["begun"], state["first"]
        begin(self._sampler, state["begun"])
        self._lists = iter(self._sampler)
        if state["at"]:
            begin(self._sampler, state["first"])
        self._at = state["at"] if at is None else at
        for _ in range(self._at):
            with suppress(Exception):  # it came in its turn
                next(self._lists)


class Slice(Order):
    """An order's lists, cut for one of several ranks: every world-th sample of each, from the rank-th on.

    No loader uses it yet: it is what many ranks and streams will be cut by.

    All ranks pull the same lists and get as many batches. An order of lists of ``world * batch_size`` samples
    gives each rank what torch's DistributedSampler gives it, in batches of batch_size. Its state is the
    order's, the same on all ranks.

    Args:
        even: what becomes of a list that cannot be cut into equal parts. "drop": its last samples are left
            out. "pad": samples from the epoch's start are put behind it, again and again if they are few.
            "error": that is an error. With "error", and with lists that can be cut, each sample is in
            exactly one rank's batches.
    """

    def __init__(
        self, order: Order, rank: int, world: int, even: Literal["drop", "pad", "error"] = "pad"
    ) -> None:
        if not 0 <= rank < world or even not in ("drop", "pad", "error"):
            raise errors.OptionError(f'rank={rank} of world={world}, even={even!r}: "drop", "pad" or "error"')
        self._order, self._rank, self._world, self._even = order, rank, world, even
        self._front: list[Any] = []  # the epoch's first samples, for "pad"
        self.batches = None if even == "drop" else order.batches  # a short list may be left out

    def pull(self) -> Pull | None:
        """See Order.

        Raises:
            OptionError: even="error", and a list cannot be cut.
        """
        while (pull := self._order.pull()) is not None:
            samples = pull.indices.tolist() if isinstance(pull.indices, Tensor) else list(pull.index)
            self._front += samples[: self._world - len(self._front)]
            over = len(samples) % self._world
            if over and self._even == "error":
                raise errors.OptionError(
                    f'{len(samples)} samples cannot be cut for {self._world} ranks: even="drop" leaves some '
                    'out, even="pad" repeats some'
                )
            if over and self._even == "pad":
                more = self._world - over
                samples += (self._front * (more // len(self._front) + 1))[:more]
            elif over:
                del samples[-over:]
            if samples:
                return Pull(samples[self._rank :: self._world])
        return None

    def state(self) -> dict[str, Any]:
        """See Order."""
        return {"order": self._order.state(), "front": list(self._front)}

    def load(self, state: dict[str, Any], at: int | None = None) -> None:
        """See Order."""
        self._order.load(state["order"], at)
        self._front = list(state["front"])


def beginnings(sampler: Any) -> dict[str, Any]:
    """The generators that a sampler may draw from: the process's, and its own."""
    return {"process": Generators.now().plain(), "own": [state_of(one) for one in owned(sampler)]}


def begin(sampler: Any, told: dict[str, Any]) -> None:
    """Gives them the states that `beginnings` told."""
    Generators.of(told["process"]).put()
    for one, state in zip(owned(sampler), told["own"], strict=True):
        put_state(one, state)

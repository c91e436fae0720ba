"""Which of the batches that were handed out last somebody holds, and how many came behind it."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from torch import Tensor, UntypedStorage

from .. import errors

MOST = 64  # batches that are remembered; more if they come in flights
_DEPTH = 4  # of lists in lists that may hold tensors


# Generators' states behind batches that were taken ahead, as `InFlight.behind` says.
Between = list[dict[str, Any] | None] | None


class Ended(Protocol):
    """An epoch that has ended: that of the engine, or torch's."""

    def state(self, back: int) -> dict[str, Any]:
        """Behind an earlier batch: so many came behind it."""

    def behind(self, back: int) -> AbstractContextManager[Between]:
        """A context in which generators are as they were before so many batches were drawn for."""


class Flight(NamedTuple):
    """Batches whose labels were cut out of one tensor, one behind the other.

    Attributes:
        labels: that tensor's memory, weakly.
        each: its elements for a batch.
        batches: how many were handed out, or will be.
    """

    labels: weakref.ref[UntypedStorage]
    each: int
    batches: int

    def number(self, part: Tensor) -> int | None:
        """Of which batch this is the labels, or a part of them."""
        labels = self.labels()
        if labels is None or part.untyped_storage() is not labels:
            return None
        return int(part.storage_offset()) // self.each


class RecentBatches:
    """The first tensor of each batch, known weakly. A list or a dict cannot be referred to weakly, and its
    address is soon another's; its tensors stay the same objects in whatever a loop puts them into.

    What it does for a batch is felt where batches are small: 0.4 us are a twentieth of 16 rows. Such batches
    come in flights, whose labels are cut out of one memory: they are known by that, once for a flight.

    Attributes:
        ended: the epoch, if it has ended: a loop that reads ahead works on when the iterator is gone.
    """

    ended: Ended | None = None

    def __init__(self) -> None:
        self._known = deque[weakref.ref[Any] | Flight | None](maxlen=MOST)

    def restart(self) -> None:
        """An epoch begins."""
        self._known.clear()
        self.ended = None

    def add(self, batch: Any) -> None:
        """A batch was handed out."""
        first = batch[0] if type(batch) is list and batch else batch
        try:
            self._known.append(weakref.ref(first if type(first) is Tensor else next(tensors(batch), batch)))
        except TypeError:  # a list of numbers or texts
            self._known.append(None)

    def lost(self) -> None:
        """A batch has failed."""
        self._known.append(None)

    def begin(self, labels: Sequence[Tensor], first: Any) -> bool:
        """A flight begins. Returns whether its batches need not be added: the first ends with its labels."""
        own = labels[0]
        last = first[-1] if type(first) is list else [*first.values()][-1] if type(first) is dict else None
        if last is not own or not own.numel():
            return False
        self._known.append(Flight(weakref.ref(own.untyped_storage()), own.numel(), len(labels)))
        return True

    def cut(self, left: int) -> None:
        """The last flight's last batches are not handed out from it."""
        if left and self._known and type(known := self._known[-1]) is Flight:
            self._known[-1] = known._replace(batches=known.batches - left)

    def behind(self, batch: Any, left: int) -> int:
        """How many batches came behind this one.

        Args:
            left: those of the last flight that were not handed out yet.

        Raises:
            UnsupportedError: it is none of these batches.
        """
        found, back, parts = set[int](), 0, [*tensors(batch)] or [batch]
        for known in reversed(self._known):
            if type(known) is Flight:
                batches, left = known.batches - left, 0
                numbers = (known.number(part) for part in parts if isinstance(part, Tensor))
                found.update(back + batches - 1 - at for at in numbers if at is not None and at < batches)
                back += batches
            else:
                first = None if known is None else known()
                if first is not None and any(first is part for part in parts):
                    found.add(back)
                back += 1
        if len(found) == 1:
            return found.pop()
        if found:
            raise errors.UnsupportedError("several of the loader's last batches have the same first tensor")
        raise errors.UnsupportedError(
            f"it is none of the last batches of this epoch (at least {MOST} are remembered): ask with a "
            "batch as the loader gave it, before its tensors are copied or moved"
        )


def tensors(value: Any, depth: int = _DEPTH) -> Iterator[Tensor]:
    """The tensors in a batch, in order."""
    if isinstance(value, Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple, Mapping)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from tensors(one, depth - 1)

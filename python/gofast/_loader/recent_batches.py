"""Which of the batches that were handed out last somebody holds, and how many came behind it."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from .. import errors

MOST = 64  # batches that are remembered, or a few more
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
        labels: that tensor, weakly.
        each: its elements for a batch.
        batches: how many were handed out, or will be.
    """

    labels: weakref.ref[Tensor]
    each: int
    batches: int

    def number(self, part: Tensor) -> int | None:
        """Of which batch this is the labels, or a part of them."""
        labels = self.labels()
        if labels is None or part._base is not labels:
            return None
        return int(part.storage_offset() - labels.storage_offset()) // self.each


class RecentBatches:
    """The first tensor of each batch, known weakly. A list or a dict cannot be referred to weakly, and its
    address is soon another's; its tensors stay the same objects in whatever a loop puts them into.

    A weak reference takes 0.2 us, a fiftieth of a small batch of rows. Such batches come in flights, whose
    labels were cut in parts beforehand: these are known by what they were cut from, once for a flight. To
    keep the parts instead would cost as much.

    Attributes:
        ended: the epoch, if it has ended: a loop that reads ahead works on when the iterator is gone.
    """

    ended: Ended | None = None

    def __init__(self) -> None:
        self._known = deque[weakref.ref[Any] | Flight | None]()
        self._count = 0  # of batches

    def restart(self) -> None:
        """An epoch begins."""
        self._known.clear()
        self._count, self.ended = 0, None

    def add(self, batch: Any) -> None:
        """A batch was handed out."""
        self._append(_reference(batch), 1)

    def lost(self) -> None:
        """A batch has failed."""
        self._append(None, 1)

    def begin(self, labels: Sequence[Tensor], first: Any) -> bool:
        """A flight begins. Returns whether its batches need not be added: the first ends with its labels."""
        last = [*first.values()][-1] if type(first) is dict else first[-1] if type(first) is list else None
        base = labels[0]._base
        if last is not labels[0] or base is None or not last.numel():
            return False
        self._append(Flight(weakref.ref(base), last.numel(), len(labels)), len(labels))
        return True

    def _append(self, known: weakref.ref[Any] | Flight | None, batches: int) -> None:
        self._known.append(known)
        self._count += batches
        while True:
            first = self._known[0]
            over = self._count - (first.batches if type(first) is Flight else 1)
            if over < MOST:
                return
            self._known.popleft()
            self._count = over

    def cut(self, left: int) -> None:
        """The last flight's last batches are not handed out from it."""
        if left and self._known and type(known := self._known[-1]) is Flight:
            self._known[-1] = known._replace(batches=known.batches - left)
            self._count -= left

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
            f"it is none of the last batches of this epoch ({MOST} are remembered): ask with a batch as the "
            "loader gave it, before its tensors are copied or moved"
        )


def _reference(batch: Any) -> weakref.ref[Any] | None:
    first = batch[0] if type(batch) is list and batch else batch  # the usual one, at once
    try:
        return weakref.ref(first if type(first) is Tensor else next(tensors(batch), batch))
    except TypeError:  # a list of numbers or texts
        return None


def tensors(value: Any, depth: int = _DEPTH) -> Iterator[Tensor]:
    """The tensors in a batch, in order."""
    if isinstance(value, Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple, Mapping)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from tensors(one, depth - 1)

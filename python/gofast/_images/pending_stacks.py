"""A stack of samples that wait, as of ten crops of a picture: it is one row of a batch, and waits too."""

from __future__ import annotations

import weakref
from array import array
from collections import deque
from collections.abc import Sequence

import torch

from .._core.native import Picture
from .expected_batches import ExpectedBatches
from .held_pictures import Held, Making
from .pending_samples import Makes, Pending


class PendingStack(Makes):
    """What makes a stack: see Makes. It has no picture of its own, and nothing is drawn for it.

    Args:
        parts: samples of one program, which nobody has begun to make, or written to.
        place: memory of all of them.
    """

    expected = ExpectedBatches()  # there are none

    def __init__(self, parts: Sequence[Pending], place: torch.Tensor) -> None:
        self._program, self.dtype, self._shape = parts[0].program, place.dtype, tuple(place.shape)
        self._parts = [(one.held, one.recorded) for one in parts]
        self._records = [one.record for one in parts]
        self.waiting = deque(maxlen=0)  # for others of this: there are none

    def _pictures(self) -> list[Picture]:
        found = [(held, recorded) for held, recorded in self._parts if held is not None]
        return [(held.data, *held.size, *recorded) for held, recorded in found]

    def shape_of(self, picture: Picture) -> tuple[int, ...]:
        """See Makes."""
        return self._shape

    def strides_of(self, picture: Picture) -> tuple[int, ...]:
        """See Makes."""
        _, channels, height, width = self._shape
        return channels * height * width, height * width, width, 1

    def finish_all(
        self,
        pictures: list[Picture],
        records: Sequence[array[int] | None],
        places: array[int],
        alone: bool = False,
    ) -> None:
        """See Makes. A stack is laid out as batches are."""
        Held.decode(held for held, _ in self._parts)
        count, *shape = self._shape
        step = torch.Size(shape).numel() * self.dtype.itemsize
        for start in places:
            rows = array("q", range(start, start + count * step, step))
            self._program.finish_all(self._pictures(), self._records, rows)

    def begin(
        self,
        pictures: list[Picture],
        records: Sequence[array[int] | None],
        places: Sequence[torch.Tensor],
        alone: bool = False,
    ) -> Making | None:
        """See Makes. Where a picture is not decoded yet, it is made with its batch."""
        if not all([held is not None and held.end(now=True) for held, _ in self._parts]):
            return None
        return self._program.begin(self._pictures(), self._records, places[0].unbind(0))


_unbegun: deque[weakref.ref[Pending]] = deque(maxlen=64)  # stacks whose pictures are being decoded


def _begin() -> None:
    """Has the engine's threads make those whose pictures are there by now."""
    for _ in range(len(_unbegun)):
        ref = _unbegun.popleft()
        one = ref()
        if one is not None and one.is_open() and one.place is not None:
            one.making = one.program.begin([], [], [one.place])
            if one.making is None:
                _unbegun.append(ref)


def stack_later(parts: Sequence[Pending], place: torch.Tensor) -> Pending | None:
    """What a stack of them will be made of, at its place; None where it is made at once."""
    program = parts[0].program
    if len(place.shape) != 4 or torch.is_inference_mode_enabled() or not program.has_helpers():
        return None
    made = Pending(PendingStack(parts, place), None, (b"",), None)
    made.place = place
    for one in parts:
        one.used = True
    _unbegun.append(weakref.ref(made))
    _begin()
    return made

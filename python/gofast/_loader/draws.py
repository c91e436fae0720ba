"""The interface that draws for the batches of a loader's iterator. Views decide what is drawn."""

from __future__ import annotations

from array import array
from contextlib import suppress
from typing import Any, NamedTuple


class BatchPosition(NamedTuple):
    """Which sample of its batch an error came of.

    Attributes:
        position: of the sample.
        is_drawn: torchvision has drawn for it by then: it could be read.
    """

    position: int
    is_drawn: bool

    def note(self, error: Exception) -> None:
        """Notes it with the error."""
        with suppress(Exception):  # some are frozen
            error._gofast_place = self  # type: ignore[attr-defined]

    @classmethod
    def of(cls, error: Exception) -> BatchPosition | None:
        """That of an error, if it was noted."""
        return getattr(error, "_gofast_place", None)

    @property
    def drawn(self) -> int:
        """For how many samples torchvision has drawn by then."""
        return self.position + self.is_drawn


class Undrawn(Exception):
    """The draws for a batch ended at a sample.

    Attributes:
        error: what torchvision raises there.
        records: the draws for the samples before it.
        samples: their number.
    """

    def __init__(self, error: Exception, records: array[int], samples: int) -> None:
        super().__init__(str(error))
        self.error, self.records, self.samples = error, records, samples


class Draws:
    """Draws for the batches of an iterator, in torch's order. Base class: `gofast._images.picture_draws`.

    Attributes:
        early: the draws of a batch may be made at any time.
        python: they also come from Python's random.
    """

    early = python = False

    def __call__(self, indices: array[int]) -> array[int]:
        """The draws for the next batch in order, which has these samples.

        Raises:
            Undrawn: they end before the last sample.
        """
        raise NotImplementedError

    def state(self) -> Any:
        """The state that `rewind` goes back to."""

    def rewind(self, state: Any, indices: array[int]) -> None:
        """Goes back to the moment at which `state` was called.

        With workers, only for the worker that was next then: to go back over more than one batch, rewind
        each of them, the last one first.

        Args:
            indices: samples whose pictures may have another size now.
        """

    def skip(self) -> None:
        """Passes over the next batch without a draw."""

    def ahead(self, indices: array[int], state: Any) -> tuple[array[int], Any]:
        """The draws for a batch if the generators have this state by then, and the state that it leaves.

        Only without workers, and if not `early`, as `give`. The generators stay as they are.

        Args:
            state: as `state` tells it.
        """
        raise NotImplementedError

    def give(self, before: Any, after: Any) -> bool:
        """Whether the generators have the first state. Then they get the second."""
        raise NotImplementedError

    def begin(self, batch: int = 0) -> None:
        """An epoch begins, with the draws for this batch."""

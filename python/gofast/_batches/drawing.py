"""What draws for the batches of a loader's iterator; who draws what is the datasets' affair."""

from __future__ import annotations

from array import array
from typing import Any, Protocol


class Drawing(Protocol):
    """Draws for the batches of an iterator, in torch's order. `gofast._images.draws` has the real one.

    Attributes:
        early: batches may be drawn for at any time.
    """

    early: bool

    def __call__(self, indices: array[int]) -> array[int]:
        """What is drawn for a batch of these samples, the next in order."""

    def state(self) -> Any:
        """What rewind takes."""

    def rewind(self, state: Any, indices: array[int]) -> None:
        """Goes back to where state was asked for.

        Args:
            indices: samples whose pictures' sizes are not what they were.
        """

    def skip(self) -> None:
        """Nothing is drawn for the next batch."""

    def next_epoch(self) -> None:
        """Begins again with the first worker."""

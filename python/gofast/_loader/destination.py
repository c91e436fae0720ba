"""Where a loader's batches arrive: ordinary memory, pinned memory, or a device (`gofast._device`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .stream import Stream

if TYPE_CHECKING:
    from .view import View

PINNED = "batches are made in pinned memory: nothing is copied"


class Destination:
    """Ordinary memory, or pinned memory of torch's, which has nothing to copy then.

    Args:
        rows: batches are handed out as lists of rows.

    Attributes:
        ordinary: a small batch is made by the calling thread.
    """

    def __init__(self, rows: bool = False, pinned: bool = False) -> None:
        self.rows, self._pinned = rows, pinned
        self.ordinary = not pinned

    def row_bytes(self, view: View) -> int:
        """Bytes of a sample, by which batches are large or small."""
        return view.row_bytes

    def stream(self, view: View, batch_size: int, threads: int | None) -> Any:
        """A stream whose batches arrive there."""
        return Stream(view, batch_size, threads, pinned=self._pinned, rows=self.rows)

    def fits(self, stream: Any, view: View) -> bool:
        """Whether a stream of an earlier iterator's is such a one."""
        return type(stream) is Stream and stream.pinned == self._pinned and stream.rows == self.rows

    def check(self) -> None:
        """Raises where no batch may be handed out now."""

    def move(self, batch: Any) -> Any:
        """A batch that was made in another way, there. torch pins what is to be pinned."""
        return batch

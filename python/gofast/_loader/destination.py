"""Where a loader's batches arrive: pinned memory, or a device (`gofast._device`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .stream import Stream

if TYPE_CHECKING:
    from .view import View


class Destination(Protocol):
    """Where batches arrive."""

    def row_bytes(self, view: View) -> int:
        """Bytes of a sample, by which batches are large or small."""

    def stream(self, view: View, batch_size: int, threads: int | None) -> Stream:
        """A stream whose batches arrive there."""

    def fits(self, stream: Stream, view: View) -> bool:
        """Whether a stream of an earlier iterator's is such a one."""

    def check(self) -> None:
        """Raises where no batch may be handed out now."""

    def explained(self, view: View | None) -> str:
        """How batches get there; without a view, those of torch's own machinery."""

    def move(self, batch: Any) -> Any:
        """A batch that was made in another way, there."""


class Pinned:
    """Pinned memory of torch's: it has nothing to copy.

    Args:
        rows: batches are handed out as lists of rows.
    """

    def __init__(self, rows: bool = False) -> None:
        self._rows = rows

    def row_bytes(self, view: View) -> int:
        """See Destination."""
        return view.row_bytes

    def stream(self, view: View, batch_size: int, threads: int | None) -> Stream:
        """See Destination."""
        return Stream(view, batch_size, threads, pinned=True, rows=self._rows)

    def fits(self, stream: Stream, view: View) -> bool:
        """See Destination."""
        return type(stream) is Stream and stream.pinned and stream.rows == self._rows

    def check(self) -> None:
        """See Destination."""

    def explained(self, view: View | None) -> str:
        """See Destination."""
        return "batches are made in pinned memory: nothing is copied"

    def move(self, batch: Any) -> Any:
        """See Destination. torch pins it."""
        return batch

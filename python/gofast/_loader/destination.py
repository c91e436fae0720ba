"""Where batches arrive: ordinary, pinned or shared memory, or a device (`gofast._device`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._core import engine
from .batcher import Batcher
from .pinning import is_asked_for
from .slots import Slots
from .worker_ring import can_share

if TYPE_CHECKING:
    from .batch_source import BatchSource
    from .counts import Counts
    from .native_dataset import NativeDataset

PINNED = "batches are made in pinned memory: nothing is copied"


class Destination:
    """Ordinary memory, or pinned memory of torch's, which has nothing to copy then.

    Args:
        rows: batches are handed out as lists of rows.
    """

    def __init__(self, rows: bool = False, pinned: bool = False) -> None:
        self.rows, self._pinned = rows, pinned

    def row_bytes(self, view: BatchSource) -> int:
        """Bytes of a sample, by which batches are large or small."""
        return view.row_bytes

    def batcher(
        self,
        view: BatchSource,
        threads: int | None = None,
        counts: Counts | None = None,
        before: Batcher | None = None,
    ) -> Any:
        """What makes batches of a view that arrive there; see Batcher."""
        return Batcher(view, self, threads, counts, before)

    def new_slots(self, bytes_: int) -> Slots:
        """Slots of so many bytes."""
        return Slots(bytes_)

    def pins(self, rows: int) -> bool:
        """Whether a batch of so many rows that is made now lies in pinned memory of torch's."""
        return self._pinned

    def fits(self, batcher: Any, view: BatchSource) -> bool:
        """Whether what an earlier iterator used makes such batches."""
        before = batcher.destination
        return type(before) is Destination and (before._pinned, before.rows) == (self._pinned, self.rows)

    def check(self) -> None:
        """Raises where no batch may be handed out now."""

    def move(self, batch: Any) -> Any:
        """A batch that was made in another way, there. torch pins what is to be pinned."""
        return batch


class ForTorch(Destination):
    """Where torch's loader needs what it asks a dataset for in this process.

    From a worker it goes on to the parent in shared memory. If torch is about to pin it, it is pinned.

    Args:
        shares: batches go on whole; else they are a part of what does.
    """

    def __init__(self, shares: bool = True) -> None:
        super().__init__()
        self._shared = shares and engine.in_worker() and can_share()

    def new_slots(self, bytes_: int) -> Slots:
        """See Destination."""
        return Slots(bytes_, shared=self._shared)

    def pins(self, rows: int) -> bool:
        """See Destination."""
        return rows > 0 and not self._shared and is_asked_for()


def own_batcher(dataset: NativeDataset, before: Batcher | None) -> Batcher:
    """What this process makes the batches with that torch's loader asks a dataset for.

    Args:
        before: the last one, perhaps of the process that this one was forked from: its view goes on.
    """
    if before is not None and before.pid == os.getpid():
        return before
    made: Batcher = ForTorch().batcher(dataset._own_view() if before is None else before.view)
    return made

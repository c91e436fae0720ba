"""Where a loader's batches go."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

from .._core.units import size
from .._loader.batcher import Batcher
from .._loader.destination import Destination
from .._loader.slots import Slots
from .device import Device, opened
from .device_batcher import AHEAD, DeviceBatcher
from .mover import move
from .resident import ROW_BYTES, Resident, ResidentBatcher, ResidentTable, is_resident, table_of
from .transfer import finish_of

if TYPE_CHECKING:
    from .._loader.batch_source import BatchSource
    from .._loader.counts import Counts


class OnDevice(Destination):
    """A device, for one iterator: without an index, torch's current one at that moment.

    Raises:
        DeviceError: there is none.
    """

    def __init__(self, wanted: torch.device, resident: Resident) -> None:
        super().__init__()
        self.device: Device = opened(wanted)
        self._resident = resident
        self._tables: weakref.WeakKeyDictionary[BatchSource, ResidentTable | None] = (
            weakref.WeakKeyDictionary()
        )

    def _table(self, view: BatchSource) -> ResidentTable | None:
        if view not in self._tables:
            self._tables[view] = table_of(self.device, view, self._resident)
        return self._tables[view]

    def row_bytes(self, view: BatchSource) -> int:
        """See Destination."""
        return view.row_bytes if self._table(view) is None else ROW_BYTES

    def batcher(
        self,
        view: BatchSource,
        threads: int | None = None,
        counts: Counts | None = None,
        before: Batcher | None = None,
    ) -> Any:
        """See Destination."""
        table = self._table(view)
        if table is not None:
            return ResidentBatcher(self.device, view, self, table, counts)
        return DeviceBatcher(self.device, view, self, threads, counts)

    def new_slots(self, bytes_: int) -> Slots:
        """See Destination."""
        return Slots(bytes_, pin=self.device.pin)

    def fits(self, batcher: Any, view: BatchSource) -> bool:
        """See Destination."""
        kind = DeviceBatcher if self._table(view) is None else ResidentBatcher
        return type(batcher) is kind and batcher._device is self.device

    def check(self) -> None:
        """See Destination.

        Raises:
            DeviceError: a graph is captured.
        """
        self.device.check_capture()

    def explained(self, view: BatchSource | None) -> str:
        """How batches get there; without a view, those of torch's own machinery."""
        if view is None:
            return f"{self.device}: moved when a batch is handed out, through a pinned block"
        if is_resident(self.device, view, self._resident):
            stored = view.table()
            assert stored is not None
            return f"{self.device}: the table lives there ({size(stored.bytes)}), a kernel gathers its rows"
        return f"{self.device}: {finish_of(self.device, view).what}, up to {AHEAD} batches ahead"

    def move(self, batch: Any) -> Any:
        """See Destination."""
        return move(self.device, batch)

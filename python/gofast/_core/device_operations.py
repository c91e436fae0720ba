"""What Go does for a GPU: it opens and closes it, counts its work, and finds its kernels."""

from __future__ import annotations

from typing import TypedDict

from .operation import Call, Object


class DeviceWanted(TypedDict):
    """A GPU, and where what it needs is found; see device.Options."""

    ordinal: int
    library: str
    compilers: list[str]
    cache: str


class OpenedDevice(Object):
    """A GPU; see device.Info. And the size of a kernel's parameters."""

    making_bytes: int
    name: str
    ordinal: int
    capability: str
    driver: str
    stream: int


class DeviceStats(TypedDict):
    """A GPU's counters; see device.Stats. And its memory, in bytes."""

    batches: int
    bytes: int
    staged_bytes: int
    pageable_bytes: int
    pinned_bytes: int
    kernels: int
    rate: float
    copy_seconds: float
    kernel_seconds: float
    free: int
    total: int


class Kernel(Object):
    """What a kernel makes of what, by the types' names."""

    stored: str
    made: str


device: Call[DeviceWanted, OpenedDevice] = Call("device")
close_device: Call[Object, None] = Call("close_device")
device_stats: Call[Object, DeviceStats] = Call("device_stats")
kernel: Call[Kernel, int] = Call("kernel")

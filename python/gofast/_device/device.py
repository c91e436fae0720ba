"""The devices of this process, opened at first use."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import importlib.util
import os
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from .. import errors
from .._core import device_operations, engine
from .._core.machine import Machine
from .._core.memory import address_of
from .._core.native import Ring
from .._core.warn import warn
from . import torch_device as sides
from .kernel_parameters import KernelParameters, job
from .run_ahead import RunAheadLimit

PINNED_SHARE = 1 / 8  # of memory that the ranks of a machine may pin; the rest goes through staging
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

_library = ""  # the driver's; tests name a stand-in
_cache = ""  # the folder for compiled kernels; "" is the user's cache
_side: Callable[[int, int], sides.TorchDevice] = sides.TorchDevice
_ordinal_of: Callable[[torch.device], int] = sides.ordinal_of


def _memory() -> int:
    """Bytes of memory that the machine has, or that the control group allows."""
    here = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(here, Machine().memory_limit() or here)


class Device:
    """A GPU, with gofast's stream on it.

    Attributes:
        address: of the core's structure.
        side: torch's part.
        behind: what was handed out.
        name: what the driver calls it.
        waited: seconds for which consumers had to wait for a batch.
        without_kernels: why there are no kernels, if there are none.
    """

    def __init__(self, ordinal: int) -> None:
        made = device_operations.device(
            {"ordinal": ordinal, "library": _library, "compilers": compilers(), "cache": _cache}
        )
        if made["making_bytes"] != ctypes.sizeof(KernelParameters):
            raise errors.InternalError("making.py and making.h lay out a kernel's parameters in two ways")
        self.address, self.name = made["address"], made["name"]
        self.ordinal = ordinal
        self.side = _side(ordinal, made["stream"])
        # The core has loaded it. The call is short: the GIL, once given away, may come back late.
        driver = ctypes.PyDLL(_library or "libcuda.so.1")
        self._exchange_mode = driver.cuThreadExchangeStreamCaptureMode
        self.behind = RunAheadLimit(self.side.mark, self.allocating)
        self.waited = 0.0
        self.without_kernels = ""
        # What is resident, by the memory that it was uploaded from; see `resident`.
        self.tables: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._capsule = engine.capsule()
        self._kept: deque[tuple[int, list[torch.Tensor]]] = deque()  # see keep
        self._keeping = threading.RLock()  # a signal handler may move a batch too
        self._kernels: dict[tuple[str, str], int] = {}

    def kernel(self, stored: str, made: str) -> int | None:
        """The function that makes numbers of a type of stored ones, for `launch`; None without a compiler."""
        if (stored, made) not in self._kernels and not self.without_kernels:
            try:
                kernel = device_operations.kernel({"address": self.address, "stored": stored, "made": made})
            except errors.UnsupportedError as error:
                self.without_kernels = str(error)
                warn(
                    f"{self}: {error}. Finished samples are copied, which are larger",
                    once="kernels",
                )
            else:
                self._kernels[stored, made] = kernel
        return self._kernels.get((stored, made))

    def send(self, job: array[int], place: int = 0, mended: int = 0) -> Any:
        """Starts a job: see Capsule.send.

        Raises:
            DeviceError: what the driver refused.
        """
        return engine.cross(self._capsule.send, self.address, place, mended, job.buffer_info()[0])

    def check_capture(self) -> None:
        """Refuses to hand a batch to a graph.

        Raises:
            DeviceError: one is captured; it would read the batch's memory again, when that is another's.
        """
        if self.side.capturing():
            raise errors.DeviceError(
                "a CUDA graph is captured on the current stream: take the batch before, and copy it into a "
                "tensor that the graph keeps"
            )

    def ready(self, place: int) -> bool:
        """Whether the slot at a place can be sent."""
        return bool(self._capsule.send(self.address, place, 0, 0))

    @contextlib.contextmanager
    def allocating(self) -> Iterator[None]:
        """While memory is allocated for batches. They are for no graph: else a capture, on any thread, would
        forbid this one torch's cudaMalloc, and end. And one that is made ahead inside `inference_mode` may be
        trained with."""
        mode = ctypes.c_int(_RELAXED)
        refused = self._exchange_mode(ctypes.byref(mode))
        try:
            with torch.inference_mode(False):
                yield
        finally:
            if not refused:
                self._exchange_mode(ctypes.byref(mode))

    def receive(self, number: int, stream: int) -> None:
        """Lets a stream wait for a job.

        Raises:
            DeviceError: what the driver refused.
        """
        engine.cross(self._capsule.receive, self.address, number, stream)

    def launch(self, function: int, making: int, stream: int) -> None:
        """Puts a kernel on a stream.

        Raises:
            DeviceError: what the driver refused.
        """
        engine.cross(self._capsule.launch, self.address, function, making, stream)

    def pin(self, ring: Ring, size: int) -> bool:
        """Pins the memory of a ring of so many bytes, if that may be: batches of it need no staging."""
        if (self.stats()["pinned_bytes"] + size) * engine.ranks() > _memory() * PINNED_SHARE:
            return False
        why = self._capsule.pin(ring, self.address)
        if why:
            warn(
                f"{self}: batch memory cannot be pinned ({why}): batches are copied through a small pinned "
                "block, which is slower. Raise the limit of locked memory (ulimit -l, or --ulimit memlock=-1 "
                "of a container)",
                once="pinning",
            )
        return not why

    def sent(self, number: int) -> bool:
        """Whether a job is done, so that its memory on the host is free."""
        return self._capsule.sent(self.address, number)

    def keep(self, number: int, sources: list[torch.Tensor]) -> None:
        """Holds pinned memory of the user's until the device has read it, in the move of that number."""
        with self._keeping:
            while self._kept and self.sent(self._kept[0][0]):
                self._kept.popleft()
            if sources and not self.sent(number):
                self._kept.append((number, sources))

    def upload(self, values: np.ndarray[Any, Any]) -> Upload:
        """The bytes of an array on the device."""
        values = np.ascontiguousarray(values)
        with self.allocating():
            (there,) = self.side.empty(((values.nbytes,), torch.uint8))
        number = 0
        if values.nbytes:
            number = self.send(job((address_of(values), there.data_ptr(), values.nbytes, 0)))
        return Upload(self, there, number)

    @property
    def resident_bytes(self) -> int:
        """Bytes of the tables that live there."""
        return sum(table.bytes for kinds in list(self.tables.values()) for table in kinds.values())

    def stats(self) -> device_operations.DeviceStats:
        """The device's counters and its memory."""
        self.keep(0, [])
        self.sent(0)  # gives back what done moves held
        return device_operations.device_stats({"address": self.address})

    def __str__(self) -> str:
        return f"cuda:{self.ordinal} ({self.name})"


class Upload:
    """Memory on a device that is written once. gofast's own stream may read it at once.

    Attributes:
        memory: uint8 [bytes].
    """

    def __init__(self, device: Device, memory: torch.Tensor, number: int) -> None:
        self.memory = memory
        self._device, self._number = device, number
        self._there = not number
        self._users: set[int] = set()

    def use_on(self, stream: Any, handle: int) -> None:
        """Lets what is put on a stream from now on read it."""
        if not self._there:
            self._device.receive(self._number, handle)
            self._there = self._device.sent(self._number)
        if handle not in self._users:
            self._device.side.used(self.memory, stream)
            self._users.add(handle)


_devices: dict[int, Device] = {}
_lock = threading.RLock()  # a signal handler may open one too


_of_parents: list[object] = []


def _after_fork_in_child() -> None:
    global _lock
    # CUDA does not survive a fork, and torch's memory there must not be freed: that ends the process.
    _of_parents.append(dict(_devices))
    _devices.clear()
    _lock = threading.RLock()  # a signal handler may open one too


os.register_at_fork(after_in_child=_after_fork_in_child)


def opened(device: torch.device) -> Device:
    """The device of this process; without an index, torch's current one.

    Raises:
        DeviceError: there is none, with the reason.
    """
    ordinal = _ordinal_of(device)
    with _lock:
        if ordinal not in _devices:
            engine.native()
            _devices[ordinal] = Device(ordinal)
        return _devices[ordinal]


def all_opened() -> list[Device]:
    """The devices that this process has opened."""
    return list(_devices.values())


def compilers() -> list[str]:
    """Where libraries of NVRTC may lie: those of torch's wheels, of torch's own CUDA first."""
    places: list[str] = []
    for package, pattern in (("nvidia", "*/lib/libnvrtc.so.*"), ("torch", "lib/libnvrtc*.so*")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            places += sorted(glob.glob(os.path.join(glob.escape(folder), pattern)), reverse=True)
    major = (torch.version.cuda or "").split(".")[0]
    libraries = [place for place in places if "builtins" not in place and ".alt." not in place]
    return sorted(libraries, key=lambda place: not place.endswith(f".so.{major}"))

"""The stand-in for a GPU: a driver in C (gofast/device/testdata/standin), and torch's side of its device.

Device tensors are CPU tensors over the stand-in's memory, which is poisoned when it is freed. What a test
looks at is made by `look`, as a kernel of the user's would see it.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import gc
import pathlib
import subprocess
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from gofast import DataLoader, errors
from gofast._core import device_operations, engine, warn
from gofast._device import device as devices
from gofast._device.prefetch import Moving
from gofast._loader.iterator import NativeIterator

SOURCES = pathlib.Path(__file__).parents[2] / "gofast/device/testdata/standin"
MANUAL, LATE, ON_SIGHT, RANDOM = range(4)


def build(folder: pathlib.Path) -> pathlib.Path:
    """The stand-in's library, which the processes of a test run share: one of them builds it."""
    library = folder / "libstandin.so"
    flags = ["-std=gnu11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
    with open(folder / "libstandin.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            sources = sorted(str(path) for path in SOURCES.glob("*.c"))
            part = folder / "libstandin.part"
            subprocess.run(["gcc", *flags, "-o", str(part), *sources], check=True)
            part.rename(library)
    return library


class StandIn:
    """The control of the stand-in, and the devices that a test opens on it.

    Attributes:
        library: the path.
        place: the number of the current device.
        streams: the consumer's current stream of each device.
        visible: how many devices torch sees.
        may_leak: calls that give something back were made to fail.
    """

    def __init__(self, library: pathlib.Path) -> None:
        self.library = library
        self.c = c = ctypes.CDLL(str(library))
        for name in ("stream", "malloc", "end"):
            getattr(c, f"standin_{name}").restype = ctypes.c_uint64
        for name in ("violations", "leaks"):
            getattr(c, f"standin_{name}").restype = ctypes.c_char_p
        c.standin_malloc.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64]
        c.standin_record.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        c.standin_free.argtypes = c.standin_end.argtypes = [ctypes.c_uint64]
        c.standin_reached.argtypes = c.standin_wait.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        c.standin_read.argtypes = [
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        c.standin_touch.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64]
        c.standin_advance.argtypes = [ctypes.c_uint64, ctypes.c_int]
        c.standin_memory.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        c.standin_pin_limit.argtypes = [ctypes.c_uint64]
        c.standin_seed.argtypes = [ctypes.c_uint64]
        c.standin_is_pinned.argtypes = [ctypes.c_void_p]
        c.standin_fail.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
        c.standin_calls.argtypes = [ctypes.c_char_p]
        self.place = 0
        self.streams: dict[int, int] = {}
        self.visible = 1
        self.capturing = False
        self.may_leak = False
        self.memory: set[int] = set()  # addresses of what is allocated for torch
        self._mode = MANUAL

    def fail(self, call: str, nth: int = 1, code: int = 999) -> None:
        """The nth next call of this name fails."""
        self.c.standin_fail(call.encode(), nth, code)

    def calls(self, name: str) -> int:
        """How many calls there were."""
        return int(self.c.standin_calls(name.encode()))

    def violations(self) -> str:
        return bytes(self.c.standin_violations()).decode()

    def leaks(self) -> str:
        return bytes(self.c.standin_leaks()).decode()

    def stream(self, device: int = 0) -> int:
        """The stream that the consumer's work goes to."""
        if device not in self.streams:
            self.streams[device] = int(self.c.standin_stream(device))
        return self.streams[device]

    @property
    def mode(self) -> int:
        """When work is done; see standin.h."""
        return self._mode

    @mode.setter
    def mode(self, mode: int) -> None:
        self._mode = mode
        self.c.standin_mode(mode)

    def look(self, tensor: torch.Tensor) -> torch.Tensor:
        """What a kernel of the user's sees in a device tensor, once its stream gets there: a CPU tensor."""
        if not tensor.nbytes:
            return tensor.clone()
        whole = tensor.untyped_storage()
        assert whole.data_ptr() in self.memory, "the tensor is not on the device"
        out, ready = torch.empty(len(whole), dtype=torch.uint8), ctypes.c_int(0)
        self.c.standin_mode(LATE)  # the read is done now, and nothing that it does not need
        self.c.standin_read(
            self.stream(self.place), whole.data_ptr(), len(whole), out.data_ptr(), ctypes.byref(ready)
        )
        self.c.standin_mode(self._mode)
        assert ready.value, self.violations() or "the device is lost"
        seen = torch.empty(0, dtype=tensor.dtype)
        return seen.set_(out.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())

    def seen(self, batch: Any) -> Any:
        """A batch with all its tensors looked at. Tensors that torch moves by itself are as they were: torch
        knows no such device."""
        if isinstance(batch, torch.Tensor):
            return self.look(batch) if type(batch) is torch.Tensor else batch
        if isinstance(batch, Mapping):
            return {key: self.seen(value) for key, value in batch.items()}
        if isinstance(batch, tuple) and hasattr(batch, "_fields"):
            return type(batch)(*map(self.seen, batch))
        if isinstance(batch, (tuple, list)):
            return type(batch)(map(self.seen, batch))
        return batch


class Mark:
    """What torch.cuda.Event is: a place on a stream."""

    def __init__(self, standin: StandIn, stream: int) -> None:
        self._standin, self._stream, self._place = standin, stream, standin.c.standin_end(stream)

    def query(self) -> bool:
        return bool(self._standin.c.standin_reached(self._stream, self._place))

    def synchronize(self) -> None:
        self._standin.c.standin_wait(self._stream, self._place)


class StandInSide:
    """torch's part of a device of the stand-in."""

    standin: StandIn

    def __init__(self, ordinal: int, stream: int) -> None:
        self.device = torch.device("cpu")
        self._ordinal, self._ours = ordinal, stream

    def current(self) -> int:
        return self.standin.stream(self._ordinal)

    def handle(self, stream: int) -> int:
        return stream

    def empty(self, *wanted: tuple[Sequence[int], torch.dtype]) -> list[torch.Tensor]:
        return [self._empty(tuple(shape), dtype, self._ours) for shape, dtype in wanted]

    def empty_as(self, tensor: torch.Tensor) -> torch.Tensor:
        meta = torch.empty_like(tensor, device="meta")
        made = self._empty((meta.numel(),), tensor.dtype, self._ours)
        return made.as_strided(meta.shape, meta.stride())

    def empty_here(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return self._empty(tuple(shape), dtype, self.current())

    def capturing(self) -> bool:
        return self.standin.capturing

    def mark(self, stream: int) -> Mark:
        return Mark(self.standin, stream)

    def used(self, tensor: torch.Tensor, stream: int) -> None:
        self.standin.c.standin_record(tensor.untyped_storage().data_ptr(), stream)

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype, stream: int) -> torch.Tensor:
        size = dtype.itemsize
        for n in shape:
            size *= n
        if not size:
            return torch.empty(shape, dtype=dtype)
        address = self.standin.c.standin_malloc(self._ordinal, size, stream)
        if not address:
            raise torch.OutOfMemoryError(f"the stand-in has no {size} bytes")
        memory = (ctypes.c_uint8 * size).from_address(address)
        tensor = torch.frombuffer(memory, dtype=dtype).view(shape)
        self.standin.memory.add(address)
        weakref.finalize(memory, _free, self.standin, address).atexit = False
        return tensor


def _free(standin: StandIn, address: int) -> None:
    standin.memory.discard(address)
    standin.c.standin_free(address)


def opened(library: pathlib.Path, monkeypatch: Any, cache: pathlib.Path) -> Iterator[StandIn]:
    """The stand-in as this process's driver, while a test runs; afterwards nothing may be wrong or left."""
    standin = StandIn(library)
    standin.c.standin_reset()
    standin.mode = LATE
    StandInSide.standin = standin

    def ordinal_of(device: torch.device) -> int:
        ordinal = standin.place if device.index is None else device.index
        if not 0 <= ordinal < standin.visible:
            raise errors.DeviceError(f"there is no device {ordinal}")
        return ordinal

    monkeypatch.setattr(devices, "_library", str(library))
    monkeypatch.setattr(devices, "_cache", str(cache))
    monkeypatch.setattr(devices, "_side", StandInSide)
    monkeypatch.setattr(devices, "_ordinal_of", ordinal_of)
    monkeypatch.setattr(devices, "_devices", {})
    monkeypatch.setattr(warn, "_said", set())
    engine.native()
    yield standin
    close_all(standin)


def close_all(standin: StandIn) -> None:
    """Closes the devices, and looks whether anything is wrong or left."""
    standin.c.standin_heal()
    standin.c.standin_advance_all()  # the user's kernels: nobody closes a device that is in use
    for device in devices.all_opened():
        device.tables.clear()
        device._kept.clear()
        device_operations.close_device({"address": device.address})
    devices._devices.clear()
    standin.c.standin_advance_all()
    if standin.leaks():
        gc.collect()  # 0.2 s: most tests leave no circles
    wrong, left = standin.violations(), standin.leaks()
    assert not wrong, wrong
    assert standin.may_leak or not left, left


def everywhere(standin: StandIn, monkeypatch: Any, resident: Any) -> None:
    """From now on every gofast.DataLoader has device="cuda" unless it says otherwise, and its batches come
    as the device's user sees them."""
    init = DataLoader.__init__

    @functools.wraps(init)
    def with_device(self: Any, *args: Any, **options: Any) -> None:
        init(self, *args, **{"device": "cuda", "resident": resident, **options})

    monkeypatch.setattr(DataLoader, "__init__", with_device)
    for kind in (NativeIterator, Moving):
        given = kind.__next__

        def seen(self: Any, given: Any = given) -> Any:
            batch = given(self)
            return standin.seen(batch) if isinstance(self, Moving) or self._on_device else batch

        monkeypatch.setattr(kind, "__next__", seen)

"""The kernel's parameters and the jobs of `send`, as C lays them out: gofast/device/making.h and device.h."""

from __future__ import annotations

import ctypes
from array import array

ERASINGS = 4  # of one sample at most


class KernelParameters(ctypes.Structure):
    """gf_making."""

    _fields_ = [
        ("stored", ctypes.c_uint64),
        ("rows", ctypes.c_uint64),
        ("made", ctypes.c_uint64),
        ("results", ctypes.c_uint64),
        ("mean", ctypes.c_uint64),
        ("std", ctypes.c_uint64),
        ("labels", ctypes.c_uint64),
        ("labels_made", ctypes.c_uint64),
        ("boxes", ctypes.c_uint64),
        ("count", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("label_bytes", ctypes.c_int64),
        ("plane", ctypes.c_int64),
        ("channels", ctypes.c_int32),
        ("last", ctypes.c_int32),
        ("divide", ctypes.c_int32),
        ("picture_width", ctypes.c_int32),
        ("n_erasings", ctypes.c_int32),
        ("values", ctypes.c_uint32 * 4 * ERASINGS),
    ]


def job(pieces: tuple[int, ...], function: int = 0, making: int = 0) -> array[int]:
    """A gf_job.

    Args:
        pieces: of each its address on the host (0: the slot's memory) and on the device, its bytes, and
            whether the host's memory is pinned.
        function, making: the addresses of a kernel that comes behind them, and of its Making.
    """
    return array("q", (function, making, len(pieces) // 4, *pieces))

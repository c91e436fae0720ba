"""The kernel's parameters and the jobs of `send`, as C lays them out: gofast/device/making.h and device.h."""

from __future__ import annotations

import ctypes

ERASINGS = 4  # of one sample at most


class Making(ctypes.Structure):
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

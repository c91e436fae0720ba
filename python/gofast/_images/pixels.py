"""Pictures that lie in memory as pixels: an array of N of one size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from .._core import picture_operations
from .._plan.state import Kind, State
from .picture_files import PictureFiles

Pictures = npt.NDArray[np.uint8]


def taken(data: Any, order: str) -> Pictures | str:
    """An array's memory as pictures [n, height, width] or [n, height, width, 3], or why it is none.

    Args:
        data: a numpy array or a tensor.
        order: of its axes behind the first: "hw", "hwc" or "chw".
    """
    if type(data) is torch.Tensor:
        if data.device.type != "cpu" or data.layout != torch.strided or data.dtype != torch.uint8:
            return f"data is a tensor of {data.dtype} on {data.device}, not of uint8 on the CPU"
        data = data.detach().numpy()  # stays where it is when the user's tensor is given other memory
    if type(data) is not np.ndarray:
        return f"data is of {type(data).__name__}, not a numpy array or a tensor"
    if data.dtype != np.uint8:
        return f"data is of {data.dtype}, not uint8"
    if data.ndim != 1 + len(order) or (order != "hw" and data.shape[1 + order.index("c")] != 3):
        return f"data has the shape {list(data.shape)}: no pictures of {len(order) // 3 * 2 + 1} channels"
    if 0 in data.shape:
        return "data is empty"
    return data.transpose(0, 2, 3, 1) if order == "chw" else data


class PixelLayout(NamedTuple):
    """The address of an array's or a tensor's first element, its shape and strides."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def layout_of(data: Any) -> PixelLayout | None:
    """How an array or a tensor lies in memory now; None of anything else."""
    if isinstance(data, torch.Tensor):
        return PixelLayout(data.data_ptr(), tuple(data.shape), data.stride())
    if isinstance(data, np.ndarray):
        return PixelLayout(data.__array_interface__["data"][0], data.shape, data.strides)
    return None


class Pixels(PictureFiles):
    """Pictures of one size in the user's memory.

    Args:
        pictures: uint8 [n, height, width] or [n, height, width, 3], with any strides; kept alive.
        kind: what a transform is given: PIL images, or tensors [channels, height, width].
    """

    are_pixels = True

    def __init__(self, pictures: Pictures, kind: Kind = "pil") -> None:
        self._pictures, self._kind = pictures, kind
        self.count, self.contents = len(pictures), None
        self._find_in(bytearray(self.found_bytes(0)), 0)

    def state(self) -> State:
        """What each picture is, before any transform."""
        height, width = self._pictures.shape[1:3]
        return State(self._kind, channels=3 if self._pictures.ndim == 4 else 1, size=(height, width))

    def picture(self, sample: int) -> Pictures:
        """The pixels of one."""
        made: Pictures = self._pictures[sample]
        return made

    def path(self, sample: int) -> str:
        """See the base class."""
        return f"picture {sample}"

    def forget(self, samples: Any) -> None:
        """Nothing was found out that could be forgotten."""

    def addresses(self, seed: int, labels: bool) -> picture_operations.FilesRequest:
        """See the base class. Labels are not the core's."""
        layout, state = layout_of(self._pictures), self.state()
        assert layout is not None
        address, shape, strides = layout
        return {
            "count": self.count,
            "file": None,
            "memory": None,
            "stored": {
                "data": address,
                "strides": [*strides, *([0] if state.channels == 1 else [])],
                "width": shape[2],
                "height": shape[1],
                "channels": state.channels,
            },
            "seed": seed,
            "epoch": 0,
            "targets": 0,
            "extents": 0,
            "facts": 0,
            "mapped": 0,
            "lasting": 0,
            "kept": None,
        }

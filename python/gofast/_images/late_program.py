"""A plan in C memory that is run on pictures which Python holds."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import torch

from .. import errors
from .._batches.core_dataset import CoreDataset
from .._core import codecs, operations
from .._late.source import MAX_FILE_BYTES
from .._plan.compile import Plan
from .options import Rng

_MOST_PIXELS = 1 << 30  # Pillow has looked at the header


class LateProgram:
    """What a plan makes of one picture at a time. `draws` takes it for a view of one sample.

    Attributes:
        core: the program.
        record_words: int32s that are drawn for a picture.
        needs_size: whether draws hang on the picture's size.
    """

    rng: Rng = "torch"
    helpers = (0, 0)

    def __init__(self, plan: Plan) -> None:
        assert plan.shape is not None
        codecs.load()
        channels, height, width = plan.shape
        nothing, sizes = array("Q", [0]), array("i", [0, 0])  # it reads no file of its own
        self._last = plan.strides == "hwc"
        self._shape = (height, width, channels) if self._last else (channels, height, width)
        self._dtype: torch.dtype = getattr(torch, plan.dtype)
        self._wraps, self.needs_size = plan.hands_over == "tv_image", plan.needs_size
        made = operations.pictures(
            {
                "plan": {
                    "steps": plan.steps,
                    "output": {
                        "channels": channels,
                        "height": height,
                        "width": width,
                        "dtype": plan.dtype,
                        "channels_last": self._last,
                    },
                },
                "files": {
                    "count": 1,
                    "file": None,
                    "memory": {"starts": nothing.buffer_info()[0], "lengths": nothing.buffer_info()[0]},
                    "seed": 0,
                    "epoch": 0,
                    "targets": 0,
                    "sizes": sizes.buffer_info()[0],
                },
                "pass_order": codecs.pass_order(),
                "max_pixels": _MOST_PIXELS,
                "max_file_bytes": MAX_FILE_BYTES,
            }
        )
        self.core = CoreDataset(made, (nothing, sizes))
        self.record_words = self.core.record_words

    def __len__(self) -> int:
        return 1

    def forget(self, indices: Sequence[int]) -> None:
        """Nothing is remembered."""

    def size_of(self, index: int) -> tuple[int, int]:
        """Every picture comes with its size."""
        raise errors.InternalError("a late picture without a size")

    def make(self, data: bytes, size: tuple[int, int], chain: bytes, record: int) -> torch.Tensor | None:
        """The sample of a picture, of the type and strides that torchvision gives it.

        Args:
            data: a file, or RGBX pixels.
            size: width and height of the pixels; zeros for a file.
            chain: what is done to the picture first.
            record: address of what was drawn for it.

        Returns:
            The sample; None where torchvision itself must make it, or says why nobody can.
        """
        sample = torch.empty(self._shape, dtype=self._dtype, device="cpu")
        place = sample.data_ptr()
        code, _ = codecs.capsule().make_sample(data, *size, chain, self.core.address, record, place)
        if code:
            return None
        if self._last:
            sample = sample.permute(2, 0, 1)
        if not self._wraps:
            return sample
        from torchvision import tv_tensors

        wrapped: torch.Tensor = tv_tensors.Image(sample)
        return wrapped

"""A plan in C memory that is run on pictures which Python holds."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import errors
from .._core import codecs, operations
from .._plan.compile import Plan
from .batch_files import BatchFiles
from .core_pictures import CorePictures
from .options import Rng

_MOST_PIXELS = 1 << 30  # Pillow has looked at the header


class LateProgram:
    """What a plan makes of one picture at a time. `draws` takes it for a view of one sample.

    Attributes:
        core: the program, which reads no file of its own.
        torch_words: see CorePictures.
        record_words: int32s that are drawn for a picture.
        needs_size: whether draws hang on the picture's size.
    """

    rng: Rng = "torch"
    helpers = (0, 0)

    def __init__(self, plan: Plan) -> None:
        assert plan.shape is not None
        self._last = plan.strides == "hwc"
        self.core = CorePictures(BatchFiles(1, paths=False), plan, plan.shape, self._last, _MOST_PIXELS)
        self._shape = plan.shape
        if self._last:
            channels, height, width = plan.shape
            self._shape = [height, width, channels]
        self._dtype: torch.dtype = getattr(torch, plan.dtype)
        self._wraps, self.needs_size = plan.hands_over == "tv_image", plan.needs_size
        self.record_words = self.core.record_words
        self.torch_words: Sequence[operations.TorchWords] = self.core.torch_words

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

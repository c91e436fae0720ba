"""A plan in C memory that is run on pictures which Python holds."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence

import torch

from .. import errors
from .._core import codecs, generators, picture_operations
from .._late.picture import LateMaking
from .._late.source import SourceState
from .._plan.compile import Plan
from . import draws
from .core_pictures import CorePictures
from .options import Rng
from .picture_files import BatchFiles

_MOST_PIXELS = 1 << 30  # Pillow has looked at the header


class LateProgram:
    """What a plan makes of one picture at a time. `draws` takes it for a view of one sample.

    Attributes:
        core: the program, which reads no file of its own.
        torch_words: see CorePictures.
        record_words: int32s that are drawn for a picture.
        needs_size: whether draws depend on the picture's size.
        draws_python: whether Python's random is drawn from.
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
        self.draws_python = plan.draws_python
        self.record_words = self.core.record_words
        self.torch_words: Sequence[picture_operations.TorchWords] = self.core.torch_words

    def __len__(self) -> int:
        return 1

    def forget(self, indices: Sequence[int]) -> None:
        """Nothing is remembered."""

    def size_of(self, index: int) -> tuple[int, int]:
        """Every picture comes with its size."""
        raise errors.InternalError("a late picture without a size")

    def sample(
        self, size: tuple[int, int], data: bytes, held: tuple[int, int], chain: bytes
    ) -> torch.Tensor | None:
        """The sample of a picture, of the type and strides that torchvision gives it, and with its draws.

        Args:
            size: width and height of the picture that the plan is given.
            data: a file, or RGBX pixels.
            held: width and height of the pixels; zeros for a file.
            chain: what is done to that first.

        Returns:
            The sample. None where torchvision itself must make it, or says why nobody can: the generators
            stand as before then.
        """
        if not self.record_words:
            return self._make(data, held, chain, 0)
        with generators.taken():
            before = torch.get_rng_state()
            state = before.clone()
            python = generators.PythonWords(random.getstate()) if self.draws_python else None
            try:
                record = draws.draw(self, array("q", [0]), array("i", size), state.data_ptr(), python)
            except draws.RAISED:  # torchvision says so at the same place
                return None
            torch.set_rng_state(state)
            if python is not None:
                python.put()
        made = self._make(data, held, chain, record.buffer_info()[0])
        if made is None:
            torch.set_rng_state(before)
            if python is not None:
                python.back()
        return made

    def _make(self, data: bytes, held: tuple[int, int], chain: bytes, record: int) -> torch.Tensor | None:
        sample = torch.empty(self._shape, dtype=self._dtype, device="cpu")
        place = sample.data_ptr()
        code, _ = codecs.capsule().make_sample((data, *held, chain), self.core.address, record, place)
        if code:
            return None
        if self._last:
            sample = sample.permute(2, 0, 1)
        if not self._wraps:
            return sample
        from torchvision import tv_tensors

        wrapped: torch.Tensor = tv_tensors.Image(sample)
        return wrapped


def sample_of(program: LateProgram, size: tuple[int, int], making: LateMaking) -> torch.Tensor | None:
    """What a program makes of a late picture; None as of `LateProgram.sample`."""
    held, data = making.source.held()
    made = None if held is None else program.sample(size, data, held, making.chain)
    if made is not None:
        making.source.state = SourceState.NATIVE  # the file is known to be whole
    return made

"""A plan in C memory that is run on pictures which Python holds."""

from __future__ import annotations

import random

import torch

from .._core import codecs, generators
from .._late.picture import LateMaking
from .._late.source import SourceState
from .._loader.places import empty
from .._plan.compile import Plan
from . import draws
from .core_pictures import CorePictures
from .picture_files import BatchFiles

_MOST_PIXELS = 1 << 30  # Pillow has looked at the header


class LateProgram:
    """What a plan makes of one picture at a time."""

    def __init__(self, plan: Plan) -> None:
        assert plan.shape is not None
        self._last = plan.strides == "hwc"
        self._core = CorePictures(BatchFiles(1, paths=False), plan, plan.shape, self._last, _MOST_PIXELS)
        self._shape: tuple[int, ...] = tuple(plan.shape)
        if self._last:
            channels, height, width = plan.shape
            self._shape = height, width, channels
        self._dtype: torch.dtype = getattr(torch, plan.dtype)
        self._wraps, self._draws_python = plan.hands_over == "tv_image", plan.draws_python

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
            The sample. None where torchvision itself must make it, or raises: the generators
            stand as before then.
        """
        if not self._core.record_words:
            return self._make(data, held, chain, 0)
        with generators.taken():
            before = torch.get_rng_state()
            state = before.clone()
            python = generators.PythonWords(random.getstate()) if self._draws_python else None
            try:
                record = draws.draw_one(self._core, size, state.data_ptr(), python)
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
        if self._last or self._wraps:
            sample = torch.empty(self._shape, dtype=self._dtype, device="cpu")
        else:
            sample = empty(self._shape, self._dtype)  # as a batch will have it
        place = sample.data_ptr()
        code, _ = codecs.capsule().make_sample((data, *held, chain), self._core.address, record, place)
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

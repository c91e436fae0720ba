"""A plan in C memory that is run on pictures which Python holds."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence
from typing import Generic, TypeVar

import torch

from .._core import codecs, generators
from .._core.native import Picture
from .._core.spent import Spent
from .._lazy.lazy_image import LazyImage
from .._lazy.opened_image import LazyFactory
from .._lazy.source import PixelSource, Source, SourceState
from .._loader.sample_memory import empty
from .._plan.compile import Plan
from . import path_cache, picture_draws, pillow
from .core_pictures import CorePictures
from .path_cache import LazyImageCache
from .picture_files import BatchFiles

MOST_PIXELS = 1 << 30  # Pillow has looked at the header
_OF_PROGRAM: Picture = (b"", 0, 0, b"")  # the program's own file


Made = TypeVar("Made")


class _Program(Generic[Made]):
    """What a plan makes of one picture at a time.

    Args:
        shape, last: of CorePictures.
    """

    def __init__(self, plan: Plan, shape: Sequence[int] | None, last: bool = False) -> None:
        self._made_by = plan, shape, last, MOST_PIXELS
        self._core = CorePictures(BatchFiles(1, paths=False), *self._made_by)
        self._draws_python = plan.draws_python
        self._keeping: tuple[LazyImageCache, CorePictures] | None = None

    def sample(self, size: tuple[int, int], data: bytes, held: tuple[int, int], chain: bytes) -> Made | None:
        """The sample of a picture, with the draws that torchvision would have made.

        Args:
            size: width and height of the picture that the plan is given.
            data: a file, or RGBX pixels.
            held: width and height of the pixels; zeros for a file.
            chain: what is done to that first.

        Returns:
            The sample. None where torchvision itself must make it, or raises: the generators
            stand as before then.
        """
        return self._drawn(size, self._core, (data, *held, chain))

    def _drawn(
        self, size: tuple[int, int], core: CorePictures, picture: Picture, file: Source | None = None
    ) -> Made | None:
        """As `sample`, by any of both programs. A file must be the same behind it."""
        if not core.record_words:
            made = self._make(core, picture, 0)
            return made if file is None or file.is_same() else None
        generator = generators.of_thread()
        with generators.taken():
            before = generator.get_state()
            state = before.clone()
            python = generators.PythonWords(random.getstate()) if self._draws_python else None
            try:
                record = picture_draws.draw_one(core, size, state.data_ptr(), python)
            except picture_draws.RAISED:  # torchvision says so at the same place
                return None
            generator.set_state(state)
            if python is not None:
                python.put()
        made = self._make(core, picture, record.buffer_info()[0])
        if made is None or not (file is None or file.is_same()):
            generator.set_state(before)
            if python is not None:
                python.back()
            return None
        return made

    @Spent.picture
    def of(self, size: tuple[int, int], making: LazyFactory) -> Made | None:
        """The sample of a lazy image; None as of `sample`."""
        held, data = making.source.held()
        made = None if held is None else self.sample(size, data, held, making.chain)
        if made is not None:
            making.source.state = SourceState.NATIVE  # the file is known to be whole
        return made

    def by_record(self, size: tuple[int, int], making: LazyFactory) -> Made | None:
        """The sample of a lazy image by way of its file's record; None where it is made in another way."""
        store, keeping = path_cache.current, self._keeping
        if store is None:
            self._keeping = None
            return None
        if keeping is None or keeping[0].of is not store:
            keeper = LazyImageCache(store, self._made_by[0])
            keeping = self._keeping = keeper, CorePictures(keeper.files, *self._made_by, kept=keeper)
        (keeper, core), source = keeping, making.source
        if not source.is_whole():
            return None
        with keeper.at(making) as possible:
            if not possible:
                return None
            made = self._drawn(size, core, _OF_PROGRAM, source)
            if made is not None:
                source.state = SourceState.NATIVE
            return made

    def _make(self, core: CorePictures, picture: Picture, record: int) -> Made | None:
        raise NotImplementedError


class LazyProgram(_Program[torch.Tensor]):
    """A plan that makes a tensor, of the type and strides that torchvision gives it."""

    def __init__(self, plan: Plan) -> None:
        assert plan.shape is not None
        self._last = plan.strides == "hwc"
        super().__init__(plan, plan.shape, self._last)
        self._shape: tuple[int, ...] = tuple(plan.shape)
        if self._last:
            channels, height, width = plan.shape
            self._shape = height, width, channels
        self._dtype: torch.dtype = getattr(torch, plan.dtype)
        self._wraps = plan.hands_over == "tv_image"

    def _make(self, core: CorePictures, picture: Picture, record: int) -> torch.Tensor | None:
        if self._last:
            sample = torch.empty(self._shape, dtype=self._dtype, device="cpu")
        else:
            sample = empty(self._shape, self._dtype)  # as a batch will have it
        code, _ = codecs.capsule().make_sample(picture, core.address, record, sample.data_ptr())
        if code:
            return None
        if self._last:
            sample = sample.permute(2, 0, 1)
        if not self._wraps:
            return sample
        from torchvision import tv_tensors

        wrapped: torch.Tensor = tv_tensors.Image(sample)
        return wrapped


class PictureProgram(_Program[tuple[PixelSource, int]]):
    """A plan that makes a PIL image of mode RGB, for Python to go on with: pixels, and what its info lost."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, None)

    @Spent.picture
    def picture(
        self, image: LazyImage, making: LazyFactory, made: tuple[PixelSource, int] | None = None
    ) -> LazyImage | None:
        """That image, whose next steps are recorded again; None as of `sample`.

        Args:
            made: what `by_record` has made.
        """
        made = made or self.of(image.size, making)
        if made is None:
            return None
        pixels, lost = made
        new = image._then(LazyFactory(pixels, b"", "RGB", pixels.size), b"", pixels.size, "RGB")
        if lost:
            new.info = {} if lost & pillow.LOST else pillow.info_after(lost, "RGB", image.info)
        return new

    def _make(self, core: CorePictures, picture: Picture, record: int) -> tuple[PixelSource, int] | None:
        made = pillow.MadePicture()
        place = ctypes.addressof(made)
        code, _ = codecs.capsule().make_sample(picture, core.address, record, place)
        if code:
            return None
        rows, size, steps = pillow.take_rows(place)
        return PixelSource(rows, size), steps

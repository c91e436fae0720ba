"""Plans in C memory that make pictures, for Python to go on with: pixels, or steps that are recorded."""

from __future__ import annotations

import ctypes
from array import array

from .._core import codecs
from .._core.native import Picture
from .._core.processor_time import Spent
from .._lazy.array_images import LazyArrayImage
from .._lazy.lazy_image import LazyImage
from .._lazy.opened_image import LazyFactory
from .._lazy.source import PixelSource
from .._plan.compile import Plan
from . import pillow
from .core_pictures import CorePictures
from .lazy_program import CompiledProgram, address_of
from .recorded_steps import RecordedSteps, cuts, recorded


class PictureProgram(CompiledProgram[tuple[PixelSource, int]]):
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
        if type(image) is LazyArrayImage:
            new: LazyImage = image.then(pixels)
        else:
            new = image._then(LazyFactory(pixels, b"", "RGB", pixels.size), b"", pixels.size, "RGB")
        if lost:
            new.info = {} if lost & pillow.LOST else pillow.info_after(lost, "RGB", image.info)
        return new

    def _make(
        self, core: CorePictures, picture: Picture, record: array[int] | None
    ) -> tuple[PixelSource, int] | None:
        made = pillow.MadePicture()
        place = ctypes.addressof(made)
        code, _ = codecs.capsule().make_sample(picture, core.address, address_of(record), place)
        if code:
            return None
        rows, size, steps = pillow.take_rows(place)
        return PixelSource(rows, size), steps


class RecordingProgram(CompiledProgram[RecordedSteps]):
    """A plan whose steps a lazy image records: one call draws for all, and whoever asks makes the pixels."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, None)
        self._steps, self._cuts = plan.steps, cuts(plan.steps)

    def picture(self, image: LazyImage, making: LazyFactory) -> LazyImage | None:
        """The image with those steps; None as of `sample`, or where a part of its pixels is to be kept."""
        if self._cuts:
            making = image._again(making)
            if isinstance(making.source, PixelSource):
                return None
        made = self._drawn(image.size, self._core, (b"", *image.size, b""))
        if made is None:
            return None
        if not (made.chain or self._cuts):
            return image  # as torchvision gives what it did nothing to
        new = image._then(making, made.chain, made.size, "RGB")
        if made.lost:
            new.info = {}
        return new

    def _make(self, core: CorePictures, picture: Picture, record: array[int] | None) -> RecordedSteps | None:
        _, width, height, _, *_ = picture
        return None if record is None else recorded(self._steps, record, (width, height))

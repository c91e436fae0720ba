"""Decodes batches that are handed over: what a Decoder keeps for one call at a time."""

from __future__ import annotations

import contextlib
import ctypes
import os
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .._loader.batch_source import Output
from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns
from .._loader.sample_memory import lie_together
from . import picture_draws, pillow
from .bad_samples import BadSamples
from .compiled_dataset import CompiledDataset
from .options import PictureOptions
from .picture_files import BatchFiles
from .plan_stamp import PlanStamp

_MOST_IDLE = 8  # lanes that wait for the next batch; each keeps the memory of one or two


class IdleDecoderBatches:
    """Lanes that nobody uses. Threads may share it.

    A lane's memory has its pages already: getting pages for a new batch costs as much as decoding it.
    """

    def __init__(self) -> None:
        self._lanes: list[DecoderBatch] = []

    def take(self, count: int, paths: bool) -> DecoderBatch | None:
        """A lane for a batch of so many, which nobody else uses from now on."""
        for lane in reversed(self._lanes.copy()):
            if lane.takes(count, paths):
                with contextlib.suppress(ValueError):  # another thread has taken it
                    self._lanes.remove(lane)
                    return lane
        return None

    def put(self, lane: DecoderBatch) -> None:
        """A lane is not used any more."""
        self._lanes.append(lane)
        del self._lanes[:-_MOST_IDLE]

    def __reduce__(self) -> tuple[type[IdleDecoderBatches], tuple[()]]:
        return IdleDecoderBatches, ()  # a copy has lanes of its own


class DecoderBatch:
    """Makes one batch at a time. Its room, its core program and its slots serve one call after another.

    Args:
        room: the most samples of a batch.
        paths: the samples are paths; else bytes.
        threads: most that work on a batch; None: all of the engine's.
        generator: what is drawn comes from it; None: from torch's default one.
    """

    _called = "Decoder"
    _steady = True  # the files of a batch do not change
    _output: Output = "tuple"
    _names = ("image",)
    _listing: Any = None
    _native_labels = False
    _alone = True
    _reader = None

    def __init__(
        self,
        transform: Callable[[Any], Any] | None,
        room: int,
        paths: bool,
        bad: BadSamples,
        threads: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.transform, self._bad = transform, bad
        self._options = PictureOptions()
        self._files = BatchFiles(room, paths)
        self._threads, self._generator = threads, generator
        self._drawn, self._made = array("i"), list[Any]()  # of the batch that was begun
        self._work: CompiledDataset | None = None

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> Sequence[ExtraColumns]:
        return ()

    def _attributes(self) -> tuple[Any, ...]:
        return self.transform, self._files, pillow.max_pixels()

    @property
    def _stamp(self) -> PlanStamp:
        assert self._work is not None
        return self._work.stamp

    def takes(self, count: int, paths: bool) -> bool:
        """Whether a batch of so many can be made here."""
        return count <= len(self._files) and paths == (self._files.contents is None)

    def make(self, files: Sequence[Any]) -> Any:
        """A batch: one tensor [n, ...] if the samples have one shape and type; else a list of them.

        Args:
            files: see BatchFiles.
        """
        try:
            self._files.take(files)
            work = self._here()
            if not files:
                shape, dtype = work.plan.shape, getattr(torch, work.plan.dtype)
                return [] if shape is None or not work.finished else torch.empty((0, *shape), dtype=dtype)
            if work.finished:
                return work.batch(array("q", range(len(files)))).images
            if self.transform is None:
                return together(self._pixels(work, array("q", range(len(files)))))
            indices = list(range(len(files)))
            with picture_draws.from_generator(self._generator):
                return together([make()[0] for make in work.pictures(indices)])
        finally:
            self._files.let_go()

    def make_seeded(self, files: Sequence[Any], seeds: Sequence[int]) -> Any:
        """The same, where each file's draws are those of the generator with its seed."""
        generator = self._generator
        assert generator is not None
        self.begin(self.transform)
        try:
            for file, seed in zip(files, seeds, strict=True):
                generator.manual_seed(seed)
                with picture_draws.from_generator(None if self._begun.finished else generator):
                    self.add(file)
            return together(self.samples(0, len(files), kept=False)) if files else self.make(files)
        finally:
            self.end()

    def begin(self, transform: Callable[[Any], Any] | None) -> None:
        """A batch whose files come one after another, by `add`, begins."""
        self.transform = transform
        self._begun = self._here()

    def is_for(self, transform: Callable[[Any], Any] | None) -> bool:
        """Whether the batch's samples are those of this transform as it is now."""
        return transform is self.transform and self._here() is self._begun

    def add(self, file: Any) -> None:
        """The next file of the batch: what its transform draws is drawn now.

        Raises:
            Exception: what reading its header, or a transform in Python, raises: it is not of the batch then.
        """
        work, one = self._begun, array("q", [self._files.add(file)])
        try:
            if work.finished:
                self._drawn += work.records(one) or array("i")
            elif self.transform is not None:
                self._made += [make()[0] for make in work.pictures(one.tolist())]
        except Exception:
            self._files.drop()
            raise

    def samples(self, start: int, stop: int, kept: bool = True) -> list[Any]:
        """Samples start to stop of the files that were added.

        Args:
            kept: somebody may keep one. Else they may become their batch as they lie.

        Raises:
            BadImageError: one cannot be read; ``index`` is its place.
        """
        work, indices = self._begun, array("q", range(start, stop))
        if not work.finished:
            return self._pixels(work, indices) if self.transform is None else self._made[start:stop]
        words = work.core.record_words
        drawn = self._drawn[start * words : stop * words] if work.plan.draws else None
        images = work.batch(indices, drawn).images
        made = [work.view.row_image(image) for image in images]
        if not kept and made[0].data_ptr() == images.data_ptr() and type(made[0]) is torch.Tensor:
            lie_together(made, images)
        return made

    def end(self) -> None:
        """Keeps nothing of the batch."""
        self._files.let_go()
        self._drawn, self._made = array("i"), []

    def _pixels(self, work: CompiledDataset, indices: array[int]) -> list[torch.Tensor]:
        """Decoded pictures, uint8 [3, H, W]."""
        batch = work.batch(indices)
        place = batch.images.data_ptr()
        try:
            return [_taken(place + i * pillow.PICTURE_BYTES) for i in range(len(indices))]
        finally:
            pillow.free_pictures(place, len(indices))

    def _here(self) -> CompiledDataset:
        """The work of the transform as it is now."""
        self._work = CompiledDataset.of(
            self, self._work, self._threads, hands_over=False, generator=self._generator
        )
        return self._work

    def _rounded(self, picture: Any) -> Any:
        """As it is: a Decoder rounds nothing."""
        return picture


def together(samples: list[Any]) -> Any:
    """The samples in one tensor, if they are tensors of one shape and type; else the list."""
    first = samples[0] if samples else None
    if not isinstance(first, torch.Tensor):
        return samples
    for other in samples[1:]:
        if not isinstance(other, torch.Tensor) or (other.shape, other.dtype) != (first.shape, first.dtype):
            return samples
    return torch.stack(samples)


def file_of(picture: Any) -> Any:
    """A picture file as its path, or as bytes or a uint8 array of its bytes; None of what is no file."""
    if hasattr(picture, "as_py"):  # a scalar of pyarrow's, which lends its bytes
        lends = "binary" in str(picture.type) and hasattr(picture, "as_buffer")
        picture = picture.as_buffer() if lends else picture.as_py()
    if isinstance(picture, dict) and "bytes" in picture:
        picture = picture["bytes"] if picture["bytes"] is not None else picture.get("path")
    if picture is None:
        return b""  # a file that nobody can read
    if type(picture) is bytes:
        return picture
    if isinstance(picture, (str, os.PathLike)):
        return os.fsdecode(picture)
    if isinstance(picture, torch.Tensor) and picture.dtype == torch.uint8:
        picture = picture.numpy()
    try:
        held = memoryview(picture).cast("B")
    except TypeError:  # no buffer, or one with gaps
        return None
    return np.frombuffer(held, np.uint8) if held.nbytes else b""


def _taken(place: int) -> torch.Tensor:
    """The pixels of a picture, in memory of its own."""
    made = pillow.MadePicture.from_address(place)
    shape = made.height, made.width, 4
    pixels = (ctypes.c_uint8 * (4 * made.width * made.height)).from_address(made.data)
    return torch.frombuffer(pixels, dtype=torch.uint8).view(shape)[..., :3].permute(2, 0, 1).contiguous()

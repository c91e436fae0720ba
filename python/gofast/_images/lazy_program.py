"""A plan in C memory that is run on pictures which Python holds."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import random
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import torch
from torch.utils.data import get_worker_info

from .._core import codecs, engine, generators
from .._core.native import Picture
from .._core.numbers import NAMES
from .._core.processor_time import Spent
from .._lazy.array_images import ArraySource
from .._lazy.chain import is_certain
from .._lazy.opened_image import LazyFactory
from .._lazy.source import PixelSource, Source, SourceState
from .._loader.sample_memory import empty, shares_batches
from .._plan.compile import Plan
from .._plan.transforms import environment
from . import path_cache, picture_draws
from .core_pictures import CorePictures
from .expected_batches import ExpectedBatches
from .held_pictures import MOST_BYTES, Held, Making
from .lazy_samples import LazySample, lazy_sample
from .lazy_tv_images import lazy_tv_image
from .path_cache import LazyImageCache
from .pending_samples import Makes, failed
from .picture_files import BatchFiles
from .sample_numbers import SampleNumbers
from .sure_steps import asks_for_boxes, is_usual, is_usual_box, never_fail

MOST_PIXELS = 1 << 30  # Pillow has looked at the header
_OF_PROGRAM: Picture = (b"", 0, 0, b"")  # the program's own file


_PATIENCE = 32  # so many more samples of a program may be looked at alone than are made together
_MOST_WAITING = 256  # that a look at one of them makes
_MOST_OTHERS = 16  # programs that torch's arithmetic makes of one

Made = TypeVar("Made")


def address_of(record: array[int] | None) -> int:
    """Where the core finds what was drawn."""
    return 0 if record is None else record.buffer_info()[0]


def _joined(records: Iterable[array[int] | None]) -> array[int]:
    """What was drawn, one sample behind the other."""
    drawn = array("i")
    for record in records:
        drawn += record or array("i")
    return drawn


def _is_kept(source: Source) -> bool:
    """Whether its pixels are held already, and stay what they are."""
    return isinstance(source, PixelSource) or (isinstance(source, ArraySource) and source.mode == "RGB")


class CompiledProgram(Generic[Made]):
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
        self,
        size: tuple[int, int],
        core: CorePictures,
        picture: Picture,
        file: Source | None = None,
        make: Callable[[CorePictures, Picture, array[int] | None], Made | None] | None = None,
    ) -> Made | None:
        """As `sample`, by any of both programs. A file must be the same behind it."""
        make = make or self._make
        if not core.record_words:
            made = make(core, picture, None)
            return made if file is None or file.is_same() else None
        generator = generators.of_thread()
        with generators.taken():
            state = generator.get_state()
            before = ctypes.string_at(state.data_ptr(), state.nbytes)  # 8 us less than torch's clone
            python = generators.PythonWords(random.getstate()) if self._draws_python else None
            try:
                record = picture_draws.draw_one(core, size, state.data_ptr(), python)
            except picture_draws.RAISED:  # torchvision says so at the same place
                return None
            generator.set_state(state)
            if python is not None:
                python.put()
        made = make(core, picture, record)
        if made is None or not (file is None or file.is_same()):
            generator.set_state(torch.frombuffer(bytearray(before), dtype=torch.uint8))
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

    def _make(self, core: CorePictures, picture: Picture, record: array[int] | None) -> Made | None:
        raise NotImplementedError


class LazyProgram(CompiledProgram[torch.Tensor], Makes):
    """A plan that makes a tensor, of the type and strides that torchvision gives it.

    Attributes:
        shape: of a sample's memory.
    """

    def __init__(self, plan: Plan) -> None:
        assert plan.shape is not None
        self._last = plan.strides == "hwc"
        super().__init__(plan, plan.shape, self._last)
        self.waiting, self.group = deque(maxlen=_MOST_WAITING), _MOST_WAITING
        self.expected = ExpectedBatches()
        self.shape: tuple[int, ...] = tuple(plan.shape)
        if self._last:
            channels, height, width = plan.shape
            self.shape = height, width, channels
        self.dtype = getattr(torch, plan.dtype)
        self._plan = plan
        self._wraps = plan.hands_over == "tv_image"
        self._may_wait = len(self.shape) == 3 and never_fail(plan.steps, plan.channels)
        self._asks_for_boxes = asks_for_boxes(plan.steps)
        usual = self.dtype in (torch.float32, torch.uint8)
        self._ending = SampleNumbers.ending(plan.steps) if usual else None
        self._others: dict[SampleNumbers, LazyProgram] = {}  # the same to the last steps; each knows all
        self._asked: deque[SampleNumbers] = deque(maxlen=_MOST_OTHERS)
        self._normalized: dict[Any, LazyProgram] = {}  # by means and deviations

    def later(self, size: tuple[int, int], making: LazyFactory) -> torch.Tensor | None:
        """The sample of a lazy image, whose values may be made later; None as of `sample`."""
        source = making.source
        certain = is_certain(making.chain, source.size)
        if not (certain and is_usual(*size) and self._waits() and (_is_kept(source) or source.is_certain())):
            return self.of(size, making)
        held, data, again = making.source.waiting()
        if held is None:
            return None
        wait = functools.partial(self._wait, size[0], again)
        made = self._drawn(size, self._core, (data, *held, making.chain), None, wait)
        if made is not None:
            making.source.state = SourceState.NATIVE
        return made

    def _waits(self) -> bool:
        """Whether it is worth while that samples wait for each other."""
        return (
            self._may_wait
            and Held.waiting < MOST_BYTES
            and not torch.is_inference_mode_enabled()
            and not self.is_looked_at()
            and (shares_batches() or (self.has_helpers() and get_worker_info() is None))
        )

    def is_looked_at(self) -> bool:
        """Whether its samples are looked at one by one: they would not wait for long."""
        return self.alone > self.together + _PATIENCE

    def has_helpers(self) -> bool:
        """See Makes."""
        return engine.helpers()[1] > 1

    def shape_of(self, picture: Picture) -> tuple[int, ...]:
        """See Makes."""
        return (*self.shape[-1:], *self.shape[:-1]) if self._last else self.shape

    def strides_of(self, picture: Picture) -> tuple[int, ...]:
        """See Makes."""
        channels, height, width = self.shape_of(picture)
        return (1, channels * width, channels) if self._last else (height * width, width, 1)

    def then(self, do: str, by: Any) -> LazyProgram | None:
        """See Makes."""
        if do == "copied":
            return self
        if self._ending is None or do == "flipped" or environment() is not None:
            return None
        if do != "normalized":
            return self._calculated(do, by)
        made = self._normalized.get(by)
        if made is None:
            made = self._calculated(do, by)
            if made is not None and len(self._normalized) < _MOST_OTHERS:
                self._normalized[by] = made
        return made

    def _calculated(self, do: str, by: Any) -> LazyProgram | None:
        assert self._ending is not None
        steps, numbers = self._ending
        channels = self.shape[-1 if self._last else 0]
        now = getattr(numbers, do)(by, channels)
        if now is None or now == numbers:
            return None if now is None else self
        other = self._others.get(now)
        if other is None:
            if len(self._others) >= _MOST_OTHERS // 2 and now not in self._asked:
                self._asked.append(now)  # numbers that are drawn come once: a program costs more than they do
                return None
            if len(self._others) == _MOST_OTHERS:
                self._others.pop(next(iter(self._others)), None)
            dtype = NAMES[now.dtype]
            other = type(self)(dataclasses.replace(self._plan, steps=[*steps, *now.steps()], dtype=dtype))
            other._ending, other._others, other._asked = (steps, now), self._others, self._asked
            self._others[now] = other
        return other

    def _wait(
        self,
        width: int,
        again: Source | None,
        core: CorePictures,
        picture: Picture,
        record: array[int] | None,
    ) -> torch.Tensor | None:
        if record is not None and self._asks_for_boxes and not is_usual_box(self._plan.steps, record, width):
            return self._make(core, picture, record)
        return lazy_sample(self, picture, record, again, lazy_tv_image() if self._wraps else LazySample)

    @Spent.picture
    def finish(self, picture: Picture, record: array[int] | None) -> torch.Tensor:
        """A sample that waited."""
        made = self._make(self._core, picture, record)
        if made is None:
            raise failed()
        return made.as_subclass(torch.Tensor) if self._wraps else made

    @Spent.picture
    def finish_all(
        self,
        pictures: list[Picture],
        records: Sequence[array[int] | None],
        places: array[int],
        alone: bool = False,
    ) -> None:
        """See Makes."""
        drawn, at = _joined(records), places.buffer_info()[0]
        core = self._core if alone or not self._last else self._in_batches
        if codecs.capsule().make_samples(
            pictures, core.address, drawn.buffer_info()[0], at, *engine.helpers()
        ):
            raise failed()
        self.together += len(pictures)

    def begin(
        self,
        pictures: list[Picture],
        records: Sequence[array[int] | None],
        places: Sequence[torch.Tensor],
        alone: bool = False,
    ) -> Making | None:
        """See Makes."""
        if not pictures:
            return None
        drawn, at = _joined(records), array("q", [place.data_ptr() for place in places])
        core = self._core if alone or not self._last else self._in_batches
        work = codecs.capsule().begin_samples(
            pictures, core.address, drawn.buffer_info()[0], at.buffer_info()[0], *engine.helpers()
        )
        if work is None:
            return None
        self.together += len(pictures)
        return Making(work, places, self)

    @functools.cached_property
    def _in_batches(self) -> CorePictures:
        """Samples as torch.stack lays them out."""
        return CorePictures(self._core.files, self._core.plan, self._plan.shape, False, MOST_PIXELS)

    def memory(self, picture: Picture) -> torch.Tensor:
        """See Makes."""
        channels, height, width = self.shape_of(picture)
        shape = (height, width, channels) if self._last else (channels, height, width)
        memory = torch.empty(shape, dtype=self.dtype, device="cpu")
        return memory.permute(2, 0, 1) if self._last else memory

    def by_itself(self, value: torch.Tensor) -> torch.Tensor:
        """See Makes."""
        channels, _, width = value.shape
        strides = 1, channels * width, channels
        if not self._last or value.stride() == strides:
            return value
        return value.permute(1, 2, 0).contiguous().as_strided(value.shape, strides)

    def _make(self, core: CorePictures, picture: Picture, record: array[int] | None) -> torch.Tensor | None:
        sample = self.memory(picture) if self._last else empty(self.shape_of(picture), self.dtype)
        code, _ = codecs.capsule().make_sample(picture, core.address, address_of(record), sample.data_ptr())
        if code:
            return None
        if not self._wraps:
            return sample
        from torchvision import tv_tensors

        wrapped: torch.Tensor = tv_tensors.Image(sample)
        return wrapped

"""How a process makes the samples of a dataset of pictures: its plan, compiled, and the batches of it."""

from __future__ import annotations

import copy
import dataclasses
import os
import weakref
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import torch

from .. import errors
from .._core import picture_operations
from .._loader import fallback_warnings
from .._loader.batcher import Batcher
from .._loader.destination import Destination, ForTorch
from .._loader.draws import BatchPosition, Undrawn
from .._loader.epoch import MOST_REDRAWN
from .._loader.in_flight import raised
from .._plan.compile import Plan, compile
from .._plan.transforms import identify
from . import pillow
from .core_pictures import CorePictures
from .file_index import Files
from .lazy_pictures import at_once, going_on, transformed
from .picture_batches import PictureBatchSource
from .picture_cache import PictureCache
from .picture_draws import PictureDraws, rounding
from .plan_stamp import PlanStamp
from .protocols import HasPictures

Making: TypeAlias = Callable[[], tuple[Any, int]]  # a picture, and the sample that it is of
HandedOver: TypeAlias = Callable[[list[int], "array[int] | None"], Iterator[tuple[Any, int]]]


class CompiledDataset:
    """A dataset's plan, compiled for this process, and what samples are made with.

    Args:
        threads: most that work on a batch; None: all of the engine's.
        hands_over: a worker process sends the batches on to its parent.
        generator: what is drawn for finished samples comes from it; None: from torch's default one.

    Attributes:
        stamp: whether all that was compiled is as it was.
        finished: the core makes whole samples, all of one shape; else Python goes on with what it makes.
    """

    def __init__(
        self,
        dataset: HasPictures,
        plan: Plan,
        stamp: PlanStamp,
        threads: int | None = None,
        hands_over: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        self.pid = os.getpid()
        self._asked, self.stamp = plan, stamp
        drawable = not plan.draws or rounding() is not None
        self.finished = plan.native and plan.hands_over != "pil" and plan.shape is not None and drawable
        if not self.finished:
            plan = compile(stamp.transform, handed=True, drawn=drawable)
        elif dataset._options.dtype is not None:
            if plan.dtype != "float32":
                raise errors.OptionError(
                    f"dtype={dataset._options.dtype} rounds float32 tensors; the transform makes {plan.dtype}"
                )
            plan = dataclasses.replace(plan, dtype=str(dataset._options.dtype).removeprefix("torch."))
        self.plan = plan
        self._ending: Callable[[Any], Any] | None = None
        first = identify(plan.rest[0]) if plan.rest else None
        self._cuts = first is not None and first.name in ("FiveCrop", "TenCrop")
        self._dataset = weakref.proxy(dataset)  # see NativeDataset._own_view
        files = dataset._files
        shape = None if plan.hands_over == "pil" else plan.shape
        if dataset._options.channels_last and self.finished and shape is not None and len(shape) > 3:
            raise errors.OptionError("channels_last= is for samples of one picture: these have several crops")
        last = dataset._options.channels_last and self.finished  # Python shall see torchvision's strides
        labels, seed = dataset._native_labels, dataset._options.seed
        most = pillow.max_pixels()
        self.kept = self._kept(dataset, plan)
        self.core = CorePictures(files, plan, shape, last, most, labels, seed, kept=self.kept)
        self.view = PictureBatchSource(
            [self._dataset], None, [self.core], generator if self.finished else None
        )
        if plan.rest and not plan.native_part:
            fallback_warnings.warn_of_transform(dataset._called, plan.reason)
        if dataset._options.channels_last and not self.finished:
            fallback_warnings.warn_of_channels_last()
        self._filling = threads, hands_over
        self.batcher = self._new_batcher()

    @staticmethod
    def _kept(dataset: HasPictures, plan: Plan) -> PictureCache | None:
        budget, files = dataset._options.budget, dataset._files
        if budget is None:
            return None
        assert isinstance(files, Files)
        if budget.place != "memory" and files.contents is not None:
            raise errors.OptionError('cache= of pictures that are no files is "memory"')
        certain = picture_operations.certain({"steps": plan.steps, "output": {}})
        if plan.native_part:
            return files.keep(budget, certain or [])
        fallback_warnings.warn_of_cache(dataset._called)
        return None

    @classmethod
    def of(
        cls, dataset: HasPictures, work: CompiledDataset | None, *options: Any, **more: Any
    ) -> CompiledDataset:
        """The work of a dataset as it is now, in this process.

        Args:
            work: an earlier one; it stays if nothing has changed.
            options, more: as of Work.
        """
        if work is None or not work.stamp.holds():
            stamp = PlanStamp(attributes=dataset._attributes)
            plan = compile(stamp.transform)
            if work is None or not work.stamp.has(stamp.values) or not _same(work._asked, plan):
                return cls(dataset, plan, stamp, *options, **more)
            work.stamp = stamp
        return work if work.pid == os.getpid() else work._inherited()

    def _inherited(self) -> CompiledDataset:
        """The same in a forked child: what was compiled is plain memory, and so are its functions."""
        child = copy.copy(self)
        child.pid = os.getpid()
        child.batcher = child._new_batcher()
        return child

    def _new_batcher(self) -> Batcher:
        threads, hands_over = self._filling
        made: Batcher = (ForTorch() if hands_over else Destination()).batcher(self.view, threads)
        return made

    def batch(self, indices: array[int], records: array[int] | None = None) -> Any:
        """A finished batch, with the draws that torchvision would have made for it."""
        if records is not None or not self.plan.draws:
            return self.batcher.batch(indices, records)
        draws, again = self.view.new_draws(None), MOST_REDRAWN
        before = draws.state()
        while True:
            try:
                with self.view.using(indices):
                    return self._drawn(indices, draws)
            except errors.ChangedError:
                if not again:
                    raise
            except Exception as error:
                # torchvision reads before it draws: who catches this goes on with its draws for those before.
                place = BatchPosition.of(error)
                if place is not None:
                    draws.rewind(before, array("q"))
                    draws(indices[: place.drawn])
                raise
            draws.rewind(before, indices)  # drawn for another size: a new picture lies in its place
            again -= 1

    def _drawn(self, indices: array[int], draws: PictureDraws) -> Any:
        try:
            return self.batcher.batch(indices, draws(indices))
        except Undrawn as undrawn:
            error, read = undrawn.error, indices[: undrawn.samples]
            if read:  # perhaps one of them cannot be read: that comes first
                made = self.batcher.batch(read, undrawn.records)
                if self.core.shape is None:
                    pillow.free_pictures(made.images.data_ptr(), len(read))
        raise error

    def records(self, indices: array[int]) -> array[int] | None:
        """What is drawn for these samples from torch's generator, or None where the plan draws nothing."""
        if not self.plan.draws:
            return None
        try:
            with self.view.using(indices):
                return self.view.new_draws(None)(indices)
        except Undrawn as undrawn:
            error = undrawn.error
        raise error

    def pictures(self, indices: list[int], records: array[int] | None = None) -> list[Making]:
        """What makes each sample's picture by the transforms, to be called one after another.

        The rest in Python runs when one is called: not in a generator, which would turn a StopIteration of
        the user's into a RuntimeError.

        Args:
            records: what was drawn for the samples; else it is drawn now.
        """
        if not indices:
            return []
        if self.plan.rest and not self.plan.native_part:
            return [partial(self._begun_in_python, i) for i in indices]
        handed_over = self._pil_images if self.plan.hands_over == "pil" else self._tensors
        if self.plan.in_order and not self.finished:
            return [partial(self._with_rest, handed_over, i) for i in indices]
        draws = self.view.new_draws(None) if self.plan.draws and records is None else None
        before = None if draws is None else draws.state()

        def draw_again(count: int) -> None:
            if draws is not None:
                draws.rewind(before, array("q"))
                draws(array("q", indices[:count]))

        try:
            made = handed_over(indices, records)
        except Exception as error:
            place = BatchPosition.of(error)
            if place is None or not place.position:
                raise
            draw_again(0)
            those = handed_over(
                indices[: place.position], records
            )  # what is done to them may raise, and draw
            draw_again(place.drawn)
            made = chain(those, map(raised, [error]))

        def finish(position: int) -> tuple[Any, int]:
            picture, sample = next(made)
            try:
                return (picture if self.finished else at_once(self._rest(picture))), sample
            except Exception:
                draw_again(position + 1)  # torchvision has not drawn for those behind it
                raise

        return [partial(finish, position) for position in range(len(indices))]

    def _begun_in_python(self, index: int) -> tuple[Any, int]:
        return transformed(self.core.files, index, self._rest, lambda: next(self._pil_images([index], None)))

    def _with_rest(self, handed_over: HandedOver, index: int) -> tuple[Any, int]:
        picture, sample = next(handed_over([index], None))
        return at_once(self._rest(picture)), sample

    def _tensors(self, indices: list[int], records: array[int] | None) -> Iterator[tuple[Any, int]]:
        """What the native steps make, each in memory of its own: the rest may write into it, or keep it."""
        batch = self.batch(array("q", indices), records)
        images = batch.images if len(indices) == 1 else (image.clone() for image in batch.images)
        return zip(map(self.view.row_image, images), batch.sources(indices), strict=True)

    def _pil_images(self, indices: list[int], records: array[int] | None) -> Iterator[tuple[Any, int]]:
        """The same, where that is PIL images."""
        mode, files = "RGB" if self.plan.channels == 3 else "L", self.core.files
        batch = self.batch(array("q", indices), records)
        place, made = batch.images.data_ptr(), []
        try:
            for i, sample in enumerate(batch.sources(indices)):
                source = files.source(sample) if self.plan.shown else None
                at = place + i * pillow.PICTURE_BYTES
                lazy = mode == "RGB" and self._cuts
                image = going_on(at, source) if lazy else pillow.take_picture(at, mode, source)
                made.append((image, sample))
        finally:
            pillow.free_pictures(place, len(indices))
        return iter(made)

    def _rest(self, picture: Any) -> Any:
        if self._ending is None:
            from .suffix import Suffix  # which needs Pillow

            transform = self.stamp.transform
            known = identify(transform)
            if transform and known and known.name == "Compose" and not self.plan.native_part:
                self._ending = transform  # of lazy images it makes tensors natively whose strides it knows
            else:
                self._ending = Suffix(self.plan.rest, self.plan.reason)
        return self._dataset._rounded(self._ending(picture))


def _same(old: Plan, new: Plan) -> bool:
    """Whether these come to the same: also of equal steps of other transforms, which leave other strides."""
    parts = ((old.native_part, new.native_part), (old.rest, new.rest))
    return (
        old.steps == new.steps
        and all([*map(id, one)] == [*map(id, other)] for one, other in parts)
        and (old.hands_over, old.dtype, old.shown) == (new.hands_over, new.dtype, new.shown)
    )

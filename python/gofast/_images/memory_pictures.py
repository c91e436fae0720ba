"""What stands for a dataset whose pictures lie in memory, in its own arrays and with its own labels."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._core.reason import Reason
from .._loader.batch_source import BatchSource, Line, Output, called
from .._loader.core_dataset import IntArray
from .._loader.native_dataset import NativeDataset
from .._plan.compile import Plan, compile
from . import pillow
from .bad_samples import BadSamples
from .core_pictures import CorePictures
from .options import PictureOptions
from .picture_batches import PictureBatchSource
from .picture_draws import rounding
from .pixels import Pixels
from .plan_stamp import PlanStamp


class MemoryAdapter(NativeDataset):
    """The pictures of a dataset, in its own memory, and its labels.

    It holds the dataset weakly; the loader, which asks for it, holds it.
    """

    _steady = False
    _output: Output = "tuple"
    _names: tuple[str, ...] = ("image", "label")
    _alone = True
    _native_labels = False
    _reader = None
    _listing: Any = None
    _whose = ""  # what explain calls the pictures
    _rest: Sequence[Line] = (("labels", "Python", "as they are when the batch is handed out"),)

    def __init__(self, dataset: Any) -> None:
        self._of = weakref.ref(dataset)
        self._called = type(dataset).__name__
        self._options, self._bad = PictureOptions(), BadSamples("raise", None)
        # The view that was made last, if there was one.
        self._view: PictureBatchSource | None = None
        self.transform: Callable[[Any], Any] | None = None
        self._stamp = PlanStamp()

    @property
    def _dataset(self) -> Any:
        dataset = self._of()
        assert dataset is not None
        return dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def _attributes(self) -> tuple[Any, ...]:
        """See HasPictures: transform, target_transform, the layout of the data, data, labels, and whatever
        else."""
        raise NotImplementedError

    def _pixels(self) -> Pixels | str:
        """The dataset's pictures, or why its data are none that its ``__getitem__`` takes."""
        raise NotImplementedError

    def _take(self, attributes: tuple[Any, ...], count: int) -> str:
        """Takes over the labels of so many pictures. Returns why that cannot be, or nothing."""
        return ""

    def _image(self, sample: int) -> Any:
        """What the transform is given of a sample."""
        raise NotImplementedError

    def _native_view(self) -> BatchSource | Reason:
        if self._view is None or not self._stamp.holds():
            self._view = None  # what is refused may hold the dataset: nothing of it is kept
            made = self._new_view()
            if isinstance(made, Reason):
                return made
            self._view = made
        return self._view

    def _new_view(self) -> PictureBatchSource | Reason:
        stamp = PlanStamp(attributes=self._attributes)
        transform, target_transform, *_ = stamp.values
        files = self._pixels()
        if isinstance(files, str):
            return Reason(files, self._called)
        if target_transform is not None:
            return Reason(f"target_transform={called(target_transform)} runs in Python")
        why = self._take(stamp.values, files.count)
        if why:
            return Reason(why, self._called)
        plan = _compiled(transform, files)
        if not plan.native or plan.hands_over == "pil" or plan.shape is None:
            return plan.reason
        core = CorePictures(files, plan, plan.shape, False, pillow.max_pixels())
        self._stamp, self.transform, self._files, self._core = stamp, transform, files, core
        made: PictureBatchSource = self._own_view()  # type: ignore[assignment]
        return made

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> PictureBatchSource:
        return PictureBatchSource(parts, index_map, [part._core for part in parts])

    def _sample_signature(self) -> tuple[Any, ...]:
        plan = self._core.plan
        return "pixels", json.dumps(plan.steps), plan.shape, plan.dtype, plan.strides, plan.hands_over

    def _rounded(self, picture: Any) -> Any:
        return picture

    def _explained(self) -> list[Line]:
        view, files = self._native_view(), self._pixels()
        if isinstance(files, str):
            return [(self._called, "Python", files)]
        what = f"{files.count} pictures{self._whose}, in memory"
        if not isinstance(view, Reason):
            return [
                (self._called, "C", what),
                *((line.name, "C", line.what) for line in self._core.plan.report),
                *self._rest,
            ]
        return [(self._called, "Python", f"{what}: {view}")]


def _compiled(transform: Any, files: Pixels) -> Plan:
    plan = compile(transform, start=files.state())
    if plan.draws and rounding() is None:
        plan = compile(transform, start=files.state(), drawn=False)
    return plan

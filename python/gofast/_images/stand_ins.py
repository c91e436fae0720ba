"""What stands for torchvision's datasets whose pictures lie in memory: MNIST, CIFAR10 and their kin.

Their own objects stay the user's; `resolve` finds these behind them. Importing this module is what makes it
look.
"""

from __future__ import annotations

import json
import operator
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .._loader.core_dataset import IntArray
from .._loader.view import STANDING_IN, Line, NativeDataset, Output, Refusal, View, called
from .._plan.compile import Plan, compile
from . import pillow
from .bad_samples import BadSamples
from .core_pictures import CorePictures
from .draws import rounding
from .options import PictureOptions
from .pixel_view import Labels, PixelView, Seen, are_labels
from .pixels import Pictures, Pixels, layout_of, taken
from .unchanged import Unchanged


class Form(NamedTuple):
    """How a class of torchvision's keeps its samples, as its ``__getitem__`` reads them.

    Attributes:
        order: of the axes of ``data`` behind the first.
        labels: the attribute that has them.
        maker: the class whose ``__getitem__`` it is.
    """

    order: str
    labels: str
    maker: str

    def label(self, compat: bool) -> tuple[Callable[[Any], Any] | None, bool]:
        """What makes a label of an element, if anything does, and whether it is always an int."""
        if self.maker == "QMNIST":
            return (_first if compat else None), False
        return (None, False) if self.maker == "CIFAR10" else (int, True)


_MNIST = Form("hw", "targets", "MNIST")
_CIFAR = Form("hwc", "targets", "CIFAR10")
_FORMS = {
    ("torchvision.datasets.mnist", "MNIST"): _MNIST,
    ("torchvision.datasets.mnist", "FashionMNIST"): _MNIST,
    ("torchvision.datasets.mnist", "KMNIST"): _MNIST,
    ("torchvision.datasets.mnist", "EMNIST"): _MNIST,
    ("torchvision.datasets.mnist", "QMNIST"): Form("hw", "targets", "QMNIST"),
    ("torchvision.datasets.usps", "USPS"): Form("hw", "targets", "USPS"),
    ("torchvision.datasets.cifar", "CIFAR10"): _CIFAR,
    ("torchvision.datasets.cifar", "CIFAR100"): _CIFAR,
    ("torchvision.datasets.svhn", "SVHN"): Form("chw", "labels", "SVHN"),
    ("torchvision.datasets.stl10", "STL10"): Form("chw", "labels", "STL10"),
}


class StandIn(NativeDataset):
    """The pictures of one such dataset, in its own memory, and its labels, in its own list.

    It holds the dataset weakly; the loader, which asks for it, holds it.
    """

    _steady = False
    _output: Output = "tuple"
    _names = ("image", "label")
    _native_labels = False
    _reader = None
    _listing: Any = None

    def __init__(self, dataset: Any, form: Form) -> None:
        self._of, self._form = weakref.ref(dataset), form
        self._called = type(dataset).__name__
        self._options, self._bad = PictureOptions(), BadSamples("raise", None)
        # Of the view that was made last, if there was one:
        self._view: PixelView | None = None
        self.transform: Callable[[Any], Any] | None = None
        self._seen = Seen((), ())
        self._transforms = Unchanged(None)

    @property
    def _dataset(self) -> Any:
        dataset = self._of()
        assert dataset is not None
        return dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def _attributes(self) -> tuple[Any, ...]:
        """What samples are made of, beside the insides of the transform."""
        held = vars(self._dataset)
        names = "data", self._form.labels, "transform", "target_transform", "compat", "__getitems__"
        return tuple(held.get(name) for name in names)

    def _is_as(self, seen: Seen) -> bool:
        now = self._attributes()
        return all(map(operator.is_, now, seen.attributes)) and layout_of(now[0]) == seen.layout

    def _native_view(self) -> View | Refusal:
        if self._view is None or not self._is_as(self._seen) or not self._transforms():
            self._view = None  # what is refused may hold the dataset: nothing of it is kept
            made = self._new_view()
            if isinstance(made, Refusal):
                return made
            self._view = made
        return self._view

    def _pictures(self) -> Pictures | str:
        """The dataset's pictures, or why its data are none that its ``__getitem__`` takes."""
        held = vars(self._dataset)
        if self._form.maker == "QMNIST" and held.get("compat") is None:
            return "compat is not set"
        data = held.get("data")
        kind = torch.Tensor if self._form.maker in ("MNIST", "QMNIST") else np.ndarray
        if not isinstance(data, kind):
            return f"data is of {type(data).__name__}, and torchvision reads it as {kind.__name__}"
        return taken(data, self._form.order)

    def _new_view(self) -> PixelView | Refusal:
        attributes = data, labels, transform, target_transform, compat, _ = self._attributes()
        pictures = self._pictures()
        if isinstance(pictures, str):
            return Refusal(f"{self._called}: {pictures}")
        if target_transform is not None:
            return Refusal(f"target_transform={called(target_transform)} runs in Python")
        each, whole = self._form.label(bool(compat))
        if not are_labels(labels, len(pictures), whole):
            return Refusal(f"{self._called}: {self._form.labels} has no number for each picture")
        files, transforms = Pixels(pictures), Unchanged(transform)
        plan = _compiled(transform, files)
        if not plan.native or plan.hands_over == "pil" or plan.shape is None:
            return Refusal(plan.why_python)
        core = CorePictures(files, plan, plan.shape, False, pillow.max_pixels())
        self._labels = Labels(labels, each, whole)
        self._seen, self._transforms = Seen(attributes, layout_of(data)), transforms
        self.transform, self._files, self._core = transform, files, core
        return PixelView([self], None, [core])

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> View:
        return PixelView(parts, index_map, [part._core for part in parts])

    def _sample_signature(self) -> tuple[Any, ...]:
        plan = self._core.plan
        return "pixels", json.dumps(plan.steps), plan.shape, plan.dtype, plan.strides, plan.hands_over

    def _image(self, sample: int) -> Any:
        from PIL import Image

        return Image.fromarray(self._files.picture(sample))

    def _rounded(self, picture: Any) -> Any:
        return picture

    def _explained(self) -> list[Line]:
        view = self._native_view()
        pictures = self._pictures()
        if isinstance(pictures, str):
            return [(self._called, "Python", pictures)]
        what = f"{len(pictures)} pictures of torchvision's, in memory"
        if not isinstance(view, Refusal):
            return [
                (self._called, "C", what),
                *((line.name, "C", line.what) for line in self._core.plan.report),
                ("labels", "Python", "as they are when the batch is handed out"),
            ]
        return [(self._called, "Python", f"{what}: {view.why}")]


def _compiled(transform: Any, files: Pixels) -> Plan:
    plan = compile(transform, start=files.state())
    if plan.draws and rounding() is None:
        plan = compile(transform, start=files.state(), drawn=False)
    return plan


def _first(label: Any) -> int:
    return int(label[0])


_known: weakref.WeakKeyDictionary[Any, StandIn] = weakref.WeakKeyDictionary()


def stand_in(dataset: Any) -> StandIn | None:
    """What stands for a dataset, always the same; None where its class is none of these, or was changed."""
    kind = type(dataset)
    form = _FORMS.get((kind.__module__, kind.__name__))
    if form is None or not _is_torchvisions(kind, form) or "__getitems__" in vars(dataset):
        return None
    found = _known.get(dataset)
    if found is None:
        found = _known.setdefault(dataset, StandIn(dataset, form))
    return found


def _is_torchvisions(kind: type, form: Form) -> bool:
    """Whether it is torchvision's class itself, with the methods that were written for it."""
    module = sys.modules.get(kind.__module__)
    if getattr(module, kind.__name__, None) is not kind or hasattr(kind, "__getitems__"):
        return False
    for name in ("__getitem__", "__len__"):
        method = getattr(kind, name)
        if getattr(method, "__globals__", None) is not vars(module):
            return False
        if name == "__getitem__" and method.__qualname__ != f"{form.maker}.{name}":
            return False
    return True


STANDING_IN.append(stand_in)

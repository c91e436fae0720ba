"""What stands for torchvision's datasets whose pictures lie in memory: MNIST, CIFAR10 and their kin.

Their own objects stay the user's; `resolve` finds these behind them. Importing this module is what makes it
look.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns
from .._loader.native_dataset import ADAPTERS
from .memory_pictures import MemoryAdapter
from .own_labels import Labels, OwnLabels, are_labels
from .pixels import Pixels, layout_of, taken


class MemoryForm(NamedTuple):
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


_MNIST = MemoryForm("hw", "targets", "MNIST")
_CIFAR = MemoryForm("hwc", "targets", "CIFAR10")
_FORMS = {
    ("torchvision.datasets.mnist", "MNIST"): _MNIST,
    ("torchvision.datasets.mnist", "FashionMNIST"): _MNIST,
    ("torchvision.datasets.mnist", "KMNIST"): _MNIST,
    ("torchvision.datasets.mnist", "EMNIST"): _MNIST,
    ("torchvision.datasets.mnist", "QMNIST"): MemoryForm("hw", "targets", "QMNIST"),
    ("torchvision.datasets.usps", "USPS"): MemoryForm("hw", "targets", "USPS"),
    ("torchvision.datasets.cifar", "CIFAR10"): _CIFAR,
    ("torchvision.datasets.cifar", "CIFAR100"): _CIFAR,
    ("torchvision.datasets.svhn", "SVHN"): MemoryForm("chw", "labels", "SVHN"),
    ("torchvision.datasets.stl10", "STL10"): MemoryForm("chw", "labels", "STL10"),
}


class TorchvisionsPictures(MemoryAdapter):
    """The pictures of one such dataset, and its labels, in its own list."""

    _whose = " of torchvision's"

    def __init__(self, dataset: Any, form: MemoryForm) -> None:
        super().__init__(dataset)
        self._form = form

    def _attributes(self) -> tuple[Any, ...]:
        held = vars(self._dataset)
        names = "data", self._form.labels, "compat", "__getitems__"
        both = held.get("transform"), held.get("target_transform")
        return (*both, layout_of(held.get("data")), *map(held.get, names))

    def _pixels(self) -> Pixels | str:
        held = vars(self._dataset)
        if self._form.maker == "QMNIST" and held.get("compat") is None:
            return "compat is not set"
        data = held.get("data")
        kind = torch.Tensor if self._form.maker in ("MNIST", "QMNIST") else np.ndarray
        if not isinstance(data, kind):
            return f"data is of {type(data).__name__}, and torchvision reads it as {kind.__name__}"
        pictures = taken(data, self._form.order)
        return pictures if isinstance(pictures, str) else Pixels(pictures)

    def _take(self, attributes: tuple[Any, ...], count: int) -> str:
        _, _, _, _, labels, compat, _ = attributes
        each, whole = self._form.label(bool(compat))
        if not are_labels(labels, count, whole):
            return f"{self._form.labels} has no number for each picture"
        self._labels = Labels(labels, each, whole)
        return ""

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> Sequence[ExtraColumns]:
        return [OwnLabels([part._labels for part in parts], starts)]

    def _image(self, sample: int) -> Any:
        from PIL import Image

        return Image.fromarray(self._files.picture(sample))


def _first(label: Any) -> int:
    return int(label[0])


_known: weakref.WeakKeyDictionary[Any, TorchvisionsPictures] = weakref.WeakKeyDictionary()


def memory_adapter(dataset: Any) -> TorchvisionsPictures | None:
    """What stands for a dataset, always the same; None where its class is none of these, or was changed."""
    kind = type(dataset)
    form = _FORMS.get((kind.__module__, kind.__name__))
    if form is None or not _is_torchvisions(kind, form) or "__getitems__" in vars(dataset):
        return None
    found = _known.get(dataset)
    if found is None:
        found = _known.setdefault(dataset, TorchvisionsPictures(dataset, form))
    return found


def _is_torchvisions(kind: type, form: MemoryForm) -> bool:
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


ADAPTERS.append(memory_adapter)

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
from .pixels import Pixels, layout_of, taken
from .torchvision_datasets import MODULES, is_torchvisions
from .writable_labels import Labels, OwnLabels, are_labels


class MemoryForm(NamedTuple):
    """How a class of torchvision's keeps its samples, as its ``__getitem__`` reads them.

    Attributes:
        reader: the class whose ``__getitem__`` it is.
        order: of the axes of ``data`` behind the first.
        array: the type of ``data``.
        labels: the attribute that has them.
        number: makes a label of an element; None: they are handed out as they are.
        switch: an attribute that must be set; where it is false, ``number`` is not used.
    """

    reader: str
    order: str
    array: type = np.ndarray
    labels: str = "targets"
    number: Callable[[Any], Any] | None = int
    switch: str = ""


def _first(label: Any) -> int:
    return int(label[0])


_MNIST = MemoryForm("MNIST", "hw", torch.Tensor)
_CIFAR = MemoryForm("CIFAR10", "hwc", number=None)
_FORMS = {
    "mnist.MNIST": _MNIST,
    "mnist.FashionMNIST": _MNIST,
    "mnist.KMNIST": _MNIST,
    "mnist.EMNIST": _MNIST,
    "mnist.QMNIST": MemoryForm("QMNIST", "hw", torch.Tensor, number=_first, switch="compat"),
    "usps.USPS": MemoryForm("USPS", "hw"),
    "cifar.CIFAR10": _CIFAR,
    "cifar.CIFAR100": _CIFAR,
    "svhn.SVHN": MemoryForm("SVHN", "chw", labels="labels"),
    "stl10.STL10": MemoryForm("STL10", "chw", labels="labels"),
}


class TorchvisionsPictures(MemoryAdapter):
    """The pictures of one such dataset, and its labels, in its own list."""

    _whose = " of torchvision's"

    def __init__(self, dataset: Any, form: MemoryForm) -> None:
        super().__init__(dataset)
        self._form = form

    def _attributes(self) -> tuple[Any, ...]:
        held = vars(self._dataset)
        names = "data", self._form.labels, self._form.switch, "__getitems__"
        both = held.get("transform"), held.get("target_transform")
        return (*both, layout_of(held.get("data")), *map(held.get, names))

    def _pixels(self) -> Pixels | str:
        held, form = vars(self._dataset), self._form
        if form.switch and held.get(form.switch) is None:
            return f"{form.switch} is not set"
        data = held.get("data")
        if not isinstance(data, form.array):
            return f"data is of {type(data).__name__}, and torchvision reads it as {form.array.__name__}"
        pictures = taken(data, form.order)
        return pictures if isinstance(pictures, str) else Pixels(pictures)

    def _take(self, attributes: tuple[Any, ...], count: int) -> str:
        _, _, _, _, labels, switch, _ = attributes
        each = self._form.number if switch or not self._form.switch else None
        if not are_labels(labels, count, each is int):
            return f"{self._form.labels} has no number for each picture"
        self._labels = Labels(labels, each, each is int)
        return ""

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> Sequence[ExtraColumns]:
        return [OwnLabels([part._labels for part in parts], starts)]

    def _image(self, sample: int) -> Any:
        from PIL import Image

        return Image.fromarray(self._files.picture(sample))


_known: weakref.WeakKeyDictionary[Any, TorchvisionsPictures] = weakref.WeakKeyDictionary()


def memory_adapter(dataset: Any) -> TorchvisionsPictures | None:
    """What stands for a dataset, always the same; None where its class is none of these, or was changed."""
    kind = type(dataset)
    module, name = kind.__module__.removeprefix(MODULES), kind.__name__
    form = _FORMS.get(f"{module}.{name}")
    if (
        form is None
        or getattr(sys.modules.get(MODULES + module), name, None) is not kind
        or not is_torchvisions(kind, "__getitem__", module, form.reader)
        or not is_torchvisions(kind, "__len__", module)
        or hasattr(dataset, "__getitems__")
    ):
        return None
    found = _known.get(dataset)
    if found is None:
        found = _known.setdefault(dataset, TorchvisionsPictures(dataset, form))
    return found


ADAPTERS.append(memory_adapter)

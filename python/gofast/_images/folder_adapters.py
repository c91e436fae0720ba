"""What stands for torchvision's datasets that are lists of files: ImageFolder, its kin, and subclasses.

Their own objects stay the user's, and their lists decide: `resolve` finds these behind them. Importing this
module is what makes it look.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core.reason import Reason
from .._loader.batch_source import Line, called
from .._loader.native_dataset import ADAPTERS, NativeDataset
from . import path_cache
from .bad_samples import BadSamples
from .image_dataset import ImageDataset
from .listing import Listing
from .options import PictureOptions
from .picture_batches import PictureBatchSource
from .plan_stamp import same_members
from .torchvision_datasets import MODULES, is_torchvisions


class FolderForm(NamedTuple):
    """What the ``__getitem__`` of a class of torchvision's reads.

    Attributes:
        lists: the attribute with pairs of path and label, or those with paths and with labels.
        more: the others.
    """

    lists: tuple[str, ...]
    more: tuple[str, ...] = ("loader", "transform", "target_transform")


_PAIRS, _TWO_LISTS = FolderForm(("_samples",)), FolderForm(("_image_files", "_labels"))
_FORMS = {
    "folder.DatasetFolder": FolderForm(("samples",)),
    "food101.Food101": _TWO_LISTS,
    "flowers102.Flowers102": _TWO_LISTS,
    "dtd.DTD": _TWO_LISTS,
    "fgvc_aircraft.FGVCAircraft": _TWO_LISTS,
    "sun397.SUN397": _TWO_LISTS,
    "stanford_cars.StanfordCars": _PAIRS,
    "imagenette.Imagenette": _PAIRS,
    "rendered_sst2.RenderedSST2": _PAIRS,
    "gtsrb.GTSRB": FolderForm(("_samples",), ("transform", "target_transform")),
    "oxford_iiit_pet.OxfordIIITPet": FolderForm(("_images", "_labels"), ("transforms", "_target_types")),
}
_CATEGORY = ["category"]


class FolderAdapter(ImageDataset):
    """The files of one such dataset, and its labels.

    It holds the dataset weakly, and is kept by the loader, in the view: its transform may hold the dataset,
    so that nothing that lives on may hold it.
    """

    loader: Any

    def __init__(self, dataset: Any, form: FolderForm) -> None:
        self._of, self._form, self._name = weakref.ref(dataset), form, type(dataset).__name__
        self._options, self._bad = PictureOptions(**path_cache.asked), BadSamples("raise", None)
        self._output, self._work = "tuple", None
        self._lists: list[list[Any]] = []  # as the listing was made of them
        self._where = ""  # the folder that their paths start from

    def _attributes(self) -> tuple[Any, ...]:
        """See HasPictures: torchvision's datasets count no changes."""
        dataset = self._of()
        assert dataset is not None
        held = vars(dataset)
        both = held.get("transforms")
        own = (getattr(both, "transform", None), getattr(both, "target_transform", None))
        names = (*self._form.lists, *self._form.more, "__getitems__")
        kind, category = type(dataset), held.get("_target_types", _CATEGORY) == _CATEGORY
        more = (*own, kind, kind.__getitem__, category)
        return (*super()._attributes(), *(held.get(name) for name in names), *more)

    def _take(self) -> str:
        """Takes over what the dataset has now. Returns why nothing can stand for it, or nothing."""
        dataset = self._of()
        assert dataset is not None
        held, form = vars(dataset), self._form
        if not all(name in held for name in (*form.lists, *form.more)):
            return "its own attributes are not all there"
        if not _reads_by_pillow():
            return "somebody has replaced what it reads pictures with"
        if held.get("_target_types", _CATEGORY) != _CATEGORY:
            return "its targets are others than the category"
        both = held.get("transforms")
        if "transforms" not in form.more:
            both = dataset
        elif both is not None and not is_torchvisions(type(both), "__call__", "vision", "StandardTransform"):
            return f"transforms={called(both)} runs in Python"
        lists = [held[name] for name in form.lists]
        if not all(type(each) is list for each in lists) or len({*map(len, lists)}) > 1:
            return f"{' and '.join(form.lists)}: no list, or others than of one length"
        if not self._has(lists):
            pairs = lists[0].copy() if len(lists) == 1 else [*zip(*lists, strict=True)]
            if not all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
                return f"{form.lists[0]} has something else than (path, label)"
            self._listing = Listing.of(pairs)
            self._lists, self._where = [each.copy() for each in lists], os.getcwd()
        vars(self).update(  # which is no change of what a dataset gives, and counts as none
            loader=held.get("loader"),
            transform=getattr(both, "transform", None),
            target_transform=getattr(both, "target_transform", None),
        )
        return ""

    def _has(self, lists: Sequence[list[Any]]) -> bool:
        """Whether the listing is that of these lists, here."""
        return self._where == os.getcwd() and all(map(same_members, lists, self._lists))

    @property
    def _called(self) -> str:
        return self._name

    def _native_view(self) -> PictureBatchSource | Reason:
        why = self._take()
        view = Reason(why, self._called) if why else super()._native_view()
        return dataclasses.replace(view, of=self) if isinstance(view, Reason) else view

    def _origins(self, samples: Sequence[int]) -> list[tuple[str | None, int]]:
        return NativeDataset._origins(self, samples) if self._take() else super()._origins(samples)

    def _drawing_view(self) -> PictureBatchSource | None:
        return None if self._take() else super()._drawing_view()

    def _sample_signature(self) -> tuple[Any, ...]:
        return "torchvision's", *super()._sample_signature()

    def _explained(self) -> list[Line]:
        view = self._native_view()
        if isinstance(view, Reason):
            return [(self._called, "Python", f"torchvision's own code: {view}")]
        return [(self._called, "C", "torchvision's list of files"), *super()._explained()]


_known: weakref.WeakKeyDictionary[Any, weakref.ref[FolderAdapter]] = weakref.WeakKeyDictionary()


def folder_adapter(dataset: Any) -> FolderAdapter | None:
    """What stands for a dataset, the same as long as one is kept; None where its class is none of these, or
    makes its own samples, or keeps what they are made of in another way.
    """
    kind: Any = type(dataset)
    for base in kind.__mro__:
        module, name = base.__module__.removeprefix(MODULES), base.__name__
        form = _FORMS.get(f"{module}.{name}")
        if form is not None:
            break
    else:
        return None
    names = *form.lists, *form.more
    if (
        any(name in vars(one) for one in kind.__mro__ for name in names)
        or not all(is_torchvisions(kind, method, module, name) for method in ("__getitem__", "__len__"))
        or kind.__getattribute__ is not object.__getattribute__
        or kind.__hash__ is not object.__hash__
        or hasattr(kind, "__getitems__")
        or "__getitems__" in vars(dataset)
    ):
        return None
    known = _known.get(dataset)
    found = None if known is None else known()
    if found is None:
        found = FolderAdapter(dataset, form)
        _known[dataset] = weakref.ref(found)
    return found


def _reads_by_pillow() -> bool:
    """Whether torchvision's loader and Pillow's open are theirs, or what `gofast.install` puts there."""
    from PIL import Image

    opens, home = getattr(Image.open, "__globals__", {}), sys.modules[MODULES + "folder"]
    reads = getattr(home.pil_loader, "__globals__", None)
    return reads is vars(home) and opens.get("__name__") in ("PIL.Image", "gofast._images.opening")


ADAPTERS.append(folder_adapter)

"""What ImageFolder and ImageFiles show beside samples: lists, a repr, copies and pickles."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from . import _vision
from ._image_rows import ImageDataset
from ._listing import Listing

Self = TypeVar("Self", bound="PictureDataset")


class PictureDataset(ImageDataset):
    """Picture files with the attributes of torchvision's datasets. Base class.

    Takes the arguments of ImageDataset.
    """

    root: Any
    _repr_indent = 4

    def __init__(
        self,
        listing: Listing,
        transform: Callable[[Any], Any] | None,
        target_transform: Callable[[Any], Any] | None,
        loader: Callable[[str], Any] | None,
        **options: Any,
    ) -> None:
        self._found = listing  # what was there at first; samples may be others by now
        self._targets: list[Any] | None = None
        self._own_imgs: list[Any] | None = None
        self.transforms: Any = None
        if transform is not None or target_transform is not None:
            self.transforms = _vision.StandardTransform(transform, target_transform)
        super().__init__(listing, transform, target_transform, loader, **options)

    @property
    def samples(self) -> list[Any]:
        """Paths and labels: (path, label). Assigning it, or changing the list, changes the dataset."""
        return self._listing.samples()

    @samples.setter
    def samples(self, samples: list[Any]) -> None:
        epoch = self._files.epoch[0]
        self._listing = Listing.of(samples)
        self._files.epoch[0] = epoch
        if self._reader is None:
            self._here()  # now, not in each worker

    @property
    def imgs(self) -> list[Any]:
        """The list that `samples` was at first."""
        return self._found.samples() if self._own_imgs is None else self._own_imgs

    @imgs.setter
    def imgs(self, imgs: list[Any]) -> None:
        self._own_imgs = imgs

    @property
    def targets(self) -> list[Any]:
        """The labels that `samples` had at first. Changing them changes nothing else."""
        if self._targets is None:
            self._targets = self._found.first_labels()
        return self._targets

    @targets.setter
    def targets(self, targets: list[Any]) -> None:
        self._targets = targets

    def extra_repr(self) -> str:
        """More lines for the repr. May be overridden."""
        return ""

    def __repr__(self) -> str:
        return _vision.describe(
            type(self).__name__, len(self), self.root, self.extra_repr(), self.transforms, self._repr_indent
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if isinstance(self._targets, list) and self._targets == self._found.first_labels():
            state["_targets"] = None  # made again when asked for
        return state

    def __copy__(self: Self) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _work=None)
        return made

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        made = memo[id(self)] = self.__copy__()
        made.__dict__ = copy.deepcopy(made.__dict__, memo)
        return made

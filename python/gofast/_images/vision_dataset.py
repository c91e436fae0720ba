"""The parts of ImageFolder and ImageFiles other than samples: lists, repr, copies and pickles."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from .._core.arguments import checked
from .._loader.batch_types import Kind
from . import torchvision_datasets
from .image_dataset import ImageDataset
from .listing import Listing
from .options import PictureOptions

Self = TypeVar("Self", bound="VisionDataset")


class VisionDataset(ImageDataset[Kind]):
    """Picture files with the attributes of torchvision's datasets. Base class."""

    root: Any
    transforms: Any
    _repr_indent = 4

    @checked
    def _show(
        self,
        listing: Listing,
        transform: Callable[[Any], Any] | None,
        target_transform: Callable[[Any], Any] | None,
        loader: Callable[[str], Any] | None,
        **options: Any,
    ) -> None:
        """Makes this a dataset of these samples.

        Args:
            listing: the samples that were found.
            transform, target_transform, loader: as in ImageFolder.
            options: the options of PictureOptions.
        """
        self._found = listing  # the samples at first; the user may change them later
        self._targets: list[Any] | None = None
        self._own_imgs: list[Any] | None = None
        self.transforms = None
        if transform is not None or target_transform is not None:
            self.transforms = torchvision_datasets.StandardTransform(transform, target_transform)
        self.transform, self.target_transform = transform, target_transform
        self.loader = loader or torchvision_datasets.default_loader
        self._begin(listing, PictureOptions(**options))

    @property
    def samples(self) -> Any:
        """Paths and labels: (path, label). Assigning it, or changing the list, changes the dataset."""
        return self._listing.samples()

    @samples.setter
    def samples(self, samples: Any) -> None:
        if "_listing" in self.__dict__:
            self._listing.check_changeable()
        listing = Listing.of(samples)
        if "_listing" not in self.__dict__:  # a subclass has not called __init__, or never does
            missing = {
                "transform": None,
                "target_transform": None,
                "loader": torchvision_datasets.default_loader,
            }
            for name, value in missing.items():
                if not hasattr(self, name):
                    setattr(self, name, value)
            self._begin(listing, PictureOptions())
            return
        listing.files.epoch[0] = self._files.epoch[0]
        self._listing = listing
        if self._reader is None:
            self._here()  # done now, so that each worker need not do it

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
        return torchvision_datasets.describe(
            type(self).__name__,
            len(self),
            getattr(self, "root", None),
            self.extra_repr(),
            getattr(self, "transforms", None),
            self._repr_indent,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        targets = state.get("_targets")
        if isinstance(targets, list) and "_found" in state and targets == self._found.first_labels():
            state["_targets"] = None  # made again at the next access
        return state

    def __copy__(self: Self) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _work=None)
        return made

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        made = memo[id(self)] = self.__copy__()
        made.__dict__ = copy.deepcopy(made.__dict__, memo)
        return made

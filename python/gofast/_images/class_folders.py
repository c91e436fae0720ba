"""A folder for each class: torchvision's DatasetFolder, native if possible."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import errors
from .._core.arguments import checked
from .._core.picture_operations import Scan
from .._core.remote_folders import local_folder
from .._core.shown_urls import is_url
from .._loader.batch_types import Kind
from .._loader.classes import Classes, in_order, numbered, unknown
from . import torchvision_datasets
from .file_index import Files
from .listing import Listing
from .torchvision_datasets import IMG_EXTENSIONS
from .vision_dataset import VisionDataset


class FolderDataset(VisionDataset[Kind]):
    """torchvision's DatasetFolder. Base class of ImageFolder; some subclasses of that call this ``__init__``.

    Args:
        root: the folder of the classes.
        loader: called with a path, returns what transform takes.
        extensions: the endings of file names, in lower case. Give this or is_valid_file.
        is_valid_file: called with each path.
        transform, target_transform, allow_empty, index, classes: as in ImageFolder.
        options: the other options of ImageFolder.
    """

    extensions: Any
    _class_names: str

    # Made at the first access: a rank that never asks saves 0.1 MB for 1,000 classes.
    @functools.cached_property
    def classes(self) -> list[Any]:
        """The names of the classes, in order."""
        return self._class_names.split("\0")[:-1]

    @functools.cached_property
    def class_to_idx(self) -> dict[Any, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self._class_names.split("\0")[:-1])}

    @checked
    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any] | None,
        extensions: str | Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        index: str | Path | None = None,
        classes: Classes | None = None,
        **options: Any,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.extensions = extensions
        if isinstance(root, str) and is_url(root):
            own = is_valid_file is not None or not (
                _is(self.find_classes, FolderDataset.find_classes)
                and _is(self.make_dataset, FolderDataset.make_dataset)
            )
            self.root = local_folder(root, None if own else extensions)
        kept = None if index is None else os.fspath(index)
        listing = self._scan(is_valid_file, allow_empty, kept, self._numbered(classes))
        if classes is not None:
            self.class_to_idx = numbered(classes)  # also classes without a folder
            self.classes = in_order(self.class_to_idx)
        self._show(listing, transform, target_transform, loader, **options)
        if not listing.is_plain:
            self.targets = [sample[1] for sample in listing.samples()]

    def _numbered(self, classes: Classes | None) -> tuple[list[Any], dict[Any, int]] | None:
        """The folders that exist, and their given numbers; None without ``classes=``."""
        if classes is None:
            return None
        names, _ = self.find_classes(self.root)
        numbers = numbered(classes)
        for name in names:
            if name not in numbers:
                path = os.path.join(self.root, name)
                raise unknown(name, numbers, path).at(path=path)
        return names, {name: numbers[name] for name in names}

    def _scan(
        self,
        is_valid_file: Callable[[str], bool] | None,
        allow_empty: bool,
        index: str | None,
        found: tuple[list[Any], dict[Any, int]] | None,
    ) -> Listing:
        """Finds the classes, if they are not found yet, and the samples.

        The core does this, unless a subclass overrides a method for it or only Python can do it.
        """
        if found is None and not _is(self.find_classes, FolderDataset.find_classes):
            found = self.find_classes(self.root)
        if (
            self.extensions == IMG_EXTENSIONS
            and is_valid_file is None
            and _is(self.make_dataset, FolderDataset.make_dataset)
        ):
            files = self._scan_natively(None if found is None else found[1], index)
            if files is not None:
                if found is None and not files.class_names:
                    raise torchvision_datasets.no_classes(self.root)
                if files.empty_classes and not allow_empty:
                    raise torchvision_datasets.no_files(files.empty_classes, self.extensions)
                self._class_names = files.class_names
                for at, (name, lazy) in enumerate(_LAZY.items()):
                    vars(self).pop(name, None)  # of an earlier __init__
                    if found is not None:
                        setattr(self, name, found[at])
                    elif getattr(type(self), name) is not lazy:  # a subclass has an attribute of that name
                        setattr(self, name, lazy.func(self))
                return Listing(files, os.path.join(os.path.expanduser(self.root), ""))
        self.classes, self.class_to_idx = found or self.find_classes(self.root)
        samples = self.make_dataset(
            self.root,
            class_to_idx=self.class_to_idx,
            extensions=self.extensions,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        return Listing.of(samples)

    def _scan_natively(self, class_to_idx: Mapping[str, int] | None, index: str | None) -> Files | None:
        """The index, or None if Python must scan. Python also gives the best error for a wrong folder."""
        options: Scan = {
            "kind": "classes",
            "root": os.path.join(os.getcwd(), os.path.expanduser(self.root)),
            "extensions": list(IMG_EXTENSIONS),
        }
        if class_to_idx is not None:
            names, numbers = list(class_to_idx), list(class_to_idx.values())
            small = all(type(number) is int and 0 <= number < 1 << 31 for number in numbers)
            if not names or not small or not all(type(name) is str for name in names):
                return None
            options["classes"], options["class_ids"] = names, numbers
        try:
            return Files.scan(options, index)
        except errors.UnsupportedError:
            return None
        except (errors.NotFoundError, errors.ReadError) as error:
            if index and error.path is not None and error.path.startswith(index):
                raise
            return None

    @staticmethod
    def make_dataset(
        directory: str | Path,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The samples of the classes. May be overridden.

        Args:
            directory: the folder of the classes.
            class_to_idx: the classes and their numbers.
            extensions: the endings of file names, in lower case. Give this or is_valid_file.
            is_valid_file: called with each path.
            allow_empty: classes without a file are not an error.

        Returns:
            (path, number of the class), sorted by class and path.

        Raises:
            ValueError: class_to_idx is empty or None; both or neither of extensions and is_valid_file.
            FileNotFoundError: a class has no file.
        """
        if class_to_idx is None:
            raise errors.OptionError("The class_to_idx parameter cannot be None.")
        return torchvision_datasets.make_dataset(
            directory, class_to_idx, extensions, is_valid_file, allow_empty
        )

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """The classes: the folders in directory, sorted, and their numbers. May be overridden.

        Raises:
            FileNotFoundError: there is none.
        """
        return torchvision_datasets.find_classes(directory)


def _is(method: Any, own: Any) -> bool:
    """Whether a method is the class's own: neither a subclass nor an object overrides it."""
    return getattr(method, "__func__", method) is own


_LAZY = {name: vars(FolderDataset)[name] for name in ("classes", "class_to_idx")}

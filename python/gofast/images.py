"""ImageFolder, and all that has to do with pictures: torchvision's batches of pictures, many times faster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from . import _vision, errors
from ._bad_samples import OnError
from ._files import Files
from ._image_face import PictureDataset
from ._image_rows import Rng
from ._listing import Listing
from ._rows import Output
from ._vision import IMG_EXTENSIONS, default_loader
from .image_files import ImageFiles

__all__ = ["IMG_EXTENSIONS", "ImageFiles", "ImageFolder", "default_loader"]


class ImageFolder(PictureDataset):
    """torchvision's ImageFolder: pictures in a folder for each class, ``root/class/.../name.jpg``.

    Samples, batches and random draws are torchvision's, to the last bit, for the same
    ``torch.manual_seed``. Use it with ``torch.utils.data.DataLoader`` as it is, or with
    :class:`gofast.DataLoader`, which also runs ahead. `gofast.explain` tells which transforms run
    natively; the others run in Python, behind a native decode.

    Args:
        root: the folder of the classes.
        transform: called with a PIL image of mode RGB; a torchvision transform (v1 or v2), or any callable.
        target_transform: called with the class number.
        loader: called with a path, returns what transform takes. torchvision's ``default_loader`` and
            ``pil_loader`` count as the default, which decodes natively.
        is_valid_file: called with each path instead of looking at extensions; then Python scans.
        allow_empty: classes without a picture are no error.
        output: ``"tuple"`` samples, or ``"dict"``.
        keys: names of picture and label in a ``"dict"`` sample.
        channels_last: pictures lie in memory as [H, W, C] (shape and values stay): torch's channels_last.
        dtype: ``torch.float16``, ``bfloat16`` or ``float32``: float32 pictures rounded once; default: what
            the transform makes.
        on_error: for pictures that nobody can read: ``"raise"``; ``"replace"`` by another sample, the same
            every time; ``"zero"``; or a callable of (index, error). See :meth:`bad_samples`.
        max_bad: more bad files than this raise whatever on_error says; None: any number.
        return_index: a sample also has its index, an int, last but for the path: ``"index"`` in a dict.
        return_path: a sample also has its path, a str, last: ``"path"`` in a dict.
        index: where the scan is kept: a path, or ``""`` for nowhere. Default: for 10,000 pictures and more
            in ``$XDG_CACHE_HOME/gofast`` (``~/.cache/gofast``), if that can be written. Later starts only
            look at the times of the folders.
        rng: ``"torch"`` draws as torchvision would; ``"stateless"`` draws are a function of seed, epoch
            and index alone.
        seed: of ``"stateless"`` draws.

    Attributes:
        classes (list[str]): sorted; class_to_idx (dict[str, int]): their numbers.
        samples (list[tuple[str, int]]): paths and class numbers; made at the first look. Assigning it, or
            changing the list in place, changes the dataset.
        imgs: the same list.
        targets (list[int]): class numbers. Changing them changes nothing else, as in torchvision.
        root, extensions, transforms: as in torchvision.
        transform, target_transform, loader: may be assigned at any time.

    Raises:
        FileNotFoundError: no such folder, no class in it, or a class without a picture. With torchvision's
            text; a :class:`gofast.errors.NotFoundError`, where gofast found it.
        gofast.errors.OptionError: an option makes no sense (a ValueError).
        gofast.errors.ChangedError: at unpickling: the folder has other pictures now.
        gofast.errors.BadImageError: at indexing: Pillow cannot read the file either (an OSError).
        gofast.errors.RowIndexError: at indexing: there is no such sample (an IndexError).

    Shapes and dtypes are those of the transform: ``ToTensor`` makes float32 [3, H, W] in 0 to 1. Labels are
    ints, int64 [n] in a batch. Without a transform a sample is a PIL image.

    A pickle for a worker process is small: it hands over descriptors. Any other pickle scans again where it
    is loaded. Subclasses may override ``find_classes``, ``make_dataset``, ``__getitem__``, ``__len__`` and
    ``extra_repr`` with the effect that they have in torchvision.

    Example:
        >>> from torchvision import transforms as T
        >>> train = gofast.ImageFolder("train", T.Compose([T.RandomResizedCrop(224), T.ToTensor()]))
        >>> image, label = train[0]
        >>> image.shape, image.dtype, train.classes[label]
        (torch.Size([3, 224, 224]), torch.float32, 'cat')
        >>> loader = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True)
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] | None = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        output: Output = "tuple",
        keys: tuple[str, str] = ("image", "label"),
        channels_last: bool = False,
        dtype: torch.dtype | None = None,
        on_error: OnError = "raise",
        max_bad: int | None = None,
        return_index: bool = False,
        return_path: bool = False,
        index: str | Path | None = None,
        rng: Rng = "torch",
        seed: int = 0,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.extensions = IMG_EXTENSIONS if is_valid_file is None else None
        listing = self._scan(is_valid_file, allow_empty, None if index is None else os.fspath(index))
        super().__init__(
            listing,
            transform,
            target_transform,
            loader,
            output=output,
            keys=keys,
            channels_last=channels_last,
            dtype=dtype,
            on_error=on_error,
            max_bad=max_bad,
            return_index=return_index,
            return_path=return_path,
            rng=rng,
            seed=seed,
        )

    def _scan(
        self, is_valid_file: Callable[[str], bool] | None, allow_empty: bool, index: str | None
    ) -> Listing:
        """Finds classes and samples: natively, unless that is overridden, or only Python can do it."""
        found = None
        if not _is(self.find_classes, ImageFolder.find_classes):
            found = self.find_classes(self.root)
        if is_valid_file is None and _is(self.make_dataset, ImageFolder.make_dataset):
            files = self._scan_natively(None if found is None else found[1], index)
            if files is not None:
                if found is None and not files.classes:
                    raise _vision.no_classes(self.root)
                if files.empty_classes and not allow_empty:
                    raise _vision.no_files(files.empty_classes, self.extensions)
                names = files.classes
                self.classes, self.class_to_idx = found or (names, {name: i for i, name in enumerate(names)})
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
        """The index, or None where Python must scan: it also says best what is wrong with a folder."""
        options: dict[str, Any] = {
            "kind": "classes",
            "root": os.path.join(os.getcwd(), os.path.expanduser(self.root)),
            "extensions": list(IMG_EXTENSIONS),
        }
        if class_to_idx is not None:
            names, numbers = list(class_to_idx), list(class_to_idx.values())
            small = all(type(number) is int and 0 <= number < 1 << 31 for number in numbers)
            if not names or not small or not all(type(name) is str for name in names):
                return None
            options |= {"classes": names, "class_ids": numbers}
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
            extensions: what a file's name must end with, in lower case; or
            is_valid_file: called with each path. One of the two.
            allow_empty: classes without a file are no error.

        Returns:
            (path, number of the class), sorted by class and path.

        Raises:
            ValueError: class_to_idx is empty or None; both or neither of extensions and is_valid_file.
            FileNotFoundError: a class has no file.
        """
        if class_to_idx is None:
            raise errors.OptionError("The class_to_idx parameter cannot be None.")
        return _vision.make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """The classes: the folders in directory, sorted, and their numbers. May be overridden.

        Raises:
            FileNotFoundError: there is none.
        """
        return _vision.find_classes(directory)


def _is(method: Any, own: Any) -> bool:
    """Whether a method is the class's own, and not overridden in a subclass or an object."""
    return getattr(method, "__func__", method) is own

"""ImageFiles: pictures in one folder, or of a list of files, with labels or without."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from . import errors
from ._batches.classes import Classes, LabelType, in_order, numbered
from ._batches.view import Output
from ._core.operations import Scan
from ._images.bad_samples import OnError
from ._images.face import VisionDataset
from ._images.files import Files
from ._images.labels import matched, numbers
from ._images.labels_file import LabelsFile
from ._images.listing import Listing
from ._images.options import Rng
from ._images.paths import Pictures, is_pattern, listed, matching
from ._images.vision import IMG_EXTENSIONS, default_loader

Self = TypeVar("Self", bound="ImageFiles")


class ImageFiles(VisionDataset):
    """Pictures in one folder, or of a list of paths, with labels or without.

    What a short custom Dataset does that opens files with PIL, natively. Transforms, batches, draws and
    all options that are not named here are as in :class:`gofast.ImageFolder`.

    Args:
        paths: a folder, whose pictures are taken in the order of their sorted paths; a pattern such as
            ``"photos/*.jpg"``, likewise, whatever the files' ends; or an iterable of paths of files, such as
            a column of a table, in their order.
        labels: one a picture, or None: no labels. By name: a mapping, or a pandas Series whose index holds
            names. A name is a path as it is given, one within the folder, or a file's name alone where only
            one path ends with it; each picture must have one label, and labels of other files are left out,
            which one warning says.
            In the order of the pictures: any other sequence, array, tensor [n, ...] or column; of a pandas
            Series without names only beside a list of paths, where its index is that of the paths or
            0, 1, 2 and so on. Whole numbers are int64 in a batch, and Python's ints in a sample; any other
            label, such as a row of a tensor, is given as it is, a Categorical's values and not its codes.
        classes: names in order, a mapping from name to number, or a dataset with ``class_to_idx``: labels
            are names, and samples have their numbers. Give validation data those of the training data.
        transform: called with a PIL image of mode RGB.
        target_transform: called with the label.
        loader: called with a path (a str), returns what transform takes.
        recursive: also take what lies in folders in the folder.
        extensions: ends of the names that are taken from a folder, in any case; None: all.
        allow_empty: a folder without a picture is no error.
        output: ``"tuple"`` samples are (picture, label), and the picture alone where there are no
            labels; ``"dict"`` samples {"image": picture, "label": label}, or {"image": picture}.

    Attributes:
        root: the folder, or None.
        paths (list[str]): a copy of the paths.
        samples (list[tuple[str, Any]]): paths and labels (None without). Assigning it, or changing the
            list in place, changes the dataset.
        targets (list): the labels, or None. Changing them changes nothing else.
        classes (list[str]): names in the order of their numbers; class_to_idx (dict[str, int]): their
            numbers. None without ``classes=``.

    Raises:
        gofast.errors.NotFoundError: no such folder, or no picture in it (a FileNotFoundError).
        gofast.errors.OptionError: labels do not go with the pictures, or another option makes no sense
            (a ValueError).
        gofast.errors.UnknownLabelError: a label is none of the classes (a ValueError).
        Others at indexing, as :class:`gofast.ImageFolder`.

    Example:
        >>> from torchvision import transforms as T
        >>> resize = T.Compose([T.Resize((256, 256)), T.ToTensor()])
        >>> gofast.ImageFiles("photos", transform=resize)[0].shape
        torch.Size([3, 256, 256])
        >>> faces = gofast.ImageFiles(["a.jpg", "b.jpg"], [0.5, 2.0], resize)
        >>> faces[1][1]
        2.0
    """

    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        labels: Iterable[Any] | Mapping[Any, Any] | torch.Tensor | np.ndarray[Any, Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] | None = default_loader,
        *,
        classes: Classes | None = None,
        recursive: bool = False,
        extensions: str | Sequence[str] | None = IMG_EXTENSIONS,
        allow_empty: bool = False,
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
        kept = None if index is None else os.fspath(index)
        self._labelled = labels is not None
        self.class_to_idx = None if classes is None else numbered(classes)
        self.classes = None if self.class_to_idx is None else in_order(self.class_to_idx)
        if self.class_to_idx is not None and not self._labelled:
            raise errors.OptionError("classes= numbers the labels: give labels too")
        self.root: str | None = None
        self.extensions: tuple[str, ...] | None = None
        if isinstance(paths, (str, os.PathLike)):
            given = os.path.expanduser(os.fspath(paths))
            pictures = matching(given) if is_pattern(given) else None
        else:
            given, pictures = "", listed(paths)
        if pictures is None:
            self.root = given
            if extensions is not None:
                ends = (extensions,) if isinstance(extensions, str) else extensions
                self.extensions = tuple(end.lower() for end in ends)
            listing = self._scan(given, recursive, kept)
            if len(listing) == 0 and not allow_empty:
                raise _no_pictures(given, self.extensions)
            if labels is not None:
                pictures = Pictures(listing.paths(), listing.files.names())
                listing = listing.labelled(self._numbered(labels, pictures))
        else:
            values = None if labels is None else self._numbered(labels, pictures)
            listing = Listing.of_paths(pictures.paths, values)
        self._show(
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

    @classmethod
    def from_csv(
        cls: type[Self],
        csv: str | Path,
        root: str | Path = "",
        *,
        path: str = "filename",
        label: str | None = "label",
        suffix: str = "",
        classes: Classes | None = None,
        label_type: LabelType = "auto",
        **options: Any,
    ) -> Self:
        """The pictures that a labels file lists, one a row, in its order.

        Args:
            csv: a text table whose first line names the columns, separated by commas, tabs, semicolons, bars
                or spaces.
            root: the folder from which the files' names go on.
            path: the column of these names.
            label: the column of the labels; None: there are none.
            suffix: what the names lack, such as ``".jpg"``.
            classes: as in :class:`gofast.ImageFiles`.
            label_type: ``"int"``, ``"float"``, ``"text"``, or ``"auto"``: what the first row's label is. Any
                other label that does not fit is an error. True and False are 1 and 0. Text without
                ``classes=`` is numbered in sorted order, so that a file with other texts gets other numbers:
                give it the first dataset as ``classes=``.
            options: those of :class:`gofast.ImageFiles`.

        Raises:
            gofast.errors.NotFoundError: no such labels file, or no such picture in its first row.
            gofast.errors.SchemaError: no such column.
            gofast.errors.MissingValueError: an empty cell.
            gofast.errors.BadValueError, gofast.errors.UnknownLabelError: a label that does not fit. All
                of these name the line.

        Example:
            >>> columns = {"path": "id", "label": "breed", "suffix": ".jpg"}
            >>> train = gofast.ImageFiles.from_csv("train.csv", "train", **columns)
            >>> val = gofast.ImageFiles.from_csv("val.csv", "val", **columns, classes=train)
        """
        if label_type not in ("auto", "int", "float", "text"):
            raise errors.OptionError(f'label_type={label_type!r} is not "auto", "int", "float" or "text"')
        if classes is not None and label is None:
            raise errors.OptionError("classes= numbers the labels: give label= too")
        table = LabelsFile(os.path.expanduser(os.fspath(csv)), path, label)
        numbers = None if classes is None else numbered(classes)
        labels, found = (None, None) if label is None else table.values(label_type, numbers)
        made = cls(table.paths(os.path.expanduser(os.fspath(root)), suffix), labels, **options)
        made.root = os.fspath(root) or None
        made.class_to_idx = found if numbers is None else numbers
        made.classes = None if made.class_to_idx is None else in_order(made.class_to_idx)
        return made

    def _numbered(self, labels: Any, pictures: Pictures) -> list[Any]:
        """The label of each picture: its class's number where there are classes."""
        values = matched(labels, pictures)
        return values if self.class_to_idx is None else numbers(values, self.class_to_idx, pictures.paths)

    def _scan(self, root: str, recursive: bool, index: str | None) -> Listing:
        if os.path.isfile(root):
            raise errors.OptionError(
                f"{root!r} is a file, not a folder: give a list of files; ImageFiles.from_csv reads a table"
            )
        options: Scan = {
            "kind": "tree" if recursive else "flat",
            "root": os.path.join(os.getcwd(), root),
            "extensions": None if self.extensions is None else list(self.extensions),
        }
        return Listing(Files.scan(options, index), os.path.join(root, ""), has_labels=False)

    @property
    def _has_labels(self) -> bool:
        return self._labelled

    @property
    def paths(self) -> list[str]:
        """The paths of the pictures: a copy."""
        return self._listing.paths()


def _no_pictures(root: str, extensions: Sequence[str] | None) -> errors.NotFoundError:
    what = "no file" if extensions is None else f"no file that ends with {', '.join(extensions)}"
    error = errors.NotFoundError(f"{root}: {what}")
    error.path = root
    return error

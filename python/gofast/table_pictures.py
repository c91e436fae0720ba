"""Pictures whose paths are a column of a table: with the rest of its rows, or with labels alone."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from ._core.tfrecord_index import TFRecordIndex
from ._images.listing import Listing
from ._images.matched_labels import numbers
from ._images.pictures_with_rows import PicturesWithRows
from ._images.record_files import listing_of
from ._images.torchvision_datasets import IMG_EXTENSIONS, default_loader
from ._images.vision_dataset import VisionDataset
from ._loader.classes import Classes, LabelType, in_order, numbered
from .table import TableDataset

if TYPE_CHECKING:
    import numpy.typing as npt

_LONGEST = 1 << 20  # characters of a first line


class TablePictures(PicturesWithRows, VisionDataset):
    """What :meth:`gofast.ImageFiles.from_table` makes.

    Attributes:
        table: the rows: a copy, so that options of the given one may change.
        paths (list[str]): of the pictures.
        targets (list), classes, class_to_idx: those of the table.
    """

    @checked
    def __init__(
        self,
        table: TableDataset,
        image: str,
        root: str | Path = "",
        transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] | None = default_loader,
        *,
        suffix: str = "",
        **options: Any,
    ) -> None:
        if not isinstance(table, TableDataset):
            raise errors.OptionError(f"table={type(table).__name__}(...) is not a gofast.TableDataset")
        if not {"output", "classes"}.isdisjoint(options):
            raise errors.OptionError("output= and classes= are the table's: samples are dicts with its label")
        self.table = copy.copy(table)
        self._stand_beside(self.table)
        self.root = os.fspath(root) or None
        self.classes, self.class_to_idx = table.classes, table.class_to_idx
        try:
            paths = table.texts(image)
        except errors.OptionError as no_text:
            try:
                records = TFRecordIndex.of_table(table._row_files[0], image)
            except (errors.FormatError, errors.SchemaError, errors.OptionError):
                raise no_text from None
            if loader is not default_loader or suffix or self.root or options.get("return_path"):
                said = f"{image!r} has pictures: loader=, root=, suffix= and return_path= are for paths"
                raise errors.OptionError(said) from None
            if records.count != len(table):
                said = f"the table has {len(table)} rows, and its files have {records.count} pictures now"
                raise errors.ChangedError(f"{records.asked.paths[0]}: {said}") from None
            listing, loader = listing_of(records, image, None), None
        else:
            folder = os.path.expanduser(os.fspath(root))
            listing = Listing.of_paths([os.path.join(folder, path + suffix) for path in paths], None)
        self._show(listing, transform, None, loader, output="dict", **options)
        self.targets = table.targets.tolist()

    @property
    def _has_labels(self) -> bool:
        return False  # a label is one of the row's values

    @property
    def paths(self) -> list[str]:
        """The paths of the pictures: a copy."""
        return self._listing.paths()


def labels_file(
    csv: str | Path,
    root: str | Path,
    path: str,
    label: str | Sequence[str] | None,
    suffix: str,
    classes: Classes | None,
    label_type: LabelType,
) -> tuple[list[str], Any, dict[str | int, int] | None]:
    """The paths, the labels, and the numbers of classes of a labels file: see ``ImageFiles.from_csv``."""
    file = os.path.expanduser(os.fspath(csv))
    if os.path.exists(file) and not os.path.isfile(file):  # a folder would be a table of several files
        raise errors.ReadError(f"{file}: not a regular file").at(path=file)
    several = [] if label is None or isinstance(label, str) else list(label)
    delimiter, cells = _first_line(file, [path, *several, *([label] if isinstance(label, str) else [])])
    names = [cells.get(name, name) for name in several]
    table = TableDataset(
        file,
        label=names or (None if label is None else cells.get(str(label), label)),
        label_type="float" if several else label_type,
        classes=classes,
        header=True,
        columns=[],
        text=cells.get(path, path),
        delimiter=delimiter,
    )
    folder = os.path.expanduser(os.fspath(root))
    paths = [os.path.join(folder, name.strip() + suffix) for name in table.texts(cells.get(path, path))]
    if paths and not os.path.exists(paths[0]):
        raise _no_picture(file, table, paths[0], suffix)
    if several:
        vectors = table.targets.to(torch.float32).reshape(len(table), -1)
        return paths, vectors, dict(zip(several, range(len(several)), strict=True))
    return paths, None if label is None else table.targets.tolist(), table.class_to_idx


def labels_beside(
    records: TFRecordIndex, label: str, classes: Classes | None, label_type: LabelType
) -> tuple[npt.NDArray[Any], list[Any] | None, dict[Any, int] | None]:
    """The labels, the classes and their numbers of files of pictures: see ``ImageFiles.from_parquet``.

    A table numbers texts. Where there are numbers with names, ``classes`` are among the names.
    """
    names = None if label_type == "float" else records.class_names(label)
    table = TableDataset(
        records.asked.paths,
        columns=[],
        label=label,
        classes=classes if names is None else None,
        label_type=label_type,
    )
    labels = table.targets.numpy()
    if names is None or labels.dtype.kind != "i":
        return labels, table.classes, table.class_to_idx
    if classes is None:
        return labels, names, {name: number for number, name in enumerate(names)}
    known, class_to_idx = dict(enumerate(names)), numbered(classes)
    told = [known.get(number, number) for number in labels.tolist()]
    wanted = numbers(told, class_to_idx, records.places())
    return np.array(wanted, np.int64), in_order(class_to_idx), class_to_idx


def _first_line(file: str, wanted: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The delimiter that splits a file's first line into most of these columns, and each cell by its name.

    A table's delimiter is found from its rows, and is never a space. Spaces around a name do not count here.
    """
    try:
        with open(file, encoding="utf-8-sig") as lines:
            line = lines.readline(_LONGEST).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        return None, {}  # the table's error says more
    found = {d: {cell.strip(): cell for cell in line.split(d)} for d in ",\t;| "}
    delimiter = max(found, key=lambda d: len(found[d].keys() & {*wanted}))  # the first if several are equal
    return (delimiter, found[delimiter]) if found[delimiter].keys() & {*wanted} else (None, {})


def _no_picture(file: str, table: TableDataset, path: str, suffix: str) -> errors.NotFoundError:
    hint = "see root= and suffix="
    for end in (*IMG_EXTENSIONS, *(end.upper() for end in IMG_EXTENSIONS)):
        if os.path.exists(path + end):
            hint = f"there is one that ends with {end!r}: say suffix={suffix + end!r}"
            break
    line = table._place(0).line
    return errors.NotFoundError(f"{file}: line {line}: no file {path!r}; {hint}").at(path=file)

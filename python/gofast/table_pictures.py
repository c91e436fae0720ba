"""TablePictures: pictures whose paths are a column of a table, with the rest of its rows."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import errors
from ._core.arguments import checked
from ._images.beside import PicturesBeside
from ._images.face import VisionDataset
from ._images.listing import Listing
from ._images.vision import default_loader
from .table import TableDataset


class TablePictures(PicturesBeside, VisionDataset):
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
        folder = os.path.expanduser(os.fspath(root))
        paths = [os.path.join(folder, path + suffix) for path in table.texts(image)]
        self.root = os.fspath(root) or None
        self.classes, self.class_to_idx = table.classes, table.class_to_idx
        self._show(Listing.of_paths(paths, None), transform, None, loader, output="dict", **options)
        self.targets = table.targets.tolist()

    @property
    def _has_labels(self) -> bool:
        return False  # a label is one of the row's values

    @property
    def paths(self) -> list[str]:
        """The paths of the pictures: a copy."""
        return self._listing.paths()

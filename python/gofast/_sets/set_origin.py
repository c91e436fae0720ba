"""A preprocessed set whose files are the arrays of an ArrayDataset."""

from __future__ import annotations

import os

from .. import errors
from .._core.shown_urls import is_url, shown
from .._core.units import many
from .._loader.batch_source import Line
from .._tables import array_folder
from .._tables.file_arrays import FileArray
from .._tables.origin import Origin
from .._tables.sources import Path
from . import set_files
from .set_fields import BARE, DICT


class SetOrigin(Origin):
    """The folder of a set, which may lie behind a URL.

    Attributes:
        info: what the set says of itself.
        bare: samples are the values of the only array.
        keys, output: of its samples.
    """

    constructor = "open"

    def __init__(self, path: Path) -> None:
        place = os.fspath(path)
        self._folder = place if is_url(place) else os.path.abspath(place)
        self.path = shown(self._folder)
        self.info, said = set_files.read(self._folder)
        self._seal, fields = said.seal, self.info.fields
        self.classes, self.pictures, self.bare = self.info.classes, fields[0].picture, self.info.form == BARE
        self.keys, self.output = tuple(field.name for field in fields), "tuple"
        if self.info.form == DICT:
            self.output = "dict"
        self.arrays = array_folder.open_arrays(said)

    def open(self) -> list[FileArray]:
        """See the base class."""
        said = set_files.read(self._folder)[1]
        if said.seal != self._seal:
            other = f"{self.path} holds another set than when it was pickled"
            raise errors.ChangedError(other).at(path=self.path)
        return array_folder.open_arrays(said)

    def explained(self) -> list[Line]:
        """See the base class."""
        kind = str(self.info.made_of.get("type")).rpartition(".")[2]
        versions = ", ".join(f"{name} {version}" for name, version in self.info.made_with.items())
        said = f"{many(self.info.samples, 'sample')} of a {kind}; made with {versions}"
        return [("set", "", said), *super().explained()]

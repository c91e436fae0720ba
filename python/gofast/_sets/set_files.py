"""A preprocessed set on disk: a folder of arrays, one for each field of its samples (`array_folder`)."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import errors
from .._core.regular_files import regular_file
from .._core.shown_urls import is_url, shown
from .._tables import array_folder
from .._tables.array_folder import ODD, PART, SET, TYPES, ArraySpec, Description
from .set_fields import BARE, DICT, TUPLE, SetField, arrays


class SetInfo(NamedTuple):
    """What a set is.

    Attributes:
        samples: how many.
        form: what a sample is.
        classes: the names of the classes, if the dataset had some.
        made_of: the dataset, as `gofast.preprocess` describes it.
        made_with: versions.
    """

    samples: int
    form: str
    fields: list[SetField]
    classes: list[str] | None
    made_of: dict[str, Any]
    made_with: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return self.samples * sum(field.row_bytes for field in self.fields)

    @property
    def arrays(self) -> list[ArraySpec]:
        """Those of its folder."""
        return arrays(self.fields, self.samples)

    def told(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {**self._asdict(), "fields": [field._asdict() for field in self.fields]}

    def line(self) -> bytes:
        """The first line of its description."""
        return array_folder.head_line(SET, self.arrays, self.told())

    @classmethod
    def of(cls, line: bytes) -> SetInfo:
        """What a first line says; one of `ODD` where it is none."""
        return cls.described(*array_folder.head_of(line, SET))

    @classmethod
    def described(cls, told: dict[str, Any], there: list[ArraySpec]) -> SetInfo:
        """What a description says; one of `ODD` where that is not of a set."""
        fields = [SetField(**{**field, "shape": tuple(field["shape"])}) for field in told["fields"]]
        made = cls(**{name: told[name] for name in cls._fields} | {"fields": fields})
        sizes = [made.samples, *(size for field in fields for size in field.shape)]
        sound = (
            all(type(size) is int and size > 0 for size in sizes)
            and all(map(_is_sound, fields))
            and 0 < len({field.name for field in fields}) == len(fields)
            and made.form in (BARE, TUPLE, DICT)
            and (made.form != BARE or len(fields) == 1)
            and (made.classes is None or _are_texts(made.classes))
            and isinstance(made.made_of, dict)
            and _are_texts([*made.made_with.values()])
        )
        if not sound or made.arrays != there:
            raise ValueError("what it says is not of a set")
        return made


def _is_sound(field: SetField) -> bool:
    shape = field.shape
    pictures = field.dtype == "uint8" and (len(shape) == 2 or (len(shape) == 3 and shape[2] == 3))
    return (
        type(field.name) is str
        and field.dtype in TYPES
        and len(shape) <= 30
        and (pictures or not field.picture)
    )


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and {*map(type, given)} <= {str}


def read(folder: str) -> tuple[SetInfo, Description]:
    """Reads what a whole set says of itself, which may lie behind a URL.

    Raises:
        gofast.errors.NotFoundError: no set is there, or none that is whole.
        gofast.errors.DamagedError: the description is not as it was written.
        gofast.errors.FormatError: a table's cache is there.
    """
    try:
        said = array_folder.read(folder, SET)
    except errors.NotFoundError as error:
        raise errors.NotFoundError(_missing(folder, error)).at(path=shown(folder)) from None
    try:
        return SetInfo.described(said.head, said.arrays), said
    except ODD as error:
        path = os.path.join(shown(folder), array_folder.WHOLE)
        raise array_folder.damaged(path, str(error) or type(error).__name__) from None


def _missing(folder: str, error: errors.NotFoundError) -> str:
    if is_url(folder):
        return f"{error}: no set is there: copy a folder of gofast.preprocess to it, such as by aws s3 sync"
    made = f"gofast.preprocess(dataset, {folder!r})"
    if os.path.isfile(os.path.join(folder, PART)):
        return f"open {folder}: the set is unfinished: {made} with the same dataset goes on there"
    return f"open {folder}: no set is there: {made} makes one"


def values_of(folder: str, info: SetInfo, sample: int) -> list[bytes]:
    """A sample's values as they are written."""
    made = []
    for one in info.arrays:
        at, size = one.place(sample, sample + 1)
        with regular_file(os.path.join(folder, one.name + ".npy")) as (fd, _):
            made.append(os.pread(fd, size, at))
    return made

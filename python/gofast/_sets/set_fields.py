"""The values of samples as a preprocessed set keeps them: each field of all samples is one .npy file."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import errors
from .._tables.array_folder import TYPES, ArraySpec
from .._tables.file_arrays import size_of
from .._tables.scale import default_keys

BARE, TUPLE, DICT = "value", "tuple", "dict"  # what a sample is

_MODES = ("RGB", "L")  # of pictures that are kept, as arrays
_TENSORS, _ARRAYS = (torch.Tensor, torch.nn.Parameter), (np.ndarray, np.memmap)
_PLAIN = re.compile(r"[A-Za-z_][\w-]{0,99}", re.ASCII)  # a name that is a file's too
_NUMBERS = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}


class SetField(NamedTuple):
    """A field of all samples.

    Attributes:
        name: its key, or its place in a tuple.
        dtype: numpy's name.
        shape: of one sample's value.
        picture: the values are PIL images, kept as arrays [h, w] or [h, w, 3].
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    picture: bool

    @property
    def row_bytes(self) -> int:
        """Bytes of one sample's value."""
        return size_of(np.dtype(self.dtype), self.shape)

    def __str__(self) -> str:
        return f"{'a picture of ' if self.picture else ''}{self.dtype} {list(self.shape)}"


def arrays(fields: Sequence[SetField], count: int) -> list[ArraySpec]:
    """The arrays of so many samples, of the fields' names where these are plain, else of their numbers."""
    own = [field.name for field in fields]
    plain = all(map(_PLAIN.fullmatch, own)) and len({name.lower() for name in own}) == len(own)
    return [
        ArraySpec(field.name if plain else str(number), field.dtype, (count, *field.shape))
        for number, field in enumerate(fields)
    ]


def values(sample: Any) -> tuple[str, dict[str, Any]]:
    """What a sample is, and its values by name; of a collated batch likewise."""
    if isinstance(sample, Mapping):
        if not all(isinstance(name, str) for name in sample):
            raise errors.UnsupportedError("a dict whose keys are no str: a set's fields have names")
        return DICT, dict(sample)
    if isinstance(sample, (tuple, list)):
        return TUPLE, {str(place): value for place, value in enumerate(sample)}
    return BARE, {"0": sample}


def array_of(name: str, value: Any) -> tuple[SetField, np.ndarray[Any, Any]]:
    """A value of this name as an array, and its field.

    Raises:
        gofast.errors.UnsupportedError: it is nothing that a set keeps.
    """
    mode, kind = _mode(value), _NUMBERS.get(type(value))
    if kind == np.int64 and not -(1 << 63) <= value < 1 << 63:
        raise errors.UnsupportedError(f"{name!r}: the number {value} has more than 64 bits")
    if mode is not None and mode not in _MODES:
        raise errors.UnsupportedError(
            f"{name!r}: a picture of mode {mode}: end the transform with PILToTensor(), or convert it: "
            f"{' and '.join(_MODES)} are kept"
        )
    if isinstance(value, torch.Tensor):
        value = _plain(name, value)
    elif kind is None and mode is None and type(value) not in _ARRAYS and not isinstance(value, np.generic):
        raise errors.UnsupportedError(
            f"{name!r}: a {type(value).__name__}: a set keeps tensors, arrays, numbers and pictures; leave "
            "it out, or make numbers of it"
        )
    made = np.asarray(value, kind)
    if made.dtype.name not in TYPES or not made.dtype.isnative or 0 in made.shape:
        raise errors.UnsupportedError(
            f"{name!r}: an array of {made.dtype} {list(made.shape)}: a set keeps values of the types "
            f"{', '.join(TYPES)}"
        )
    return SetField(name, made.dtype.name, made.shape, mode is not None), made


def _plain(name: str, value: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor's values. A class of its own, such as Mask, says more: v2's transforms treat it otherwise.

    An Image they treat as any tensor.
    """
    kind, known = type(value), str(value.dtype).removeprefix("torch.") in TYPES
    if kind not in _TENSORS and f"{kind.__module__}.{kind.__name__}" != "torchvision.tv_tensors._image.Image":
        raise errors.UnsupportedError(
            f"{name!r}: a {kind.__name__}: give a plain tensor of it, as ToPureTensor() does"
        )
    if not known or value.device.type != "cpu" or value.layout is not torch.strided or value.is_nested:
        raise errors.UnsupportedError(
            f"{name!r}: a tensor of {value.dtype}, {value.layout}, on {value.device}: numpy has no such; "
            "give an ordinary one on the CPU, such as float16"
        )
    return value.detach().resolve_conj().resolve_neg().numpy()


def _mode(value: Any) -> str | None:
    """A PIL image's mode; None of what is none. Pillow is never imported here."""
    kind = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return str(value.mode) if kind is not None and isinstance(value, kind) else None


def fields_of(sample: Any) -> tuple[str, list[SetField]]:
    """What a sample is, and its fields."""
    form, held = values(sample)
    if not held:
        raise errors.UnsupportedError("a sample without values")
    made = [array_of(*item)[0] for item in held.items()]
    if form == DICT:  # its largest is what ArrayDataset.open's transform= is for; the others keep order
        largest = max(made, key=lambda field: field.row_bytes)
        made = [largest, *(field for field in made if field is not largest)]
    elif len(made) <= 2:
        keys = default_keys(made[0].shape)
        made = [field._replace(name=name) for field, name in zip(made, keys, strict=False)]
    return form, made


def rows(form: str, fields: Sequence[SetField], sample: Any) -> list[np.ndarray[Any, Any]]:
    """The values of a sample, one for each field.

    Raises:
        gofast.errors.SchemaError: it is none with such fields.
    """
    found_form, held = values(sample)
    given = [held.get(field.name) for field in fields] if form == DICT else [*held.values()]
    names_differ = form == DICT and {field.name for field in fields} != {*held}
    if found_form != form or len(held) != len(fields) or names_differ:
        raise errors.SchemaError(
            f"a {found_form} of {len(held)} values ({', '.join(held)}), and the first sample is a {form} of "
            f"{len(fields)}"
        )
    made = []
    for field, value in zip(fields, given, strict=True):
        found, array = array_of(field.name, value)
        if found != field:
            raise errors.SchemaError(_unlike(field, found))
        made.append(array)
    return made


def _unlike(field: SetField, found: SetField) -> str:
    said = f"its {field.name!r} is {found}, and the first sample's is {field}"
    if field.dtype == found.dtype and math.prod(field.shape) > 1:
        said += (
            ": samples of a set have one size. Put Resize((h, w)), or Resize and CenterCrop, into the "
            "transform; pictures of their own sizes need no set: ImageFolder reads them as they are"
        )
    return said


def batch(fields: Sequence[SetField], collated: Any, count: int) -> list[np.ndarray[Any, Any]]:
    """The values of a collated batch, where a picture is a uint8 tensor, as PILToTensor makes it.

    Raises:
        gofast.errors.SchemaError: its samples have no such fields.
    """
    form, held = values(collated)
    made = []
    for field, value in zip(
        fields, (held[f.name] for f in fields) if form == DICT else held.values(), strict=True
    ):
        array = value.numpy()
        if field.picture:
            array = array.transpose(0, 2, 3, 1).reshape(count, *field.shape)
        found = SetField(field.name, array.dtype.name, array.shape[1:], field.picture)
        if found != field or len(array) != count:
            raise errors.SchemaError(_unlike(field, found))
        made.append(array)
    return made

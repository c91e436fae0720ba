"""Texts become ids: each different text of a column once, when the dataset is made."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .. import errors
from .._core.progress import Progress
from .._loader.core_dataset import IntArray
from .file_arrays import FileArray, sealed
from .text_columns import StringColumn, Strings, TextColumn, TokenColumn
from .texts import IDS, MASK, Text

# Texts are tokenized so many at a time: what Hugging Face's tokenizers give of one takes a hundred times the
# memory of its ids.
_AT_ONCE = 1000


def opened_texts(options: Mapping[str, Text], strings: Sequence[Strings]) -> list[TextColumn]:
    """What the options make of the columns."""
    return [
        StringColumn(name, texts) if option.tokenizer is None else _tokenized(name, option, texts)
        for (name, option), texts in zip(options.items(), strings, strict=True)
    ]


def _tokenized(name: str, option: Text, strings: Strings) -> TokenColumn:
    """The column, of which each text is tokenized once."""
    lengths: list[IntArray] = [np.zeros(0, np.int64)]
    found: dict[str, list[IntArray]] = {} if len(strings) else {IDS: []}
    with Progress(f"tokenizing {name}") as bar:
        for start in range(0, len(strings), _AT_ONCE):
            numbers = np.arange(start, min(start + _AT_ONCE, len(strings)), dtype=np.int64)
            made = _called(name, option, strings.at(numbers))
            if found and made.keys() != found.keys():
                raise errors.BadValueError(
                    f"text={name!r}: the tokenizer gave {', '.join(made)}, and {', '.join(found)} before"
                ).at(column=name)
            each = _lengths(name, made)
            if option.padding == "max_length" and (each > (option.max_length or 0)).any():
                at = int((each > (option.max_length or 0)).argmax())
                text = strings.at(numbers[at : at + 1])[0]
                raise errors.BadValueError(
                    f"text={name!r}: {text[:80]!r} has {each[at]} ids, and max_length={option.max_length}: "
                    "say truncation=True, or cut them in the tokenizer"
                ).at(column=name)
            lengths.append(each)
            for key, rows in made.items():
                found.setdefault(key, []).append(_flat(name, key, rows))
            bar.update((start + len(numbers)) / len(strings))
    ids = next(key for key in found if key.endswith(IDS))
    values: dict[str, tuple[FileArray | None, int]] = {}
    for key in found:
        values[key] = _kept(found[key]), option.blank(key)
    mask = ids.removesuffix(IDS) + MASK
    if mask not in values:
        values[mask] = None, 0
    ends = sealed(
        np.dtype(np.int64),
        (len(strings) + 1,),
        lambda array: np.cumsum(np.concatenate(lengths), out=array[1:]),
        "Python",
        "",
    )
    return TokenColumn(name, option.without_tokenizer(), option.left, ends, values)


def _called(name: str, option: Text, texts: list[str]) -> dict[str, Any]:
    """What the tokenizer makes of some texts, by name."""
    assert option.tokenizer is not None
    given: dict[str, Any] = {}
    if option.truncation:
        given["truncation"] = True
        if option.max_length is not None:
            given["max_length"] = option.max_length
    made = option.tokenizer(texts, **given)
    if not isinstance(made, Mapping):
        made = {IDS: made}
    if sum(str(key).endswith(IDS) for key in made) != 1:
        raise errors.BadValueError(
            f"text={name!r}: the tokenizer gave {', '.join(map(repr, made)) or 'nothing'}: one of the names "
            f"must be, or end in, {IDS!r}"
        ).at(column=name)
    for key, rows in made.items():
        option.blank(key)
        if len(rows) != len(texts):
            raise errors.BadValueError(
                f"text={name!r}: the tokenizer gave {len(rows)} rows of {key!r} for {len(texts)} texts"
            ).at(column=name)
    return dict(made)


def _lengths(name: str, made: Mapping[str, Any]) -> IntArray:
    """How many values each text has."""
    lengths = None
    for key, rows in made.items():
        try:
            here = np.fromiter(map(len, rows), np.int64, len(rows))
        except TypeError:
            raise _no_row(name, key) from None
        if lengths is not None and not np.array_equal(lengths, here):
            raise errors.BadValueError(
                f"text={name!r}: the tokenizer gave {', '.join(map(repr, made))} of different lengths"
            ).at(column=name)
        lengths = here
    assert lengths is not None
    return lengths


def _flat(name: str, key: str, rows: Any) -> IntArray:
    """The values of rows, one behind the other."""
    if isinstance(rows, (np.ndarray, torch.Tensor)):  # of a tokenizer that pads
        whole = np.asarray(rows)
        if np.can_cast(whole.dtype, np.int64):
            return whole.astype(np.int64).reshape(-1)
    values = array("q")
    try:
        values.extend(itertools.chain.from_iterable(rows))
    except (TypeError, OverflowError):
        raise _no_row(name, key) from None
    return np.array(values, np.int64)


def _no_row(name: str, key: str) -> errors.GofastError:
    said = f"text={name!r}: {key!r} of the tokenizer is not a list of whole numbers for each text"
    return errors.BadValueError(said).at(column=name)


def _kept(pieces: list[IntArray]) -> FileArray | None:
    """The values in memory that processes share, as narrow as they fit; None where all are 1."""
    least = min((int(piece.min()) for piece in pieces if len(piece)), default=1)
    most = max((int(piece.max()) for piece in pieces if len(piece)), default=1)
    if least == most == 1:
        return None
    kind: np.dtype[Any] = np.dtype(np.int64)
    if least >= 0 and most < 1 << 8:
        kind = np.dtype(np.uint8)
    elif least >= -1 << 31 and most < 1 << 31:
        kind = np.dtype(np.int32)
    total = sum(map(len, pieces))
    return sealed(
        kind, (total,), lambda array: np.concatenate(pieces, out=array, casting="unsafe"), "Python", ""
    )

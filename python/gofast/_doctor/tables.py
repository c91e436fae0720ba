"""The TableDataset that gives a user's samples: found by comparing a file's columns with some."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .. import errors
from ..table import TableDataset
from .isolation import RefusalError

Numbers = npt.NDArray[Any]
_ROUNDING = 1e-6  # of a column's largest number: what float32 loses in a few operations
_ROWS = 24  # that are compared
_MOST = 256  # classes of words, of each of which a sample is made


class Parts:
    """A sample: its features or picture, its label if it has one, and the options that give such a sample."""

    def __init__(self, sample: Any) -> None:
        self.options: dict[str, Any] = {"output": "tuple"}
        if isinstance(sample, dict) and len(sample) in (1, 2):
            self.options = {"output": "dict", "keys": (*sample,)}
            sample = [*sample.values()]
        parts = [*sample] if isinstance(sample, (list, tuple)) else [sample]
        if not 1 <= len(parts) <= 2 or not isinstance(parts[0], (torch.Tensor, np.ndarray)):
            raise RefusalError("samples are no arrays with a label behind them")
        self.x: Any = parts[0]
        self.label: Any = parts[1] if len(parts) == 2 else None
        if isinstance(self.label, (str, bytes)):
            raise RefusalError("labels are text, and torch makes no tensor of it")
        if self.label is not None and np.asarray(self.label).size != 1:
            raise RefusalError("a sample has several labels")


def fitting(dataset: Any, path: str) -> dict[str, Any] | None:
    """Options with which TableDataset gives this dataset's samples.

    Returns:
        None if the file is no table, or too short to be the dataset's.

    Raises:
        RefusalError: the samples are not the table's rows.
    """
    words: list[str] = []
    options: dict[str, Any] = {}
    try:
        table = _numbers(path, words)
    except errors.GofastError:
        try:  # of numbers alone, the first line may be names or a row: the number of samples tells
            options["header"], words = False, []
            table = _numbers(path, words, **options)
        except errors.GofastError:
            return None
        if len(table) != len(dataset):
            return None
    if len(table) < len(dataset):
        return None
    if len(table) > len(dataset):
        raise RefusalError(
            f"the table has {len(table)} rows, your dataset {len(dataset)} of them: take these with "
            "torch.utils.data.Subset, and compare"
        )
    rows = sorted({*np.linspace(0, len(dataset) - 1, _ROWS).astype(int).tolist()})
    samples = [Parts(dataset[row]) for row in rows]
    cells = np.stack([table[row]["features"].numpy() for row in rows])
    names, first = table.columns, samples[0]
    label = None
    if first.label is not None:
        label = _label(np.array([float(each.label) for each in samples]), cells, names)
    if first.label is not None and label is None:
        label, classes = _classes(dataset, path, words)
        options |= classes
    if label != "label":
        options["label"] = label
    rest = [at for at, name in enumerate(names) if name != label]
    x = np.stack([np.asarray(each.x).reshape(-1) for each in samples])
    options |= _features(x, cells, rest, names, [word for word in words if word != label], first.x.ndim > 1)
    if first.x.ndim > 1:
        options["shape"] = tuple(first.x.shape)
    if x.dtype != np.float32:
        options["dtype"] = str(x.dtype)
    usual = ("image" if first.x.ndim > 1 else "features", "label")
    return options | {name: value for name, value in first.options.items() if value not in ("dict", usual)}


def _numbers(path: str, words: list[str], **options: Any) -> TableDataset:
    """The columns of numbers. The names of those of words are added to `words`."""
    options |= {"label": None, "scale": None, "dtype": torch.float64, "fill_value": float("nan")}
    while True:
        try:
            return TableDataset(path, exclude=words, **options)
        except (errors.SchemaError, errors.BadValueError) as error:
            if error.column is None or error.column in words:
                raise
            words.append(error.column)


def _label(labels: Numbers, cells: Numbers, names: list[str]) -> str | None:
    """The column that has these labels."""
    order = sorted(range(len(names)), key=lambda at: (names[at] != "label", at != len(names) - 1, at))
    narrow = labels.astype(np.float32)
    return next((names[at] for at in order if np.array_equal(cells[:, at].astype(np.float32), narrow)), None)


def _classes(dataset: Any, path: str, words: list[str]) -> tuple[str, dict[str, Any]]:
    """The column of words that the dataset's labels number, and its classes in their order."""
    for name in reversed(words):
        try:
            table = TableDataset(
                path, label=name, exclude=[word for word in words if word != name], fill_value=0
            )
        except errors.GofastError:
            continue
        targets, classes = table.targets.numpy(), table.classes or []
        kinds, rows = np.unique(targets, return_index=True)
        if len(kinds) > _MOST:
            continue
        numbers = [float(Parts(dataset[int(row)]).label) for row in rows]
        if sorted(numbers) == [*range(len(classes))]:
            ordered = [classes[numbers.index(at)] for at in range(len(numbers))]
            return name, {} if ordered == classes else {"classes": ordered}
    raise RefusalError("no column of the table has the labels of your samples")


def _features(
    x: Numbers, cells: Numbers, rest: list[int], names: list[str], words: list[str], picture: bool
) -> dict[str, Any]:
    """The options that make the samples' numbers of the table's."""
    options: dict[str, Any] = {}
    empty = np.isnan(cells[:, rest])
    if empty.any():
        filled = x[empty] if x.shape == empty.shape else np.array([0.0])
        options["fill_value"] = float(filled[0])
        cells = np.where(np.isnan(cells), filled[0], cells)
    for scale, numbers in ((None, cells), ("unit", cells / 255)):
        for taken in (rest, _matched(x, numbers, rest)):
            if taken and _same(x, numbers[:, taken]):
                left = [*words, *(names[at] for at in rest if at not in taken)]
                if taken != sorted(taken):
                    options["columns"] = [names[at] for at in taken]
                elif left:
                    options["exclude"] = left
                return options if (scale is not None) == picture else {**options, "scale": scale}
    if x.shape[1] == len(rest):  # normalised: a line through the numbers, whose two constants are round
        numbers = cells[:, rest] / 255
        slope, start = np.polyfit(numbers.ravel(), x.ravel().astype(np.float64), 1)
        mean, std = round(float(-start / slope), 4), round(float(1 / slope), 4)
        if std and _same(x, (numbers - mean) / std):
            unit = {} if picture else {"scale": "unit"}
            return {**options, **unit, "mean": mean, "std": std, **({"exclude": words} if words else {})}
    raise RefusalError("your samples' numbers are computed from the table's in a way that is not known")


def _matched(x: Numbers, numbers: Numbers, rest: list[int]) -> list[int]:
    """The columns of the samples' numbers, each one's first that is equal; empty if one has none."""
    if x.shape[1] > 256:
        return []
    found = [next((at for at in rest if _same(numbers[:, at], column)), -1) for column in x.T]
    return [] if -1 in found else found


def _same(one: Numbers, other: Numbers) -> bool:
    """Whether columns are equal but for rounding, of which their largest number is the measure."""
    if one.shape != other.shape:
        return False
    most = np.max(np.abs(other), axis=0, where=np.isfinite(other), initial=0.0)
    return bool(np.all((np.abs(one - other) <= _ROUNDING * most) | (np.isnan(one) & np.isnan(other))))

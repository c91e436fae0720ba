"""The files and labels of a dataset's samples, as expressions in what the dataset or its script holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from .scope import Scope, _quoted

Get = Callable[[int], Any]
Known = dict[int, tuple[str, Any]]  # of some samples: the path that each opened, and its label
_WIDE = 8  # parts of a row that are looked at
_PARTS: tuple[tuple[str, Callable[[str], str]], ...] = (  # of a path, and what gives it
    ("os.path.basename(os.path.dirname(path))", lambda path: os.path.basename(os.path.dirname(path))),
    ("os.path.basename(path)", os.path.basename),
    ("os.path.splitext(os.path.basename(path))[0]", lambda path: os.path.splitext(os.path.basename(path))[0]),
    ("path", lambda path: path),
)


class Columns:
    """What a dataset holds of all its samples, and what else it holds.

    Args:
        said: the expression of the dataset.
    """

    def __init__(self, dataset: Any, said: str, scope: Scope) -> None:
        self._length = len(dataset)
        self.held = {f"{said}.{name}": value for name, value in vars(dataset).items()}
        for name, value in used(dataset):
            if (known := scope.expression(value)) is not None or scope.names.get(name) is value:
                self.held.setdefault(known or name, value)

    def paths(self, known: Known) -> str | None:
        """The expression of the files' names, which gives the known ones."""
        some = {at: os.path.abspath(path) for at, (path, _) in known.items()}
        folders = {os.path.dirname(path) for path, _ in known.values()}
        roots = {said: value for said, value in self.held.items() if isinstance(value, (str, os.PathLike))}
        if len(folders) == 1:
            (one,) = folders
            roots[_quoted(one)] = one
        ends = {os.path.splitext(path)[1] for path in some.values()}
        for said, get in self._all():
            values = {at: get(at) for at in some}
            if all(isinstance(value, (str, os.PathLike)) for value in values.values()):
                if all(os.path.abspath(value) == some[at] for at, value in values.items()):
                    return said
            elif not all(isinstance(value, (int, np.integer)) for value in values.values()):
                continue
            for end in ["", *ends] if len(ends) == 1 else [""]:
                name = (
                    f'f"{{name}}{end}"' if end or not isinstance(next(iter(values.values())), str) else "name"
                )
                for root, folder in roots.items():
                    if all(
                        os.path.abspath(os.path.join(folder, f"{v}{end}")) == some[at]
                        for at, v in values.items()
                    ):
                        return f"[os.path.join({root}, {name}) for name in {said}]"
        return None

    def labels(self, known: Known, paths: str) -> Iterator[str]:
        """Expressions of the labels, which give the known ones.

        Args:
            paths: the expression of the files' names.
        """
        labels = {at: _number(label) for at, (_, label) in known.items()}
        for said, get in self._all():
            if all(_number(get(at)) == label for at, label in labels.items()):
                yield said
        parts = [
            (part, f"for path in {paths}", {at: of(path) for at, (path, _) in known.items()})
            for part, of in _PARTS
        ]
        for said, get in self._all():
            parts.append(("key", f"for key in {said}", {at: get(at) for at in known}))
        for said, value in self.held.items():
            for part, loop, keys in parts:
                if isinstance(value, dict) and all(
                    _number(_entry(value, keys[at])) == labels[at] for at in known
                ):
                    yield f"[{said}[{part}] {loop}]"
                elif isinstance(value, (list, tuple)) and all(
                    _place(value, keys[at]) == labels[at] for at in known
                ):
                    yield f"[{said}.index({part}) {loop}]"
        root = os.path.dirname(os.path.dirname(next(iter(known.values()))[0]))
        names = sorted(os.listdir(root or "."))
        part, loop, keys = parts[0]
        if all(_place(names, keys[at]) == labels[at] for at in known):
            yield f"[sorted(os.listdir({_quoted(root or '.')})).index({part}) {loop}]"

    def are_folders(self, known: Known) -> bool:
        """Whether labels are the places of the pictures' folders among all, as in ImageFolder."""
        roots = {os.path.dirname(os.path.dirname(path)) for path, _ in known.values()}
        if len(roots) != 1:
            return False
        with os.scandir(roots.pop() or ".") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
        folder = _PARTS[0][1]
        return all(_place(names, folder(path)) == _number(label) for path, label in known.values())

    def _all(self) -> Iterator[tuple[str, Get]]:
        """What has as many elements as the dataset: the expression of a list of them, and what gives one."""
        for said, value in self.held.items():
            try:
                if isinstance(value, (str, bytes, dict)) or len(value) != self._length or not self._length:
                    continue
            except TypeError:
                continue
            yield from _columns(said, value)


def _columns(said: str, value: Any) -> Iterator[tuple[str, Get]]:
    if hasattr(value, "iloc") and hasattr(value, "columns"):  # pandas, which nobody need have
        for name in value.columns:
            yield f"{said}[{_key(name)}].tolist()", lambda at, column=value[name]: column.iloc[at]  # type: ignore[misc]
    elif hasattr(value, "iloc"):
        yield f"{said}.tolist()", lambda at: value.iloc[at]
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        if value.ndim == 1:
            yield f"{said}.tolist()", lambda at: value[at]
        elif value.ndim == 2 and value.shape[1] <= _WIDE:
            for part in range(value.shape[1]):
                yield f"{said}[:, {part}].tolist()", lambda at, part=part: value[at, part]  # type: ignore[misc]
    elif isinstance(value, (list, tuple)):
        first = value[0]
        yield said, lambda at: value[at]
        keys = range(len(first)) if isinstance(first, (list, tuple)) and len(first) <= _WIDE else ()
        for key in first if isinstance(first, dict) else keys:
            yield f"[item[{_key(key)}] for item in {said}]", lambda at, key=key: value[at][key]  # type: ignore[misc]


def used(dataset: Any) -> Iterator[tuple[str, Any]]:
    """What the dataset's own method uses of the names around it."""
    method = getattr(type(dataset).__getitem__, "__wrapped__", type(dataset).__getitem__)
    code = getattr(method, "__code__", None)
    if code is None:
        return
    for name in code.co_names:
        if name in method.__globals__:
            yield name, method.__globals__[name]
    for name, cell in zip(code.co_freevars, method.__closure__ or (), strict=True):
        if name != "__class__":
            yield name, cell.cell_contents


def _key(key: Any) -> str:
    return _quoted(key) if isinstance(key, str) else repr(key)


def _number(value: Any) -> Any:
    """A label as a number of Python's; anything else as an object that equals none."""
    try:
        array = np.asarray(value)
        return array.item() if array.size == 1 and array.dtype.kind in "iufb" else object()
    except Exception:
        return object()


def _entry(table: Any, key: Any) -> Any:
    try:
        return table.get(key)
    except TypeError:
        return None


def _place(names: Any, name: Any) -> int | None:
    return names.index(name) if isinstance(name, str) and name in names else None

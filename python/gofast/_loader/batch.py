"""Finished batches for torch's plain DataLoader, handed over without a copy.

``__getitems__`` returns :class:`Rows`, a list that makes its rows when code first reads one. Usually that is
``default_collate``, which reads ``batch[0]``. It gets :data:`WHOLE`, whose type is registered in
``default_collate_fn_map``, so it calls :func:`collate_whole`, which returns the batch's own tensors.
All other code sees an ordinary list of ordinary dicts or tuples. Each row has its own memory, so that
code that keeps a row keeps nothing else.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from .. import errors
from .._core.default_collate import is_torchs
from .batch_source import BatchSource


class Whole:
    """The type of the object that torch's collation gets instead of a batch's first row."""


WHOLE = Whole()
_COLLATE = collate.__code__


class _Unmade:
    """Fills the list of a batch until its rows are made.

    Only C code that reads the list's memory directly can meet one. torch's functions of lists of tensors do
    this, and ``__torch_function__`` then makes the rows first.
    """

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], _: Any, args: Sequence[Any] = (), options: Any = None
    ) -> Any:
        options = options or {}
        batches = [value for value in (*args, *options.values()) if isinstance(value, Rows)]
        if not batches:
            raise TypeError(f"{function} met a row of a batch that was never made: give it list(batch)")
        for batch in batches:
            batch.make()
        return function(*args, **options)


_UNMADE = _Unmade()


class Rows(list[Any]):
    """A list that makes its rows when code first reads one. Base class."""

    def __init__(self, count: int) -> None:
        super().__init__([_UNMADE] * count)
        self._unmade = True

    def collated(self) -> Any:
        """The batch as ``default_collate`` of its rows would give it."""
        raise NotImplementedError

    def _rows(self) -> Sequence[Any]:
        raise NotImplementedError

    def make(self) -> None:
        """Makes the rows, if they are not made yet."""
        if self._unmade:
            rows = self._rows()
            self._unmade = False
            self[:] = rows

    def __getitem__(self, position: Any) -> Any:
        if self._unmade:
            frame = sys._getframe(1)
            if frame.f_code is _COLLATE and is_torchs(frame.f_locals["collate_fn_map"]):
                return WHOLE
            self.make()
        return super().__getitem__(position)

    def __radd__(self, rows: Any) -> Any:
        if isinstance(rows, list):
            self.make()
        return NotImplemented  # list's own code comes next: += must change the list on its left

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def _looking(name: str) -> Callable[..., Any]:
    """A method of list that first makes the rows of this batch and of all batches among its arguments."""
    method: Callable[..., Any] = getattr(list, name)

    @functools.wraps(method)
    def look(batch: Rows, *args: Any, **options: Any) -> Any:
        batch.make()
        for other in args:
            if isinstance(other, Rows):
                other.make()
        return method(batch, *args, **options)

    return look


_LOOKS = ["__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__gt__", "__iadd__", "__imul__"]
_LOOKS += ["__iter__", "__le__", "__lt__", "__mul__", "__ne__", "__repr__", "__reversed__", "__rmul__"]
_LOOKS += ["__setitem__", "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove"]
_LOOKS += ["reverse", "sort"]
for _name in _LOOKS:
    setattr(Rows, _name, _looking(_name))


class Batch(Rows):
    """A finished batch. Its rows get their own memory.

    Attributes:
        images: [n, ...]. Deleted once the rows are made, like labels.
        labels: [n, ...], or None.

    Args:
        view: the view that it was made from.
        hand_over: makes what is sent to another process instead of the tensors.
        replaced: by position, the samples that stand in for bad ones.
        more: the other values of the rows; see ``BatchSource.more``.
    """

    images: torch.Tensor
    labels: torch.Tensor | None

    def __init__(
        self,
        view: BatchSource,
        images: torch.Tensor,
        labels: torch.Tensor | None,
        hand_over: Callable[[], Any] | None = None,
        replaced: Mapping[int, int] | None = None,
        more: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(images.size(0))
        self._view = view
        self.images = images
        self.labels = labels
        self._hand_over = hand_over
        self._replaced = replaced or {}
        self._more = more
        self._handed_over: tuple[int, ...] | None = None

    def sources(self, indices: Sequence[int]) -> list[int]:
        """The samples that the rows really hold, when these indices were asked for."""
        return [self._replaced.get(i, index) for i, index in enumerate(indices)]

    def collated(self) -> Any:
        """The batch as ``default_collate`` of its rows would give it, without a copy."""
        if self._handed_over is not None:  # collated a second time: the first result may be changed
            return torch.utils.data.default_collate(list(self))
        self._handed_over = self._versions()
        if self._hand_over is not None:
            return self._hand_over()
        return self._view.collated(self.images, self.labels, self._more)

    def _versions(self) -> tuple[int, ...]:
        """How many times the tensors were changed in place; nothing where nobody counts that."""
        if self.images.is_inference():
            return ()
        return self.images._version, 0 if self.labels is None else self.labels._version

    def _rows(self) -> Sequence[Any]:
        if self._handed_over == () or self._handed_over not in (None, self._versions()):
            raise errors.UnsupportedError(
                "rows of a batch that was collated and then changed in place: a collate_fn that needs both "
                "looks at the rows first, or changes a clone"
            )
        rows = self._view.rows(self.images, self.labels, self._more)
        del self.images, self.labels  # code that keeps rows shall keep nothing more
        self._hand_over, self._more = None, ()
        return rows


def collate_whole(batch: Rows, *, collate_fn_map: Any = None) -> Any:
    """``default_collate`` calls this for a batch if its rows were not read yet."""
    return batch.collated()


default_collate_fn_map[Whole] = collate_whole

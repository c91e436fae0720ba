"""Finished batches for torch's plain DataLoader, handed over without a copy.

``default_collate`` looks at the type of ``batch[0]`` only. ``__getitems__`` returns a
:class:`Batch`, whose rows are of a type registered in ``default_collate_fn_map``, so
the default ``collate_fn`` calls :func:`collate_rows`, which gives back the batch's own
tensors. Any other ``collate_fn`` sees a sequence of ordinary dicts or tuples.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any, overload

import torch
from torch.multiprocessing.reductions import reduce_tensor
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from ._view import View


class DictRow(dict[str, Any]):
    """A row ``{"image": ..., "label": ...}`` that knows the batch it is a view of."""

    _batch: weakref.ref[Batch]  # weak: the batch keeps its rows, and its memory must go at once
    _position: int
    _views: tuple[Any, ...]

    def _untouched(self, keys: tuple[str, ...]) -> bool:
        if len(self) != len(self._views):
            return False
        # A loop, not all(): this runs for the first row of every batch.
        for (key, value), view, name in zip(self.items(), self._views, keys, strict=False):
            if value is not view or key != name:
                return False
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class TupleRow(tuple[Any, ...]):
    """A row ``(image, label)`` that knows the batch it is a view of."""

    _batch: weakref.ref[Batch]
    _position: int

    def _untouched(self, _: tuple[str, ...]) -> bool:
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


class PictureRow(torch.Tensor):
    """A row that is the tensor alone, and knows the batch it is a view of. What is made of it is plain."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    _batch: weakref.ref[Batch]
    _position: int

    def _untouched(self, _: tuple[str, ...]) -> bool:
        return True

    def __reduce_ex__(self, protocol: Any) -> Any:
        return plain(self).__reduce_ex__(protocol)  # type: ignore[no-untyped-call]


_reduce_tensor: Callable[[torch.Tensor], Any] = reduce_tensor


def plain(row: torch.Tensor) -> torch.Tensor:
    """The same tensor, as torch's own class."""
    made: torch.Tensor = row.as_subclass(torch.Tensor)
    return made


ForkingPickler.register(PictureRow, lambda row: _reduce_tensor(plain(row)))


class Batch(MutableSequence[Any]):
    """A finished batch that looks like the list of its rows, and can be changed like it.

    Args:
        view: what it was made from.
        images: [n, ...].
        labels: [n, ...], or None.
        hand_over: makes what crosses to another process instead of the tensors.
        replaced: the samples that stand in for others, by position.
        more: what rows have beside; see ``View.more``.
    """

    def __init__(
        self,
        view: View,
        images: torch.Tensor,
        labels: torch.Tensor | None,
        hand_over: Callable[[], Any] | None = None,
        replaced: Mapping[int, int] | None = None,
        more: tuple[Any, ...] = (),
    ) -> None:
        self._view = view
        self.images = images
        self.labels = labels
        self._hand_over = hand_over
        self._replaced = replaced or {}
        self._more = more
        self._n = images.size(0)  # len() of a tensor is a slow Python function
        self._made: dict[int, Any] = {}  # rows that were looked at
        self._list: list[Any] | None = None  # the rows, once they were reordered or replaced

    def sources(self, indices: Sequence[int]) -> list[int]:
        """The samples that the rows are really of, where these were asked for."""
        return [self._replaced.get(i, index) for i, index in enumerate(indices)]

    def collated(self) -> Any:
        """The batch as ``default_collate`` of its rows would give it, without a copy."""
        if self._hand_over is not None:
            return self._hand_over()
        return self._view.collated(self.images, self.labels, self._more)

    def is_whole(self, rows: Sequence[Any]) -> bool:
        """Whether rows are this batch's rows: all of them, in order, and unchanged."""
        keys = self._view.keys
        return len(rows) == self._n and all(
            isinstance(row, (DictRow, TupleRow, PictureRow))
            and row._batch() is self
            and row._position == i
            and row._untouched(keys)
            for i, row in enumerate(rows)
        )

    def is_untouched(self) -> bool:
        """Whether the rows are as they were made."""
        if self._list is not None:
            return self.is_whole(self._list)
        for row in self._made.values():  # noqa: SIM110 - all() makes a generator a batch
            if not row._untouched(self._view.keys):
                return False
        return True

    def __len__(self) -> int:
        return self._n if self._list is None else len(self._list)

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> list[Any]: ...
    def __getitem__(self, position: int | slice) -> Any:
        if self._list is not None:
            return self._list[position]
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        n = self._n
        if position < 0:
            position += n
        if not 0 <= position < n:
            raise IndexError("batch index out of range")
        row = self._made.get(position)
        if row is None:
            row = self._made[position] = self._make(position)
        return row

    def _values(self, position: int) -> tuple[Any, ...]:
        """What one row holds."""
        view = self._view
        values: tuple[Any, ...] = (view.row_image(self.images, position),)
        if self.labels is not None:
            values += (view.row_label(self.labels, position),)
        if self._more:
            values += tuple(view.row_more(column, position) for column in self._more)
        return values

    def _make(self, position: int) -> Any:
        views = self._values(position)
        image = views[0]
        row: DictRow | TupleRow | PictureRow
        if self._view.output == "dict":
            row = DictRow(zip(self._view.keys, views, strict=False))
            row._views = views
        elif self._view.bare and len(views) == 1:
            if type(image) is not torch.Tensor:
                return image  # a tv_tensors.Image: it must stay one
            row = image.as_subclass(PictureRow)
        else:
            row = TupleRow(views)
        row._batch, row._position = weakref.ref(self), position
        return row

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    # -- what else a collate_fn may do with a list ------------------------------

    def _changed(self) -> list[Any]:
        if self._list is None:
            self._list = list(self)
        return self._list

    def __setitem__(self, position: Any, row: Any) -> None:
        self._changed()[position] = row

    def __delitem__(self, position: int | slice) -> None:
        del self._changed()[position]

    def insert(self, index: int, value: Any) -> None:
        """As list.insert."""
        self._changed().insert(index, value)

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """As list.sort."""
        self._changed().sort(key=key, reverse=reverse)

    def copy(self) -> list[Any]:
        """The rows as a list."""
        return list(self)

    def __add__(self, rows: Iterable[Any]) -> list[Any]:
        return [*self, *rows]

    def __radd__(self, rows: Iterable[Any]) -> list[Any]:
        return [*rows, *self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def collate_rows(batch: Sequence[Any], *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """What ``default_collate`` calls for our rows."""
    if isinstance(batch, Batch):
        if batch.is_untouched():
            return batch.collated()
    else:
        parent: Batch | None = batch[0]._batch()
        if parent is not None and parent.is_whole(batch):
            return parent.collated()
    # Rows were dropped, reordered, mixed or changed: collate them as torch would.
    return collate([_plain(row) for row in batch], collate_fn_map=collate_fn_map)


def _plain(row: Any) -> Any:
    if isinstance(row, PictureRow):
        return plain(row)
    return dict(row) if isinstance(row, DictRow) else tuple(row) if isinstance(row, TupleRow) else row


default_collate_fn_map[DictRow] = collate_rows
default_collate_fn_map[TupleRow] = collate_rows
default_collate_fn_map[PictureRow] = collate_rows

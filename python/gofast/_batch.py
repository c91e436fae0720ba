"""Finished batches for torch's plain DataLoader, handed over without a copy.

``default_collate`` looks at the type of ``batch[0]`` only. ``__getitems__`` returns a
:class:`Batch`, whose rows are of a type registered in ``default_collate_fn_map``, so
the default ``collate_fn`` calls :func:`collate_rows`, which gives back the batch's own
tensors. Any other ``collate_fn`` sees a sequence of ordinary dicts or tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import torch
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from ._view import View


class DictRow(dict[str, torch.Tensor]):
    """A row ``{"image": ..., "label": ...}`` that knows the batch it is a view of."""

    _batch: Batch
    _position: int
    _views: tuple[torch.Tensor, ...]

    def _untouched(self) -> bool:
        return len(self) == len(self._views) and all(a is b for a, b in zip(self.values(), self._views, strict=True))


class TupleRow(tuple[torch.Tensor, ...]):
    """A row ``(image, label)`` that knows the batch it is a view of."""

    _batch: Batch
    _position: int

    def _untouched(self) -> bool:
        return True


class Batch(Sequence[Any]):
    """A finished batch that looks like the list of its rows.

    Args:
        view: what it was made from.
        images: [n, ...].
        labels: [n, ...], or None.
        hand_over: makes what crosses to another process instead of the tensors.
    """

    def __init__(
        self,
        view: View,
        images: torch.Tensor,
        labels: torch.Tensor | None,
        hand_over: Callable[[], Any] | None = None,
    ) -> None:
        self._view = view
        self.images = images
        self.labels = labels
        self._hand_over = hand_over

    def collated(self) -> Any:
        """The batch as ``default_collate`` of its rows would give it, without a copy."""
        if self._hand_over is not None:
            return self._hand_over()
        return self._view.collated(self.images, self.labels)

    def __len__(self) -> int:
        return len(self.images)

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> list[Any]: ...
    def __getitem__(self, position: int | slice) -> Any:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        n = len(self.images)
        if position < 0:
            position += n
        if not 0 <= position < n:
            raise IndexError("batch index out of range")
        views = (self.images[position],) if self.labels is None else (self.images[position], self.labels[position])
        row: DictRow | TupleRow
        if self._view.output == "dict":
            row = DictRow(zip(self._view.keys, views, strict=False))
            row._views = views
        else:
            row = TupleRow(views)
        row._batch, row._position = self, position
        return row

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.images)))


def collate_rows(
    batch: Sequence[Any], *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None
) -> Any:
    """What ``default_collate`` calls for our rows."""
    if isinstance(batch, Batch):
        return batch.collated()
    parent: Batch = batch[0]._batch
    if len(batch) == len(parent) and all(
        isinstance(row, (DictRow, TupleRow)) and row._batch is parent and row._position == i and row._untouched()
        for i, row in enumerate(batch)
    ):
        return parent.collated()
    # Rows were dropped, reordered, mixed or changed: collate them as torch would.
    if isinstance(batch[0], DictRow):
        return collate([dict(row) for row in batch], collate_fn_map=collate_fn_map)
    return collate([tuple(row) for row in batch], collate_fn_map=collate_fn_map)


default_collate_fn_map[DictRow] = collate_rows
default_collate_fn_map[TupleRow] = collate_rows

"""Batches of pictures that lie in memory, behind which their labels stay the user's."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from .. import errors
from .._core.faults import Code
from .._loader.core_dataset import IntArray
from .._loader.draws import Place
from .._loader.view import View
from .core_pictures import CorePictures
from .pixels import Pixels
from .rescue import SamplePlace
from .seen import HasPictures
from .view import ImageView, faults_of


class AsTheyAre(list[Any]):
    """Labels that were not collated, of which a list may come too."""


class Labels:
    """The labels of a dataset, as its ``__getitem__`` gives them: read when a batch is handed out.

    Args:
        source: what the dataset holds: a list, an array, a tensor. The user may write to it at any time.
        each: makes the label of a sample from its element; None: it is that.
        whole: the labels are whole numbers: each is ``int`` of its element.
    """

    def __init__(self, source: Any, each: Callable[[Any], Any] | None, whole: bool) -> None:
        self.source, self.each, self.whole = source, each, whole
        self._number = whole and _numbers(source)

    def of(self, rows: IntArray) -> Any:
        """Of these samples, which are in range: a list, or a tensor int64 [n]."""
        source = self.source
        if self._number and isinstance(source, torch.Tensor):
            return source.index_select(0, torch.from_numpy(rows)).long()
        if self._number:
            return torch.tensor(source[rows].astype(np.int64, copy=False))
        elements = map(source.__getitem__, rows.tolist())
        return AsTheyAre(elements if self.each is None else map(self.each, elements))

    def as_now(self) -> Labels:
        """The same, which nobody writes to."""
        kept = self.source.clone() if isinstance(self.source, torch.Tensor) else copy.copy(self.source)
        return Labels(kept, self.each, self.whole)


def are_labels(source: Any, count: int, whole: bool) -> bool:
    """Whether it has a label for each of so many pictures and no more, of which -1 would be another one; and
    a copy of it is one of them.

    Args:
        whole: ``int`` of each is its label: it must not raise.
    """
    if type(source) in (list, tuple):
        kinds = {*map(type, source)} if whole else set()
        return len(source) == count and all(issubclass(kind, (int, np.integer)) for kind in kinds)
    if type(source) is torch.Tensor:
        there = source.device.type == "cpu" and source.layout == torch.strided
    else:
        there = type(source) is np.ndarray
    if not there or source.ndim == 0 or len(source) != count:
        return False
    return not whole or _numbers(source)


def _numbers(source: Any) -> bool:
    """Whether it is an array of integers that int64 holds, one for each sample."""
    if type(source) is torch.Tensor:
        kind = source.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
        return kind and source.ndim == 1 and source.device.type == "cpu" and source.layout == torch.strided
    return type(source) is np.ndarray and source.ndim == 1 and np.can_cast(source.dtype, np.int64)


def _collated(labels: Any) -> Any:
    """What ``default_collate`` makes of labels, whose way through a list of ints takes twice as long."""
    if isinstance(labels, torch.Tensor):
        return labels
    if {*map(type, labels)} == {int}:
        with contextlib.suppress(OverflowError):  # which torch words otherwise
            return torch.tensor(np.array(labels, np.int64))
    return torch.utils.data.default_collate(tuple(labels))  # type: ignore[arg-type]


class Seen(NamedTuple):
    """The attributes of a dataset that its samples follow from, and how its data lay."""

    attributes: tuple[Any, ...]
    layout: tuple[Any, ...]


class HasPixels(HasPictures, Protocol):
    """A dataset of such pictures, as the view sees it."""

    _files: Pixels
    _labels: Labels

    @property
    def _seen(self) -> Seen: ...

    def _is_as(self, seen: Seen) -> bool:
        """Whether its attributes are still these objects, and its data lie where they lay."""

    def _image(self, sample: int) -> Any:
        """The PIL image of a sample, as the dataset's own code makes it."""


class PixelView(ImageView):
    """Pictures in memory that the user may write to: they are read when their batch is made."""

    heavy = False
    datasets: tuple[HasPixels, ...]

    def __init__(
        self, datasets: Sequence[HasPixels], index_map: IntArray | None, cores: Sequence[CorePictures]
    ) -> None:
        super().__init__(datasets, index_map, cores)
        self._labels = [dataset._labels for dataset in datasets]
        self._seen = [(dataset, dataset._seen) for dataset in datasets]
        self.has_more, self.lists = True, False

    def as_forked(self) -> View:
        """Workers have copies of the labels. Pictures are read as they are when their batch is made."""
        made = copy.copy(self)
        made._labels = [labels.as_now() for labels in self._labels]
        return made

    def watch(self) -> Callable[[], bool]:
        """Looks at the datasets' attributes too: torchvision's count no changes."""
        same_transforms, seen = super().watch(), self._seen
        return lambda: all(dataset._is_as(then) for dataset, then in seen) and same_transforms()

    def same_rows(self, other: View) -> bool:
        """See the base class."""
        return (
            isinstance(other, PixelView)
            and all(a.source is b.source for a, b in zip(self._labels, other._labels, strict=False))
            and super().same_rows(other)
        )

    def more(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The labels, collated."""
        return (_collated(*self.more_of_rows(indices, replaced)),)

    def more_of_rows(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The labels, as indexing gives them, or as a tensor where they are whole numbers."""
        rows: IntArray = np.asarray(indices)
        if rows.size and rows.min() < 0:
            rows = np.where(rows < 0, rows + len(self), rows)
        if self._map is not None:
            rows = self._map[rows]
        if len(self._labels) == 1:
            return (self._labels[0].of(rows),)
        parts = np.searchsorted(self._starts, rows, "right") - 1
        made = AsTheyAre()
        for part, row in zip(parts.tolist(), rows, strict=True):
            one = self._labels[part].of(np.array([row - self._starts[part]]))
            made += one.tolist() if isinstance(one, torch.Tensor) else one
        return (made,)

    def row_more(self, values: Any) -> list[Any]:
        """Labels as indexing gives them."""
        made: list[Any] = values.tolist() if isinstance(values, torch.Tensor) else values
        return made

    def collated(self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()) -> Any:
        """As ``default_collate`` gives it."""
        (values,) = more
        return [images, _collated(values) if isinstance(values, AsTheyAre) else values]

    def unreadable(self, index: int) -> Exception | None:
        """Nothing: memory can be read."""
        return None

    def mend(
        self,
        slot: int,
        indices: Sequence[int] | torch.Tensor,
        records: int,
        labels: int,
        finished: dict[int, torch.Tensor] | None = None,
    ) -> dict[int, int]:
        """Makes samples that the core refuses by the transforms themselves, where nothing was drawn."""
        data, faults, missing = faults_of(self, slot, indices)
        for position, code, _, text in faults:
            part, sample = self._locate(int(indices[position]))
            if code == Code.CROP:
                small = ValueError(text)
                Place(position, True).note(small)
                raise small
            if code == Code.MEMORY:
                raise MemoryError(text)
            refused = errors.UnsupportedError(f"sample {sample}: {text}")
            if finished is not None or self.draws:
                raise refused
            dataset, address = self.datasets[part], data + position * self.row_bytes
            place = SamplePlace(dataset, self._cores[part], 0, address, self.row_bytes)
            place.make_by_transforms(dataset._image(sample), refused)
        if missing is not None:
            raise missing
        return {}

"""The batch source: what a list of row indices points into, one dataset or several through a map."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from .. import errors
from .._core import engine
from .._core.openmp import alone
from . import pinning
from .core_dataset import CoreDataset, IntArray, joined
from .extra_columns import ExtraColumns, Uncollated
from .transfer_format import TransferFormat

if TYPE_CHECKING:
    from .draws import Draws
    from .transfer_format import StoredTable
    from .workers import Workers

Output = Literal["dict", "tuple"]  # what a sample is
Line: TypeAlias = "tuple[str, str, str]"  # of an explanation: step, runs in, what
Parameters: TypeAlias = list[tuple[str, dict[str, Any]]]  # of a sample: an operation, and what was drawn


class _PlanStamp(Protocol):
    """Whether a compiled plan is still that of its transform."""

    def holds(self) -> bool:
        """Whether all that it was compiled from is as it was."""


class Mapped(Protocol):
    """What memory is mapped from."""

    def check(self) -> None:
        """Raises ChangedError if it is not the same any more."""


class SampleForm(NamedTuple):
    """What the samples of a dataset are.

    Attributes:
        keys: of the values in a sample that is a dict.
        shape, dtype: of the features, as the user sees them.
        label_dtype: None: the core makes no label.
        alone: a sample that is one value is that itself, not a tuple of it.
        without_features: the core makes something of a row, which is no part of a sample.
        opaque: the core only copies bytes: what they are it does not know.
    """

    output: Output
    keys: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: torch.dtype
    label_dtype: torch.dtype | None
    label_shape: tuple[int, ...] = ()
    alone: bool = False
    without_features: bool = False
    opaque: bool = False

    @property
    def row_bytes(self) -> int:
        """Bytes of a sample's features."""
        return 1 if self.without_features else math.prod(self.shape) * self.dtype.itemsize


class BatchSource:
    """What the core makes a batch's features and labels of, and the extra columns behind them.

    Rows of tables, arrays and files of tokens are this class itself; of pictures there is a variant.

    Args:
        datasets: those whose rows these are, end to end; all give samples alike.
        index_map: where the rows lie among theirs; None: in their own order.
        cores: of each dataset; None: as the datasets give them. None at all: torch makes the batches, and
            this only says what they are.

    Attributes:
        row_bytes: bytes of one output sample.
        record_words: int32s that are drawn for one sample.
        draws: samples need records.
        heavy: a sample is worth a thread's attention, however few bytes it has.
        steady: nobody can write to the memory that the rows are made of.
        starts: the number of each dataset's first row.
        columns: what samples have beside features and label.
        has_more: whether there are any; see more.
        lists: a batch of rows is an ordinary list.
        as_made: batches are handed out as the core makes them: `tensor` does nothing else to them.
        fetches: samples may lie on a server: `fetch` or `using` must be called before they are drawn for
            or made.
        needs_size: what is drawn for a sample depends on its file.
    """

    record_words = 0
    heavy = False
    draws = False
    lists = False
    columns: Sequence[ExtraColumns] = ()
    has_more = False
    fetches = needs_size = False
    _wired: tuple[CoreDataset, TransferFormat | None] | None = None  # of which core
    _table: StoredTable | None = None

    def __init__(
        self,
        datasets: Sequence[Any],
        index_map: IntArray | None,
        form: SampleForm,
        cores: Sequence[CoreDataset] | None = None,
    ) -> None:
        self.datasets = tuple(datasets)
        self.output, self.keys, self.bare = form.output, form.keys, form.alone
        self.label_dtype, self.label_shape = form.label_dtype, form.label_shape
        self.row_bytes = form.row_bytes
        self._unseen = form.without_features
        self._opaque = form.dtype if form.opaque else None
        self._files: list[Mapped] = []
        self._places: list[object] = [None]
        self.steady = all(d._steady for d in datasets)
        self._asked_map = index_map
        if cores is None:
            self._files = [file for d in datasets for file in d._mapped]
            self._places = [d._places() for d in datasets]
            cores = [d._core() for d in datasets]
            if index_map is None and len(datasets[0]) < cores[0].length:
                self._asked_map = np.arange(len(datasets[0]))  # a subclass says that it is shorter
        self._moves = self._places[0] is not None
        self.as_made = self._opaque is None and not self._files
        self.starts: IntArray = np.cumsum([0] + [core.length for core in cores[:-1]])
        if cores:
            self._lay_out(cores)

    def _lay_out(self, cores: Sequence[CoreDataset]) -> None:
        index_map = self._asked_map
        self._map = None if index_map is None else np.ascontiguousarray(index_map, np.int64)
        self._cores: list[Any] = list(cores)
        self._core = joined(self._cores, self._map)
        self._length, self.record_words = self._core.length, self._core.record_words

    def carry(self, columns: Sequence[ExtraColumns]) -> BatchSource:
        """Takes extra columns. Returns itself."""
        self.columns, self.has_more = columns, any(column.width for column in columns)
        self._each = [column.each for column in columns for _ in range(column.width)]
        return self

    def keep(self, dataset: Any) -> BatchSource:
        """The same, and the dataset with it, which it knew weakly: see NativeDataset._own_view."""
        kept = copy.copy(self)
        kept.datasets = (dataset,)
        return kept

    def __len__(self) -> int:
        return self._length

    @property
    def core(self) -> CoreDataset:
        """What the core makes its samples of, as the memory lies now."""
        if self._moves:
            places = [d._places() for d in self.datasets]
            if places != self._places:
                self._lay_out([d._core() for d in self.datasets])
                self._places = places  # last: if laying out fails, the next call must try it again
        return self._core

    def wire(self) -> TransferFormat | None:
        """What may cross to a device instead of samples, as the memory lies now; made once.

        Returns:
            None where stored samples would not be smaller, or not all that is made of them can be said.
        """
        core = self.core
        if self._wired is None or self._wired[0] is not core:
            self._wired = core, self._new_wire()
        return self._wired[1]

    def _new_wire(self) -> TransferFormat | None:
        made: TransferFormat | None = self.datasets[0]._wire(self.datasets, self._map)
        return made

    @property
    def epochs(self) -> tuple[int, ...]:
        """What ``set_epoch`` said to each dataset, where samples depend on it."""
        return ()

    @property
    def index_map(self) -> IntArray | None:
        """Where the rows lie in the concatenation of the datasets; None: in their own order."""
        return self._map

    def as_forked(self) -> BatchSource:
        """The same rows as workers see them that are forked now, as far as that can be had without a copy of
        the samples' memory."""
        columns = [column.as_forked() for column in self.columns]
        if columns == [*self.columns]:
            return self
        return copy.copy(self).carry(columns)

    def fetch(self, indices: Sequence[int] | torch.Tensor, wait: bool = True) -> bool:
        """Brings the files of samples to this disk. Whether they are there: without `wait`, they may be on
        their way."""
        return True

    def using(self, indices: Sequence[int] | torch.Tensor) -> AbstractContextManager[None]:
        """The files of samples are on this disk, and stay there while the block runs."""
        return nullcontext()

    def expect(self, indices: torch.Tensor) -> None:
        """The samples of an epoch that begins, in their order."""

    def stamps(self) -> Sequence[_PlanStamp]:
        """The stamps of the plans that make its samples, where nobody counts their changes."""
        return ()

    def same_rows(self, other: BatchSource) -> bool:
        """Whether both give the same samples for the same indices, by the same transforms."""
        if self._cores != other._cores:
            return False
        if not all(one.same(theirs) for one, theirs in zip(self.columns, other.columns, strict=True)):
            return False
        if self._map is None or other._map is None:
            return self._map is other._map
        return np.array_equal(self._map, other._map)

    def new_labels(self, rows: int, pinned: bool = False) -> torch.Tensor | None:
        """Uninitialised memory for the labels of rows samples. Asked for before a batch is made: a mapped
        array that was cut is noticed in time."""
        if self._moves:
            for file in self._files:
                file.check()
        if self.label_dtype is None:
            return None
        if pinned:
            return pinning.empty((rows, *self.label_shape), self.label_dtype)
        return torch.empty((rows, *self.label_shape), dtype=self.label_dtype, device="cpu")

    def mend(
        self,
        slot: int,
        indices: Sequence[int] | torch.Tensor,
        records: int,
        labels: int,
        finished: dict[int, torch.Tensor] | None = None,
    ) -> dict[int, int]:
        """Makes what could not be made of a failed batch, in another way, or raises what was wrong.

        Args:
            indices: the batch's.
            records, labels: addresses of what was drawn for it, and of its labels; 0 without.
            finished: of a batch of the wire's stored samples: takes those that can only be had finished, by
                position, of the wire's shape. Where they belong in the slot lies anything.

        Returns:
            The samples that stand in for others, by position; numbers of their own dataset.
        """
        _, bad, _ = engine.capsule().faults(slot)
        if -len(self) <= bad < len(self):
            error = errors.UnknownLabelError(f"row {bad}: its label has no place in the one_hot vector")
            error.row = bad
            raise error
        raise row_index_error(bad, len(self))

    def new_draws(self, workers: Workers | None) -> Draws:
        """What draws the records of an iterator's batches, where the view draws.

        Args:
            workers: None stands for torch's default generator, whose draws must not come early.
        """
        raise NotImplementedError

    def discard(self, slot: int, rows: int) -> None:
        """Frees what the samples of a slot own, which nobody writes any more, and which is not taken."""

    def tensor(self, made: Any) -> torch.Tensor:
        """A finished batch's samples, from the capsule that owns them."""
        return self.shaped(from_dlpack(made))

    def shaped(self, images: torch.Tensor) -> torch.Tensor:
        """A batch's samples as the user sees them, from a tensor as the core lays it out. Mapped files are
        asked whether they are still the same."""
        for file in self._files:
            file.check()
        if self._opaque is None:
            return images
        images = images.view(self._opaque)
        return images.squeeze(-1) if self._opaque.itemsize == 16 else images

    def table(self) -> StoredTable | None:
        """The table whose rows the samples are, if it may be kept on a device: one, without extra columns,
        to which nobody can write."""
        if self._table is None and len(self.datasets) == 1 and self.steady and not self.has_more:
            self._table = self.datasets[0]._stored_table(self.core)
        return self._table

    def rows(
        self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()
    ) -> list[Any]:
        """The samples of a batch, as indexing the dataset gives them, each in memory of its own."""
        columns: list[Any] = []
        with alone():  # waking OpenMP's threads for each row costs more than they bring
            if not self._unseen:
                columns.append([self.row_image(image.clone()) for image in images.unbind(0)])
            if labels is not None:
                columns.append(self.row_labels(labels))
            if more:
                columns += [each(values) for each, values in zip(self._each, more, strict=True)]
        rows = zip(*columns, strict=True)
        if self.output == "dict":
            keys = self.keys[self._unseen :]
            return [dict(zip(keys, row, strict=False)) for row in rows]
        return columns[0] if self.bare and len(columns) == 1 else list(rows)

    def row_image(self, image: torch.Tensor) -> torch.Tensor:
        """One sample of a batch, as indexing the dataset gives it."""
        return image

    def row_labels(self, labels: torch.Tensor) -> list[Any]:
        """The samples' labels, likewise."""
        return [label.clone() for label in labels.unbind(0)]

    def more(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The extra columns of a batch, each as default_collate gives it.

        Args:
            replaced: what mend returned.
        """
        found = self.more_of_rows(indices, replaced)
        return tuple(one.collated() if isinstance(one, Uncollated) else one for one in found)

    def more_of_rows(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The same for `rows`: values that ``default_collate`` would change may be Uncollated."""
        if not self.has_more:
            return ()
        rows = np.asarray(indices, np.int64) % max(len(self), 1)  # negative ones count from the end
        if self._map is not None:
            rows = self._map[rows]
        for position, used in (replaced or {}).items():  # of the same dataset
            rows[position] = self.starts[np.searchsorted(self.starts, rows[position], "right") - 1] + used
        return tuple(values for column in self.columns for values in column.values(rows))

    def sample_parameters(
        self, indices: Sequence[int], epoch: int | None
    ) -> tuple[str, list[Parameters] | None]:
        """What the samples of a batch are drawn from, in words, and what is drawn for each.

        Args:
            epoch: of stateless draws; None: the one in which the datasets are.

        Returns:
            None where that is not known before the batch is made.
        """
        return "nothing is drawn for samples", [[] for _ in indices]

    def collated(self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()) -> Any:
        """The batch as torch's default_collate would give it."""
        if more:
            more = tuple(one.collated() if isinstance(one, Uncollated) else one for one in more)
        values = [images, *more] if labels is None else [images, labels, *more]
        if self.output == "dict":
            unseen = self._unseen
            return dict(zip(self.keys[unseen:], values[unseen:], strict=False))
        return images if self.bare and len(values) == 1 else values


def check_callable(**given: Any) -> None:
    """Refuses an option that is to be called, and cannot be.

    Raises:
        OptionError: it is neither a callable nor None, or the class of a transform: a call would make one.
    """
    for name, one in given.items():
        if isinstance(one, type) and (
            issubclass(one, torch.nn.Module) or one.__module__.startswith("torchvision.transforms")
        ):
            raise errors.OptionError(f"{name}={one.__name__} is a class: give {name}={one.__name__}()")
        if one is not None and not callable(one):
            hint = ": give torchvision.transforms.Compose of it" if isinstance(one, (list, tuple)) else ""
            raise errors.OptionError(f"{name}={one!r} is not callable{hint}")


def called(function: Any) -> str:
    """The name of a user's callable."""
    return str(getattr(function, "__name__", type(function).__name__))


def row_index_error(index: int, length: int) -> errors.RowIndexError:
    """The error of an index outside a dataset of length rows."""
    said = f"index {index} is out of range for a dataset of {length} rows"
    return errors.RowIndexError(said).at(index=index)

"""What a list of row indices points into: one dataset, or several through a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from .. import errors
from .._core import engine
from .._core.openmp import alone
from . import pinning
from .core_dataset import CoreDataset, IntArray, joined
from .wire import Wire

if TYPE_CHECKING:
    from .draws import Draws
    from .wire import StoredTable
    from .workers import Workers

Output = Literal["dict", "tuple"]  # what a sample is
Line: TypeAlias = "tuple[str, str, str]"  # of an explanation: step, runs in, what


class View:
    """Rows that the engine can fill batches from. Base class.

    Attributes:
        row_bytes: bytes of one output sample.
        record_words: int32s that are drawn for one sample.
        draws: samples need records.
        heavy: a sample is worth a thread's attention, however few bytes it has.
        datasets: the datasets whose rows these are; all give samples alike.
        lengths: how many rows each of them has.
        steady: nobody can write to the memory that the rows are made of.
        has_more: whether samples have more than features and label; see more.
    """

    output: str
    keys: tuple[str, ...]
    label_dtype: torch.dtype | None
    label_shape: tuple[int, ...]
    row_bytes: int
    record_words = 0
    heavy = False
    draws = False
    _cores: list[Any]  # of each dataset: CoreDatasets
    bare = False  # a sample without label is the tensor itself, not a tuple of it
    has_more = False
    lists = False  # a batch of rows is an ordinary list
    _wired: tuple[CoreDataset, Wire | None] | None = None  # of which core

    def _lay_out(
        self, datasets: Sequence[Any], cores: Sequence[CoreDataset], index_map: IntArray | None
    ) -> None:
        self.datasets = tuple(datasets)
        self.lengths = tuple(self._counts(datasets))
        if index_map is None and self.lengths[0] < cores[0].length:
            index_map = np.arange(self.lengths[0])  # a subclass says that it is shorter
        self.steady = all(d._steady for d in datasets)
        self._map = None if index_map is None else np.ascontiguousarray(index_map, np.int64)
        self._cores, self._core = list(cores), joined(cores, self._map)
        self._length, self.record_words = self._core.length, self._core.record_words

    def _counts(self, datasets: Sequence[Any]) -> list[int]:
        """How many rows each dataset has."""
        return [len(dataset) for dataset in datasets]

    def __len__(self) -> int:
        return self._length

    @property
    def core(self) -> CoreDataset:
        """What the core makes its samples of, as the memory lies now."""
        return self._core

    def wire(self) -> Wire | None:
        """What may cross to a device instead of samples, as the memory lies now; made once.

        Returns:
            None where stored samples would not be smaller, or not all that is made of them can be said.
        """
        core = self.core
        if self._wired is None or self._wired[0] is not core:
            self._wired = core, self._new_wire()
        return self._wired[1]

    def _new_wire(self) -> Wire | None:
        return None

    @property
    def epochs(self) -> tuple[int, ...]:
        """What ``set_epoch`` said to each dataset, where samples depend on it."""
        return ()

    @property
    def index_map(self) -> IntArray | None:
        """Where the rows lie in the concatenation of the datasets; None: in their own order."""
        return self._map

    def as_forked(self) -> View:
        """The same rows as workers see them that are forked now, as far as that can be had without a copy of
        the samples' memory."""
        return self

    def watch(self) -> Callable[[], bool] | None:
        """A look at what samples follow from beside the datasets' attributes: whether it is as now."""
        return None

    def same_rows(self, other: View) -> bool:
        """Whether both give the same samples for the same indices, by the same transforms."""
        if self._cores != other._cores:
            return False
        if self._map is None or other._map is None:
            return self._map is other._map
        return np.array_equal(self._map, other._map)

    def new_labels(self, rows: int, pinned: bool = False) -> torch.Tensor | None:
        """Uninitialised memory for the labels of rows samples."""
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
        """A batch's samples as the user sees them, from a tensor as the core lays it out."""
        return images

    def table(self) -> StoredTable | None:
        """The table whose rows the samples are, if it may be kept on a device: nobody can write to it."""
        return None

    def rows(
        self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()
    ) -> list[Any]:
        """The samples of a batch, as indexing the dataset gives them, each in memory of its own."""
        with alone():  # waking OpenMP's threads for each row costs more than they bring
            columns: list[Any] = [[self.row_image(image.clone()) for image in images.unbind(0)]]
            if labels is not None:
                columns.append(self.row_labels(labels))
            columns += [self.row_more(values) for values in more]
        rows = zip(*columns, strict=True)
        if self.output == "dict":
            return [dict(zip(self.keys, row, strict=False)) for row in rows]
        return columns[0] if self.bare and len(columns) == 1 else list(rows)

    def row_image(self, image: torch.Tensor) -> torch.Tensor:
        """One sample of a batch, as indexing the dataset gives it."""
        return image

    def row_labels(self, labels: torch.Tensor) -> list[Any]:
        """The samples' labels, likewise."""
        return [label.clone() for label in labels.unbind(0)]

    def row_more(self, values: Any) -> list[Any]:
        """What samples have beside, likewise."""
        made: list[Any] = values.tolist() if isinstance(values, torch.Tensor) else list(values)
        return made

    def more(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """What samples have beside features and label, each as default_collate gives it.

        Args:
            replaced: what mend returned.
        """
        return ()

    def more_of_rows(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The same for `rows`: a view may leave values as they are that ``default_collate`` would change."""
        return self.more(indices, replaced)

    def collated(self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()) -> Any:
        """The batch as torch's default_collate would give it."""
        values = [images, *more] if labels is None else [images, labels, *more]
        if self.output == "dict":
            return dict(zip(self.keys, values, strict=False))
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

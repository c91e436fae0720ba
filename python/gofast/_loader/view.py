"""What a list of row indices points into: one dataset, or several through a map."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, TypeVar

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset
from torch.utils.dlpack import from_dlpack

from .. import errors
from .._core import engine
from .._core.indices import picked_from
from .._core.openmp import alone
from . import pinning
from .changes import changes
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


class Refusal:
    """Why the engine cannot make a dataset's batches by itself: Python code has a say in its samples.

    The only place where that is found out; explain, warnings, stats and the doctor say it in its words.

    Attributes:
        of: what it speaks of, which is kept so that it need not be made again.
    """

    of: object = None

    def __init__(self, why: str) -> None:
        self.why = why


class NativeDataset(Dataset[Any]):
    """A dataset whose batches the engine can make: a table's rows, or pictures.

    `resolve` knows them by this class, and imports nothing: a module that another thread was importing when
    this process was forked can never be imported here.
    """

    _steady = True  # nobody can write to the memory that samples are made of

    def __len__(self) -> int:
        raise NotImplementedError

    def _native_view(self) -> View | Refusal:
        """A view for gofast.DataLoader."""
        raise NotImplementedError

    def _made_by(self) -> NativeDataset:
        """What makes its samples natively: another object, where its transform is of another kind."""
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_"):
            changes.count += 1  # last: who sees the count must see the value

    def _sample_signature(self) -> tuple[Any, ...]:
        """What must be equal for two datasets' samples to stand in one batch."""
        raise NotImplementedError

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> View:
        """The view of datasets of this kind, end to end."""
        raise NotImplementedError

    def _explained(self) -> list[Line]:
        """Which steps run natively and which in Python, and why, for gofast.explain."""
        raise NotImplementedError


def is_native(dataset: object) -> TypeGuard[NativeDataset]:
    """Whether it is one of ours, whose batches nobody has taken over; isinstance believes a proxy's word."""
    return issubclass(type(dataset), NativeDataset) and "__getitems__" not in vars(dataset)


# What knows datasets of other libraries: gives what stands for one, or None where it is not known.
STANDING_IN: list[Callable[[Any], NativeDataset | None]] = []


def native(dataset: Any) -> NativeDataset | None:
    """The dataset itself where it is one of ours, or what stands for another library's."""
    if is_native(dataset):
        return dataset._made_by()
    return next((found for known in STANDING_IN if (found := known(dataset)) is not None), None)


def resolve(dataset: Dataset[Any]) -> View | Refusal:
    """A native view of a dataset, or of a Subset/ConcatDataset tree over some.

    Returns:
        A refusal where Python code has a say in the rows (transforms, an overridden
        ``__getitem__``, other datasets, subclasses of Subset and ConcatDataset):
        those run on torch's own machinery.
    """
    ours = native(dataset)
    if ours is not None:
        return ours._native_view()
    parts: list[NativeDataset] = []
    index_map = _flatten(dataset, parts)
    if isinstance(index_map, Refusal):
        return index_map
    if any(p._sample_signature() != parts[0]._sample_signature() for p in parts):
        return _DIFFERENT  # torch's collate says what is wrong with mixed samples
    return parts[0]._joined(parts, index_map)


_METHODS = ("__getitem__", "__getitems__", "__len__")
_DIFFERENT = Refusal("the ConcatDataset's parts make different samples, or have changed their lengths")
_INDICES = Refusal("the Subset's indices are not a sequence of integers within its dataset")


def _flatten(dataset: Dataset[Any], parts: list[NativeDataset]) -> IntArray | Refusal:
    """Positions of the dataset's rows in the concatenation of parts, which grows."""
    kind = type(dataset)
    ours = native(dataset)
    if ours is not None:
        view = ours._native_view()
        if isinstance(view, Refusal):
            return view
        start = sum(len(p) for p in parts)
        parts.append(ours)
        return np.arange(start, start + len(ours), dtype=np.int64)
    if _is_torchs(dataset, Subset):
        inner = _flatten(dataset.dataset, parts)
        if isinstance(inner, Refusal):
            return inner
        positions = picked_from(dataset.indices)
        try:
            return _INDICES if positions is None else np.asarray(inner[positions.numpy()])
        except IndexError:
            return _INDICES  # torch refuses it when it is asked for
    if _is_torchs(dataset, ConcatDataset):
        whole: list[IntArray] = []
        for part in dataset.datasets:
            piece = _flatten(part, parts)
            if isinstance(piece, Refusal):
                return piece
            whole.append(piece)
        if dataset.cumulative_sizes != [*itertools.accumulate(map(len, whole))]:
            return _DIFFERENT  # a dataset may have changed its length, of which torch takes no notice
        return np.concatenate(whole)
    for torchs in (Subset, ConcatDataset):
        if issubclass(kind, torchs):
            how = "is a subclass" if kind is not torchs else "has other methods than those"
            return Refusal(f"{kind.__name__} {how} of {torchs.__name__}: its own code makes the samples")
    if issubclass(kind, NativeDataset):
        return Refusal(f"{kind.__name__} has a __getitems__ of its own")
    return Refusal(f"{kind.__name__} {foreign(kind)}")


_INSTEAD = {"ImageFolder": "ImageFolder", "TensorDataset": "ArrayDataset"}  # they take the same arguments


def foreign(kind: type) -> str:
    """What a dataset's class is that is not gofast's, and what makes it faster: the end of a sentence."""
    for base in kind.__mro__:
        package = base.__module__.split(".")[0]
        if package in ("torch", "torchvision") and base.__name__ in _INSTEAD:
            ours = f"gofast.{_INSTEAD[base.__name__]}"
            if base is kind:
                return f"is {package}'s: use {ours} instead"
            return f"derives from {package}'s {base.__name__}: derive it from {ours}"
    instead = getattr(kind, "_instead", None)
    if isinstance(instead, str):
        return instead
    return "is not a dataset of gofast's: gofast makes only the pictures that it opens (gofast.open)"


def overridden(dataset: object, base: type) -> Refusal | None:
    """The refusal of a subclass of base that overrides a method of torch's protocol, by its name."""
    kind = type(dataset)
    for name in _METHODS:
        if getattr(kind, name) is not getattr(base, name):
            return Refusal(f"{kind.__name__} overrides {name}")
    return None


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


_T = TypeVar("_T", bound=Dataset[Any])


def _methods(kind: type) -> list[Any]:
    return [getattr(kind, name, None) for name in _METHODS]


_TORCHS: dict[type, list[Any]] = {kind: _methods(kind) for kind in (Subset, ConcatDataset)}


def _is_torchs(dataset: Dataset[Any], kind: type[_T]) -> TypeGuard[_T]:
    """Whether it is of this class of torch's itself, with torch's own methods."""
    own = type(dataset) is kind and "__getitems__" not in vars(dataset)
    return own and _methods(kind) == _TORCHS[kind]


def row_index_error(index: int, length: int) -> errors.RowIndexError:
    """The error of an index outside a dataset of length rows."""
    said = f"index {index} is out of range for a dataset of {length} rows"
    return errors.RowIndexError(said).at(index=index)

"""Which datasets the engine can make the batches of, and why it cannot make others'."""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeGuard, TypeVar

import numpy as np
from torch.utils.data import ConcatDataset, Dataset, Subset

from .._core.indices import picked_from
from .._core.reason import Reason
from .batch_source import BatchSource, Line, Mapped
from .batch_types import Kind
from .changes import changes
from .core_dataset import CoreDataset, IntArray
from .counts import Keeps
from .transfer_format import StoredTable, TransferFormat


class NativeDataset(Dataset[Kind]):
    """A dataset whose batches the engine can make: a table's rows, or pictures.

    `resolve` knows them by this class, and imports nothing: a module that another thread was importing when
    this process was forked can never be imported here.
    """

    _steady = True  # nobody can write to the memory that samples are made of

    def __len__(self) -> int:
        raise NotImplementedError

    def _native_view(self) -> BatchSource | Reason:
        """A view for gofast.DataLoader."""
        raise NotImplementedError

    def _made_by(self) -> NativeDataset:
        """What makes its samples natively: another object, where its transform is of another kind."""
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_"):
            changes.count += 1  # last: who sees the count must see the value

    def _keeps(self) -> Keeps | None:
        """Where its pictures are kept."""
        return None

    def _sample_signature(self) -> tuple[Any, ...]:
        """What must be equal for two datasets' samples to stand in one batch."""
        raise NotImplementedError

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> BatchSource:
        """The view of datasets of this kind, end to end."""
        raise NotImplementedError

    def _own_view(self) -> BatchSource:
        """The view of this dataset alone, for itself to keep. It knows the dataset weakly.

        Memory is free when the dataset's last name goes, and not when Python next looks for cycles, which may
        be never. Whoever keeps the view beside the dataset needs `BatchSource.keep`.
        """
        return self._joined([weakref.proxy(self)], None)

    def _places(self) -> object:
        """Where the memory lies now that samples are made of; None where it stays."""
        return None

    @property
    def _mapped(self) -> Sequence[Mapped]:
        """The files that it is mapped from."""
        return ()

    @staticmethod
    def _wire(parts: Sequence[Any], index_map: IntArray | None) -> TransferFormat | None:
        """What may cross to a device instead of samples of datasets of this kind, end to end."""
        return None

    def _stored_table(self, core: CoreDataset) -> StoredTable | None:
        """The table that may stay on a device instead."""
        return None

    def _origins(self, samples: Sequence[int]) -> list[tuple[str | None, int]]:
        """The file of each of these samples, if it is from one, and its row there; else its own number."""
        return [(None, sample) for sample in samples]

    def _drawing_view(self) -> BatchSource | None:
        """What draws for its samples, also where Python goes on with them; None: nobody knows."""
        view = self._native_view()
        return None if isinstance(view, Reason) else view

    def _explained(self) -> list[Line]:
        """Which steps run natively and which in Python, and why, for gofast.explain."""
        raise NotImplementedError


def is_native(dataset: object) -> TypeGuard[NativeDataset]:
    """Whether it is one of ours, whose batches nobody has taken over; isinstance believes a proxy's word."""
    return issubclass(type(dataset), NativeDataset) and "__getitems__" not in vars(dataset)


# What knows datasets of other libraries: gives what stands for one, or None where it is not known.
ADAPTERS: list[Callable[[Any], NativeDataset | None]] = []

# What the code of other libraries' datasets runs in: a context, or None where a dataset needs none.
SURROUNDINGS: list[Callable[[Any], AbstractContextManager[None] | None]] = []

# Says that the state which such a dataset tells is not enough to go on exactly.
FORGETFUL: list[Callable[[Any], bool]] = []


def surroundings(dataset: Any) -> AbstractContextManager[None] | None:
    """What a dataset's code runs in, where torch's machinery calls it. It can be pickled."""
    return next((found for known in SURROUNDINGS if (found := known(dataset)) is not None), None)


def native(dataset: Any) -> NativeDataset | None:
    """The dataset itself where it is one of ours, or what stands for another library's."""
    if is_native(dataset):
        return dataset._made_by()
    return next((found for known in ADAPTERS if (found := known(dataset)) is not None), None)


def resolve(dataset: Dataset[Any]) -> BatchSource | Reason:
    """A native view of a dataset, or of a Subset/ConcatDataset tree over some.

    Returns:
        A reason where Python code has a say in the rows (transforms, an overridden
        ``__getitem__``, other datasets, subclasses of Subset and ConcatDataset):
        those run on torch's own machinery. Nobody else finds that out.
    """
    ours = native(dataset)
    if ours is not None:
        view = ours._native_view()
        return view if ours is dataset or isinstance(view, Reason) else view.keep(ours)
    parts: list[NativeDataset] = []
    index_map = _flatten(dataset, parts)
    if isinstance(index_map, Reason):
        return index_map
    if any(p._sample_signature() != parts[0]._sample_signature() for p in parts):
        return _DIFFERENT  # torch's collate says what is wrong with mixed samples
    return parts[0]._joined(parts, index_map)


def origins(files: Sequence[str], ends: IntArray, samples: Sequence[int]) -> list[tuple[str | None, int]]:
    """As `_origins` gives them, of samples that lie in files, one behind the other.

    Args:
        ends: the number of the sample behind the last one of each file; there may be none.
    """
    if not files:
        return [(None, sample) for sample in samples]
    starts = [0, *ends.tolist()]
    numbers = np.searchsorted(ends, samples, "right").tolist()
    return [(files[i], sample - starts[i]) for i, sample in zip(numbers, samples, strict=True)]


def locate(dataset: Any, samples: IntArray) -> list[tuple[Any, IntArray, IntArray]]:
    """Where samples lie in a tree of Subset and ConcatDataset.

    Returns:
        Its innermost datasets in their order, each with the positions of those samples that are its own, and
        their numbers there.
    """
    own = type(dataset).__getitem__
    samples = np.where(samples < 0, samples + len(dataset), samples) if (samples < 0).any() else samples
    if own is Subset.__getitem__:
        chosen = [operator.index(dataset.indices[sample]) for sample in samples.tolist()]
        return locate(dataset.dataset, np.array(chosen, np.int64))
    if own is not ConcatDataset.__getitem__:
        return [(dataset, np.arange(len(samples)), samples)]
    made, starts = [], [0, *dataset.cumulative_sizes]
    numbers = np.searchsorted(starts, samples, "right") - 1
    for number, part in enumerate(dataset.datasets):
        here = np.flatnonzero(numbers == number)
        inner = locate(part, samples[here] - starts[number])
        made += [(leaf, here[positions], rows) for leaf, positions, rows in inner]
    return made


_METHODS = ("__getitem__", "__getitems__", "__len__")
_DIFFERENT = Reason("the ConcatDataset's parts make different samples, or have changed their lengths")
_INDICES = Reason("the Subset's indices are not a sequence of integers within its dataset")


def _flatten(dataset: Dataset[Any], parts: list[NativeDataset]) -> IntArray | Reason:
    """Positions of the dataset's rows in the concatenation of parts, which grows."""
    kind = type(dataset)
    ours = native(dataset)
    if ours is not None:
        view = ours._native_view()
        if isinstance(view, Reason):
            return view
        start = sum(len(p) for p in parts)
        parts.append(ours)
        return np.arange(start, start + len(ours), dtype=np.int64)
    if _is_torchs(dataset, Subset):
        inner = _flatten(dataset.dataset, parts)
        if isinstance(inner, Reason):
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
            if isinstance(piece, Reason):
                return piece
            whole.append(piece)
        if dataset.cumulative_sizes != [*itertools.accumulate(map(len, whole))]:
            return _DIFFERENT  # a dataset may have changed its length, of which torch takes no notice
        return np.concatenate(whole)
    for torchs in (Subset, ConcatDataset):
        if issubclass(kind, torchs):
            how = "is a subclass" if kind is not torchs else "has other methods than those"
            return Reason(f"{kind.__name__} {how} of {torchs.__name__}: its own code makes the samples")
    if issubclass(kind, NativeDataset):
        return Reason(f"{kind.__name__} has a __getitems__ of its own")
    return Reason(f"{kind.__name__} {foreign(kind)}")


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
    own = getattr(kind, "_why_not_native", None)
    if isinstance(own, Reason):
        return own.text
    return "is not a dataset of gofast's: gofast makes only the pictures that it opens"


def overridden(dataset: object, base: type) -> Reason | None:
    """The reason of a subclass of base that overrides a method of torch's protocol, by its name."""
    kind = type(dataset)
    for name in _METHODS:
        if getattr(kind, name) is not getattr(base, name):
            return Reason(f"{kind.__name__} overrides {name}")
    return None


_T = TypeVar("_T", bound=Dataset[Any])


def _methods(kind: type) -> list[Any]:
    return [getattr(kind, name, None) for name in _METHODS]


_TORCHS: dict[type, list[Any]] = {kind: _methods(kind) for kind in (Subset, ConcatDataset)}


def _is_torchs(dataset: Dataset[Any], kind: type[_T]) -> TypeGuard[_T]:
    """Whether it is of this class of torch's itself, with torch's own methods."""
    own = type(dataset) is kind and "__getitems__" not in vars(dataset)
    return own and _methods(kind) == _TORCHS[kind]

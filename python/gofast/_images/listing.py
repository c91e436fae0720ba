"""The samples of a dataset: an index for the core, and a list that Python code sees and may change."""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import errors
from .._loader.changes import changes
from .file_index import Files
from .plan_stamp import same_members


class Listing:
    """The samples of a dataset. Shallow copies of the dataset share it.

    The list of (path, label), torchvision's `samples`, is made at the first access: a million tuples take a
    second and 200 MB. From then on the list decides. `take_over` looks whether it has changed: at the samples
    that are asked for, and at all of them when a loader's epoch begins.

    Subclasses put other things there, such as any list or a table, and read them by their own
    ``__getitem__``. These are kept as they are, and read as torchvision would read them.

    Args:
        files: the index.
        prefix: put before the names of the index when the list is made from them.
        labels: one for each sample, if they are not the index's numbers.
        has_labels: if False, the list has None instead of labels.

    Attributes:
        files: the index that the core reads.
        labels: labels that the core cannot hold, one for each sample; None: they are files.targets.
        kind: the type of the labels, if the core can hold them.
        readable: whether the paths are those of files, and not something that only a loader understands.
    """

    kind: type[Any] = int

    def __init__(
        self, files: Files, prefix: str = "", labels: Sequence[Any] | None = None, has_labels: bool = True
    ) -> None:
        self.files, self.labels, self.readable = files, labels, True
        self._has_labels = has_labels
        self._prefix = prefix
        self._list: Any = None
        self._listed = False  # whether there is a list
        self._seen: list[Any] | None = []  # the list when it was last taken over; None: not a list of pairs
        self._remade = True  # whether the list can be made again from the other attributes
        self._first: npt.NDArray[np.int32] | Sequence[Any] = files.targets if labels is None else labels

    @classmethod
    def of(cls, samples: Any) -> Listing:
        """The listing of an object that the user replaced the list by. That object keeps deciding."""
        made = cls.__new__(cls)
        made._has_labels = True
        made._list, made._listed = samples, True
        labels = made._index()
        made._first = made.files.targets if made.labels is None and made.kind is int else labels
        return made

    @classmethod
    def of_paths(
        cls, paths: Sequence[str], labels: Sequence[Any] | None, contents: Sequence[bytes] | None = None
    ) -> Listing:
        """The listing of these files and their labels; None: there are no labels.

        Args:
            contents: the files' bytes, if they lie in memory and the paths are only names.
        """
        numbers = labels is not None and _numbers(labels) is int
        mixed = len({path.startswith("/") for path in paths}) > 1
        root = None if contents is None else ""
        files = Files.listed(paths, labels if numbers else None, root, contents)
        made = cls(files, "", None if numbers else labels, labels is not None)
        if mixed:  # the index has all paths from the root
            made._list = list(zip(paths, [None] * len(paths) if labels is None else labels, strict=True))
            made._seen, made._listed, made._remade = made._list.copy(), True, False
        return made

    def labelled(self, labels: Sequence[Any]) -> Listing:
        """The same files with these labels."""
        if _numbers(labels) is not int:
            return Listing(self.files, self._prefix, labels)
        return Listing(Files.listed(self.files.names(), labels, self.files.root), self._prefix)

    @property
    def is_plain(self) -> bool:
        """Whether there is a list of paths and labels, and nothing else."""
        return self._seen is not None

    def __len__(self) -> int:
        return len(self._list) if self._listed else len(self.files)

    def samples(self) -> Any:
        """The list, which may be changed, or the object that a user put in its place."""
        if not self._listed:
            made = list(zip(self.paths(), self._labels(), strict=True))
            self._list, self._seen = made, made.copy()
            self._listed = True  # last: other threads read `_seen` after this flag
        return self._list

    def paths(self) -> list[Any]:
        """All paths."""
        if self._listed:
            return [path for path, _ in self._list]
        return [self._prefix + name for name in self.files.names()]

    def paths_of(self, samples: Sequence[int]) -> list[Any]:
        """Those of several samples."""
        if self._listed:
            return [self.path(sample) for sample in samples]
        return [self._prefix + name for name in self.files.names_of(samples)]

    def path(self, sample: int) -> Any:
        """A sample's path in the list."""
        if not self._listed:
            return self._prefix + self.files.name(sample)
        path, _ = self._entry(sample)
        return path

    def label(self, sample: int) -> Any:
        """A sample's label in the list."""
        if self._listed:
            _, label = self._entry(sample)
            return label
        if not self._has_labels:
            return None
        return int(self.files.targets[sample]) if self.labels is None else self.labels[sample]

    def _entry(self, sample: int) -> Any:
        """A sample's entry in the list, as it was last taken over."""
        return (self._list if self._seen is None else self._seen)[sample]

    def first_labels(self) -> list[Any]:
        """The labels before anything was changed."""
        if not self._has_labels:
            return [None] * len(self._first)
        return self._first.tolist() if isinstance(self._first, np.ndarray) else list(self._first)

    def check_changeable(self) -> None:
        """Refuses a change of the list where the paths in it are no files'."""
        if self.files.contents is not None:
            said = "samples of pictures that are no files cannot be changed: make another dataset"
            raise errors.OptionError(said)

    def take_over(self, samples: Iterable[int] | None = None) -> None:
        """Takes over what was changed in the list, if an entry of these samples, or of any, was."""
        if not self._listed:
            return
        made, seen = self._list, self._seen
        if seen is None:
            if _count(made) != len(self.files):
                self._index()
            return
        if len(made) == len(seen):
            if samples is None and same_members(made, seen):
                return
            where = range(len(made)) if samples is None else samples
            if all(made[i] is seen[i] or _same(made[i], seen[i]) for i in where):
                return
        self.check_changeable()
        self._index()
        changes.count += 1  # what a loader has made ahead is of the list as it was

    def _labels(self) -> Iterable[Any]:
        if not self._has_labels:
            return itertools.repeat(None, len(self.files))
        return self.files.targets.tolist() if self.labels is None else self.labels

    def _index(self) -> list[Any]:
        """Makes an index from the list. Returns the labels."""
        made = self._list
        pairs = _pairs(made)
        paths, labels = [pair[0] for pair in pairs or ()], [pair[1] for pair in pairs or ()]
        self.readable = pairs is not None and all(
            isinstance(p, (str, bytes, os.PathLike)) and _names_a_file(os.fsdecode(p)) for p in paths
        )
        names = [os.fsdecode(path) for path in paths] if self.readable else [""] * _count(made)
        kind = None if pairs is None else _numbers(labels)
        epoch = int(self.files.epoch[0]) if hasattr(self, "files") else 0
        self.files, self._prefix = Files.listed(names, None if kind is None else map(int, labels)), ""
        self.files.epoch[0] = epoch
        self.kind = kind or int
        self.labels = None if kind is not None or not self._has_labels else labels
        whole = len({name.startswith("/") for name in names}) < 2
        self._remade = (
            self.readable
            and whole
            and self.kind is int
            and type(made) is list
            and all(type(entry) is tuple and type(entry[0]) is str for entry in made)
        )
        self._seen = pairs
        return labels

    def __getstate__(self) -> dict[str, Any]:
        self.take_over()
        state = self.__dict__.copy()
        del state["_seen"]
        if self._remade:
            state["_list"], state["_listed"] = None, False
        if isinstance(self._first, np.ndarray):
            changed = self._first is not self.files.targets
            state["_first"] = zlib.compress(self._first.tobytes()) if changed else None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        first = state["_first"]
        if first is None:
            self._first = self.files.targets
        elif isinstance(first, bytes):
            self._first = np.frombuffer(zlib.decompress(first), np.int32)
        self._seen = _pairs(self._list) if self._listed else []


def _names_a_file(path: str) -> bool:
    return path != "" and "\0" not in path  # of an empty one the index makes its root


def _pairs(made: Any) -> list[tuple[Any, Any]] | None:
    """The entries of a list of paths and labels, or None if it is something else."""
    if not isinstance(made, (list, tuple)):
        return None
    if not all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in made):
        return None
    return [entry if type(entry) is tuple else (entry[0], entry[1]) for entry in made]


def _same(entry: Any, seen: tuple[Any, Any]) -> bool:
    """Whether an entry still has its values. An entry such as a list may change in place."""
    return (
        isinstance(entry, (list, tuple))
        and type(entry) is not tuple
        and len(entry) == 2
        and entry[0] is seen[0]
        and entry[1] is seen[1]
    )


def _count(made: Any) -> int:
    """The number of samples; 0 for an object without a length."""
    return len(made) if hasattr(made, "__len__") else 0


def _numbers(labels: Sequence[Any]) -> type[Any] | None:
    """The type of labels that the core can hold, or None.

    Python's own ints, or numpy's of 64 bits: default_collate makes int64 of either.
    """
    for kind in (int, np.int64):
        if all(type(label) is kind and -(1 << 31) <= label < 1 << 31 for label in labels):
            return kind
    return None

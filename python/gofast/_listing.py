"""The samples of a dataset: an index for the core, and the list that Python's side sees and may change."""

from __future__ import annotations

import itertools
import operator
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._files import Files


class Listing:
    """The samples of a dataset. Shallow copies of the dataset share it.

    The list (path, label) of torchvision's `samples` is made when somebody looks: a million tuples take a
    second and 200 MB. From then on it is the truth, and `follow` takes over what was changed in it.

    Args:
        files: the index.
        prefix: stands before the index's names, where the list is made of them.
        labels: one a sample, where they are not the index's numbers.
        has_labels: otherwise the list has None in their place.

    Attributes:
        files: what the core reads.
        labels: labels that the core cannot hold, one a sample; None: they are files.targets.
        readable: whether the paths are those of files, and not something that only a loader understands.
    """

    def __init__(
        self, files: Files, prefix: str = "", labels: Sequence[Any] | None = None, has_labels: bool = True
    ) -> None:
        self.files, self.labels, self.readable = files, labels, True
        self._has_labels = has_labels
        self._prefix = prefix
        self._list: list[Any] | None = None
        self._seen: list[tuple[Any, Any]] = []  # the list as it was last taken over
        self._remade = True  # whether the list can be made again of the rest
        self._first: npt.NDArray[np.int32] | Sequence[Any] = files.targets if labels is None else labels

    @classmethod
    def of(cls, samples: Iterable[Any]) -> Listing:
        """A list that somebody else made. It stays the truth.

        Raises:
            ValueError, TypeError: an entry is not a path and a label.
        """
        made = cls.__new__(cls)
        made._has_labels = True
        made._list = samples if isinstance(samples, list) else list(samples)
        made._take_over(made._list)
        made._first = made.files.targets if made.labels is None else made.labels
        return made

    @classmethod
    def of_paths(cls, paths: Sequence[str], labels: Sequence[Any] | None) -> Listing:
        """Files and what is said of them; None: nothing."""
        numbers = labels is not None and _are_numbers(labels)
        mixed = len({path.startswith("/") for path in paths}) > 1
        files = Files.listed(paths, labels if numbers else None)
        made = cls(files, "", None if numbers else labels, labels is not None)
        if mixed:  # the index has them all from the root
            made._list = list(zip(paths, [None] * len(paths) if labels is None else labels, strict=True))
            made._seen, made._remade = made._list.copy(), False
        return made

    def labelled(self, labels: Sequence[Any]) -> Listing:
        """The same files with these labels."""
        if not _are_numbers(labels):
            return Listing(self.files, self._prefix, labels)
        return Listing(Files.listed(self.files.names(), labels, self.files.root), self._prefix)

    def __len__(self) -> int:
        return len(self.files) if self._list is None else len(self._list)

    def samples(self) -> list[Any]:
        """The list, which may be changed."""
        if self._list is None:
            made = list(zip(self.paths(), self._labels(), strict=True))
            self._seen = made.copy()
            self._list = made  # last: other threads compare the two
        return self._list

    def paths(self) -> list[Any]:
        """All paths."""
        if self._list is not None:
            return [path for path, _ in self._list]
        return [self._prefix + name for name in self.files.names()]

    def path(self, sample: int) -> Any:
        """A sample's path, as the list has it."""
        return self._prefix + self.files.name(sample) if self._list is None else self._list[sample][0]

    def label(self, sample: int) -> Any:
        """A sample's label, as the list has it."""
        if self._list is not None:
            return self._list[sample][1]
        if not self._has_labels:
            return None
        return int(self.files.targets[sample]) if self.labels is None else self.labels[sample]

    def first_labels(self) -> list[Any]:
        """The labels before anything was changed."""
        if not self._has_labels:
            return [None] * len(self._first)
        return self._first.tolist() if isinstance(self._first, np.ndarray) else list(self._first)

    def follow(self, samples: Iterable[int] | None = None) -> None:
        """Takes over what was changed in the list: of these samples at least, or of all.

        Raises:
            ValueError, TypeError: an entry of the list is not a path and a label.
        """
        made, seen = self._list, self._seen
        if made is None:
            return
        if len(made) == len(seen):
            if samples is None and all(map(operator.is_, made, seen)):
                return
            where = range(len(made)) if samples is None else samples
            if all(made[i] is seen[i] or _same(made[i], seen[i]) for i in where):
                return
        self._take_over(made)

    def _labels(self) -> Iterable[Any]:
        if not self._has_labels:
            return itertools.repeat(None, len(self.files))
        return self.files.targets.tolist() if self.labels is None else self.labels

    def _take_over(self, made: list[Any]) -> None:
        entries = [(path, label) for path, label in made]
        paths, labels = [path for path, _ in entries], [label for _, label in entries]
        self.readable = all(
            isinstance(p, (str, bytes, os.PathLike)) and "\0" not in os.fsdecode(p) for p in paths
        )
        names = [os.fsdecode(path) for path in paths] if self.readable else [""] * len(paths)
        numbers = _are_numbers(labels)
        epoch = int(self.files.epoch[0]) if hasattr(self, "files") else 0
        self.files, self._prefix = Files.listed(names, labels if numbers else None), ""
        self.files.epoch[0] = epoch
        self.labels = None if numbers or not self._has_labels else labels
        whole = len({name.startswith("/") for name in names}) < 2
        self._remade = (
            self.readable and whole and all(type(entry) is tuple and type(entry[0]) is str for entry in made)
        )
        self._seen = [
            entry if type(entry) is tuple else own for entry, own in zip(made, entries, strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        self.follow()
        state = self.__dict__.copy()
        del state["_seen"]
        if self._remade:
            state["_list"] = None
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
        self._seen = [e if type(e) is tuple else tuple(e) for e in self._list or ()]


def _same(entry: Any, seen: tuple[Any, Any]) -> bool:
    """Whether an entry, such as a list that may be changed in place, has what it had."""
    return type(entry) is not tuple and len(entry) == 2 and entry[0] is seen[0] and entry[1] is seen[1]


def _are_numbers(labels: Sequence[Any]) -> bool:
    """Whether the core can hold the labels: Python's own ints, which default_collate makes int64."""
    return all(type(label) is int and -(1 << 31) <= label < 1 << 31 for label in labels)

"""Datasets of the package `datasets`: its own code makes the rows, with lazy images for their pictures."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .._loader.classes import leaves
from .._loader.native_dataset import SURROUNDINGS

# By module and name: `datasets` is not imported for this, and a script may have a module of that name.
_CLASSES = {("datasets.arrow_dataset", "Dataset"), ("datasets.iterable_dataset", "IterableDataset")}


def _is_theirs(dataset: object) -> bool:
    return any((kind.__module__, kind.__name__) in _CLASSES for kind in type(dataset).__mro__)


def lazily(dataset: object) -> AbstractContextManager[None] | None:
    """What their code runs in: it opens each picture of a row by Pillow."""
    if not any(map(_is_theirs, leaves(dataset))):
        return None
    from .opening import LazyOpening

    return LazyOpening()


SURROUNDINGS.append(lazily)

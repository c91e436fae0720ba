"""A dataset in C memory: what batches are filled from."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence

import numpy as np

from .._core import dataset_operations, engine
from .._core.memory import address_of

IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class CoreDataset:
    """A dataset of the core's, with its transform, in C memory of this process.

    A forked child may go on using it: it is plain memory, and so are the kernels. Whoever has given its
    address to the engine holds it until that is done.

    Attributes:
        address: that of its C structure, a view.
        length: how many samples it has.
        record_words: int32s that are drawn for one sample.
        sample_shape: as a sample lies in memory.
        sample_type: of its values, by the core's name.

    Args:
        made: what the core said.
        keep: the memory that the core reads. It outlives the dataset even if the garbage collector finds
            both at once.
    """

    def __init__(self, made: dataset_operations.Dataset, keep: object) -> None:
        self.address, self.length, self.record_words = made["address"], made["length"], made["record_words"]
        self.sample_shape, self.sample_type = tuple(made["shape"]), made["type"]
        self._freeing = weakref.finalize(self, _free, self.address, os.getpid(), keep)
        self._freeing.atexit = False

    @property
    def alive(self) -> bool:
        """Whether the core's structure is there. The garbage collector frees those of a circle before it
        runs any `__del__` there."""
        return self._freeing.alive


def _free(address: int, pid: int, _keep: object) -> None:
    if pid == os.getpid() and engine.loaded():
        dataset_operations.free({"address": address})


def joined(datasets: Sequence[CoreDataset], index_map: IntArray | None) -> CoreDataset:
    """Datasets end to end, seen through a map; all make samples alike."""
    if index_map is None and len(datasets) == 1:
        return datasets[0]
    made = dataset_operations.join(
        {
            "datasets": [dataset.address for dataset in datasets],
            "map": 0 if index_map is None else address_of(index_map),
            "length": 0 if index_map is None else len(index_map),
        }
    )
    return CoreDataset(made, (tuple(datasets), index_map))

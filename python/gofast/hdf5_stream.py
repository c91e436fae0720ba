"""HDF5Stream: rows and pictures of an HDF5 file that need not fit into memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.context import get_spawning_popen
from typing import Any, Literal

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from ._core.numbers import DType
from ._core.openmp import alone
from ._loader.view import Line, Output
from ._tables.block_stream import BlockStream
from ._tables.blocks import BlockOrder, Drawn, Even
from ._tables.cells import Place
from ._tables.file_arrays import FileArray
from ._tables.hdf5 import open_bands
from ._tables.hdf5_windows import Stored, Values, Windows
from ._tables.mixing import LOOKED_AT, labels_mixing, mixing
from ._tables.scale import Scale
from ._tables.sources import Path
from ._tables.statistics import Numbers
from ._tables.window_batches import Some
from .arrays import ArrayDataset
from .hdf5 import asked


class HDF5Stream(BlockStream):
    """Rows and pictures of an HDF5 file whose decoded chunks do not fit into memory.

    It is an IterableDataset with the options, the samples and the errors of :class:`gofast.HDF5Dataset`.
    Chunks are decoded by all threads while batches go out, some of them in memory at a time, and each once in
    an epoch. A :class:`gofast.DataLoader` makes whole batches; it needs no workers, and starts none. In
    torch's DataLoader, rows come one by one, and each worker has a part of them and ``memory`` of its own.

    Any order of single rows would decode a chunk for each row, or keep all of them: so this is no map-style
    dataset. Without ``shuffle``, rows come in the order of the file. ``shuffle="block"`` permutes blocks of
    rows, joins as many as memory holds, and permutes the rows in these; :func:`gofast.explain` says how well
    that mixes them. The order is a function of the seed and the epoch. Transforms draw in the order in which
    rows come out, as in a Dataset of torch's that yields the same rows.

    For any other order, :func:`gofast.convert` writes a file without chunks, which HDF5Dataset maps.

    The file is read once when it is opened: what h5py says of its chunks is compared with what it reads.
    What has no chunks or fits into a 16th of ``memory``, such as labels, is kept as HDF5Dataset keeps it.

    Args:
        path: the file.
        features: as in HDF5Dataset.
        labels: likewise.
        memory: bytes that rows and their decoding take together, in each process: ``"1GB"``, ``"500MB"`` or a
            number. A batch's own memory comes on top.
        shuffle: ``"block"``, or None.
        seed: of the order. None: each epoch draws one from torch's generator, as torch's own shuffling does;
            after `set_epoch`, and with several ranks, it is 0, as in torch's DistributedSampler.
        rank: this process's number; each of several gets its own part of an epoch. None: as
            torch.distributed says, if it was begun.
        world: how many there are.
        even: what becomes of rows that cannot be dealt out evenly to the ranks: ``"drop"`` the last ones,
            ``"pad"`` with the epoch's first ones, or ``"error"``.
        mean: as in HDF5Dataset; ``"auto"`` would need all rows, and is refused.
        std: likewise.

    All other arguments are those of HDF5Dataset.

    Attributes:
        shape, dtype, keys, mean, std: as in HDF5Dataset.

    Raises:
        gofast.errors.GofastError: as HDF5Dataset, when the file is opened or while iterating; the text names
            dataset and chunk.
        gofast.errors.LimitError: the rows of a chunk need more memory; the text says how much.
        gofast.errors.ChangedError: the file is another one than when it was opened.

    Example:
        >>> train = gofast.HDF5Stream("train.h5", "images", "labels", memory="4GB", shuffle="block",
        ...                           transform=augment)
        >>> loader = gofast.DataLoader(train, batch_size=256)
        >>> for epoch in range(10):
        ...     for images, labels in loader:
        ...         ...
    """

    @checked
    def __init__(
        self,
        path: Path,
        features: str | Sequence[str],
        labels: str | Sequence[str] | None = None,
        *,
        memory: str | int = "1GB",
        shuffle: Literal["block"] | None = None,
        seed: int | None = None,
        rank: int | None = None,
        world: int | None = None,
        even: Even = "drop",
        shape: Sequence[int] | int | None = None,
        scale: Scale = None,
        mean: Numbers = None,
        std: Numbers = None,
        dtype: DType | None = None,
        keys: tuple[str, ...] | None = None,
        output: Output = "tuple",
        one_hot: int | None = None,
        transform: Callable[[torch.Tensor], Any] | None = None,
        target_transform: Callable[[torch.Tensor], Any] | None = None,
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(memory, shuffle, seed, rank, world, even, mean, std)
        self._asked: dict[str, Any] = {**asked(path, features, labels), "threads": threads}
        self._options: dict[str, Any] = {
            "shape": shape,
            "scale": scale,
            "mean": mean,
            "std": std,
            "dtype": dtype,
            "keys": keys,
            "output": output,
            "one_hot": one_hot,
            "transform": transform,
            "target_transform": target_transform,
            "batch_transform": batch_transform,
        }
        self._arrays: list[Stored] = open_bands(**self._asked, memory=self.memory)
        rows = {one.shape[0] for one in self._arrays}
        if len(rows) > 1:
            said = f"datasets of {' and '.join(str(one.shape[0]) for one in self._arrays)} rows"
            raise errors.SchemaError(f"{said}: they must have the same").at(path=self._asked["path"])
        (self._rows,) = rows
        self._like = ArrayDataset(
            *(np.zeros((1, *one.shape[1:]), one.dtype) for one in self._arrays), **self._options
        )
        self._single = self._like._has_python_rows() and not self._like._has_images()
        self._windows()
        len(self)

    def __len__(self) -> int:
        """The rows of an epoch, of this rank."""
        return sum(map(len, self._share(self._rows)))

    def __repr__(self) -> str:
        arrays = ", ".join(f"{one.dtype} {list(one.shape)}" for one in self._arrays)
        return f"HDF5Stream({self._asked['path']!r}: {arrays}, shuffle={self.shuffle!r})"

    # -- rows ------------------------------------------------------------------------

    def _windows(self) -> Windows:
        return Windows(self._arrays, self.memory, self.shuffle is not None)

    def _some(self, drawn: Drawn) -> Iterator[Some]:
        """See BlockStream."""
        windows = self._windows()
        order, rooms = BlockOrder([*map(len, windows.blocks)], windows.rows, *drawn), windows.rooms()
        stretches = list(order.stretches(self._parts(self._rows)))
        wanted = [windows.runs(stretch.window.blocks) for stretch in stretches]
        for stretch, runs, filled in zip(stretches, wanted, windows.filled(wanted, rooms), strict=True):
            with alone():
                rows = order.rows(stretch)
            place, end = functools.partial(_place, runs), functools.partial(rooms.give, filled.room)
            yield _Window(filled.arrays, place, self._options, end), rows

    # -- what it tells -----------------------------------------------------------------

    def _explained(self) -> list[Line]:
        lines: list[Line] = [("dataset", one.runs_in, one.what) for one in self._arrays]
        for name, where, what in self._like._explained():
            said = what.removeprefix("1 rows of ").removeprefix("1 pictures, in memory").removeprefix(": ")
            if said:
                lines.append((name, where, said))
        return [*lines, *(("shuffle", "Go", line) for line in self._mixing())]

    def _mixing(self) -> list[str]:
        if self.shuffle is None:
            return []
        windows = self._windows()
        rows = [*map(len, windows.blocks)]
        order = BlockOrder(rows, windows.rows, self.seed or 0, self._epoch or 0)
        said = mixing(order, rows)
        labels = self._arrays[-1]
        if len(self._arrays) > 1 and isinstance(labels, FileArray) and len(labels.shape) == 1 and rows:
            some = windows.blocks[:: -(-len(rows) // LOOKED_AT)]
            blocks = [labels.array[run.start : run.stop] for run in some]
            said += labels_mixing(blocks, len(order.windows[0].blocks))
        return said

    # -- other processes ---------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_arrays"] = None
        if get_spawning_popen() is not None:
            state["_arrays"] = [one.handed() if isinstance(one, FileArray) else one for one in self._arrays]
        state["_expected"] = self._identity()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed, expected = state.pop("_arrays"), state.pop("_expected")
        self.__dict__.update(state)
        if handed is None:  # a pickle may outlive this process
            self._arrays = open_bands(**self._asked, memory=self.memory)
        else:
            self._arrays = [FileArray.taken(one) if isinstance(one, tuple) else one for one in handed]
        if self._identity() != expected:
            path = self._asked["path"]
            raise errors.ChangedError(f"{path} has other arrays than when it was pickled").at(path=path)

    def _identity(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(one.dtype.str, one.shape) for one in self._arrays]


class _Window(ArrayDataset):
    """The rows of a window. Its memory has others later: what a transform keeps is a copy.

    Args:
        place: tells where a row stands in the file.
        end: gives the memory back.
    """

    def __init__(
        self,
        arrays: Sequence[Values],
        place: Callable[[int], Place],
        options: dict[str, Any],
        end: Callable[[], None] | None = None,
    ) -> None:
        self._tell, self._given, self._end = place, options, end
        super().__init__(*arrays, **options)

    def copied(self, rows: torch.Tensor) -> _Window:
        """These rows, in memory of their own."""
        numbers, tell = rows.numpy(), self._tell
        arrays = [np.asarray(field.given)[numbers] for field in self._memory.fields]
        for array in arrays:
            array.flags.writeable = False  # batches of what cannot change are made ahead
        return _Window(arrays, lambda row: tell(int(numbers[row])), self._given)

    def end(self) -> None:
        """Nobody reads the rows any more, which circles of references would hold."""
        end = self._end
        for one in (self._stand_in, self):
            if one is not None:
                vars(one).clear()
        if end is not None:
            end()

    def _place(self, row: int) -> Place:
        return self._tell(row)

    def _shown(self, row: int, features: Any = None) -> Any:
        shown = super()._shown(row, features)
        return shown.copy() if self._has_images() else shown


def _place(runs: Sequence[range], row: int) -> Place:
    for run in runs:
        if row < len(run):
            return Place(None, run[row])
        row -= len(run)
    raise AssertionError

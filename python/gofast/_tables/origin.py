"""Where the arrays of a dataset come from: the user's memory, or a file that they are mapped from."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.context import get_spawning_popen
from typing import Any

from .. import errors
from .._loader.batch_source import Line
from .array_memory import ArrayMemory
from .file_arrays import FileArray
from .hdf5_bands import Bands

Stored = FileArray | Bands


class Origin:
    """The user's memory; and the base class of files, whose arrays nobody in this process can write to.

    A process that is being spawned is handed their descriptors. Any other pickle may outlive this process:
    it opens the file again. Copies within a process share it.

    Attributes:
        path: of the file.
        constructor: of ArrayDataset, which has opened it.
        holds: what its arrays are, in a word.
        arrays: what it holds. Bands are decoded by a stream only.
        classes: the names of the classes, if the file has some.
        pictures: whether rows of the first array are PIL images to a transform; None: as the array itself
            and the transform tell.
    """

    path, constructor, holds = "", "", "arrays"
    arrays: Sequence[Stored] = ()
    classes: list[str] | None = None
    pictures: bool | None = None

    def open(self) -> Sequence[Stored]:
        """The arrays, opened anew."""
        raise NotImplementedError

    def memory(self) -> ArrayMemory:
        """The arrays, for a dataset."""
        return ArrayMemory([one.field() for one in self.arrays if isinstance(one, FileArray)])

    def explained(self) -> list[Line]:
        """Its lines in gofast.explain."""
        return [("dataset", one.runs_in, one.what) for one in self.arrays]

    def __deepcopy__(self, memo: dict[int, Any]) -> Origin:
        return self

    def __getstate__(self) -> dict[str, Any]:
        handed: list[Any] | None = None
        if get_spawning_popen() is not None:
            handed = [one.handed() if isinstance(one, FileArray) else one for one in self.arrays]
        return {**self.__dict__, "arrays": handed, "_expected": _identity(self.arrays)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed, expected = state.pop("arrays"), state.pop("_expected")
        self.__dict__.update(state)
        if handed is None:
            self.arrays = self.open()
        else:
            self.arrays = [FileArray.taken(one) if isinstance(one, tuple) else one for one in handed]
        if _identity(self.arrays) != expected:
            said = f"{self.path} has other {self.holds} than when it was pickled"
            raise errors.ChangedError(said).at(path=self.path)


def _identity(arrays: Sequence[Stored]) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.dtype.str, one.shape) for one in arrays]

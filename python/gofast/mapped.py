"""The base of datasets whose arrays are mapped from files."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from multiprocessing.context import get_spawning_popen
from typing import Any

import torch

from . import errors
from ._loader.typed import Options
from ._loader.view import Line
from ._tables.fields import ArrayMemory
from ._tables.file_arrays import FileArray
from .arrays import ArrayDataset


class MappedDataset(ArrayDataset[Options]):
    """An ArrayDataset over arrays that nobody in this process can write to. Base class.

    A process that is being spawned is handed their descriptors. Any other pickle may outlive this process:
    it opens the files again.

    Attributes:
        _asked: what `_opened` opens, with a ``path``.
    """

    _asked: dict[str, Any]

    def __init__(self, **options: Any) -> None:
        self._arrays = self._opened()
        fields: Any = [one.field() for one in self._arrays]
        super().__init__(*fields, **options)

    def _opened(self) -> list[FileArray]:
        """The arrays, opened anew."""
        raise NotImplementedError

    def _explained(self) -> list[Line]:
        return [("dataset", one.runs_in, one.what) for one in self._arrays] + super()._explained()

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The arrays as tensors over memory that nobody may write to: the process would end."""
        for field in self._memory.fields:
            field.check()
        return super().tensors

    @property
    def targets(self) -> torch.Tensor:
        """A copy of the labels; -1 for every row if there are none."""
        fields = self._memory.fields
        return fields[1][:] if len(fields) > 1 else super().targets

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        arrays: list[FileArray] = state.pop("_arrays")
        del state["_memory"]
        spawning = get_spawning_popen() is not None
        state["_handed"] = [one.handed() for one in arrays] if spawning else None
        state["_expected"] = _identity(arrays)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed, expected = state.pop("_handed"), state.pop("_expected")
        self.__dict__.update(state)
        self._arrays = self._opened() if handed is None else [*map(FileArray.taken, handed)]
        if _identity(self._arrays) != expected:
            path = self._asked["path"]
            raise errors.ChangedError(f"{path} has other arrays than when it was pickled").at(path=path)
        self._memory = ArrayMemory([one.field() for one in self._arrays])

    def __copy__(self) -> MappedDataset[Options]:
        made = type(self).__new__(type(self))
        made.__dict__.update(super().__getstate__())
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> MappedDataset[Options]:
        for shared in (self._memory, self._arrays):  # nobody writes to them
            memo[id(shared)] = shared
        made = memo[id(self)] = self.__copy__()
        made.__dict__ = copy.deepcopy(made.__dict__, memo)
        return made


def _identity(arrays: Sequence[FileArray]) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.array.dtype.str, one.array.shape) for one in arrays]

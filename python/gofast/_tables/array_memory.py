"""The arrays of an ArrayDataset: the user's own memory, as torch reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import errors
from .._core.memory import Layout, Memory
from .._core.numbers import NAMES, OPAQUE
from .._core.openmp import alone
from .._core.reason import Reason

if TYPE_CHECKING:
    import numpy.typing as npt

Array = torch.Tensor | np.ndarray[Any, np.dtype[Any]]

# Types that the kernel converts.
_STORED = (torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64)
KERNEL_TYPES = {dtype: NAMES[dtype] for dtype in _STORED}
INTEGERS = {dtype for dtype in KERNEL_TYPES if not dtype.is_floating_point}
KERNEL_DIMENSIONS = 8  # maximum for a row
_ALONE_BYTES = 1 << 20  # only a larger batch is worth waking OpenMP's threads
_OURS = (torch.Tensor, torch.nn.Parameter)

C, INDEX, ROWS = "C", "index", "rows"


class Field:
    """One array. Nothing is copied: a sample holds the values that are in the memory when it is made.

    Attributes:
        tensor: the given tensor, or a tensor over a numpy array's memory.
        writable: whether samples may be views of the memory.
        steady: the memory cannot be written to.
        mapped: it is a file's, of which `check` asks whether it is still the same.
        way: how a batch is made. C: the kernel copies rows; INDEX: torch.index_select; ROWS: torch stacks
            row by row, because neither of the others would give the same batch.
    """

    mapped = False

    def __init__(self, given: Array) -> None:
        self.given = given
        self.writable, self.steady = True, False
        if isinstance(given, torch.Tensor):
            self.tensor = given
        else:
            if _is_elsewhere(given):  # numpy would read all of it into memory
                whose = f"{_package(given)}'s {type(given).__name__}"
                raise errors.UnsupportedError(
                    f"{whose} of shape {given.shape} is not in memory: give numpy.asarray of it, a copy"
                )
            array = np.asarray(given)
            self.writable, self.steady = array.flags.writeable, _is_read_only(array)
            self.tensor = _over(given, array)
        if self.tensor.dim() == 0:
            raise errors.SchemaError("an array without dimensions: the first one is that of rows")
        self.shape = tuple(self.tensor.shape[1:])
        self.width = math.prod(self.shape)
        self.way = self._way()

    def __reduce__(self) -> tuple[Any, ...]:
        return Field, (self.given,)  # torch shares tensors itself if the pickle goes to a worker

    def __repr__(self) -> str:
        name = str(self.tensor.dtype).removeprefix("torch.")
        return f"{name} {list(self.shape)}"

    @property
    def reason(self) -> Reason | None:
        """Why the kernel cannot gather it, if it cannot."""
        if self.way == ROWS:
            return Reason("only torch can stack its rows")
        if self.way == INDEX:
            return Reason(
                "a row's values do not stand side by side" if self.width else "its rows have no values"
            )
        return None

    def check(self) -> None:
        """Raises ChangedError if what it is mapped from was written to."""

    def __getitem__(self, index: Any) -> torch.Tensor:
        """Like the tensor's own: a view if that gives a view, unless the memory is read-only."""
        tensor = self.tensor
        chosen: torch.Tensor = (tensor.detach() if tensor.requires_grad else tensor)[index]
        return chosen if self.writable else chosen.clone()

    def gather(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows [n], none of them negative, contiguous."""
        tensor = self.tensor.detach() if self.tensor.requires_grad else self.tensor
        if len(rows) * self.width * tensor.dtype.itemsize > _ALONE_BYTES:
            return tensor.index_select(0, rows)
        with alone():
            return tensor.index_select(0, rows)

    @property
    def stride(self) -> int:
        """Bytes from one row to the next in the memory now; 0 if the kernel does not read it."""
        return self.tensor.stride(0) * self.tensor.dtype.itemsize if self.way == C else 0

    def place(self) -> tuple[Any, ...]:
        """The memory's address, and how it is read. torch moves it when a tensor is shared with a process or
        resized, and the user may give a tensor other memory (``x.data = ...``)."""
        tensor = self.tensor
        if self.way != C:  # torch finds the memory itself; some kinds of tensor have no address
            return 0, (), tensor.shape, tensor.dtype, tensor.device
        return tensor.data_ptr(), tensor.stride(), tensor.shape, tensor.dtype, tensor.device

    def stays_in_c(self) -> bool:
        """Whether the kernel may still read the array, if it could when the dataset was made."""
        return self.way != C or self._way() == C

    def _way(self) -> str:
        tensor = self.tensor
        if (
            type(tensor) not in _OURS
            or tensor.device.type != "cpu"
            or tensor.layout is not torch.strided
            or tensor.is_quantized
            or tensor.is_nested
            or tensor.is_conj()  # these two are flags, not in the memory
            or tensor.is_neg()
        ):
            return ROWS
        dense = _has_dense_rows(tensor)
        size = tensor.dtype.itemsize
        if (
            dense
            and self.width
            and size in OPAQUE
            and (tensor.stride(0) > 0 or len(tensor) < 2)
            and len(self.shape) + (size == 16) <= KERNEL_DIMENSIONS
        ):
            return C
        if not dense and len(self.shape) in (4, 5):
            return ROWS  # torch.stack keeps rows channels last
        try:
            self.gather(torch.zeros(min(len(tensor), 1), dtype=torch.int64, device="cpu"))
        except (RuntimeError, TypeError):  # torch has no kernel for this type
            return ROWS
        return INDEX


def _has_dense_rows(tensor: torch.Tensor) -> bool:
    """Whether the values of a row lie side by side, in order."""
    wanted = 1
    for size, stride in zip(reversed(tensor.shape[1:]), reversed(tensor.stride()[1:]), strict=True):
        if size != 1 and stride != wanted:
            return False
        wanted *= size
    return True


class _Alias:
    """An array's memory for torch.from_numpy, which would warn of a read-only array."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array
        there = array.__array_interface__
        self.__array_interface__ = there | {"data": (there["data"][0], False)}


def _over(given: Any, array: npt.NDArray[Any]) -> torch.Tensor:
    """A tensor over the array's memory."""
    if isinstance(given, np.ma.MaskedArray):
        raise errors.UnsupportedError("a masked array: fill it, or drop what is masked")
    if any(stride < 0 for stride in array.strides) and array.size:
        raise errors.UnsupportedError(
            f"an array of shape {array.shape} that runs backwards (strides {array.strides}): torch has none "
            "such, give np.ascontiguousarray of it, a copy"
        )
    try:
        return torch.from_numpy(array if array.flags.writeable else np.asarray(_Alias(array)))
    except (TypeError, ValueError) as error:
        hint = ""
        if array.dtype.kind in "US":
            hint = "; numpy.unique(x, return_inverse=True)[1] numbers words, gofast.TableDataset opens a path"
        elif not array.dtype.isnative:
            hint = '; give x.astype(x.dtype.newbyteorder("="))'
        raise errors.UnsupportedError(
            f"an array of type {array.dtype}: {str(error).rstrip('.')}{hint}"
        ) from None


def _package(given: object) -> str:
    return type(given).__module__.split(".")[0]


def _is_elsewhere(given: Any) -> bool:
    """Whether it is an array of a file, or one to be computed. xarray's may be either, or in memory."""
    known = _package(given) in ("h5py", "zarr", "dask")
    known = known or (_package(given) == "xarray" and getattr(given, "chunks", None) is not None)
    return known and hasattr(given, "shape")


def _is_read_only(array: object) -> bool:
    """Whether no owner of this memory lets numpy write to it."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    try:
        return array is None or memoryview(array).readonly  # type: ignore[arg-type]
    except TypeError:
        return False  # for example a tensor's memory


class ArrayMemory(Memory):
    """The user's own arrays; see Field."""

    def __init__(self, arrays: Sequence[Array | Field]) -> None:
        if not arrays:
            raise errors.OptionError("no arrays: give the features, and what belongs to them")
        self.fields = [a if isinstance(a, Field) else Field(a) for a in arrays]
        rows = len(self.fields[0].tensor)
        if any(len(f.tensor) != rows for f in self.fields):
            sizes = [tuple(f.tensor.shape) for f in self.fields]
            raise errors.SchemaError(
                f"arrays of shapes {sizes}: the first dimension, of rows, must be the same"
            )
        self._made_of = self.places()
        features = self.fields[0]
        dtype = features.tensor.dtype
        kinds = ["float" if f.tensor.dtype.is_floating_point else "int" for f in self.fields[1:2]]
        self.layout = Layout(
            rows=rows,
            width=features.width,
            type=str(dtype).removeprefix("torch."),
            bool=dtype == torch.bool,
            shape=features.shape,
            features=(),
            labels=("0",) * len(kinds),
            label_kinds=tuple(kinds),
            classes=None,
            features_offset=0,
            labels_offset=0,
            size=0,
        )

    @property
    def features(self) -> npt.NDArray[Any]:  # type: ignore[override]
        """All features as [rows, width]; a copy if they are strided."""
        return self.fields[0].tensor.detach().numpy().reshape(self.layout.rows, self.layout.width)

    @property
    def features_address(self) -> int:
        """The address of the features now."""
        return self.fields[0].tensor.data_ptr()

    @property
    def labels_address(self) -> int:
        """The address of the labels now; 0 without labels."""
        return self.fields[1].tensor.data_ptr() if len(self.fields) > 1 else 0

    @property
    def by_rows(self) -> bool:
        """Whether torch must stack samples one by one."""
        return any(f.way == ROWS for f in self.fields)

    @property
    def writable(self) -> bool:
        """Whether samples may be views of the arrays."""
        return all(f.writable for f in self.fields)

    def places(self) -> list[tuple[Any, ...]]:
        """The places of the arrays that the kernel may read."""
        return [f.place() for f in self.fields[:2]]

    def check(self) -> None:
        """Raises if an array has another shape, type, device or layout than when the dataset was made."""
        for i, (old, new) in enumerate(zip(self._made_of, self.places(), strict=True)):
            for what, was, now in zip(("shape", "type", "device"), old[2:], new[2:], strict=True):
                if was != now:
                    was, now = (tuple(x) if what == "shape" else x for x in (was, now))
                    raise errors.SchemaError(
                        f"array {i} was of {what} {was} when the dataset was made, and is now {now}: "
                        "make a new dataset"
                    )
            if not self.fields[i].stays_in_c():
                raise errors.SchemaError(
                    f"array {i} had rows that stand side by side when the dataset was made, and now its "
                    f"strides are {new[1]}: make a new dataset"
                )

"""What numbers are made of stored ones: ``gofast/numbers`` in numpy, for single rows, which need no engine.

``tests/tables/test_arithmetic.py`` holds both against numpy and torch.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import errors

if TYPE_CHECKING:
    import numpy.typing as npt

    from . import dataset_operations

Vector = np.ndarray[Any, np.dtype[np.float32]]
DType = torch.dtype | np.dtype[Any] | type[Any] | str  # what a user may give as dtype=

# The types of samples by the core's names.
NAMES = {
    getattr(torch, name): name
    for name in ("float32", "float16", "bfloat16", "float64", "uint8", "int16", "int32", "int64")
}
# Values of other types are copied as integers of their size; complex128 counts as two.
OPAQUE = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "int64"}


def torch_dtype(dtype: DType) -> torch.dtype:
    """A type of torch's or numpy's, or the name of one: "float32", np.float32 and torch.float32 are one."""
    found = getattr(torch, str(type_name(dtype)), None)
    if not isinstance(found, torch.dtype):
        raise unknown_dtype(dtype)
    return found


def type_name(dtype: Any) -> str | None:
    """The name that torch and numpy have for a type of this machine; None for what is none."""
    if isinstance(dtype, str) and isinstance(getattr(torch, dtype.removeprefix("torch."), None), torch.dtype):
        dtype = getattr(torch, dtype.removeprefix("torch."))  # its "float" and "half" among them
    if isinstance(dtype, torch.dtype):
        return str(dtype).removeprefix("torch.")
    try:
        made = np.dtype(object if dtype is None else dtype)
    except TypeError:
        return None
    return str(made.name) if made.isnative else None


def rounded_to(dtype: DType) -> str:
    """The type that a table stores integers in which it cannot keep: half of one is made of float64."""
    made = torch_dtype(dtype)
    if not made.is_floating_point:
        return ""
    return "float32" if made == torch.float32 else "float64"


def unknown_dtype(dtype: object) -> errors.OptionError:
    """The error of what is no type of samples."""
    return errors.OptionError(f"dtype={dtype!r} is not one of {', '.join(str(d) for d in NAMES)}")


def dlpack(name: str) -> tuple[int, int]:
    """A type of NAMES as DLPack writes it: its code and its bits."""
    codes = {"float32": 2, "float16": 2, "bfloat16": 4, "float64": 2, "uint8": 1}
    return codes.get(name, 0), 8 * int(getattr(torch, name).itemsize)


def itemsize(name: str) -> int:
    """Bytes of a value of a type of NAMES."""
    return dlpack(name)[1] // 8


def divided(x: npt.NDArray[Any]) -> Vector:
    """The scale "unit"."""
    x = x.astype(np.float32)
    x /= np.float32(255)
    return x


@dataclasses.dataclass(frozen=True, eq=False)
class Spec:
    """What is made of the numbers of a row.

    Attributes:
        unit: they are divided by 255; then
        mean: is subtracted, and
        std: divides. Float32: one value, one per channel or one per feature; or None. Channels lie one after
            the other.
        type: of the results, by the core's name.
    """

    unit: bool
    mean: Vector | None
    std: Vector | None
    type: str

    @property
    def plain(self) -> bool:
        """They are only converted."""
        return not self.unit and self.mean is None

    def make(self, x: npt.NDArray[Any]) -> torch.Tensor:
        """Of numbers [..., width]: every step is rounded to float32, and the result once to its type."""
        with np.errstate(all="ignore"):  # beyond a type is infinity, as in a batch
            if self.unit:
                x = divided(x)
            if self.mean is not None and self.std is not None:
                mean, std = (np.repeat(v, x.shape[-1] // len(v)) for v in (self.mean, self.std))
                x = (x.astype(np.float32, copy=False) - mean) / std
            if self.type == "bfloat16":
                return torch.from_numpy(x.astype(np.float32)).to(torch.bfloat16)
            return torch.from_numpy(x.astype(self.type))

    def config(self) -> dataset_operations.NumbersRequest:
        """The same for the core."""
        return {
            "scale": "unit" if self.unit else "none",
            "mean": None if self.mean is None else self.mean.tolist(),
            "std": None if self.std is None else self.std.tolist(),
            "dtype": self.type,
        }

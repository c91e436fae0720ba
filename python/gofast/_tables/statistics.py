"""``mean`` and ``std``: given numbers, or ``"auto"``, which computes them on the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from .. import errors
from .._core.memory import Memory
from .._core.numbers import Vector, divided
from .cells import column_of

if TYPE_CHECKING:
    import numpy.typing as npt

Numbers = Literal["auto"] | float | Sequence[float] | torch.Tensor | np.ndarray[Any, np.dtype[Any]] | None

_VALUES = 1 << 18  # processed together; as float64 they stay in the caches


def mean_and_std(
    mean: Numbers, std: Numbers, memory: Memory, shape: tuple[int, ...], picture: bool, unit: bool
) -> tuple[Vector | None, Vector | None]:
    """Mean and std as float32: one value, one per channel or one per feature.

    Args:
        picture: the rows are pictures, so there is one value per channel, the first of three dimensions.
        unit: the values are divided by 255 first.
    """
    given = [_given(name, values) for name, values in (("mean", mean), ("std", std))]
    if (mean is None) != (std is None):
        raise errors.OptionError("mean and std come together: give both or neither")
    if any(isinstance(values, str) for values in (mean, std)):
        if memory.layout.width == 0:
            raise errors.OptionError('mean="auto", std="auto": the rows have no values to compute them of')
        groups = memory.layout.width if not picture else shape[0] if len(shape) == 3 else 1
        found = _Computed(memory, groups, unit)
        given = [
            values if values is not None else computed
            for values, computed in zip(
                given, (found.mean(), None if given[1] is not None else found.std()), strict=True
            )
        ]
    return given[0], given[1]


def _given(name: str, values: Numbers) -> Vector | None:
    """The given numbers; None if there are none, and for "auto"."""
    if values is None or (isinstance(values, str) and values == "auto"):
        return None
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    try:
        if isinstance(values, str):
            raise TypeError
        with np.errstate(over="ignore"):  # infinity is refused below
            vector = np.asarray(values, np.float32).reshape(-1)
    except (TypeError, ValueError):
        raise errors.OptionError(
            f'{name}={values!r}: give a number, a sequence of numbers or "auto"'
        ) from None
    if not np.isfinite(vector).all():
        raise errors.OptionError(
            f"{name} holds {vector[~np.isfinite(vector)][0]}, which is not a finite float32"
        )
    return vector


class _Computed:
    """Mean and standard deviation of groups of values, in float64; missing values (NaN) do not count."""

    def __init__(self, memory: Memory, groups: int, unit: bool) -> None:
        self._memory, self._groups, self._unit = memory, groups, unit
        self._count = np.zeros(groups, np.int64)
        total = np.zeros(groups)
        self._low, self._high = np.full(groups, np.inf), np.full(groups, -np.inf)
        for block in self._blocks():
            self._count += (~np.isnan(block)).sum((0, 2))
            with np.errstate(invalid="ignore"):  # infinities give NaN, which is refused below
                total += np.nansum(block, (0, 2))
            np.fmin(self._low, np.fmin.reduce(block, (0, 2)), out=self._low)
            np.fmax(self._high, np.fmax.reduce(block, (0, 2)), out=self._high)
        self._refuse(self._count == 0, "has no value to compute it of")
        self._refuse(~np.isfinite(total), "holds values without a finite mean")
        self._mean = total / self._count

    def _blocks(self) -> Any:
        """Some rows at a time as float64 [rows, groups, values]."""
        features = self._memory.features
        step = max(1, _VALUES // features.shape[1])
        for start in range(0, len(features), step):
            block = features[start : start + step]
            if self._unit:
                block = divided(block)
            yield block.astype(np.float64).reshape(len(block), self._groups, -1)

    def _refuse(self, bad: npt.NDArray[np.bool_], why: str) -> None:
        if not bad.any():
            return
        layout = self._memory.layout
        first = int(bad.argmax())
        what = "channel" if self._groups != layout.width else "column"
        name = column_of(layout, first) if what == "column" else str(first)
        more = f" (and {int(bad.sum()) - 1} more)" if bad.sum() > 1 else ""
        raise errors.BadValueError(
            f'mean="auto", std="auto": {what} "{name}"{more} {why}: leave it out with exclude=, '
            "or give the numbers"
        ).at(column=name)

    def mean(self) -> Vector:
        return self._mean.astype(np.float32)

    def std(self) -> Vector:
        """The std of all values, as in numpy and scikit-learn's StandardScaler: divided by n, not n - 1."""
        squares = np.zeros(self._groups)
        for block in self._blocks():
            squares += np.nansum((block - self._mean[:, None]) ** 2, (0, 2))
        std = np.sqrt(squares / self._count).astype(np.float32)
        self._refuse(self._low == self._high, "holds one value only, whose std is 0")
        largest = np.maximum(np.abs(self._low), np.abs(self._high)).astype(np.float32)
        self._refuse(
            ~np.isfinite(std) | ~np.isfinite(largest) | (std < np.spacing(largest)),
            "has values that are the same number in float32, in which mean and std are taken",
        )
        return std

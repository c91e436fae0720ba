"""Which datasets of an HDF5 file a user's samples may be made of."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .isolation import RefusalError
from .tables import Parts

_ROWS = 12  # of which labels are compared
_MOST = 4  # datasets of features that are tried


def likely(dataset: Any, path: str) -> Iterator[dict[str, Any]]:
    """Options of ArrayDataset.from_hdf5: features, the largest first, and the labels that the samples have.

    Where samples have a transform, only a comparison of batches tells which features they are made of.
    """
    h5py: Any = sys.modules.get("h5py")  # whoever reads such files has imported it
    if h5py is None:
        return
    count = len(dataset)
    rows = sorted({*np.linspace(0, count - 1, _ROWS).astype(int).tolist()})
    try:
        if not isinstance(dataset[0], (list, tuple, dict)):
            return  # an ArrayDataset of a file has no samples that are bare arrays
        samples = [Parts(dataset[row]) for row in rows]
        with h5py.File(path, "r") as file:
            known: dict[str, Any] = {}
            file.visititems(lambda name, one: known.update({name: one}) if _has_rows(one, count) else None)
            features: list[str] = sorted(known, key=lambda name: -known[name].size)[:_MOST]
            columns = {name: one[rows].reshape(-1) for name, one in known.items() if one.size == count}
    except (RefusalError, OSError, RuntimeError, ValueError):
        return
    options = {option: value for option, value in samples[0].options.items() if value != "tuple"}
    if samples[0].label is None:
        yield from ({"features": name, **options} for name in features)
        return
    labels = np.array([float(each.label) for each in samples])
    for label, column in columns.items():
        if np.array_equal(column, labels):
            yield from ({"features": name, "labels": label, **options} for name in features if name != label)


def _has_rows(one: Any, count: int) -> bool:
    shape: tuple[int, ...] = getattr(one, "shape", None) or ()
    return shape[:1] == (count,) and one.dtype.kind in "biuf"

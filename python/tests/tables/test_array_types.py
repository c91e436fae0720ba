"""ArrayDataset beside TensorDataset: every type, layout and number of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset

import gofast
from gofast import ArrayDataset
from same import difference

ROWS = 23

_NAMES = [
    *["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"],
    *["float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"],
    *["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"],
]
DTYPES = [getattr(torch, name) for name in _NAMES if hasattr(torch, name)]


def bits(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Values of any kind, NaN and infinities among them."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    raw = torch.randint(0, 256, (*shape, dtype.itemsize), dtype=torch.uint8, generator=generator)
    return raw.view(dtype).reshape(shape)


# How the rows of 3 x 4 lie in memory.
LAYOUTS: dict[str, Callable[[torch.dtype, int], Tensor]] = {
    "contiguous": lambda d, s: bits((ROWS, 3, 4), d, s),
    "with gaps": lambda d, s: bits((ROWS, 5, 4), d, s)[:, 1:4],
    "every other": lambda d, s: bits((2 * ROWS, 3, 4), d, s)[1::2],
    "transposed": lambda d, s: bits((ROWS, 4, 3), d, s).transpose(1, 2),
    "columns first": lambda d, s: bits((3, 4, ROWS), d, s).permute(2, 0, 1),
    "strided": lambda d, s: bits((ROWS, 3, 8), d, s)[:, :, ::2],
    "one row": lambda d, s: bits((1, 3, 4), d, s).expand(ROWS, 3, 4),
    "scalars": lambda d, s: bits((ROWS,), d, s),
    "strided scalars": lambda d, s: bits((ROWS, 7), d, s)[:, 3],
    "no width": lambda d, s: bits((ROWS, 0, 4), d, s),
    "films": lambda d, s: bits((ROWS, 2, 4, 4, 3), d, s).permute(0, 1, 4, 2, 3),
    "many dimensions": lambda d, s: bits((ROWS, *[1] * 5, 2, 1, 2, 3), d, s),
}


def _same(got: Any, want: Any) -> None:
    assert difference(got, want) == "", difference(got, want)


def _batches(loader: type[DataLoader[Any]], dataset: Any, **options: Any) -> Iterator[Any]:
    generator = torch.Generator().manual_seed(5)
    yield from loader(dataset, batch_size=5, shuffle=True, generator=generator, **options)


def check(arrays: tuple[Tensor, ...]) -> None:
    """Samples, many at once, and batches."""
    got, want = ArrayDataset(*arrays), TensorDataset(*arrays)
    assert len(got) == len(want)
    for index in (7, -1, slice(3, 20, 4), [5, 2, 2], np.array([4, 4]), torch.tensor(3)):
        _same(got[index], want[index])
    for loader in (DataLoader, gofast.DataLoader):
        for a, b in zip(_batches(loader, got), _batches(DataLoader, want), strict=True):
            _same(a, b)
    mixed = (ConcatDataset([Subset(ds, [3, 1, 22]), ds, Subset(ds, [])]) for ds in (got, want))
    ours, theirs = mixed
    for a, b in zip(_batches(gofast.DataLoader, ours), _batches(DataLoader, theirs), strict=True):
        _same(a, b)


def _works(arrays: tuple[Tensor, ...]) -> bool:
    try:
        list(_batches(DataLoader, TensorDataset(*arrays)))
    except (RuntimeError, TypeError):
        return False
    return True


@pytest.mark.daily(10)
@pytest.mark.arrives("device")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore:ComplexHalf support")
def test_every_type(layout: str) -> None:
    refused = []
    for dtype in DTYPES:
        arrays = LAYOUTS[layout](dtype, 1), LAYOUTS[layout](dtype, 2), LAYOUTS[layout](dtype, 3)
        if not _works(arrays):
            refused.append(dtype)
            continue
        for count in (1, 2, 3):
            check(arrays[:count])
    assert len(refused) <= 1, refused


def test_every_pair_of_layouts() -> None:
    for first, second in itertools.product(LAYOUTS, LAYOUTS):
        check((LAYOUTS[first](torch.float32, 1), LAYOUTS[second](torch.int32, 2)))


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"],
)
def test_numpy_arrays_are_what_torch_makes_of_them(dtype: str) -> None:
    raw = np.random.default_rng(0).integers(0, 2, (ROWS, 6, 4 * np.dtype(dtype).itemsize), np.uint8)
    x = raw.view(dtype)
    for given in (x, x[:, 1:5, ::2], np.asfortranarray(x), x[::3], x.transpose(0, 2, 1)):
        tensor = torch.from_numpy(given)
        got, want = ArrayDataset(given, given[:, 0, 0], given), TensorDataset(tensor, tensor[:, 0, 0], tensor)
        _same(got[1], want[1])
        _same(got[[2, 1, 1]], want[[2, 1, 1]])
        for a, b in zip(_batches(gofast.DataLoader, got), _batches(DataLoader, want), strict=True):
            _same(a, b)


class InFile:
    """As h5py's Dataset: numpy would read all of it."""

    __module__ = "h5py._hl.dataset"
    shape, dtype, chunks = (10, 3), np.dtype("float32"), None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("it was read")


class InParts(InFile):
    """As xarray's DataArray over dask's arrays."""

    __module__ = "xarray.core.dataarray"
    chunks: Any = ((5, 5), (3,))


class InMemory:
    """As xarray's DataArray over numpy's."""

    __module__ = "xarray.core.dataarray"
    shape, dtype, chunks = (3,), np.dtype("float64"), None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1.0, 2.0, 3.0])


class Chunked(np.ndarray[Any, Any]):
    chunks = (2, 3)


@pytest.mark.parametrize(
    "given",
    [
        pyarrow.chunked_array([[1.0, 2.0], [3.0]]),
        pandas.DataFrame({"chunks": [1.0, 2.0, 3.0]}),
        np.array([1.0, 2.0, 3.0]).view(Chunked),
        InMemory(),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_has_chunks_in_memory_is_taken_as_numpy_reads_it(given: Any) -> None:
    _same(ArrayDataset(given)[[0, 2]], TensorDataset(torch.from_numpy(np.array(given)))[[0, 2]])


def test_arrays_that_are_refused_say_what_to_give() -> None:
    for given, hint in (
        (
            InFile(),
            r"h5py's InFile of shape \(10, 3\) is not in memory: give numpy\.asarray of it",
        ),
        (InParts(), r"xarray's InParts of shape \(10, 3\) is not in memory"),
        (np.array(["a", "b"]), r"numpy\.unique\(x, return_inverse=True\)"),
        ("x.npy", r"gofast\.TableDataset opens a path"),
        (np.zeros(3, np.dtype("f4").newbyteorder()), r"newbyteorder"),
    ):
        with pytest.raises(gofast.errors.UnsupportedError, match=hint):
            ArrayDataset(given)  # type: ignore[arg-type]


def test_what_only_torch_can_stack() -> None:
    real = bits((ROWS, 3), torch.complex64).nan_to_num()
    for x in (real.conj(), real.conj().imag, torch.nn.Parameter(bits((ROWS, 2), torch.float32)).detach()):
        check((x, x))
    sparse = ArrayDataset(torch.eye(4).to_sparse())
    _same(sparse[2][0].to_dense(), torch.eye(4)[2])
    meta = next(iter(DataLoader(ArrayDataset(torch.zeros(3, 2, device="meta")), batch_size=2)))
    assert meta[0].device.type == "meta" and meta[0].shape == (2, 2)

"""npy and npz against numpy."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from gofast import TableDataset, errors
from reference import assert_same, stored

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
KINDS = [*INTEGERS, "f2", "f4", "f8", "b1"]


def values(kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Values over most of the type's range that a float64 holds exactly."""
    rng = np.random.default_rng(4)
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    bits = min(8 * dtype.itemsize - (dtype.kind == "i"), 53)
    low = -(1 << bits) + 1 if dtype.kind == "i" else 0
    return rng.integers(low, (1 << bits) - 1, shape).astype(dtype)


def save(path: Path, x: npt.NDArray[Any], version: tuple[int, int] = (1, 0)) -> Path:
    with open(path, "wb") as file:
        np.lib.format.write_array(file, x, version=version)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_types_and_orders(kind: str, order: Any, endian: str, tmp_path: Path) -> None:
    x = values(kind, (300, 33)).astype(endian + kind, order=order)
    path = save(tmp_path / "x.npy", x)
    assert_same(stored(path), torch.from_numpy(x.astype(np.float64, order="C")))
    assert_same(
        stored(path, columns=[5, -1, 0]), torch.from_numpy(x[:, [5, -1, 0]].astype(np.float64, order="C"))
    )


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("shape", [(50,), (50, 1), (50, 28, 28), (50, 4, 3, 2), (1, 5), (5, 1, 1, 1, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_versions_and_shapes(
    version: tuple[int, int], shape: tuple[int, ...], order: Any, tmp_path: Path
) -> None:
    x = values("u1", shape).copy(order=order)
    ds = TableDataset(
        save(tmp_path / "x.npy", x, version), label=None, dtype=torch.uint8, output="tuple", scale=None
    )
    sample = shape[1:] or (1,)
    assert ds.shape == sample
    assert_same(ds[:][0], torch.from_numpy(x.copy(order="C")).reshape(-1, *sample))


def test_larger_than_a_block(tmp_path: Path) -> None:
    for order in ("C", "F"):
        x = np.random.default_rng(1).integers(0, 256, (20_000, 300), dtype=np.uint8).copy(order=order)  # type: ignore[call-overload]
        ds = TableDataset(save(tmp_path / "x.npy", x), label=0, dtype=torch.uint8, scale=None)
        assert_same(
            ds[:],
            {
                "features": torch.from_numpy(x[:, 1:].copy("C")),
                "label": torch.from_numpy(x[:, 0].astype(np.int64)),
            },
        )


def test_unsigned_beyond_int64(tmp_path: Path) -> None:
    """Floats are rounded once, as numpy does; no integer type holds it."""
    x = np.array([[1, 2], [3, 2**63 + 2**40 + 1]], np.uint64)
    path = save(tmp_path / "x.npy", x)
    for dtype in (torch.float32, torch.float64):
        want = torch.from_numpy(x.astype(str(dtype)[6:]))
        assert torch.equal(TableDataset(path, label=None, dtype=dtype)[:]["features"], want)
    with pytest.raises(errors.BadValueError) as caught:
        TableDataset(path, label=None, dtype=torch.int64)
    assert (caught.value.row, caught.value.column) == (1, "1")


def test_nan_is_missing(tmp_path: Path) -> None:
    for kind in ("f2", "f4", "f8"):
        path = save(tmp_path / "x.npy", np.array([[1, 2], [3, np.nan]], kind))
        with pytest.raises(errors.MissingValueError) as caught:
            stored(path)
        assert (caught.value.row, caught.value.column) == (1, "1")
        assert_same(stored(path, fill_value=0.5), torch.tensor([[1, 2], [3, 0.5]], dtype=torch.float64))


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz(write: Any, order: Any, tmp_path: Path) -> None:
    x = values("u1", (200, 28, 28)).copy(order=order)
    y = np.arange(200) % 10
    path = tmp_path / "x.npz"
    write(path, image=x, label=y)
    ds = TableDataset(path, dtype=torch.uint8, scale=None)
    assert ds.shape == (28, 28)
    assert_same(ds[:], {"features": torch.from_numpy(x.copy("C")), "label": torch.from_numpy(y)})
    write(path, image=x, target=y, weight=y * 0.5)
    ds = TableDataset(path, label="target", columns=["image"], dtype=torch.uint8, scale=None)
    assert_same(ds[:], {"features": torch.from_numpy(x.copy("C")), "label": torch.from_numpy(y)})
    assert_same(
        TableDataset(path, label="weight", columns=["image"]).targets, torch.from_numpy(y * 0.5).float()
    )
    with pytest.raises(errors.SchemaError, match="columns="):
        TableDataset(path, label="target")


def test_npz_like_mnist(tmp_path: Path) -> None:
    path = tmp_path / "mnist.npz"  # as keras has it: two tables in one file
    np.savez(
        path,
        x_train=values("u1", (6, 28, 28)),
        y_train=np.arange(6),
        x_test=values("u1", (2, 28, 28)),
        y_test=np.arange(2),
    )
    with pytest.raises(errors.SchemaError, match="x_t"):
        TableDataset(path)


def test_npz_with_text_labels(tmp_path: Path) -> None:
    names = np.array(["dog", "cat", "zürich", "dog"])
    for labels in (names, np.char.encode(names, "utf-8"), names.astype(">U6")):
        np.savez(tmp_path / "x.npz", x=np.arange(8).reshape(4, 2), label=labels)
        ds = TableDataset(tmp_path / "x.npz")
        assert ds.classes == ["cat", "dog", "zürich"]
        assert_same(ds.targets, torch.tensor([1, 0, 2, 1]))


def test_npz_columns_of_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.arange(4), b=np.arange(4) * 0.5, label=np.arange(4) > 1)
    ds = TableDataset(tmp_path / "x.npz")
    assert_same(
        ds[:],
        {"features": torch.tensor([[0, 0], [1, 0.5], [2, 1], [3, 1.5]]), "label": torch.tensor([0, 0, 1, 1])},
    )


def test_several_files(tmp_path: Path) -> None:
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.full((4, 5), i * 100))
    want = torch.repeat_interleave(torch.tensor([0.0, 100, 200]), 4)[:, None].expand(12, 5).to(torch.float64)
    assert_same(stored(tmp_path), want.contiguous())
    np.save(tmp_path / "3.npy", np.zeros((4, 6)))
    with pytest.raises(errors.SchemaError, match=r"3\.npy"):
        stored(tmp_path)


def test_no_rows(tmp_path: Path) -> None:
    assert stored(save(tmp_path / "x.npy", np.zeros((0, 5)))).shape == (0, 5)


# ------------------------------------------------------------------ what is refused


def header(text: bytes, version: int = 1) -> bytes:
    """A header of version 1, 2 or 3, or of 1.1 as 0x101."""
    size = struct.pack("<H" if version & 15 == 1 else "<I", len(text))
    return b"\x93NUMPY" + struct.pack("<H", version) + size + text


def told(descr: str = "'<f8'", shape: str = "(1,)", more: str = "'fortran_order': False, ") -> bytes:
    """What a header says."""
    return f"{{'descr': {descr}, {more}'shape': {shape}, }}\n".encode()


BOTH = told()
ONCE = "'fortran_order': False, "
REFUSED_BY_NUMPY = {
    "a header over 10,000 bytes": (1, BOTH + b" " * 10_000),
    "version 1.1": (0x101, BOTH),
    "a zero before a number": (1, told(shape="(01,)")),
    "longs after Python 2": (3, told(shape="(1L,)")),
    "an indented second line": (1, b"\n " + BOTH),
    "no dictionary": (1, b"[" + BOTH + b"]"),
    "a key too many": (1, told(more=ONCE + "'more': 1, ")),
    "0 for False": (1, told(more="'fortran_order': 0, ")),
    "a list": (1, told(shape="[1]")),
    "a number": (1, told(shape="(1)")),
    "a real": (1, told(shape="(1.0,)")),
    "text after it": (1, BOTH + b"x"),
}
READ_BY_NUMPY = {
    "lines of Windows": (1, BOTH.replace(b"\n", b"\r\n").replace(b", ", b",\r\n")),
    "empty lines before it": (2, b" \n\n" + BOTH),
    "longs of Python 2": (1, told(shape="(1L,)")),
    "another order": (3, b"{'shape':(1,),'fortran_order':True,'descr':'<f8'}"),
    "no order of bytes": (1, told("'|f8'")),
    "double quotes": (1, BOTH.replace(b"'", b'"')),
}


@pytest.mark.filterwarnings("ignore:.*created on Python 2")
@pytest.mark.parametrize("name", [*REFUSED_BY_NUMPY, *READ_BY_NUMPY])
def test_headers_as_numpy(name: str, tmp_path: Path) -> None:
    version, text = {**REFUSED_BY_NUMPY, **READ_BY_NUMPY}[name]
    (tmp_path / "x").write_bytes(header(text, version) + struct.pack("<d", 0.5))
    if name in READ_BY_NUMPY:
        assert np.load(tmp_path / "x").tolist() == stored(tmp_path / "x").flatten().tolist() == [0.5]
        return
    with pytest.raises(ValueError):
        np.load(tmp_path / "x")
    with pytest.raises(errors.GofastError) as caught:
        stored(tmp_path / "x")
    assert caught.value.path == str(tmp_path / "x")


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(errors.UnsupportedError, match="pickle"):
        stored(tmp_path / "x.npy")


def test_trailing_bytes_and_missing_bytes(tmp_path: Path) -> None:
    whole = save(tmp_path / "x.npy", np.arange(10.0)).read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-1])
    with pytest.raises(errors.DamagedError):
        stored(tmp_path / "short.npy")
    # numpy would read the first array of such a file and say nothing of the rest
    (tmp_path / "long.npy").write_bytes(whole + b"more")
    with pytest.raises(errors.DamagedError, match="4 bytes follow"):
        stored(tmp_path / "long.npy")

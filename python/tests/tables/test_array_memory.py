"""ArrayDataset and its arrays' memory: nothing is copied before a sample is made."""

from __future__ import annotations

import copy
import errno
import fcntl
import gc
import os
import pickle
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

import gofast
from gofast import ArrayDataset, errors
from gofast._core.descriptors import OwnedDescriptors, seal
from in_threads import in_threads
from reference import assert_same
from test_array_types import DTYPES, LAYOUTS

LOADERS = pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader], ids=["torch", "gofast"])


def both(*arrays: Any) -> tuple[ArrayDataset, TensorDataset]:
    return ArrayDataset(*arrays), TensorDataset(*(torch.as_tensor(a) for a in arrays))


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "no width"])
@pytest.mark.filterwarnings("ignore:ComplexHalf support")
def test_a_change_shows_in_the_next_sample(layout: str) -> None:
    for dtype in DTYPES:
        if dtype == torch.complex32:
            continue  # torch cannot compare them
        arrays = [LAYOUTS[layout](dtype, seed) for seed in (1, 2, 3)]
        ds = ArrayDataset(*arrays)
        ds[3], ds[:4], ds.__getitems__([1, 2])[0], default_collate(ds.__getitems__([1, 2]))
        for x in arrays:
            x[1] = torch.zeros((), dtype=torch.float32).to(dtype)
            x[2] = torch.ones((), dtype=torch.float32).to(dtype)
        for i, x in enumerate(arrays):
            want = x[[2, 1]].to(torch.complex128)
            for got in (ds[[2, 1]][i], default_collate(ds.__getitems__([2, 1]))[i]):
                assert torch.equal(got.to(torch.complex128), want), (dtype, i)
            assert ds[2][i].data_ptr() == x[2].data_ptr()


def test_numpy_changes_show() -> None:
    x, y, z = np.zeros((3, 8), np.float32)[:, ::2], np.zeros(3, np.int16), np.zeros((3, 2, 2), bool)
    ds = ArrayDataset(x, y, z)
    loader = DataLoader(ds, batch_size=3)
    list(loader), ds[1]
    x[1], y[1], z[1] = 5, 6, True
    want = [torch.from_numpy(np.array(a)) for a in (x, y, z)]
    assert_same(next(iter(loader)), want)
    assert_same(ds[1], tuple(w[1] for w in want))
    ds[2][0].fill_(9)  # and the other way round, as with TensorDataset
    assert x[2, 3] == 9


@pytest.mark.parametrize("move", ["share", "resize", "data"])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_memory_that_torch_moves(move: str, loader: Any) -> None:
    x, y = torch.zeros(64, 500), torch.zeros(64, dtype=torch.int32)
    got, want = both(x, y)
    junk = []
    for epoch in range(3):
        for a, b in zip(loader(got, batch_size=16), DataLoader(want, batch_size=16), strict=True):
            assert_same(a, b)
        for tensor in (x, y):
            if move == "share" and epoch == 0:
                tensor.share_memory_()
            elif move == "resize":
                tensor.untyped_storage().resize_(tensor.untyped_storage().nbytes() * 8)
            elif move == "data":
                tensor.data = tensor.data.clone()
            tensor += 1
        junk.append([torch.full((64, 500), 77.0) for _ in range(5)])
    assert_same(got[5], want[5])


def test_another_shape_is_an_error() -> None:
    x = torch.zeros(8, 3)
    ds = ArrayDataset(x)
    next(iter(DataLoader(ds, batch_size=2)))
    x.data = torch.zeros(4, 3)
    with pytest.raises(errors.SchemaError, match="make a new dataset"):
        next(iter(DataLoader(ds, batch_size=2)))


def other_strides(x: torch.Tensor) -> None:
    x.data = torch.arange(200.0).reshape(20, 10)[::2]


@LOADERS
@pytest.mark.parametrize("warm", [True, False])
def test_memory_with_other_strides_is_laid_out_anew(loader: Any, warm: bool) -> None:
    x, y = torch.zeros(10, 10), torch.arange(10)
    got, want = both(x, y)
    if warm:
        list(loader(got, batch_size=4))
    other_strides(x)
    y.data = torch.arange(30)[::3]
    for a, b in zip(loader(got, batch_size=4), DataLoader(want, batch_size=4), strict=True):
        assert_same(a, b)


BECOMES: dict[str, Any] = {
    "half": lambda x: x.data.half(),
    "double": lambda x: x.data.double(),
    "as many bytes": lambda x: x.data.int(),
    "transposed": lambda x: x.data.t(),
    "one row": lambda x: x.data[:1].expand(8, 8),
}


@LOADERS
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("how", BECOMES)
def test_what_the_kernel_would_misread_is_an_error(how: str, position: int, loader: Any, warm: bool) -> None:
    arrays = [torch.rand(8, 8), torch.rand(8, 8)]
    ds = ArrayDataset(*arrays)
    if warm:
        list(loader(ds, batch_size=4))
    arrays[position].data = BECOMES[how](arrays[position])
    for _ in range(2):  # and again: nothing half laid out is left
        with pytest.raises(errors.SchemaError, match=f"array {position} .*make a new dataset"):
            list(loader(ds, batch_size=4))


def test_another_type_is_not_converted_in_silence() -> None:
    x = torch.ones(4, 6, dtype=torch.uint8)[:, ::2]  # which torch gathers
    ds = ArrayDataset(x, dtype=torch.int16)
    x.data = torch.full((4, 3), 1 << 20)
    with pytest.raises(errors.SchemaError, match="array 0 was of type"):
        ds[0]
    with pytest.raises(errors.SchemaError, match="array 0 was of type"):
        list(DataLoader(ds, batch_size=2))


@LOADERS
@pytest.mark.parametrize("workers", [0, 2])
def test_memory_that_was_replaced_is_let_go(loader: Any, workers: int) -> None:
    if loader is DataLoader and workers:
        pytest.skip("the processes have their own")
    x = torch.zeros(64, 8)
    got, want = both(x, torch.arange(64))
    batches = loader(got, batch_size=4, num_workers=workers)
    old = []
    for epoch in range(4):
        for a, b in zip(batches, DataLoader(want, batch_size=4), strict=True):
            assert_same(a, b)
        owner = np.full((64, 8), epoch, np.float32)
        old.append(weakref.ref(owner))
        x.data = torch.from_numpy(owner)
        del owner
    list(batches)
    gc.collect()
    assert [ref() is None for ref in old] == [True, True, True, False]


def test_read_only_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.int16).reshape(4, 3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = ArrayDataset(mapped, np.broadcast_to(np.float16(2), 4))
    ds[1][0].fill_(7)  # a copy: the file's pages would end the process
    ds[1:3][0].fill_(7)
    for row in ds.__getitems__([0, 1]):
        row[0].fill_(7)
    assert_same(ds[1], (torch.tensor([3, 4, 5], dtype=torch.int16), torch.tensor(2.0).half()))

    def doubled(rows: Any) -> Any:
        for row in rows:
            row[0].mul_(2)
        return default_collate(rows)

    (batch,) = DataLoader(ds, batch_size=4, collate_fn=doubled)
    assert_same(batch[0], torch.arange(0, 24, 2, dtype=torch.int16).reshape(4, 3))
    written = np.load(tmp_path / "x.npy", mmap_mode="r+")
    ds = ArrayDataset(written)
    ds[1][0].fill_(7)
    assert np.load(tmp_path / "x.npy")[1].tolist() == [7, 7, 7]


def test_rows_in_a_collate_function_are_tensor_datasets() -> None:
    """Views of the arrays: what is written to them stays, and one that is kept keeps no batch."""
    seen: list[list[Any]] = []
    for kind in (ArrayDataset, TensorDataset):
        x, y, z = torch.zeros(6, 2), torch.arange(6, dtype=torch.int8), torch.ones(6, 1, 3)
        dataset: Dataset[Any] = kind(x, y, z)

        kept: list[torch.Tensor] = []

        def collate(rows: Any, kept: list[torch.Tensor] = kept) -> Any:
            for row in rows:
                row[0].add_(row[1])
            kept.append(rows[0][0])
            return default_collate(rows)

        batches = [b for _ in range(2) for b in DataLoader(dataset, batch_size=4, collate_fn=collate)]
        seen.append([*batches, x])
        assert all(row.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for row in kept)
    assert_same(*seen)


def test_gradients_stay_behind() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    ds = ArrayDataset(x, torch.ones(3, 2, requires_grad=True)[:, ::2], x)
    for batch in (ds[0], ds[:], ds[[1, 2]], *DataLoader(ds, batch_size=2)):
        assert not any(t.requires_grad for t in batch)
    with torch.no_grad():
        x += 1
    assert_same(ds[1][0], torch.full((2,), 2.0))
    assert ds.tensors[0] is x


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies_of_three(duplicate: Any) -> None:
    x = np.arange(24, dtype=np.float16).reshape(4, 3, 2)
    ds = ArrayDataset(x, torch.arange(4), torch.ones(4, 2, dtype=torch.bool))
    list(DataLoader(ds, batch_size=2))
    again = duplicate(ds)
    assert_same(list(DataLoader(again, batch_size=3)), list(DataLoader(ds, batch_size=3)))
    assert (again.tensors[0].data_ptr() == ds.tensors[0].data_ptr()) == (duplicate is copy.copy)
    options: dict[str, Any] = {"mean": 0.5, "std": 2, "keys": ("x", "y"), "output": "dict", "one_hot": 4}
    ds = ArrayDataset(x.astype(np.float32), np.arange(4), **options)
    again = duplicate(ds)
    assert_same((again[:], again[1]), (ds[:], ds[1]))


class FirstOnly(Dataset[Any]):
    def __init__(self, inner: ArrayDataset) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, index: int) -> Any:
        return self.inner[index][0]


class Shorter(ArrayDataset):
    """Says that it has fewer rows than its arrays."""

    def __len__(self) -> int:
        return 4


@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_subclass_that_is_shorter(scale: Any) -> None:
    x = torch.arange(20, dtype=torch.uint8).reshape(10, 2)
    ds = Shorter(x, torch.arange(10), x[:, ::2], scale=scale)
    # Without options -1 is the arrays' last row in a sample, as TensorDataset has it.
    for wanted in [[3, 0]] if scale is None else [[-1, 0], [2, -4, 3]]:
        batch = default_collate(ds.__getitems__(wanted))
        assert_same(batch, [torch.stack([ds[i][k] for i in wanted]) for k in range(3)])
    with pytest.raises(IndexError):
        default_collate(ds.__getitems__([5]))


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_that_are_not_forked_share_tensors_with_us(method: str) -> None:
    x = torch.zeros(4, 3)
    ds = ArrayDataset(x, np.zeros(4))
    options: dict[str, Any] = {"num_workers": 1, "multiprocessing_context": method, "batch_size": 4}
    assert_same(list(DataLoader(ds, **options)), [[torch.zeros(4, 3), torch.zeros(4, dtype=torch.float64)]])
    assert x.is_shared()  # torch moved it, and gave the memory back that we knew
    x += 1
    assert_same(next(iter(DataLoader(ds, batch_size=4)))[0], torch.ones(4, 3))
    assert_same(next(iter(DataLoader(FirstOnly(ds), batch_size=4))), torch.ones(4, 3))


def test_threads() -> None:
    x = torch.arange(4000.0).reshape(1000, 4)
    ds = ArrayDataset(x, x[:, 0].int(), x[:, ::2])
    wrong: list[Any] = []

    def read() -> None:
        for first, second, third in DataLoader(ds, batch_size=50, shuffle=True, generator=torch.Generator()):
            if not (torch.equal(first[:, 0].int(), second) and torch.equal(first[:, ::2], third)):
                wrong.append(first)

    in_threads(*[read] * 4)
    assert not wrong


def test_memory_is_sealed_by_a_system_that_knows_fewer_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux before 5.1."""
    real = fcntl.fcntl

    def of_old(fd: int, what: int, given: int = 0) -> int:
        if what == fcntl.F_ADD_SEALS and given & ~0xF:
            raise OSError(errno.EINVAL, "no such seal")
        return real(fd, what, given)

    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    owned = OwnedDescriptors(fd)
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "fcntl", of_old)
        seal(fd)
    assert owned.has(fd) and fcntl.fcntl(fd, fcntl.F_GET_SEALS) == 0x7
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 10)

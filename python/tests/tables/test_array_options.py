"""ArrayDataset's options and indices, beside torch's TensorDataset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset

import gofast
from gofast import ArrayDataset, errors
from reference import assert_same

LOADERS = [DataLoader, gofast.DataLoader]


def three() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.arange(24.0).reshape(6, 4), torch.arange(6, dtype=torch.int16), torch.ones(6, 2).bool()


MASK = [True, False, True, True, False, False]
INDEXES: list[Any] = [
    MASK,
    torch.tensor(MASK),
    np.array(MASK),
    True,
    None,
    ...,
    slice(None, None, 2),
    slice(9, 20),
]
INDEXES += [np.int64(-2), torch.tensor(4), (slice(1, 3), 1), np.array([0, 5, -6], np.int16)]
INDEXES += [torch.tensor([-1, 3], dtype=torch.int32), np.array([], np.int64), []]


@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_any_index_does_what_it_does_to_tensor_dataset(index: Any) -> None:
    x, y = torch.arange(24.0).reshape(6, 4), torch.arange(12).reshape(6, 2)
    got, want = ArrayDataset(x, y)[index], TensorDataset(x, y)[index]
    assert type(got) is type(want)
    assert_same(got, want)


@pytest.mark.parametrize("index", [1.5, "1", torch.tensor([0.5]), 6, -7, [6], np.array([7]), {}])
def test_what_tensor_dataset_refuses(index: Any) -> None:
    arrays = three()
    with pytest.raises(Exception) as want:
        TensorDataset(*arrays)[index]
    with pytest.raises(want.type):
        ArrayDataset(*arrays)[index]


def test_a_list_that_reaches_beyond_the_rows_is_an_error_of_its_batch() -> None:
    ds = ArrayDataset(*three())
    batch = ds.__getitems__([0, 9])
    with pytest.raises(errors.RowIndexError, match="index 9"):
        batch[0]  # torch would have raised before there was a batch
    with pytest.raises(errors.RowIndexError, match="index 9"):
        torch.utils.data.default_collate(batch)
    with pytest.raises(errors.RowIndexError, match="index 9"):
        list(batch)
    strided = ArrayDataset(three()[0][:, ::2])
    with pytest.raises(errors.RowIndexError, match="index -7"):
        torch.utils.data.default_collate(strided.__getitems__([0, -7]))


def test_what_it_is_made_of() -> None:
    arrays = three()
    ds = ArrayDataset(*arrays)
    assert all(a is b for a, b in zip(ds.tensors, arrays, strict=True)) and ds.targets is arrays[1]
    assert repr(ds).startswith("ArrayDataset(6 rows of float32 [4] in C, int16 [] in C, bool [2] by torch;")
    assert "float32 [2] by torch" in repr(ArrayDataset(arrays[0][:, ::2]))
    x = np.zeros((3, 2), np.float16)
    assert ArrayDataset(x).tensors[0].data_ptr() == x.ctypes.data
    assert_same(ArrayDataset(x).targets, torch.full((3,), -1))


def test_what_runs_where() -> None:
    x, y, z = three()
    report = gofast.explain(ArrayDataset(x, y, z, x[:, ::2]))
    lines = [line.split() for line in report.splitlines()]
    assert [line[2] for line in lines if line[0] == "array"] == ["C", "C", "torch", "torch"], report
    for arrays, why in [
        ((x[:, ::2],), "array 0: a row's values do not stand side by side"),
        ((x, y.new_zeros(6, 0), x.to_sparse()), "array 2: only torch can stack its rows"),
        ((x[:, :0],), "array 0: its rows have no values"),
    ]:
        assert f"torch's own machinery: {why}" in gofast.explain(ArrayDataset(*arrays))


@pytest.mark.parametrize("loader", LOADERS)
def test_names_for_every_array(loader: Any) -> None:
    arrays = three()
    ds = ArrayDataset(*arrays, output="dict", keys=("x", "y", "z"))
    want = dict(zip(("x", "y", "z"), arrays, strict=True))
    assert_same(next(iter(loader(ds, batch_size=6))), want)
    assert_same(ds[2], {k: v[2] for k, v in want.items()})
    assert_same(ds[1:3], {k: v[1:3] for k, v in want.items()})
    assert list(ArrayDataset(arrays[0], output="dict", keys=("x",))[0]) == ["x"]
    for keys in (("a", "b"), ("a", "b", "b"), None):
        with pytest.raises(errors.OptionError, match="give 3 different names"):
            ArrayDataset(*arrays, output="dict", keys=keys)


@pytest.mark.arrives("device")
@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("strided", [False, True])
def test_arithmetic_on_one_of_several(loader: Any, strided: bool) -> None:
    nhwc = torch.randint(0, 256, (20, 4, 5, 3), dtype=torch.uint8)
    x = nhwc.permute(0, 3, 1, 2) if strided else nhwc.permute(0, 3, 1, 2).contiguous()
    y, z = torch.arange(20, dtype=torch.int8), torch.arange(40).reshape(20, 2)
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    ds = ArrayDataset(x, y, z, scale="unit", mean=mean, std=std)
    stats = [torch.tensor(v).reshape(3, 1, 1) for v in (mean, std)]
    want = [(x / 255 - stats[0]) / stats[1], y, z]
    (batch,) = loader(ds, batch_size=20)
    assert_same(batch, want)
    assert_same(ds[3], tuple(w[3] for w in want))
    assert_same(ds[[3, 4]], [w[[3, 4]] for w in want])
    assert_same(ds[3:3], [w[3:3] for w in want])
    x[3] = 0
    assert_same(ds[3][0], ((x / 255 - stats[0]) / stats[1])[3])
    half = ArrayDataset(x, y, dtype=torch.float16)
    assert_same(half[[1, 2]], [x[[1, 2]].half(), y[[1, 2]]])
    for wrong in ({"mean": [1, 2], "std": [1, 2]}, {"mean": 0, "std": 0}, {"mean": 1}):
        with pytest.raises(errors.OptionError):
            ArrayDataset(x, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool, torch.int8, torch.complex64, torch.uint16])
def test_arithmetic_is_for_types_that_the_kernel_knows(dtype: torch.dtype) -> None:
    x = torch.ones(3, 2).to(dtype)
    for options in ({"mean": 0.5, "std": 1}, {"dtype": torch.float32}, {"scale": "unit"}):
        with pytest.raises(errors.UnsupportedError, match=str(dtype)):
            ArrayDataset(x, **options)  # type: ignore[arg-type]
    with pytest.raises(errors.UnsupportedError, match="features"):
        ArrayDataset(torch.ones(3, 2, device="meta"), dtype=torch.float16)


@pytest.mark.arrives("device")
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.int8, torch.uint16])
@pytest.mark.parametrize("loader", LOADERS)
def test_one_hot_of_any_integers(dtype: torch.dtype, loader: Any) -> None:
    x, wide = torch.zeros(6, 2), torch.tensor([[0, 1, 2, 0, 1, 2], [9] * 6]).to(dtype).t()
    for labels in (wide[:, 0], wide[:, 0].contiguous(), wide[:, :1]):
        y = labels.clone() if labels.is_contiguous() else labels
        ds = ArrayDataset(x, y, one_hot=3)
        want = torch.eye(3)[labels.reshape(-1).long()]
        (batch,) = loader(ds, batch_size=6)
        assert_same(batch, [x, want])
        assert_same(ds[2], (x[2], want[2]))
    y = wide[:, 0].contiguous()
    ds = ArrayDataset(x, y, one_hot=3)
    y[4] = 3
    for ask in (lambda: ds[4], lambda: ds[[4]], lambda: list(loader(ds, batch_size=4))):
        with pytest.raises(errors.UnknownLabelError, match="one_hot"):
            ask()
    with pytest.raises(errors.BadValueError, match="row 4: label 3"):
        ArrayDataset(x, y, one_hot=3)


def test_one_hot_of_what_is_no_class() -> None:
    x = torch.zeros(6, 2)
    for y in (torch.zeros(6), torch.zeros(6, 2, dtype=torch.int64), torch.zeros(6, dtype=torch.complex64)):
        with pytest.raises(errors.OptionError, match="one_hot"):
            ArrayDataset(x, y, one_hot=3)
    with pytest.raises(errors.OptionError, match="one_hot"):
        ArrayDataset(x, one_hot=3)


def test_another_shape() -> None:
    x, y, z = three()
    for features in (x, x.bfloat16(), x.t().contiguous().t(), x.to(torch.complex128)):
        ds = ArrayDataset(features, y, z, shape=(2, -1))
        assert_same(ds[3], (features[3].reshape(2, 2), y[3], z[3]))
        for loader in LOADERS:
            assert_same(next(iter(loader(ds, batch_size=6))), [features.reshape(6, 2, 2), y, z])


def test_callables() -> None:
    x, y, z = three()
    ds = ArrayDataset(x, y, z, transform=lambda v: v + 1, target_transform=lambda v: v * 2)
    want = [x + 1, y * 2, z]
    assert_same(ds[1], tuple(w[1] for w in want))
    assert_same(next(iter(DataLoader(ds, batch_size=6))), want)
    whole = ArrayDataset(x, y, z, batch_transform=lambda v: v.flip(1))
    assert_same(next(iter(DataLoader(whole, batch_size=6))), [x.flip(1), y, z])
    assert_same(whole[2], (x[2].flip(0), y[2], z[2]))


def test_datasets_that_differ_are_torchs_to_join() -> None:
    x, y, z = three()
    parts = [ArrayDataset(x, y), ArrayDataset(x, y.long())]
    for loader in LOADERS:
        got = loader(ConcatDataset(parts), batch_size=4)
        want = DataLoader(ConcatDataset([TensorDataset(*p.tensors) for p in parts]), batch_size=4)
        try:
            wanted = list(want)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=str(error)[:20]):
                list(got)
        else:
            assert_same(list(got), wanted)
    same = ConcatDataset([ArrayDataset(x, y, z), Subset(ArrayDataset(x + 1, y, ~z), [5, 0])])
    want = ConcatDataset([TensorDataset(x, y, z), Subset(TensorDataset(x + 1, y, ~z), [5, 0])])
    for a, b in zip(gofast.DataLoader(same, batch_size=3), DataLoader(want, batch_size=3), strict=True):
        assert_same(a, b)


def test_rows_without_values_have_no_mean() -> None:
    with pytest.raises(errors.OptionError, match="no values"):
        ArrayDataset(torch.zeros(3, 0), mean="auto", std="auto")


def test_rows_of_more_dimensions_than_the_core_lays_out() -> None:
    x = torch.arange(3 * 2 * 3, dtype=torch.uint8).reshape(3, 2, *[1] * 7, 3)
    ds = ArrayDataset(x, scale="unit", mean=[0.25, 0.5], std=[0.5, 0.25])
    mean, std = (torch.tensor(v).reshape(2, *[1] * 8) for v in ([0.25, 0.5], [0.5, 0.25]))
    want = (x / 255 - mean) / std
    assert_same(ds[1], (want[1],))
    assert_same(next(iter(DataLoader(ds, batch_size=3))), [want])

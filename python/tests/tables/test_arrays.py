"""ArrayDataset against torch's TensorDataset."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

import gofast
from gofast import ArrayDataset, errors
from gofast._core import engine
from reference import assert_same, assert_same_batches


def arrays(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    images = torch.randint(0, 256, (100, 2, 3, 4), generator=generator).to(dtype)
    return images, torch.randint(0, 10, (100,), generator=generator)


@pytest.mark.arrives("device")
@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64]
)
@pytest.mark.parametrize("workers", [0, 1])
def test_batches_are_tensor_datasets(dtype: torch.dtype, workers: int) -> None:
    images, labels = arrays(dtype)
    got, want = ArrayDataset(images, labels), TensorDataset(images, labels)
    assert len(got) == len(want)
    assert_same(got[7], want[7])
    assert_same(got[-1], want[-1])
    assert_same(tuple(got[3:20:4]), want[3:20:4])
    assert_same(tuple(got[[5, 2, 2]]), want[[5, 2, 2]])
    assert_same_batches(got, want, batch_size=16, shuffle=True, num_workers=workers)
    assert_same_batches(
        ConcatDataset([Subset(got, [3, 1]), got]), ConcatDataset([Subset(want, [3, 1]), want]), batch_size=7
    )


def test_features_alone() -> None:
    images, _ = arrays()
    got, want = ArrayDataset(images), TensorDataset(images)
    assert_same(got[3], want[3])
    assert_same_batches(got, want, batch_size=16, shuffle=True)


@pytest.mark.parametrize("shape", [(100,), (100, 3)])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
def test_labels_of_several_columns(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    images, _ = arrays()
    labels = torch.arange(np.prod(shape)).reshape(shape).to(dtype) / 4
    labels = labels.to(dtype)
    assert_same_batches(
        ArrayDataset(images, labels), TensorDataset(images, labels), batch_size=9, shuffle=True
    )
    assert_same(ArrayDataset(images, labels)[4], TensorDataset(images, labels)[4])
    assert_same(ArrayDataset(images, labels).targets, labels)


def test_numpy_and_odd_memory_orders() -> None:
    x = np.arange(60, dtype=np.int16).reshape(5, 3, 4)
    labels = np.arange(10)[::2]
    for given in (
        x,
        np.asfortranarray(x),
        x[:, ::2, 1::2],
        x.transpose(0, 2, 1),
        np.broadcast_to(x[:1], (5, 3, 4)),
    ):
        ds = ArrayDataset(given, labels)
        assert_same(ds[:], (torch.from_numpy(np.array(given)), torch.from_numpy(labels.copy())))
        assert_same(ds[2][0], torch.from_numpy(np.array(given[2])))


def test_scalars_as_samples() -> None:
    x = torch.arange(5.0)
    ds = ArrayDataset(x, x)
    assert_same(ds[2], TensorDataset(x, x)[2])
    assert_same_batches(ds, TensorDataset(x, x), batch_size=2)


def test_changed_arrays_change_the_samples() -> None:
    x = np.zeros((3, 2), np.float32)
    ds = ArrayDataset(x)
    x[1] = 5
    assert_same(ds[1][0], torch.tensor([5.0, 5]))
    assert_same(ds[0:2][0], torch.tensor([[0.0, 0], [5, 5]]))


def test_the_caller_may_forget_the_arrays() -> None:
    ds = ArrayDataset(torch.full((1000, 100), 3.0), torch.ones(1000))
    ds[0:1]
    junk = [torch.full((1000, 100), 9.0) for _ in range(20)]
    assert bool((ds[:][0] == 3).all()) and bool((ds[:][1] == 1).all()) and len(junk) == 20


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies(duplicate: Any) -> None:
    images, labels = arrays()
    ds = ArrayDataset(images, labels, mean=0.5, std=2, keys=("x", "y"), output="dict")
    ds[0:3]
    again = duplicate(ds)
    assert_same(again[:], ds[:])
    assert_same(again[1], ds[1])


def test_no_rows() -> None:
    ds = ArrayDataset(np.empty((0, 3), np.float32), np.empty(0, np.int64))
    assert len(ds) == 0
    assert_same(ds[:], (torch.empty(0, 3), torch.empty(0, dtype=torch.int64)))


@pytest.mark.parametrize("dims", [1, 7, 8, 9, 20])
def test_many_dimensions(dims: int) -> None:
    x = torch.arange(6.0).reshape(3, 2, *[1] * (dims - 1))
    ds = ArrayDataset(x)
    assert_same(ds[:], (x,))
    assert_same(ds[1], (x[1],))
    assert_same_batches(ds, TensorDataset(x), batch_size=2)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], errors.OptionError),
        ([np.zeros((3, 2)), np.zeros(4)], errors.SchemaError),
        ([np.zeros(()), np.zeros(())], errors.SchemaError),
        ([np.zeros((3, 2)), np.zeros(())], errors.SchemaError),
        ([np.zeros((3, 2)), np.zeros(3), torch.zeros(())], errors.SchemaError),
        ([np.zeros((3, 2))[::-1]], errors.UnsupportedError),
        ([np.zeros((3, 2))[:, ::-1]], errors.UnsupportedError),
        ([np.ma.masked_array([1.0, 2.0], [False, True])], errors.UnsupportedError),
        ([np.zeros(3, np.longdouble)], errors.UnsupportedError),
        ([np.zeros(3, "M8[s]")], errors.UnsupportedError),
        ([np.zeros(4, "i1,f8")["f1"]], errors.UnsupportedError),
        ([np.zeros((3, 2), object)], errors.UnsupportedError),
        ([np.zeros((3, 2), ">f4")], errors.UnsupportedError),
        ([np.array(["a", "b"])], errors.UnsupportedError),
        ([np.zeros((3, 2)), np.array(["a", "b", "c"])], errors.UnsupportedError),
    ],
)
def test_arrays_that_do_not_fit_are_refused(given: list[Any], error: type[errors.GofastError]) -> None:
    with pytest.raises(error):
        ArrayDataset(*given)


def test_gradients_are_left_behind() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    ds = ArrayDataset(x)
    assert not ds[0][0].requires_grad and not ds[:][0].requires_grad


def test_options_and_the_docstrings_example() -> None:
    ds = gofast.ArrayDataset(np.zeros((10, 3), np.float32), np.arange(10))
    assert_same(ds[3], (torch.tensor([0.0, 0, 0]), torch.tensor(3)))
    named = ArrayDataset(
        np.ones((4, 6), np.uint8), np.arange(4), output="dict", keys=("a", "b"), one_hot=4, shape=(2, -1)
    )
    assert_same(named[2], {"a": torch.ones(2, 3, dtype=torch.uint8), "b": torch.tensor([0.0, 0, 1, 0])})
    assert named[:]["a"].shape == (4, 2, 3)
    scaled = ArrayDataset(np.full((2, 2), 255, np.uint8), scale="auto", shape=(1, 2), dtype=torch.float32)
    assert_same(scaled[0][0], torch.ones(1, 2))
    assert "10 rows" in repr(ds) and "float32" in repr(ds)


def test_two_threads_ask_for_the_engine_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both get the same object: a loader that saw another one would take its process for a fork."""
    met, native, crews = threading.Barrier(2), engine.native, []

    def late() -> Any:
        met.wait(20)
        return native()

    monkeypatch.setattr(engine, "native", late)
    for _ in range(20):
        monkeypatch.setattr(engine, "_native", None)
        monkeypatch.setattr(engine, "_crew", None)
        threads = [threading.Thread(target=lambda: crews.append(engine.crew())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert crews[-1] is crews[-2] is engine._crew

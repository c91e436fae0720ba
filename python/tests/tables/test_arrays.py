"""ArrayDataset against torch's TensorDataset."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from gofast import ArrayDataset, errors
from gofast._core import engine
from in_threads import in_threads
from reference import assert_same, assert_same_batches


def test_the_caller_may_forget_the_arrays() -> None:
    ds = ArrayDataset(torch.full((1000, 100), 3.0), torch.ones(1000))
    ds[0:1]
    junk = [torch.full((1000, 100), 9.0) for _ in range(20)]
    assert bool((ds[:][0] == 3).all()) and bool((ds[:][1] == 1).all()) and len(junk) == 20


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
        in_threads(*[lambda: crews.append(engine.crew())] * 2)
        assert crews[-1] is crews[-2] is engine._crew

"""Tables that live on a device: what is kept there, and when."""

from __future__ import annotations

import copy
import gc
import pathlib

import numpy as np
import pytest
import torch

import gofast
from gofast._device import device as devices
from standin import StandIn


def opened(tmp_path: pathlib.Path) -> gofast.TableDataset:
    values = np.random.default_rng(0).integers(0, 256, (100, 9), np.uint8)
    np.savez(tmp_path / "t.npz", features=values, label=np.arange(100) % 5)
    return gofast.TableDataset(tmp_path / "t.npz", mean=[0.5], std=[0.25], scale="unit")


@pytest.fixture
def table(tmp_path: pathlib.Path) -> gofast.TableDataset:
    return opened(tmp_path)


def bytes_there() -> int:
    return sum(device.resident_bytes for device in devices.all_opened())


def test_a_loader_may_change_its_mind(standin: StandIn, table: gofast.TableDataset) -> None:
    loader = gofast.DataLoader(table, 10, device="cuda", resident=False)
    want = list(gofast.DataLoader(table, 10))
    for resident, kept in (
        (False, 0),
        (True, 100 * (9 + 8)),
        (False, 100 * (9 + 8)),
        ("auto", 100 * (9 + 8)),
    ):
        loader.resident = resident
        copied = standin.calls("cuMemcpyHtoDAsync_v2")
        for batch, same in zip(list(loader), want, strict=True):
            assert torch.equal(standin.seen(batch)["features"], same["features"])
        assert bytes_there() == kept
        assert (standin.calls("cuMemcpyHtoDAsync_v2") - copied >= 10) is (resident is False)


def test_loaders_share_a_table(standin: StandIn, table: gofast.TableDataset) -> None:
    """Another one's labels are uploaded beside it, and its features are not."""
    first = gofast.DataLoader(table, 10, device="cuda")
    list(first)
    assert bytes_there() == 100 * (9 + 8)
    list(gofast.DataLoader(torch.utils.data.Subset(table, range(50)), 10, device="cuda"))
    assert bytes_there() == 100 * (9 + 8)
    other = copy.copy(table)
    other._label_mode, other._label_dtype = "", None
    list(gofast.DataLoader(other, 10, device="cuda"))
    assert bytes_there() == 100 * (9 + 8)


def test_a_table_goes_with_its_dataset(standin: StandIn, tmp_path: pathlib.Path) -> None:
    table = opened(tmp_path)
    loader = gofast.DataLoader(table, 10, device="cuda")
    list(loader)
    assert bytes_there() > 0
    del loader, table
    gc.collect()
    assert bytes_there() == 0

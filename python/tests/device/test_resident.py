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


def test_a_loader_may_leave_the_device(standin: StandIn, table: gofast.TableDataset) -> None:
    loader = gofast.DataLoader(table, 10, device="cuda")
    want = list(gofast.DataLoader(table, 10))
    for device in ("cuda", None, "cuda", "cpu"):
        loader.device = device
        for batch, same in zip(list(loader), want, strict=True):
            seen = batch if device in (None, "cpu") else standin.seen(batch)
            assert torch.equal(seen["features"], same["features"])


def test_explain_and_engine_stats_tell_of_the_device(standin: StandIn, table: gofast.TableDataset) -> None:
    said = gofast.explain(gofast.DataLoader(table, 10, device="cuda"))
    assert "the table lives there (1.7 kB), a kernel gathers its rows" in said
    assert bytes_there() == 0, "explain uploads nothing"
    said = gofast.explain(gofast.DataLoader(table, 10, device="cuda", resident=False))
    assert "uint8 is copied, and becomes float32 there by a kernel" in said
    arrays = gofast.ArrayDataset(torch.zeros(5, 2), torch.arange(5))
    assert "finished samples are copied" in gofast.explain(gofast.DataLoader(arrays, 2, device="cuda"))
    odd = torch.utils.data.TensorDataset(torch.zeros(5))
    assert "when a batch is handed out" in gofast.explain(gofast.DataLoader(odd, 2, device="cuda"))
    assert "batches do not get there" in gofast.explain(gofast.DataLoader(arrays, 2, device="cuda:5"))
    list(gofast.DataLoader(table, 10, device="cuda"))
    stats = gofast.engine_stats()["devices"]["cuda:0"]
    assert stats["resident_bytes"] == 1700 and stats["kernels"] == 10 and stats["bytes"] > 1700
    assert {"rate", "copy_seconds", "kernel_seconds", "waited", "free", "total"} < set(stats)


def test_resident_is_not_for_torchs_own_machinery(standin: StandIn) -> None:
    odd = torch.utils.data.TensorDataset(torch.zeros(5))
    with pytest.raises(gofast.errors.OptionError, match="resident=True"):
        iter(gofast.DataLoader(odd, 2, device="cuda", resident=True))


@pytest.mark.parametrize(
    "way", ["copied", "resident", "workers", "own sampler", "own collate", "torch's machinery", "prefetched"]
)
def test_a_batch_refused_for_a_graph_comes_again(
    standin: StandIn, table: gofast.TableDataset, way: str
) -> None:
    options = {
        "copied": {"resident": False},
        "resident": {},
        "workers": {"num_workers": 2},
        "own sampler": {"sampler": list(range(100))},
        "own collate": {"collate_fn": lambda rows: torch.utils.data.default_collate(rows), "num_workers": 2},
        "torch's machinery": {"collate_fn": torch.utils.data.default_collate, "worker_init_fn": print},
        "prefetched": {},
    }[way]
    loader = gofast.DataLoader(table, 10, device="cuda", **options)  # type: ignore[arg-type]
    if way == "prefetched":
        loader = gofast.prefetch(gofast.DataLoader(table, 10), "cuda")
    came, batches = [], iter(loader)
    for turn in range(20):
        standin.capturing = turn % 3 == 1
        try:
            batch = next(batches)
        except gofast.errors.DeviceError as error:
            assert "CUDA graph" in str(error) and standin.capturing
            continue
        except StopIteration:
            break
        came.append(standin.seen(batch)["label"])
    assert torch.equal(torch.cat(came), torch.cat([batch["label"] for batch in gofast.DataLoader(table, 10)]))


@pytest.mark.parametrize("workers", [0, 2])
def test_out_of_memory_with_a_sampler_of_ones_own(
    standin: StandIn, table: gofast.TableDataset, workers: int
) -> None:
    loader = gofast.DataLoader(table, 10, sampler=list(range(100)), num_workers=workers, device="cuda")
    want = list(gofast.DataLoader(table, 10))
    came, batches = [], iter(loader)
    for turn in range(40):
        standin.c.standin_memory(1 if turn % 2 else 1 << 30, 1 << 33)
        try:
            came.append(standin.seen(next(batches)))
        except StopIteration:
            break
        except torch.cuda.OutOfMemoryError:
            continue
    assert len(came) == len(want)
    for batch, same in zip(came, want, strict=True):
        assert torch.equal(batch["features"], same["features"])

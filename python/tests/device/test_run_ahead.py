"""A program that runs ahead of its device holds a bounded part of its memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import gofast
from gofast._device import device as devices
from gofast._device import run_ahead
from gofast._device.device_batcher import AHEAD
from standin import MANUAL, StandIn

BATCHES, ROWS, WIDTH = 60, 8, 64
BATCH_BYTES = ROWS * WIDTH * 4 + ROWS * 8
WAYS = ["copied", "workers", "own collate", "torch's machinery", "prefetched", "prefetched ahead"]


def loader_of(way: str, rows: torch.Tensor) -> Any:
    labels = torch.arange(len(rows))
    ours = gofast.ArrayDataset(rows, labels)
    if way.startswith("prefetched"):
        theirs = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, labels), ROWS)
        return gofast.prefetch(theirs, "cuda", ahead=3 if way.endswith("ahead") else 0)
    options: dict[str, Any] = {
        "copied": {},
        "workers": {"num_workers": 2},
        "own collate": {"collate_fn": lambda rows: torch.utils.data.default_collate(rows)},
        "torch's machinery": {"collate_fn": torch.utils.data.default_collate, "worker_init_fn": print},
    }[way]
    return gofast.DataLoader(ours, ROWS, device="cuda", **options)


def run(standin: StandIn, way: str) -> tuple[int, list[Any]]:
    """Steps that nobody waits for: the most bytes of the device that were in use, and what the steps saw."""
    rows = torch.rand(BATCHES * ROWS, WIDTH)
    loader, least, seen = loader_of(way, rows), [], []
    standin.mode = MANUAL
    batches = iter(loader)
    whole = devices.all_opened()[0].stats()["free"]
    for images, labels in batches:
        for tensor in (images, labels):
            address, size = tensor.untyped_storage().data_ptr(), len(tensor.untyped_storage())
            standin.c.standin_touch(standin.stream(), address, size)
        least.append(devices.all_opened()[0].stats()["free"])
        seen.append(len(images))
        del images, labels, tensor
    assert seen == [ROWS] * BATCHES
    return whole - min(least), seen


@pytest.mark.parametrize("way", WAYS)
def test_memory_of_steps_under_way_is_bounded(
    standin: StandIn, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(run_ahead, "MARKED_BYTES", 1)
    monkeypatch.setattr(run_ahead, "FEWEST", 2)
    monkeypatch.setattr(run_ahead, "MOST_BYTES", 4 * BATCH_BYTES)
    most, _ = run(standin, way)
    assert standin.c.standin_syncs() > BATCHES // 2
    # Those that are marked, those ahead, and what is just handed out and used; nearly 60 without a bound.
    assert most <= (4 + AHEAD + 3) * max(BATCH_BYTES, 2560)
    assert standin.violations() == ""


@pytest.mark.parametrize("way", WAYS)
def test_of_small_batches_nobody_waits(standin: StandIn, way: str) -> None:
    most, _ = run(standin, way)
    assert standin.c.standin_syncs() == 0
    assert most > BATCHES // 2 * BATCH_BYTES


@pytest.mark.parametrize("way", WAYS)
def test_while_another_thread_captures_a_graph(
    standin: StandIn, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    for name in ("MARKED_BYTES", "FEWEST", "MOST_BYTES"):
        monkeypatch.setattr(run_ahead, name, 1)
    standin.c.standin_capture(1)
    try:
        run(standin, way)
        assert standin.c.standin_syncs() > 0 and standin.violations() == ""
    finally:
        standin.c.standin_capture(0)

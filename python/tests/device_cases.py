"""A small table on its way to a GPU, by each of the ways there; for the test_device_ files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fresh
import gofast
from standin import StandIn

ROWS, BATCH = 50, 8
OUT_OF_MEMORY = torch.cuda.OutOfMemoryError

WAYS: dict[str, dict[str, Any]] = {
    "resident": {"resident": True},
    "by kernel": {"resident": False},
    "ahead": {"resident": False, "num_workers": 2},
    "prefetched": {},
}


def write(folder: Path) -> Path:
    path = folder / "t.npz"
    rng = np.random.default_rng(0)
    np.savez(path, features=rng.integers(0, 256, (ROWS, 12), np.uint8), label=np.arange(ROWS))
    return path


def opened(folder: Path) -> gofast.TableDataset:
    return gofast.TableDataset(write(folder), mean=[0.5], std=[0.25], scale="unit")


def make(way: str, table: gofast.TableDataset) -> Any:
    if way == "prefetched":
        return gofast.prefetch(torch.utils.data.DataLoader(table, BATCH), "cuda")
    return gofast.DataLoader(table, BATCH, device="cuda", **WAYS[way])


def wanted(table: gofast.TableDataset) -> list[dict[str, torch.Tensor]]:
    return list(torch.utils.data.DataLoader(table, BATCH))


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(a[key].dtype == b[key].dtype and torch.equal(a[key], b[key]) for key in b)


def all_same(standin: StandIn, loader: Any, table: gofast.TableDataset) -> bool:
    held = list(loader)
    pairs = zip(held, wanted(table), strict=True)
    return all(same(standin.seen(batch), want) for batch, want in pairs)


def run(code: str) -> subprocess.CompletedProcess[str]:
    return fresh.run(["-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60)

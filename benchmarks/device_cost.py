"""What a batch costs Python more if it arrives on a device, in us; the driver is the stand-in of the tests.

Run it as `python -m benchmarks.device_cost`. `--profile` shows where the time goes. It needs gcc, and no GPU.
"""

from __future__ import annotations

import argparse
import cProfile
import pathlib
import pstats
import sys
import tempfile
import time
from typing import Any

import numpy as np
import pytest
import torch

import gofast

ROWS, BATCH, EPOCHS = 60_000, 64, 3
WAYS: dict[str, dict[str, Any]] = {
    "on the CPU": {},
    "by kernel": {"device": "cuda", "resident": False},
    "resident": {"device": "cuda", "resident": True},
}


def epoch(loader: Any) -> int:
    """Takes all batches; how many there were."""
    count = 0
    for _ in loader:
        count += 1
    return count


def cost(loader: Any) -> float:
    """Microseconds for a batch, of the quickest epoch."""
    epoch(loader)
    best = float("inf")
    for _ in range(EPOCHS):
        since = time.perf_counter()
        count = epoch(loader)
        best = min(best, (time.perf_counter() - since) / count)
    return 1e6 * best


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true")
    profile = parser.parse_args().profile
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python" / "tests"))
    import standin  # type: ignore[import-not-found]

    # torch's own allocator takes 2 us, the stand-in's 20: it maps guard pages.
    patch = pytest.MonkeyPatch()
    patch.setattr(
        standin.StandInSide, "_empty", lambda _, shape, dtype, stream: torch.empty(shape, dtype=dtype)
    )
    patch.setattr(standin.StandInSide, "used", lambda *_: None)
    folder = pathlib.Path(tempfile.mkdtemp())
    opened = standin.opened(standin.build(folder), patch, folder / "kernels")
    next(opened).mode = standin.ON_SIGHT
    rng = np.random.default_rng(0)
    np.savez(folder / "t.npz", features=rng.integers(0, 256, (ROWS, 16), np.uint8), label=np.arange(ROWS))
    table = gofast.TableDataset(folder / "t.npz", mean=[0.5], std=[0.25], scale="unit")
    first = 0.0
    for way, options in WAYS.items():
        loader = gofast.DataLoader(table, BATCH, shuffle=True, **options)
        taken = cost(loader)
        first = first or taken
        print(f"{way:12} {taken:7.1f} us a batch, {taken - first:+7.1f} us")
        if profile:
            profiler = cProfile.Profile()
            profiler.runcall(epoch, loader)
            pstats.Stats(profiler).sort_stats("tottime").print_stats(14)
        del loader


if __name__ == "__main__":
    main()

"""What explain says of an order of blocks: how far its rows move, for little time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch

import gofast

ROWS = 1_500_000


def test_how_far_rows_move(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(ROWS * 8, dtype=np.float64).reshape(ROWS, 8))
    stream = gofast.IterableDataset.from_table(
        tmp_path / "a.npy", label=None, shuffle="block", seed=0, memory="34MB", dtype="float64"
    )
    loader = gofast.DataLoader(stream, batch_size=20_000)
    rows = torch.cat([batch["features"][:, 0] for batch in loader]).numpy() / 8
    moved = np.abs(rows - np.arange(ROWS)) / ROWS
    said = str(gofast.explain(loader))
    found = re.search(r"a row moves by ([\d.]+) .* by ([\d.]+) at the 5th", said)
    windows = re.search(r": (\d+) windows an epoch", said)
    assert found is not None and windows is not None and int(windows[1]) > 3, said
    # Of one epoch, and of the chances that its windows leave.
    assert abs(float(found[1]) - moved.mean()) < 0.01, said
    assert abs(float(found[2]) - np.quantile(moved, 0.05)) < 0.01, said

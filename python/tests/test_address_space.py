"""`ulimit -v` beside Go's runtime, which ends the process where it cannot reserve what it wants."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import resource, sys
import torch
import gofast
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (int(sys.argv[1]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    rows = gofast.ArrayDataset(torch.zeros(100, 10))
    print(sum(len(batch) for (batch,) in gofast.DataLoader(rows, 7)))
except gofast.errors.EngineError as error:
    print(error)
torchs = torch.utils.data.TensorDataset(torch.zeros(9, 1))
print(sum(len(batch) for (batch,) in torch.utils.data.DataLoader(torchs)))
"""


@pytest.mark.parametrize("left", [50, 300, 600, 800, 1000, 1600])
def test_the_engine_starts_or_says_why_not(left: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(left)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert second == "9"
    assert first == "100" if left > 1100 else "ulimit -v" in first and "1024 MiB" in first

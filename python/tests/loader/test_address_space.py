"""`ulimit -v` beside Go's runtime, which ends the process where it cannot reserve what it wants."""

from __future__ import annotations

import pytest

import fresh

CHILD = """
import os, resource, sys
import torch
import gofast
for left in map(int, sys.argv[1:]):
    child = os.fork()
    if not child:
        break
    assert os.waitpid(child, 0)[1] == 0, left
else:
    sys.exit()
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (left << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    rows = gofast.ArrayDataset(torch.zeros(100, 10))
    print(sum(len(batch) for (batch,) in gofast.DataLoader(rows, 7)))
except gofast.errors.EngineError as error:
    print(error)
torchs = torch.utils.data.TensorDataset(torch.zeros(9, 1))
print(sum(len(batch) for (batch,) in torch.utils.data.DataLoader(torchs)))
"""


@pytest.mark.full
def test_the_engine_starts_or_says_why_not() -> None:
    """In children of one process that has imported torch, which takes seconds, and not loaded the engine."""
    limits = [50, 300, 600, 800, 1000, 1600]
    done = fresh.run(["-c", CHILD, *limits])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * len(limits), done.stdout
    for left, first, second in zip(limits, lines[::2], lines[1::2], strict=True):
        assert second == "9"
        assert first == "100" if left > 1100 else "ulimit -v" in first and "1024 MiB" in first

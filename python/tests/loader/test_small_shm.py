"""Batches of workers do not lie in /dev/shm: containers, which often give it 64 MB, need no --shm-size."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import os, torch, gofast
from torch.utils.data import DataLoader

assert os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize == SIZE
rows = torch.arange(96 * 262144, dtype=torch.int32).reshape(96, 262144)  # 1 MiB a row
ds = gofast.ArrayDataset(rows, torch.arange(96), output="dict")
for persistent in (False, True):
    loader = DataLoader(ds, batch_size=12, num_workers=2, multiprocessing_context="fork", prefetch_factor=3,
                        persistent_workers=persistent)
    for _ in range(2):
        held = list(loader)  # 96 MB, beside what is under way
        assert torch.equal(torch.cat([batch["features"] for batch in held]), rows)
    assert os.listdir("/dev/shm") == []
print("done")
"""


def run(script: str, size: int) -> subprocess.CompletedProcess[str]:
    """Runs a script where /dev/shm has that many bytes: in a mount namespace of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here")
    mount = f"mount -t tmpfs -o size={size} none /dev/shm"
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"this user may not mount in a namespace of its own: {tried.stderr.strip()}")
    command = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", sys.executable, "-c"]
    return subprocess.run(
        [*command, script.replace("SIZE", str(size))], capture_output=True, text=True, timeout=110
    )


def test_64_mb_suffice() -> None:
    done = run(SCRIPT, 64 << 20)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr

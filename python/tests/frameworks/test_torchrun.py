"""torchrun for real: two ranks; and an elastic job that loses a host, and goes on with one rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import TCPStore

from image_data import make_folder
from programs import BATCH, EPOCHS
from test_resume_frameworks import COUNT, STEPS

pytestmark = pytest.mark.skipif(not os.environ.get("GOFAST_INTEGRATIONS"), reason="make test-integrations")
SCRIPT = Path(__file__).parent / "torchrun.py"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("pictures"), COUNT, classes=COUNT)


def torchrun(pictures: Path, place: Path, seconds: float, *options: str) -> subprocess.Popen[str]:
    """An agent, which starts the ranks."""
    place.mkdir(exist_ok=True)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *options, SCRIPT, pictures, place, str(seconds)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def steps(place: Path) -> list[list[Any]]:
    """The samples of each step, of all ranks; of a step that was done again, the last ones."""
    found: dict[int, dict[int, list[Any]]] = defaultdict(dict)
    for log in place.glob("log.*"):
        rank = int(log.suffix[1:])
        for line in log.read_text().splitlines():
            step = json.loads(line)
            of_ranks = found[step["step"]]
            if rank == 0 and 0 in of_ranks:
                of_ranks.clear()  # with other ranks now
            of_ranks[rank] = step["samples"]
    return [sorted(sum(found[step].values(), [])) for step in sorted(found)]  # noqa: RUF017


def kill(agent: subprocess.Popen[str]) -> None:
    """Kills an agent and its rank at once, as when a host goes down. A rank has a session of its own."""
    if agent.poll() is not None:
        return
    ranks = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    for pid in (agent.pid, *map(int, ranks)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def lines(place: Path) -> int:
    log = place / "log.0"
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture(scope="module")
def whole(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """The steps of two ranks that nobody stopped."""
    place = tmp_path_factory.mktemp("whole")
    agent = torchrun(pictures, place, 0, "--standalone", "--nproc-per-node=2")
    said, _ = agent.communicate(timeout=100)
    assert agent.returncode == 0, said
    return steps(place)


def test_two_ranks_share_each_step(whole: list[list[Any]]) -> None:
    assert len(whole) == EPOCHS * STEPS
    for epoch in range(EPOCHS):
        labels = [label for step in whole[epoch * STEPS :][:STEPS] for label, _ in step]
        assert sorted(labels) == list(range(COUNT))


def test_a_job_that_loses_a_host_goes_on(pictures: Path, tmp_path: Path, whole: list[list[Any]]) -> None:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # it outlives both agents
    options = (
        "--nnodes=1:2",
        "--nproc-per-node=1",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint=127.0.0.1:{store.port}",
        "--rdzv-id=7",
        "--max-restarts=3",
        "--rdzv-conf=is_host=false,last_call_timeout=5,keep_alive_interval=1,keep_alive_max_attempt=3",
        "--monitor-interval=0.2",
    )
    first = torchrun(pictures, tmp_path, 0.4, *options)
    second = torchrun(pictures, tmp_path, 0.4, *options)
    try:
        end = time.monotonic() + 60
        while lines(tmp_path) < 3 and time.monotonic() < end and first.poll() is None:
            time.sleep(0.05)
        both = (tmp_path / "log.1").exists()
        kill(second)
        said, _ = first.communicate(timeout=60)
    finally:
        for agent in (first, second):
            kill(agent)
            agent.communicate()
    assert first.returncode == 0, said
    assert both, "the ranks did not meet"
    last = (tmp_path / "log.0").read_text().splitlines()[-2]
    assert len(json.loads(last)["samples"]) == BATCH  # alone by then
    assert steps(tmp_path) == whole

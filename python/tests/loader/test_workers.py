"""torch's DataLoader with worker processes: every start method, whatever the engine of the parent does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils.data

import gofast
import worker_cases

SCRIPT = Path(worker_cases.__file__)
ALL = len(worker_cases.CASES)


def run(tmp_path: Path, method: str, engines: list[str], **more: str) -> None:
    """Runs cases with the engine in one state after another, in one process that imports torch once."""
    environment = {**os.environ, "WORKER_CASES_FOLDER": str(tmp_path), **more}
    ignore = "ignore:This process:DeprecationWarning"  # of CPython 3.12 at every fork beside threads
    command = [sys.executable, "-W", ignore, str(SCRIPT), method, *engines]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=180 * len(engines))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"hangs: {out}{err}")
    assert process.returncode == 0, out + err
    assert err == ""
    states = [engine.partition(":") for engine in engines]
    ran = [f"{state}: {len(names.split(',')) if names else ALL} cases\n" for state, _, names in states]
    assert out == "".join(ran)
    assert is_gone(process.pid), "a process is left"


def is_gone(group: int) -> bool:
    """Whether a process group comes to its end: the fork server outlives its parent by a moment."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.timeout(600)
@pytest.mark.parametrize("states", [["busy"], pytest.param(["unused", "loaded"], marks=pytest.mark.full)])
def test_fork(tmp_path: Path, states: list[str]) -> None:
    # Later cases find the engine loaded: tickets of workers are received with its help.
    alone = ["from_a_thread", "opened_in_worker", "forked_in_worker", "table_is_handed_over", "pictures"]
    run(tmp_path, "fork", ["first:" + ",".join(alone), *states])


@pytest.mark.soak
def test_fork_with_all_numbers_of_workers(tmp_path: Path) -> None:
    """`make test` runs each case once beside a busy engine."""
    run(tmp_path, "fork", ["busy"], WORKER_CASES_SOAK="1")


@pytest.mark.full
@pytest.mark.timeout(400)
def test_forkserver(tmp_path: Path) -> None:
    """With the cases' imports in the fork server: that changes only how long a worker takes to start."""
    run(tmp_path, "forkserver", ["unused", "busy"], WORKER_CASES_PRELOAD="torch torchvision")


@pytest.mark.full
@pytest.mark.timeout(300)
def test_forkserver_with_us_in_it(tmp_path: Path) -> None:
    names = "epochs,own_collate,opened_in_worker,forked_in_worker,pictures"
    preload = "torchvision gofast worker_cases_preload"
    run(tmp_path, "forkserver", [f"loaded:{names}"], WORKER_CASES_PRELOAD=preload)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_spawn(tmp_path: Path) -> None:
    states = ["unused:break_and_again", "loaded:opened_in_worker,pictures", "busy:table_is_handed_over"]
    run(tmp_path, "spawn", states)


class Unpicklable(torch.utils.data.Dataset[Any]):
    """Its third sample cannot be sent, or raises what cannot be sent."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        class OwnError(KeyError):
            pass

        if index == 2 and self.raises:
            raise OwnError("its text")
        return (lambda: index) if index == 2 else index


@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_what_a_worker_cannot_send_is_an_error(raises: bool, method: str) -> None:
    """torch's own loop waits for it for ever."""
    loader = gofast.DataLoader(Unpicklable(raises), None, num_workers=2, multiprocessing_context=method)
    iterator, seen = iter(loader), []
    for _ in range(6):
        try:
            seen.append(next(iterator))
        except Exception as error:
            seen.append(error)
    failed = seen.pop(2)
    assert seen == [0, 1, 3, 4, 5]
    if raises:
        assert isinstance(failed, KeyError) and "OwnError: 'its text'" in str(failed)
    else:
        assert "whose batch cannot be pickled" in str(failed) and "<lambda>" in str(failed)


@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_a_timeout_without_workers_is_torchs_error() -> None:
    data = gofast.ArrayDataset(torch.arange(4))
    for kind in (torch.utils.data.DataLoader, gofast.DataLoader):
        with pytest.raises(AssertionError, match="timeout == 0"):
            iter(kind(data, timeout=5))

"""The doctor names planted bottlenecks, leaves healthy loaders alone, and changes and breaks nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import gofast
import planted
from gofast._doctor import apart
from gofast._doctor.diagnosis import diagnose
from gofast._doctor.machine import Machine
from gofast.errors import OptionError

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create"  # too many workers are what a test is about
)
PATHS = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{Path(gofast.__file__).parents[1]}"}
TRIED = {"tiny batches": 1}  # verdicts that hang on a trial


@pytest.fixture
def roomy(tmp_path: Path) -> Machine:
    """This machine, with memory to spare whatever else runs on it."""
    return Machine(planted.machine(tmp_path / "machine", used=500))


@pytest.mark.parametrize("name", planted.PLANTS)
def test_planted(name: str, tmp_path: Path, roomy: Machine) -> None:
    make, step, code = planted.PLANTS[name]
    report = diagnose(make(tmp_path), step, 0.7, roomy, rounds=TRIED.get(name, 0))
    assert report.code == code, str(report)
    assert report.healthy == (code == "slow_step")
    assert report.evidence


def test_low_memory(tmp_path: Path) -> None:
    starved = Machine(planted.machine(tmp_path, used=2028))
    loader = DataLoader(planted.Numbers(0.005), 8, num_workers=2)
    report = diagnose(loader, planted.quick_step, 0.6, starved, rounds=0)
    assert report.code == "low_memory"
    assert "31 MB of 2.1 GB" in report.evidence[0]
    assert "control group" in report.evidence[0]


def test_oversubscribed_threads(tmp_path: Path) -> None:
    # In a process of its own: workers can have several threads only if nothing used OpenMP before the fork.
    script = """
        import sys, torch
        from torch.utils.data import DataLoader
        import planted
        from pathlib import Path
        from gofast._doctor.diagnosis import diagnose
        from gofast._doctor.machine import Machine
        roomy = Machine(planted.machine(Path(sys.argv[1]), used=500))
        loader = DataLoader(planted.Products(), 4, num_workers=2, worker_init_fn=planted.many_threads)
        report = diagnose(loader, planted.quick_step, 2, roomy, rounds=1)
        print(report.code)
        print(report, file=sys.stderr)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        env=PATHS,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert run.stdout.split() == ["oversubscribed_threads"], run.stdout + run.stderr


HEALTHY = {
    "gofast": lambda: (
        gofast.DataLoader(gofast.ArrayDataset(torch.zeros(1 << 16, 64)), 64, shuffle=True),
        lambda batch: time.sleep(0.02),
    ),
    "torch with workers": lambda: (
        DataLoader(planted.Numbers(0.001), 16, num_workers=4),
        lambda batch: time.sleep(0.1),
    ),
    "in memory": lambda: (
        DataLoader(TensorDataset(torch.zeros(1 << 12, 16), torch.zeros(1 << 12)), 16, shuffle=True),
        lambda batch: time.sleep(0.03),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy(name: str, roomy: Machine) -> None:
    loader, step = HEALTHY[name]()
    report = diagnose(loader, step, 1.0, roomy, rounds=1)
    assert report.healthy, str(report)
    assert report.code in ("healthy", "slow_step")
    assert report.remedies == []
    assert report.advised == []


def test_a_remedy_that_helps_is_advised_with_its_gain(roomy: Machine) -> None:
    report = diagnose(DataLoader(planted.Numbers(0.02), 4), None, 2.0, roomy, rounds=2)
    assert report.code == "slow_dataset"
    (workers,) = [remedy for remedy in report.advised if remedy.key == "num_workers"]
    assert workers.gain is not None
    assert workers.gain > 2  # sleeping samples: eight workers or so
    assert workers.low <= workers.gain <= workers.high
    assert f"{workers.gain:.2f}x" in str(report)


def test_gofast_is_tried_for_arrays_and_gives_the_same_batches(roomy: Machine) -> None:
    x, y = torch.arange(8192.0).reshape(4096, 2), torch.arange(4096)
    report = diagnose(DataLoader(TensorDataset(x, y), 512, shuffle=True), None, 1.5, roomy, rounds=1)
    (swap,) = [remedy for remedy in report.remedies if remedy.key == "gofast"]
    assert swap.gain is not None
    assert swap.gain > 1.05
    assert "equal" in swap.caution


# -- what the doctor must not do ---------------------------------------------------


class Counting(Dataset[Any]):
    def __init__(self) -> None:
        self.seen = 0

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> Any:
        self.seen += 1
        return torch.rand(4) + random.random() + np.random.rand()


def test_nothing_of_the_users_changes() -> None:
    own = torch.Generator().manual_seed(5)
    dataset = Counting()
    loader = DataLoader(dataset, 4, shuffle=True, generator=own, num_workers=1, persistent_workers=True)
    before = {key: value for key, value in vars(loader).items() if key != "_iterator"}
    opened, image_open, load = open, Image.open, Image.Image.load
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist(), own.get_state()
    for step in (None, lambda batch: torch.rand(1)):
        gofast.doctor(loader, step, seconds=0.5)
        assert torch.equal(torch.get_rng_state(), states[0])
        assert random.getstate() == states[1]
        assert np.random.get_state()[1].tolist() == states[2]
        assert torch.equal(own.get_state(), states[3])
    assert dataset.seen == 0
    assert {key: value for key, value in vars(loader).items() if key != "_iterator"} == before
    assert loader._iterator is None
    assert (open, Image.open, Image.Image.load) == (opened, image_open, load)
    assert not multiprocessing.active_children()


class Hanging(Dataset[Any]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        if index == 40:
            threading.Event().wait()
        return torch.zeros(2)


class Dying(Hanging):
    def __getitem__(self, index: int) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class Raising(Hanging):
    def __getitem__(self, index: int) -> Any:
        raise ValueError("sample 17 is damaged")


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("step", [None, planted.quick_step])
def test_a_loader_that_hangs(workers: int, step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_PATIENCE", 0.5)
    begin = time.monotonic()
    report = gofast.doctor(DataLoader(Hanging(), 4, num_workers=workers), step, seconds=0.5)
    assert time.monotonic() - begin < 60
    assert report.code == "failed"
    assert not report.healthy
    assert "within" in str(report) or "stopped after" in str(report)
    assert signal.getsignal(signal.SIGRTMAX - 5) is signal.SIG_DFL
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_dataset_that_kills_its_process(workers: int) -> None:
    report = gofast.doctor(DataLoader(Dying(), 4, num_workers=workers), seconds=0.5)
    assert report.code == "failed"
    assert any(said in str(report) for said in ("signal SIGKILL", "killed by signal", "exited unexpectedly"))


@pytest.mark.parametrize("step", [None, planted.quick_step])
def test_a_dataset_that_raises(step: Any) -> None:
    report = gofast.doctor(DataLoader(Raising(), 4, num_workers=1), step, seconds=0.5)
    assert report.code == "failed"
    assert "sample 17 is damaged" in str(report)


def test_ctrl_c_ends_every_process() -> None:
    script = """
        import sys, threading
        import planted, gofast
        from torch.utils.data import DataLoader
        print("ready", flush=True)
        gofast.doctor(DataLoader(planted.Numbers(0.5), 64, num_workers=2), seconds=60)
    """
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=PATHS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    time.sleep(3)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)  # its pipes close when the last process that has them ends
    assert "KeyboardInterrupt" in errors


# -- odd loaders -------------------------------------------------------------------


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        while True:
            yield {"text": "a" * 100, "value": 3}


class Batches:
    def __iter__(self) -> Iterator[Any]:
        for _ in range(3):
            yield object()


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(Endless(), 8),
        DataLoader(Endless(), None),
        DataLoader(planted.Numbers(length=1), 4),
        DataLoader(planted.Numbers(length=3), 2, collate_fn=tuple),
        Batches(),
        [torch.zeros(3)] * 2,
    ],
    ids=["endless", "unbatched", "one sample", "tuples", "any iterable", "list"],
)
def test_odd_loaders_are_measured(loader: Any, roomy: Machine) -> None:
    report = diagnose(loader, None, 0.5, roomy, rounds=0)
    assert report.code not in ("failed", "empty"), str(report)
    assert report.to_dict()["loop"]["batches"] >= 3


def test_an_empty_loader() -> None:
    report = gofast.doctor(DataLoader(TensorDataset(torch.zeros(0, 2)), 4), seconds=0.5)
    assert report.code == "empty"
    assert not report.healthy


def test_what_is_refused() -> None:
    loader = DataLoader(planted.Numbers(), 4)
    with pytest.raises(TypeError, match="int"):
        gofast.doctor(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is an iterator"):
        gofast.doctor(iter([1, 2]))
    with pytest.raises(TypeError, match="not callable"):
        gofast.doctor(loader, 3)  # type: ignore[arg-type]
    for seconds in (0, -1, float("nan"), True, "3"):
        with pytest.raises(OptionError, match="seconds="):
            gofast.doctor(loader, seconds=seconds)  # type: ignore[arg-type]


# -- the report --------------------------------------------------------------------


def test_text_dict_and_page(tmp_path: Path, roomy: Machine) -> None:
    class Evil(planted.Augmented):
        pass

    Evil.__name__ = "</script><b>Evil"
    report = diagnose(DataLoader(Evil(), 8, num_workers=2), None, 1.0, roomy, rounds=1)
    assert str(report).splitlines()[0] == "gofast.doctor: slow_transform"
    assert max(map(len, str(report).splitlines())) <= 100
    figures = json.loads(json.dumps(report.to_dict()))
    assert figures["code"] == "slow_transform"
    assert 0.5 < figures["loop"]["share_of_waiting"] <= 1
    assert figures["transform"]["SlowAugment"] > 0.05  # eight sleeps of 10 ms
    report.save(tmp_path / "doctor.html")
    page = (tmp_path / "doctor.html").read_text()
    assert page.count("<svg") >= 4
    assert "prefers-color-scheme: dark" in page
    assert "</script><b>Evil" not in page
    assert "&lt;/script&gt;&lt;b&gt;Evil" in page
    for outside in ("http:", "https:", "src=", "href=", "url(", "@import"):
        assert outside not in page


def test_the_page_in_a_browser(tmp_path: Path, roomy: Machine) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    diagnose(DataLoader(planted.Numbers(0.01), 8), None, 0.6, roomy, rounds=0).save(tmp_path / "doctor.html")
    shot = tmp_path / "shot.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    subprocess.run(
        [browser, *flags, "--window-size=900,1200", f"--screenshot={shot}", f"file://{tmp_path}/doctor.html"],
        check=True,
        capture_output=True,
        timeout=100,
    )
    pixels = np.asarray(Image.open(shot).convert("RGB"))
    for colour in ((200, 85, 61), (47, 125, 99)):  # waiting and step, as the page's style has them
        assert (abs(pixels.astype(int) - colour).max(axis=2) < 6).sum() > 50


# -- what it stands on -------------------------------------------------------------


def test_memory_of_both_kinds_of_control_groups(tmp_path: Path) -> None:
    two = Machine(planted.machine(tmp_path / "two", used=1000)).memory()
    assert two is not None
    assert (two.limit, two.free, two.source) == (2048 << 20, (1048 + 10) << 20, "control group")
    one = tmp_path / "one"
    group = one / "sys/fs/cgroup/memory/job/7"
    group.mkdir(parents=True)
    (one / "proc/self").mkdir(parents=True)
    (one / "proc/self/cgroup").write_text("4:memory:/job/7\n0::/\n")
    (group / "memory.limit_in_bytes").write_text("1000")
    (group / "memory.usage_in_bytes").write_text("900")
    (group / "memory.stat").write_text("total_inactive_file 300\n")
    known = Machine(one).memory()
    assert known is not None
    assert (known.limit, known.free) == (1000, 400)
    assert Machine(tmp_path / "nothing").memory() is None


def test_a_quota_counts_as_processors(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("100000 100000\n")
    assert Machine(tmp_path).cores() == 1

"""SIGTERM, by which schedulers take a machine away: at any moment, and whatever the handler does."""

from __future__ import annotations

import dis
import linecache
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms as T

import fresh
import gofast

PICTURES = 12  # of `folder`
OURS = os.path.dirname(gofast.__file__)


class Preempted(Exception):
    """As many scripts define one. KeyboardInterrupt and SystemExit are no Exceptions: less can catch them."""


@pytest.fixture
def handled() -> Iterator[Callable[[Callable[..., None]], object]]:
    before = signal.getsignal(signal.SIGTERM)
    yield lambda handler: signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGTERM, before)


def noisy(rows: list[Any]) -> Any:
    return torch.stack([image for image, _ in rows]) + torch.rand(())


def loader_of(kind: str, folder: Path) -> gofast.DataLoader[Any]:
    crops = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
    if kind == "table":
        rows = np.arange(400.0, dtype=np.float32).reshape(100, 4)
        rows.flags.writeable = False
        return gofast.DataLoader(gofast.ArrayDataset(rows, np.arange(100)), 16, shuffle=True)
    if kind == "collated":
        dataset = gofast.ImageFolder(folder, crops)
        return gofast.DataLoader(dataset, 4, shuffle=True, num_workers=2, collate_fn=noisy)
    return gofast.DataLoader(gofast.ImageFolder(folder, crops), 4, shuffle=True)


def _ends_a_block(frame: FrameType) -> bool:
    """Whether the line is the end of a `with`, stands in its ``__exit__``, or puts back what one took.

    Python handles no signal between the last call of such a block and this, but it traces the line: what is
    raised there would leave a lock taken, or counts with a loader that is gone, for the tests behind.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] == dis.opmap["NOP"]:  # the word `try`: what is raised there is no handler's
        return True
    if code[at] == dis.opmap.get("SWAP"):  # what the block returns is kept meanwhile
        at += 2
    if frame.f_code.co_name == "__exit__" or code[at : at + 6 : 2] == bytes([dis.opmap["LOAD_CONST"]] * 3):
        return True
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return ".release()" in line or "._worker_info = before" in line


def terminated_at(step: int, work: Callable[[], object]) -> bool:
    """SIGTERM at a line of our Python code; False: it was done before."""
    left = step

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            left -= 1
            if left < 0 and not _ends_a_block(frame):
                left = -1
                sys.settrace(None)
                signal.raise_signal(signal.SIGTERM)
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return left < 0


def _in_finalizer(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_code.co_filename == weakref.__file__:
            return True
        frame = frame.f_back
    return False


@pytest.mark.parametrize("kind", ["table", "pictures", "collated"])
@pytest.mark.parametrize("stride", [23, pytest.param(3, marks=pytest.mark.full)])
def test_what_a_handler_raises_arrives(
    kind: str,
    stride: int,
    folder: Path,
    handled: Callable[[Callable[..., None]], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No guess, no copy and no search for a bad picture takes it for an error of its own."""
    raised = 0

    def preempt(signum: int, frame: FrameType | None) -> None:
        nonlocal raised
        if not _in_finalizer(frame):  # Python drops what is raised there
            raised += 1
            raise Preempted

    monkeypatch.setattr("gofast._loader.speculation._LEAST_NS", 0)  # guesses for every batch
    handled(preempt)
    step = arrived = 0
    while True:
        try:
            if not terminated_at(step, lambda: list(loader_of(kind, folder))):
                break
        except Preempted:
            arrived += 1
        step += stride
    assert arrived == raised > 10
    assert len(list(loader_of(kind, folder))) == (7 if kind == "table" else 3)
    thread = threading.Thread(target=lambda: list(loader_of(kind, folder)), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "a lock is taken"


@pytest.mark.parametrize("kind", ["table", "collated"])
def test_a_handler_may_use_loaders(
    kind: str, folder: Path, handled: Callable[[Callable[..., None]], object], tmp_path: Path
) -> None:
    """What the loop gets does not show it, where the handler draws nothing itself."""
    loader = loader_of(kind, folder)
    torch.manual_seed(3)
    expected = [batch if isinstance(batch, torch.Tensor) else batch[0] for batch in loader]

    def look(signum: int, frame: object) -> None:
        state = torch.get_rng_state()
        assert loader.stats()["epoch"] and gofast.explain(loader)
        assert len(list(loader_of("table", folder))) == 7
        torch.save({"rng": state, "stats": str(loader.stats())}, tmp_path / "checkpoint.pt")
        torch.set_rng_state(state)

    handled(look)
    step = 0
    while True:

        def epoch() -> list[Any]:
            torch.manual_seed(3)
            return [batch if isinstance(batch, torch.Tensor) else batch[0] for batch in loader]

        got: list[Any] = []
        if not terminated_at(step, lambda: got.extend(epoch())):  # noqa: B023
            break
        assert len(got) == len(expected)
        assert kind == "collated" or all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
        step += 131
    assert step > 131 and (tmp_path / "checkpoint.pt").exists()


SCRIPT = """
import os, signal, sys, threading, time, warnings
import numpy as np, torch, gofast
warnings.simplefilter("ignore")
kind, handler, delay, folder = sys.argv[1:]
workers, persistent = {"0": (0, False), "4": (4, False), "4p": (4, True)}[kind]
rows = np.zeros((20_000, 784), np.uint8)
dataset = gofast.ArrayDataset(rows, np.arange(20_000), scale="unit")
loader = gofast.DataLoader(dataset, 64, shuffle=True, num_workers=workers, persistent_workers=persistent)
stop = False

def save(signum, frame):
    global stop
    print(time.monotonic() - sent < 5)
    loader.stats()
    torch.save({"step": step}, folder + "/checkpoint.pt")
    if handler == "exit":
        sys.exit(3)
    stop = True

if handler != "none":
    signal.signal(signal.SIGTERM, save)
sent = step = 0

def terminate():
    global sent
    time.sleep(float(delay))
    sent = time.monotonic()
    children = [open(f"/proc/self/task/{task}/children").read() for task in os.listdir("/proc/self/task")]
    print(any(children), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=terminate, daemon=True).start()
while not stop:
    for batch in loader:
        step += 1
        if stop:
            break
sys.exit(4)
"""


@pytest.mark.parametrize(
    ("handler", "status", "said"),
    [("none", -signal.SIGTERM, ["False"]), ("exit", 3, ["False", "True"]), ("flag", 4, ["False", "True"])],
)
@pytest.mark.parametrize("kind", ["0", "4", "4p"])
@pytest.mark.parametrize("delay", [0.3, *(pytest.param(n / 7, marks=pytest.mark.full) for n in range(8))])
def test_the_process_ends(
    kind: str, delay: float, handler: str, status: int, said: list[str], tmp_path: Path
) -> None:
    """There are no worker processes that could stay, and no file but the handler's own."""
    made = tmp_path / "temporary"
    made.mkdir()
    done = fresh.run(
        ["-c", SCRIPT, kind, handler, delay, tmp_path], env={**os.environ, "TMPDIR": str(made)}, timeout=30
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.split() == said
    assert handler == "none" or torch.load(tmp_path / "checkpoint.pt")["step"] >= 0
    assert not [path for path in made.rglob("*") if path.is_file()]


def test_the_engine_may_be_loading(tmp_path: Path) -> None:
    """A handler that asks for a batch while the first one starts the engine does not wait for itself."""
    script = """
import signal, sys
import numpy as np, gofast
dataset = gofast.ArrayDataset(np.zeros((64, 4), np.float32), np.arange(64))
signal.signal(signal.SIGTERM, lambda *_: print(len(list(gofast.DataLoader(dataset, 16)))))
def trace(frame, event, _):
    if frame.f_code.co_name == "_load" and event == "line" and "json" in lines[frame.f_lineno - 1]:
        sys.settrace(None)
        signal.raise_signal(signal.SIGTERM)
    return trace
from gofast._core import engine
lines = open(engine.__file__).read().splitlines()
sys.settrace(trace)
print(len(list(gofast.DataLoader(dataset, 16))), len(list(gofast.DataLoader(dataset, 16))))
"""
    done = fresh.run(["-c", script], timeout=40)
    assert (done.returncode, done.stdout.split()) == (0, ["4", "4", "4"]), done.stderr


def test_a_script_under_gofast_leaves_no_file(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)")
    made = tmp_path / "temporary"
    made.mkdir()
    done = fresh.run(["-m", "gofast", script], env={**os.environ, "TMPDIR": str(made)}, timeout=40)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert not [path for path in made.rglob("*") if path.is_file()]


@pytest.mark.parametrize("command", ["demo", "doctor"])
def test_a_command_leaves_no_folder(command: str, folder: Path, tmp_path: Path) -> None:
    program = f"""
import os, signal, sys, tempfile
from gofast._command.main import main
make = tempfile.mkdtemp
def made(*given, **named):
    path = make(*given, **named)
    if "gofast-{command}-" in path:
        print(path, flush=True)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    return path
tempfile.mkdtemp = made
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
sys.exit(main(sys.argv[1:]))
"""
    given = [folder] if command == "doctor" else []
    done = fresh.run(
        ["-c", program, command, *given], env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=60
    )
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert done.stdout.strip().startswith(str(tmp_path)) and not list(tmp_path.glob("gofast-*"))

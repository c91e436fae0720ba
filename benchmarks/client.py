"""The parent's side of a measuring process (child.py, sides_child.py): start, ask, stop."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 300  # seconds; a process that takes longer for an answer hangs
GOODBYE = 20  # seconds for an idle process to end by itself, so that what its workers used is counted as ours
ROOT = Path(__file__).resolve().parent.parent


class PeerFailed(Exception):
    """A measuring process ended instead of answering (its traceback is on standard error), or hung."""


class Client:
    """One measuring process, of this interpreter or of another. It imports while others start, and is waited
    for when its first command is asked."""

    def __init__(
        self, module: str = "benchmarks.child", python: str = sys.executable, **environment: str
    ) -> None:
        # An installed package has its byte code; a checkout gets it at its first import, unless forbidden.
        environment = {**os.environ, **environment}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(
            [python, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        self.started = False

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Sends one command and waits for its answer."""
        if not self.started:
            self._answer("start")
            self.started = True
        assert self.process.stdin is not None
        what = " ".join([command, *(arguments[key] for key in ("side", "section") if key in arguments)])
        try:
            self.process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it ended between two commands: some peers' threads crash when they are idle
            raise self._failed(f"before {what}") from None
        return self._answer(what)

    def _answer(self, what: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        if not ready:
            self.kill()
            raise PeerFailed(f"the measuring process hung: no answer to {what} in {PATIENCE} s")
        line = self.process.stdout.readline()  # one answer a command: nothing waits in the buffer before it
        if not line:
            raise self._failed(f"at {what}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _failed(self, when: str) -> PeerFailed:
        """What to raise for a process that has ended, or is about to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        code = self.process.poll()
        self.kill()
        if code is None:
            how = "closed its output"
        else:
            how = f"ended with {signal.Signals(-code).name if code < 0 else code}"
        return PeerFailed(f"the measuring process {how} {when}")

    def close(self) -> None:
        """Lets the process end, and ends it if it does not: what it had to say was said."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=GOODBYE)
        self.kill()

    def kill(self) -> None:
        """Ends the process and all that it has started: some peers' workers outlive it, and spin."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()


def once(command: str, **arguments: Any) -> dict[str, Any]:
    """One command in a process of its own."""
    with Client() as client:
        return client.ask(command, **arguments)

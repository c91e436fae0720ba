"""The parent's side of a measuring process (child.py, images_child.py): start, ask, stop."""

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

PATIENCE = 300  # seconds; whoever takes longer for an answer hangs
ROOT = Path(__file__).resolve().parent.parent


class PeerFailed(Exception):
    """A measuring process ended instead of answering; its traceback is on standard error."""


class Client:
    """One measuring process, of this interpreter or of another. It has imported torch when the constructor
    returns."""

    def __init__(self, module: str = "benchmarks.child", python: str = sys.executable) -> None:
        # An installed package has its byte code; a checkout gets it at its first import, unless forbidden.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(
            [python, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        self.versions = self._answer("start")

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Sends one command and waits for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self.process.stdin.flush()
        return self._answer(f"{command} {arguments}")

    def _answer(self, what: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        if not ready:
            self.kill()
        line = self.process.stdout.readline()  # one answer a command: nothing waits in the buffer before it
        if not line:
            self.kill()
            raise PeerFailed(f"the measuring process failed at {what}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Lets the process end. Raises subprocess.TimeoutExpired if it does not in a minute."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        finally:
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

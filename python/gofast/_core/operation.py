"""How an operation of Go's is called.

Modules `*_operations` have all of them, each with the types of what it takes and gives. The tables of the
other side are `calls` in pybind/call.go and `operations` in pybind/task.go.
"""

from __future__ import annotations

from typing import Generic, TypedDict, TypeVar

from . import engine

C = TypeVar("C")
R = TypeVar("R")


class Call(Generic[C, R]):
    """Control work, done at once: some microseconds beside the work itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, config: C) -> R:
        made: R = engine.call(self.name, config)
        return made


class Task(Generic[C, R]):
    """Long work: Ctrl-C stops it within 0.1 s, and a label shows a progress bar after a second."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, config: C, label: str | None = None) -> R:
        made: R = engine.run(self.name, config, label)
        return made

    def begin(self, config: C, keep: object) -> Begun[R]:
        """Begins it in the background.

        Args:
            keep: memory that the work uses.
        """
        return Begun(engine.Running(self.name, config, keep))


class Begun(Generic[R]):
    """Work in the background. It is stopped when this is dropped."""

    def __init__(self, running: engine.Running) -> None:
        self._running = running

    def part(self, wait: int = 0) -> float:
        """How much is done, after at most so many milliseconds; 1.0: all, and not before."""
        return self._running.part(wait)

    def result(self, label: str | None = None) -> R:
        """Waits for it, once; with a progress bar, as `Task`."""
        made: R = self._running.result(label)
        return made


class Nothing(TypedDict):
    """An operation takes or gives nothing."""


class Object(TypedDict):
    """Something in C memory."""

    address: int

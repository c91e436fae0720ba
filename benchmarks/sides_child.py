"""The measuring process of pictures and recipes: one side of one section; serve.py talks to the parent."""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Iterable
from typing import Any

import torch  # noqa: F401 -- before every clock and every reading of memory

from benchmarks.serve import serve, turn


class Child:
    """The state between commands: the side's batches."""

    def __init__(self) -> None:
        self.batches: Iterable[Any] = ()

    def open(self, benchmark: str, section: str, side: str, folder: str) -> dict[str, Any]:
        """Opens the folder, runs one epoch to warm up, and compares the first batches with the reference's.

        Returns:
            What the check found, or why the side is not to be had here.
        """
        check = importlib.import_module(f"benchmarks.{benchmark}_check")
        answer: dict[str, Any]
        try:
            self.batches, answer = check.opened(section, side, folder)
        except ImportError as error:
            return {"missing": str(error)}
        return answer

    def turn(self, seconds: float) -> dict[str, Any]:
        """Whole epochs until that time has passed: seconds for a picture."""
        own: dict[str, Any] | None = getattr(self.batches, "turn", dict)()  # a script has its own clock
        return own or turn(self.batches, seconds)

    def first_batch(self) -> dict[str, Any]:
        """From iter() to the first batch, of a loader whose workers, if it has any, are fresh."""
        gc.collect()
        started = time.perf_counter()
        iterator = iter(self.batches)
        next(iterator)
        seconds = time.perf_counter() - started
        for _ in iterator:  # an epoch that is broken off would be another's burden
            pass
        return {"seconds": seconds}


if __name__ == "__main__":
    serve(Child())

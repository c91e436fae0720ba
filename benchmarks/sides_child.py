"""The measuring process of pictures: one side of a section, or some; serve.py talks to the parent."""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Iterable
from typing import Any

import torch  # noqa: F401 -- before every clock and every reading of memory

from benchmarks.serve import serve, turn


class Child:
    """The state between commands: the sides' batches."""

    def __init__(self) -> None:
        self.batches: dict[str, Iterable[Any]] = {}

    def open(self, benchmark: str, section: str, side: str, folder: str) -> dict[str, Any]:
        """Opens the folder, runs one epoch to warm up, and compares the first batches with the reference's.

        Returns:
            What the check found, or why the side is not to be had here.
        """
        check = importlib.import_module(f"benchmarks.{benchmark}_check")
        answer: dict[str, Any]
        try:
            self.batches[side], answer = check.opened(section, side, folder)
        except ImportError as error:
            return {"missing": str(error)}
        return answer

    def turn(self, side: str, seconds: float) -> dict[str, Any]:
        """Whole epochs until that time has passed: seconds for a picture."""
        return turn(self.batches[side], seconds)

    def first_batch(self, side: str) -> dict[str, Any]:
        """From iter() to the first batch, of a loader whose workers, if it has any, are fresh."""
        gc.collect()
        started = time.perf_counter()
        iterator = iter(self.batches[side])
        next(iterator)
        seconds = time.perf_counter() - started
        for _ in iterator:  # an epoch that is broken off would be another's burden
            pass
        return {"seconds": seconds}


if __name__ == "__main__":
    serve(Child())

"""What workers report of the batches they make: small texts through a pipe that forked workers inherit."""

from __future__ import annotations

import json
import os
import select
from dataclasses import dataclass, field
from os import read  # by its name here: hooks puts a timed one into os
from typing import Any

_MOST = 4000  # bytes of a record: a pipe takes up to 4096 at once, or none of them


@dataclass
class Batch:
    """How one batch was made.

    Attributes:
        samples: how many.
        wall: seconds, of all of it.
        delay: of them, seconds of waiting for a processor.
        stages: for each stage, seconds in all, on a processor, and of waiting for one.
        slowest: seconds of its slowest samples, longest first.
        median: seconds of its middle sample.
        fetch: seconds of all samples.
    """

    samples: int
    wall: float
    delay: float = 0.0
    stages: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    slowest: list[float] = field(default_factory=list)
    median: float = 0.0
    fetch: float = 0.0


class Records:
    """The pipe. Workers write, the process that has the loader reads. What does not fit in is dropped."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)
        self._rest = b""
        self.batches: list[Batch] = []

    def put(self, batch: Batch) -> None:
        """Called where the batch is made."""
        text = (json.dumps(vars(batch), separators=(",", ":")) + "\n").encode()
        if len(text) > _MOST:
            return
        try:
            os.write(self._write, text)
        except BlockingIOError:
            pass

    def collect(self) -> None:
        """Reads what has come into `batches`."""
        while select.select([self._read], [], [], 0)[0]:
            got = read(self._read, 1 << 16)
            if not got:
                return
            *lines, self._rest = (self._rest + got).split(b"\n")
            for line in lines:
                fields: dict[str, Any] = json.loads(line)
                fields["stages"] = {name: tuple(times) for name, times in fields["stages"].items()}
                self.batches.append(Batch(**fields))

"""What all measuring processes do: epochs in turns, and a line of JSON for each line of their parent."""

from __future__ import annotations

import collections
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks import process

Commands = dict[str, Callable[..., dict[str, Any]]]
HELD = 2  # batches that the training loop has at a time, so that the output cycles through memory


def passed(batches: Iterable[Any], size: Callable[[Any], int] = len) -> int:
    """One epoch, as a training loop takes it; how many samples it had."""
    held: collections.deque[Any] = collections.deque(maxlen=HELD)
    count = 0
    for batch in batches:
        count += size(batch)
        held.append(batch)
    return count


def turn(epoch: Callable[[], int], seconds: float) -> dict[str, Any]:
    """Whole epochs until that time has passed: wall and processor seconds for a sample."""
    gc.collect()
    count, used, started = 0, process.processor_seconds(), time.perf_counter()
    while (now := time.perf_counter() - started) < seconds:
        count += epoch()
    return {"seconds": now / count, "cpu": (process.processor_seconds() - used) / count}


def growth(epoch: Callable[[], object], epochs: int) -> dict[str, Any]:
    """Memory, descriptors and threads after each of many epochs, after as many to warm up: Go's heap and
    malloc's take about a hundred to reach their size."""
    readings = np.ones((2 * epochs, 3), np.int64)  # written before the first reading: it must not grow itself
    gc.freeze()
    for reading in readings:
        epoch()
        gc.collect()
        reading[:] = process.resident(), process.descriptors(), process.threads()
    return {"readings": readings[epochs:].tolist()}


def serve(greeting: dict[str, Any], commands: Commands) -> None:
    """Answers commands until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    print(json.dumps(greeting), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = commands[command.pop("do")](**command)
        print(json.dumps(answer), file=answers, flush=True)

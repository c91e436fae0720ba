"""What all measuring processes do: epochs in turns, and a line of JSON for each line of their parent."""

from __future__ import annotations

import collections
import gc
import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

from benchmarks import process

HELD = 2  # batches that the training loop has at a time, so that the output cycles through memory


def size(batch: Any) -> int:
    """The samples of a batch; a roof gives their number only, and a peer without labels gives None there."""
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    return batch if isinstance(batch, int) else len(batch[0] if batch[-1] is None else batch[-1])


def look(batch: Any) -> None:
    """Looks at each tensor: one whose values are made when somebody looks is not made else."""
    if hasattr(batch, "data_ptr"):
        batch.data_ptr()
    elif isinstance(batch, dict):
        look(tuple(batch.values()))
    elif isinstance(batch, (list, tuple)):
        for part in batch:
            look(part)


def passed(batches: Iterable[Any]) -> int:
    """One epoch, as a training loop takes it; how many samples it had."""
    held: collections.deque[Any] = collections.deque(maxlen=HELD)
    count = 0
    for batch in batches:
        look(batch)
        count += size(batch)
        held.append(batch)
    return count


def turn(batches: Iterable[Any], seconds: float) -> dict[str, Any]:
    """Whole epochs until that time has passed: wall and processor seconds for a sample."""
    gc.collect()
    count, used, started = 0, process.processor_seconds(), time.perf_counter()
    while (now := time.perf_counter() - started) < seconds:
        count += passed(batches)
    return {"seconds": now / count, "cpu": (process.processor_seconds() - used) / count}


def serve(child: object) -> None:
    """Answers commands, which are methods of the child, until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = getattr(child, command.pop("do"))(**command)
        print(json.dumps(answer), file=answers, flush=True)

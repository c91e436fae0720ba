"""Files with a few changes, how many, and bounds for whoever reads them: knows nothing of gofast."""

from __future__ import annotations

import contextlib
import random
import resource
import struct
import time
from collections.abc import Iterator

import pytest

# Of which each file is changed, another one.
SEEDS = pytest.mark.parametrize(
    "seeds",
    [
        range(1500),
        pytest.param(range(2000, 8000), marks=pytest.mark.full),
        pytest.param(range(10_000, 110_000), marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
    ids=len,
)
_NUMBERS = (0, 1, 2, 7, 8, 255, 256, 300, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
_MEMORY = 3 << 30  # addresses beside those that a process has: 1 GiB is for the engine, if it is not there
_SECONDS = 10.0  # of processor time, of one file


def changed(data: bytes, rng: random.Random, head: int = 64) -> bytes:
    """The file with one to three changes, half of them in its first `head` bytes, or in its last ones."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        size = len(made)
        if size < 8:
            break
        near = rng.randrange(min(head, size))
        at = rng.choice([near, size - 1 - near, rng.randrange(size), rng.randrange(size)])
        other, length = rng.randrange(size), rng.choice([1, 4, 8, 33])
        match rng.randrange(9):
            case 0:
                made[at] = rng.randrange(256)
            case 1 | 2:
                made[at] ^= 1 << rng.randrange(8)
            case 3 | 4:
                at -= at % 4
                made[at : at + 4] = struct.pack("<I", rng.choice([*_NUMBERS, size, rng.randrange(size)]))
            case 5:
                made[at : at + length] = made[other : other + length]
            case 6:
                del made[at : at + length]
            case 7:
                made[at:at] = made[other : other + length]
            case _:
                del made[rng.choice([at, size - length]) :]
    return bytes(made)


@contextlib.contextmanager
def bounded(what: object) -> Iterator[None]:
    """What is done within has little memory, and less than ten seconds of the processor.

    Who asks for much more memory has an error, or ends with the process.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _MEMORY, before[1]))
    began = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - began < _SECONDS, what

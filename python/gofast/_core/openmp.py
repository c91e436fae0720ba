"""Runs small operations of torch on this thread alone.

torch divides even a `torch.randperm(60_000)` among OpenMP's threads. These spin for 3 ms when they are done,
and get in the way of the engine's threads. If they slept before, waking them takes longer than the work
(0.6 ms alone, 4 to 7 ms shared, on 2 cores, 2026-11).
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

# The OpenMP that torch has loaded. Its number of threads belongs to the calling thread, unlike that of
# torch.set_num_threads. Without OpenMP, torch does not divide this work either.
_process = ctypes.CDLL(None)
_threads = getattr(_process, "omp_get_max_threads", None)
_set_threads = getattr(_process, "omp_set_num_threads", None)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Within this context, torch's operations of the calling thread run on that thread alone."""
    if _threads is None or _set_threads is None:
        yield
        return
    before = _threads()
    _set_threads(1)
    try:
        yield
    finally:
        _set_threads(before)


def as_in_workers(count: int) -> contextlib.AbstractContextManager[None]:
    """`alone` if torch had workers: each computes on one thread, and their number may decide a last bit."""
    return alone() if count > 0 else contextlib.nullcontext()

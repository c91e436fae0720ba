"""Small operations of torch's on this thread alone.

Torch shares even a `torch.randperm(60_000)` out to OpenMP's threads, and these spin for 3 ms when they are
done, in the way of the engine's; where they slept before, waking them takes longer than the work (0.6 ms
alone, 4 to 7 ms shared, on 2 cores, 2026-11).
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

# Whichever OpenMP torch has loaded. Its number of threads belongs to the calling thread, unlike that of
# torch.set_num_threads. Without one, torch shares nothing out either.
_process = ctypes.CDLL(None)
_threads = getattr(_process, "omp_get_max_threads", None)
_set_threads = getattr(_process, "omp_set_num_threads", None)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Within it, torch's operations of this thread run on it."""
    if _threads is None or _set_threads is None:
        yield
        return
    before = _threads()
    _set_threads(1)
    try:
        yield
    finally:
        _set_threads(before)

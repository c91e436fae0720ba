"""Where samples spend their time: a thread looks at the stack of the one that makes them, every 3 ms.

Nothing of the user's is replaced. A look takes about 50 us, 2 % of a processor at most. What it sees owns the
time since the last look, as the kernel counts it: on a processor, waiting for one, or neither.
"""

from __future__ import annotations

import heapq
import os
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import util
from types import FrameType
from typing import Any

from torch.utils.data import get_worker_info

from .stages import codes, is_own, line_of, stage_of, within
from .watcher_thread import EVERY, WatcherThread

TELL = 0.1  # seconds between two reports of a worker
_SLOW = 2000  # slow samples that are remembered, the slowest


@dataclass
class StackSamples:
    """What the looks at one process have found, or at all of them together. Times are seconds in all.

    Attributes:
        batches, samples: made meanwhile.
        stages: for each stage its time, without waits for a processor, and the part of it in which the thread
            neither computed nor waited for a processor: it slept, or waited for data.
        slow: samples that were met at several looks.
        named: the seconds of those of them whose index is known.
        lines: how often the user's lines were met.
        looks: at a process that made samples.
    """

    batches: int = 0
    samples: int = 0
    stages: dict[str, tuple[float, float]] = field(default_factory=dict)
    slow: list[float] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)
    looks: int = 0
    named: dict[int, float] = field(default_factory=dict)

    @property
    def fetching(self) -> float:
        """Seconds that samples took, without collate."""
        return sum(took for name, (took, _) in self.stages.items() if name != "collate")

    @property
    def hot(self) -> str:
        """The user's line on which most time goes, with its share; "" if no line has a fifth of it."""
        place, count = next(iter(self.lines.most_common(1)), ("", 0))
        share = count / max(self.looks, 1)
        return f"{place} ({share:.0%} of the time)" if self.looks >= 10 and share >= 0.2 else ""

    def spend(self, stage: str, took: float, blocked: float) -> None:
        """Adds time to a stage."""
        before = self.stages.get(stage, (0.0, 0.0))
        self.stages[stage] = before[0] + took, before[1] + blocked

    def add(self, other: StackSamples) -> None:
        """Adds what was seen of another process."""
        self.batches += other.batches
        self.samples += other.samples
        self.looks += other.looks
        for stage, (took, blocked) in other.stages.items():
            self.spend(stage, took, blocked)
        self.slow += other.slow
        self.lines += other.lines
        self.named |= other.named


class Stacks(WatcherThread):
    """Looks at the thread that made it, while its `with` statement lasts.

    Args:
        dataset: whose transform and loader are known by their names.
        file: where a worker tells what it found; "" in the loop's own process.
        whole: batches come from any iterable: all of `next` is looked at, not only torch's fetching.
    """

    def __init__(self, dataset: Any, file: str = "", whole: bool = False) -> None:
        super().__init__()
        self.seen = StackSamples()
        self._codes = dict(codes(dataset))
        self._file, self._whole = file, whole
        self._schedstat, self._thread_id = _schedstat(), threading.get_native_id()
        self._last = time.perf_counter(), *self._kernel()
        # The sample that is made: its frames are held till the next look, so that no other can look the same.
        self._sample: tuple[Any, ...] = (None, None, 0)
        self._sample_took = self._told = 0.0

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._end_sample()
        self._tell()
        if self._schedstat >= 0:
            os.close(self._schedstat)

    def _tell(self) -> None:
        """Reports what was found so far, which replaces earlier reports of this process."""
        self.seen.batches, self.seen.samples = made
        if self._file:
            with suppress(OSError):
                with open(f"{self._file}.new", "wb") as file:
                    pickle.dump(self.seen, file)
                os.replace(f"{self._file}.new", self._file)

    def look(self, frame: FrameType | None) -> None:
        """Gives the time since the last look to what is seen now."""
        now, cpu, delay = time.perf_counter(), *self._kernel()
        # The kernel counts a wait for a processor when it is over: a single look may find less than nothing.
        took = now - self._last[0] - (delay - self._last[2])
        blocked = took - (cpu - self._last[1]) if self._schedstat >= 0 else 0.0
        self._last = now, cpu, delay
        if now - self._told > TELL:
            self._told = now
            self._tell()
        calls, root = within(frame, self._whole)
        if root is None:
            self._end_sample(took)
            return
        self.seen.looks += 1
        own = next((call for call in calls if is_own(call.f_code)), None)
        if own is not None:
            place = f"{os.path.basename(own.f_code.co_filename)}:{own.f_lineno} in {own.f_code.co_name}"
            self.seen.lines[place] += 1
        if "collate_fn" in line_of(root):
            self._end_sample(took)
            self.seen.spend("collate", took, blocked)
            return
        self._same_sample(root, calls, took)
        stage, reading = stage_of(calls, self._codes)
        if reading and self._sleeps():  # what it waits for is data; what it computes is not reading
            self.seen.spend("read", blocked, blocked)
            took, blocked = took - blocked, 0.0
        self.seen.spend(stage, took, blocked)

    def _same_sample(self, root: FrameType, calls: list[FrameType], took: float) -> None:
        """Counts the looks at one sample: a call of the dataset, or a generator between two samples."""
        # These calls make a whole batch; gofast's own has a frame of its loader's around it.
        if self._whole or not calls or any(call.f_code.co_name == "__getitems__" for call in calls[-2:]):
            self._end_sample(took)
            return
        sample, before = (root, calls[-1], len(root.f_locals.get("data", ()))), self._sample
        if before[0] is not root or before[1] is not calls[-1] or before[2] != sample[2]:
            self._end_sample(took)
        else:
            self._sample_took += took
        self._sample = sample

    def _end_sample(self, took: float = 0.0) -> None:
        # Others may have taken what passed since the last look; less than nothing is a wait of this one's.
        self._sample_took += min(took, 0.0)
        if self._sample_took > 1.5 * EVERY:
            self.seen.slow.append(self._sample_took)
            call = self._sample[1]
            index = call.f_locals.get(call.f_code.co_varnames[1]) if call.f_code.co_argcount > 1 else None
            if isinstance(index, int) and len(self.seen.named) < _SLOW:
                self.seen.named[index] = self._sample_took
            if len(self.seen.slow) > 2 * _SLOW:
                self.seen.slow = heapq.nlargest(_SLOW, self.seen.slow)
        self._sample, self._sample_took = (None, None, 0), 0.0

    def _sleeps(self) -> bool:
        """Whether the thread waits, and not for a processor: the kernel counts that wait when it is over."""
        try:
            with open(f"/proc/self/task/{self._thread_id}/stat", "rb") as file:
                return not file.read().rpartition(b") ")[2].startswith(b"R")
        except OSError:
            return True

    def _kernel(self) -> tuple[float, float]:
        """Seconds on a processor, and of waiting for one; 0 where the kernel does not tell."""
        try:
            cpu, delay, _ = os.pread(self._schedstat, 96, 0).split()
        except (OSError, ValueError):
            return 0.0, 0.0
        return int(cpu) / 1e9, int(delay) / 1e9


def _schedstat() -> int:
    try:
        return os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


# -- workers -----------------------------------------------------------------------

made = [0, 0]  # batches and samples of this process


class Counted:
    """The user's collate function, which is called once for each batch."""

    def __init__(self, inner: Callable[[Any], Any]) -> None:
        self.inner = inner

    def __call__(self, samples: Any) -> Any:
        made[0] += 1
        made[1] += len(samples) if isinstance(samples, (list, tuple)) else 1
        return self.inner(samples)


class Started:
    """The user's worker_init_fn, and then the thread that looks at this worker. It tells in a folder."""

    def __init__(self, inner: Callable[[int], object] | None, folder: str) -> None:
        self.inner, self.folder = inner, folder

    def __call__(self, worker: int) -> None:
        if self.inner is not None:
            self.inner(worker)
        made[:] = 0, 0
        info = get_worker_info()
        looking = Stacks(info.dataset if info is not None else None, f"{self.folder}/{os.getpid()}.seen")
        looking.__enter__()
        # A short epoch ends before the next report; and no thread may be alive when an interpreter ends.
        util.Finalize(None, looking.__exit__, exitpriority=10)


def told(folder: str) -> StackSamples:
    """What all workers have told."""
    found = StackSamples()
    for name in os.listdir(folder):
        if name.endswith(".seen"):
            with open(os.path.join(folder, name), "rb") as file:
                found.add(pickle.load(file))
    return found

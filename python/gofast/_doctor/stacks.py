"""Where samples spend their time: a thread looks at the stack of the one that makes them, every 3 ms.

Nothing of the user's is replaced. A look takes about 50 us, 2 % of a processor at most. What it sees owns the
time since the last look, as the kernel counts it: on a processor, waiting for one, or neither.
"""

from __future__ import annotations

import collections
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing import util
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

from torch.utils.data import get_worker_info

from .stages import codes, is_own, line_of, stage_of, within

_EVERY = 0.003  # seconds
TELL = 0.1  # seconds between two reports of a worker
_SWITCH = 5e-4  # seconds after which a thread that computes in Python lets the looking one in; 5 ms are usual
_MOST = 24  # stages, lines and slow samples that a report names: it must fit into a pipe's 4096 bytes at once


@dataclass
class Seen:
    """What the looks at one process have found, or at all of them together. Times are seconds in all.

    Attributes:
        batches, samples: made meanwhile.
        stages: for each stage its time, without waits for a processor, and the part of it in which the thread
            neither computed nor waited for a processor: it slept, or waited for data.
        slow: samples that were met at several looks, the longest first.
        lines: how often the user's lines were met.
        looks: at a process that made samples.
    """

    batches: int = 0
    samples: int = 0
    stages: dict[str, tuple[float, float]] = field(default_factory=dict)
    slow: list[float] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    looks: int = 0

    @property
    def fetching(self) -> float:
        """Seconds that samples took, without collate."""
        return sum(took for name, (took, _) in self.stages.items() if name != "collate")

    @property
    def hot(self) -> str:
        """The user's line on which most time goes, with its share; "" if no line has a fifth of it."""
        place = max(self.lines, key=lambda place: self.lines[place], default="")
        share = self.lines.get(place, 0) / max(self.looks, 1)
        return f"{place} ({share:.0%} of the time)" if self.looks >= 10 and share >= 0.2 else ""

    def spend(self, stage: str, took: float, blocked: float) -> None:
        """Adds time to a stage."""
        before = self.stages.get(stage, (0.0, 0.0))
        self.stages[stage] = before[0] + took, before[1] + blocked

    def add(self, other: Seen) -> None:
        """Adds what was seen of another process."""
        self.batches, self.samples, self.looks = (
            self.batches + other.batches,
            self.samples + other.samples,
            self.looks + other.looks,
        )
        for stage, (took, blocked) in other.stages.items():
            self.spend(stage, took, blocked)
        self.slow = sorted(self.slow + other.slow, reverse=True)
        self.lines = dict(collections.Counter(self.lines) + collections.Counter(other.lines))

    def text(self) -> bytes:
        """What fits into a pipe at once."""
        return json.dumps(
            {
                **asdict(self),
                "pid": os.getpid(),
                "stages": {k[:40]: [round(s, 6) for s in v] for k, v in _largest(self.stages).items()},
                "slow": [round(seconds, 5) for seconds in sorted(self.slow, reverse=True)[:_MOST]],
                "lines": _largest(dict(self.lines), 8),
            },
            separators=(",", ":"),
        ).encode()


def _largest(found: dict[str, Any], most: int = _MOST) -> dict[str, Any]:
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=True)[:most])


# -- one process -------------------------------------------------------------------


class Stacks:
    """Looks at the thread that made it, while its `with` statement lasts.

    Args:
        dataset: whose transform and loader are known by their names.
        writer: where a worker tells what it found; None in the loop's own process.
        whole: batches come from any iterable: all of `next` is looked at, not only torch's fetching.
    """

    def __init__(self, dataset: Any, writer: Connection | None = None, whole: bool = False) -> None:
        self.seen = Seen()
        self._codes = dict(codes(dataset))
        self._writer, self._whole = writer, whole
        self._target, self._over = threading.get_ident(), threading.Event()
        self._file = _schedstat()
        self._last = time.perf_counter(), *self._kernel()
        self._sample: tuple[
            Any, ...
        ] = ()  # held till the next look, so that no other frame can look the same
        self._sample_took = 0.0
        self._told = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Stacks:
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        sys.setswitchinterval(self._switch)
        self._end_sample()
        if self._file >= 0:
            os.close(self._file)

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            self.look(sys._current_frames().get(self._target))
            now = time.perf_counter()
            if self._writer is not None and now - self._told > TELL:
                self._told = now
                self.tell()

    def tell(self) -> None:
        """Reports what was found so far, which replaces earlier reports of this process."""
        self.seen.batches, self.seen.samples = made
        text = self.seen.text()
        if self._writer is not None and len(text) < 4000:  # more could be mixed with what others write
            try:
                self._writer.send_bytes(text)
            except OSError:
                pass  # the pipe is full: a later report says more

    def end(self) -> None:
        """The last report. No thread may be alive when an interpreter ends, as a spawned worker does."""
        self.__exit__()
        self.tell()

    def look(self, frame: FrameType | None) -> None:
        """Gives the time since the last look to what is seen now."""
        now, cpu, delay = time.perf_counter(), *self._kernel()
        # The kernel counts a wait for a processor when it is over: a single look may find less than nothing.
        took = now - self._last[0] - (delay - self._last[2])
        blocked = took - (cpu - self._last[1]) if self._file >= 0 else 0.0
        self._last = now, cpu, delay
        calls, root = within(frame, self._whole)
        if root is None:
            self._end_sample()
            return
        self.seen.looks += 1
        own = next((call for call in calls if is_own(call.f_code)), None)
        if own is not None:
            place = f"{os.path.basename(own.f_code.co_filename)}:{own.f_lineno} in {own.f_code.co_name}"
            self.seen.lines[place] = self.seen.lines.get(place, 0) + 1
        if "collate_fn" in line_of(root):
            self._end_sample()
            self.seen.spend("collate", took, blocked)
            return
        self._same_sample(root, calls, took)
        stage, reading = stage_of(calls, self._codes)
        if reading:  # what it waits for is data; what it computes is not reading
            self.seen.spend("read", blocked, blocked)
            took, blocked = took - blocked, 0.0
        self.seen.spend(stage, took, blocked)

    def _same_sample(self, root: FrameType, calls: list[FrameType], took: float) -> None:
        """Counts the looks at one sample: a call of the dataset, or a generator between two samples."""
        if not calls or calls[-1].f_code.co_name == "__getitems__":
            return self._end_sample()
        sample = (root, calls[-1], len(root.f_locals.get("data", ())))
        before = self._sample
        if not before or before[0] is not root or before[1] is not calls[-1] or before[2] != sample[2]:
            self._end_sample()
        self._sample = sample
        self._sample_took += took
        return None

    def _end_sample(self) -> None:
        if self._sample_took > 1.5 * _EVERY:
            self.seen.slow.append(self._sample_took)
            if len(self.seen.slow) > 4000:
                self.seen.slow = sorted(self.seen.slow, reverse=True)[:2000]
        self._sample, self._sample_took = (), 0.0

    def _kernel(self) -> tuple[float, float]:
        """Seconds on a processor, and of waiting for one; 0 where the kernel does not tell."""
        try:
            cpu, delay, _ = os.pread(self._file, 96, 0).split()
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
    """The user's worker_init_fn, and then the thread that looks at this worker."""

    def __init__(self, inner: Callable[[int], object] | None, writer: Connection) -> None:
        self.inner, self.writer = inner, writer

    def __call__(self, worker: int) -> None:
        if self.inner is not None:
            self.inner(worker)
        made[:] = 0, 0
        info = get_worker_info()
        stacks = Stacks(info.dataset if info is not None else None, self.writer)
        stacks.__enter__()
        util.Finalize(None, stacks.end, exitpriority=10)  # a short epoch ends before the next report

"""Where samples spend their time: a thread looks at the stack of the one that makes them, every 3 ms.

Nothing of the user's is replaced. A look takes about 50 us, 2 % of a processor at most. What it sees owns the
time since the last look, as the kernel counts it: on a processor, waiting for one, or neither.
"""

from __future__ import annotations

import collections
import io
import json
import linecache
import mmap
import os
import re
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from multiprocessing import util
from multiprocessing.connection import Connection
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils.data import get_worker_info

_EVERY = 0.003  # seconds
TELL = 0.1  # seconds between two reports of a worker
_SWITCH = 5e-4  # seconds after which a thread that computes in Python lets the looking one in; 5 ms are usual
_MOST = 24  # stages, lines and slow samples that a report names: it must fit into a pipe's 4096 bytes at once

_TRANSFORMS = {"transform", "transforms", "augment", "augmentation", "aug", "preprocess", "tfm", "tfms"}
_DECODES = {"decode", "decompress"}
_READS = {"read", "readinto", "readall", "readline", "readlines", "pread", "recv", "fetch", "download"}
_READING_LINE = re.compile(r"\b(open|p?read\w*|recv\w*|fromfile|memmap)\s*\(")
_DECODING_LINE = re.compile(r"\b(imread|imdecode|decode_\w+|read_image)\s*\(")
_LIBRARIES = (  # parts of paths, and what they do
    ("/PIL/ImageFile.py", "decode"),
    ("Plugin.py", "decode"),  # of Pillow
    ("/torchvision/io/", "decode"),
    ("/gofast/_late/", "decode"),
    ("/torchvision/transforms/", "transform"),
    ("/gofast/_images/composes.py", "transform"),
    ("/albumentations/", "transform"),
    ("/socket.py", "read"),
    ("/ssl.py", "read"),
)
_FETCH = os.path.join("torch", "utils", "data", "_utils", "fetch.py")
_OURS = os.path.dirname(__file__) + os.sep
_NOT_THE_USERS = tuple(
    os.path.realpath(path) + os.sep
    for path in {
        sysconfig.get_path("stdlib"),
        os.path.dirname(os.path.dirname(__file__)),
    }
)


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
        calls, root = _within(frame, self._whole)
        if root is None:
            self._end_sample()
            return
        self.seen.looks += 1
        own = next((call for call in calls if is_own(call.f_code)), None)
        if own is not None:
            place = f"{os.path.basename(own.f_code.co_filename)}:{own.f_lineno} in {own.f_code.co_name}"
            self.seen.lines[place] = self.seen.lines.get(place, 0) + 1
        if "collate_fn" in _line(root):
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


# -- what a stack says -------------------------------------------------------------


def _within(frame: FrameType | None, whole: bool) -> tuple[list[FrameType], FrameType | None]:
    """The calls inside torch's fetching, innermost first, and the fetching itself; or no calls and None."""
    calls: list[FrameType] = []
    while frame is not None:
        path = frame.f_code.co_filename
        if path.endswith(_FETCH):
            if frame.f_code.co_name == "fetch":
                return calls, frame
        elif path.startswith(_OURS) and frame.f_code.co_name != "__call__":  # consume, or what it calls
            return (calls, frame) if whole and calls and frame.f_code.co_name == "consume" else ([], None)
        else:
            calls.append(frame)
        frame = frame.f_back
    return [], None


def stage_of(calls: list[FrameType], known: dict[CodeType, str]) -> tuple[str, bool]:
    """The stage that the innermost telling call is in, and whether what is waited for there is data."""
    reading = False
    for at, call in enumerate(calls):
        code = call.f_code
        if code in known:
            return known[code], reading
        kind = _kind(code)
        if kind == "decode":
            return "decode", True
        if kind == "transform":
            return f"transform:{_step(calls[at:])}", reading
        if kind.partition(":")[0] in ("decode", "transform"):  # the user's, by its name
            return kind, reading
        if is_own(code):
            innermost = not any(is_own(inner.f_code) for inner in calls[:at])
            if innermost and _DECODING_LINE.search(_line(call)):
                return "decode", True
            reading |= innermost and bool(_READING_LINE.search(_line(call)))
            owner = call.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
            reading |= isinstance(owner, (io.IOBase, mmap.mmap))
        reading |= kind == "read"
    return "own", reading


@lru_cache(4096)
def _kind(code: CodeType) -> str:
    path, words = code.co_filename, set(code.co_name.lower().split("_"))
    if is_own(code):
        if words & _DECODES:
            return f"decode:{code.co_name}"
        if words & _TRANSFORMS:
            return f"transform:{code.co_name}"
        return "read" if words & _READS else ""
    if path.endswith("/PIL/Image.py") and code.co_name in ("open", "preinit", "init"):
        return "decode"
    return next((kind for part, kind in _LIBRARIES if part in path), "")


def _step(calls: list[FrameType]) -> str:
    """The name of the step of the outermost Compose that runs; else of the object whose method it is."""
    name = ""
    for call in calls:
        code, inside = call.f_code, call.f_locals
        if _kind(code) != "transform":
            continue
        own = inside.get("self")
        step = inside.get("t", inside.get("transform")) if type(own).__name__ == "Compose" else own
        if step is not None:
            name = name_of(step)
    return name or calls[0].f_code.co_name


@lru_cache(4096)
def is_own(code: CodeType) -> bool:
    """Whether it is the user's own code."""
    path = code.co_filename
    return not (path.startswith((*_NOT_THE_USERS, "<frozen")) or "-packages/" in path)


def _line(frame: FrameType) -> str:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno)


def name_of(step: Any) -> str:
    """How the report names a step."""
    return str(getattr(step, "__name__", type(step).__name__))


def codes(dataset: Any, depth: int = 4) -> list[tuple[CodeType, str]]:
    """The code of the callables that a dataset keeps, and their stages by the attributes' names."""
    found: list[tuple[CodeType, str]] = []
    if depth and type(dataset).__module__.split(".")[0] != "gofast":
        for name, value in list(getattr(dataset, "__dict__", {}).items()):
            if name in ("dataset", "datasets") or type(value).__name__ == "StandardTransform":
                for part in value if isinstance(value, (list, tuple)) else [value]:
                    found += codes(part, depth - 1)
            known = set(name.lower().split("_")) & _TRANSFORMS or type(value).__name__ in (
                "function",
                "partial",
            )
            code = _code(value)
            if known and code is not None and type(value).__name__ not in ("Compose", "StandardTransform"):
                loads = any(word in name.lower() for word in ("load", "open", "read", "decode"))
                found.append((code, "decode" if loads else f"transform:{name_of(value)}"))
    return found


def _code(value: Any) -> CodeType | None:
    if isinstance(value, partial):
        value = value.func
    if isinstance(value, torch.nn.Module):
        value = type(value).forward
    elif not hasattr(value, "__code__") and not isinstance(value, type):
        value = getattr(value, "__func__", vars(type(value)).get("__call__"))
    code = getattr(value, "__code__", None)
    return code if isinstance(code, CodeType) else None

"""Why something is not made natively: one type, and one way to count it.

explain, warnings, stats, the doctor and the last words of `python -m gofast` say a reason in its own words.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from .processor_time import Spent

Kind = Literal["python", "refused", "fallback"]
_MOST = 100  # reasons that are told apart; a text may name what is different in every file
_COSTLY = 0.1  # seconds, from which on a reason is worth a word


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why something is not made natively.

    Attributes:
        text: says it.
        step: what it is about, if the text does not say that: a class, a function or a dataset.
        kind: "python": the step runs in Python. "refused": the core makes no batches of a dataset or a
            loader. "fallback": the core would do it, but left it to torch or Pillow this time.
        of: what it speaks of, which is kept so that it need not be made again.
    """

    text: str
    step: str = ""
    kind: Kind = "refused"
    of: object = dataclasses.field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if not self.step:
            return self.text
        runs = " runs in Python" if self.kind == "python" else ""
        return f"{self.step}{runs}: {self.text}"


class NotNative(Exception):
    """Something that must run in Python. The text says why; whoever catches it knows the step."""


class Reasons:
    """How often something was left to Python, torch or Pillow, and how long that took, by reason.

    Threads may share it: each adds to numbers of its own, since a lock could be left locked by Ctrl-C.
    """

    def __init__(self) -> None:
        # How often, and nanoseconds: by the clock, and of processors.
        self._by_thread: dict[int, dict[Reason, list[int]]] = {}

    def note(self, reason: Reason, times: int = 1, ns: int = 0, processor_ns: int = 0) -> None:
        """Adds to a reason. Those behind the first hundred are "others"; what runs in Python then counts no
        more: a transform that is made anew for each sample may give a new reason each time."""
        mine = self._by_thread.setdefault(threading.get_ident(), {})
        if reason not in mine and len(mine) >= _MOST:
            if reason.kind == "python":
                return
            reason = Reason("others", kind=reason.kind)
        cost = mine.setdefault(reason, [0, 0, 0])
        cost[0] += times
        cost[1] += ns
        cost[2] += processor_ns

    def _read(self, kind: Kind, which: int) -> Counter[str]:
        total: Counter[str] = Counter()
        for mine in list(self._by_thread.values()):
            for reason, cost in mine.copy().items():
                if reason.kind == kind and cost[which]:
                    total[str(reason)] += cost[which]
        return total

    def numbers(self, kind: Kind) -> Counter[str]:
        """How often each of a kind was met, by what it says."""
        return self._read(kind, 0)

    def seconds(self) -> dict[str, float]:
        """How long what runs in Python took, likewise."""
        return {said: ns / 1e9 for said, ns in self._read("python", 1).items()}

    def processor_seconds(self) -> dict[str, float]:
        """The processor time of it outside pictures, where `Spent` is wanted."""
        return {said: ns / 1e9 for said, ns in self._read("python", 2).items()}

    def clear(self) -> None:
        """Forgets all: in a forked process they are its parent's."""
        self._by_thread.clear()


process = Reasons()


class _Timing(threading.local):
    inside = False


_now = _Timing()


class timed:
    """Counts the time within as that of a reason, in this process; within another, nothing."""

    __slots__ = ("_began", "_reason", "_spent")

    def __init__(self, reason: Reason) -> None:
        self._reason = reason

    def __enter__(self) -> None:
        self._began = 0
        if not _now.inside:
            self._began, self._spent = time.perf_counter_ns(), Spent.outside_pictures()
        _now.inside = True

    def __exit__(self, *raised: object) -> None:
        if self._began:
            _now.inside = False
            spent = Spent.outside_pictures() - self._spent
            process.note(self._reason, 0, time.perf_counter_ns() - self._began, spent)


def most(costs: Mapping[str, float]) -> list[tuple[str, float]]:
    """The three reasons that cost most, of those that cost a tenth of a second and more."""
    costly = [(why, took) for why, took in costs.items() if took >= _COSTLY]
    return sorted(costly, key=lambda cost: -cost[1])[:3]

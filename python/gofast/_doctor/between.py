"""Batches that are not taken apart: one that takes far longer than usual has a sample that does.

A huge file among thousands of small ones is hardly ever in one of the few batches whose samples are timed.
"""

from __future__ import annotations

import collections
import statistics
from collections.abc import Callable

from .records import Batch

_SLOW = 10  # times the usual sample


class Between:
    """Times of whole batches, since the last one that was taken apart.

    Args:
        waited: seconds that this thread has waited for a processor, so far.

    Attributes:
        samples: in these batches.
        seconds: of these batches, without what a slow one waited for a processor.
        slow: seconds of the slow samples.
    """

    def __init__(self, waited: Callable[[], float]) -> None:
        self._waited = waited
        self._usual: collections.deque[tuple[float, float]] = collections.deque(maxlen=9)
        self._batch = self._sample = self._before = 0.0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.samples, self.seconds, self.slow = 0, 0.0, list[float]()

    def add(self, samples: int, took: float) -> None:
        """A batch that was not taken apart."""
        if self._over(took) > 0:
            waited = self._waited()
            lost, self._before = waited - self._before, waited  # no more of it was in this batch
            took = max(took - lost, self._batch)
            if (over := self._over(took)) > 0:
                self.slow.append(over + self._sample)
        self.samples += samples
        self.seconds += took

    def _over(self, took: float) -> float:
        """Seconds beyond a usual batch, if they are so many that one sample must be slow; else 0."""
        over = took - self._batch
        return over if over > max(_SLOW * self._sample, 0.5 * self._batch) else 0.0

    def take(self) -> Batch:
        """All of them as one record, without its stages."""
        slowest = sorted(self.slow, reverse=True)[:16]
        found = Batch(self.samples, self.seconds, 0.0, {}, slowest, median=self._sample, fetch=self.seconds)
        self._begin_anew()
        return found

    def learn(self, batch: Batch) -> None:
        """A batch that was taken apart shows what is usual."""
        self._usual.append((batch.wall - batch.delay, batch.median))
        self._batch = statistics.median(whole for whole, _ in self._usual)
        self._sample = statistics.median(sample for _, sample in self._usual)
        self._before = self._waited()

"""The training loop that is measured: batches from a loader, a step for each, and how long both took."""

from __future__ import annotations

import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .loaders import estimated_bytes, has_doubles, samples_of, workers

Step = Callable[[Any], object]
_SIGNAL = signal.SIGRTMAX - 5
LEAST = 4  # batches, even when they take longer than the time that was planned
_RATE = 2e9  # bytes of batches a second that the simulated step takes
_SHORTEST = 1e-3  # seconds that the simulated step takes at least


@dataclass
class Run:
    """Times of a loop, in seconds.

    Attributes:
        waits: for each batch that counts, how long the loop waited for it.
        steps: for each batch that counts, how long its step took.
        starts: for each epoch, from `iter` to its first batch.
        restarting: of `waits`, those of starts.
        busy: processor time of this thread in `steps`.
        seconds: of the loop, as far as it counts.
        batches: all that came.
        samples: in the batches that count.
        largest: bytes of the first batch.
        doubles: it has float64 numbers, which take twice the bytes that a model takes.
        parts: of the first batch; 0: it is no list of parts.
        empty: the loader has no batch at all.
        once: it gave its batches once, and has no second epoch.
        first: how many of `waits` are of the first epoch.
        each: for each of `steps`, the processor time of this process.
    """

    waits: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    restarting: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0
    batches: int = 0
    samples: int = 0
    largest: int = 0
    doubles: bool = False
    parts: int = 0
    empty: bool = False
    once: bool = False
    first: int = 0
    each: list[float] = field(default_factory=list)

    @property
    def wait(self) -> float:
        """Seconds that the loop waits for a batch, on average."""
        return statistics.fmean(self.waits or self.starts or [0.0])

    @property
    def step(self) -> float:
        """Seconds that a step takes, on average."""
        return statistics.fmean(self.steps or [0.0])

    @property
    def share(self) -> float:
        """The share of the loop that is waiting, 0 to 1."""
        return self.wait / (self.wait + self.step) if self.wait + self.step > 0 else 0.0

    @property
    def settled(self) -> float:
        """Seconds that the loop waits for a batch in later epochs, where these wait far less; else 0."""
        later, before = self.waits[self.first :], self.waits[: self.first]
        if len(later) < LEAST or len(before) < LEAST:
            return 0.0
        now = statistics.median(later)
        return now if now < 0.2 * statistics.median(before) else 0.0

    @property
    def restarts(self) -> float:
        """The share of the waiting that goes into the starts of epochs."""
        return self.restarting / max(sum(self.waits), 1e-9)

    @property
    def size(self) -> float:
        """Samples in a batch."""
        return self.samples / len(self.steps) if self.steps else 1.0

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0


class Simulated:
    """A step that waits as long as a fast GPU would take for a batch of this size; models take float32."""

    def __call__(self, batch: Any) -> None:
        time.sleep(max(_SHORTEST, estimated_bytes(batch, most=4) / _RATE))


class ReplayedStep:
    """A step that takes as long as the user's did: on the processor where it computed, asleep where not.

    Args:
        seconds: of the step.
        busy: of them, on a processor.
    """

    def __init__(self, seconds: float, busy: float) -> None:
        self._busy, self._idle = min(busy, seconds), max(seconds - busy, 0.0)

    def __call__(self, batch: Any) -> None:
        end = time.thread_time() + self._busy
        while time.thread_time() < end:
            pass
        if self._idle > 0:
            time.sleep(self._idle)


def nothing(batch: Any) -> None:
    """No step: the loader runs flat out."""


def consume(
    loader: Any,
    step: Step,
    seconds: float,
    *,
    least: int = LEAST,
    most: float | None = None,
    run: Run | None = None,
) -> Run:
    """Runs the loop for some seconds, over as many epochs as fit.

    The first batches, one for each worker, are not counted: all workers have theirs ready at about the same
    time, which says nothing of how fast they go on.

    Args:
        least: batches that are counted even when they take longer,
        most: but no longer than these seconds from the first batch on, once there are two; None: four times
            as long, and five more. Spawned workers may take many seconds until then.
        run: takes the times as they come, so that an error loses none.
    """
    run = Run() if run is None else run
    clock, cpu = time.perf_counter, time.thread_time
    most = 4 * seconds + 5 if most is None else most
    warm, since, size = max(workers(loader), 1), 0.0, 1
    started = begin = clock()
    while True:
        fresh = True
        with _epoch(loader) as source:
            while True:
                asked = clock()
                try:
                    batch = next(source)
                except StopIteration:
                    started = asked  # ending workers is a part of starting the next ones
                    break
                got = clock()
                if fresh:
                    run.starts.append(got - started)
                if not run.batches:
                    begin = got
                    run.largest, size = estimated_bytes(batch), samples_of(batch, loader)
                    run.doubles = has_doubles(batch)
                    run.parts = len(batch) if isinstance(batch, (list, tuple)) else 0
                run.batches += 1
                counted = run.batches > warm
                before, used = cpu(), time.process_time()
                step(batch)
                now = clock()
                if counted:
                    run.waits.append(got - (started if fresh else asked))
                    run.first += len(run.starts) == 1
                    run.steps.append(now - got)
                    run.busy += cpu() - before
                    run.each.append(time.process_time() - used)
                    run.samples += samples_of(batch, loader) if run.batches % 16 == 0 else size
                    run.restarting += got - started if fresh else 0.0
                    run.seconds = now - since
                else:
                    since = now
                fresh = False
                del batch
                # Workers finish at about the same time: batches come in bursts, and only whole ones are fair.
                enough = len(run.steps) >= least and run.seconds >= seconds and len(run.steps) % warm == 0
                late = now - begin > most and len(run.steps) > 1
                if enough or late:
                    return run
        if fresh:  # an epoch without a batch
            run.empty, run.once = not run.batches, bool(run.batches)
            return run


@contextmanager
def _epoch(loader: Any) -> Iterator[Iterator[Any]]:
    """An iterator whose workers end with it after an error, too, and not only when garbage is collected."""
    source = iter(loader)
    try:
        yield source
    except BaseException:
        end = getattr(source, "_shutdown_workers", None)  # of torch's
        if end is not None:
            end()
        raise


class TimeUp(BaseException):
    """A measurement in this process took too long. No `except Exception` of the user's swallows it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TimeUp in the main thread at the limit, also out of a system call that waits.

    Another thread gets no signals: there, nothing is raised.
    """
    main = threading.main_thread()
    if threading.current_thread() is not main or main.ident is None:
        yield
        return

    over = False

    def stop(*_: object) -> None:
        if not over:
            raise TimeUp

    # A signal that is free, sent by a thread: the alarm clock may be in use.
    before = signal.signal(_SIGNAL, stop)
    timer = threading.Timer(seconds, signal.pthread_kill, (main.ident, _SIGNAL))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        over = True
        timer.cancel()
        timer.join()
        signal.signal(_SIGNAL, before)

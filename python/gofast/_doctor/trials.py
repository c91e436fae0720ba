"""Tries changes for real: fresh loaders in forked children, in turns with the loader as it is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._core.units import duration
from . import isolation as children
from .facts import Facts
from .isolation import NO_TIME, apart
from .loaders import like
from .remedies import FITTING, SIZE, Build, Offer, offered
from .training_loop import ReplayedStep, Simulated, Step, consume, nothing
from .verdicts import Remedy, Verdict


class Trials:
    """Tries changes, and remembers what came of each.

    Attributes:
        known: the remedies that were tried, by key.

    Args:
        starting: seconds that the start of the loader's workers should take.
        rounds: how often each change is tried; 0: never.
    """

    def __init__(self, facts: Facts, seconds: float, starting: float, rounds: int) -> None:
        self._facts, self._seconds, self._starting, self._rounds = facts, seconds, starting, rounds
        self.known: dict[str, Remedy] = {}

    def attempt(self, key: str) -> float | None:
        """The gain of one change; None if it cannot be tried."""
        self._try([key], self._seconds / 3)
        return self.known[key].gain if key in self.known else None

    def all_of(self, code: Verdict) -> list[Remedy]:
        """All changes that may help against this, the greatest gain first."""
        keys = FITTING.get(code, ())
        self._try(keys, self._seconds)
        found = [self.known[key] for key in keys if key in self.known]
        return sorted(found, key=lambda remedy: -(remedy.gain or 0.0))

    def _try(self, keys: Sequence[str], seconds: float) -> None:
        run, tried = self._facts.run, list[Offer]()
        for key in keys if self._rounds else ():
            offer = None if key in self.known else offered(self._facts, key)
            if offer is not None:
                self.known[key] = offer.remedy
                if offer.build is not None:
                    tried.append(offer)
        # The step of a larger batch would take longer, by an unknown time.
        step: Step = nothing
        if [*keys] != [SIZE]:
            busy = run.busy / max(len(run.steps), 1)
            step = Simulated() if self._facts.simulated else ReplayedStep(run.step, busy)
        rounds, rate = self._rounds, 0.0
        if self._starting > self._seconds and step is not nothing:
            rounds, rate = 1, run.rate  # the loop as it is has been measured, and starting it takes too long
            # A first batch that takes long to make is what more workers are for; only their start is not.
            starting = self._starting - run.wait * max(self._facts.workers, 1)
            for remedy, *_ in tried if starting > self._seconds else ():
                if remedy.key == "num_workers":
                    late = f"{duration(starting)} pass before the workers start: give more seconds="
                    self.known[remedy.key] = replace(remedy, untried=late)
            tried = [each for each in tried if not self.known[each[0].key].untried]
        for remedy in compare(self._facts.loader, tried, step, seconds, rounds, self._starting, rate):
            self.known[remedy.key] = remedy


def compare(
    loader: Any,
    tried: Sequence[Offer],
    step: Step,
    seconds: float,
    rounds: int = 3,
    starting: float = 0.0,
    known: float = 0.0,
) -> list[Remedy]:
    """The remedies with their gains.

    Each round measures the loader as it is, and then every change, so that what else the machine does meets
    all alike. Where workers start slowly, or batches take long, trials end when they have taken three times
    as long as all should: the first change is always tried, and others may not be.

    Args:
        tried: each has what builds its loader; called in a child.
        seconds: for all together.
        starting: seconds that the start of the loader's workers should take; no part of a rate.
        known: samples a second of the loader as it is; 0: to be measured.
    """
    slot = max(seconds / (rounds * (len(tried) + 1)), 0.15) if tried else 0.0
    patience = 4 * starting  # a change may have more workers
    before: list[float] = []
    after: list[list[float]] = [[] for _ in tried]
    beside: list[list[float]] = [[] for _ in tried]
    failed = ["" for _ in tried]
    end = min(time.monotonic() + 3 * seconds + 5, children.until)
    for _ in range(rounds if tried else 0):
        if before and time.monotonic() > end:
            break
        rate, why = (known, "") if known else rate_of(lambda: like(loader), step, slot, patience)
        if not rate and before:  # the time is over
            break
        if not rate:
            return [replace(remedy, untried=f"the loader as it is failed: {why}") for remedy, *_ in tried]
        before.append(rate)
        for at, (_, build, other) in enumerate(tried):
            if failed[at]:
                continue
            if at and time.monotonic() > end:
                failed[at] = "" if after[at] else NO_TIME
                continue
            if other is not None:
                rate, failed[at] = rate_of(other, step, slot, patience)
                beside[at].append(rate)
            if not failed[at]:
                assert build is not None
                rate, why = rate_of(build, step, slot, patience)
                if why != NO_TIME or not after[at]:  # what earlier rounds have shown stays
                    failed[at] = why
                    after[at].append(rate)
    return [
        replace(remedy, untried=why) if why else _with_gain(remedy, others or before, rates)
        for (remedy, *_), others, rates, why in zip(tried, beside, after, failed, strict=True)
    ]


def rate_of(build: Build, step: Step, seconds: float, patience: float) -> tuple[float, str]:
    """Samples a second of a fresh loader; or 0, and why it could not be measured."""
    outcome = apart(lambda: consume(build(), step, seconds).rate, seconds + patience)
    return (outcome.value, "") if outcome.value else (0.0, outcome.error or "too few batches came")


def _with_gain(remedy: Remedy, before: Sequence[float], after: Sequence[float]) -> Remedy:
    ratios = [new / old for new in after for old in before]
    gain = statistics.median(after) / statistics.median(before)
    return replace(remedy, gain=gain, low=min(ratios), high=max(ratios), rounds=len(after))

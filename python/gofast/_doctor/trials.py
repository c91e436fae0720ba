"""Tries changes for real: fresh loaders in forked children, in turns with the loader as it is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .apart import Send, apart
from .consume import Step, consume
from .loaders import like, starting
from .verdicts import Remedy

Build = Callable[[], Any]


def rate_of(build: Build, step: Step, seconds: float, patience: float) -> tuple[float, str]:
    """Samples a second of a fresh loader; or 0, and why it could not be measured.

    Args:
        patience: seconds that starting its workers should take; they are not a part of the rate.
    """

    def work(send: Send) -> None:
        loader = build()
        run = consume(loader, step, seconds)
        send(("rate", run.rate))

    outcome = apart(work, seconds + patience)
    if outcome.error is not None:
        return 0.0, outcome.error
    rate = outcome.last[1] if outcome.last else 0.0
    return (rate, "") if rate > 0 else (0.0, "too few batches came")


def compare(
    loader: Any,
    tried: Sequence[tuple[Remedy, Build]],
    step: Step,
    seconds: float,
    rounds: int = 3,
) -> list[Remedy]:
    """The remedies with their gains.

    Each round measures the loader as it is, and then every change, so that what else the machine does meets
    all alike. Where workers start slowly, or batches take long, trials end when they have taken three times
    as long as all should: the first change is always tried, and others may not be.

    Args:
        tried: each with the function that builds its loader; called in a child.
        seconds: for all together.
    """
    if not tried:
        return []
    slot = max(seconds / (rounds * (len(tried) + 1)), 0.15)
    patience = 4 * starting(loader)  # a change may have more workers
    before: list[float] = []
    after: list[list[float]] = [[] for _ in tried]
    failed = ["" for _ in tried]
    end = time.monotonic() + 3 * seconds + 5
    for _ in range(rounds):
        if before and time.monotonic() > end:
            break
        rate, why = rate_of(lambda: like(loader), step, slot, patience)
        if not rate:
            return [replace(remedy, untried=f"the loader as it is failed: {why}") for remedy, _ in tried]
        before.append(rate)
        for at, (_, build) in enumerate(tried):
            if failed[at]:
                continue
            if at and time.monotonic() > end:
                failed[at] = "" if after[at] else "no time was left for it: give more seconds="
                continue
            rate, failed[at] = rate_of(build, step, slot, patience)
            after[at].append(rate)
    return [
        replace(remedy, untried=why) if why else _with_gain(remedy, before, rates)
        for (remedy, _), rates, why in zip(tried, after, failed, strict=True)
    ]


def _with_gain(remedy: Remedy, before: Sequence[float], after: Sequence[float]) -> Remedy:
    ratios = [new / old for new in after for old in before]
    gain = statistics.median(after) / statistics.median(before)
    return replace(remedy, gain=gain, low=min(ratios), high=max(ratios), rounds=len(after))

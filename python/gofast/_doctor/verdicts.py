"""The bottlenecks that the doctor can name, and how each is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Verdict(str, Enum):
    """The code of a verdict. Its value is its name in small letters, and equals that text.

    HEALTHY and SLOW_STEP ask for no change of the loader.
    """

    HEALTHY = "healthy"
    SLOW_STEP = "slow_step"
    SLOW_STORAGE = "slow_storage"
    SLOW_DECODE = "slow_decode"
    SLOW_TRANSFORM = "slow_transform"
    SLOW_DATASET = "slow_dataset"
    HEAVY_COLLATE = "heavy_collate"
    HEAVY_PICKLING = "heavy_pickling"
    SLOW_SAMPLER = "slow_sampler"
    GENERATOR_BOUND = "generator_bound"
    STRAGGLER = "straggler"
    TINY_BATCHES = "tiny_batches"
    TOO_MANY_WORKERS = "too_many_workers"
    OVERSUBSCRIBED_THREADS = "oversubscribed_threads"
    WORKER_START = "worker_start"
    LOW_MEMORY = "low_memory"
    EMPTY = "empty"
    FAILED = "failed"
    UNCLEAR = "unclear"

    def __str__(self) -> str:
        return self.value


# The first sentence of a report, after the share of waiting.
SENTENCES = {
    Verdict.HEALTHY: "The loader keeps up. There is nothing to change.",
    Verdict.SLOW_STEP: "The step is the limit. The loader could feed a far faster one: leave it as it is.",
    Verdict.SLOW_STORAGE: "Samples wait for their data: storage or network is slow.",
    Verdict.SLOW_DECODE: "Decoding pictures takes most of the time.",
    Verdict.SLOW_TRANSFORM: "The transform takes most of the time.",
    Verdict.SLOW_DATASET: "The dataset's own work takes most of the time.",
    Verdict.HEAVY_COLLATE: "Putting samples together (collate) takes most of the time.",
    Verdict.HEAVY_PICKLING: "Bringing batches from the workers to the loop takes most of the time.",
    Verdict.SLOW_SAMPLER: "The sampler takes most of the time, and no worker can help it.",
    Verdict.GENERATOR_BOUND: "The samples' generator takes most of the time: it makes one after the other.",
    Verdict.STRAGGLER: "A few samples take far longer than the others, and the loop waits for them.",
    Verdict.TINY_BATCHES: "The batches are so small that each costs more than its samples.",
    Verdict.TOO_MANY_WORKERS: "There are more workers than processors, and they wait for each other.",
    Verdict.OVERSUBSCRIBED_THREADS: "The workers compute with more threads than there are processors.",
    Verdict.WORKER_START: "Epochs are short, and each starts its workers again.",
    Verdict.LOW_MEMORY: "Memory is almost used up: files leave the page cache, and workers may be killed.",
    Verdict.EMPTY: "The loader gives no batch.",
    Verdict.FAILED: "The loader could not be measured.",
    Verdict.UNCLEAR: "The loop waits for the loader, but no stage explains why.",
}

FINE = (Verdict.HEALTHY, Verdict.SLOW_STEP)


@dataclass
class Remedy:
    """A change that may help, and what came of trying it.

    Attributes:
        key: a short name, such as "gofast" or "num_workers".
        title: what to change, in words.
        code: how, as a line of Python; "" where words say all.
        gain: samples a second of the whole loop with the change, divided by those without it; None if it was
            not tried.
        low, high: the smallest and the largest such ratio of any two rounds.
        rounds: how often both were measured, in turns.
        untried: why it was not tried, or why the trial failed.
        caution: what else the change does.
        shows_cost: it only shows what something costs, and is no remedy by itself.
    """

    key: str
    title: str
    code: str = ""
    gain: float | None = None
    low: float = 0.0
    high: float = 0.0
    rounds: int = 0
    untried: str = ""
    caution: str = ""
    shows_cost: bool = False

    @property
    def helps(self) -> bool:
        """Every round with the change was faster than all without it, by 5 %; one round alone, by 25 %."""
        return self.gain is not None and self.low >= (1.05 if self.rounds > 1 else 1.25)


@dataclass
class Finding:
    """A verdict with what speaks for it.

    Attributes:
        code: what it is.
        evidence: sentences with figures.
        also: other verdicts for which something speaks.
    """

    code: Verdict
    evidence: list[str] = field(default_factory=list)
    also: list[Verdict] = field(default_factory=list)

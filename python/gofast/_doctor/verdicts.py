"""The bottlenecks that the doctor can name, and how each is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Verdict(str, Enum):
    """The code of a verdict. Its value is its name in small letters, and equals that text.

    HEALTHY and SLOW_STEP ask for no change of the loader.

    Attributes:
        sentence: the first of a report, before the share of waiting.
    """

    sentence: str

    def __new__(cls, code: str, sentence: str = "") -> Verdict:
        made = str.__new__(cls, code)
        made._value_, made.sentence = code, sentence
        return made

    HEALTHY = "healthy", "The loader keeps up. There is nothing to change."
    SLOW_STEP = (
        "slow_step",
        "The step is the limit. The loader could feed a far faster one: leave it as it is.",
    )
    SPINNING_THREADS = (
        "spinning_threads",
        "torch's threads wait for each other with the processor in use, and the step takes far longer.",
    )
    PYTHON_STEP = (
        "python_step",
        "The step is the limit, and most of it is Python code, value by value.",
    )
    SLOW_STORAGE = "slow_storage", "Samples wait for their data: storage or network is slow."
    SLOW_DECODE = "slow_decode", "Decoding pictures takes most of the time."
    SLOW_TRANSFORM = "slow_transform", "The transform takes most of the time."
    SLOW_DATASET = "slow_dataset", "The dataset's own work takes most of the time."
    HEAVY_COLLATE = "heavy_collate", "Putting samples together (collate) takes most of the time."
    HEAVY_PICKLING = "heavy_pickling", "Bringing batches from the workers to the loop takes most of the time."
    SLOW_SAMPLER = "slow_sampler", "The sampler takes most of the time, and no worker can help it."
    GENERATOR_BOUND = (
        "generator_bound",
        "The samples' generator takes most of the time: it makes one after the other.",
    )
    STRAGGLER = "straggler", "A few samples take far longer than the others, and the loop waits for them."
    TINY_BATCHES = "tiny_batches", "The batches are so small that each costs more than its samples."
    TOO_MANY_WORKERS = (
        "too_many_workers",
        "There are more workers than processors, and they wait for each other.",
    )
    OVERSUBSCRIBED_THREADS = (
        "oversubscribed_threads",
        "The workers compute with more threads than there are processors.",
    )
    WORKER_START = "worker_start", "Epochs are short, and each starts its workers again."
    LOW_MEMORY = (
        "low_memory",
        "Memory is almost used up: files leave the page cache, and workers may be killed.",
    )
    EMPTY = "empty", "The loader gives no batch."
    FAILED = "failed", "The loader could not be measured."
    UNCLEAR = "unclear", "The loop waits for the loader, but no stage explains why."

    def __str__(self) -> str:
        return str(self.value)


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
        spares: it spares memory, and is right also where it is only as fast.
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
    spares: bool = False

    @property
    def helps(self) -> bool:
        """Every round with the change was faster than all without it, by 5 %; one round alone, by 25 %."""
        if self.gain is None:
            return False
        return self.low >= (1.05 if self.rounds > 1 else 1.25) or (self.spares and self.gain >= 0.95)


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

"""All that was measured of a loader, as the rules, the remedies and the report see it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .._core.machine import MemoryUse
from .cache_trial import CacheTrial, keeping, may_keep
from .isolation import apart
from .loaders import are_pictures, innermost
from .processes import Process
from .replacement import Replacement, plan
from .scope import Scope
from .stacks import StackSamples
from .steps import Looks, Threads
from .training_loop import Run

GROUPS = ("read", "decode", "transform", "own", "collate")  # of the stages that stacks tell


@dataclass
class Facts:
    """What is known.

    Attributes:
        loader: the user's.
        workers: processes that it asks for; threads if it is native.
        native: gofast's engine makes the batches; it tells of its stages itself.
        cores: processors that may be used.
        memory: None if unknown.
        simulated: the step is not the user's.
        folder: for files that measurements make.
        run: the loop with the step, as it is.
        flat: the loop without a step; None if the loader could not be taken apart.
        stacks: what the looks at the stacks found, of all workers together.
        engine: seconds a batch of each stage of gofast's engine, with the threads that it has.
        order: seconds until the sampler gives an epoch's first batch.
        sampler: seconds of the sampler, a batch.
        transfer: processor seconds of bringing a batch from one worker to the loop: the worker's, the loop's.
        twice: seconds of a sample, and of the same one again when others were made since.
        read: bytes that came from storage meanwhile.
        built: where a sample builds a Compose.
        threads: a step with the threads of torch that it has, and with one; None if it was not tried.
        python: what the looks at the step found.
        processes: the workers, as the kernel saw them, but for those that hardly lived.
        main: the process that had the loader.
        error: why measuring ended early; "" if it did not.
        notes: what the reader should know of how it was measured.
        comparing: seconds in which samples are made that are compared.
        names: those of the place where the loader is used; None where that is not known.
    """

    loader: Any
    workers: int
    native: bool
    cores: int
    memory: MemoryUse | None
    simulated: bool
    folder: str = ""
    run: Run = field(default_factory=Run)
    flat: Run | None = None
    stacks: StackSamples = field(default_factory=StackSamples)
    engine: dict[str, float] = field(default_factory=dict)
    order: float = 0.0
    sampler: float = 0.0
    transfer: tuple[float, float] = (0.0, 0.0)
    twice: tuple[float, float] = (0.0, 0.0)
    read: int = 0
    built: list[str] = field(default_factory=list)
    threads: Threads | None = None
    python: Looks = field(default_factory=Looks)
    processes: list[Process] = field(default_factory=list)
    main: Process | None = None
    error: str = ""
    notes: list[str] = field(default_factory=list)
    names: Scope | None = None
    comparing: float = 0.5

    @cached_property
    def scope(self) -> Scope:
        """The names of the place where the loader is used."""
        return Scope(self.loader, {}) if self.names is None else self.names

    @cached_property
    def plan(self) -> Replacement | None:
        """What gofast has instead of the dataset."""
        pillow = self.stacks.stages.get("decode", (0.0, 0.0))[0] > 0  # other decoders have names behind it
        found = apart(lambda: plan(self.loader, pillow, self.scope, self.comparing), 1.0)
        if found.error:
            return Replacement("gofast", "", said=f"gofast could not take over: {found.error}", fits=False)
        made: Replacement | None = found.value
        return made

    @cached_property
    def keeping(self) -> CacheTrial | None:
        """What cache= would keep of pictures; None where it makes no sense."""
        if not may_keep(self.loader):
            return None
        found = apart(lambda: keeping(self.loader), 1.0)
        called = type(innermost(self.loader.dataset)).__name__
        made: CacheTrial = found.value or CacheTrial(called, why=found.error)
        return made

    def python_steps(self) -> list[tuple[str, str]]:
        """The steps of a gofast dataset's transform that run in Python, with the reasons."""
        dataset: Any = getattr(self.loader, "dataset", None)
        if not are_pictures(dataset):
            return []
        from .._loader.explain import explain

        skipped = ("source", "decode", "on_error", "gofast.DataLoader")
        return [
            (name.strip(), why)
            for name, where, why in explain(dataset).lines
            if where == "Python" and name not in skipped
        ]

    def from_storage(self) -> float:
        """Bytes a batch that came from storage, and not from the page cache; 0 if they are few."""
        stored = self.read / max(self.run.batches + self.stacks.batches, 1)
        few = max(0.05 * self.run.largest, 16 << 10)  # imports read a little, too
        return stored if stored > few else 0.0

    def parts(self) -> dict[str, tuple[float, float]]:
        """Seconds a batch of each group of stages in one worker, and those in which it slept or waited."""
        found, batches = dict.fromkeys(GROUPS, (0.0, 0.0)), max(self.stacks.batches, 1)
        for name, (took, blocked) in self.stacks.stages.items():
            took, blocked = max(took, 0.0), min(max(blocked, 0.0), max(took, 0.0))
            group = name.partition(":")[0]
            found[group] = found[group][0] + took / batches, found[group][1] + blocked / batches
        return found

    def steps(self) -> dict[str, float]:
        """Seconds a batch of each step of the transform, the longest first."""
        found = {
            name.partition(":")[2]: took / max(self.stacks.batches, 1)
            for name, (took, _) in self.stacks.stages.items()
            if name.startswith("transform:") and took > 0
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def weights(self) -> dict[str, float]:
        """Seconds a batch that each stage takes at least, with the workers that there are.

        What workers do, they do side by side: computing on as many as there are processors, waiting on all.
        The sampler and the receiving end of the transport have the loop's own thread alone. Empty where the
        stages of samples could not be timed.
        """
        if self.native or not self.stacks.batches:
            return self.engine
        count = max(self.workers, 1)
        found = {
            name: (took - blocked) / min(count, self.cores) + blocked / count
            for name, (took, blocked) in self.parts().items()
        }
        return {**found, "sampler": self.sampler, "transfer": max(self.transfer[1], self.transfer[0] / count)}

    def slowest(self) -> str:
        """The indices of the slowest samples, as far as they are known."""
        named = self.stacks.named
        return ", ".join(map(str, sorted(sorted(named, key=lambda index: -named[index])[:5])))

    def stragglers(self) -> tuple[float, float, float]:
        """How uneven samples are: the share of time in those that take 10 times the median or more, the
        share of samples that they are, and how many times the median the slowest takes."""
        seen, total, count = self.stacks.slow, self.stacks.fetching, self.stacks.samples
        if not seen or count <= len(seen):
            return 0.0, 0.0, 1.0
        # Samples that no two looks met are quick, and known by their sum alone.
        quick = max(total - sum(seen), 0.0) / (count - len(seen))
        usual = max(quick if 2 * len(seen) < count else statistics.median(seen), 1e-6)
        slow = [seconds for seconds in seen if seconds > 10 * usual]
        return sum(slow) / max(total, 1e-9), len(slow) / count, max(seen) / usual

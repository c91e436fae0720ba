"""All that was measured of a loader, as the rules and the report see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._core.machine import MemoryUse
from .anatomy import Anatomy, Part
from .consume import Run
from .loaders import are_pictures, is_iterable


@dataclass
class Facts:
    """What is known.

    Attributes:
        loader: the user's.
        cores: processors that may be used.
        memory: None if unknown.
        simulated: the step is not the user's.
        run: the loop with the step, as it is.
        anatomy: the loader taken apart; None if that was not possible.
        error: why measuring ended early; "" if it did not.
        notes: what the reader should know of how it was measured.
    """

    loader: Any
    cores: int
    memory: MemoryUse | None
    simulated: bool
    run: Run
    anatomy: Anatomy | None = None
    error: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def iterable(self) -> bool:
        """Samples come from a generator."""
        return is_iterable(self.loader)

    @property
    def processes(self) -> int:
        """Worker processes, at least 1: the loop's own process is one if there are none."""
        return max(self.anatomy.workers, 1) if self.anatomy and not self.anatomy.native else 1

    @property
    def pictures(self) -> bool:
        """Samples are pictures that gofast decodes."""
        return are_pictures(getattr(self.loader, "dataset", None))

    def python_steps(self) -> list[tuple[str, str]]:
        """The steps of a gofast dataset's transform that run in Python, with the reasons."""
        if not self.pictures:
            return []
        from .._loader.explain import explain

        lines = explain(self.loader.dataset).lines
        skipped = ("source", "decode", "on_error", "gofast.DataLoader")
        return [
            (name.strip(), why) for name, where, why in lines if where == "Python" and name not in skipped
        ]

    def weights(self) -> dict[str, float]:
        """Seconds a batch that each stage takes at least, with the workers that there are.

        What workers do, they do side by side: computing on as many as there are processors, waiting on all.
        The sampler and the receiving end of the transport have the loop's own thread alone. Empty where the
        stages of samples could not be timed.
        """
        if self.anatomy is None:
            return {}
        if self.anatomy.native or not self.anatomy.stacks.batches:
            return self.anatomy.engine
        count, found = self.processes, dict[str, float]()
        for name, part in self.anatomy.parts().items():
            found[name] = side_by_side(part, count, self.cores)
        found["sampler"] = self.anatomy.sampler
        theirs, loops = self.anatomy.transfer
        found["transfer"] = max(loops, theirs / count)
        return found


def side_by_side(part: Part, workers: int, cores: int) -> float:
    """Seconds a batch that a stage takes, if so many workers share it."""
    return (part.busy - part.blocked) / max(min(workers, cores), 1) + part.blocked / workers

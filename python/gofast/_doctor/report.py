"""What the doctor found: a verdict, what speaks for it, what helps. As text, as a dict and as a page."""

from __future__ import annotations

import dataclasses
import os
import platform
from html import escape

import torch

from .facts import Facts
from .loaders import is_iterable
from .page import page
from .processes import Process
from .text import Summary, text
from .verdicts import FINE, Finding, Remedy

_MOST = 400  # batches whose times are kept for the plot


class DoctorReport(Summary):
    """What `gofast.doctor` returns. Printing it gives the text.

    Attributes:
        code (Verdict): what the bottleneck is, such as ``"slow_decode"``. It equals that text.
        healthy (bool): nothing about the loader needs a change.
        verdict (str): the same in a sentence.
        evidence (list[str]): what speaks for it, with figures.
        remedies (list[Remedy]): what was tried or could be, the greatest gain first; empty if healthy.
        advised (list[Remedy]): those of them that helped in every round.
        also (list[Verdict]): other stages that take more than a quarter of the time.
        notes (list[str]): how it was measured, where that matters.

    Example:
        >>> report = gofast.doctor(loader)
        >>> report.code
        'slow_decode'
        >>> report.save("doctor.html")
    """

    @classmethod
    def of(cls, facts: Facts, finding: Finding, remedies: list[Remedy]) -> DoctorReport:
        """The report of what was measured."""
        loader, run, memory = facts.loader, facts.run, facts.memory
        dataset = getattr(loader, "dataset", None)
        return cls(
            {
                "code": finding.code.value,
                "healthy": finding.code in FINE,
                "verdict": finding.code.sentence,
                "evidence": finding.evidence,
                "also": [code.value for code in finding.also],
                "remedies": [{**dataclasses.asdict(each), "helps": each.helps} for each in remedies],
                "notes": facts.notes,
                "error": facts.error,
                "loader": {
                    "class": f"{type(loader).__module__.split('.')[0]}.{type(loader).__name__}",
                    "dataset": None if dataset is None else type(dataset).__name__,
                    "batch_size": getattr(loader, "batch_size", None),
                    "num_workers": getattr(loader, "num_workers", 0),
                    "native": facts.native,
                    "iterable": is_iterable(loader),
                },
                "loop": {
                    "simulated_step": facts.simulated,
                    "batches": run.batches,
                    "samples_a_batch": run.size,
                    "bytes_a_batch": run.largest,
                    "wait": run.wait,
                    "step": run.step,
                    "share_of_waiting": run.share,
                    "samples_a_second": run.rate,
                    "first_batch": run.starts[0] if run.starts else None,
                    "epochs": len(run.starts),
                    "flat_out": facts.flat.wait if facts.flat else None,
                    "waits": [round(seconds, 6) for seconds in run.waits[:_MOST]],
                    "steps": [round(seconds, 6) for seconds in run.steps[:_MOST]],
                },
                "stages": {name: round(seconds, 9) for name, seconds in facts.weights().items()},
                "transform": facts.steps(),
                "workers": [_worker(seen) for seen in facts.processes],
                "machine": {
                    "cores": facts.cores,
                    "memory_limit": memory.limit if memory else None,
                    "memory_free": memory.free if memory else None,
                    "python": platform.python_version(),
                    "torch": torch.__version__,
                },
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one HTML page with plots that needs nothing else.

        Raises:
            OSError: the file cannot be written.
        """
        made = page(self)
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)

    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:40em;border:0" srcdoc="{escape(page(self))}"></iframe>'


def _worker(seen: Process) -> dict[str, float]:
    """A worker process, flat out: its shares of computing, waiting for a processor, and the rest."""
    computing, waiting = seen.cpu / seen.life, seen.delay / seen.life
    return {
        "computing": round(computing, 4),
        "waiting_for_processor": round(waiting, 4),
        "idle": round(max(1 - computing - waiting, 0.0), 4),
        "running_threads": round(seen.running, 2),
        "rss": seen.rss,
        "pss": seen.pss,
        "read_from_storage": seen.read,
        "seen_waiting_for_storage": round(seen.states["D"] / max(seen.states.total(), 1), 3),
    }

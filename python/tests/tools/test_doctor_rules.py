"""The doctor's judgement, on recorded facts: what was measured of a loader, and what it must be called."""

from __future__ import annotations

from typing import Any

import pytest
from torch.utils.data import DataLoader

from gofast._core.machine import MemoryUse
from gofast._doctor.anatomy import Anatomy
from gofast._doctor.consume import Run
from gofast._doctor.facts import Facts
from gofast._doctor.processes import Seen as Process
from gofast._doctor.remedies import FITTING, Offers
from gofast._doctor.rules import judge
from gofast._doctor.stacks import Seen
from gofast._doctor.verdicts import SENTENCES, Verdict

GAINS = {"threads": 3.0, "batch_size": 5.0, "fewer_workers": 1.4}


def loop(wait: float, step: float, size: int = 32, starts: float = 1e-3, restarting: float = 0.0) -> Run:
    """A hundred batches of a loop with a step."""
    return Run(
        [wait] * 100, [step] * 100, [starts], restarting, 0.0, 100 * (wait + step), 100, 100 * size, 1000
    )


def anatomy(stages: dict[str, Any], workers: int = 0, interval: float = 0.05, **more: Any) -> Anatomy:
    """A hundred batches of 32 samples, with seconds a batch for each stage, or those and of them waiting."""
    pairs = {k: v if isinstance(v, tuple) else (v, 0.0) for k, v in stages.items()}
    fields = {k: more.pop(k) for k in ("slow", "lines", "looks") if k in more}
    found = Seen(100, 3200, {k: (100 * t, 100 * b) for k, (t, b) in pairs.items()}, **fields)
    flat_out = Run([interval] * 100, [0.0] * 100, [1e-3], seconds=100 * interval, batches=100, samples=3200)
    return Anatomy(workers, more.pop("native", False), flat_out, found, **more)


def process(cpu: float, delay: float, threads: int = 1) -> Process:
    """A worker that lived for ten seconds."""
    each = {task: (int(cpu * 1e9), int(delay * 1e9)) for task in range(threads)}
    return Process(life=10.0, threads=each, rss=100 << 20, looks=10)


LOADER = DataLoader([0])  # type: ignore[arg-type,var-annotated]


class Iterated:
    """A loader of samples from a generator: no DataLoader."""


SLOW = loop(0.05, 0.002)
RECORDED: dict[str, tuple[Run, Anatomy, str]] = {
    "keeps up": (loop(1e-4, 0.01), anatomy({"own": 0.001}, interval=0.002), "healthy"),
    "could make ten batches a step": (
        loop(1.4e-4, 1.1e-3),
        anatomy({}, native=True, interval=5e-5, engine={"gather": 5e-5}),
        "slow_step",
    ),
    "could not": (
        loop(1.4e-4, 1.1e-3),
        anatomy({}, native=True, interval=5e-4, engine={"gather": 5e-4}),
        "slow_dataset",
    ),
    "decode": (SLOW, anatomy({"decode": 0.04, "own": 0.001, "transform:Resize": 0.005}), "slow_decode"),
    "the user's decoding": (SLOW, anatomy({"decode:_decode_row": (0.04, 0.04)}), "slow_decode"),
    "storage": (SLOW, anatomy({"read": (0.04, 0.04), "decode": 0.004}), "slow_storage"),
    "transform": (
        SLOW,
        anatomy({"transform:A": 0.02, "transform:B": 0.01, "decode": 0.01}),
        "slow_transform",
    ),
    "own": (SLOW, anatomy({"own": 0.04, "collate": 0.002}), "slow_dataset"),
    "collate": (SLOW, anatomy({"own": 0.01, "collate": 0.04}), "heavy_collate"),
    "sampler": (SLOW, anatomy({"own": 0.02}, workers=2, sampler=0.04), "slow_sampler"),
    "workers share what samples cost, the sampler they do not": (
        SLOW,
        anatomy({"own": 0.05}, workers=2, sampler=0.03),
        "slow_sampler",
    ),
    "transfer": (SLOW, anatomy({"own": 0.002}, workers=2, transfer=(0.02, 0.02)), "heavy_pickling"),
    "the loop's end of the transfer": (
        SLOW,
        anatomy({"own": 0.02}, workers=4, transfer=(0.02, 0.02)),
        "heavy_pickling",
    ),
    "straggler": (SLOW, anatomy({"own": 0.04}, slow=[0.2] * 15), "straggler"),
    "uneven, but in reading the order": (
        SLOW,
        anatomy({"own": 0.01}, slow=[0.06] * 10, sampler=0.03),
        "slow_sampler",
    ),
    "all samples alike": (SLOW, anatomy({"own": 0.04}, slow=[0.00125] * 3199), "slow_dataset"),
    "tiny batches": (
        loop(1e-3, 1e-4, size=1),
        anatomy({"own": 1e-5, "collate": 1e-4}, workers=2, transfer=(3e-4, 3e-4)),
        "tiny_batches",
    ),
    "worker start": (
        loop(0.02, 0.002, starts=0.2, restarting=1.8),
        anatomy({"own": 0.002}, workers=2),
        "worker_start",
    ),
    "an order that takes the start": (
        loop(0.02, 0.002, starts=0.2, restarting=1.8),
        anatomy({"own": 0.002}, workers=2, order=0.19, sampler=0.02),
        "slow_sampler",
    ),
    "too many workers": (
        SLOW,
        anatomy({"own": 0.01}, workers=8, processes=[process(2, 7)] * 8),
        "too_many_workers",
    ),
    "many workers that sleep": (
        SLOW,
        anatomy({"own": (0.05, 0.05)}, workers=8, processes=[process(0.1, 0.1)] * 8),
        "slow_dataset",
    ),
    "threads": (
        SLOW,
        anatomy({"own": 0.01}, workers=2, processes=[process(2, 6, threads=8)] * 2),
        "oversubscribed_threads",
    ),
    "the engine reads": (
        SLOW,
        anatomy({}, native=True, engine={"read": 0.03, "entropy": 0.01, "numbers": 0.001}),
        "slow_storage",
    ),
    "nothing was seen": (SLOW, Anatomy(0, False), "unclear"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_verdicts(name: str) -> None:
    run, taken_apart, code = RECORDED[name]
    asked: list[str] = []
    finding = judge(
        Facts(LOADER, 2, None, False, run, taken_apart), lambda key: asked.append(key) or GAINS.get(key)
    )
    assert finding.code == code, finding
    assert finding.evidence or code == "unclear"
    assert (code in ("tiny_batches", "too_many_workers", "oversubscribed_threads")) == bool(asked)


def test_a_trial_that_gains_nothing_decides_against_its_verdict() -> None:
    for name, instead in (("tiny batches", "heavy_pickling"), ("threads", "slow_dataset")):
        run, taken_apart, _ = RECORDED[name]
        finding = judge(Facts(LOADER, 2, None, False, run, taken_apart), lambda key: 1.0)
        assert finding.code == instead, finding


def test_evidence_says_what_was_seen() -> None:
    lines = {"data.py:7 in __getitem__": 80, "data.py:9 in __getitem__": 20}
    found = anatomy({"own": (0.03, 0.02), "decode": 0.016}, lines=lines, looks=100)
    finding = judge(Facts(LOADER, 2, None, False, SLOW, found), lambda key: None)
    assert finding.evidence == [
        "the dataset's own code takes 65% of a batch's 46 ms",
        "the line found most often: data.py:7 in __getitem__ (80% of the time)",
        "67% of it is waiting, not computing: a lock, the network, a sleep",
    ]
    assert finding.also == ["slow_decode"]
    finding = judge(Facts(LOADER, 2, None, False, *RECORDED["transform"][:2]), lambda key: None)
    assert finding.evidence[1] == "of the transform, A takes 67%"
    finding = judge(Facts(LOADER, 2, None, False, *RECORDED["storage"][:2]), lambda key: None)
    assert finding.evidence[1] == "a sample waits 1.2 ms for its data"


def test_a_generator_is_named_where_it_computes_and_storage_where_it_reads() -> None:
    for stages, code in (({"own": 0.04}, "generator_bound"), ({"read": (0.04, 0.04)}, "slow_storage")):
        facts = Facts(Iterated(), 2, None, False, SLOW, anatomy(stages))
        assert judge(facts, lambda key: None).code == code


def test_memory_errors_and_nothing() -> None:
    starved = MemoryUse(2 << 30, 30 << 20, "control group")
    found = anatomy({"own": 0.04})
    finding = judge(Facts(LOADER, 2, starved, False, SLOW, found), lambda key: None)
    assert finding.code == "low_memory"
    assert finding.evidence == ["31.5 MB of 2.1 GB are free (limit of the control group)"]
    finding = judge(
        Facts(LOADER, 2, starved, False, loop(1e-4, 0.01), anatomy({"own": 0.001}, interval=0.002)),
        lambda key: None,
    )
    assert (finding.code, finding.also) == ("healthy", ["low_memory"])
    slow = Facts(LOADER, 2, None, False, loop(1e-4, 0.1), anatomy({"own": 0.001}, interval=0.002))
    assert judge(slow, lambda key: None).code == "slow_step"
    assert judge(Facts(LOADER, 2, None, False, Run(empty=True)), lambda key: None).code == "empty"
    broken = Facts(LOADER, 2, None, False, SLOW, found, error="ValueError: no")
    assert judge(broken, lambda key: None).code == "failed"


def test_every_verdict_has_its_sentence_and_every_remedy_its_method() -> None:
    assert set(SENTENCES) == set(Verdict)
    assert all(hasattr(Offers, key) for keys in FITTING.values() for key in keys)

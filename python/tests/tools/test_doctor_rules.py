"""The doctor's judgement, on recorded facts: what was measured of a loader, and what it must be called."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from gofast._core.machine import MemoryUse
from gofast._doctor.facts import Facts
from gofast._doctor.processes import Process
from gofast._doctor.remedies import FITTING, offered
from gofast._doctor.rules import judge
from gofast._doctor.stacks import StackSamples
from gofast._doctor.steps import Looks, Steps, Threads
from gofast._doctor.training_loop import Run, Simulated, consume
from gofast._doctor.verdicts import Verdict

GAINS = {"threads": 3.0, "batch_size": 5.0, "fewer_workers": 1.4}


def loop(wait: float, step: float, size: int = 32, starts: float = 1e-3, restarting: float = 0.0) -> Run:
    """A hundred batches of a loop with a step."""
    return Run(
        [wait] * 100, [step] * 100, [starts], restarting, 0.0, 100 * (wait + step), 100, 100 * size, 1000
    )


def measured(run: Run, stages: dict[str, Any], interval: float = 0.05, **more: Any) -> Facts:
    """A hundred batches of 32 samples, with seconds a batch for each stage, or those and of them waiting."""
    pairs = {k: v if isinstance(v, tuple) else (v, 0.0) for k, v in stages.items()}
    fields = {k: more.pop(k) for k in ("slow", "lines", "looks", "named") if k in more}
    found = StackSamples(100, 3200, {k: (100 * t, 100 * b) for k, (t, b) in pairs.items()}, **fields)
    flat = Run([interval] * 100, [0.0] * 100, [1e-3], seconds=100 * interval, batches=100, samples=3200)
    known = {"loader": LOADER, "workers": 0, "native": False, "cores": 2, "memory": None, "simulated": False}
    return Facts(run=run, flat=flat, stacks=found, **{**known, **more})


def process(cpu: float, delay: float, threads: int = 1) -> Process:
    """A worker that lived for ten seconds."""
    each = {task: (int(cpu * 1e9), int(delay * 1e9)) for task in range(threads)}
    return Process(life=10.0, threads=each, rss=100 << 20, states=Counter(S=10))


LOADER = DataLoader([0])  # type: ignore[arg-type,var-annotated]


STARVED = MemoryUse(2 << 30, 30 << 20, "control group")


class Iterated:
    """A loader of samples from a generator: no DataLoader."""


SLOW = loop(0.05, 0.002)
STARTS = loop(0.02, 0.002, starts=0.2, restarting=1.8)
WAITS = loop(1.4e-4, 1.1e-3)
RECORDED: dict[str, tuple[Facts, str]] = {
    "keeps up": (measured(loop(1e-4, 0.01), {"own": 0.001}, 0.002), "healthy"),
    "a slow step": (measured(loop(1e-4, 0.1), {"own": 0.001}, 0.002), "slow_step"),
    "could make ten batches a step": (
        measured(WAITS, {}, 5e-5, native=True, engine={"gather": 5e-5}),
        "slow_step",
    ),
    "could not": (measured(WAITS, {}, 5e-4, native=True, engine={"gather": 5e-4}), "slow_dataset"),
    "decode": (measured(SLOW, {"decode": 0.04, "own": 0.001, "transform:Resize": 0.005}), "slow_decode"),
    "the user's decoding": (measured(SLOW, {"decode:_decode_row": (0.04, 0.04)}), "slow_decode"),
    "storage": (measured(SLOW, {"read": (0.04, 0.04), "decode": 0.004}), "slow_storage"),
    "transform": (
        measured(SLOW, {"transform:A": 0.02, "transform:B": 0.01, "decode": 0.01}),
        "slow_transform",
    ),
    "own": (measured(SLOW, {"own": 0.04, "collate": 0.002}), "slow_dataset"),
    "collate": (measured(SLOW, {"own": 0.01, "collate": 0.04}), "heavy_collate"),
    "workers share what samples cost, the sampler they do not": (
        measured(SLOW, {"own": 0.05}, workers=2, sampler=0.03),
        "slow_sampler",
    ),
    "transfer": (measured(SLOW, {"own": 0.002}, workers=2, transfer=(0.02, 0.02)), "heavy_pickling"),
    "the loop's end of the transfer": (
        measured(SLOW, {"own": 0.02}, workers=4, transfer=(0.02, 0.02)),
        "heavy_pickling",
    ),
    "straggler": (measured(SLOW, {"own": 0.04}, slow=[0.2] * 15), "straggler"),
    "uneven, but in reading the order": (
        measured(SLOW, {"own": 0.01}, slow=[0.06] * 10, sampler=0.03),
        "slow_sampler",
    ),
    "all samples alike": (measured(SLOW, {"own": 0.04}, slow=[0.00125] * 3199), "slow_dataset"),
    "tiny batches": (
        measured(loop(1e-3, 1e-4, size=1), {"own": 1e-5, "collate": 1e-4}, workers=2, transfer=(3e-4, 3e-4)),
        "tiny_batches",
    ),
    "worker start": (measured(STARTS, {"own": 0.002}, workers=2), "worker_start"),
    "an order that takes the start": (
        measured(STARTS, {"own": 0.002}, workers=2, order=0.19, sampler=0.02),
        "slow_sampler",
    ),
    "short epochs without workers": (measured(STARTS, {"own": 0.002}), "unclear"),
    "too many workers": (
        measured(SLOW, {"own": 0.01}, workers=8, processes=[process(2, 7)] * 8),
        "too_many_workers",
    ),
    "many workers that sleep": (
        measured(SLOW, {"own": (0.05, 0.05)}, workers=8, processes=[process(0.1, 0.1)] * 8),
        "slow_dataset",
    ),
    "threads": (
        measured(SLOW, {"own": 0.01}, workers=2, processes=[process(2, 6, threads=8)] * 2),
        "oversubscribed_threads",
    ),
    "the engine reads": (
        measured(SLOW, {}, native=True, engine={"read": 0.03, "entropy": 0.01, "numbers": 0.001}),
        "slow_storage",
    ),
    "nothing was seen": (measured(SLOW, {}), "unclear"),
    "a generator that computes": (measured(SLOW, {"own": 0.04}, loader=Iterated()), "generator_bound"),
    "a generator that reads": (measured(SLOW, {"read": (0.04, 0.04)}, loader=Iterated()), "slow_storage"),
    "no batch": (measured(Run(empty=True), {}), "empty"),
    "an error": (measured(SLOW, {"own": 0.04}, error="ValueError: no"), "failed"),
    "a cache that later epochs have full": (
        measured(
            Run([0.05] * 50 + [1e-4] * 50, [0.01] * 100, [1e-3] * 2, first=50, batches=100), {"own": 0.04}
        ),
        "healthy",
    ),
    "a cache that the loop has filled": (measured(SLOW, {"own": 1e-4}, 1.2e-4), "healthy"),
    "a cache that is full when samples are asked for again": (
        measured(SLOW, {"own": 0.04}, twice=(1.5e-3, 1e-6)),
        "healthy",
    ),
    "a cache that workers lose with each epoch": (
        measured(SLOW, {"own": 0.04}, workers=2, twice=(1.5e-3, 1e-6)),
        "slow_dataset",
    ),
    "cold files behind a map": (measured(SLOW, {"own": (0.04, 0.03)}, read=100 << 20), "slow_storage"),
    "imports that came from storage": (measured(SLOW, {"own": (0.04, 0.03)}, read=1 << 20), "slow_dataset"),
    "threads of few processors": (
        measured(SLOW, {"own": 0.01}, workers=2, processes=[process(6, 13, threads=2)] * 2),
        "oversubscribed_threads",
    ),
    "threads that spin": (
        measured(loop(1e-4, 0.4), {"own": 0.001}, 0.002, threads=Threads(2, 0.4, 0.02, 0.06, 0.004, 6)),
        "spinning_threads",
    ),
    "threads that compute": (
        measured(loop(1e-4, 0.1), {"own": 0.001}, 0.002, threads=Threads(2, 0.1, 0.19, 0.2, 0.19, 6)),
        "slow_step",
    ),
    "threads that spin beside a loader that is slower by far": (
        measured(loop(1.0, 0.01), {"own": 0.9}, threads=Threads(2, 0.01, 0.001, 0.02, 0.001, 6)),
        "slow_dataset",
    ),
    "a step in Python": (
        measured(loop(1e-4, 0.1), {"own": 0.001}, 0.002, python=Looks(100, 90, 40)),
        "python_step",
    ),
    "a step whose lines call C code": (
        measured(loop(1e-4, 0.1), {"own": 0.001}, 0.002, python=Looks(100, 90, 2)),
        "slow_step",
    ),
    "a step in Python, and a loader that is slower": (
        measured(SLOW, {"own": 0.04}, python=Looks(100, 90, 40)),
        "slow_dataset",
    ),
    "little memory": (measured(SLOW, {"own": 0.04}, memory=STARVED), "low_memory"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_verdicts(name: str) -> None:
    facts, code = RECORDED[name]
    asked: list[str] = []
    finding = judge(facts, lambda key: asked.append(key) or GAINS.get(key))
    assert finding.code == code, finding
    assert finding.evidence or code in ("unclear", "empty", "failed")
    assert (code in ("tiny_batches", "too_many_workers", "oversubscribed_threads")) == bool(asked)


def test_a_trial_that_gains_nothing_decides_against_its_verdict() -> None:
    for name, instead in (("tiny batches", "heavy_pickling"), ("threads", "slow_dataset")):
        finding = judge(RECORDED[name][0], lambda key: 1.0)
        assert finding.code == instead, finding


def test_evidence_says_what_was_seen() -> None:
    lines = Counter({"data.py:7 in __getitem__": 80, "data.py:9 in __getitem__": 20})
    facts = measured(SLOW, {"own": (0.03, 0.02), "decode": 0.016}, lines=lines, looks=100)
    finding = judge(facts, lambda key: None)
    assert finding.evidence == [
        "the dataset's own code takes 65% of a batch's 46 ms",
        "the line found most often: data.py:7 in __getitem__ (80% of the time)",
        "67% of it is waiting, not computing: a lock, the network, a sleep",
    ]
    assert finding.also == ["slow_decode"]
    for name, at, said in (
        ("transform", 1, "of the transform's time: A 67%, B 33%"),
        ("storage", 1, "a sample waits 1.2 ms for its data"),
        ("little memory", 0, "31.5 MB of 2.1 GB are free (limit of the control group)"),
        ("the engine reads", 1, "waiting for data takes 73% of a batch's 41 ms"),
    ):
        assert judge(RECORDED[name][0], lambda key: None).evidence[at] == said
    once = "something is made or read once, such as a cache that the first epoch fills"
    for name, said in (
        ("a cache that later epochs have full", f"later epochs wait 100 us for a batch: {once}"),
        ("a cache that the loop has filled", f"looked at once more, a batch takes 120 us only: {once}"),
        (
            "a cache that workers lose with each epoch",
            f"a sample takes 1.5 ms, and 1 us when it is asked for again: {once}",
        ),
        ("cold files behind a map", "524.3 kB a batch came from storage; later epochs may find it in memory"),
    ):
        assert judge(RECORDED[name][0], lambda key: None).evidence[-1] == said
    fine = measured(loop(1e-4, 0.01), {"own": 0.001}, 0.002, memory=STARVED)
    assert judge(fine, lambda key: None).also == ["low_memory"]


def test_fewer_workers_are_advised_where_they_are_only_as_fast() -> None:
    offer = offered(RECORDED["too many workers"][0], "fewer_workers")
    assert offer is not None
    assert [replace(offer[0], gain=gain, low=0.9, rounds=3).helps for gain in (1.0, 0.8)] == [True, False]


def test_spinning_threads_and_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    facts = RECORDED["threads that spin"][0]
    assert judge(facts, lambda key: None).evidence[0] == (
        "with 2 threads of torch's a step takes 400 ms, with one 20 ms"
    )
    policy, one = (offered(facts, key) for key in FITTING[Verdict.SPINNING_THREADS])
    assert policy is not None and policy.remedy.code.startswith("OMP_WAIT_POLICY=passive python ")
    assert one is not None and one.remedy.helps and one.remedy.code.endswith("torch.set_num_threads(1)")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    assert offered(facts, "wait_policy") is None


def test_a_compose_for_every_sample_is_named() -> None:
    facts = measured(SLOW, {"decode": 0.04}, built=["data.py:7 in __getitem__"])
    said = "data.py:7 in __getitem__ builds a Compose for every sample: build it once, in __init__"
    assert said in judge(facts, lambda key: None).evidence
    offer = offered(facts, "compose")
    assert offer is not None and "data.py:7" in offer.remedy.title


def test_looks_at_a_step_tell_python_from_tensors() -> None:
    def in_python() -> None:
        total = 0.0
        for value in range(400_000):
            total += value * 0.5

    def with_tensors() -> None:
        for _ in range(8):
            matrix @ matrix

    matrix = torch.rand(700, 700)
    shares = []
    for step in (in_python, with_tensors):
        with Steps() as looking:
            call = looking.at(lambda batch, step=step: step())
            while looking.seen.all < 40:
                call(None)
        shares.append(looking.seen.share)
    assert shares[0] > 0.5 and shares[1] == 0.0


def test_stragglers_are_named() -> None:
    facts = measured(SLOW, {"own": 0.04}, slow=[0.2] * 15, named={at: at / 10 for at in range(3, 30, 3)})
    assert "slow ones are samples 15, 18, 21, 24, 27" in judge(facts, lambda key: None).evidence
    offer = offered(facts, "slowest")
    assert offer is not None and offer[0].title.startswith("samples such as 15, 18, 21, 24, 27 made smaller")
    assert offered(RECORDED["straggler"][0], "slowest") is None


def test_float64_is_offered_as_float32() -> None:
    class Rows(Dataset[Any]):
        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int) -> Any:
            return {"x": np.full(4, index / 3), "y": index}

    facts = measured(SLOW, {"collate": 0.04}, loader=DataLoader(Rows(), 4))
    assert offered(facts, "float32") is None
    facts.run = consume(facts.loader, Simulated(), 0.0)
    offer = offered(facts, "float32")
    assert offer is not None and offer[1] is not None
    batch = next(iter(offer[1]()))
    assert (batch["x"].dtype, batch["y"].dtype) == (torch.float32, torch.int64)


def test_every_remedy_has_its_row() -> None:
    for code in Verdict:
        assert code.sentence
        for key in FITTING.get(code, ()):
            offered(RECORDED["own"][0], key)

"""The simulation where its answer is known without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.simulate import Job, comments, simulate

QUICK = Job(hosts=3, ranks=4, batch=100, cores=12, cost=2, serial=0, steps=100)  # 3 cores a rank


@pytest.mark.parametrize(
    ("changes", "rate"),
    [
        ({}, 18_000),  # 36 cores of 2 ms
        ({"cores": 2.0}, 3_000),  # half a core a rank
        ({"step": 100.0}, 12_000),  # the GPU's
        ({"step": 60.0, "cores": 8.0}, 12 * 100 / 0.13),  # one core loads for 60 ms, and two for 70
        ({"latency": 2.0, "opens": 2.0}, 6_000),  # threads that wait for the store
        ({"size": 100.0, "bandwidth": 0.1}, 3_000),  # the link: 1,000 a second on each host
        ({"slow": 4.0}, 4_500),  # all wait for one rank
        ({"serial": 150.0, "step": 50.0}, 6_000),  # the loop's own thread
    ],
)
def test_what_limits_a_job(changes: dict[str, float], rate: float) -> None:
    found = simulate(replace(QUICK, **changes))  # type: ignore[arg-type]
    assert found.rate == pytest.approx(rate, rel=0.02)
    assert found.read == pytest.approx(found.rate / 3 * 1e3 * replace(QUICK, **changes).size)  # type: ignore[arg-type]


def test_stragglers_and_read_ahead() -> None:
    """Batches that differ cost the most where little is made ahead; a slow rank costs whatever is ahead."""
    ahead = [simulate(replace(QUICK, step=80.0, spread=0.5, ahead=n)).waiting for n in (1, 2, 8)]
    assert ahead[0] > ahead[1] > ahead[2] > 0
    alone = simulate(replace(QUICK, spread=0.5))
    assert alone == simulate(replace(QUICK, spread=0.5)) and alone.rate < simulate(QUICK).rate


def test_the_first_step_waits_for_the_start() -> None:
    found = simulate(replace(QUICK, start=2.0))
    assert found.first == pytest.approx(2.0 + 100 * 0.002 / 3, rel=0.01)


def test_every_option_says_what_it_is() -> None:
    assert all(comments()[name] for name in Job.__dataclass_fields__)

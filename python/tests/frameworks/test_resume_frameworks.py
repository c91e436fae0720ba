"""Trainings that are killed, and go on: in each framework, with other ranks and workers.

The frameworks are real, and so are the ranks: `make test-integrations`. Torch's own stand here always.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from image_data import make_folder
from programs import BATCH, EPOCHS, Run
from ranks import Ranks

COUNT = 50  # in 7 steps of 8, the last one of 2
STEPS = -(-COUNT // BATCH)
STOPS = (1, 3, STEPS, STEPS + 0.5)
MODULES = {
    "ddp": ["torch", "torchvision", "gofast"],
    "checkpoint": ["torch.distributed.checkpoint", "torchvision", "gofast"],
    "accelerate": ["accelerate", "torchvision", "gofast"],
    "lightning": ["lightning", "torchvision", "gofast"],
    "trainer": ["transformers", "accelerate", "torchvision", "gofast"],
}


class Job(NamedTuple):
    """Ranks, and workers of each."""

    world: int
    workers: int = 0

    def __str__(self) -> str:
        return f"{self.world}x{self.workers}"


CHANGES = [
    (Job(1), Job(1)),
    (Job(1, 2), Job(1, 2)),
    (Job(2), Job(2)),
    (Job(2, 2), Job(2, 2)),
    (Job(1), Job(2)),
    (Job(2), Job(1)),
    (Job(4), Job(2)),
    (Job(1), Job(1, 2)),
    (Job(2, 2), Job(2, 4)),
]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("pictures"), COUNT, classes=COUNT)


class Runs:
    """Runs of one framework, the same ones once.

    Args:
        program: its name.
        pictures: what they train on.
        places: a folder for those of theirs.
    """

    def __init__(self, program: str, pictures: Path, places: Path) -> None:
        self.program, self._pictures, self._places = program, pictures, places
        self.each_rank_saves = program not in ("accelerate", "lightning")
        self._ranks = Ranks(*MODULES[program])
        self._known: dict[Any, list[dict[str, Any]]] = {}

    def whole(self, job: Job, rng: str) -> list[dict[str, Any]]:
        """The steps of one that was not stopped."""
        key = job, rng
        if key not in self._known:
            self._known[key] = self._run(self._place(), job, rng, None, False)
        return self._known[key]

    def resumed(self, before: Job, after: Job, rng: str, stop: float) -> list[dict[str, Any]]:
        """The steps of one that went on with other ranks or workers."""
        place = self._place()
        self._run(place, before, rng, stop, False)
        for log in place.glob("log.*"):
            log.unlink()
        return self._run(place, after, rng, None, True)

    def _place(self) -> Path:
        place = self._places / str(len([*self._places.iterdir()]))
        place.mkdir()
        return place

    def _run(self, place: Path, job: Job, rng: str, stop: float | None, resume: bool) -> list[dict[str, Any]]:
        codes = self._ranks(self.program, Run(str(self._pictures), str(place), *job, rng, stop, resume))
        wanted = 0 if stop is None else -9
        said = "\n".join(path.read_text()[-3000:] for path in sorted(place.glob("output.*")))
        assert codes == [wanted] * job.world, said
        assert "machinery" not in said  # the engine makes the batches
        assert "begins anew" not in said or resume
        logs = [(place / f"log.{rank}").read_text().splitlines() for rank in range(job.world)]
        steps = []
        for lines in zip(*logs, strict=True):
            ranks = [json.loads(line) for line in lines]
            assert len({(one["epoch"], one["step"]) for one in ranks}) == 1
            samples = [[(label, hashed) for label, hashed in one["samples"]] for one in ranks]
            steps.append(
                {
                    "epoch": ranks[0]["epoch"],
                    "step": ranks[0]["step"],
                    "ranks": samples,
                    "draws": [one["draws"] for one in ranks],
                }
            )
        return steps

    def close(self) -> None:
        """Ends its processes."""
        self._ranks.close()


@pytest.fixture(scope="module", params=MODULES)
def runs(
    request: pytest.FixtureRequest, pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    if not os.environ.get("GOFAST_INTEGRATIONS"):
        pytest.skip("make test-integrations")  # minutes
    made = Runs(request.param, pictures, tmp_path_factory.mktemp("places"))
    yield made
    made.close()


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(
    ("before", "after"), [pytest.param(*jobs, id="-".join(map(str, jobs))) for jobs in CHANGES]
)
def test_it_goes_on(runs: Runs, before: Job, after: Job, stop: float) -> None:
    if runs.program == "lightning" and stop > STEPS:
        pytest.skip("Lightning loads no loader's state there; it repeats an epoch's order, with torch's too")
    # What several ranks draw: some frameworks save what one rank tells. Its order is that of all.
    exact = before == after and (after.world == 1 or runs.each_rank_saves)
    rng = "torch" if before == after else "stateless"
    whole, rest = runs.whole(after, rng), runs.resumed(before, after, rng, stop)
    assert len(whole) == EPOCHS * STEPS and len(rest) == len(whole) - int(stop)
    for want, have in zip(whole[int(stop) :], rest, strict=True):
        assert have["epoch"] == want["epoch"] and have["step"] == want["step"]
        if exact:
            assert have == want
        elif before == after:
            assert labels(have) == labels(want)
        else:
            assert sorted(chain(*have["ranks"])) == sorted(chain(*want["ranks"]))


def labels(step: dict[str, Any]) -> list[list[int]]:
    """The samples that each rank had, whatever was drawn for them."""
    return [[label for label, _ in samples] for samples in step["ranks"]]


def test_stats_name_the_slow_rank(tmp_path: Path) -> None:
    ranks = Ranks("torch", "gofast")
    try:
        assert ranks("waits", Run("", str(tmp_path), 2, 0, "", None, False)) == [0, 0]
    finally:
        ranks.close()
    told = [json.loads((tmp_path / f"waits.{rank}").read_text()) for rank in range(2)]
    assert told[0] == told[1] and [one["rank"] for one in told[0]] == [1, 0]
    assert all(one["batches"] == 4 and one["host"] for one in told[0])
    assert told[0][0]["wait_seconds"] >= 0.16

"""Damaged HDF5 files: what h5py reads, or an error of ours, and never a crash where h5py has none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import fresh

SCRIPT = Path(__file__).with_name("hdf5_mutations.py")


# What was wrong once: a filter's width, chunks that a search does not find, values that were never written.
FOUND = [997, 1008, 1049, 1333, 3115, 3412, 3811, 3985, 5629]


def run(numbers: list[int], folder: Path) -> Counter[str]:
    """How many of these files came out in each way."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    while numbers:
        done = fresh.run([SCRIPT, folder, *numbers], timeout=1800)
        lines = [line.split(" ", 3) for line in done.stdout.splitlines()]
        seen.update(line[2] for line in lines)
        wrong += [" ".join(line) for line in lines if line[2] == "wrong"]
        if done.returncode == 0:
            break
        number, name, who, *_ = lines[-1]
        assert who == "h5py", f"{number} {name}: ended in gofast\n{done.stderr[-3000:]}"
        seen["h5py ended"] += 1
        numbers = numbers[numbers.index(int(number)) + 1 :]
    assert not wrong, wrong
    return seen


@pytest.mark.parametrize("count", [60, pytest.param(400, marks=pytest.mark.full)])
def test_damaged_files(count: int, tmp_path: Path) -> None:
    seen = run([*FOUND, *range(400 - count, 400)], tmp_path)
    assert seen["same"] > 1.25 * count and seen["refused"] > count / 4, seen


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(5))
def test_many_damaged_files(part: int, tmp_path: Path) -> None:
    print(run([*range(part * 10_000, (part + 1) * 10_000)], tmp_path))

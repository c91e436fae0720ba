"""The last words of `python -m gofast`, of recorded facts: whose the time was, and what to change."""

from __future__ import annotations

import re
import time

import pytest

from gofast import running
from gofast._command.closing import Ran, costliest, verdict
from gofast._core import reason
from gofast._core.processor_time import Spent

LINES = "lines 13 to 21 of train.py"
STEP = "Lambda runs in Python: your own code"
CACHE = "python -m gofast --cache memory"

# What was measured, the parts of 100 that the line says, and what there is most to gain from.
RECORDED = {
    "a Dataset in numpy": (Ran(40.0, 36.0, 30.0, 6.0, {}, LINES), [90, 20, 80], LINES),
    "a Dataset of a notebook": (Ran(40.0, 36.0, 30.0, 6.0), [90, 20, 80], ""),
    "a step in the middle": (
        Ran(40.0, 20.0, 20.0, 5.0, {STEP: 12.0, "other": 1.0}, LINES),
        [50, 25, 65, 10],
        STEP,
    ),
    "pictures alone": (Ran(10.0, 9.0, 8.0, 7.0, {}, LINES), [90, 88, 12], CACHE),
    "pictures that no Compose makes": (Ran(10.0, 9.0, 8.0, 7.0, {}, LINES, composes=False), [90, 88, 12], ""),
    "pictures that are kept": (Ran(10.0, 9.0, 8.0, 7.0, {}, LINES, kept=True), [90, 88, 12], ""),
    "a native loader": (Ran(10.0, 5.0), [50], CACHE),
    "a native loader beside torch's": (Ran(10.0, 5.0, 0.2, 0.0, {}, LINES), [50], CACHE),
    "the model": (Ran(40.0, 2.0, 30.0, 6.0, {STEP: 12.0}, LINES), [5], ""),
    "workers that were ahead": (Ran(40.0, 41.0, 80.0, 90.0), [100, 100], CACHE),
    "steps that waited": (Ran(40.0, 36.0, 10.0, 4.0, {STEP: 50.0}, LINES), [90, 40, 60], STEP),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_said_of_what_was_measured(name: str) -> None:
    ran, parts, gain = RECORDED[name]
    said = verdict(ran)
    assert "\n" not in said and said.startswith("batches were waited for ")
    assert [int(part) for part in re.findall(r"(\d+)%", said)] == parts, said
    _, _, named = said.partition("; most to gain: ")
    assert named.startswith(gain) and bool(named) == bool(gain), said
    assert ("faster data would gain no more" in said) == (name == "the model")


def test_nothing_is_said_of_a_short_run() -> None:
    assert verdict(Ran()) == verdict(Ran(0.9, 0.9, 0.9, 0.1, {STEP: 0.8}, LINES)) == ""


def test_a_step_is_named_once_and_in_the_units_of_the_verdict() -> None:
    took, spent = {STEP: 0.336, "other": 0.2}, {STEP: 0.12}
    named = verdict(Ran(40.0, 20.0, 20.0, 5.0, {STEP: 12.0}))
    assert STEP in named and costliest(named, took, spent) == ""
    others = verdict(Ran(10.0, 9.0, 8.0, 7.0))
    assert costliest(others, took, spent) == f"{STEP} (120 ms of processor time, 336 ms by the clock)"
    assert costliest("", took, spent) == f"{STEP} (336 ms)"
    assert costliest(others, {STEP: 0.05}, spent) == ""


def test_a_step_is_no_longer_than_what_it_is_part_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its waits, and pictures that are made within it, are not its processor time."""
    monkeypatch.setattr(Spent, "wanted", True)
    monkeypatch.setattr(reason, "process", reason.Reasons())

    @Spent.picture
    def picture() -> None:
        began = time.thread_time()
        while time.thread_time() < began + 0.1:
            pass

    with reason.timed(reason.Reason("own", "Lambda", "python")):
        picture()
        time.sleep(0.1)
    (took,), (spent,) = reason.process.seconds().values(), reason.process.processor_seconds().values()
    assert took >= 0.2 and 0 < spent < 0.05


OneLine = type("OneLine", (), {"__getitem__": lambda self, i: i})


class Lines:
    def __getitem__(self, i: int) -> int:
        return i


def test_lines_are_named() -> None:
    assert re.fullmatch(r"line \d+ of test_closing.py", running.lines_of(OneLine))
    assert re.fullmatch(r"lines \d+ to \d+ of test_closing.py", running.lines_of(Lines))

"""A plugin for pytest: each test's result is a line of a file as soon as it is known, and a test that hangs
ends the process. Started again, pytest goes on behind what has begun. The kit has no pytest-timeout.
"""

from __future__ import annotations

import faulthandler
import json
import os
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds for a test
RESULTS = Path(os.environ.get("GOFAST_KIT_RESULTS", os.devnull))


def note(test: str, outcome: str, **more: Any) -> None:
    """Adds a line."""
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, **more}) + "\n")


def noted(results: Path) -> dict[str, dict[str, Any]]:
    """The last line of each test: what has only begun hung, or ended the process."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.is_file() else []
    return {line["test"]: line for line in map(json.loads, lines)}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leaves out what has begun already."""
    begun = noted(RESULTS)
    left = [item for item in items if item.nodeid not in begun]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in begun])
    items[:] = left


def pytest_runtest_logstart(nodeid: str) -> None:
    """The test begins."""
    note(nodeid, "begun")
    faulthandler.dump_traceback_later(PATIENCE, exit=True)


def pytest_runtest_logreport(report: Any) -> None:
    """What became of a part of the test; a failure outlasts what comes after it."""
    if report.when == "call" or not report.passed:
        note(report.nodeid, report.outcome, seconds=report.duration, why=report.longreprtext[-4000:])


def pytest_runtest_logfinish() -> None:
    """The test is over."""
    faulthandler.cancel_dump_traceback_later()

"""What `python -m gofast` sets up around a script and its worker processes, and what it says at the end."""

from __future__ import annotations

import atexit
import json
import os
import sys
import tempfile
from collections import Counter
from multiprocessing import spawn, util
from typing import Any

from . import installed

RUNS = "GOFAST_RUNS"  # of the environment: the script or module, for processes that are spawned
_REPORT = "GOFAST_REPORT"  # the file where worker processes leave their counts
_NATIVE = ("C", "Go")
_ALWAYS = ("decode", "on_error", "order", "workers", "source")  # lines of explain that say nothing here
_MOST_REASONS = 6


def begin(runs: dict[str, str]) -> None:
    """Installs gofast, here and in every process that the script's processes start by multiprocessing."""
    os.environ[RUNS] = json.dumps(runs)
    handle, path = tempfile.mkstemp(prefix="gofast-report-")
    os.close(handle)
    os.environ[_REPORT] = path
    prepare = spawn.get_preparation_data

    def preparation_data(name: str) -> dict[str, Any]:
        data = prepare(name)
        if data.pop("init_main_from_path", None) or data.pop("init_main_from_name", None):
            data["init_main_from_name"] = "gofast.spawned"
        return data

    spawn.get_preparation_data = preparation_data
    follow()
    atexit.register(_end, os.getpid(), path)


def follow() -> None:
    """Installs gofast in this process, whose workers leave their counts at their end."""
    installed.install()
    util.register_after_fork(_counts, _begin_worker)


def _begin_worker(counts: Counter[str]) -> None:
    """What was counted before a fork is the parent's."""
    counts.clear()
    counts.subtract(_counted())
    util.Finalize(None, _leave, exitpriority=1)


_counts: Counter[str] = Counter()  # what is not this process's: taken off at the end


def _counted() -> Counter[str]:
    """What happened in this process, by name; reasons begin with "why "."""
    found: Counter[str] = Counter()
    source = sys.modules.get("gofast._late.source")
    if source is not None:
        found["late"] += source.counts.native
        found["pillow"] += source.counts.pillow
    composes = sys.modules.get("gofast._images.composes")
    if composes is not None:
        found["compose"] += composes.counts["native"]
        found["compose in Python"] += composes.counts["python"]
        found.update({f"why {reason}": n for reason, n in composes.reasons.items()})
    pillow = sys.modules.get("gofast._images.pillow")
    if pillow is not None:
        found["pillow"] += pillow.opened
    return found


def _own() -> Counter[str]:
    found = _counted()
    found.update(_counts)
    return +found


def begin_spawned() -> None:
    """The same in a process that was spawned: multiprocessing runs nothing after its start."""
    follow()
    util.Finalize(None, _leave, exitpriority=1)


def _leave() -> None:
    line = json.dumps(_own()).encode() + b"\n"
    try:
        handle = os.open(os.environ[_REPORT], os.O_WRONLY | os.O_APPEND)
    except (KeyError, OSError):
        return  # the script's process has ended before
    with os.fdopen(handle, "wb", buffering=0) as file:
        file.write(line)


def _end(pid: int, path: str) -> None:
    if pid != os.getpid():
        return
    total = _own()
    try:
        with open(path, "rb") as file:
            for counted in file:
                total.update(json.loads(counted))
        os.unlink(path)
    except (OSError, ValueError):
        pass  # a worker was killed while it wrote
    for line in _said(total):
        print(line, file=sys.stderr)


def _said(total: Counter[str]) -> list[str]:
    """The three lines."""
    native: dict[str, None] = {}
    why: dict[str, None] = {}
    for one in installed.made:
        for name, where, what in _explained(one):
            if name in _ALWAYS:
                continue
            if where in _NATIVE:
                native[name.strip()] = None
            elif where == "Python":
                why[f"{name.strip()}: {what}"] = None
    for reason in sorted((key for key in total if key.startswith("why ")), key=lambda key: -total[key]):
        why[reason[4:]] = None
    late = f"{total['late'] + total['compose']:,} late pictures"
    steps = f"; of datasets: {', '.join(native)}" if native else ""
    calls = f"{total['compose in Python']:,} Compose calls in Python"
    reasons = list(why)
    more = f"; {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    return [
        f"gofast: natively: {late}, {total['compose']:,} of them with all of their Compose{steps}",
        f"gofast: not natively: {total['pillow']:,} pictures by Pillow, {calls}",
        f"gofast: why: {'; '.join(reasons[:_MOST_REASONS]) or 'nothing was left to Python'}{more}",
    ]


def _explained(one: Any) -> list[tuple[str, str, str]]:
    from ._loader import explain

    try:
        return explain._loader(one) if hasattr(one, "batch_size") else explain._dataset(one)
    except Exception:  # the script is over, and with it perhaps what the dataset needs
        return []

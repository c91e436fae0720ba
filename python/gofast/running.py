"""What `python -m gofast` sets up around a script and its worker processes, and what it says at the end."""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from multiprocessing import spawn, util
from typing import Any

from . import installed
from ._command.closing import Ran, costliest, verdict
from ._core import engine, reason, tally
from ._core.processor_time import Spent

_REPORT = "GOFAST_REPORT"  # the way to the memory where worker processes leave their counts
_MEMORY = "gofast-report"
_CACHE, _LIMIT = "GOFAST_CACHE", "GOFAST_CACHE_LIMIT"  # what is kept where, for spawned workers
_ALWAYS = ("decode", "on_error", "order", "workers", "source")  # lines of explain that say nothing here


def begin(cache: str | None = None, limit: str | None = None) -> None:
    """Installs gofast, here and in every process that the script's processes start by multiprocessing.

    Args:
        cache, limit: as of install.
    """
    for name, value in ((_CACHE, cache), (_LIMIT, limit)):
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value if name == _LIMIT or value == "memory" else os.path.abspath(value)
    handle = os.memfd_create(_MEMORY, os.MFD_CLOEXEC)  # however this process ends, no file is left
    os.environ[_REPORT] = f"/proc/{os.getpid()}/fd/{handle}"
    follow()
    atexit.register(_end, os.getpid(), handle)


def follow() -> None:
    """Installs gofast in this process, whose workers leave their counts at their end."""
    installed.install(cache=os.environ.get(_CACHE), cache_limit=os.environ.get(_LIMIT))
    Spent.wanted = True
    util.register_after_fork(_counts, _begin_worker)
    prepare = spawn.get_preparation_data

    def preparation_data(name: str) -> dict[str, Any]:
        """What multiprocessing tells a new process, which imports gofast before its ``__main__``.

        ``__main__`` travels as one more path, which gofast.spawned takes off: it may be another for each
        process (a launcher runs a script in its own place), and a fork server's environment is older.
        """
        data = prepare(name)
        main = {key: data.pop(key) for key in list(data) if key.startswith("init_main_from_")}
        data["sys_path"] = [*data["sys_path"], json.dumps(main)]
        data["init_main_from_name"] = "gofast.spawned"
        return data

    spawn.get_preparation_data = preparation_data


def _begin_worker(counts: Counter[str]) -> None:
    """What was counted before a fork is the parent's."""
    counts.clear()
    _report_at_end()
    counts.subtract(_counted())


def _report_at_end() -> None:
    """A worker's counts begin here, and reach the script's process at its end."""
    global _started
    _started = time.thread_time_ns(), Spent.pictures
    util.Finalize(None, _leave, exitpriority=1)


_started = 0, 0  # when a worker began: this thread's processor time, and that of pictures, in ns
_counts: Counter[str] = Counter()  # what is not this process's: taken off at the end


def _counted() -> Counter[str]:
    """What happened in this process, by name; reasons begin with "why ", their microseconds with "took ",
    those of processors with "spent "."""
    found = Counter({f"took {why}": round(took * 1e6) for why, took in reason.process.seconds().items()})
    found.update(
        {f"spent {why}": round(spent * 1e6) for why, spent in reason.process.processor_seconds().items()}
    )
    found["samples ns"], found["pictures ns"] = Spent.samples, Spent.pictures_of_samples
    # A worker of torch's does nothing else. torch forgets that it was one before this is asked.
    if getattr(getattr(multiprocessing.current_process(), "_target", None), "__name__", "") == "_worker_loop":
        found["samples ns"] += time.thread_time_ns() - _started[0]
        found["pictures ns"] += Spent.pictures - _started[1]
    source = sys.modules.get("gofast._lazy.source")
    if source is not None:
        found["lazy"] += source.counts.native
        found["pillow"] += source.counts.pillow
    composes = sys.modules.get("gofast._images.compose_calls")
    if composes is not None:
        found["compose"] += composes.counts["native"]
        found["compose in Python"] += composes.counts["python"]
    pillow = sys.modules.get("gofast._images.pillow")
    if pillow is not None:
        found["pillow"] += pillow.opened
    counts = sys.modules.get("gofast._loader.counts")
    if counts is not None:
        found["epochs"] += counts.process.numbers.read()["epochs"]
    here = reason.process
    found.update({f"why {why}": n for why, n in here.numbers("python").items()})
    found.update(
        {f"why {why}": n for why, n in here.numbers("fallback").items() if why.startswith("picture: ")}
    )
    return found


def _own() -> Counter[str]:
    found = _counted()
    found.update(_counts)
    return +found


def begin_spawned() -> None:
    """The same in a process that was spawned: multiprocessing runs nothing after its start."""
    if os.environ.get(_CACHE) == "memory":  # of each its own would be many
        del os.environ[_CACHE]
        os.environ.pop(_LIMIT, None)
    follow()
    _report_at_end()


def _leave() -> None:
    line = json.dumps(_own()).encode() + b"\n"
    try:
        path = os.environ[_REPORT]
        if not os.readlink(path).startswith(f"/memfd:{_MEMORY}"):
            return  # of another process, which has the number now
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    except (KeyError, OSError):
        return  # the script's process has ended before
    with os.fdopen(handle, "wb", buffering=0) as file:
        file.write(line)


def _end(pid: int, handle: int) -> None:
    if pid != os.getpid():
        return
    total = _own()
    try:
        with os.fdopen(handle, "rb") as file:
            for counted in file:
                total.update(json.loads(counted))
    except (OSError, ValueError):
        pass  # a worker was killed while it wrote
    said = list[str]()
    paths = sys.modules.get("gofast._images.path_cache")
    kept = paths is not None and paths.current is not None
    if paths is not None and kept and paths.current.is_in_use():
        said.insert(0, f"cache {paths.current.explained()}")
    loops, waited = _loops()
    took, pictures = total["samples ns"] / 1e9, total["pictures ns"] / 1e9
    ran = Ran(loops, waited, took, pictures, _seconds(total, "spent "), _where(), kept, total["compose"] > 0)
    first = verdict(ran)
    said = [first, *said, costliest(first, _seconds(total, "took "), ran.costs)]
    print(_said(total), *(f"gofast: {line}" for line in said if line), sep="\n", file=sys.stderr)


def _seconds(total: Counter[str], kind: str) -> dict[str, float]:
    """By reason."""
    return {key.removeprefix(kind): us / 1e6 for key, us in total.items() if key.startswith(kind)}


def _said(total: Counter[str]) -> str:
    """What was native, of how many, and the first reason for what was not."""
    why = sorted((key for key in total if key.startswith("why ")), key=lambda key: -total[key])
    reasons = dict.fromkeys(key.removeprefix("why ") for key in why)
    loaders = native_loaders = 0
    for one in installed.made:
        lines = _explained(one)
        if not hasattr(one, "batch_size"):
            left = (f"{name.strip()}: {what}" for name, where, what in lines if where == "Python")
            reasons.update(dict.fromkeys(line for line in left if not line.startswith(_ALWAYS)))
        elif lines:
            _, where, what = lines[-1]
            loaders += 1
            native_loaders += where == "Go"
            if where != "Go":
                reasons[what] = None
    native = total["lazy"] + total["compose"]
    pictures = native + total["pillow"]
    parts = [f"{native:,} of {pictures:,} pictures"] if pictures else []
    parts += [f"{native_loaders} of {loaders} loaders"] if loaders else []
    if not parts:
        if total["epochs"]:
            return (
                "gofast: native: what gofast.explain says of each gofast.DataLoader: the script made them "
                f"itself, or in processes of its own (epochs: {total['epochs']:,})"
            )
        return (
            "gofast: native: nothing; in this process no picture was opened by Pillow, and no DataLoader was "
            "used. Processes that a launcher starts speak for themselves: torchrun -m gofast train.py"
        )
    more = f" (the first of {len(reasons)} reasons: see gofast.explain)" if len(reasons) > 1 else ""
    return f"gofast: native: {', '.join(parts)}" + (
        f"; not native: {next(iter(reasons))}{more}" if reasons else ""
    )


def _loops() -> tuple[float, float]:
    """How long this process's loops over loaders took, and the waits for their batches; seconds."""
    counts = sys.modules.get("gofast._loader.counts")
    if counts is None:
        return 0.0, 0.0
    tallies = engine.tallies()
    counted = counts.process.with_tally(tally.read(engine.layout(), tallies) if tallies else {})
    return counted["ns"] / 1e9, counted["wait_ns"] / 1e9


def _where() -> str:
    """The lines that make samples, where these are a user's dataset's; empty where some are others'."""
    left = [one.dataset for one in installed.made if hasattr(one, "batch_size") and not _is_native(one)]
    places = [place for dataset in left if (place := lines_of(type(dataset)))]
    return ", ".join(dict.fromkeys(places)) if len(places) == len(left) else ""


def _is_native(loader: Any) -> bool:
    lines = _explained(loader)
    return bool(lines) and lines[-1][1] == "Go"


def lines_of(kind: type) -> str:
    """The lines of a dataset that make a sample: its method, and the functions of its file that it calls."""
    method: Any = getattr(kind, "__getitem__", None)
    code = getattr(method, "__code__", None)
    if code is None or kind.__module__.partition(".")[0] in ("torch", "torchvision", "gofast"):
        return ""
    found, left = set[Any](), [code]
    while left:
        now = left.pop()
        if now in found:
            continue
        found.add(now)
        for name in now.co_names:
            called = getattr(getattr(kind, name, method.__globals__.get(name)), "__code__", None)
            if called is not None and called.co_filename == code.co_filename:
                left.append(called)
    lines = [line for now in found for *_, line in now.co_lines() if line]
    first, last = min(lines), max(lines)
    span = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"{span} of {os.path.basename(code.co_filename)}"


def _explained(one: Any) -> list[tuple[str, str, str]]:
    from ._loader import explain

    try:
        return explain._loader(one) if hasattr(one, "batch_size") else explain._dataset(one)
    except Exception:  # the script is over, and with it perhaps what the dataset needs
        return []

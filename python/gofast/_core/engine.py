"""The native engine of this process: loaded at first use, never at import.

A Go runtime does not survive ``fork``. A forked child whose parent had loaded the
engine may still run the C functions of :func:`capsule` (they need no runtime), but
for anything in Go it loads a private copy of the library from a memfd: ``dlopen``
tells libraries apart by inode, so a link to the same file would not do.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.machinery
import importlib.util
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from .. import errors
from .machine import Machine
from .native import Capsule, Native
from .tally import TallyLayout, busy, read

# Address space for the Go runtime and its threads: with 700 MiB left the runtime ends the
# process, with 900 it starts (2 cores, Go 1.26, 2026-11).
_ADDRESS_SPACE = 1 << 30
_LIBRARY = pathlib.Path(__file__).parents[1] / "_native.abi3.so"
P = ParamSpec("P")
T = TypeVar("T")

_lock = threading.RLock()
_native: Native | None = None  # the gopy module of this process
_crew: int | None = None  # its threads: one object, by which a loader knows that it was not forked meanwhile
_capsule: Capsule | None = None  # its per-batch functions; an inherited one keeps working after fork
_latest_capsule: Capsule | None = None  # of the library loaded last: perhaps a private copy
_layout: TallyLayout | None = None  # of tallies
_tallies: list[int] = []  # of what threads do without its engine: of each library that is mapped here
_crew_tally: int | None = None  # of what is done for its engine's tickets
_loader_pid: int | None = None  # who began to load a library that is mapped here: this process or an ancestor
_copies = 0  # private copies that were made, here and in the ancestors

# Numbers of tickets and tasks. Chosen here, so that Ctrl-C in the call that starts one does not
# lose it; never used twice, not even by a forked child.
numbers = itertools.count(1)


def _after_fork_in_child() -> None:
    global _native, _lock, _crew, _crew_tally
    _native = _crew = _crew_tally = None  # the inherited runtime is dead here
    _lock = threading.RLock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)


def is_loaded() -> bool:
    """Whether this process has an engine."""
    return _native is not None


def native() -> Native:
    """The gopy module. Loads it if needed.

    Raises:
        EngineError: the library is missing or cannot be loaded in this process.
    """
    return _native or _load()


def crew() -> int:
    """The address of this process's engine threads, for ``capsule().submit``."""
    native()
    assert _crew is not None
    return _crew


def capsule() -> Capsule:
    """The per-batch C functions. Safe in a forked child without loading anything."""
    if _capsule is None:
        _load()
    assert _capsule is not None
    return _capsule


def latest_capsule() -> Capsule:
    """The same functions, of the library of `native`: state that Go made there is seen by no other copy."""
    native()
    assert _latest_capsule is not None
    return _latest_capsule


def layout() -> TallyLayout:
    """How tallies lie in memory."""
    capsule()
    assert _layout is not None
    return _layout


def tallies() -> list[int]:
    """The tallies of this process; none while no engine was ever loaded."""
    return [*_tallies, *([] if _crew_tally is None else [_crew_tally])]


def crew_busy() -> int:
    """Nanoseconds of work of this process's engine threads."""
    return 0 if _crew_tally is None else round(busy(read(layout(), [_crew_tally])) * 1e9)


def loaded() -> bool:
    """Whether this process has an engine of its own."""
    return _native is not None


def threads(requested: int | None = None) -> int:
    """Threads for the engine: what was asked for, or what this process may use.

    That is min(CPU affinity, cgroup quota) / `ranks`, and inside a
    DataLoader worker process also / num_workers; at least 1.
    """
    if requested is not None:
        return requested
    count = float(len(os.sched_getaffinity(0)))
    quota = _quota()
    if quota is not None:
        count = min(count, quota)
    count /= min(ranks(), count)  # no float holds a number of 400 digits
    info = _worker_info()
    if info is not None and getattr(info, "worker_method", "") != "thread":  # worker threads share one engine
        count /= max(info.num_workers, 1)
    return max(int(count), 1)


def _worker_info() -> Any:
    data = sys.modules.get("torch.utils.data")
    return None if data is None else data.get_worker_info()


def in_worker() -> bool:
    """Whether this is a worker process of a torch DataLoader (not a thread, nor one that stands for it)."""
    return _worker_info() is not None and multiprocessing.parent_process() is not None


def threads_here() -> int:
    """Threads that may work on one batch.

    A worker process is one thread of work, as in torch: its engine, if the parent had one, would have to be
    loaded again.
    """
    return 1 if in_worker() or not loaded() else threads()


def helpers() -> tuple[int, int]:
    """The engine's threads for work beside batches: their crew, and how many; zeros where there is one."""
    return (0, 0) if in_worker() or not loaded() else _helpers(os.getpid())


@functools.cache  # asked with every batch
def _helpers(pid: int) -> tuple[int, int]:
    most = threads()
    return (crew(), most) if most > 1 else (0, 0)


def ranks() -> int:
    """The ranks of a training that share this host, as far as their launcher says; at least 1.

    Lightning's sets no LOCAL_WORLD_SIZE. If its master has the address of every host for itself, all ranks
    are here. Left-over variables look the same, and torch would wait for such ranks. srun and mpirun mostly
    bind a rank to its cores, which are its share then: they count where a process may use all cores.
    """
    said = os.environ.get("LOCAL_WORLD_SIZE")
    if said is None and "LOCAL_RANK" in os.environ and os.environ.get("MASTER_ADDR") in _LOOPBACK:
        said = os.environ.get("WORLD_SIZE")
    if said is None and len(os.sched_getaffinity(0)) == os.cpu_count():
        said = next(filter(None, map(os.environ.get, _LAUNCHERS)), "").partition("(")[0]  # Slurm's "4(x2)"
    try:
        return max(int(said or 1), 1)
    except ValueError:
        return 1  # not a number: not a launcher's


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# How many ranks of an srun or mpirun this host has: Slurm's step, Open MPI, MPICH and Intel MPI, MVAPICH.
_LAUNCHERS = (
    "SLURM_STEP_TASKS_PER_NODE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
)


@functools.cache  # some ten files are read, and threads are asked for with every batch
def _quota() -> float | None:
    return Machine().quota()


def cross(export: Callable[P, T], *args: P.args, **none: P.kwargs) -> T:
    """Calls an export of package pybind, or what fails like one in the capsule, raising typed errors."""
    try:
        return export(*args, **none)
    except RuntimeError as error:
        raise errors.from_native(error) from None


def call(operation: str, config: Any) -> Any:
    """Does control work; modules `*_operations` have the names and the types."""
    return json.loads(cross(native().pybind_Call, operation, json.dumps(config)))


def run(operation: str, config: Any, label: str | None = None) -> Any:
    """Does long work, so that Ctrl-C stops it within 0.1 s; modules `*_operations` have names and types.

    Args:
        label: shows a progress bar of this name once it takes more than a second.
    """
    return Running(operation, config).result(label)


class Running:
    """Long work, begun. It ends with this object, or with the engine.

    Args:
        keep: memory that it uses.
    """

    _over = True  # there is nothing to stop yet

    def __init__(self, operation: str, config: Any, keep: object = None) -> None:
        self._go, self._task, self._pid = native(), next(numbers), os.getpid()
        self._keep = keep
        self._over = False
        _running.add(self)
        cross(self._go.pybind_Begin, self._task, operation, json.dumps(config))

    def part(self, wait: int = 0) -> float:
        """How much is done, after at most so many milliseconds; 1.0: all, and not before."""
        return float(cross(self._go.pybind_Poll, self._task, wait))

    def result(self, label: str | None = None) -> Any:
        """What it made, once; see `run`."""
        from .progress import Progress

        try:
            with Progress(label) as bar:
                while (part := cross(self._go.pybind_Poll, self._task, 100)) < 1:
                    bar.update(part)
        except BaseException:
            self.stop()
            raise
        self._over = True
        return json.loads(cross(self._go.pybind_Result, self._task))

    def stop(self) -> None:
        """Stops it, waits for its end, and gives back what it had made."""
        if self._over or self._pid != os.getpid():
            return
        self._over = True
        try:
            cross(self._go.pybind_Abort, self._task)
            made = json.loads(cross(self._go.pybind_Result, self._task)) or {}
        except errors.GofastError:
            return  # cancelled, or never begun: what interrupted us is the news
        if not isinstance(made, dict):
            return
        if made.get("address"):
            capsule().pages(made["address"], made["size"])  # and nobody owns it
        if made.get("fd", -1) >= 0:
            os.close(made["fd"])
        if made.get("kept") and made["kept"]["columns"]:
            os.close(made["kept"]["fd"])

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over():  # `_close` has stopped it
            self.stop()


_running: weakref.WeakSet[Running] = weakref.WeakSet()


def _load() -> Native:
    global _native, _crew, _capsule, _latest_capsule, _loader_pid, _layout, _crew_tally
    with _lock:
        if _native is not None:
            return _native
        # Also where another thread of the parent was in the middle of loading when we were forked.
        before, pid = _loader_pid, os.getpid()
        inherited = before not in (None, pid)
        _check_address_space()
        path = _private_copy() if inherited else str(_LIBRARY)
        _loader_pid = pid
        try:
            module = _import(path)
            started = json.loads(module.pybind_Call("start", json.dumps({"threads": threads()})))
        except (ImportError, OSError) as error:
            _loader_pid = before
            raise errors.EngineError(_advice(inherited, error)) from error
        _latest_capsule = cast(Capsule, ctypes.PYFUNCTYPE(ctypes.py_object)(started["capsule"])())
        _capsule = _capsule or _latest_capsule
        atexit.register(_close, pid)
        _layout, _crew_tally = started["layout"], started["crew_tally"]
        if started["tally"] not in _tallies:  # a start that Ctrl-C ended may have come so far
            _tallies.append(started["tally"])
        _crew = started["crew"]
        _native = module  # last: other threads take what they see here for complete
        return module


def _check_address_space() -> None:
    """Refuses to start where Go's runtime would end the process: it cannot do without what it reserves."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    left = most - pages * resource.getpagesize()
    if left < _ADDRESS_SPACE:
        raise errors.EngineError(
            f"the address space is limited to {most >> 20} MiB (ulimit -v), with {max(left, 0) >> 20} left: "
            f"the engine reserves {_ADDRESS_SPACE >> 20} MiB, most of it never used. Raise or lift "
            "ulimit -v, and limit memory itself by a control group instead"
        )


def _import(path: str) -> Native:
    loader = importlib.machinery.ExtensionFileLoader("_native", path)
    spec = importlib.util.spec_from_file_location("_native", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return cast(Native, module)


def _private_copy() -> str:
    """A path to a fresh inode with the library's bytes. The descriptor stays open.

    The path is one that no ancestor has used, whatever descriptors were closed in between: the dynamic
    linker and Python's import both know again a library that they have loaded by its path.
    """
    global _copies
    try:
        fd = os.memfd_create("gofast-native", os.MFD_CLOEXEC)
        with open(_LIBRARY, "rb") as source:
            while os.sendfile(fd, source.fileno(), None, 1 << 30):
                pass
    except OSError as error:
        raise errors.EngineError(_advice(True, error)) from error
    _copies += 1
    return f"/proc/self/fd{'/.' * _copies}/{fd}"


def _advice(inherited: bool, error: Exception) -> str:
    if inherited:
        return (
            f"the engine cannot be loaded again in this forked process ({error}): pass "
            'multiprocessing_context="forkserver" to the DataLoader, or num_workers=0'
        )
    if not _LIBRARY.exists():
        return f"{_LIBRARY.name} is missing: install gofast with pip, or run `make build` in a checkout"
    return f"the native engine cannot be loaded: {error}"


def _close(pid: int) -> None:
    # A forked child inherits the registration, not the runtime.
    if pid == os.getpid() and _native is not None:
        for running in list(_running):
            running.stop()
        call("close", {})

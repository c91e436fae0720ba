"""gofast info: versions, kernels, libraries, limits and devices, for bug reports."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import _about
from .._core import codecs, command_operations, engine
from .._core.machine import Machine
from .._core.units import size
from . import cache, output

_PACKAGES = (
    "torch",
    "torchvision",
    "numpy",
    "pillow",
    "tqdm",
    "pandas",
    "pyarrow",
    "timm",
    "datasets",
    "accelerate",
)
_FLAGS = ("ssse3", "sse4_1", "avx2", "bmi2", "f16c", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl",
          "avx512vbmi", "avx512_vnni")  # fmt: skip
_UNLIMITED = resource.RLIM_INFINITY


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "info",
        run,
        "versions, kernels, libraries, limits and devices: what a bug report needs",
        "Says what gofast runs with here. Nothing is sent anywhere.",
        """gofast info
gofast info --json > info.json""",
    )
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    facts = collect()
    if given.json:
        output.print_json(facts)
        return output.DONE
    for name, part in facts.items():
        print(name)
        for key, value in part.items():
            said = "no limit" if key == "cgroup_quota" and value is None else _said(value)
            output.print_text(f"  {key:<18} {said}\n")
    return output.DONE


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, text in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)


def collect() -> dict[str, dict[str, Any]]:
    """All facts, by their parts."""
    here = command_operations.here({})
    found = codecs.load()
    return {
        "versions": {
            "gofast": _about.__version__,
            "python": f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}",
            "go": here["go"],
            **{name: version for name in _PACKAGES if (version := _version(name))},
            "system": f"{platform.platform()}, {' '.join(platform.libc_ver())}",
        },
        "processor": {
            "model": _model(),
            "features": _features(),
            "kernels": here["kernels"],
        },
        "pictures": {
            "native": found["native"],
            "jpeg": found["jpeg"],
            "huffman": "Huffman codes by gofast" in found["jpeg"],
            "missing": found["missing"],
        },
        "threads": {
            "engine": engine.threads(),
            "processors": os.cpu_count(),
            "allowed": len(os.sched_getaffinity(0)),
            "cgroup_quota": Machine().quota(),
        },
        "limits": {
            "table_memory": size(here["memory"]),
            "memory": size(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")),
            "cgroup_memory": _cgroup_memory(),
            "open_files": _limit(resource.RLIMIT_NOFILE, "{:,}".format),
            "address_space": _limit(resource.RLIMIT_AS, size),
            "locked_memory": _limit(resource.RLIMIT_MEMLOCK, size),
            "dev_shm": _free("/dev/shm"),
            "cache": f"{cache.home()}, {_free(_existing(cache.home()))}",
        },
        "device": _devices(),
        "environment": {name: value for name, value in sorted(os.environ.items()) if _matters(name)},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu(key: str) -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    except OSError:
        pass
    return ""


def _model() -> str | None:
    return _cpu("model name") or None


def _features() -> list[str]:
    flags = set(_cpu("flags").split())
    return [name for name in _FLAGS if name in flags]


def _cgroup_memory() -> str:
    limit = Machine().memory_limit()
    return "no limit" if limit is None else size(limit)


def _limit(which: int, said: Callable[[int], str]) -> str:
    """What holds, and what a process may raise it to, where that is more."""
    soft, hard = ("no limit" if value == _UNLIMITED else said(value) for value in resource.getrlimit(which))
    return soft if soft == hard else f"{soft}, may be raised to {hard}"


def _existing(path: Path) -> str:
    """The folder, or the nearest one above it that is there."""
    return str(next(place for place in (path, *path.absolute().parents) if os.path.exists(place)))


def _free(path: str) -> str | None:
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return f"{size(usage.free)} free of {size(usage.total)}"


def _devices() -> dict[str, Any]:
    import torch

    if not torch.cuda.is_available():
        return {"cuda": f"not available; torch was built for CUDA {torch.version.cuda}"}
    devices: dict[str, Any] = {"cuda": torch.version.cuda}
    for ordinal in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(ordinal)
        devices[f"cuda:{ordinal}"] = (
            f"{about.name}, {size(about.total_memory)}, compute {about.major}.{about.minor}"
        )
    return devices


def _matters(name: str) -> bool:
    return name.startswith("GOFAST_") or name in (
        "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MALLOC_ARENA_MAX", "LD_PRELOAD", "LOCAL_WORLD_SIZE",
        "WORLD_SIZE", "CUDA_VISIBLE_DEVICES",
    )  # fmt: skip

"""Processors and memory that control groups of both versions allow: at the top, nested, and not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gofast._core.machine import Machine


def machine(root: Path, files: dict[str, str]) -> Machine:
    """A machine with these files and no others."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Machine(root)


def test_no_control_groups(tmp_path: Path) -> None:
    bare = machine(tmp_path, {})
    assert bare.quota() is None
    assert bare.memory_limit() is None
    assert bare.memory() is None
    assert bare.cores() >= 1
    there = machine(tmp_path, {"proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n"}).memory()
    assert there is not None
    assert (there.limit, there.free, there.source) == (1000 << 10, 400 << 10, "machine")


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"},
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
        },
        {
            "sys/fs/cgroup/cpu.max": "nonsense",
            "sys/fs/cgroup/memory.max": "",
            "proc/self/cgroup": "0\n\n:\n",
        },
        {"sys/fs/cgroup/cpu.max": "0 0\n"},
    ],
    ids=["version 2", "version 1", "nonsense", "zero"],
)
def test_groups_without_a_limit(tmp_path: Path, files: dict[str, str]) -> None:
    free = machine(tmp_path, files)
    assert free.quota() is None
    assert free.memory_limit() is None
    assert free.memory() is None


TOP = "sys/fs/cgroup"
GROUP = f"{TOP}/system.slice/job.service"
V1 = {"proc/self/cgroup": "4:memory:/job/7\n3:cpu,cpuacct:/job/7\n1:name=systemd:/\n0::/\n"}


def version_1(cpu: str, memory: str) -> dict[str, str]:
    return V1 | {
        f"{TOP}/{cpu}/cpu.cfs_quota_us": "250000\n",
        f"{TOP}/{cpu}/cpu.cfs_period_us": "100000\n",
        f"{TOP}/{memory}/memory.limit_in_bytes": "1000\n",
        f"{TOP}/{memory}/memory.usage_in_bytes": "900\n",
        f"{TOP}/{memory}/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
    }


LIMITED: dict[str, tuple[dict[str, str], float, int, int]] = {
    "version 2, at the top": (
        {
            "proc/self/cgroup": "0::/\n",
            "proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 9000 kB\n",
            f"{TOP}/cpu.max": "50000 100000\n",
            f"{TOP}/memory.max": "1000\n",
            f"{TOP}/memory.current": "900\n",
            f"{TOP}/memory.stat": "anon 500\nfile 350\ninactive_file 100\nactive_file 250\n",
        },
        0.5, 1000, 450,
    ),
    "version 2, nested": (  # a limit of what is above holds, too
        {
            "proc/self/cgroup": "0::/system.slice/job.service\n",
            f"{GROUP}/cpu.max": "max 100000\n",
            f"{TOP}/system.slice/cpu.max": "150000 100000\n",
            f"{GROUP}/memory.max": "max\n",
            f"{GROUP}/memory.current": "1\n",
            f"{TOP}/system.slice/memory.max": "2000\n",
            f"{TOP}/system.slice/memory.current": "500\n",
        },
        1.5, 2000, 1500,
    ),
    "version 1, nested": (version_1("cpu,cpuacct/job/7", "memory/job/7"), 2.5, 1000, 400),
    "version 1, in a container": (version_1("cpu", "memory"), 2.5, 1000, 400),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITED)
def test_limits(name: str, tmp_path: Path) -> None:
    files, quota, limit, free = LIMITED[name]
    here = machine(tmp_path, files)
    assert (here.quota(), here.memory_limit()) == (quota, limit)
    assert 1 <= here.cores() <= max(1, round(quota))
    known = here.memory()
    assert known is not None
    assert (known.limit, known.free, known.source) == (limit, free, "control group")

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


def test_version_2_at_the_top(tmp_path: Path) -> None:
    here = machine(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 9000 kB\n",
            "sys/fs/cgroup/cpu.max": "50000 100000\n",
            "sys/fs/cgroup/memory.max": "1000\n",
            "sys/fs/cgroup/memory.current": "900\n",
            "sys/fs/cgroup/memory.stat": "anon 500\nfile 350\ninactive_file 100\nactive_file 250\n",
        },
    )
    assert here.quota() == 0.5
    assert here.cores() == 1
    assert here.memory_limit() == 1000
    known = here.memory()
    assert known is not None
    assert (known.limit, known.free, known.source) == (1000, 450, "control group")


def test_version_2_nested(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/system.slice/job.service"
    here = machine(
        tmp_path,
        {
            "proc/self/cgroup": "0::/system.slice/job.service\n",
            f"{group}/cpu.max": "max 100000\n",
            "sys/fs/cgroup/system.slice/cpu.max": "150000 100000\n",  # a limit of what is above holds, too
            f"{group}/memory.max": "max\n",
            f"{group}/memory.current": "1\n",
            "sys/fs/cgroup/system.slice/memory.max": "2000\n",
            "sys/fs/cgroup/system.slice/memory.current": "500\n",
        },
    )
    assert here.quota() == 1.5
    assert here.memory_limit() == 2000
    known = here.memory()
    assert known is not None
    assert known.free == 1500


@pytest.mark.parametrize("mounted", ["job/7", ""], ids=["nested", "in a container"])
def test_version_1(tmp_path: Path, mounted: str) -> None:
    here = machine(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/job/7\n3:cpu,cpuacct:/job/7\n1:name=systemd:/\n0::/\n",
            f"sys/fs/cgroup/cpu{',cpuacct' if mounted else ''}/{mounted}/cpu.cfs_quota_us": "250000\n",
            f"sys/fs/cgroup/cpu{',cpuacct' if mounted else ''}/{mounted}/cpu.cfs_period_us": "100000\n",
            f"sys/fs/cgroup/memory/{mounted}/memory.limit_in_bytes": "1000\n",
            f"sys/fs/cgroup/memory/{mounted}/memory.usage_in_bytes": "900\n",
            f"sys/fs/cgroup/memory/{mounted}/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
        },
    )
    assert here.quota() == 2.5
    assert here.memory_limit() == 1000
    known = here.memory()
    assert known is not None
    assert (known.limit, known.free, known.source) == (1000, 400, "control group")

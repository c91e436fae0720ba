"""What every benchmark's result has for readers: JSON, a plain text, and the parts of the page's tables."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import environments, figures

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BUSY = 0.05  # the share of the processors in other hands above which times are not to be trusted

Stored = dict[str, Any]  # what a JSON holds: frame's keys, sections, figures, and a benchmark's own
Panels = dict[str, dict[str, str]]  # plot.py


@dataclass(frozen=True)
class Plot:
    """The picture beside a JSON.

    Attributes:
        about: what it shows, for those who do not see it.
        panels: title -> the sections whose peers stand there, each with what is added to a peer's name.
        unit: of the axis.
        scale: values are multiplied by it.
        logarithmic: dots on a logarithmic axis, for values of a wide range; else bars.
        omitted: peers that are not drawn.
    """

    about: str
    panels: Panels
    unit: str = "seconds"
    scale: float = 1.0
    logarithmic: bool = False
    omitted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """How the result of one benchmark is told.

    Attributes:
        name: of its JSON files, of the page's markers, and of `make bench-<name>`.
        amount: writes a value of a section.
        table: the page's lines between the sentence about the data and the one about versions.
        what: begins the page's first sentence: the data.
        packages: whose versions are kept.
        promised: what gofast has to reach.
        remarks: what the plain text says at its end.
        plot: None if there is none.
        summary: the paragraph of README between the benchmark's markers; None if it has none.
    """

    name: str
    amount: Callable[[str, float], str]
    table: Callable[[Stored], list[str]]
    what: Callable[[Stored], str]
    packages: tuple[str, ...]
    promised: tuple[figures.Ratio | figures.Limit, ...]
    remarks: Callable[[Stored], list[str]] = lambda _: []
    plot: Plot | None = None
    summary: Callable[[Stored], str] | None = None


def _git(*words: str) -> str:
    return subprocess.check_output(["git", *words], cwd=ROOT, text=True).strip()


def _processor() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found[1] if found else platform.machine()


def frame(packages: tuple[str, ...], about: dict[str, Any], rounds: int, neighbours: float) -> dict[str, Any]:
    """What every JSON begins with: where, when and with what versions it was measured, on what data."""
    changed = _git(
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":!README.md",
        ":!docs/benchmarks.md",
        ":!benchmarks/results",
    )
    return {
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "system": platform.system(),
        },
        "commit": _git("rev-parse", "--short", "HEAD") + ("-changed" if changed else ""),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "versions": {"python": platform.python_version(), **installed(packages)},
        "data": about,
        "rounds": rounds,
        "processors used by others": round(neighbours, 3),
    }


def installed(packages: tuple[str, ...]) -> dict[str, str]:
    """The versions of those packages that are there, in the environments of all peers."""
    there = importlib.metadata.distributions(path=environments.packages())
    versions = {re.sub(r"[-_.]+", "-", found.name).lower(): found.version for found in there if found.name}
    return {package: versions[package] for package in packages if package in versions}


def sections(measured: figures.Measured) -> dict[str, dict[str, Any]]:
    """Every section's medians, spreads and values."""
    return {
        section: {
            peer: {"median": statistics.median(values), "spread": figures.spread(values), "values": values}
            for peer, values in by_peer.items()
        }
        for section, by_peer in measured.items()
    }


def duration(seconds: float) -> str:
    """Three figures with their unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms"


def cpu(section: str) -> str:
    """The section of another's processor time."""
    return f"{section} cpu"


def standard_path(stored: Stored, benchmark: str) -> Path:
    """results/<benchmark>-<machine>-<commit>.json"""
    processor = re.sub(
        r"[^a-z0-9]+", "-", re.sub(r"\((?:r|tm)\)|@.*", "", stored["machine"]["processor"].lower())
    )
    machine = f"{processor.strip('-')}-{stored['machine']['cores']}-cores"
    return RESULTS / f"{benchmark}-{machine}-{stored['commit']}.json"


def pictures(about: Stored) -> str:
    """The photographs that were measured, for the page."""
    size = f"{about['bytes a picture'] / 1e3:.0f} kB on average"
    return f"{about['pictures']} photographs, {about['name']} ({size})"


def median(stored: Stored, section: str, peer: str) -> float | None:
    """A peer's median in a section, if it was measured."""
    found = stored["sections"].get(section, {}).get(peer)
    return found["median"] if found else None


def text(stored: Stored, benchmark: Benchmark) -> str:
    """Every median and spread, then the figures, then the benchmark's remarks."""
    show = benchmark.amount
    lines = []
    for section, by_peer in stored["sections"].items():
        lines.append(f"\n{section}")
        for peer, values in sorted(by_peer.items(), key=lambda item: -item[1]["median"]):
            low, high = (show(section, value) for value in values["spread"])
            middle = show(section, values["median"])
            lines.append(f"  {peer:<38} {middle:>12}   {low} .. {high}, n={len(values['values'])}")
    lines.append("\nfigures")
    for row in stored["figures"]:
        value = f"{row['value']:.3g} {row['unit']} (least {row['least']}, aim {row['aim']})"
        lines.append(f"  {row['what']:<56} {value:<34} {row['reached']}")
    share = stored["processors used by others"]
    if share > BUSY:
        lines.append(
            f"\nothers used {share:.0%} of the processors meanwhile: measure again on a quiet machine"
        )
    return "\n".join([*lines, "", *benchmark.remarks(stored)])


def block(stored: Stored, benchmark: Benchmark, source: str) -> str:
    """What stands in docs/benchmarks.md about a result, in Markdown; source is its JSON's name."""
    machine, count = stored["machine"], stored["rounds"]
    rounds = f"medians of {count} interleaved rounds" if count > 1 else "one round, so expect noise"
    lines = [
        f"{benchmark.what(stored)}, {machine['processor']}, {machine['cores']} cores; {rounds}.",
        "",
    ]
    if benchmark.plot is not None:
        lines += [f"![{benchmark.plot.about}](../benchmarks/results/{Path(source).with_suffix('.svg')})", ""]
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in stored["versions"].items())
    lines += [
        *benchmark.table(stored),
        f"Versions: {versions}. Made by `make bench-{benchmark.name}` at {stored['commit']} "
        f"({stored['date']}), all values in `benchmarks/results/{source}`.",
    ]
    return "\n".join(lines)

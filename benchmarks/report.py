"""What was measured, for readers: JSON, a plain text, a plot, and README's table between its markers.

`python -m benchmarks.report RESULT.json` writes the plot and README's table again from a stored result.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import data, figures

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
BUSY = 0.05  # the share of the processors in other hands above which times are not to be trusted
TABLES = "tables"
PACKAGES = ("torch", "numpy", "pandas", "pyarrow", "polars")


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def result(
    measured: figures.Measured,
    growths: dict[str, dict[str, Any]],
    files: data.Files,
    rounds: int,
    neighbours: float,
) -> dict[str, Any]:
    """Everything that the JSON of the tables holds."""
    about = {
        "name": files.name,
        "rows": files.rows,
        "csv bytes": files.size("csv"),
        "parquet bytes": files.size("parquet"),
    }
    return {
        **frame(PACKAGES, about, rounds, neighbours),
        "sections": sections(measured),
        "growth": growths,
        "figures": figures.table(measured, growths),
    }


def frame(packages: tuple[str, ...], about: dict[str, Any], rounds: int, neighbours: float) -> dict[str, Any]:
    """What every JSON begins with: where, when and with what versions it was measured, on what data."""
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":!README.md", ":!benchmarks/results"
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
    """The versions of those packages that are there."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def sections(measured: figures.Measured) -> dict[str, dict[str, Any]]:
    """Every section's medians, spreads and values."""
    return {
        section: {
            peer: {"median": figures.median(values), "spread": figures.spread(values), "values": values}
            for peer, values in by_peer.items()
        }
        for section, by_peer in measured.items()
    }


def standard_path(stored: dict[str, Any], prefix: str = "") -> Path:
    """results/<prefix><machine>-<commit>.json"""
    processor = re.sub(
        r"[^a-z0-9]+", "-", re.sub(r"\((?:r|tm)\)|@.*", "", stored["machine"]["processor"].lower())
    )
    name = f"{processor.strip('-')}-{stored['machine']['cores']}-cores-{stored['commit']}.json"
    return RESULTS / (prefix + name)


def save(stored: dict[str, Any], path: Path) -> None:
    """Writes the JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def duration(seconds: float) -> str:
    """Three figures with their unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms"


def amount(section: str, value: float) -> str:
    """A value of a section in its unit."""
    return f"{value / 1e6:.0f} MB" if section == "memory" else duration(value)


def text(stored: dict[str, Any], show: Callable[[str, float], str] = amount) -> str:
    """Every median and spread, then the figures; show writes a value of a section."""
    lines = []
    for section, by_peer in stored["sections"].items():
        lines.append(f"\n{section}")
        for peer, values in sorted(by_peer.items(), key=lambda item: -item[1]["median"]):
            low, high = (show(section, value) for value in values["spread"])
            middle = show(section, values["median"])
            lines.append(f"  {peer:<38} {middle:>12}   {low} .. {high}, n={len(values['values'])}")
    lines.append("\nfigures")
    for row in stored["figures"]:
        if row["section"] == "growth":
            value = f"{row['bytes an epoch'] / 1e3:.2f} +- {row['standard error'] / 1e3:.2f} kB an epoch"
            value += f", descriptors {row['descriptors']:+d}, threads {row['threads']:+d}"
        else:
            value = f"{row['value']:.3g} {row['unit']} (least {row['least']}, aim {row['aim']})"
        lines.append(f"  {row['what']:<56} {value:<34} {row['reached']}")
    share = stored["processors used by others"]
    if share > BUSY:
        lines.append(
            f"\nothers used {share:.0%} of the processors meanwhile: measure again on a quiet machine"
        )
    return "\n".join(lines)


def baseline(stored: dict[str, Any], section: str) -> dict[str, Any] | None:
    """What the classic script takes for the same: pandas; one iloc a row, with torch's plain loader where
    gofast has its own; for memory the vectorised Dataset."""
    peers: dict[str, Any] = stored["sections"].get(section.replace("own loader", "plain"), {})
    name = {"csv": "pandas", "parquet": "pandas", "memory": "vectorised"}.get(section, "naive")
    return peers.get(name)


def readme_table(stored: dict[str, Any], source: str) -> str:
    """README's table, in Markdown."""
    machine, table = stored["machine"], stored["data"]
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in stored["versions"].items())
    lines = [
        f"{table['rows']:,} rows of {table['name']} ({table['csv bytes'] / 1e6:.1f} MB CSV, "
        f"{table['parquet bytes'] / 1e6:.1f} MB Parquet), {machine['processor']}, {machine['cores']} cores; "
        f"medians of {stored['rounds']} interleaved rounds.",
        "",
        picture(source, "seconds to the first batch and per epoch, of gofast and its peers"),
        "",
        "| what | classic | the peer to beat | gofast | times faster |",
        "|---|---|---|---|---|",
    ]
    for row in stored["figures"]:
        section = row["section"]
        first = baseline(stored, section)
        before = amount(section, first["median"]) if first else ""
        if row.get("unit") == "x":
            beaten = f"{duration(row['other'])} ({row['against']})"
            lines.append(
                f"| {row['what']} | {before} | {beaten} | {duration(row['gofast'])} | {row['value']:.1f} |"
            )
        elif section != "growth":
            lines.append(f"| {row['what']} | {before} | | {row['value']:.3g} {row['unit']} | |")
    lines += [
        "",
        "classic: pandas with inferred types; `iloc` a row (every tenth row timed, and scaled); for memory",
        "the vectorised Dataset.",
        f"Versions: {versions}. Made by `make bench-tables` at {stored['commit']} ({stored['date']}), "
        f"all values in `benchmarks/results/{source}`.",
    ]
    return "\n".join(lines)


def picture(source: str, what: str) -> str:
    """The plot that publish writes beside a JSON, in Markdown."""
    return f"![{what}](benchmarks/results/{Path(source).with_suffix('.svg')})"


def markers(benchmark: str) -> tuple[str, str]:
    """The lines of README between which a benchmark's table stands."""
    return f"<!-- bench:{benchmark} -->", f"<!-- /bench:{benchmark} -->"


def around_table(readme: Path, benchmark: str = TABLES) -> tuple[str, str]:
    """README's text before and after the table; both markers have to be there."""
    start, end = markers(benchmark)
    old = readme.read_text(encoding="utf-8")
    if old.count(start) != 1 or old.count(end) != 1 or old.index(start) > old.index(end):
        raise SystemExit(f"{readme.name} needs one {start} and after it one {end}")
    head, rest = old.split(start)
    return head, rest.split(end)[1]


def write_readme(table: str, readme: Path, benchmark: str = TABLES) -> None:
    """Puts the table between README's markers."""
    start, end = markers(benchmark)
    head, tail = around_table(readme, benchmark)
    readme.write_text(f"{head}{start}\n{table}\n{end}{tail}", encoding="utf-8")


def publish(path: Path) -> None:
    """Writes the plot beside the JSON, and README's table."""
    from benchmarks import plot

    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored.get("benchmark") == "recipes":
        from benchmarks import recipes_report

        recipes_report.publish(stored, path)
        return
    if "not measured" in stored:  # only the images' JSON says that of peers
        from benchmarks import images_report

        images_report.publish(stored, path)
        return
    plot.write(stored, path.with_suffix(".svg"))
    write_readme(readme_table(stored, path.name), README)


if __name__ == "__main__":
    publish(Path(sys.argv[1]))

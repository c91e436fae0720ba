"""The image benchmark's JSON, text, plot and README table; report.py has what both benchmarks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import figures, report
from benchmarks.images_data import Folder
from benchmarks.images_figures import FIRST, RATIOS, cpu
from benchmarks.peers.images import LEFT_OUT
from benchmarks.peers.images.contract import BATCH, KINDS

IMAGES = "images"
PACKAGES = (
    "torch",
    "torchvision",
    "pillow",
    "nvidia-dali-cuda130",
    "opencv-python-headless",
    "spdl",
    "datago",
)


def result(
    measured: figures.Measured,
    growths: dict[str, dict[str, Any]],
    folder: Folder,
    differences: dict[str, float],
    missing: dict[str, str],
    rounds: int,
    neighbours: float,
) -> dict[str, Any]:
    """Everything that the JSON holds."""
    about = {
        "name": folder.name,
        "pictures": folder.pictures,
        "repeats": folder.repeats,
        "bytes a picture": folder.bytes,
        "batch": BATCH,
    }
    return {
        **report.frame(PACKAGES, about, rounds, neighbours),
        "unit": "seconds a picture; first batch: seconds",
        "sections": report.sections(measured),
        "mean difference from torchvision": differences,
        "not measured": {**LEFT_OUT, **missing},
        "growth": growths,
        "figures": figures.table(measured, growths, RATIOS, ()),
    }


def amount(section: str, value: float) -> str:
    """Pictures a second, processor milliseconds a picture, or a duration."""
    if section in KINDS:
        return f"{1 / value:,.0f} img/s"
    return f"{value * 1e3:.3f} ms" if section != FIRST else report.duration(value)


def text(stored: dict[str, Any]) -> str:
    """Every median, the figures, and what could not be measured."""
    lines = [report.text(stored, amount), ""]
    lines += [f"not measured: {peer}: {reason}" for peer, reason in stored["not measured"].items()]
    return "\n".join(lines)


def readme_table(stored: dict[str, Any], source: str) -> str:
    """README's table, in Markdown: what each gives, then what was promised."""
    machine, about = stored["machine"], stored["data"]
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in stored["versions"].items())
    size = f"{about['bytes a picture'] / 1e3:.0f} kB on average"
    lines = [
        f"{about['pictures']} photographs, {about['name']} ({size}), "
        f"{about['repeats']} times an epoch, {machine['processor']}, {machine['cores']} cores; batches of "
        f"{about['batch']}, float32, normalised; medians of {stored['rounds']} interleaved rounds.",
        "",
        report.picture(source, "milliseconds a picture, of gofast and its peers"),
        "",
        "| images/s (processor time each) | train | val |",
        "|---|---|---|",
    ]
    sections = stored["sections"]
    train, val = KINDS
    names = list(dict.fromkeys(name for kind in KINDS for name in sections.get(kind, {})))
    slowest = sorted(
        names, key=lambda name: -sections.get(train, sections.get(val, {})).get(name, {"median": 0})["median"]
    )
    for name in slowest:
        cells = []
        for kind in KINDS:
            times, used = (sections.get(s, {}).get(name) for s in (kind, cpu(kind)))
            cells.append(
                f"{1 / times['median']:,.0f} ({used['median'] * 1e3:.2f} ms)" if times and used else ""
            )
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    lines += ["", "| what | against | times faster | at least | aim |", "|---|---|---|---|---|"]
    for row in stored["figures"]:
        if row["section"] != "growth":
            digits = 2 if row["aim"] < 1 else 1
            value = f"{row['value']:.{digits}f}"
            lines.append(f"| {row['what']} | {row['against']} | {value} | {row['least']} | {row['aim']} |")
    missing = "; ".join(f"{peer} ({reason})" for peer, reason in stored["not measured"].items())
    lines += [
        "",
        "The bare C pipeline is our own kernels, called without the engine and torch's loader.",
        f"Not measured: {missing}.",
        f"Versions: {versions}. Made by `make bench-images` at {stored['commit']} ({stored['date']}), "
        f"all values in `benchmarks/results/{source}`.",
    ]
    return "\n".join(lines)


def publish(stored: dict[str, Any], path: Path) -> None:
    """Writes the plot beside the JSON, and README's table."""
    from benchmarks import plot

    titles = {f"{kind}, milliseconds a picture": {kind: ""} for kind in KINDS}
    titles |= {f"{kind}, processor milliseconds a picture": {cpu(kind): ""} for kind in KINDS}
    plot.write(stored, path.with_suffix(".svg"), titles, "milliseconds a picture", 1e3)
    report.write_readme(readme_table(stored, path.name), report.README, IMAGES)

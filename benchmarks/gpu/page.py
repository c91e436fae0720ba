"""The kit's results as a page that needs nothing else, in the doctor's style and with its plots."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from gofast._doctor import plots
from gofast._doctor.page import STYLE


def page(summary: dict[str, Any], out: Path) -> str:
    """The page of what is finished so far."""
    about = ", ".join(f"{name} {value}" for name, value in summary["machine"].items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>gofast on a GPU</title>'
        f"<style>{STYLE} pre {{ overflow-x: auto; font-size: .75rem; }}</style></head><body>"
        f"<h1>gofast on a GPU</h1><p>{escape(about)}</p>{''.join(_parts(summary['parts']))}"
        f"{''.join(_cases(summary['parts'], out))}{''.join(_engines(out))}</body></html>\n"
    )


def _parts(parts: list[dict[str, Any]]) -> Iterator[str]:
    yield "<h2>What was run</h2><ul>"
    for part in parts:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in part.get("counts", {}).items())
        said = f"{part['part']}: {part['became']}, {part['seconds']:.0f} s{counts and ': '}{counts}"
        yield f"<li>{escape(said)}</li>"
    yield "</ul>"
    for bad in (bad for part in parts for bad in part.get("bad", [])):
        what = "hung, or ended the process" if bad["outcome"] == "begun" else bad["outcome"]
        yield f"<h2>{escape(bad['test'])}: {what}</h2><pre>{escape(bad.get('why', ''))}</pre>"


def _bars(title: str, unit: str, medians: dict[str, float]) -> str:
    rows = [(name, value, f"{value:,.4g} {unit}") for name, value in medians.items()]
    return f"<h2>{escape(title)}</h2>{plots.bars(rows, title)}"


def _cases(parts: list[dict[str, Any]], out: Path) -> Iterator[str]:
    for part in parts:
        path = out / f"{part['part']}.json"
        for section in json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []:
            medians = {peer: statistics.median(values) for peer, values in section["peers"].items()}
            yield _bars(section["title"], section["unit"], medians)


def _engines(out: Path) -> Iterator[str]:
    for name, title in (("engine", "The engine without Python"), ("engine-gpu", "The same, to the GPU")):
        path = out / name / "report.json"
        if path.is_file():
            runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
            yield _bars(
                title, "pictures/s", {f"{run['threads']} threads": run["samples_per_second"] for run in runs}
            )

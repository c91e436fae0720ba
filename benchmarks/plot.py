"""The plots of results: of the benchmarks one panel a section, one bar or dot a peer; of gofast-bench
throughput, latency, stages and memory.

    python -m benchmarks.plot report/report.json    of `gofast-bench run --out report/`: SVG and PNG beside it
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker

from benchmarks.report import Plot, Stored

OURS, OTHERS = "#00758f", "#b8b8b8"


def write(stored: Stored, path: Path, plot: Plot) -> None:
    """Draws the panels whose sections were measured; text stays text, which keeps the file small."""
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "gofast", "font.size": 9})
    panels = {
        title: {
            f"{peer}{addition}": values
            for section, addition in sections.items()
            for peer, values in stored["sections"].get(section, {}).items()
            if peer not in plot.omitted
        }
        for title, sections in plot.panels.items()
    }
    shown = {title: peers for title, peers in panels.items() if peers}
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    tallest = max(len(peers) for peers in shown.values())
    size = (5.5 * columns + 1.5 * (columns == 1), rows * max(2.2, 0.3 * tallest + 0.8))
    figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
    for axis in axes.flat[len(shown) :]:
        axis.remove()
    for axis, (title, peers) in zip(axes.flat, shown.items(), strict=False):
        _panel(axis, peers, plot)
        axis.set_title(title)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)


def _panel(axis: Any, peers: dict[str, Any], plot: Plot) -> None:
    """The fastest peer on top, each with its spread and its median in figures.

    A bar's length is its value, which only a linear axis shows. Values that differ a thousandfold are dots on
    a logarithmic one.
    """
    slowest_first = sorted(peers, key=lambda peer: -peers[peer]["median"])
    for row, peer in enumerate(slowest_first):
        values = peers[peer]
        colour = OURS if peer.startswith("gofast") else OTHERS
        median, (low, high) = plot.scale * values["median"], (plot.scale * end for end in values["spread"])
        if plot.logarithmic:
            axis.plot(median, row, "o", color=colour)
        else:
            axis.barh(row, median, color=colour)
        axis.plot([low, high], [row, row], color="black", linewidth=1)
        axis.annotate(f"{median:#.3g}", (high, row), (6, 0), textcoords="offset points", va="center")
    axis.set_yticks(range(len(peers)), slowest_first)
    if plot.logarithmic:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(ticker.LogLocator(numticks=6))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(ticker.NullFormatter())
        axis.grid(axis="x", color="#e4e4e4")
        axis.set_axisbelow(True)
    axis.margins(x=0.12)
    axis.set_xlabel(f"{plot.unit}: less is better")
    axis.spines[["top", "right"]].set_visible(False)


def _throughput(axes: Any, report: dict[str, Any]) -> None:
    runs, usable = report["runs"], report["machine"]["usable"]
    threads, rates = [run["threads"] for run in runs], [run["samples_per_second"] for run in runs]
    for run, rate in zip(runs, rates, strict=True):
        ends = run["samples_per_second_95"] or {"low": rate, "high": rate}
        axes.vlines(run["threads"], ends["low"], ends["high"], color=OURS)
    axes.plot(threads, rates, marker="o", color=OURS, label="median, 95 % interval")
    able = min(max(threads), usable)  # no more can work at a time
    best, name = rates[0] / threads[0] * able, f"ideal: that of {threads[0]}, each"
    axes.plot([0, able, max(threads)], [0, best, best], "--", color=OTHERS, label=name)
    axes.set(
        title="Throughput by threads", xlabel="engine threads", ylabel="samples per second", xticks=threads
    )


def _latency(axes: Any, report: dict[str, Any]) -> None:
    for run in report["runs"]:
        if run["batch_seconds_quantiles"]:
            axes.plot([1e3 * s for s in run["batch_seconds_quantiles"]], label=f"{run['threads']} threads")
    axes.set(title="Time from asking for a batch to having it", ylabel="milliseconds")
    axes.set_xlabel("% of the batches come at most so late (each epoch's first left out)")


def _stages(axes: Any, report: dict[str, Any]) -> None:
    names = list(dict.fromkeys(stage["name"] for run in report["runs"] for stage in run["stages"]))
    labels, left = [f"{run['threads']} threads" for run in report["runs"]], [0.0] * len(report["runs"])
    for name in names:
        shares = [sum(100 * s["share"] for s in run["stages"] if s["name"] == name) for run in report["runs"]]
        axes.barh(labels, shares, left=left, label=name, color="#e4e4e4" if name == "waiting" else None)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set(title="Where the threads' time goes", xlabel="% of threads x time")


def _memory(axes: Any, report: dict[str, Any]) -> None:
    for run in report["runs"]:
        points = [point for point in report["memory"] if point["threads"] == run["threads"]]
        seconds, sizes = [p["seconds"] for p in points], [p["bytes"] / 1e6 for p in points]
        axes.plot(seconds, sizes, ".", label=f"{run['threads']} threads")
    axes.set(title="Resident memory, with what the engines of all runs keep", xlabel="seconds", ylabel="MB")


def main(path: Path) -> None:
    """Draws a report of gofast-bench into its folder."""
    report = json.loads(path.read_text(encoding="utf-8"))
    work, machine = report["work"], report["machine"]
    about = f"{work['samples']:,} samples, batches of {work['batch']}, {work.get('transform', 'table')}"
    for draw in (_throughput, _latency, _stages, _memory):
        figure, axes = pyplot.subplots(figsize=(9, 5))
        draw(axes, report)
        if draw is not _stages:
            axes.set_ylim(0, None)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        figure.suptitle(f"{about}; {machine['cpu']}, {machine['usable']} CPUs", fontsize=8)
        for ending in (".svg", ".png"):
            figure.savefig(path.with_name(draw.__name__[1:] + ending), dpi=144, bbox_inches="tight")
        pyplot.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

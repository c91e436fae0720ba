"""The plot: one panel a section, one bar a peer, on a logarithmic axis."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

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
        }
        for title, sections in plot.panels.items()
    }
    shown = {title: peers for title, peers in panels.items() if peers}
    rows = (len(shown) + 1) // 2
    tallest = max((len(peers) for peers in shown.values()), default=1)
    height = max(2.6, 0.25 * tallest)
    figure, axes = pyplot.subplots(rows, 2, figsize=(11, height * rows), squeeze=False)
    for axis in axes.flat[len(shown) :]:
        axis.remove()
    for axis, (title, peers) in zip(axes.flat, shown.items(), strict=False):
        bars = sorted(peers.items(), key=lambda item: -item[1]["median"])
        times = plot.scale or 1.0
        medians = [times * values["median"] for _, values in bars]
        below = [times * (values["median"] - values["spread"][0]) for _, values in bars]
        above = [times * (values["spread"][1] - values["median"]) for _, values in bars]
        colours = [OURS if peer.startswith("gofast") else OTHERS for peer, _ in bars]
        axis.barh([peer for peer, _ in bars], medians, xerr=[below, above], color=colours)
        if plot.scale is None:
            axis.set_xscale("log")
        axis.set_title(title)
        axis.set_xlabel(plot.unit)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)

"""The plot: one panel a section, one bar a peer, on a logarithmic axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

# Title of a panel -> the sections whose peers stand in it, each with what is added to a peer's name.
PANELS = {
    "CSV file to tensors (gofast: to the first batch)": {"csv": ""},
    "Parquet file to tensors (gofast: to the first batch)": {"parquet": ""},
    "epoch, batch 512": {"epoch 512 plain": "", "epoch 512 own loader": " (own loader)"},
    "epoch, batch 16": {"epoch 16 plain": "", "epoch 16 own loader": " (own loader)"},
    "epoch, batch 512, two fresh workers": {"epoch 512 2 fresh workers": ""},
    "epoch, batch 512, two persistent workers": {"epoch 512 2 persistent workers": ""},
}
OURS, OTHERS = "#00758f", "#b8b8b8"


def write(stored: dict[str, Any], path: Path) -> None:
    """Draws the panels whose sections were measured; text stays text, which keeps the file small."""
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "gofast", "font.size": 9})
    panels = {
        title: {
            f"{peer}{addition}": values
            for section, addition in sections.items()
            for peer, values in stored["sections"].get(section, {}).items()
        }
        for title, sections in PANELS.items()
    }
    shown = {title: peers for title, peers in panels.items() if peers}
    rows = (len(shown) + 1) // 2
    figure, axes = pyplot.subplots(rows, 2, figsize=(11, 2.6 * rows), squeeze=False)
    for axis in axes.flat[len(shown) :]:
        axis.remove()
    for axis, (title, peers) in zip(axes.flat, shown.items(), strict=False):
        bars = sorted(peers.items(), key=lambda item: -item[1]["median"])
        medians = [values["median"] for _, values in bars]
        below = [values["median"] - values["spread"][0] for _, values in bars]
        above = [values["spread"][1] - values["median"] for _, values in bars]
        colours = [OURS if peer.startswith("gofast") else OTHERS for peer, _ in bars]
        axis.barh([peer for peer, _ in bars], medians, xerr=[below, above], color=colours)
        axis.set_xscale("log")
        axis.set_title(title)
        axis.set_xlabel("seconds")
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)

"""Plots as SVG, in the colours of the page that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 720
_LABEL = 190  # where bars begin
_ROW = 26


def _svg(height: float, inside: Sequence[str], title: str) -> str:
    body = "".join(inside)
    return (
        f'<div class="plot"><svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title, quote=True)}">'
        f"{body}</svg></div>"
    )


def _text(x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(said)}</text>'


def _bar(x: float, y: float, width: float, height: float, colour: str, tip: str = "") -> str:
    said = f"<title>{escape(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
        f'fill="var(--{colour})">{said}</rect>'
    )


def legend(names: Sequence[tuple[str, str]]) -> str:
    """What the colours mean: (colour, name) of each."""
    parts = (
        f'<span><i style="background:var(--{colour})"></i>{escape(name)}</span>' for colour, name in names
    )
    return f'<p class="legend">{"".join(parts)}</p>'


def bars(rows: Sequence[tuple[str, float, str]], title: str, colour: str = "loading") -> str:
    """Horizontal bars: (name, value, value in words)."""
    most = max((value for _, value, _ in rows), default=0.0) or 1.0
    inside, room = [], WIDTH - _LABEL - 150
    for at, (name, value, said) in enumerate(rows):
        y = at * _ROW
        inside.append(_text(_LABEL - 10, y + 17, _short(name), "end"))
        inside.append(_bar(_LABEL, y + 4, room * value / most, _ROW - 8, colour, f"{name}: {said}"))
        inside.append(_text(_LABEL + room * value / most + 8, y + 17, said))
    return _svg(len(rows) * _ROW, inside, title)


def stacked(rows: Sequence[tuple[str, Sequence[tuple[str, float]]]], title: str) -> str:
    """Horizontal bars of shares: (name, [(colour, share)]), shares of 1."""
    inside, room = [], WIDTH - _LABEL - 10
    for at, (name, shares) in enumerate(rows):
        x, y = float(_LABEL), at * _ROW
        inside.append(_text(_LABEL - 10, y + 17, _short(name), "end"))
        scale = max(sum(share for _, share in shares), 1.0)
        for colour, share in shares:
            width = room * share / scale
            inside.append(_bar(x, y + 4, width, _ROW - 8, colour, f"{share:.0%}"))
            if width > 40:
                inside.append(_text(x + width / 2, y + 17, f"{share:.0%}", "middle", "on"))
            x += width
    return _svg(len(rows) * _ROW, inside, title)


def timeline(waits: Sequence[float], steps: Sequence[float], title: str, most: str) -> str:
    """A column for each batch: the wait for it below, its step above. `most` is the highest in words."""
    height, left = 150.0, 10.0
    top = max((wait + step for wait, step in zip(waits, steps, strict=True)), default=0.0) or 1.0
    width = (WIDTH - left) / max(len(waits), 1)
    inside = []
    for at, (wait, step) in enumerate(zip(waits, steps, strict=True)):
        low, high = wait / top * (height - 20), step / top * (height - 20)
        thick = max(width - 1, 0.5) if width > 2 else width
        inside.append(_bar(left + at * width, height - low, thick, low, "loading"))
        inside.append(_bar(left + at * width, height - low - high, thick, high, "step"))
    inside.append(f'<line x1="{left}" x2="{WIDTH}" y1="{height}" y2="{height}" class="axis"/>')
    inside.append(_text(left, 12, f"highest: {most}"))
    inside.append(_text(left, height + 16, "first batch"))
    inside.append(_text(WIDTH, height + 16, f"batch {len(waits)}", "end"))
    return _svg(height + 22, inside, title)


def intervals(rows: Sequence[tuple[str, float, float, float, str]], title: str) -> str:
    """Gains with their intervals: (name, low, gain, high, in words), and a line at 1: no change."""
    room, left = WIDTH - _LABEL - 200, _LABEL + 60
    most = max([high for _, _, _, high, _ in rows] + [1.25])

    def place(value: float) -> float:
        return left + room * value / most

    end = len(rows) * _ROW
    inside = [f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="0" y2="{end}" class="axis"/>']
    for at, (name, low, gain, high, said) in enumerate(rows):
        y, colour = at * _ROW + 13, "step" if low >= 1.05 else "quiet"
        inside.append(_text(left - 10, y + 4, _short(name, 30), "end"))
        inside.append(
            f'<line x1="{place(low):.1f}" x2="{place(high):.1f}" y1="{y}" y2="{y}" '
            f'stroke="var(--{colour})" stroke-width="3"/>'
        )
        inside.append(f'<circle cx="{place(gain):.1f}" cy="{y}" r="5" fill="var(--{colour})"/>')
        inside.append(_text(place(high) + 10, y + 4, said))
    inside.append(_text(place(1), end + 14, "1x: as it is", "middle"))
    return _svg(end + 20, inside, title)


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"

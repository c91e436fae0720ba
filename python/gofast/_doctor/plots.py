"""Plots as SVG, in the colours of the page that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH = 720
_LABEL = 190  # where bars begin
_ROW = 26


def _svg(height: float, inside: Sequence[str], title: str) -> str:
    return (
        f'<div class="plot"><svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{"".join(inside)}</svg></div>'
    )


def _text(x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(said)}</text>'


def _name(y: float, name: str, x: float = _LABEL - 10, most: int = 28) -> str:
    return _text(x, y, name if len(name) <= most else name[: most - 1] + "…", "end")


def _bar(x: float, y: float, width: float, height: float, colour: str, tip: str = "") -> str:
    said = f"<title>{escape(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
        f'fill="var(--{colour})">{said}</rect>'
    )


def _line(x1: float, x2: float, y1: float, y2: float, how: str = 'class="axis"') -> str:
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" {how}/>'


def legend(names: Sequence[tuple[str, str]]) -> str:
    """What the colours mean: (colour, name) of each."""
    parts = (
        f'<span><i style="background:var(--{colour})"></i>{escape(name)}</span>' for colour, name in names
    )
    return f'<p class="legend">{"".join(parts)}</p>'


def bars(rows: Sequence[tuple[str, float, str]], title: str, colour: str = "loading") -> str:
    """Horizontal bars: (name, value, value in words)."""
    most = max((value for _, value, _ in rows), default=0.0) or 1.0
    inside, room = [], _WIDTH - _LABEL - 150
    for at, (name, value, said) in enumerate(rows):
        y, long = at * _ROW, room * value / most
        bar = _bar(_LABEL, y + 4, long, _ROW - 8, colour, f"{name}: {said}")
        inside += [_name(y + 17, name), bar, _text(_LABEL + long + 8, y + 17, said)]
    return _svg(len(rows) * _ROW, inside, title)


def stacked(rows: Sequence[tuple[str, Sequence[tuple[str, float]]]], title: str) -> str:
    """Horizontal bars of shares: (name, [(colour, share)]), shares of 1."""
    inside, room = [], _WIDTH - _LABEL - 10
    for at, (name, shares) in enumerate(rows):
        x, y = float(_LABEL), at * _ROW
        inside.append(_name(y + 17, name))
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
    width = (_WIDTH - left) / max(len(waits), 1)
    thick = max(width - 1, 0.5) if width > 2 else width
    inside = [_line(left, _WIDTH, height, height), _text(left, 12, f"highest: {most}")]
    inside += [
        _text(left, height + 16, "first batch"),
        _text(_WIDTH, height + 16, f"batch {len(waits)}", "end"),
    ]
    for at, (wait, step) in enumerate(zip(waits, steps, strict=True)):
        low, high = wait / top * (height - 20), step / top * (height - 20)
        inside.append(_bar(left + at * width, height - low, thick, low, "loading"))
        inside.append(_bar(left + at * width, height - low - high, thick, high, "step"))
    return _svg(height + 22, inside, title)


def intervals(rows: Sequence[tuple[str, float, float, float, str]], title: str) -> str:
    """Gains with their intervals: (name, low, gain, high, in words), and a line at 1: no change."""
    left, end = _LABEL + 60, len(rows) * _ROW
    scale = (_WIDTH - left - 140) / max([high for _, _, _, high, _ in rows] + [1.25])
    inside = [
        _line(left + scale, left + scale, 0, end),
        _text(left + scale, end + 14, "1x: as it is", "middle"),
    ]
    for at, (name, low, gain, high, said) in enumerate(rows):
        y, colour = at * _ROW + 13, "step" if low >= 1.05 else "quiet"
        stroke = f'stroke="var(--{colour})" stroke-width="3"'
        inside += [
            _name(y + 4, name, left - 10, 30),
            _line(left + low * scale, left + high * scale, y, y, stroke),
            f'<circle cx="{left + gain * scale:.1f}" cy="{y}" r="5" fill="var(--{colour})"/>',
            _text(left + high * scale + 10, y + 4, said),
        ]
    return _svg(end + 20, inside, title)

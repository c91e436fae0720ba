"""Tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(title: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. A bar in a cell would end it."""
    lines = [title, ["---"] * len(title), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

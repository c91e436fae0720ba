"""The lines of gofast.explain about rows."""

from __future__ import annotations

from typing import Any

from .._loader.explain import overrides
from .._loader.view import Line


def steps(dataset: Any, base: Any) -> list[Line]:
    """Which steps run natively and which in Python.

    Args:
        base: RowDataset.
    """
    made = [str(dataset.dtype).removeprefix("torch."), f"shape {dataset.shape}"]
    if dataset._numbers.mean is not None:
        made.insert(0, "(x - mean) / std")
    if dataset._numbers.unit:
        made.insert(0, "x / 255")
    lines: list[Line] = dataset._sources()
    lines.append(("transform", "Python" if lines[0][1] == "torch" else "C", ", ".join(made)))
    lines += overrides(dataset, base, "rows")
    for name in ("transform", "target_transform"):
        if getattr(dataset, name) is not None:
            lines.append((name, "Python", "your callable: one call a row"))
    if dataset.batch_transform is not None:
        lines.append(("batch_transform", "Python", "your callable: one call a batch"))
    return lines

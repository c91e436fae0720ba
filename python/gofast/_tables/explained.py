"""The lines of gofast.explain about rows."""

from __future__ import annotations

from typing import Any

from .._loader import reasons
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


def why_python(dataset: Any, base: Any) -> str:
    """Why the engine cannot make the dataset's rows by itself. Call it only if it cannot.

    Args:
        base: RowDataset.
    """
    taken = reasons.overridden(type(dataset), base)
    if taken is not None:
        return taken
    for name in ("transform", "target_transform", "batch_transform"):
        if getattr(dataset, name) is not None:
            return f"{name}={reasons.called(getattr(dataset, name))} is your own code"
    why: str = dataset._why_not_in_c()
    return why or "Python code has a say in its samples"

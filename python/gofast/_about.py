"""What runs, and where: version, engine_stats, explain."""

from __future__ import annotations

import json
from typing import Any

from torch.utils.data import Dataset

from . import _engine
from ._rows import RowDataset
from ._view import resolve


def version() -> dict[str, str]:
    """Versions of gofast and of what it runs with.

    Loads nothing native: ``engine`` is there once the engine is.

    Example:
        >>> gofast.version()["gofast"]
        '0.1.0'
    """
    import torch

    from . import __version__

    about = {"gofast": __version__, "torch": str(torch.__version__)}
    if _engine.loaded():
        about["engine"] = _engine.call("Version")
    return about


def engine_stats() -> dict[str, Any]:
    """Counters of this process's engine; empty while it is not loaded.

    Returns:
        ``threads``, ``tickets`` submitted, ``rows`` filled, jobs ``queued``.
    """
    if not _engine.loaded():
        return {}
    stats: dict[str, Any] = json.loads(_engine.call("Stats"))
    return stats


def explain(dataset: Dataset[Any]) -> str:
    """Says which steps run natively and which run in Python, and why.

    Args:
        dataset: a gofast dataset, or a Subset or ConcatDataset of some.

    Returns:
        A table, one line a step.

    Example:
        >>> print(gofast.explain(train))
    """
    lines = [("step", "runs in", "what")]
    if isinstance(dataset, RowDataset):
        layout = dataset._memory.layout
        lines.append(
            ("source", "Go", f"{layout.rows} rows x {layout.width} features, stored as {layout.type}")
        )
        steps = [dataset._dtype_name, f"shape {dataset.shape}"]
        if dataset._mean is not None:
            steps.insert(0, "(x - mean) / std")
        if dataset._unit:
            steps.insert(0, "x / 255")
        lines.append(("transform", "C", ", ".join(steps)))
        if type(dataset).__getitem__ is not RowDataset.__getitem__:
            lines.append(
                ("rows", "Python", f"{type(dataset).__name__} overrides __getitem__: one call a row")
            )
        for name in ("transform", "target_transform"):
            if getattr(dataset, name) is not None:
                lines.append((name, "Python", "your callable: one call a row"))
        if dataset.batch_transform is not None:
            lines.append(("batch_transform", "Python", "your callable: one call a batch"))
    native = resolve(dataset) is not None
    reason = (
        "look-ahead on engine threads"
        if native
        else "Python code has a say in the rows: torch's own machinery"
    )
    lines.append(("gofast.DataLoader", "Go" if native else "Python", reason))
    widths = [max(len(line[i]) for line in lines) for i in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in lines)

"""What runs, and where: version, engine_stats, explain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch.utils.data import Dataset

from . import _codecs, _engine, _pillow
from ._rows import RowDataset
from ._view import resolve

if TYPE_CHECKING:
    from ._image_rows import ImageDataset


def version() -> dict[str, str]:
    """Versions of gofast and of what it runs with.

    Loads nothing native: ``engine`` is there once the engine is, and ``jpeg``, the library that decodes
    them, once there was an image dataset.

    Example:
        >>> gofast.version()["gofast"]
        '0.1.0'
    """
    import torch

    from . import __version__

    about = {"gofast": __version__, "torch": str(torch.__version__)}
    if _engine.loaded():
        about["engine"] = _engine.call("Version")
        if _codecs.found():
            about["jpeg"] = _codecs.found()["jpeg"]
    return about


def engine_stats() -> dict[str, Any]:
    """Counters of this process's engine; empty while it is not loaded.

    Returns:
        ``threads``, ``tickets`` submitted, ``rows`` filled, jobs ``queued``, ``pillow``: pictures that were
        left to Pillow.
    """
    if not _engine.loaded():
        return {}
    stats: dict[str, Any] = json.loads(_engine.call("Stats"))
    stats["pillow"] = _pillow.opened
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
    from ._image_rows import ImageDataset
    from ._image_view import ImageView

    lines = [("step", "runs in", "what")]
    if isinstance(dataset, RowDataset):
        lines += _table(dataset)
    elif isinstance(dataset, ImageDataset):
        lines += _images(dataset)
    view = resolve(dataset)
    if view is None:
        lines.append(("gofast.DataLoader", "Python", "Python code has a say: torch's own machinery"))
    elif isinstance(view, ImageView) and view.draws and view.rng == "torch":
        what = "look-ahead on engine threads if num_workers > 0: the samples draw from torch's generator"
        lines.append(("gofast.DataLoader", "Go", what))
    else:
        lines.append(("gofast.DataLoader", "Go", "look-ahead on engine threads"))
    widths = [max(len(line[i]) for line in lines) for i in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in lines)


_Line = tuple[str, str, str]


def _table(dataset: RowDataset) -> list[_Line]:
    layout = dataset._memory.layout
    stored = f"{layout.rows} rows x {layout.width} features, stored as {layout.type}"
    steps = [dataset._dtype_name, f"shape {dataset.shape}"]
    if dataset._mean is not None:
        steps.insert(0, "(x - mean) / std")
    if dataset._unit:
        steps.insert(0, "x / 255")
    lines = [("source", "Go", stored), ("transform", "C", ", ".join(steps))]
    if type(dataset).__getitem__ is not RowDataset.__getitem__:
        lines.append(("rows", "Python", f"{type(dataset).__name__} overrides __getitem__: one call a row"))
    for name in ("transform", "target_transform"):
        if getattr(dataset, name) is not None:
            lines.append((name, "Python", "your callable: one call a row"))
    if dataset.batch_transform is not None:
        lines.append(("batch_transform", "Python", "your callable: one call a batch"))
    return lines


def _images(dataset: ImageDataset) -> list[_Line]:
    from ._image_rows import ImageDataset

    lines = [("source", "Go", f"{len(dataset)} files")]
    if dataset._reader is not None:
        lines.append(("loader", "Python", "your callable: one call a sample"))
    else:
        codecs = _codecs.load()
        missing: dict[str, str] = codecs["missing"]
        native = [name for name in ("jpeg", "png", "webp") if name not in missing]
        lines.append(("decode", "C", f"{', '.join(native) or 'nothing'} ({codecs['jpeg'] or 'no libjpeg'})"))
        lines += [("decode", "Python", f"{name} by Pillow: {why}") for name, why in missing.items()]
        seen = dataset._fallbacks
        lines.append(
            ("decode", "Python", f"other formats by Pillow: {seen} picture{'s' * (seen != 1)} so far")
        )
    for line in dataset._plan.report:
        where = "C" if line.native and dataset._reader is None else "Python"
        lines.append((line.name, where, f"{line.what} ({line.cost})" if line.cost else line.what))
    if dataset.target_transform is not None:
        lines.append(("target_transform", "Python", "your callable: one call a sample"))
    bad, policy = int((dataset._files.bad > 0).sum()), dataset._bad.on_error
    what = policy if isinstance(policy, str) else "your callable"
    lines.append(("on_error", "Python", f"{what}: {bad} bad sample{'s' * (bad != 1)} so far"))
    if type(dataset).__getitem__ is not ImageDataset.__getitem__:
        lines.append(("samples", "Python", f"{type(dataset).__name__} overrides __getitem__: one call each"))
    return lines

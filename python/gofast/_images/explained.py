"""The lines of gofast.explain about pictures."""

from __future__ import annotations

from typing import Any

from .._core import codecs
from .._loader.explain import overrides
from .._loader.view import Line


def steps(dataset: Any, base: Any) -> list[Line]:
    """Which steps run natively and which in Python.

    Args:
        base: ImageDataset.
    """
    lines = [("source", "Go", f"{len(dataset)} files")]
    if dataset._reader is not None:
        what = "your callable" if dataset._listing.readable else "samples are no (path, label) of files"
        lines.append(("loader", "Python", f"{what}: one call a sample"))
    else:
        found = codecs.load()
        missing: dict[str, str] = found["missing"]
        native = ", ".join(found["native"]) or "nothing"
        lines.append(("decode", "C", f"{native} ({found['jpeg'] or 'no libjpeg'})"))
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
    if dataset._options.channels_last and not dataset._core().channels_last:
        lines.append(("channels_last", "", "without effect: Python makes the samples"))
    bad, policy = int((dataset._files.bad > 0).sum()), dataset._bad.on_error
    what = policy if isinstance(policy, str) else "your callable"
    lines.append(("on_error", "Python", f"{what}: {bad} bad sample{'s' * (bad != 1)} so far"))
    return lines + overrides(dataset, base, "samples")

"""Information about the running gofast: version and engine_stats."""

from __future__ import annotations

from typing import Any

from ._core import engine, operations

__version__ = "0.1.0"


def version() -> dict[str, str]:
    """Versions of gofast and of what it runs with.

    The call loads nothing native. ``engine`` appears once the engine is loaded. ``jpeg``, the library that
    decodes JPEG files, appears after the first image dataset. Its text ends with "Huffman codes by gofast" if
    gofast's own decoder of these codes fits the library; it saves a third of the time.

    Example:
        >>> gofast.version()["gofast"]
        '0.1.0'
    """
    import torch

    from ._core import codecs

    about = {"gofast": __version__, "torch": str(torch.__version__)}
    if engine.loaded():
        about["engine"] = operations.about({})["version"]
        if (found := codecs.found()) is not None:
            about["jpeg"] = found["jpeg"]
    return about


def engine_stats() -> dict[str, Any]:
    """Counters of this process's engine; empty while it is not loaded.

    Returns:
        A dict with four counters. ``threads``: the engine's threads. ``tickets``: pieces of work submitted to
        them, each of one or several batches. ``rows``: rows filled for tickets. Rows made on the spot do not
        count: single samples, small batches for torch's loader, and everything in worker processes.
        ``pillow``: pictures that were left to Pillow.
    """
    if not engine.loaded():
        return {}
    from ._images import pillow

    return {**operations.stats({}), "pillow": pillow.opened}

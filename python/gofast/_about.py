"""What runs: version and engine_stats."""

from __future__ import annotations

from typing import Any

from ._core import engine, operations

__version__ = "0.1.0"


def version() -> dict[str, str]:
    """Versions of gofast and of what it runs with.

    Loads nothing native: ``engine`` is there once the engine is, and ``jpeg``, the library that decodes
    them, once there was an image dataset. It ends with "Huffman codes by gofast" where our decoder of them,
    which takes a third of the time off, fits this library.

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
        ``threads``; ``tickets``: work that was submitted to them, one or several batches each; ``rows`` that
        were filled for tickets: not those that were made on the spot, as single samples and small batches for
        torch's loader are, and all in worker processes; ``pillow``: pictures that were left to Pillow.
    """
    if not engine.loaded():
        return {}
    from ._images import pillow

    return {**operations.stats({}), "pillow": pillow.opened}

"""Information about the running gofast: version and engine_stats."""

from __future__ import annotations

import sys
from typing import Any

from ._core import engine, process_operations

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
        about["engine"] = process_operations.about({})["version"]
        if (found := codecs.found()) is not None:
            about["jpeg"] = found["jpeg"]
    return about


def engine_stats() -> dict[str, Any]:
    """Counters of this process; empty while it has no engine, and has made nothing by its parent's.

    A forked worker process begins at zero, and may ask for its own; see `DataLoader.stats` for a loader's.

    Returns:
        A dict with these keys.

        - ``seconds``: since the engine was started.
        - ``batches``, ``samples``, ``bytes``, ``made``, ``padding``, ``file_bytes``, ``marked``,
          ``cache_hits``, ``cache_writes``, ``waits``, ``wait_seconds``, ``draw_seconds``, ``busy_seconds``,
          ``occupancy``, ``stages``, ``fallbacks``, ``errors``: as in `DataLoader.stats`, of everything in
          this process: all loaders, torch's with datasets of gofast's, single samples, lazy images. What a
          dataset hands out to a loader of gofast's, the loader counts: once for each batch. Only such loaders
          have waits.
        - ``threads``: the engine's threads.
        - ``tickets``: pieces of work submitted to them, each of one or several batches.
        - ``rows``: rows filled for tickets. Rows made on the spot do not count there: single samples, small
          batches for torch's loader, and everything in worker processes.
        - ``pillow``: pictures that were left to Pillow.
        - ``devices``: a dict for each GPU that was used, by its name in torch.

        The dict of a GPU has these keys.

        - ``batches``, ``bytes``: that were copied there; ``staged_bytes`` of them went through the
          small pinned block, and the driver took ``pageable_bytes`` from ordinary memory.
        - ``pinned_bytes``: of batch memory that are pinned now.
        - ``resident_bytes``: of tables that live there.
        - ``rate``: bytes a second of copies of 1 MiB and more of pinned memory, which took ``copy_seconds``.
        - ``kernels``: that were started; those behind such copies took ``kernel_seconds``.
        - ``waited``: the seconds for which loops waited for a batch to be made.
        - ``free``, ``total``: bytes of its memory.

    Example:
        >>> for batch in gofast.DataLoader(gofast.ArrayDataset(torch.zeros(10_000, 64)), 100):
        ...     loss = batch[0].sum()
        >>> gofast.engine_stats()["threads"] >= 1
        True
    """
    if not engine.tallies():
        return {}
    from ._core.tally import read
    from ._images import pillow
    from ._loader import counts

    own = process_operations.stats({}) if engine.loaded() else None
    threads, seconds = (own["threads"], own["age"] / 1e9) if own else (0, 0.0)
    counted = counts.process.with_tally(read(engine.layout(), engine.tallies()))
    return {
        "threads": threads,
        "tickets": own["tickets"] if own else 0,
        "rows": own["rows"] if own else 0,
        "seconds": seconds,
        **counts.amounts(counted),
        "occupancy": counts.occupancy(counted, seconds, threads),
        "fallbacks": dict(counts.process.reasons.numbers("fallback")),
        "errors": dict(counts.process.errors.read()),
        "pillow": pillow.opened,
        "devices": _devices(),
    }


def _devices() -> dict[str, Any]:
    devices = sys.modules.get("gofast._device.device")
    if devices is None:
        return {}
    return {
        f"cuda:{device.ordinal}": {
            **device.stats(),
            "resident_bytes": device.resident_bytes,
            "waited": device.waited,
        }
        for device in devices.all_opened()
    }

"""The measuring process of the table benchmark; serve.py has its line to the parent.

Every peer has a process of its own, so that none pays for another's memory, threads or imports.
`import torch` comes before every clock and every memory reading, a peer's own module before the clock too.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset

from benchmarks import process
from benchmarks.peers.epochs import EPOCHS, PLAIN, Epochs, Vectorised
from benchmarks.peers.openers import (
    OPENERS,
    Tensors,
    gofast_loader,
    gofast_table,
    normalised,
    pair,
    pandas_csv,
)
from benchmarks.serve import serve

CHECKED_BATCHES = 20  # of a peer whose rows are slow to make; all batches of the others
TURN = 0.1  # seconds: how long a peer runs epochs before it is another's turn


class Child:
    """The state between commands: the opened table and the loaders that live on."""

    def __init__(self) -> None:
        self.peer: Epochs | None = None
        self.dataset: Any = None
        self.loaders: dict[tuple[str, int], Iterable[Any]] = {}

    def open(
        self, file_format: str, peer: str, path: str, sample: str, reference: str | None
    ) -> dict[str, Any]:
        """Times file to tensors once; compares the result when a reference is named."""
        opener = OPENERS[file_format][peer]
        if opener.warm:
            opener.open(sample)
        else:
            import gofast  # noqa: F401 -- its import is measured by itself; its engine's load counts
        gc.collect()
        started = time.perf_counter()
        opened = opener.open(path)
        seconds = time.perf_counter() - started
        if reference is not None:
            same(opener.tensors(opened), normalised(np.load(reference)), f"{peer} ({file_format})")
        return {"seconds": seconds}

    def reopen(self, path: str, cache: str) -> dict[str, Any]:
        """Times opening through an existing cache, the engine's load included, and then the first batch."""
        import gofast  # noqa: F401 -- before the clock

        started = time.perf_counter()
        table = gofast_table(path, cache)
        opened = time.perf_counter()
        next(iter(gofast_loader(table, 512)))
        return {"seconds": opened - started, "first batch": time.perf_counter() - started}

    def prepare(self, peer: str, path: str) -> dict[str, Any]:
        """Opens the table for epochs."""
        self.peer = EPOCHS[peer]
        self.dataset = self.peer.prepare(path)
        return {}

    def check(self, mode: str, batch: int, reference: str) -> dict[str, Any]:
        """One epoch, compared batch by batch with the rows that torch's order gives for the seed. Its loader
        is the one that is timed."""
        assert self.peer is not None
        x, y = normalised(np.load(reference))
        part = self.dataset.indices if isinstance(self.dataset, Subset) else range(len(y))
        rows = torch.as_tensor(part)
        torch.manual_seed(7)
        expected = order(self.peer.order, len(rows), batch)[: CHECKED_BATCHES if self.peer.scaled else None]
        torch.manual_seed(7)
        loader = self.loaders[mode, batch] = self.peer.modes[mode](self.dataset, batch)
        found = itertools.islice(loader, len(expected)) if self.peer.scaled else loader
        for number, (got, index) in enumerate(zip(found, expected, strict=True)):
            wanted = rows[index]
            same(pair(got), (x[wanted], y[wanted]), f"{mode}, batch {number} of {batch} rows")
        return {}

    def epoch(self, mode: str, batch: int, rows: int) -> dict[str, Any]:
        """Times an epoch, from iter() to its end, and scales it to rows if the dataset is a part.

        Short epochs follow one another until TURN has passed, and their mean counts: on virtual machines the
        first milliseconds after a pause are another machine's (torch.randperm(60000): 6 ms instead of 0.6).
        """
        assert self.peer is not None
        loader = self.loaders[mode, batch]
        gc.collect()
        epochs, started = 0, time.perf_counter()
        while (passed := time.perf_counter() - started) < TURN:
            run(loader)
            epochs += 1
        seconds = passed / epochs
        return {"seconds": seconds * rows / len(self.dataset) if self.peer.scaled else seconds}

    def imports(self) -> dict[str, Any]:
        """Times `import gofast` after `import torch`, with what it leaves for its first use."""
        started = time.perf_counter()
        import gofast

        assert {gofast.DataLoader, gofast.TableDataset}
        return {"seconds": time.perf_counter() - started}

    def memory(self, peer: str, path: str) -> dict[str, Any]:
        """Resident memory above `import torch`: its peak, and its value after one epoch from the CSV file."""
        before = process.status("VmRSS")
        process.forget_peak()
        dataset, loader = from_csv(peer, path)
        run(loader)
        after, peak = process.status("VmRSS"), process.status("VmHWM")
        assert len(dataset) > 0  # the table is alive while memory is read
        return {"bytes": peak - before, "at the end": after - before}


def run(loader: Iterable[Any]) -> None:
    """One epoch whose batches are dropped at once, as a training step drops them."""
    for _ in loader:
        pass


def order(kind: str, count: int, batch: int) -> Any:
    """The rows of each batch, drawn from torch's global generator as the peer draws them."""
    if kind == "sampler":
        return [index.clone() for index in DataLoader(range(count), batch_size=batch, shuffle=True)]  # type: ignore[arg-type]
    return torch.split(torch.randperm(count) if kind == "randperm" else torch.arange(count), batch)


def same(got: Tensors, wanted: Tensors, where: str) -> None:
    """Raises ValueError unless both tensors are equal in type, shape and every value."""
    for name, ours, reference in zip(("image", "label"), got, wanted, strict=True):
        if ours.dtype != reference.dtype or not torch.equal(ours, reference):
            raise ValueError(f"{where}: {name} differs from the reference")


def from_csv(peer: str, path: str) -> tuple[Any, Iterable[Any]]:
    """The dataset and its loader as the user of each kind writes them."""
    if peer == "gofast":
        table = gofast_table(path)
        return table, gofast_loader(table, 512)
    dataset = Vectorised(path, read=pandas_csv)
    return dataset, EPOCHS[peer].modes[PLAIN](dataset, 512)


if __name__ == "__main__":
    serve(Child())

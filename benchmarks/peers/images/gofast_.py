"""gofast: torchvision's ImageFolder with one import changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch.utils.data import DataLoader

import gofast
from benchmarks.peers.images.contract import BATCH, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import loader, pil_transform


def dataset(folder: str, kind: str) -> Any:
    """The folder."""
    return gofast.ImageFolder(folder, pil_transform(kind))


def plain(workers: int) -> Callable[[str, str], DataLoader[Any]]:
    """torch's own DataLoader."""
    return lambda folder, kind: loader(dataset(folder, kind), kind, workers)


def own(threads: int) -> Callable[[str, str], Iterable[Any]]:
    """gofast.DataLoader, which must not fall back to torch's machinery here."""

    def opened(folder: str, kind: str) -> Iterable[Any]:
        files = dataset(folder, kind)
        made: Any = gofast.DataLoader(
            files, BATCH, shuffle=kind == TRAIN, num_workers=threads, threads=threads
        )
        if made._native_view() is None:
            raise RuntimeError(f"gofast.DataLoader runs torch's machinery:\n{gofast.explain(made.dataset)}")
        loaded: Iterable[Any] = made
        return loaded

    return opened


PLAIN = {workers: Peer(plain(workers), exact=True, workers=workers) for workers in (0, 2)}
OWN = {threads: Peer(own(threads), exact=True, workers=threads) for threads in (1, 2)}

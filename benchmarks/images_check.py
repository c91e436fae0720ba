"""What a peer of the benchmark of pictures gives, before it is timed: types and shapes, the number of
pictures, and how far they are from torchvision's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torchvision.datasets import ImageFolder

from benchmarks import process
from benchmarks.peers import images
from benchmarks.peers.images import torchvision_
from benchmarks.peers.images.contract import BATCH, SIZE, TRAIN, VAL, Peer
from benchmarks.serve import passed

CHECKED_BATCHES = 3
NEAR = 0.12  # mean difference of normalised numbers (1 is 58 of 255) that other decoders and filters may have
SEED = 7


def opened(kind: str, name: str, folder: str) -> tuple[Iterable[Any], dict[str, Any]]:
    """A peer's epochs, and what was found: the difference, its note, and the peak of memory above
    `import torch` until the first epoch's end, the peer's imports and workers included.

    A foreign peer that does not work here raises ImportError: it is reported, and the others go on.
    """
    peak = process.Peak()
    peer = images.peer(name)
    try:
        with peak:
            epochs = peer.open(folder, kind)
            count, last = warmed(epochs, name)
        there = sum(1 for _ in Path(folder).glob("*/*"))
        if not there - BATCH < count < there + BATCH:  # the last batch: left out, or filled up
            raise ValueError(f"{name}, {kind}: an epoch of {count} pictures, where {there} are there")
        if peer.batches and not 0.5 < (spread := float(last.std())) < 2:
            raise ValueError(f"{name}, {kind}: a batch's standard deviation is {spread:.3g}")
        difference: float | None = None
        if peer.exact or (kind == VAL and peer.ordered and peer.batches):
            del last
            difference = compared(peer, kind, name, folder)
    except Exception as error:
        if peer.exact:
            raise
        raise ImportError(f"{type(error).__name__}: {error}") from error
    return epochs, {"difference": difference, "note": getattr(epochs, "note", None), "bytes": peak.above}


def compared(peer: Peer, kind: str, name: str, folder: str) -> float:
    """How far the peer's first pictures are from torchvision's."""
    if peer is torchvision_.PIL.get(peer.workers):  # the others are compared with this very one
        return 0.0
    if peer.batches:
        torch.manual_seed(SEED)
        theirs = first(torchvision_.pil(peer.workers)(folder, kind))
        torch.manual_seed(SEED)
        ours = first(peer.open(folder, kind))
    else:  # a roof: one order for all
        bare: Any = peer.open(folder, kind)  # the other one has drawn its epoch
        torch.manual_seed(SEED)
        x = bare.first(CHECKED_BATCHES * BATCH)
        torch.manual_seed(SEED)
        theirs, ours = in_turn(folder, kind, len(x)), (x, None)
    return compare(ours, theirs, peer.exact, f"{name}, {kind}")


def warmed(epochs: Iterable[Any], name: str) -> tuple[int, torch.Tensor]:
    """One epoch whose batches must have the right type and shape; how many pictures it had, and the last
    ones. No more batches are held than by passed: its memory is measured."""
    last = torch.empty(0)

    def looked() -> Iterator[Any]:
        nonlocal last
        for batch in epochs:
            if not isinstance(batch, int):
                last = batch[0]
                if last.shape[1:] != (3, SIZE, SIZE) or last.dtype != torch.float32:
                    raise ValueError(f"{name}: batches are {last.dtype} {tuple(last.shape)}")
            yield batch

    return passed(looked()), last


Pictures = tuple[torch.Tensor, torch.Tensor | None]


def first(loader: Iterable[Any]) -> Pictures:
    """The first batches, joined."""
    batches = list(itertools.islice(loader, CHECKED_BATCHES))
    labels = None if batches[0][1] is None else torch.cat([y for _, y in batches])
    return torch.cat([x for x, _ in batches]), labels


def in_turn(folder: str, kind: str, count: int) -> Pictures:
    """torchvision's pictures one after the other, in the order that torch.randperm gives."""
    dataset = ImageFolder(folder, torchvision_.pil_transform(kind))
    order = torch.randperm(len(dataset)) if kind == TRAIN else torch.arange(len(dataset))
    return torch.stack([dataset[int(i)][0] for i in order[:count]]), None


def compare(ours: Pictures, theirs: Pictures, exact: bool, where: str) -> float:
    """The mean absolute difference; raises ValueError where it is more than it may be."""
    (x, y), (wanted, labels) = ours, theirs
    if x.dtype != wanted.dtype or x.shape != wanted.shape:
        raise ValueError(f"{where}: {x.dtype} {tuple(x.shape)}, not {wanted.dtype} {tuple(wanted.shape)}")
    if y is not None and labels is not None and not torch.equal(y, labels):
        raise ValueError(f"{where}: the labels are not torchvision's")
    difference = float((x - wanted).abs().mean())
    if exact and not torch.equal(x, wanted):
        raise ValueError(f"{where}: not torchvision's pictures, {difference:.3g} off on average")
    if not difference < NEAR:
        raise ValueError(f"{where}: {difference:.3g} off on average, which is other work than torchvision's")
    return difference

"""The measuring process of the image benchmark: one peer, one kind of epoch. See serve.py."""

from __future__ import annotations

import collections
import gc
import itertools
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torchvision.datasets import ImageFolder

from benchmarks import process
from benchmarks.peers import images
from benchmarks.peers.images import torchvision_
from benchmarks.peers.images.contract import BATCH, SIZE, TRAIN, VAL, Peer
from benchmarks.serve import serve

CHECKED_BATCHES = 3
NEAR = 0.12  # mean difference of normalised numbers (1 is 58 of 255) that other decoders and filters may have
HELD = 2  # batches that the training loop has at a time, so that the output cycles through memory
SEED = 7


class Child:
    """The state between commands: the opened peer's epochs of each kind."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self.name, self.folder = "", ""
        self.epochs: dict[str, Iterable[Any]] = {}

    def open(self, peer: str, folder: str) -> dict[str, Any]:
        """Chooses a peer, or says why it is not to be had here."""
        try:
            self.peer = images.peer(peer)
        except ImportError as error:
            return {"missing": str(error)}
        self.name, self.folder = peer, folder
        return {}

    def check(self, kind: str, compared: bool = True) -> dict[str, Any]:
        """Opens the folder, compares the first batches with torchvision's, and runs one epoch to warm up."""
        assert self.peer is not None
        if self.peer.exact:
            return self._check(kind, compared)
        try:
            return self._check(kind, compared)
        except Exception as error:  # a foreign peer that does not work here is reported, and the others go on
            return {"missing": f"{type(error).__name__}: {error}"}

    def _check(self, kind: str, compared: bool) -> dict[str, Any]:
        assert self.peer is not None
        self.epochs[kind] = self.peer.open(self.folder, kind)
        difference: float | None = None
        if compared and (self.peer.exact or (kind == VAL and self.peer.ordered and self.peer.batches)):
            difference = self._compare(kind)
        elif self.peer.batches:
            self._plausible(kind)
        count, there = passed(self.epochs[kind]), sum(1 for _ in Path(self.folder).glob("*/*"))
        if count <= there - BATCH:  # some leave out what makes no whole batch
            raise ValueError(f"{self.name}, {kind}: an epoch of {count} pictures, where {there} are there")
        note = getattr(self.epochs[kind], "note", None)
        return {"difference": difference, "pictures": count, "note": note}

    def _compare(self, kind: str) -> float:
        assert self.peer is not None
        exact = self.peer.exact
        if self.peer.batches:
            torch.manual_seed(SEED)
            theirs = first(torchvision_.pil(self.peer.workers)(self.folder, kind))
            torch.manual_seed(SEED)
            ours = first(self.peer.open(self.folder, kind))
        else:  # a roof: one order for all
            from benchmarks.peers.images.bare import Bare

            bare = self.epochs[kind]
            assert isinstance(bare, Bare)
            torch.manual_seed(SEED)
            x = bare.first(CHECKED_BATCHES * BATCH)
            torch.manual_seed(SEED)
            theirs, ours = in_turn(self.folder, kind, len(x)), (x, None)
        return compare(ours, theirs, exact, f"{self.name}, {kind}")

    def _plausible(self, kind: str) -> None:
        for x, _ in itertools.islice(self.epochs[kind], 1):
            if x.shape[1:] != (3, SIZE, SIZE) or x.dtype != torch.float32 or not 0.5 < float(x.std()) < 2:
                raise ValueError(f"{self.name}: batches are {x.dtype} {tuple(x.shape)}, std {float(x.std())}")

    def turn(self, kind: str, seconds: float) -> dict[str, Any]:
        """Whole epochs until that time has passed: wall and processor seconds for a picture."""
        gc.collect()
        count, used, started = 0, process.processor_seconds(), time.perf_counter()
        while (now := time.perf_counter() - started) < seconds:
            count += passed(self.epochs[kind])
        return {"seconds": now / count, "cpu": (process.processor_seconds() - used) / count}

    def first_batch(self) -> dict[str, Any]:
        """From iter() to the first batch, of a loader whose workers, if it has any, are fresh."""
        assert self.peer is not None
        epochs = self.epochs.setdefault(TRAIN, self.peer.open(self.folder, TRAIN))
        gc.collect()
        started = time.perf_counter()
        iterator = iter(epochs)
        next(iterator)
        seconds = time.perf_counter() - started
        for _ in iterator:  # an epoch that is broken off would be another's burden
            pass
        return {"seconds": seconds}

    def memory(self, peer: str, folder: str) -> dict[str, Any]:
        """The peak of memory above `import torch`, the peer's imports and workers included, in one epoch."""
        gc.collect()
        with process.Peak() as peak:
            passed(images.peer(peer).open(folder, TRAIN))
        return {"bytes": peak.above}

    def growth(self, epochs: int) -> dict[str, Any]:
        """Memory, descriptors and threads after each of many epochs, after as many to warm up."""
        assert self.peer is not None
        loader = self.peer.open(self.folder, TRAIN)
        readings = np.ones((2 * epochs, 3), np.int64)  # written before the first reading: it must not grow
        gc.freeze()
        for reading in readings:
            passed(loader)
            gc.collect()
            reading[:] = process.resident(), process.descriptors(), process.threads()
        return {"readings": readings[epochs:].tolist()}


def passed(epochs: Iterable[Any]) -> int:
    """One epoch, as a training loop takes it; how many pictures it had."""
    held: collections.deque[Any] = collections.deque(maxlen=HELD)
    count = 0
    for batch in epochs:
        count += batch if isinstance(batch, int) else len(batch[0])
        held.append(batch)
    return count


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


if __name__ == "__main__":
    child = Child()
    names = ("open", "check", "turn", "first_batch", "memory", "growth")
    serve({"torch": torch.__version__}, {name: getattr(child, name) for name in names})

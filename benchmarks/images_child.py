"""The measuring process of the image benchmark: one peer, one kind of epoch. See serve.py."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torchvision.datasets import ImageFolder

from benchmarks import process
from benchmarks.peers import images
from benchmarks.peers.images import torchvision_
from benchmarks.peers.images.contract import BATCH, SIZE, TRAIN, VAL, Peer
from benchmarks.serve import growth, passed, serve, turn

CHECKED_BATCHES = 3
NEAR = 0.12  # mean difference of normalised numbers (1 is 58 of 255) that other decoders and filters may have
SEED = 7


class Child:
    """The state between commands: the opened peer's epochs of each kind."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self.name, self.folder = "", ""
        self.before = 0  # bytes, before the peer's imports
        self.epochs: dict[str, Iterable[Any]] = {}

    def open(self, peer: str, folder: str) -> dict[str, Any]:
        """Chooses a peer, or says why it is not to be had here."""
        gc.collect()
        self.before = process.private()
        try:
            self.peer = images.peer(peer)
        except ImportError as error:
            return {"missing": str(error)}
        self.name, self.folder = peer, folder
        return {}

    def check(self, kind: str, compared: bool = True) -> dict[str, Any]:
        """Opens the folder, runs one epoch to warm up, in which every batch is looked at, and compares the
        first batches with torchvision's. The first answer has the peak of memory above `import torch` until
        the epoch's end, the peer's imports and workers included."""
        assert self.peer is not None
        if self.peer.exact:
            return self._check(kind, compared)
        try:
            return self._check(kind, compared)
        except Exception as error:  # a foreign peer that does not work here is reported, and the others go on
            return {"missing": f"{type(error).__name__}: {error}"}

    def _check(self, kind: str, compared: bool) -> dict[str, Any]:
        assert self.peer is not None
        first_kind = not self.epochs
        with process.Peak(self.before) as peak:
            self.epochs[kind] = self.peer.open(self.folder, kind)
            count, last = warmed(self.epochs[kind], self.name)
        there = sum(1 for _ in Path(self.folder).glob("*/*"))
        if not there - BATCH < count < there + BATCH:  # the last batch: left out, or filled up
            raise ValueError(f"{self.name}, {kind}: an epoch of {count} pictures, where {there} are there")
        difference: float | None = None
        if self.peer.batches and not 0.5 < (spread := float(last.std())) < 2:
            raise ValueError(f"{self.name}, {kind}: a batch's standard deviation is {spread:.3g}")
        if compared and (self.peer.exact or (kind == VAL and self.peer.ordered and self.peer.batches)):
            del last
            difference = self._compare(kind)
        note = getattr(self.epochs[kind], "note", None)
        answer = {"difference": difference, "pictures": count, "note": note}
        return {**answer, "bytes": peak.above} if first_kind else answer

    def _compare(self, kind: str) -> float:
        assert self.peer is not None
        exact = self.peer.exact
        if self.peer is torchvision_.PIL.get(self.peer.workers):  # the others are compared with this very one
            return 0.0
        if self.peer.batches:
            torch.manual_seed(SEED)
            theirs = first(torchvision_.pil(self.peer.workers)(self.folder, kind))
            torch.manual_seed(SEED)
            ours = first(self.peer.open(self.folder, kind))
        else:  # a roof: one order for all
            from benchmarks.peers.images.bare import Bare

            bare = self.peer.open(self.folder, kind)  # the other one has drawn its epoch
            assert isinstance(bare, Bare)
            torch.manual_seed(SEED)
            x = bare.first(CHECKED_BATCHES * BATCH)
            torch.manual_seed(SEED)
            theirs, ours = in_turn(self.folder, kind, len(x)), (x, None)
        return compare(ours, theirs, exact, f"{self.name}, {kind}")

    def turn(self, kind: str, seconds: float) -> dict[str, Any]:
        """Whole epochs until that time has passed: wall and processor seconds for a picture."""
        return turn(lambda: passed(self.epochs[kind], size), seconds)

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

    def growth(self, epochs: int) -> dict[str, Any]:
        """Memory, descriptors and threads over many epochs."""
        assert self.peer is not None
        loader = self.peer.open(self.folder, TRAIN)
        return growth(lambda: passed(loader, size), epochs)


def size(batch: Any) -> int:
    """The pictures of a batch; a roof gives their number only."""
    return batch if isinstance(batch, int) else len(batch[0])


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

    return passed(looked(), size), last


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
    names = ("open", "check", "turn", "first_batch", "growth")
    serve({"torch": torch.__version__}, {name: getattr(child, name) for name in names})

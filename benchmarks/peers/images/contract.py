"""What a peer of the image benchmark has to offer, so that all are timed and checked by the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

TRAIN, VAL = "train", "val"
KINDS = (TRAIN, VAL)  # RandomResizedCrop and flip, shuffled; Resize and CenterCrop, in the files' order
SIZE, SHORT_SIDE, BATCH = 224, 256, 64
WORKERS = (0, 2, 4)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Peer:
    """One way to make the batches.

    A batch is (pictures, labels): float32 [n, 3, 224, 224], normalised. Peers without labels give None there,
    and a peer that makes no batches (the roof) yields how many pictures it went through.

    Attributes:
        open: folder and kind to epochs, which are iterated again and again. An attribute `note` says what
            readers of the table have to know.
        exact: gives torchvision's batches to the last bit, for a seed; checked before it is timed. What
            others give in val must be near torchvision's, so that no peer does less work.
        workers: of torch's DataLoader, whose draws an exact peer repeats.
        ordered: gives the pictures in the files' order in val.
    """

    open: Callable[[str, str], Iterable[Any]]
    exact: bool = False
    workers: int = 0
    ordered: bool = True
    batches: bool = True

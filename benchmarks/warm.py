"""Later epochs of pictures, with and without a cache, against what people use.

    make bench-warm
    python -m benchmarks.warm [--only train,set] [--rounds 3]

How sides take turns is said in turns.py. Pictures are those of $GOFAST_TEST_DATA/imagenet-500.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from benchmarks import turns
from benchmarks.turns import Epoch, photographs

BATCH, EPOCHS = 64, 6
PICTURES = ("torchvision", "no marks", "gofast", "memory", "folder")
CASES = {
    "train": (*PICTURES, "FFCV raw", "TBL-RAW"),  # RandomResizedCrop
    "crop": PICTURES,  # RandomCrop
    "validation": PICTURES,
    "resize": PICTURES,  # Resize((256, 256)) of articles
    "set": ("list", "preprocessed", "TBL-RAW"),  # RandomResizedCrop of what Resize and CenterCrop made
}


def transform(case: str) -> Any:
    """The case's transform."""
    from torchvision import transforms as T

    numbers = [T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    begun = {
        "crop": [T.RandomCrop(224, pad_if_needed=True), T.RandomHorizontalFlip()],
        "validation": [T.Resize(256), T.CenterCrop(224)],
        "resize": [T.Resize((256, 256))],
    }
    return T.Compose([*begun.get(case, [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]), *numbers])


def pictures(case: str, side: str, folder: str) -> Epoch:
    """Epochs of a folder of pictures."""
    from torch.utils.data import DataLoader
    from torchvision import datasets

    import gofast

    if side == "FFCV raw":
        from benchmarks.peers.images import contract, ffcv_

        return ffcv_.Epochs(photographs(), contract.TRAIN, "raw").__iter__
    if side == "torchvision":
        dataset = datasets.ImageFolder(photographs(), transform(case))
        return DataLoader(dataset, BATCH, shuffle=True, num_workers=2, persistent_workers=True).__iter__
    cache = {"memory": "memory", "folder": os.path.join(folder, "kept")}.get(side)
    ours = gofast.ImageFolder(photographs(), transform(case), cache=cache)
    return gofast.DataLoader(ours, BATCH, shuffle=True).__iter__


def by_turboloader() -> Epoch:
    """Its epochs of pictures that it resized once, to 256 x 256."""
    from benchmarks.peers.images import turboloader_

    return turboloader_.Epochs(photographs()).__iter__


def finished(side: str, folder: str) -> Epoch:
    """Epochs of pictures that were resized once."""
    from torch.utils.data import DataLoader
    from torchvision import transforms as T

    import gofast

    small = gofast.ImageFolder(photographs(), T.Compose([T.Resize(256), T.CenterCrop(256)]))
    if side == "preprocessed":
        ours = gofast.preprocess(small, os.path.join(folder, "small.set"))
        ours.transform = transform("train")
        return gofast.DataLoader(ours, BATCH, shuffle=True).__iter__

    class InMemory:  # of articles
        def __init__(self) -> None:
            self.samples = [small[i] for i in range(len(small))]
            self.transform = transform("train")

        def __len__(self) -> int:
            return len(self.samples)

        def __getitem__(self, index: int) -> Any:
            picture, label = self.samples[index]
            return self.transform(picture), label

    held: Any = InMemory()
    return DataLoader(held, BATCH, shuffle=True, num_workers=2, persistent_workers=True).__iter__


def child(case: str, side: str, place: str) -> list[float]:
    """The seconds of each epoch of a side; its caches and sets are made in a folder of its own."""
    if side in PICTURES:  # the first epoch is of pictures, and not of imports
        import_module("gofast")
        import_module("torchvision.datasets")
    if side == "TBL-RAW":
        return turns.timed(by_turboloader, EPOCHS)
    return turns.timed(
        lambda: finished(side, place) if case == "set" else pictures(case, side, place), EPOCHS
    )


if __name__ == "__main__":
    turns.main("benchmarks.warm", __doc__, CASES, child)

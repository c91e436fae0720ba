"""What compare.py measures: cases, and a side's process that runs them. `benchmarks` is this checkout's here,
and gofast is the side's.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.client import ROOT
from benchmarks.serve import serve

ROWS = 60_000


def table_file(folder: str) -> str:
    """A CSV of the shape of MNIST, a tenth as long."""
    from benchmarks.data import synthetic

    path = Path(folder) / "table.csv"
    if not path.exists():
        header = ",".join(["label", *(f"p{i}" for i in range(784))])
        np.savetxt(path, synthetic(ROWS // 10), "%d", ",", header=header, comments="")
    return str(path)


def photographs() -> Path:
    """Real photographs, or those of the examples."""
    real = Path(os.environ.get("GOFAST_TEST_DATA", "nowhere")) / "imagenet-500"
    return real if real.is_dir() else ROOT / "examples" / "data" / "photos"


def epochs(loader: Any, samples: int) -> Callable[[], int]:
    """What one turn does: epochs until so many samples have come."""

    def turn() -> int:
        seen = 0
        while seen < samples:
            for batch in loader:
                seen += len(batch[0] if isinstance(batch, (list, tuple)) else next(iter(batch.values())))
        return seen

    return turn


def table_case(folder: str, ours: bool, batch_size: int, workers: int = 0) -> Callable[[], int]:
    """Shuffled batches of a table."""
    from torch.utils.data import DataLoader

    import gofast

    dataset = gofast.TableDataset(table_file(folder), label="label", shape=(1, 28, 28))
    kind = gofast.DataLoader if ours else DataLoader
    loader = kind(dataset, batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    return epochs(loader, 5 * ROWS if batch_size > 16 and ours else ROWS)


def csv_case(folder: str) -> Callable[[], int]:
    """Opening a CSV, and giving its memory back, which some versions leave to the garbage collector."""
    import gofast

    path = table_file(folder)

    def turn() -> int:
        rows = len(gofast.TableDataset(path, label="label", shape=(1, 28, 28)))
        gc.collect(1)
        return rows

    return turn


def stream_case(folder: str, batch_size: int) -> Callable[[], int]:
    """A CSV that is read in windows."""
    import gofast

    rows = gofast.IterableDataset.from_table(
        table_file(folder), label="label", memory="34MB", shape=(1, 28, 28)
    )
    return epochs(gofast.DataLoader(rows, batch_size), ROWS // 10)


def hdf5_case(folder: str, stream: bool) -> Callable[[], int]:
    """Chunks of pictures, shuffled or in windows."""
    import h5py

    import gofast

    path = Path(folder) / "rows.h5"
    if not path.exists():
        images = np.random.default_rng(0).integers(0, 256, (ROWS // 2, 784), np.uint8)
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=images, chunks=(256, 784), compression="gzip", compression_opts=1)
            file["y"] = np.arange(len(images))
    if stream:
        windows = gofast.IterableDataset.from_hdf5(str(path), "x", "y", memory="34MB")
        return epochs(gofast.DataLoader(windows, 256), ROWS // 2)
    return epochs(
        gofast.DataLoader(gofast.ArrayDataset.from_hdf5(path, "x", "y"), 256, shuffle=True), 5 * ROWS
    )


def transforms(name: str) -> Any:
    """Pipelines of torchvision."""
    from torchvision import transforms as t

    colour = [t.RandomApply([t.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8), t.RandomGrayscale(0.2)]
    middle = {
        "train": [],
        "randaugment": [t.RandAugment()],
        "simclr": [*colour, t.RandomApply([t.GaussianBlur(23, (0.1, 2.0))], 0.5)],
    }
    end = [t.ToTensor(), t.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    if name == "val":
        return t.Compose([t.Resize(256), t.CenterCrop(224), *end])
    return t.Compose([t.RandomResizedCrop(224), t.RandomHorizontalFlip(), *middle[name], *end])


def collate(rows: list[Any]) -> Any:
    """A function of the user's, which draws."""
    import torch

    batch = torch.utils.data.default_collate(rows)
    return [batch[0] * torch.rand(()), batch[1]]


def picture_case(name: str, collated: bool = False, cache: str | None = None) -> Callable[[], int]:
    """Batches of pictures."""
    import gofast

    dataset = gofast.ImageFolder(photographs(), transforms(name), cache=cache)
    loader = gofast.DataLoader(
        dataset, 50, shuffle=True, num_workers=2, collate_fn=collate if collated else None
    )
    return epochs(loader, 200)


def lazy_case() -> Callable[[], int]:
    """Pictures that are opened in a dataset of the user's."""
    import pandas as pd

    import gofast
    from benchmarks.strangers.frame import Pictures

    rows = pd.DataFrame({"path": sorted(map(str, photographs().glob("*/*")))}).assign(label=0)
    dataset = Pictures(rows, transforms("train"), gofast.open)
    return epochs(gofast.DataLoader(dataset, 50, shuffle=True), 200)


def doctor_case(how: str) -> Callable[[], int]:
    """A loop over samples that take 20 us of a processor: by itself, as the doctor runs it, which times each
    batch, and with its stack looked at."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    from gofast._doctor.stacks import Stacks
    from gofast._doctor.training_loop import consume, nothing

    class Samples(Dataset[Any]):
        x = torch.rand(64)

        def __len__(self) -> int:
            return 16 * 300

        def __getitem__(self, index: int) -> Any:
            end = time.thread_time() + 20e-6
            while time.thread_time() < end:
                pass
            return self.x

    loader = DataLoader(Samples(), 16)

    def turn() -> int:
        if how == PLAIN:
            return sum(1 for _ in loader)
        with Stacks(loader.dataset) if how == "looked at" else contextlib.nullcontext():
            consume(loader, nothing, 0.0, least=len(loader) - 1, most=60)
        return len(loader)

    return turn


CASES: dict[str, Callable[[str], Callable[[], int]]] = {
    "tables 512": lambda folder: table_case(folder, True, 512),
    "tables 16": lambda folder: table_case(folder, True, 16),
    "tables torch's 512": lambda folder: table_case(folder, False, 512, 2),
    "csv open": csv_case,
    "stream 512": lambda folder: stream_case(folder, 512),
    "stream 16": lambda folder: stream_case(folder, 16),
    "hdf5": lambda folder: hdf5_case(folder, False),
    "hdf5 stream": lambda folder: hdf5_case(folder, True),
    "images train": lambda folder: picture_case("train"),
    "images val": lambda folder: picture_case("val"),
    "images warm": lambda folder: picture_case("val", cache="memory"),
    "simclr": lambda folder: picture_case("simclr"),
    "randaugment": lambda folder: picture_case("randaugment"),
    "gofast.open": lambda folder: lazy_case(),
    "collate": lambda folder: picture_case("train", collated=True),
}
PLAIN = "plain loop"
DOCTOR = (PLAIN, "timed loop", "looked at")


class Child:
    """A process of one side: a case at a time."""

    turns: Callable[[], int] = int

    def prepare(self, case: str, folder: str) -> dict[str, Any]:
        """Opens what a case needs."""
        self.turns = int  # the last case's workers end
        gc.collect()
        self.turns = doctor_case(case) if case in DOCTOR else CASES[case](folder)
        return {}

    def turn(self) -> dict[str, Any]:
        """The seconds of one."""
        begun = time.perf_counter()
        self.turns()
        return {"seconds": time.perf_counter() - begun}


if __name__ == "__main__":
    import torchvision  # noqa: F401 -- while other processes import it too

    import gofast  # noqa: F401

    warnings.simplefilter("ignore")
    serve(Child())

"""The files that are measured: real ones where they are named, else tables that look like MNIST."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmarks import environments

if TYPE_CHECKING:
    import pandas as pd  # read where a table is: a machine that measures pictures alone need not have it

CACHE = environments.MADE
COLUMNS = ["label", *(f"pixel{number}" for number in range(784))]
SAMPLE_ROWS = 500


@dataclass(frozen=True)
class Files:
    """One table in both formats, a short cut of it, and its values as the reference for every peer."""

    name: str
    rows: int
    csv: str
    parquet: str
    sample_csv: str  # SAMPLE_ROWS rows: what a peer reads to get its imports done
    sample_parquet: str
    reference: str  # uint8 [rows, 785], written by pandas from the Parquet file

    def size(self, file_format: str) -> int:
        """The file's bytes."""
        return Path(getattr(self, file_format)).stat().st_size


def prepare(csv: str | None, parquet: str | None, rows: int) -> Files:
    """Finds or makes the files. Without a Parquet path: MNIST under GOFAST_TEST_DATA, else a synthetic table.
    Without a CSV path: the Parquet table as pandas writes it."""
    import pandas as pd

    CACHE.mkdir(parents=True, exist_ok=True)
    real = os.environ.get("GOFAST_TEST_DATA")
    if parquet is not None:
        source, name = Path(parquet), Path(parquet).stem
    elif real is not None:
        source, name = Path(real) / "mnist" / ("train.parquet" if rows == 60_000 else "test.parquet"), "MNIST"
    else:
        source, name = CACHE / f"synthetic-{rows}.parquet", "synthetic"
        if not source.exists():
            _write(pd.DataFrame(synthetic(rows), columns=COLUMNS).astype("int64"), source)
    frame = pd.read_parquet(source)
    key = f"{name}-{len(frame)}-{source.stat().st_size}"
    csv_path = Path(csv) if csv is not None else CACHE / f"{key}.csv"
    paths = {
        "sample_csv": CACHE / f"{key}-sample.csv",
        "sample_parquet": CACHE / f"{key}-sample.parquet",
        "reference": CACHE / f"{key}.npy",
    }
    if not csv_path.exists():
        _write(frame, csv_path)
    _write(frame.head(SAMPLE_ROWS), paths["sample_csv"])
    _write(frame.head(SAMPLE_ROWS), paths["sample_parquet"])
    np.save(paths["reference"], frame.to_numpy("uint8"))
    for path in (csv_path, source):
        path.read_bytes()  # into the page cache: reading the disk is not what is compared
    return Files(
        name=name,
        rows=len(frame),
        csv=str(csv_path),
        parquet=str(source),
        **{key: str(path) for key, path in paths.items()},
    )


def _write(frame: pd.DataFrame, path: Path) -> None:
    """Writes as most scripts do (no index, otherwise pandas' defaults), whole or not at all."""
    part = path.with_name(path.name + ".part")
    if path.suffix == ".csv":
        frame.to_csv(part, index=False)
    else:
        frame.to_parquet(part, index=False)
    part.replace(path)


def synthetic(rows: int) -> npt.NDArray[np.uint8]:
    """Labels and 28 x 28 pixels, of which a fifth is not black, side by side, as in MNIST."""
    random = np.random.default_rng(0)
    table = random.integers(0, 256, (rows, 785), np.uint8)
    table[:, 1:] *= np.repeat(random.random((rows, 784 // 7)) < 0.2, 7, axis=1)
    table[:, 0] %= 10
    return table


LINKS = 2_000  # pictures of an epoch: a second or more for the fastest


@dataclass(frozen=True)
class Folder:
    """A folder for each class, and the same with every picture linked `repeats` times."""

    name: str
    once: str
    path: str
    pictures: int
    repeats: int
    bytes: int  # of a picture, on average


def photographs(source: str | None, pictures: int, every: int = 1) -> Folder:
    """Finds the photographs, takes every n-th, and links them until there are so many. Without a source:
    ImageNet's, under GOFAST_TEST_DATA."""
    if source is None:
        real = os.environ.get("GOFAST_TEST_DATA")
        if real is None:
            raise SystemExit("set GOFAST_TEST_DATA to a folder with imagenet-500/, or give --folder=")
        source = os.path.join(real, "imagenet-500")
    root = Path(source).resolve()
    files = sorted(path for path in root.glob("*/*") if path.is_file())[::every]
    if not files:
        raise SystemExit(f"{source}: there is no <class>/<picture> in it")
    repeats = -(-pictures // len(files))
    linked = CACHE / f"{root.name}-{len(files)}x{repeats}"
    for path in files:
        folder = linked / path.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(repeats):
            link = folder / f"{path.stem}-{number}{path.suffix}"
            if not link.is_symlink():
                link.symlink_to(path)
    total = sum(len(path.read_bytes()) for path in files)  # into the page cache: no disk is compared
    return Folder(root.name, str(root), str(linked), len(files), repeats, total // len(files))

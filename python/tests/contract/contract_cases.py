"""One row for each dataset of gofast's: how it is made of small files, and what people write in its place.

A new dataset adds its row here, and test_contract.py asks of it what it asks of all others.
"""

from __future__ import annotations

import functools
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import datasets
from torchvision import transforms as T

import gofast
from mds import write_mds
from picture_files import contents
from records import example, framed
from tars import write_tar

COUNT = 23
X = np.arange(COUNT * 12, dtype=np.float32).reshape(COUNT, 12) / 7
Y = np.arange(COUNT) * 3 % 10
FRAME = pd.DataFrame({"label": Y, "a": X[:, 0], "b": Y * 2 - 5, "c": X[:, 5]})
PIXELS = np.random.default_rng(1).integers(0, 256, (COUNT, 14, 15, 3), np.uint8)
TOKENS = np.random.default_rng(2).integers(0, 60000, COUNT * 8 + 1).astype(np.uint16)
TRAIN = T.Compose([T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.ToTensor()])
VALID = T.Compose([T.Resize((9, 11)), T.ToTensor()])


class Plain(Dataset[Any]):
    """What people write: a sample is made when it is asked for."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.make(range(COUNT)[index])


@dataclass
class Case:
    """A dataset of gofast's, and the same of torch's or of somebody's own.

    Args:
        make: the dataset, of files that it writes into a folder.
        plain: what stands for it without gofast.
        slices: whether it can be asked for several samples at once.
        native: whether gofast.DataLoader makes its batches.
        said: what `repr` says, as far as it is the same on every machine.
    """

    make: Callable[[Path], Any]
    plain: Callable[[Path], Any]
    slices: bool = False
    native: bool = True
    said: str = ""


# -- rows of numbers


def table(suffix: str, path: Path) -> Any:
    """The frame in a file of that kind."""
    file = path / f"table.{suffix}"
    if suffix == "csv":
        FRAME.to_csv(file, index=False)
    elif suffix == "npy":
        np.save(file, FRAME.to_numpy())
    elif suffix == "parquet":
        FRAME.to_parquet(file, index=False)
    else:
        FRAME.to_feather(file)
    label = {"label": 0, "label_type": "int"} if suffix == "npy" else {}
    return gofast.TableDataset(file, **label)  # type: ignore[arg-type]


def table_row(i: int) -> Any:
    features = torch.tensor(FRAME.iloc[i, 1:].to_numpy(), dtype=torch.float32)
    return {"features": features, "label": torch.tensor(int(Y[i]))}


def array_row(i: int) -> Any:
    return torch.from_numpy(X[i]), torch.tensor(Y[i])


def hdf5(options: dict[str, Any], path: Path) -> Any:
    with h5py.File(path / "a.h5", "w") as file:
        file.create_dataset("x", data=X, **options)
        file.create_dataset("y", data=Y, **options)
    return gofast.ArrayDataset.from_hdf5(path / "a.h5", "x", "y")


def tokens(path: Path) -> Any:
    TOKENS.tofile(path / "tokens.bin")
    return gofast.tokens.TokenDataset(path / "tokens.bin", 8)


def token_row(i: int) -> Any:
    data = torch.from_numpy(TOKENS.astype(np.int64))
    return data[8 * i : 8 * i + 8], data[8 * i + 1 : 8 * i + 9]


def record(i: int) -> dict[str, Any]:
    return {"x": X[i].tolist(), "y": [int(Y[i])]}


def records(path: Path) -> Any:
    (path / "a.tfrecord").write_bytes(framed(example(record(i)) for i in range(COUNT)))
    return gofast.TFRecordDataset(path / "a.tfrecord")


def record_row(i: int) -> Any:
    return {"x": X[i].copy(), "y": Y[i : i + 1].copy()}


# -- pictures

LABELS = [int(y) for y in Y]


@functools.cache
def encoded() -> list[bytes]:
    return contents(COUNT)


def picture_row(i: int, transform: Any = TRAIN) -> Any:
    return transform(Image.open(io.BytesIO(encoded()[i])).convert("RGB")), LABELS[i]


def in_files(path: Path) -> list[str]:
    for i, content in enumerate(encoded()):
        folder = path / "pictures" / f"class {i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:02}.jpg").write_bytes(content)
    return [str(path / "pictures" / f"class {i % 3}" / f"{i:02}.jpg") for i in range(COUNT)]


def folder(library: Any, path: Path) -> Any:
    in_files(path)
    return library(str(path / "pictures"), TRAIN)


def of_table(path: Path) -> Any:
    names = [str(Path(name).relative_to(path)) for name in in_files(path)]
    FRAME.assign(path=names).to_parquet(path / "t.parquet", index=False)
    rows = gofast.TableDataset(path / "t.parquet", text=["path"])
    return gofast.ImageFiles.from_table(rows, "path", path, VALID)


def row_of_table(path: Path, i: int) -> Any:
    name = str(Path("pictures", f"class {i % 3}", f"{i:02}.jpg"))
    return {"image": picture_row(i, VALID)[0], **table_row(i), "path": name}


def of_records(kind: str | None, path: Path) -> Any:
    packed = (
        example({"image/encoded": [content], "image/class/label": [label]})
        for content, label in zip(encoded(), LABELS, strict=True)
    )
    content = framed(packed)
    (path / "p.tfrecord").write_bytes(gzip.compress(content) if kind else content)
    return gofast.TFRecordDataset(path / "p.tfrecord", compression_type=kind).images(transform=TRAIN)


def in_tar(path: Path) -> Any:
    members = [{"jpg": content, "cls": str(y).encode()} for content, y in zip(encoded(), LABELS, strict=True)]
    write_tar(path / "a.tar", members)
    return gofast.ImageFiles.from_tar(path / "a.tar", transform=TRAIN)


def in_parquet(path: Path) -> Any:
    table = pa.table({"image": [{"bytes": content} for content in encoded()], "label": LABELS})
    pq.write_table(table, path / "p.parquet", row_group_size=7)
    return gofast.ImageFiles.from_parquet(path / "p.parquet", transform=TRAIN)


def in_mds(path: Path) -> Any:
    samples = [{"image": content, "class": y} for content, y in zip(encoded(), LABELS, strict=True)]
    write_mds(path / "mds", {"image": "jpeg", "class": "int"}, [samples[:9], samples[9:]])
    return gofast.ImageFiles.from_mds(path / "mds", "image", label="class", transform=TRAIN)


def mnist(_: Path) -> Any:
    """As its own __init__ leaves it, without files."""
    made = datasets.MNIST.__new__(datasets.MNIST)
    datasets.VisionDataset.__init__(made, "nowhere", transform=T.Compose([T.RandomCrop(12), T.ToTensor()]))
    made.train = True
    made.data, made.targets = torch.from_numpy(PIXELS[..., 0].copy()), torch.from_numpy(Y)
    return made


def plain(make: Callable[[int], Any]) -> Callable[[Path], Any]:
    return lambda _: Plain(make)


CASES = {
    "csv": Case(functools.partial(table, "csv"), plain(table_row), True, said="3 features stored as"),
    "npy": Case(functools.partial(table, "npy"), plain(table_row), True),
    "parquet": Case(functools.partial(table, "parquet"), plain(table_row), True),
    "arrow": Case(functools.partial(table, "arrow"), plain(table_row), True),
    "arrays": Case(lambda _: gofast.ArrayDataset(X, Y), plain(array_row), True),
    "hdf5": Case(functools.partial(hdf5, {}), plain(array_row), True),
    "hdf5, packed": Case(
        functools.partial(hdf5, {"compression": "gzip", "chunks": True}), plain(array_row), True
    ),
    "set": Case(lambda path: gofast.preprocess(Plain(array_row), path / "set"), plain(array_row), True),
    "tokens": Case(tokens, plain(token_row), said="TokenDataset("),
    "tfrecord": Case(records, plain(record_row), native=False, said="23 records of x float, y int"),
    "folder": Case(
        functools.partial(folder, gofast.ImageFolder), functools.partial(folder, datasets.ImageFolder)
    ),
    "files": Case(lambda path: gofast.ImageFiles(in_files(path), LABELS, TRAIN), plain(picture_row)),
    "bytes": Case(lambda _: gofast.ImageFiles.from_bytes(encoded(), LABELS, TRAIN), plain(picture_row)),
    "pictures of tfrecord": Case(functools.partial(of_records, None), plain(picture_row)),
    "pictures of packed tfrecord": Case(functools.partial(of_records, "gzip"), plain(picture_row)),
    "pictures of tar": Case(in_tar, plain(picture_row)),
    "pictures of parquet": Case(in_parquet, plain(picture_row)),
    "pictures of mds": Case(in_mds, plain(picture_row)),
    "pictures of a table": Case(of_table, lambda path: Plain(functools.partial(row_of_table, path))),
    "pictures of arrays": Case(
        lambda _: gofast.ArrayDataset(PIXELS, Y, transform=TRAIN),
        plain(lambda i: (TRAIN(Image.fromarray(PIXELS[i])), torch.tensor(Y[i]))),
        True,
    ),
    "mnist": Case(mnist, mnist),
    "torchvision's folder": Case(
        functools.partial(folder, datasets.ImageFolder), functools.partial(folder, datasets.ImageFolder)
    ),
}

"""What people keep their data in, against what they read it with: tables, HDF5, TFRecord, generators, texts.

    make bench-storage
    python -m benchmarks.storage [--only csv,hdf5] [--rounds 3] [--rows 3000000]

How sides take turns is said in turns.py. Files are made in build/benchmarks. hdf5 is uint8 pictures without
chunks, and hdf5-gzip with h5py's own chunks; both are shuffled. hdf5-stream is 246 MB of the latter, within
100 MB; h5py reads 30 random rows, and its time is scaled. tfrecord and generator decode the photographs
of $GOFAST_TEST_DATA/imagenet-500 for RandomResizedCrop(224); "gofast, in Python" with the function of the
tfrecord package.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from benchmarks import turns
from benchmarks.environments import MADE
from benchmarks.turns import Epoch, photographs

BATCH = 64
STREAM_BATCH, STREAM_ROWS, STREAM_COLUMNS = 4096, 250_000, 20
ARRAYS = {"hdf5": (20_000, 64, 64, 3), "hdf5-gzip": (2_000, 64, 64, 3), "hdf5-stream": (20_000, 64, 64, 3)}
STREAM_SLOW = 30  # rows that h5py reads of hdf5-stream
REVIEWS = 200_000
TABLES = ("pyarrow", "polars", "dataset", "stream", "blocks")
BY_H5PY = ("h5py", "h5py, 2 workers", "gofast", "gofast, 2 workers")
CASES = {
    "csv": TABLES,
    "parquet": TABLES,
    "hdf5": BY_H5PY,
    "hdf5-gzip": BY_H5PY,
    "hdf5-stream": ("h5py", "gofast"),
    "tfrecord": ("tfrecord", "tf.data", "gofast", "gofast, cache", "gofast, in Python"),
    "generator": ("torch", "gofast"),
    "text": ("datasets", "datasets, 2 workers", "gofast"),  # 200,000 reviews
}


# -- tables -----------------------------------------------------------------------


def tables(path: str, side: str) -> Epoch:
    """Epochs of a table in tensors of float32 and their int64 labels."""
    import gofast

    if side == "dataset":
        return lambda: iter(gofast.DataLoader(gofast.TableDataset(path, output="tuple"), STREAM_BATCH))
    if side in ("stream", "blocks"):
        shuffle: Literal["block"] | None = "block" if side == "blocks" else None
        stream = gofast.IterableDataset.from_table(
            path, memory="1GB", output="tuple", label="label", shuffle=shuffle, seed=0
        )
        return lambda: iter(gofast.DataLoader(stream, STREAM_BATCH))
    return lambda: by_peer(path, side)


def by_peer(path: str, side: str) -> Iterator[Any]:
    """Batches of a peer's own pieces of a file."""
    import numpy as np
    import torch

    if side == "polars":
        import polars

        scan = polars.scan_csv if path.endswith("csv") else polars.scan_parquet
        pieces = (piece.to_numpy() for piece in scan(path).collect_batches(chunk_size=65_536))
    else:
        import pyarrow.csv
        import pyarrow.parquet

        read = (
            pyarrow.csv.open_csv(path)
            if path.endswith("csv")
            else pyarrow.parquet.ParquetFile(path).iter_batches(65_536)
        )
        pieces = (np.stack([column.to_numpy() for column in piece.columns], 1) for piece in read)
    for piece in pieces:
        values = torch.from_numpy(piece.astype(np.float32))
        for at in range(0, len(values), STREAM_BATCH):
            some = values[at : at + STREAM_BATCH]
            yield some[:, :-1], some[:, -1].long()


def make_table(kind: str, path: Path, times: int) -> None:
    """A CSV or Parquet file that one block makes by repetition."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    columns = {f"f{i}": random.normal(size=STREAM_ROWS).round(4) for i in range(STREAM_COLUMNS)}
    block = pd.DataFrame({**columns, "label": random.integers(0, 10, STREAM_ROWS)})
    if kind == "csv":
        head, body = block.to_csv(index=False).encode().split(b"\n", 1)
        with open(path, "wb") as text:
            text.write(head + b"\n")
            for _ in range(times):
                text.write(body)
        return
    single = pa.Table.from_pandas(block.astype({name: "float32" for name in columns}), preserve_index=False)
    with pq.ParquetWriter(path, single.schema) as writer:
        for _ in range(times):
            writer.write_table(single)


# -- HDF5 -------------------------------------------------------------------------


def hdf5(path: str, side: str) -> Epoch:
    """Shuffled epochs of pictures and labels. The peer is what articles end with: h5py, opened lazily."""
    import torch
    from torch.utils.data import DataLoader, RandomSampler

    import gofast

    case, workers = Path(path).stem, 2 if "workers" in side else 0
    options: dict[str, Any] = {"shuffle": True, "num_workers": workers, "persistent_workers": workers > 0}
    if side == "gofast" and case == "hdf5-stream":
        stream = gofast.IterableDataset.from_hdf5(path, "x", "y", memory="100MB", shuffle="block")
        return gofast.DataLoader(stream, BATCH).__iter__
    if side.startswith("gofast"):
        return gofast.DataLoader(gofast.ArrayDataset.from_hdf5(path, "x", "y"), BATCH, **options).__iter__

    class Lazy:
        file: Any = None

        def __len__(self) -> int:
            return int(ARRAYS[case][0])

        def __getitem__(self, index: int) -> Any:
            import h5py

            self.file = self.file or h5py.File(path)
            return torch.from_numpy(self.file["x"][index]), int(self.file["y"][index])

    lazy: Any = Lazy()
    if case == "hdf5-stream":
        options = {"sampler": RandomSampler(lazy, num_samples=STREAM_SLOW)}
    return DataLoader(lazy, BATCH, **options).__iter__


def make_hdf5(kind: str, path: Path) -> None:
    """Noise that gzip makes a half of, as of photographs."""
    import h5py
    import numpy as np

    random = np.random.default_rng(0)
    packed = {"chunks": True, "compression": "gzip"} if kind != "hdf5" else {}
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=random.integers(0, 16, ARRAYS[kind], np.uint8), **packed)
        file.create_dataset("y", data=random.integers(0, 10, len(file["x"])))


# -- photographs ------------------------------------------------------------------


def transform() -> Any:
    """What training does."""
    from benchmarks.peers.images.contract import TRAIN
    from benchmarks.peers.images.torchvision_ import pil_transform

    return pil_transform(TRAIN)


def decoded(content: bytes) -> Any:
    """A picture as articles decode it."""
    import io

    from PIL import Image

    return Image.open(io.BytesIO(content)).convert("RGB")


def tfrecord(path: str, side: str) -> Epoch:
    """Epochs of the photographs in a TFRecord file, on two threads or in two workers."""
    if side == "tf.data":
        import torchvision  # noqa: F401 -- first: its triton and TensorFlow's LLVM refuse each other the other way round

        from benchmarks.peers.images.tfdata import Records

        return Records(path, sum(len(names) for _, _, names in os.walk(photographs()))).__iter__
    from torch.utils.data import DataLoader

    import gofast

    change, description = transform(), {"image": "byte", "label": "int"}

    def sample(row: Any) -> Any:
        return change(decoded(row["image"])), int(row["label"][0])

    if side == "gofast, in Python":
        rows = gofast.TFRecordDataset(path, None, description, sample)
        return gofast.DataLoader(rows, BATCH).__iter__
    if side != "tfrecord":
        cache = "memory" if "cache" in side else None
        ours = gofast.TFRecordDataset(path).images("label", change, image="image", cache=cache)
        return gofast.DataLoader(ours, BATCH, shuffle=True).__iter__
    from tfrecord.torch.dataset import TFRecordDataset

    theirs = TFRecordDataset(path, f"{path}.index", description, transform=sample)
    return DataLoader(theirs, BATCH, num_workers=2, persistent_workers=True).__iter__


def make_tfrecord(path: Path) -> None:
    """The photographs, with the index that the tfrecord package wants for several workers."""
    from tfrecord.tools.tfrecord2idx import create_index
    from tfrecord.writer import TFRecordWriter
    from torchvision.datasets import ImageFolder

    writer = TFRecordWriter(str(path))
    for file, label in ImageFolder(photographs()).samples:
        writer.write({"image": (Path(file).read_bytes(), "byte"), "label": (label, "int")})
    writer.close()
    create_index(str(path), str(path.with_suffix(".data.index")))


def generator(side: str) -> Epoch:
    """Epochs of a generator of files' bytes and labels."""
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
    from torchvision.datasets import ImageFolder

    import gofast

    files, change = ImageFolder(photographs()).samples, transform()

    def rows() -> Iterator[tuple[bytes, int]]:
        worker = get_worker_info()
        own = itertools.islice(files, worker.id, None, worker.num_workers) if worker else files
        for path, label in own:
            yield Path(path).read_bytes(), label

    if side == "gofast":
        return gofast.DataLoader(gofast.IterableDataset(rows, change), BATCH).__iter__

    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return ((change(decoded(content)), label) for content, label in rows())

    return DataLoader(Stream(), BATCH, num_workers=2, persistent_workers=True).__iter__


# -- all of them ------------------------------------------------------------------


def make(case: str, rows: int) -> str:
    """The case's file, made if it is not there."""
    if case == "generator":
        return photographs()
    times = max(rows // STREAM_ROWS, 1)
    names = {"csv": f"stream-{times}.csv", "parquet": f"stream-{times}.parquet", "text": "reviews.csv"}
    path = MADE / names.get(case, f"{case}.h5" if case in ARRAYS else f"{case}.data")
    if not path.exists():
        made = path.with_suffix(".part")
        if case in ARRAYS:
            make_hdf5(case, made)
        elif case == "tfrecord":
            make_tfrecord(made)
        elif case == "text":
            from benchmarks import texts

            texts.make(made, REVIEWS)
        else:
            make_table(case, made, times)
        made.rename(path)
    return str(path)


def child(case: str, side: str, place: str) -> list[float]:
    """The seconds of each epoch of a side."""
    if case in ("csv", "parquet"):
        return turns.timed(lambda: tables(place, side), 2)
    if case in ARRAYS:
        scale = ARRAYS[case][0] / STREAM_SLOW if (case, side) == ("hdf5-stream", "h5py") else 1
        return [took * scale for took in turns.timed(lambda: hdf5(place, side), 3)]
    if case == "text":
        from benchmarks import texts

        return turns.timed(lambda: texts.epochs(side, place), 2)
    return turns.timed(lambda: generator(side) if case == "generator" else tfrecord(place, side), 4)


if __name__ == "__main__":
    turns.main("benchmarks.storage", __doc__, CASES, child, make)

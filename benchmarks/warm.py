"""Later epochs and streams: what is kept, and what is decoded within a budget, against what people use.

    make bench-warm
    python -m benchmarks.warm [--only train,csv] [--rounds 3] [--rows 3000000]

Each side of a case has a process of its own in each round, and sides take turns. A figure is the median over
rounds of a process's median later epoch (of a stream, its second one); a ratio is to the case's first side.
Pictures are those of $GOFAST_TEST_DATA/imagenet-500; tables are made in build/benchmarks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from benchmarks.client import ROOT
from benchmarks.data import CACHE

BATCH, EPOCHS = 64, 6
STREAM_BATCH, STREAM_ROWS, STREAM_COLUMNS = 4096, 250_000, 20
PICTURES = ("torchvision", "no marks", "gofast", "memory", "folder")
TABLES = ("pyarrow", "polars", "dataset", "stream", "blocks")
CASES = {
    "train": PICTURES,  # RandomResizedCrop
    "crop": PICTURES,  # RandomCrop
    "validation": PICTURES,
    "resize": PICTURES,  # Resize((256, 256)) of articles
    "set": ("list", "preprocessed"),  # RandomResizedCrop of what Resize and CenterCrop made
    "csv": TABLES,
    "parquet": TABLES,
}
Epoch = Callable[[], Iterator[Any]]


def photographs() -> str:
    """The folder of pictures, a class in each of its folders."""
    return os.path.join(os.environ["GOFAST_TEST_DATA"], "imagenet-500")


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

    if side == "torchvision":
        dataset = datasets.ImageFolder(photographs(), transform(case))
        return DataLoader(dataset, BATCH, shuffle=True, num_workers=2, persistent_workers=True).__iter__
    cache = {"memory": "memory", "folder": os.path.join(folder, "kept")}.get(side)
    ours = gofast.ImageFolder(photographs(), transform(case), cache=cache)
    return gofast.DataLoader(ours, BATCH, shuffle=True).__iter__


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


def tables(path: str, side: str) -> Epoch:
    """Epochs of a table in tensors of float32 and their int64 labels."""
    import gofast

    if side == "dataset":
        return lambda: iter(gofast.DataLoader(gofast.TableDataset(path, output="tuple"), STREAM_BATCH))
    if side in ("stream", "blocks"):
        shuffle: Literal["block"] | None = "block" if side == "blocks" else None
        stream = gofast.TableStream(
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


def make_tables(rows: int) -> dict[str, str]:
    """The paths of a CSV and a Parquet file of so many rows, which one block makes by repetition."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    CACHE.mkdir(parents=True, exist_ok=True)
    times = max(rows // STREAM_ROWS, 1)
    paths = {kind: str(CACHE / f"stream-{times}.{kind}") for kind in ("csv", "parquet")}
    if all(map(os.path.exists, paths.values())):
        return paths
    random = np.random.default_rng(0)
    columns = {f"f{i}": random.normal(size=STREAM_ROWS).round(4) for i in range(STREAM_COLUMNS)}
    block = pd.DataFrame({**columns, "label": random.integers(0, 10, STREAM_ROWS)})
    head, body = block.to_csv(index=False).encode().split(b"\n", 1)
    with open(paths["csv"], "wb") as text:
        text.write(head + b"\n")
        for _ in range(times):
            text.write(body)
    single = pa.Table.from_pandas(block.astype({name: "float32" for name in columns}), preserve_index=False)
    with pq.ParquetWriter(paths["parquet"], single.schema) as writer:
        for _ in range(times):
            writer.write_table(single)
    return paths


def child(case: str, side: str, place: str) -> list[float]:
    """The seconds of each epoch of a side."""
    streamed = side in TABLES
    if streamed:
        epoch = tables(place, side)
    else:
        epoch = finished(side, place) if case == "set" else pictures(case, side, place)
    took = []
    for _ in range(2 if streamed else EPOCHS):
        begun = time.perf_counter()
        for _ in epoch():
            pass
        took.append(time.perf_counter() - begun)
    return took


def measure(case: str, side: str, place: str) -> list[float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.warm", "--child", case, side, place]
    environment = {**os.environ, "GOFAST_MARKS": "0" if side == "no marks" else ""}
    ended = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    took: list[float] = json.loads(ended.stdout.splitlines()[-1])
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES), help="cases, by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3_000_000, help="of the tables")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(child(*asked.child)))
        return
    print("| case | side | first epoch, s | later, s | times as fast |\n|---|---|---|---|---|")
    for case in asked.only.split(","):
        first: dict[str, list[float]] = {side: [] for side in CASES[case]}
        later: dict[str, list[float]] = {side: [] for side in CASES[case]}
        for _, side in itertools.product(range(asked.rounds), CASES[case]):
            with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
                place = make_tables(asked.rows)[case] if side in TABLES else folder
                took = measure(case, side, place)
            first[side].append(took[0])
            later[side].append(statistics.median(took[1:]))
        base = statistics.median(later[CASES[case][0]])
        for side in CASES[case]:
            median = statistics.median(later[side])
            begun = statistics.median(first[side])
            print(f"| {case} | {side} | {begun:.3f} | {median:.3f} | {base / median:.1f} |", flush=True)


if __name__ == "__main__":
    Path(CACHE).mkdir(parents=True, exist_ok=True)
    main()

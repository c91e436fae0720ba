"""Hugging Face's `datasets`, the real package, with and without gofast: make test-integrations."""

from __future__ import annotations

import io
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast._images import other_datasets
from gofast._images.lazy_samples import LazySample
from gofast._lazy.lazy_image import LazyImage
from image_data import photograph
from picture_files import broken
from same import difference
from through_a_file import through_a_file

if not os.environ.get("GOFAST_INTEGRATIONS"):
    pytest.skip("make test-integrations", allow_module_level=True)

import datasets
from datasets.distributed import split_dataset_by_node

pytestmark = pytest.mark.filterwarnings("default")
COUNT, BATCH = 42, 8
TRAIN = T.Compose(
    [T.RandomResizedCrop(48), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)]
)


def contents(number: int) -> bytes:
    """JPEGs plain, turned, progressive and grey; PNGs of several modes; a WebP."""
    image, file = photograph(number, 60 + number, 50), io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 1 + number % 8
    kinds: list[Callable[[], None]] = [
        lambda: image.save(file, "JPEG"),
        lambda: image.save(file, "JPEG", exif=exif),
        lambda: image.save(file, "JPEG", exif=exif, dpi=(72, 72)),
        lambda: image.save(file, "JPEG", progressive=True),
        lambda: image.convert("L").save(file, "JPEG"),
        lambda: image.convert("CMYK").save(file, "JPEG"),
        lambda: image.save(file, "PNG", exif=exif),
        lambda: image.convert("P").save(file, "PNG"),
        lambda: image.convert("RGBA").save(file, "PNG"),
        lambda: image.save(file, "WEBP", exif=exif),
    ]
    kinds[number % len(kinds)]()
    return file.getvalue()


FILES = [contents(number) for number in range(COUNT)]
FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=["a", "b"]),
        "number": datasets.Value("float32"),
        "text": datasets.Value("string"),
        "list": datasets.Sequence(datasets.Value("int64")),
    }
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Written and read again: its rows lie in a mapped Arrow file. Some pictures are files outside."""
    folder = tmp_path_factory.mktemp("pictures")
    images: list[dict[str, Any]] = [{"bytes": file, "path": f"{i}.jpg"} for i, file in enumerate(FILES)]
    for number in (3, 11, 20):
        path = folder / f"{number}.jpg"
        path.write_bytes(FILES[number])
        images[number] = {"bytes": None, "path": str(path)}
    columns = {
        "image": images,
        "label": [i % 2 for i in range(COUNT)],
        "number": [i / 7 for i in range(COUNT)],
        "text": [f"text {i}" for i in range(COUNT)],
        "list": [[i] * 3 for i in range(COUNT)],
    }
    datasets.Dataset.from_dict(columns, features=FEATURES).to_parquet(folder / "rows.parquet")
    made: Any = datasets.Dataset.from_parquet(str(folder / "rows.parquet"), cache_dir=str(folder / "cache"))
    return made


def transformed(examples: dict[str, Any]) -> dict[str, Any]:
    examples["pixel_values"] = [TRAIN(image.convert("RGB")) for image in examples["image"]]
    return examples


def without_images(examples: dict[str, Any]) -> dict[str, Any]:
    transformed(examples)
    del examples["image"]
    return examples


def collated(rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    pixels = torch.stack([row["pixel_values"] for row in rows])
    return {"pixel_values": pixels, "labels": torch.tensor([row["label"] for row in rows])}


def of_images(rows: list[dict[str, Any]]) -> tuple[torch.Tensor, list[str]]:
    """Rows without a transform: this function has it."""
    return torch.stack([TRAIN(row["image"].convert("RGB")) for row in rows]), [row["text"] for row in rows]


def as_given(rows: list[dict[str, Any]]) -> list[Any]:
    """All that is known of the pictures, as they are."""
    return [(image.mode, image.size, image.tobytes(), dict(image.getexif())) for image in map(_image, rows)]


def _image(row: dict[str, Any]) -> Any:
    return row["image"]


def rows_of(rows: list[Any]) -> list[Any]:
    return rows


def set_transformed(data: Any) -> Any:
    data = data.select(range(len(data)))
    data.set_transform(without_images)
    return data


NUMBERS = ["label", "number", "list"]
CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "transform": (lambda data: data.with_transform(transformed), collated),
    "set_transform": (set_transformed, None),
    "shuffled": (lambda data: data.shuffle(seed=4).with_transform(transformed), collated),
    "selected": (lambda data: data.select([9, 2, 2, 30, 12, 0]).with_transform(without_images), None),
    "split": (lambda data: data.train_test_split(0.3, seed=1)["train"].with_transform(transformed), collated),
    "joined": (
        lambda data: datasets.concatenate_datasets([data, data.select([5, 1])]).with_transform(transformed),
        collated,
    ),
    "no transform": (lambda data: data, of_images),
    "pictures": (lambda data: data, as_given),
    "mode": (lambda data: data.cast_column("image", datasets.Image(mode="RGB")), as_given),
    "grey": (lambda data: data.cast_column("image", datasets.Image(mode="L")), as_given),
    "bytes": (lambda data: data.cast_column("image", datasets.Image(decode=False)), rows_of),
    "torch, numbers": (lambda data: data.with_format("torch", columns=NUMBERS), None),
    "torch, pictures": (lambda data: data.with_format("torch"), rows_of),
    "numpy": (lambda data: data.with_format("numpy"), rows_of),
    "texts": (lambda data: data.select_columns(["text", "label", "number"]), None),
    "streamed": (
        lambda data: data.to_iterable_dataset(2).map(transformed, batched=True, batch_size=4),
        collated,
    ),
    "streamed, shuffled": (
        lambda data: (
            data.to_iterable_dataset(2).shuffle(seed=3, buffer_size=9).map(transformed, batched=True)
        ),
        collated,
    ),
}
METHODS = [
    (0, None),
    (2, "fork"),
    *(pytest.param(2, m, marks=pytest.mark.full) for m in ("spawn", "forkserver")),
]


def batches(
    kind: Callable[..., Any], dataset: Any, collate: Any, workers: int, method: str | None
) -> list[Any]:
    torch.manual_seed(7)
    shuffle = not isinstance(dataset, datasets.IterableDataset)
    made: list[Any] = list(
        kind(dataset, BATCH, shuffle, num_workers=workers, collate_fn=collate, multiprocessing_context=method)
    )
    return [*made, torch.get_rng_state()]


@pytest.mark.parametrize(("workers", "method"), METHODS)
@pytest.mark.parametrize("case", CASES)
def test_batches_are_theirs(whole: Any, case: str, workers: int, method: str | None) -> None:
    prepare, collate = CASES[case]
    wanted = batches(DataLoader, prepare(whole), collate, workers, method)
    assert difference(batches(gofast.DataLoader, prepare(whole), collate, workers, method), wanted) == ""
    with gofast.install():
        assert difference(batches(DataLoader, prepare(whole), collate, workers, method), wanted) == ""


def of_epoch(data: Any) -> Any:
    data.set_epoch(3)
    return data


ORDERS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda data: data,
    "shuffle": lambda data: data.shuffle(seed=1, buffer_size=10),
    "all of it": lambda data: data.shuffle(seed=1, buffer_size=1000),
    "epoch": lambda data: of_epoch(data.shuffle(seed=1, buffer_size=30)),
    "mapped": lambda data: data.shuffle(seed=1, buffer_size=10).map(lambda row: {"number": -row["number"]}),
    "interleaved": lambda data: datasets.interleave_datasets(
        [data, data.shuffle(seed=2, buffer_size=20)], probabilities=[0.3, 0.7], seed=4
    ),
    "concatenated": lambda data: datasets.concatenate_datasets([data, data.shuffle(seed=2, buffer_size=20)]),
    "a rank of two": lambda data: split_dataset_by_node(data.shuffle(seed=1, buffer_size=30), 1, 2),
    "a rank of four": lambda data: split_dataset_by_node(data.shuffle(seed=1, buffer_size=30), 3, 4),
}


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Any]:
    """A stream of six Parquet files, each time another object."""
    folder = tmp_path_factory.mktemp("streamed")
    for i in range(6):
        rows = datasets.Dataset.from_dict({"number": [*range(60 * i, 60 * i + 60)]})
        rows.to_parquet(folder / f"{i}.parquet", batch_size=7)
    files = [str(folder / f"{i}.parquet") for i in range(6)]
    return lambda: datasets.load_dataset(
        "parquet", data_files=files, split="train", streaming=True, cache_dir=str(folder / "cache")
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ORDERS)
def test_streams_come_in_their_order_and_go_on_in_it(
    name: str, workers: int, streamed: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a shuffle's buffer holds rows, of which the state that `datasets` tells knows nothing."""
    monkeypatch.setattr(datasets.config, "SLEEP_TIME_ON_THREADS_SHUTDOWN", 0)

    def made(kind: Any) -> Any:
        return kind(ORDERS[name](streamed()), 8, num_workers=workers)

    want = [batch["number"].tolist() for batch in made(DataLoader)]
    for stop in (1, len(want) // 2, len(want) - 1):
        loader = made(gofast.DataLoader)
        iterator = iter(loader)
        got = [next(iterator)["number"].tolist() for _ in range(stop)]
        assert got == want[:stop]
        again = made(gofast.DataLoader)
        again.load_state_dict(through_a_file(loader.state_dict()))
        assert [batch["number"].tolist() for batch in again] == want[stop:]


class Kinds:
    """Of what a transform is given, and what it makes."""

    def __init__(self) -> None:
        self.images: list[type] = []
        self.samples: list[type] = []

    def __call__(self, examples: dict[str, Any]) -> dict[str, Any]:
        examples = transformed(examples)
        self.images += map(type, examples["image"])
        self.samples += map(type, examples["pixel_values"])
        return examples


def test_its_pictures_are_lazy(whole: Any) -> None:
    """This fails if `datasets` no longer opens pictures by ``PIL.Image.open``, or renames its classes."""
    kinds, count = Kinds(), sum(1 for file in FILES if file[:2] == b"\xff\xd8")
    list(gofast.DataLoader(whole.with_transform(kinds), BATCH, collate_fn=collated))
    assert kinds.images.count(LazyImage) >= count // 3
    assert LazySample in kinds.samples
    before = len(kinds.images)
    list(DataLoader(whole.with_transform(kinds), BATCH, collate_fn=collated))
    assert LazyImage not in kinds.images[before:]


def test_missing_values(whole: Any) -> None:
    columns = {"image": [{"bytes": FILES[0], "path": None}, None], "text": [None, "b"], "n": [1, None]}
    rows = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    (ours,), (theirs,) = (list(kind(rows, 2, collate_fn=rows_of)) for kind in (gofast.DataLoader, DataLoader))
    assert [row["image"] is None for row in ours] == [False, True]
    assert difference(pickle.loads(pickle.dumps(ours)), pickle.loads(pickle.dumps(theirs))) == ""


@pytest.mark.parametrize("workers", [0, 2])
def test_damaged_pictures_fail_as_theirs(workers: int) -> None:
    damaged = [data for file in FILES[:4] for _, data in broken(file, 3, 20)]
    damaged += [b"", b"no picture", FILES[0][:-2], FILES[0][: len(FILES[0]) // 2]]
    columns = {"image": [{"bytes": data, "path": None} for data in damaged], "label": [0] * len(damaged)}
    rows = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    rows = rows.with_transform(transformed)
    ours, theirs = (_outcomes(kind, rows, workers) for kind in (gofast.DataLoader, DataLoader))
    assert ours == theirs
    assert {str} < set(map(type, theirs))  # some fail, some do not


def _outcomes(kind: Any, rows: Any, workers: int) -> list[Any]:
    torch.manual_seed(1)
    iterator, made = iter(kind(rows, 1, collate_fn=collated, num_workers=workers)), []
    for _ in range(len(rows)):
        try:
            made.append(next(iterator)["pixel_values"].numpy().tobytes())
        except Exception as error:
            last = str(error).strip().splitlines()[-1]
            made.append(f"{type(error).__name__}: {last.partition(' 0x')[0]}")
    return made


@pytest.mark.parametrize("workers", [0, 2])
def test_the_process_waits_where_their_pass_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """At its end, and not the training: shuffled passes over Parquet end with a sleep there."""
    monkeypatch.setattr(datasets.config, "SLEEP_TIME_ON_THREADS_SHUTDOWN", 60)
    other_datasets._later.due = 0.0
    for name in "ab":
        datasets.Dataset.from_dict({"n": [*range(8)]}).to_parquet(tmp_path / f"{name}.parquet")
    rows: Any = datasets.load_dataset(
        "parquet", data_files=str(tmp_path / "*.parquet"), split="train", streaming=True, cache_dir=tmp_path
    )
    began = time.monotonic()
    ours = [
        batch["n"].tolist()
        for batch in gofast.DataLoader(rows.shuffle(1, buffer_size=20), 4, num_workers=workers)
    ]
    assert time.monotonic() - began < 40
    assert (other_datasets._later.due > began + 50) is (workers == 0)
    assert datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN == 60
    monkeypatch.setattr(datasets.config, "SLEEP_TIME_ON_THREADS_SHUTDOWN", 0)
    theirs = [
        batch["n"].tolist() for batch in DataLoader(rows.shuffle(1, buffer_size=20), 4, num_workers=workers)
    ]
    assert ours == theirs
    other_datasets._later.due = time.monotonic() + 0.2
    other_datasets._later.wait()
    assert time.monotonic() >= other_datasets._later.due


def test_a_loader_leaves_nothing_in_a_dataset(whole: Any) -> None:
    rows = whole.with_transform(transformed)
    list(gofast.DataLoader(rows, BATCH, collate_fn=collated))
    assert pickle.loads(pickle.dumps(rows))[0]["text"] == "text 0"
    assert type(whole[0]["image"]).__name__ == "JpegImageFile"

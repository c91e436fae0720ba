"""Other people's datasets in a gofast.DataLoader: their pictures are lazy, and their batches are torch's."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
import torchvision.transforms as T
from torch.utils.data import DataLoader, Dataset, IterableDataset

import gofast
from gofast._lazy.lazy_image import LazyImage
from image_data import make_folder
from records import example, framed

pytestmark = pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
CHAIN = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()])


class Own(Dataset[Any]):
    """As most are written."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        image = PIL.Image.open(self.paths[index])
        sample = CHAIN(image.convert("RGB"))
        return {"image": sample, "lazy": isinstance(image, LazyImage), "size": image.size, "index": index}


class Stream(IterableDataset[Any]):
    def __init__(self, paths: list[Path]) -> None:
        self.own = Own(paths)

    def __iter__(self) -> Iterator[Any]:
        return map(self.own.__getitem__, range(len(self.own)))


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = make_folder(tmp_path_factory.mktemp("own"), 5)
    return sorted(folder.rglob("*.jpg"))


def same(ours: list[Any], theirs: list[Any], lazy: bool = True) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a["image"], b["image"]) and torch.equal(a["index"], b["index"])
        assert [*map(torch.equal, a["size"], b["size"])] == [True, True]
        assert a["lazy"].tolist() == [lazy] * len(a["lazy"]) and not b["lazy"].any()


@pytest.mark.parametrize(
    ("workers", "method"),
    [(0, None), (2, "fork"), (2, "forkserver"), pytest.param(2, "spawn", marks=pytest.mark.full)],
)
def test_batches_are_torchs(paths: list[Path], workers: int, method: str | None) -> None:
    options: dict[str, Any] = {
        "batch_size": 3, "shuffle": True, "num_workers": workers, "multiprocessing_context": method
    }  # fmt: skip
    epochs, states = [], []
    for kind in (gofast.DataLoader, DataLoader):
        torch.manual_seed(5)
        loader = kind(Own(paths), **options)
        epochs.append([*loader, *loader])
        states.append(torch.get_rng_state())
    same(*epochs)
    assert torch.equal(*states)


def test_streams(paths: list[Path]) -> None:
    epochs = []
    for kind in (gofast.DataLoader, DataLoader):
        torch.manual_seed(5)
        epochs.append(list(kind(Stream(paths), 2)))
    same(*epochs)


def test_pillow_is_itself_outside(paths: list[Path]) -> None:
    """Between batches, in other threads, and after an error in the middle of one."""
    before, seen = PIL.Image.open, list[bool]()

    def look() -> None:
        with PIL.Image.open(paths[0]) as image:
            seen.append(isinstance(image, LazyImage))

    class Failing(Own):
        def __getitem__(self, index: int) -> dict[str, Any]:
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            if index == 3:
                raise KeyError(index)
            return super().__getitem__(index)

    iterator = iter(gofast.DataLoader(Failing(paths), 2))
    assert next(iterator)["lazy"].all()
    look()
    assert PIL.Image.open is before
    with pytest.raises(KeyError):
        next(iterator)
    assert PIL.Image.open is before and seen and not any(seen)


def test_what_somebody_else_put_there_stays(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    pillows, calls = PIL.Image.open, list[Any]()

    def theirs(*args: Any) -> Any:
        calls.append(args)
        return pillows(*args)

    monkeypatch.setattr(PIL.Image, "open", theirs)
    (batch,) = gofast.DataLoader(Own(paths), len(paths))
    assert len(calls) == len(paths) and not batch["lazy"].any() and PIL.Image.open is theirs


def test_pictures_of_records(paths: list[Path], tmp_path: Path) -> None:
    """The transform of a TFRecordDataset opens bytes."""
    records = [{"image": [path.read_bytes()], "index": [i]} for i, path in enumerate(paths)]
    (tmp_path / "a.tfrecord").write_bytes(framed(map(example, records)))

    def opened(record: dict[str, Any]) -> dict[str, Any]:
        image = PIL.Image.open(io.BytesIO(record["image"]))
        lazy = isinstance(image, LazyImage)
        sample = CHAIN(image.convert("RGB"))
        return {"image": sample, "lazy": lazy, "size": image.size, "index": int(record["index"][0])}

    dataset, epochs = gofast.TFRecordDataset(tmp_path / "a.tfrecord", transform=opened), []
    for kind in (gofast.DataLoader, DataLoader):
        torch.manual_seed(5)
        epochs.append(list(kind(dataset, 2)))
    same(*epochs)
    assert np.concatenate([batch["index"] for batch in epochs[0]]).tolist() == [*range(len(paths))]

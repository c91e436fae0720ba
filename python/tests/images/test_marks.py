"""Marks of JPEGs: later epochs enter a file where an earlier one was, in this process and in workers."""

from __future__ import annotations

import io
import os
from multiprocessing.context import set_spawning_popen
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as T

import fresh
import gofast
from gofast._core import entry_points
from image_data import photograph
from same import difference

TRAIN = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])
COUNT = 20


def used() -> int:
    """The bytes of marks, of all processes."""
    return int(np.frombuffer(entry_points.shared._map, np.int64, 1)[0]) if entry_points.shared._map else 0


def marked() -> int:
    """How many pictures of this process had marks."""
    return gofast.engine_stats().get("marked", 0)


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """JPEGs that no other test has."""
    seed = sum(map(ord, request.node.name)) * 100
    (tmp_path / "class").mkdir()
    for i in range(COUNT):
        picture = photograph(seed + i, 500 + 3 * i, 400 - 5 * i)
        picture.save(tmp_path / "class" / f"{i:02}.jpg", quality=80, subsampling=i % 3)
    return tmp_path


def epochs(loader: Any, dataset: Any, count: int = 3, **options: Any) -> list[Any]:
    torch.manual_seed(3)
    made = loader(dataset, 4, shuffle=True, **options)
    return [list(made) for _ in range(count)]


class Opens(Dataset[Any]):
    """What people write themselves."""

    def __init__(self, root: Path, opened: Any) -> None:
        self.paths, self.opened = sorted(root.rglob("*.jpg")), opened

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return TRAIN(self.opened(self.paths[index]).convert("RGB"))


def test_a_loader(folder: Path) -> None:
    before, counted = used(), marked()
    loader = gofast.DataLoader(gofast.ImageFolder(folder, TRAIN), 4, shuffle=True)
    torch.manual_seed(3)
    ours = [list(loader) for _ in range(3)]
    assert used() > before
    assert not difference(ours, epochs(DataLoader, datasets.ImageFolder(folder, TRAIN)))
    assert loader.stats()["marked"] > COUNT  # of 40 later crops; one at the very top or bottom has none
    assert marked() - counted >= 0


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_share_them(folder: Path, method: str) -> None:
    options = {"num_workers": 2, "multiprocessing_context": method}
    first = used()
    ours = epochs(DataLoader, gofast.ImageFolder(folder, TRAIN), 2, **options)
    grown = used() - first
    assert 0 < grown < sum(path.stat().st_size for path in folder.rglob("*.jpg")) / 100
    assert not difference(ours, epochs(DataLoader, datasets.ImageFolder(folder, TRAIN), 2, num_workers=2))
    again, counted = used(), marked()
    assert not difference(epochs(DataLoader, gofast.ImageFolder(folder, TRAIN), 1, num_workers=2), ours[:1])
    gofast.ImageFolder(folder, TRAIN).__getitems__(list(range(COUNT)))
    assert used() == again and marked() > counted, "the files have their marks already"


@pytest.mark.parametrize("workers", [0, 2])
def test_lazy_pictures(folder: Path, workers: int) -> None:
    before = used()
    ours = epochs(DataLoader, Opens(folder, gofast.open), num_workers=workers)
    assert used() > before
    assert not difference(ours, epochs(DataLoader, Opens(folder, Image.open), num_workers=workers))


def test_several_datasets_of_one_spawned_process(folder: Path) -> None:
    """multiprocessing refuses a descriptor that is handed over twice."""
    handed = list[int]()

    class Popen:
        DupFd = int

        def duplicate_for_child(self, fd: int) -> int:
            handed.append(fd)
            return fd

    parts = ConcatDataset([gofast.ImageFolder(folder, TRAIN) for _ in range(3)])
    for _ in range(2):  # each process is handed them
        popen: Any = Popen()
        set_spawning_popen(popen)
        try:
            ForkingPickler.dumps(parts)
        finally:
            set_spawning_popen(None)
        files = [os.fstat(fd) for fd in handed]
        assert len(set(handed)) == len(handed)
        assert any(os.path.samestat(file, os.fstat(entry_points.shared._fd)) for file in files)
        handed.clear()


def test_a_replaced_file_has_marks_of_its_own(folder: Path) -> None:
    """With the same name, size in bytes, and times."""
    paths = sorted(folder.rglob("*.jpg"))
    ours, theirs = gofast.ImageFolder(folder, TRAIN), datasets.ImageFolder(folder, TRAIN)
    made = []
    for dataset in (ours, theirs):
        torch.manual_seed(4)
        made.append([])
        for turn in range(4):
            for i, path in enumerate(paths):
                data = io.BytesIO()
                photograph(1000 * turn + i, 500, 400).save(data, "JPEG", quality=80)
                path.write_bytes(data.getvalue().ljust(120_000, b"\0"))
                os.utime(path, (1, 1))
            made[-1] += [dataset[i][0] for i in range(COUNT)] + [dataset[i][0] for i in range(COUNT)]
    assert not difference(made[0], made[1])


def test_a_decoder_keeps_none_of_files_that_come_once(folder: Path) -> None:
    decoder = gofast.Decoder(TRAIN)
    files = [path.read_bytes() for path in sorted(folder.rglob("*.jpg"))]
    before = used()
    decoder(files)
    assert used() == before
    decoder(files)
    assert used() > before


@pytest.mark.parametrize("asked", ["0", "1000", "100000", "", "many"])
def test_the_environment_says_how_many(folder: Path, asked: str) -> None:
    code = f"""
import gofast, torch
from torchvision import transforms as T
from gofast._core import entry_points
train = T.Compose([T.RandomResizedCrop(64), T.ToTensor()])
loader = gofast.DataLoader(gofast.ImageFolder({str(folder)!r}, train), 4)
print([len(list(loader)) for _ in range(3)], loader.stats()["marked"] > 0, entry_points.shared.place()[1])
"""
    said = fresh.run(["-c", code], env={**os.environ, "GOFAST_MARKS": asked}, check=True)
    whole = asked not in ("0", "1000")
    assert said.stdout.startswith(f"[5, 5, 5] {whole} "), said.stdout
    if asked.isdecimal():
        assert said.stdout.split()[-1] == asked

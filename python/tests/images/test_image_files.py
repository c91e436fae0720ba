"""ImageFiles: folders and lists of pictures, with labels and without, beside what PIL makes."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from gofast import errors

PLAIN = T.Compose([T.Resize((12, 10)), T.ToTensor()])


def picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (20 + seed, 24 - seed, 3), np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("flat")
    for seed, name in enumerate(["c.png", "a.jpg", "B.JPG", "deep/d.png", "deep/er/e.png"]):
        picture(root / name, seed)
    (root / "readme.md").write_text("")
    return root


def test_files_of_a_folder(flat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(flat.parent)
    for root in (flat, str(flat), flat.name):
        dataset = gofast.ImageFiles(root, transform=PLAIN)
        expected = [os.path.join(root, name) for name in ("B.JPG", "a.jpg", "c.png")]
        assert dataset.paths == expected and dataset.samples == [(path, None) for path in expected]
        assert dataset.root == str(root) and f"Root location: {root}" in repr(dataset)
        for i, path in enumerate(expected):
            assert torch.equal(dataset[i], PLAIN(Image.open(path).convert("RGB")))
    deep = gofast.ImageFiles(flat, recursive=True)
    assert [os.path.relpath(p, flat) for p in deep.paths] == [
        "B.JPG",
        "a.jpg",
        "c.png",
        "deep/d.png",
        "deep/er/e.png",
    ]
    assert len(gofast.ImageFiles(flat, extensions=".png")) == 1
    assert len(gofast.ImageFiles(flat, extensions=["JPG"])) == 2
    assert len(gofast.ImageFiles(flat, extensions=None)) == 4


def test_files_without_labels_are_pictures(flat: Path) -> None:
    dataset = gofast.ImageFiles(flat, transform=PLAIN)
    expected = torch.stack([dataset[i] for i in range(3)])
    assert type(dataset[0]) is torch.Tensor
    for workers in (0, 2):
        for loader in (DataLoader, gofast.DataLoader):
            batch = next(iter(loader(dataset, 3, num_workers=workers)))
            assert type(batch) is torch.Tensor and torch.equal(batch, expected)
            rows = next(iter(loader(dataset, 3, num_workers=workers, collate_fn=list)))
            assert torch.equal(torch.stack(rows), expected)
    assert list(gofast.ImageFiles(flat, transform=PLAIN, output="dict")[0]) == ["image"]
    image = v2.Compose([v2.ToImage(), v2.Resize((8, 8)), v2.ToDtype(torch.float32, scale=True)])
    tv = gofast.ImageFiles(flat, transform=image)
    assert type(next(iter(DataLoader(tv, 3)))) is torch.Tensor and type(tv[0]).__name__ == "Image"
    clone = pickle.loads(pickle.dumps(next(iter(DataLoader(dataset, 3, collate_fn=list)))[0]))
    assert type(clone) is torch.Tensor and torch.equal(clone, expected[0])


@pytest.mark.parametrize("labels", [torch.tensor([3, 1, 2]), torch.eye(3), ["x", "y", "z"], (2.5, 3.5, 4.5)])
def test_labels(flat: Path, labels: Any) -> None:
    paths = gofast.ImageFiles(flat).paths
    expected = torch.utils.data.default_collate(list(labels))
    for source in (flat, paths, (Path(p) for p in paths)):
        dataset = gofast.ImageFiles(source, labels, PLAIN)
        for clone in (dataset, copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
            for loader in (DataLoader, gofast.DataLoader):
                images, made = next(iter(loader(clone, 3)))
                assert torch.equal(images[1], PLAIN(Image.open(paths[1]).convert("RGB")))
                if isinstance(expected, torch.Tensor):
                    assert torch.equal(made, expected) and made.dtype == expected.dtype
                else:
                    assert list(made) == expected
            assert clone.paths == [str(path) for path in paths] and len(clone.targets) == 3


def test_lists_of_files(flat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(flat)
    picture(tmp_path / "1.png", 6)
    mixed = ["c.png", str(tmp_path / "1.png"), "./deep/../a.jpg"]
    for paths in (mixed, mixed[::2], mixed[1:2]):
        dataset = gofast.ImageFiles(paths, list(range(len(paths))), PLAIN)
        assert dataset.samples == list(zip(paths, range(len(paths)), strict=True)) and dataset.root is None
        for clone in (dataset, pickle.loads(pickle.dumps(dataset))):
            assert clone.paths == paths
            for i, path in enumerate(paths):
                assert torch.equal(clone[i][0], PLAIN(Image.open(path).convert("RGB"))) and clone[i][1] == i
    assert len(gofast.ImageFiles([])) == 0 and repr(gofast.ImageFiles([])).splitlines() == [
        "Dataset ImageFiles",
        "    Number of datapoints: 0",
    ]


def test_files_that_are_not_there(flat: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        gofast.ImageFiles(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="no file that ends with"):
        gofast.ImageFiles(tmp_path)
    assert len(gofast.ImageFiles(tmp_path, allow_empty=True)) == 0
    with pytest.raises(errors.OptionError, match="2 labels do not go with 3 pictures"):
        gofast.ImageFiles(flat, [1, 2])
    with pytest.raises(errors.OptionError, match="labels stand before the transform; say transform="):
        gofast.ImageFiles(flat, PLAIN)
    with pytest.raises(errors.OptionError, match=r"not callable: give torchvision\.transforms\.Compose"):
        gofast.ImageFiles(flat, transform=[PLAIN])  # type: ignore[arg-type]
    with pytest.raises(errors.OptionError, match=r"ToTensor is a class: give transform=ToTensor\(\)"):
        gofast.ImageFiles(flat, transform=T.ToTensor)
    dataset = gofast.ImageFiles([flat / "none.jpg"], transform=PLAIN)
    with pytest.raises(FileNotFoundError):
        dataset[0]


def test_label_transforms_and_edits_of_files(flat: Path) -> None:
    dataset = gofast.ImageFiles(flat, [1, 2, 3], PLAIN, lambda label: -label)
    assert next(iter(DataLoader(dataset, 3)))[1].tolist() == [-1, -2, -3]
    dataset.samples.append((str(flat / "deep" / "d.png"), 9))
    assert dataset[3][1] == -9 and len(dataset.paths) == 4
    unlabelled = gofast.ImageFiles(flat, transform=PLAIN)
    unlabelled.samples = unlabelled.samples[1:]
    assert len(unlabelled) == 2 and torch.equal(unlabelled[0], dataset[1][0])

"""TableDataset of pictures: torchvision's transforms are given PIL images of its rows."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset, Subset
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from same import difference

AUGMENT = v1.Compose([v1.RandomAffine(20, (0.1, 0.1)), v1.RandomCrop(8, padding=2), v1.ToTensor()])
SECOND = v2.Compose([v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


class Reference(Dataset[Any]):
    def __init__(self, images: Any, labels: Any, transform: Any) -> None:
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        image = self.transform(Image.fromarray(self.images[index]))
        return {"image": image, "label": torch.tensor(self.labels[index])}


def write(root: Path, images: Any, labels: Any) -> Path:
    path = root / "pictures.csv"
    names = [f"p{i}" for i in range(images[0].size)]
    rows = [
        ",".join(map(str, [label, *image.reshape(-1)])) for label, image in zip(labels, images, strict=True)
    ]
    path.write_text("\n".join([",".join(["label", *names]), *rows]) + "\n")
    return path


def epochs(kind: Any, data: Any, **options: Any) -> list[Any]:
    torch.manual_seed(3)
    loader = kind(data, batch_size=8, shuffle=True, **options)
    seen = [copy.deepcopy(batch) for _ in range(2) for batch in loader]
    return [*seen, torch.get_rng_state()]


@pytest.mark.daily(5)
@pytest.mark.parametrize("transform", [AUGMENT, SECOND, v1.ToTensor()], ids=["v1", "v2", "alone"])
@pytest.mark.parametrize("shape", [(8, 9), (1, 8, 9), (8, 9, 3), (3, 8, 9)], ids=str)
def test_rows_are_pictures(tmp_path: Path, shape: Any, transform: Any) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (21, *shape), np.uint8)
    images = (
        rows
        if len(shape) == 2 or shape[2] == 3
        else rows[:, 0]
        if shape[0] == 1
        else rows.transpose(0, 2, 3, 1)
    )
    labels = [*range(21)]
    ours = gofast.TableDataset(write(tmp_path, rows, labels), shape=shape, transform=transform)
    theirs = Reference(images, labels, transform)
    assert not isinstance(resolve(ours), Reason)
    want = epochs(TorchDataLoader, theirs)
    for data in (ours, pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours)):
        assert difference(epochs(gofast.DataLoader, data), want) == ""
        assert difference(epochs(TorchDataLoader, data), want) == ""
    assert difference(
        epochs(gofast.DataLoader, Subset(ours, [3, -1]), num_workers=2),
        epochs(TorchDataLoader, Subset(theirs, [3, -1]), num_workers=2),
    ) == ""  # fmt: skip
    ours.transform = theirs.transform = v1.Compose([v1.CenterCrop(6), v1.ToTensor()])
    assert difference(epochs(gofast.DataLoader, ours), epochs(TorchDataLoader, theirs)) == ""
    assert difference(ours[-2], theirs[-2]) == ""


def test_all_else_is_given_tensors(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (21, 8, 9), np.uint8)
    path = write(tmp_path, rows, range(21))

    class Looks:
        def __call__(self, sample: Any) -> Any:
            assert type(sample) is torch.Tensor and sample.shape == (8, 9)
            return sample + 1

    plain = gofast.TableDataset(path, shape=(8, 9))
    for options in ({"transform": Looks()}, {"transform": v2.Compose([Looks(), v2.Identity()])}):
        data = gofast.TableDataset(path, shape=(8, 9), **options)
        assert isinstance(resolve(data), Reason)
        assert torch.equal(data[5]["image"], plain[5]["image"] + 1)
    for numbers in ({"scale": "unit"}, {"mean": 0.5, "std": 0.2}, {"shape": (72,)}, {"shape": (2, 4, 9)}):
        data = gofast.TableDataset(path, **{"shape": (8, 9), "transform": v1.ToTensor()} | numbers)
        with pytest.raises(TypeError, match="pic should be PIL Image"):
            data[0]
    target: Any = lambda label: label + 1  # noqa: E731
    data = gofast.TableDataset(path, shape=(8, 9), transform=AUGMENT, target_transform=target)
    assert "target_transform" in str(resolve(data))  # type: ignore[union-attr]
    images = gofast.TableDataset(
        path, shape=(8, 9), transform=v1.ToTensor(), label=None, columns=plain.columns
    )
    assert not isinstance(resolve(images), Reason)
    batch = next(iter(gofast.DataLoader(images, batch_size=4)))
    assert difference(batch, next(iter(TorchDataLoader(images, batch_size=4)))) == ""
    assert [*batch] == ["image"]


def test_options_of_labels(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (21, 8, 9), np.uint8)
    path = write(tmp_path, rows, [i % 4 for i in range(21)])
    for options in ({"one_hot": 4}, {"label_type": "float"}, {"output": "tuple"}, {"keys": ("x", "y")}):
        data: Any = gofast.TableDataset(path, shape=(8, 9), transform=AUGMENT, **options)
        assert not isinstance(resolve(data), Reason)
        assert difference(epochs(gofast.DataLoader, data), epochs(TorchDataLoader, data)) == ""

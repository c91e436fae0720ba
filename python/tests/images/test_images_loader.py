"""Loaders over pictures against torch's own loader of torchvision's ImageFolder: batches and generators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import (
    DataLoader,
    Subset,
)
from torchvision import datasets, transforms

import gofast
from image_data import photograph

# torch warns of more workers than this machine has cores.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

PICTURES = 47  # of `folder`
TRAIN = transforms.Compose(
    [
        transforms.RandomResizedCrop(32),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)
VAL = transforms.Compose([transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()])
MIXED = transforms.Compose(
    [transforms.RandomCrop(16, padding=4), transforms.ElasticTransform(20.0, 0.0), transforms.ToTensor()]
)
PLANS = {"train": TRAIN, "val": VAL, "python in it": MIXED}


def pair(folder: Path, plan: str) -> tuple[datasets.ImageFolder, gofast.ImageFolder]:
    transform = PLANS[plan]
    return datasets.ImageFolder(str(folder), transform), gofast.ImageFolder(folder, transform)


def run(loader: Any, epochs: int, stop: int | None = None) -> Iterator[Any]:
    """What can be seen of a loader: its batches and torch's generator after each, and a draw in between."""
    for _ in range(epochs):
        for images, labels in itertools.islice(loader, stop):
            yield images.clone(), labels.clone(), torch.get_rng_state()
            yield torch.rand(1), torch.get_rng_state()


def assert_same(theirs: Any, ours: Any, epochs: int = 2, stop: int | None = None) -> None:
    torch.manual_seed(11)
    expected = list(run(theirs, epochs, stop))
    torch.manual_seed(11)
    got = list(run(ours, epochs, stop))
    assert len(got) == len(expected) > 0
    for mine, wanted in zip(got, expected, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(mine, wanted, strict=True))


@pytest.mark.daily
@pytest.mark.arrives("copied")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("make", [gofast.DataLoader, DataLoader])
@pytest.mark.parametrize("workers, persistent", [(0, False), (1, False), (3, False), (2, True)])
def test_batches_and_generators(
    folder: Path, plan: str, make: Callable[..., Any], workers: int, persistent: bool
) -> None:
    theirs, ours = pair(folder, plan)
    options = {"batch_size": 6, "shuffle": True, "num_workers": workers, "persistent_workers": persistent}
    assert_same(DataLoader(theirs, **options), make(ours, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_break_and_again_with_workers_that_live_on(folder: Path, workers: int) -> None:
    """What torch's workers had drawn for batches that nobody took is drawn here too."""
    theirs, ours = pair(folder, "train")
    options: dict[str, Any] = {"batch_size": 5, "num_workers": workers, "persistent_workers": True}
    assert_same(DataLoader(theirs, **options), gofast.DataLoader(ours, **options), epochs=3, stop=2)


def test_worker_init_fn_runs_in_torchs_workers(folder: Path) -> None:
    theirs, ours = pair(folder, "train")
    options: dict[str, Any] = {
        "batch_size": 8,
        "num_workers": 2,
        "worker_init_fn": lambda i: torch.manual_seed(i),
    }
    assert_same(DataLoader(theirs, **options), gofast.DataLoader(ours, **options))


@pytest.mark.parametrize("make", [gofast.DataLoader, DataLoader])
@pytest.mark.parametrize("workers", [0, 2])
def test_own_collate_sees_torchvisions_samples(folder: Path, make: Callable[..., Any], workers: int) -> None:
    theirs, ours = pair(folder, "val")

    def collate(rows: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        assert all(type(label) is int and isinstance(image, torch.Tensor) for image, label in rows)
        return torch.stack([image for image, _ in rows[::-1]]), torch.tensor(
            [label for _, label in rows[::-1]]
        )

    options: dict[str, Any] = {"batch_size": 8, "num_workers": workers, "collate_fn": collate}
    assert_same(DataLoader(theirs, **options), make(ours, **options))


def test_what_is_assigned_during_an_epoch_holds_from_the_next_one_on(tmp_path: Path) -> None:
    """As with torch's workers, that have copies; of pictures that are left to Pillow, too."""
    (tmp_path / "a").mkdir()
    for i in range(24):
        photograph(i, 40, 30).save(tmp_path / "a" / f"{i:02}.tif")
    small, large = (
        transforms.Compose([transforms.Resize(s), transforms.ToTensor()]) for s in [(8, 9), (300, 300)]
    )
    theirs, ours = datasets.ImageFolder(str(tmp_path), small), gofast.ImageFolder(tmp_path, small)
    loader = gofast.DataLoader(ours, 4, num_workers=2)
    batches = iter(loader)
    seen = [next(batches)]
    ours.transform, ours.samples = large, ours.samples[:7]
    seen += [*batches]
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(seen, DataLoader(theirs, 4), strict=True))
    theirs.transform, theirs.samples = large, theirs.samples[:7]
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(loader, DataLoader(theirs, 4), strict=True))


def test_held_batches_stay(folder: Path) -> None:
    theirs, ours = pair(folder, "val")
    expected = list(DataLoader(theirs, batch_size=2))
    held = list(gofast.DataLoader(ours, batch_size=2, num_workers=2))
    for _ in gofast.DataLoader(ours, batch_size=2, num_workers=2):
        pass
    for (images, labels), (x, y) in zip(held, expected, strict=True):
        assert torch.equal(images, x) and torch.equal(labels, y)


def test_two_iterators_at_once(folder: Path) -> None:
    theirs, ours = pair(folder, "val")
    expected = list(DataLoader(theirs, batch_size=4))
    loader = gofast.DataLoader(ours, batch_size=4, num_workers=2)
    for (a, _), (b, _), (x, _) in zip(loader, loader, expected, strict=True):
        assert torch.equal(a, x) and torch.equal(b, x)


def crops(loader: Any, count: int) -> dict[int, torch.Tensor]:
    """The picture of each sample: labels are sample numbers here."""
    got = {
        int(label): image for images, labels in loader for image, label in zip(images, labels, strict=True)
    }
    assert len(got) == count
    return got


@pytest.mark.parametrize("workers", [0, 2])
def test_stateless_draws_depend_on_nothing_else(folder: Path, workers: int) -> None:
    paths = [path for path, _ in datasets.ImageFolder(str(folder)).samples]

    def dataset() -> gofast.ImageFiles:
        return gofast.ImageFiles(paths, range(len(paths)), TRAIN, rng="stateless", seed=5)

    one, two = dataset(), dataset()
    for data in (one, two):
        data.set_epoch(2)
    wanted = crops(DataLoader(one, batch_size=11), len(paths))
    for loader in (
        gofast.DataLoader(two, batch_size=4, shuffle=True, num_workers=workers),
        DataLoader(two, batch_size=9, num_workers=workers),
        gofast.DataLoader(Subset(two, range(len(paths))), batch_size=47, num_workers=workers),
    ):
        got = crops(loader, len(paths))
        assert all(torch.equal(got[i], wanted[i]) for i in wanted)
    two.set_epoch(3)
    later = crops(DataLoader(two, batch_size=11), len(paths))
    assert not any(torch.equal(later[i], wanted[i]) for i in wanted)
    state = torch.get_rng_state()
    one[3]
    assert torch.equal(torch.get_rng_state(), state)
    twice = next(iter(DataLoader(Subset(one, [3, 3]), batch_size=2)))[0]
    assert not torch.equal(twice[0], twice[1])  # an occurrence has draws of its own
    assert torch.equal(twice[0], wanted[3])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("channels", [3, 1])
def test_channels_last(folder: Path, workers: int, channels: int) -> None:
    transform = transforms.Compose([transforms.Grayscale(channels), VAL])
    theirs = datasets.ImageFolder(str(folder), transform)
    ours = gofast.ImageFolder(folder, transform, channels_last=True)
    for make in (DataLoader, gofast.DataLoader):
        for (images, _), (x, _) in zip(
            make(ours, batch_size=8, num_workers=workers), DataLoader(theirs, batch_size=8), strict=True
        ):
            assert torch.equal(images, x)
            assert images.is_contiguous(memory_format=torch.channels_last)

"""A batch that fails: the error that torch meets first, and what every generator has drawn by then.

The reference is torch's DataLoader over torchvision's ImageFolder, with real workers. Each error is caught,
and `next` called again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, default_collate
from torchvision import datasets
from torchvision import transforms as v1

import gofast
from image_data import photograph
from same import difference

COUNT = 18
TRAIN = v1.Compose([v1.RandomResizedCrop(32), v1.RandomHorizontalFlip(), v1.ToTensor()])
VALID = v1.Compose([v1.Resize((32, 32)), v1.ToTensor()])
CHOICE = v1.Compose(
    [
        v1.RandomChoice([v1.RandomHorizontalFlip(), v1.RandomVerticalFlip()]),
        v1.Resize((24, 24)),
        v1.ToTensor(),
    ]
)
CROP = v1.Compose([v1.RandomHorizontalFlip(), v1.RandomCrop(60), v1.ToTensor()])  # some are too small
FIVE = v1.Compose(
    [
        v1.RandomHorizontalFlip(),
        v1.FiveCrop(60),
        v1.Lambda(lambda crops: torch.stack([v1.ToTensor()(crop) for crop in crops])),
    ]
)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


HARMS: dict[str, Callable[[Path], Any]] = {
    "half": _cut,
    "header": lambda path: path.write_bytes(b"\xff\xd8\xff\xe0" + bytes(50)),
    "empty": lambda path: path.write_bytes(b""),
    "folder": _folder,
    "missing": Path.unlink,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for i in range(COUNT):
        (tmp_path / f"class {2 * i // COUNT}").mkdir(exist_ok=True)
        picture = photograph(i, 50 + 3 * (i * 7 % 11), 70)
        picture.save(tmp_path / f"class {2 * i // COUNT}" / f"{i:02}.jpg")
    return tmp_path


def harmed(dataset: Any, bad: dict[int, str]) -> None:
    for i, harm in bad.items():
        HARMS[harm](Path(dataset.samples[i][0]))


def met(kind: Any, dataset: Any, stop: int | None = None, **options: Any) -> list[Any]:
    """What two epochs give: batches, errors, and the generators behind them."""
    torch.manual_seed(3), random.seed(3)
    loader, seen = kind(dataset, **options), list[Any]()
    for _ in range(2):
        iterator = iter(loader)
        for _batch in range(COUNT if stop is None else stop):
            try:
                seen.append(next(iterator))
            except StopIteration:
                break
            except Exception as error:
                kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
                seen.append(next(kinds))
        seen += [torch.get_rng_state(), random.getstate()]
        del iterator
    return seen


def check(ours: Any, theirs: Any, **options: Any) -> list[Any]:
    expected = met(DataLoader, theirs, **options)
    assert not difference(met(gofast.DataLoader, ours, **options), expected)
    return expected


def _noisy(rows: Any) -> Any:
    pictures, labels = default_collate(rows)
    return pictures + torch.rand(1), labels


def _drawn(label: int) -> int:
    return label + int(torch.randint(0, 100, ()))


def _drawn_or_not(label: int) -> int:
    if torch.rand(()) < 0.2:
        raise KeyError(label)
    return label


@pytest.mark.filterwarnings("ignore:This DataLoader will create 3 worker processes")
@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("stands_in", [False, True], ids=["ours", "torchvision's"])
@pytest.mark.daily
def test_nothing_is_drawn_from_a_picture_on_that_cannot_be_read(
    root: Path, workers: int, harm: str, stands_in: bool
) -> None:
    theirs = datasets.ImageFolder(root, TRAIN)
    ours = theirs if stands_in else gofast.ImageFolder(root, TRAIN)
    harmed(theirs, {1: harm, 3: "half", 8: harm, 9: harm, 10: "empty"})  # first, middle and last of a batch
    seen = check(ours, theirs, batch_size=3, num_workers=workers)
    assert seen.count("OSError") + seen.count("FileNotFoundError") + seen.count("IsADirectoryError") >= 8


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": True},
        {"drop_last": True, "prefetch_factor": 4},
        {"collate_fn": _noisy, "shuffle": True},
        {"collate_fn": _noisy, "prefetch_factor": 1, "persistent_workers": True},
        {"persistent_workers": True, "shuffle": True},
        {"persistent_workers": True, "stop": 2},  # what was made ahead has drawn
    ],
    ids=["shuffle", "drop_last", "collate", "collate, persistent", "persistent", "given up"],
)
@pytest.mark.parametrize("transform", [TRAIN, CHOICE], ids=["train", "choice"])
def test_whatever_else_a_loader_is_asked_for(root: Path, transform: Any, options: Any) -> None:
    theirs, ours = datasets.ImageFolder(root, transform), gofast.ImageFolder(root, transform)
    harmed(theirs, {1: "half", 4: "missing", 5: "half", 12: "empty"})
    check(ours, theirs, batch_size=4, num_workers=2, **options)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform", [TRAIN, VALID, CROP, FIVE], ids=["train", "valid", "crop", "five"])
@pytest.mark.parametrize("label", [None, _drawn, _drawn_or_not])
@pytest.mark.daily
def test_the_first_error_of_a_batch_is_torchs(root: Path, transform: Any, label: Any, workers: int) -> None:
    """One of a picture that is too small, or cannot be read, or both, of a label, or of an index."""
    theirs = datasets.ImageFolder(root, transform, target_transform=label)
    ours = gofast.ImageFolder(root, transform, target_transform=label)
    harmed(theirs, {1: "half", 5: "half", 8: "header", 9: "half", 15: "missing"})
    check(ours, theirs, batch_size=4, num_workers=workers)
    lists = [[0, 1, 99], [2, 99, 1], [3, 4], [-19, 1], [10, 5, 99, 1], [16, 17]]
    check(ours, theirs, batch_sampler=lists, num_workers=workers)


@pytest.mark.parametrize("workers", [0, 2])
def test_crops_of_a_picture_that_was_turned(root: Path, workers: int) -> None:
    theirs, ours = datasets.ImageFolder(root, FIVE), gofast.ImageFolder(root, FIVE)
    seen = check(ours, theirs, batch_sampler=[[3, 4], [5, 6], [0, 1]], num_workers=workers)
    assert any(isinstance(batch, list) for batch in seen) and "ValueError" in seen


# ------------------------------------------------------------------ a StopIteration of the user's


class Stops:
    """Raises at its sixth call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, value: Any) -> Any:
        self.calls += 1
        if self.calls == 6:
            raise StopIteration("the user's")
        return value


class StopsReading(Stops):
    def __call__(self, path: Any) -> Any:
        return datasets.folder.default_loader(super().__call__(path))


class StopsCollating(Stops):
    def __call__(self, rows: Any) -> Any:
        self.calls += 2  # thrice a batch
        return super().__call__(default_collate(rows))


TENSOR = [v1.RandomResizedCrop(32), v1.ToTensor()]
STEPS: dict[str, Callable[[], dict[str, Any]]] = {
    "first": lambda: {"transform": v1.Compose([Stops(), *TENSOR])},
    "middle": lambda: {"transform": v1.Compose([TENSOR[0], Stops(), TENSOR[1]])},
    "last": lambda: {"transform": v1.Compose([*TENSOR, Stops()])},
    "without draws": lambda: {"transform": v1.Compose([v1.Resize((32, 32)), v1.ToTensor(), Stops()])},
    "label": lambda: {"transform": v1.Compose(TENSOR), "target_transform": Stops()},
    "loader": lambda: {"transform": v1.Compose(TENSOR), "loader": StopsReading()},
    "collate": lambda: {"transform": v1.Compose(TENSOR)},
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_stop_iteration_of_the_users_ends_an_epoch(root: Path, step: str, workers: int) -> None:
    def given(kind: Any, folder: Any) -> Iterator[Any]:
        torch.manual_seed(1)
        collate = StopsCollating() if step == "collate" else default_collate
        loader = kind(folder(root, **STEPS[step]()), batch_size=4, num_workers=workers, collate_fn=collate)
        iterator = iter(loader)
        for _ in range(8):  # torch's goes on behind it
            yield next(iterator, "end")
        yield torch.get_rng_state()

    expected = [*given(DataLoader, datasets.ImageFolder)]
    assert "end" in expected[1 : 2 + workers] and isinstance(expected[4], list)
    for kind in (gofast.DataLoader, DataLoader):
        assert not difference([*given(kind, gofast.ImageFolder)], expected)

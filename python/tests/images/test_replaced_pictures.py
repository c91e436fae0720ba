"""Pictures that others take the place of between epochs: what is drawn follows, as torchvision's does."""

from __future__ import annotations

import functools
import multiprocessing
from array import array
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from image_data import photograph
from picture_files import saved

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
CROP = T.Compose([T.RandomCrop(24), T.ToTensor()])
FLIP = T.Compose([T.RandomHorizontalFlip(), T.Resize((16, 16)), T.ToTensor()])
REST = T.Compose([T.RandomResizedCrop(16), T.ElasticTransform(20.0, 0.0), T.ToTensor()])
CHAINS = {"crop": TRAIN, "exact crop": CROP, "flip": FLIP, "rest": REST}

COUNT = 12
SIZES = ((40, 30), (30, 40))


def fill(root: Path, seed: int, small: bool = False) -> None:
    """Every picture of another size than before; every fourth of a format that Pillow reads."""
    (root / "class").mkdir(exist_ok=True)
    for i in range(COUNT):
        width, height = (10, 10) if small and i == 5 else (30 + (i + seed) % 5, 40 - (i * seed) % 7)
        kind = ["JPEG", "PNG", "WEBP", "GIF"][(i + seed) % 4]
        (root / "class" / f"{i:02}.png").write_bytes(encoded(i + seed, width, height, kind))


@functools.cache
def encoded(seed: int, width: int, height: int, kind: str) -> bytes:
    data = saved(photograph(seed, width, height), kind)
    assert data is not None
    return data


def noisy(label: int) -> float:
    """A label's transform that draws too."""
    return label + float(torch.rand(()))


def epochs(root: Path, loader: Any, dataset: Any, **options: Any) -> list[Any]:
    """Two epochs, between which the folder is another."""
    fill(root, 1)
    torch.manual_seed(1)
    loader = loader(dataset, 4, shuffle=True, **options)
    made = list(loader)
    fill(root, 2)
    return made + list(loader)


LOADERS = {
    "torch": (DataLoader, {}),
    "torch, workers": (DataLoader, {"num_workers": 2}),
    "torch, workers that stay": (DataLoader, {"num_workers": 2, "persistent_workers": True}),
    "ours": (gofast.DataLoader, {}),
    "ours, threads": (gofast.DataLoader, {"num_workers": 2}),
    "ours, threads that stay": (gofast.DataLoader, {"num_workers": 2, "persistent_workers": True}),
}


@pytest.fixture(scope="module")
def torchs() -> dict[Any, list[Any]]:
    """The epochs of torch's loader over torchvision's folder, by what decides on them."""
    return {}


@pytest.mark.daily
@pytest.mark.arrives("copied")
@pytest.mark.parametrize("which", LOADERS)
@pytest.mark.parametrize(
    "chain", [pytest.param(chain, marks=pytest.mark.xdist_group(f"replaced, {chain}")) for chain in CHAINS]
)
def test_the_next_epoch_draws_for_the_new_pictures(
    tmp_path: Path, torchs: dict[Any, list[Any]], chain: str, which: str
) -> None:
    loader, options = LOADERS[which]
    fill(tmp_path, 1)
    label = noisy if which == "torch" else None
    key = (chain, label, *options.items())
    if key not in torchs:
        theirs = torchvision.datasets.ImageFolder(tmp_path, CHAINS[chain], label)
        torchs[key] = epochs(tmp_path, DataLoader, theirs, **options)
        fill(tmp_path, 1)
    expected = torchs[key]
    ours = gofast.ImageFolder(tmp_path, CHAINS[chain], label, on_error="replace")
    for a, b in zip(expected, epochs(tmp_path, loader, ours, **options), strict=True):
        assert torch.equal(a[0], b[0]) and torch.equal(a[1], b[1])
    assert ours.bad_samples() == {}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_picture_that_was_too_small(tmp_path: Path, workers: int) -> None:
    """The error is about the picture that is there: the large one is cropped, though a small one was."""
    for loader in (DataLoader, gofast.DataLoader):
        made = []
        for kind in (torchvision.datasets.ImageFolder, gofast.ImageFolder):
            fill(tmp_path, 1, small=True)
            dataset = kind(tmp_path, CROP)
            with pytest.raises(ValueError, match="Required crop size"):
                list(loader(dataset, 4, num_workers=workers))
            fill(tmp_path, 1)
            torch.manual_seed(2)
            made.append(list(loader(dataset, 4, num_workers=workers)))
        for a, b in zip(*made, strict=True):
            assert torch.equal(a[0], b[0])


def test_single_samples(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    theirs, ours = (k(tmp_path, TRAIN) for k in (torchvision.datasets.ImageFolder, gofast.ImageFolder))
    for seed in (1, 2, 1):
        fill(tmp_path, seed)
        torch.manual_seed(seed)
        expected = [theirs[i][0] for i in range(COUNT)]
        torch.manual_seed(seed)
        assert all(torch.equal(a, ours[i][0]) for i, a in enumerate(expected))


@pytest.mark.parametrize("which", ["torch", "ours", "ours, threads"])
def test_stateless_draws_are_those_of_a_new_dataset(tmp_path: Path, which: str) -> None:
    loader, options = LOADERS[which]
    fill(tmp_path, 1)
    kept = gofast.ImageFolder(tmp_path, TRAIN, rng="stateless")
    made = epochs(tmp_path, loader, kept, **options)
    fresh = gofast.ImageFolder(tmp_path, TRAIN, rng="stateless", return_index=True)
    by_index = {
        int(i): picture
        for pictures, _, indices in DataLoader(fresh, 4)
        for picture, i in zip(pictures, indices, strict=True)
    }
    torch.manual_seed(1)
    order = [
        i
        for _ in range(2)
        for _, _, indices in DataLoader(fresh, 4, shuffle=True, **options)
        for i in indices
    ]
    got = [picture for pictures, _ in made for picture in pictures]
    assert all(torch.equal(by_index[int(i)], got[COUNT + k]) for k, i in enumerate(order[COUNT:]))


def _here(dataset: Any) -> None:
    dataset[3]


@pytest.mark.parametrize("kind", ["JPEG", "GIF"])  # the core's, and Pillow's
@pytest.mark.parametrize(
    "finder", ["this process", "fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)]
)
def test_another_process_finds_the_new_size_between_draw_and_fill(
    tmp_path: Path, finder: str, kind: str
) -> None:
    """Draws hold the size that they were drawn for: what all processes share is another's by then."""
    fill(tmp_path, 1)
    path = tmp_path / "class" / "03.png"
    path.write_bytes(encoded(5, 40, 30, kind))
    dataset = gofast.ImageFolder(tmp_path, TRAIN)
    compiled = dataset._here()
    draws, indices = compiled.view.new_draws(None), array("q", range(COUNT))
    records = draws(indices)
    assert dataset._files.sizes[3].tolist() == [40, 30]
    path.write_bytes(encoded(6, 30, 40, kind))
    if finder == "this process":
        _here(dataset)
    else:
        process = multiprocessing.get_context(finder).Process(target=_here, args=(dataset,))
        process.start()
        process.join()
        assert process.exitcode == 0
    assert dataset._files.sizes[3].tolist() == [30, 40]
    with pytest.raises(errors.ChangedError, match="is 30x40 and was 40x30 before"):
        compiled.batcher.batch(indices, records)


@pytest.mark.parametrize("chain", ["flip", "crop"])
def test_what_is_drawn_for_any_size_holds_for_the_new_picture(tmp_path: Path, chain: str) -> None:
    fill(tmp_path, 1)
    dataset = gofast.ImageFolder(tmp_path, CHAINS[chain])
    compiled = dataset._here()
    records = compiled.view.new_draws(None)(array("q", [3]))
    (tmp_path / "class" / "03.png").write_bytes(encoded(6, 61, 47, "PNG"))
    if chain == "flip":
        compiled.batcher.batch(array("q", [3]), records)
    else:
        with pytest.raises(errors.ChangedError, match="is 61x47"):
            compiled.batcher.batch(array("q", [3]), records)


def test_a_picture_that_never_stays_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for ever: after a few attempts."""
    fill(tmp_path, 1)
    dataset = gofast.ImageFolder(tmp_path, TRAIN, on_error="replace")
    forget = type(dataset._files).forget

    def lie(self: Any, samples: Any) -> None:
        forget(self, samples)
        self.sizes[:] = 7

    monkeypatch.setattr("gofast._images.file_index.Files.forget", lie)
    dataset._files.sizes[:] = 7
    for attempt in (lambda: dataset[3], lambda: list(gofast.DataLoader(dataset, 4))):
        with pytest.raises(errors.ChangedError, match="and was 7x7 before"):
            attempt()

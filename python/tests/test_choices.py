"""RandomChoice and RandomOrder, natively: the same samples, draws and generators."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import datasets
from torchvision.transforms import v2

import gofast
from gofast._images import composes
from gofast._plan import containers
from gofast._plan.compile import compile
from image_data import make_folder
from same import difference

NORMALIZE = ([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])
FLOATS = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
JITTER = (0.4, 0.4, 0.3, 0.1)


def chains() -> dict[str, list[Any]]:
    """Steps that leave pictures of 24 x 24."""
    crops = [
        v2.RandomResizedCrop(24),
        v2.Compose([v2.Resize(30), v2.CenterCrop(24)]),
        v2.RandomCrop(24, 9, True),
    ]
    mix = [v2.RandomHorizontalFlip(), v2.ColorJitter(*JITTER), v2.RandomSolarize(99), v2.RandomRotation(30)]
    nested = v2.RandomOrder(
        [v2.RandomChoice(mix), v2.RandomApply(mix[:2]), v2.RandomOrder([*mix[1:], v2.RGB()])]
    )
    return {
        "choice of crops": [v2.RandomChoice(crops)],
        "choice by p": [v2.RandomChoice(crops, p=[0.1, 5, 2.5]), v2.RandomHorizontalFlip()],
        "choice of one": [v2.RandomChoice(crops[:1]), v2.RandomVerticalFlip()],
        "never the first": [v2.RandomChoice([v2.Resize((24, 24)), *crops], p=[0, 1, 1, 1])],
        "choice of nothing": [
            crops[0],
            v2.RandomChoice([v2.Identity(), v2.RandomGrayscale(0.5), v2.Compose([v2.RGB()])]),
        ],
        "choice of sizes": [v2.RandomChoice([v2.Resize(40), v2.Pad(9), v2.CenterCrop(70)]), crops[2]],
        "choice of augmentations": [
            crops[0],
            v2.RandomChoice(
                [v2.TrivialAugmentWide(), v2.RandAugment(), v2.AutoAugment(), v2.GaussianBlur(5), *mix]
            ),
        ],
        "order": [crops[0], v2.RandomOrder(mix)],
        "order of sizes": [v2.RandomOrder([v2.RandomCrop(40, None, True), v2.Resize(50), *mix]), crops[1]],
        "order of draws by size": [
            v2.RandomOrder([v2.RandomResizedCrop((40, 30)), v2.RandomCrop(33, 4, True)]),
            crops[2],
        ],
        "order of one": [
            v2.RandomOrder([v2.RandomCrop(24, 3, True)]),
            v2.CenterCrop(24),
            v2.RandomHorizontalFlip(),
        ],
        "nested": [nested, crops[0], nested],
        "applied": [v2.RandomApply([v2.RandomChoice([v2.Pad(3), v2.RandomOrder(mix)])], 0.7), crops[0]],
        "blurs": [
            crops[0],
            v2.RandomOrder([v2.RandomChoice([v2.GaussianBlur(3), v2.GaussianBlur(5)]), v2.GaussianBlur(7)]),
        ],
    }


def tensors() -> dict[str, list[Any]]:
    """The same, and then steps on tensors."""
    flips = [v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()]
    erasings = [v2.RandomErasing(0.9), v2.RandomErasing(1.0, value=7)]
    crop, normalize = v2.RandomResizedCrop(24), v2.Normalize(*NORMALIZE)
    return {
        "flips": [crop, *FLOATS, normalize, v2.RandomChoice(flips), v2.RandomOrder(flips)],
        "erasings": [crop, *FLOATS, normalize, v2.RandomChoice([*erasings, *flips]), *flips, *erasings],
        "bytes": [crop, v2.ToImage(), v2.RandomChoice(flips), v2.RandomOrder([*flips, v2.Identity()])],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("pictures"), 24)


def seeded(seed: int, make: Callable[[], Any]) -> tuple[Any, Any]:
    """What is made, and the generators' states behind it."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    made = make()
    return made, (torch.get_rng_state().tolist(), random.getstate(), np.random.rand())


def all_chains() -> dict[str, list[Any]]:
    return {**{name: [*steps, *FLOATS] for name, steps in chains().items()}, **tensors()}


@pytest.mark.filterwarnings("ignore:This DataLoader")  # of more workers than processors
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("name", list(all_chains()))
def test_native_and_the_same(folder: Path, name: str, workers: int) -> None:
    transform = v2.Compose(all_chains()[name])
    plan = compile(transform)
    assert plan.native, plan.report

    def epochs(dataset: Any, loader: type) -> list[Any]:
        made = loader(dataset, batch_size=5, shuffle=True, num_workers=workers)
        return [batch for _ in range(1 if workers else 4) for batch in made]

    want, after = seeded(
        1, lambda: epochs(datasets.ImageFolder(folder, transform), torch.utils.data.DataLoader)
    )
    made, own_after = seeded(1, lambda: epochs(gofast.ImageFolder(folder, transform), gofast.DataLoader))
    assert not difference(made, want, True)
    assert own_after == after


@pytest.mark.parametrize("name", list(chains()))
def test_what_is_handed_over(folder: Path, name: str) -> None:
    """PIL images and what they say beside pixels, and draws that take turns with Python's."""
    transform = v2.Compose([*chains()[name], v2.Lambda(said)])
    theirs, ours = datasets.ImageFolder(folder, transform), gofast.ImageFolder(folder, transform)
    want, after = seeded(2, lambda: [theirs[i] for i in range(len(theirs))])
    made, own_after = seeded(2, lambda: [ours[i] for i in range(len(ours))])
    assert made == want and own_after == after


def said(image: Any) -> Any:
    return image.size, image.mode, image.tobytes(), sorted(map(str, image.info)), torch.rand(1).item()


@pytest.mark.parametrize("name", list(all_chains()))
def test_late_pictures(folder: Path, name: str) -> None:
    transform = v2.Compose(all_chains()[name])
    paths = sorted(folder.glob("*/*"))

    def all_of(opener: Callable[[Any], Image.Image]) -> list[Any]:
        return [transform(opener(path).convert("RGB")) for path in paths]

    want, after = seeded(3, lambda: all_of(Image.open))
    before = composes.counts["native"]
    made, own_after = seeded(3, lambda: all_of(gofast.open))
    assert not difference(made, want, True)
    assert own_after == after and composes.counts["native"] == before + len(paths)


def test_draws_that_are_anybodys(folder: Path) -> None:
    """Streams of each sample's own: the same for every order, and all members happen."""
    steps = [
        v2.Resize((9, 9)),
        v2.RandomChoice([v2.Pad(n) for n in range(3)]),
        v2.CenterCrop(9),
        v2.ToImage(),
    ]
    dataset = gofast.ImageFolder(folder, v2.Compose(steps), rng="stateless")
    first = [dataset[i][0] for i in range(len(dataset))]
    again = [dataset[i][0] for i in reversed(range(len(dataset)))]
    assert all(torch.equal(x, y) for x, y in zip(first, reversed(again), strict=True))
    assert {int((picture[0, :, 4] == 0).sum()) > 3 for picture in first} >= {True, False} or len(first) > 9


def test_a_torch_that_chooses_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    transform = v2.RandomChoice([v2.Resize(8)])
    assert compile(transform).native
    monkeypatch.setattr(
        torch, "multinomial", lambda p, n, generator=None: torch.rand(p.shape, generator=generator).argmax()
    )
    containers._chooses.cache_clear()
    try:
        line = compile(transform).report[0]
        assert not line.native and "chooses in a way" in line.what
    finally:
        containers._chooses.cache_clear()


def test_what_is_told() -> None:
    transform = v2.RandomChoice([v2.RandomOrder([v2.Pad(1), v2.Identity()]), v2.RandomHorizontalFlip()])
    what = compile(transform).report[0].what
    assert (
        what.startswith("random choice: members (random order: members (pad: ")
        and "(nothing)) (hflip: p 0.5)" in what
    )

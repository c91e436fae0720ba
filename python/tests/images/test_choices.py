"""RandomChoice and RandomOrder, natively: the same samples, draws and generators."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader as TorchLoader
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast._images import compose_calls
from gofast._plan import containers
from gofast._plan.compile import compile
from image_data import make_folder
from same import difference, seeded

PICTURES = 24  # of `folder`
JITTER = (0.4, 0.4, 0.3, 0.1)
FLOATS = {v1: [v1.ToTensor()], v2: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]}


def chains(m: Any) -> dict[str, list[Any]]:
    """Steps that leave pictures of 24 x 24."""
    crops = [m.RandomResizedCrop(24), m.Compose([m.Resize(30), m.CenterCrop(24)]), m.RandomCrop(24, 9, True)]
    mix = [m.RandomHorizontalFlip(), m.ColorJitter(*JITTER), m.RandomSolarize(99), m.RandomRotation(30)]
    nothing = m.Compose([m.Pad(0)])
    nested = m.RandomOrder(
        [
            m.RandomChoice(mix),
            m.RandomApply(mix[:2]),
            m.RandomOrder([*mix[1:], nothing]),
            v2.RandomChoice(mix),
        ]
    )
    augment = [m.TrivialAugmentWide(), m.RandAugment(), m.AutoAugment(), m.GaussianBlur(5), *mix]
    by_size = [m.RandomResizedCrop((40, 30)), m.RandomCrop(33, 4, True)]
    blurs = [m.RandomChoice([m.GaussianBlur(3), m.GaussianBlur(5)]), m.GaussianBlur(7)]
    return {
        "choice of crops": [m.RandomChoice(crops)],
        "choice by p": [m.RandomChoice(crops, p=[0.1, 5, 2.5]), m.RandomHorizontalFlip()],
        "choice of one": [m.RandomChoice(crops[:1]), m.RandomVerticalFlip()],
        "never the first": [m.RandomChoice([m.Resize((24, 24)), *crops], p=[0, 1, 1, 1])],
        "choice of nothing": [
            crops[0],
            m.RandomChoice([nothing, m.RandomGrayscale(0.5), m.Compose([nothing])]),
        ],
        "choice of sizes": [m.RandomChoice([m.Resize(40), m.Pad(9), m.CenterCrop(70)]), crops[2]],
        "choice of augmentations": [crops[0], m.RandomChoice(augment)],
        "order": [crops[0], m.RandomOrder(mix)],
        "order of sizes": [m.RandomOrder([m.RandomCrop(40, None, True), m.Resize(50), *mix]), crops[1]],
        "order of draws by size": [m.RandomOrder(by_size), crops[2]],
        "order of one": [m.RandomOrder([m.RandomCrop(24, 3, True)]), m.CenterCrop(24), *mix[:1]],
        "nested": [nested, crops[0], nested],
        "applied": [m.RandomApply([m.RandomChoice([m.Pad(3), m.RandomOrder(mix)])], 0.7), crops[0]],
        "blurs": [crops[0], m.RandomOrder(blurs)],
    }


def tensors(m: Any) -> dict[str, list[Any]]:
    """The same, and then steps on tensors."""
    flips = [m.RandomHorizontalFlip(), m.RandomVerticalFlip()]
    erasings = [m.RandomErasing(0.9), m.RandomErasing(1.0, value=7)]
    normal = [m.RandomResizedCrop(24), *FLOATS[m], m.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])]
    return {
        "flips": [*normal, m.RandomChoice(flips), m.RandomOrder(flips)],
        "erasings": [*normal, m.RandomChoice([*erasings, *flips]), *flips, *erasings],
        "bytes": [normal[0], m.PILToTensor(), m.RandomChoice(flips), m.RandomOrder(flips)],
    }


MODULES = pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])


def all_chains(m: Any = v2) -> dict[str, list[Any]]:
    return {**{name: [*steps, *FLOATS[m]] for name, steps in chains(m).items()}, **tensors(m)}


def same_epochs(folder: Path, transform: Any, **options: Any) -> None:
    """Two epochs of torch's loader over torchvision's folder, and of ours over ours."""

    def epochs(dataset: Any, loader: Any) -> list[Any]:
        made = loader(dataset, batch_size=5, shuffle=True, **options)
        return [batch for _ in range(2) for batch in made]

    want, after = seeded(1, lambda: epochs(datasets.ImageFolder(folder, transform), TorchLoader))
    made, own_after = seeded(1, lambda: epochs(gofast.ImageFolder(folder, transform), gofast.DataLoader))
    assert not difference(made, want, True)
    assert own_after == after


@MODULES
@pytest.mark.parametrize("name", list(all_chains()))
def test_native_and_the_same(folder: Path, m: Any, name: str) -> None:
    transform = m.Compose(all_chains(m)[name])
    assert compile(transform).native
    same_epochs(folder, transform)


def seeds(worker: int) -> None:
    """What scripts give as worker_init_fn."""
    random.seed(torch.initial_seed() % 2**32 + worker)


def mixes(samples: list[Any]) -> Any:
    """A collate function that draws from all three generators."""
    images, labels = torch.utils.data.default_collate(samples)
    return images * random.random() + torch.rand(1), labels, np.random.rand()


WORKERS: dict[str, dict[str, Any]] = {
    "one": {"num_workers": 1},
    "three": {"num_workers": 3},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "seeded": {"num_workers": 2, "worker_init_fn": seeds},
    "collated": {"num_workers": 2, "collate_fn": mixes},
    "collated here": {"collate_fn": mixes},
}


@pytest.mark.daily
@MODULES
@pytest.mark.filterwarnings("ignore:This DataLoader")  # of more workers than processors
@pytest.mark.parametrize("options", list(WORKERS))
@pytest.mark.parametrize("name", ["choice by p", "order of sizes", "nested", "erasings"])
def test_as_torchs_workers(folder: Path, m: Any, name: str, options: str) -> None:
    same_epochs(folder, m.Compose(all_chains(m)[name]), **WORKERS[options])


@MODULES
def test_in_torchs_workers(folder: Path, m: Any) -> None:
    transform = m.Compose(all_chains(m)["nested"])
    made = []
    for kind in (datasets.ImageFolder, gofast.ImageFolder):
        torch.manual_seed(4)
        made.append(list(TorchLoader(kind(folder, transform), batch_size=5, num_workers=2)))
    assert not difference(made[1], made[0], True)


@MODULES
def test_a_decoder(folder: Path, m: Any) -> None:
    transform = m.Compose(all_chains(m)["nested"])
    files = [path.read_bytes() for path in sorted(folder.glob("*/*"))]

    def each() -> torch.Tensor:
        return torch.stack([transform(Image.open(io.BytesIO(file)).convert("RGB")) for file in files])

    want, after = seeded(5, each)
    made, own_after = seeded(5, lambda: gofast.Decoder(transform)(files))
    assert torch.equal(made, want) and own_after == after


@MODULES
def test_too_small_for_a_member(folder: Path, m: Any) -> None:
    """The error of the same sample, with the same draws behind it."""
    transform = m.Compose([m.Resize((24, 24)), m.RandomChoice([m.Pad(0), m.RandomCrop(25)]), *FLOATS[m]])

    def until(dataset: Any) -> Any:
        made = []
        with pytest.raises(ValueError, match=r"Required crop size \(25, 25\)"):
            for i in range(len(dataset)):
                made.append(dataset[i][0])
        return made

    want, after = seeded(6, lambda: until(datasets.ImageFolder(folder, transform)))
    made, own_after = seeded(6, lambda: until(gofast.ImageFolder(folder, transform)))
    assert not difference(made, want, True) and own_after == after


@MODULES
@pytest.mark.filterwarnings("ignore::gofast.errors.BadSampleWarning")
def test_other_pictures_in_the_place_of_bad_ones(tmp_path: Path, m: Any) -> None:
    make_folder(tmp_path, 9)
    (tmp_path / "class 1" / "001.jpg").write_bytes(b"none")
    transform = m.Compose(all_chains(m)["nested"])
    dataset = gofast.ImageFolder(tmp_path, transform, on_error="replace")

    def batches() -> list[Any]:
        return list(gofast.DataLoader(dataset, batch_size=9))

    (first, state), (second, again) = seeded(7, batches), seeded(7, batches)
    assert not difference(first, second, True) and state == again


@MODULES
@pytest.mark.parametrize("name", list(chains(v2)))
def test_what_is_handed_over(folder: Path, m: Any, name: str) -> None:
    """PIL images and what they say beside pixels, and draws that take turns with Python's."""
    transform = m.Compose([*chains(m)[name], m.Lambda(said)])
    theirs, ours = datasets.ImageFolder(folder, transform), gofast.ImageFolder(folder, transform)
    want, after = seeded(2, lambda: [theirs[i] for i in range(len(theirs))])
    made, own_after = seeded(2, lambda: [ours[i] for i in range(len(ours))])
    assert made == want and own_after == after


def said(image: Any) -> Any:
    return (
        image.size,
        image.mode,
        image.tobytes(),
        sorted(map(str, image.info)),
        torch.rand(1).item(),
        random.random(),
    )


@MODULES
@pytest.mark.parametrize("name", list(all_chains()))
def test_lazy_pictures(folder: Path, m: Any, name: str) -> None:
    transform = m.Compose(all_chains(m)[name])
    paths = sorted(folder.glob("*/*"))

    def all_of(opener: Callable[[Any], Image.Image]) -> list[Any]:
        return [transform(opener(path).convert("RGB")) for path in paths]

    want, after = seeded(3, lambda: all_of(Image.open))
    before = compose_calls.counts["native"]
    made, own_after = seeded(3, lambda: all_of(gofast.open))
    assert not difference(made, want, True)
    assert own_after == after and compose_calls.counts["native"] == before + len(paths)


@MODULES
def test_draws_of_each_samples_own(folder: Path, m: Any) -> None:
    """The same for every order of the samples; every member happens."""
    members = [m.RandomSolarize(0, p=1.0), m.Grayscale(3), m.Pad(0)]
    first, last = m.Resize((9, 9)), m.PILToTensor()
    transform = m.Compose([first, m.RandomChoice(members), last])
    dataset = gofast.ImageFolder(folder, transform, rng="stateless")
    count, chosen = len(dataset), set()
    made = [dataset[i][0] for i in range(count)]
    again = [dataset[i][0] for i in reversed(range(count))]
    for picture, other, (path, _) in zip(made, reversed(again), dataset.samples, strict=True):
        assert torch.equal(picture, other)
        small = first(Image.open(path).convert("RGB"))
        chosen.add([torch.equal(picture, last(member(small))) for member in members].index(True))
    assert chosen == {0, 1, 2}


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


def test_a_changed_random(monkeypatch: pytest.MonkeyPatch) -> None:
    transform = v1.Compose([v1.RandomChoice([v1.Pad(1)]), v1.RandomOrder([v1.Pad(1)])])
    assert compile(transform).native
    for name, value in (("choices", lambda *args, **named: args[0][:1]), ("_inst", random.SystemRandom())):
        with monkeypatch.context() as changed:
            changed.setattr(random, name, value)
            line = compile(transform).report[0]
            assert not line.native and line.what == "random was replaced"
    assert compile(transform).native


def test_what_is_told() -> None:
    transform = v2.RandomChoice([v2.RandomOrder([v2.Pad(1), v2.Identity()]), v2.RandomHorizontalFlip()])
    what = compile(transform).report[0].what
    assert (
        what.startswith("random choice: members (random order: members (pad: ")
        and "(nothing)) (hflip: p 0.5)" in what
    )

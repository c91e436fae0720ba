"""Lazy images under transforms: torchvision's, in anybody's class, and in ImageFolder."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import v2
from torchvision.transforms._presets import ImageClassification

import gofast
from gofast._images import compose_calls
from gofast._plan.compile import compile
from image_data import make_folder, photograph
from same import difference, seeded

PICTURES = 18  # of `folder`
NORMALIZE = ([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])


def chains() -> dict[str, Callable[[Any], Any]]:
    jitter = v1.RandomApply([v1.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8)
    crop = v1.RandomResizedCrop(24, scale=(0.2, 1.0))
    stacked = v1.Lambda(lambda crops: torch.stack([v1.ToTensor()(crop) for crop in crops]))
    floats = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    return {
        "basic": v1.Compose([crop, v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(*NORMALIZE)]),
        "simclr": v1.Compose([crop, jitter, v1.RandomGrayscale(0.2), v1.ToTensor()]),
        "val": v1.Compose([v1.Resize(30), v1.CenterCrop(24), v1.PILToTensor()]),
        "nested": v1.Compose([v1.Compose([v1.Resize((20, 22))]), v1.RandomCrop(16, 4), v1.ToTensor()]),
        "own": v1.Compose([crop, v1.Lambda(lambda image: image.rotate(90)), v1.ToTensor()]),
        "tail": v1.Compose([crop, v1.ToTensor(), v1.Lambda(lambda x: x * 2 + torch.rand(1))]),
        "no size": v1.Compose([v1.RandomHorizontalFlip(), v1.ToTensor()]),
        "v2": v2.Compose([v2.RandomResizedCrop(24, antialias=True), v2.RandomVerticalFlip(), *floats]),
        "v2 normalize": v2.Compose([v2.Resize((20, 20)), *floats, v2.Normalize(*NORMALIZE)]),
        "ten": v1.Compose([v1.Resize((30, 33)), v1.TenCrop(24), stacked]),
        "blur": v1.Compose([crop, v1.GaussianBlur(5), v1.ToTensor()]),
        "preset": ImageClassification(crop_size=24, resize_size=30),
        "auto": v1.Compose([crop, v1.TrivialAugmentWide(), v1.ToTensor(), v1.RandomErasing(0.5)]),
    }


class Crops:
    """As DINO's and SimCLR's scripts have it."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform

    def __call__(self, image: Any) -> list[Any]:
        return [self.transform(image) for _ in range(3)] + [random.random(), float(np.random.rand())]


@pytest.mark.parametrize("name", list(chains()))
def test_composes_give_what_torchvision_gives(folder: Path, name: str) -> None:
    transform = Crops(chains()[name])
    paths = sorted(folder.glob("*/*"))

    def all_of(opener: Callable[[Any], Image.Image]) -> list[Any]:
        made = []
        for path in paths:
            with open(path, "rb") as file:
                image = opener(file).convert("RGB")
            made.append(transform(image))
        return made

    want, after = seeded(3, lambda: all_of(Image.open))
    before = compose_calls.counts["native"]
    made, own_after = seeded(3, lambda: all_of(gofast.open))
    assert not difference(made, want, True)
    assert own_after == after
    natively = compose_calls.counts["native"] - before
    assert natively == (0 if name in ("own", "no size") else 54) or name == "auto"


def test_a_changed_compose_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(folder.glob("*/*.jpg"))
    transform = v1.Compose([v1.Resize((20, 20)), v1.ToTensor(), v1.Normalize([0.5], [0.5])])

    def same() -> Any:
        made = transform(gofast.open(path).convert("RGB"))
        assert not difference(made, transform(Image.open(path).convert("RGB")), True)
        return made

    same()
    transform.transforms[0].size = (10, 12)
    assert same().shape == (3, 10, 12)
    transform.transforms[2].mean[0] = 0.1
    first = same()
    transform.transforms.pop()
    assert not torch.equal(same(), first)
    handle = transform.transforms[0].register_forward_hook(lambda module, args, out: out.crop((0, 0, 5, 5)))
    assert same().shape == (3, 5, 5)
    handle.remove()
    monkeypatch.setattr(v1.ToTensor, "__call__", lambda self, image: "mine")
    assert transform(gofast.open(path).convert("RGB")) == "mine"
    monkeypatch.undo()
    torch.set_default_dtype(torch.float64)
    try:
        assert same().dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_composes_are_left_alone_otherwise(folder: Path) -> None:
    gofast.open(next(folder.glob("*/*.jpg")))
    assert v1.Compose([len])("four") == 4
    assert v2.Compose([lambda a, b: (b, a)])(1, 2) == (2, 1)
    assert compile(v1.Compose([v1.Resize((4, 4)), v1.ToTensor()])).native  # nobody takes it for tampered with
    with pytest.raises(ValueError, match="larger"):
        v1.Compose([v1.RandomCrop(999), v1.ToTensor()])(gofast.open(next(folder.glob("*/*.jpg"))))
    compose_calls.leave()
    assert not hasattr(v1.Compose.__call__, "__wrapped__")


def folders(root: Path, transform: Any, **options: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gofast.errors.FallbackWarning)
        mine = gofast.ImageFolder(str(root), transform, **options)
    return [torchvision.datasets.ImageFolder(str(root), transform), mine]


def test_folder_hands_late_pictures_to_own_code(folder: Path) -> None:
    seen = []

    def own(image: Any) -> Any:
        seen.append((type(image), image.mode, image.info))
        return image.crop((1, 1, 12, 15)).resize((9, 9)), image.getpixel((0, 0))

    for transform in (Crops(chains()["simclr"]), own, lambda image: image.transpose(0), lambda image: 5):
        seen.clear()
        theirs, ours = folders(folder, transform)
        want, after = seeded(3, lambda data=theirs: [data[i] for i in range(18)])
        said = [info for _, _, info in seen]
        seen.clear()
        made, own_after = seeded(3, lambda data=ours: [data[i] for i in range(18)])
        assert own_after == after
        assert [info for _, _, info in seen] == said
        for (a, _), (b, _) in zip(made, want, strict=True):
            if isinstance(b, Image.Image):
                assert type(a) is type(b) and a == b
            elif isinstance(b, tuple):
                assert np.array_equal(a[0], b[0]) and a[1] == b[1]
            else:
                assert not difference(a, b, True)


@pytest.mark.parametrize("transform", [Crops(chains()["simclr"]), lambda image: 5])
def test_damage_in_the_middle_of_a_transform(tmp_path: Path, transform: Any) -> None:
    root = make_folder(tmp_path / "pictures", 12)
    bad = sorted(root.glob("*/*.jpg"))[2]
    bad.write_bytes(bad.read_bytes()[:400])
    theirs, ours = folders(root, transform)
    sample = [path for path, _ in theirs.samples].index(str(bad))

    def all_of(data: Any) -> list[Any]:
        made = []
        for i in range(len(data)):
            try:
                made.append(data[i])
            except OSError as error:
                made.append(str(error).split(": ")[-1].split(" (")[0])
        return made

    want, after = seeded(3, lambda: all_of(theirs))
    made, own_after = seeded(3, lambda: all_of(ours))
    assert own_after == after
    assert isinstance(made[sample], str) and isinstance(want[sample], str)
    assert not difference(made[:sample] + made[sample + 1 :], want[:sample] + want[sample + 1 :], True)
    with pytest.raises(gofast.errors.BadImageError):
        ours[sample]
    _, zero = folders(root, transform, on_error="zero")
    with pytest.warns(gofast.errors.BadSampleWarning):
        zero[sample]
    assert list(zero.bad_samples()) == [str(bad)]


@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_a_cut_file_is_a_bad_sample(tmp_path: Path) -> None:
    """It lacks its end: where the lazy image is converted, that shows already."""
    path = tmp_path / "cut.jpg"
    photograph(3, 160, 120).save(path)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(gofast.errors.BadImageError, match="sample 0"):
        gofast.ImageFiles([path], transform=lambda image: image.size)[0]
    with pytest.warns(gofast.errors.BadSampleWarning):
        assert gofast.ImageFiles([path], transform=lambda image: image.size, on_error="zero")[0] == (160, 120)

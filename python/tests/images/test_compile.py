"""compile: what of a torchvision transform runs natively, what in Python, and why."""

from __future__ import annotations

import enum
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2

from beside_torchvision import same_folder
from gofast._plan import transforms
from gofast._plan.compile import compile
from gofast._plan.translate import draws
from image_data import save_folder
from picture_chains import MEAN, STD, quiet, scene


class OwnResize(v1.Resize):
    def forward(self, img):
        return img


class OwnCompose(v1.Compose):
    def __call__(self, img):
        return super().__call__(img)


class OwnTransform(v2.Transform):
    def transform(self, inpt, params):
        return inpt


def own(image):
    return image


TO_FLOATS = [v1.ToTensor(), v1.Normalize(MEAN, STD)]
RESIZED = {"op": "resize", "size": [16], "max_size": None, "filter": "bilinear"}

# -- wholly native -------------------------------------------------------------

# What each becomes is torchvision's own, on pictures.
NATIVE: dict[str, Any] = {
    "none": None,
    "empty": v1.Compose([]),
    "train": v1.Compose([v1.RandomResizedCrop(32), v1.RandomHorizontalFlip(), *TO_FLOATS]),
    "sequential": torch.nn.Sequential(v1.Resize((20, 30)), v2.PILToTensor(), v2.ConvertImageDtype()),
    "nested": v1.Compose(
        [v2.Compose([v2.Resize([24])]), torch.nn.Sequential(v1.Grayscale(3)), v1.ToTensor()]
    ),
    "resize max_size": v1.Resize(24, max_size=40),
    "resize None": v2.Resize(None, max_size=40),
    "resize antialias": v1.Resize(24, antialias=None),
    "resize numpy": v1.Resize((np.int64(24), np.int32(25))),
    "nearest-exact": v1.Resize(24, InterpolationMode.NEAREST_EXACT),
    "center crop list": v2.CenterCrop([20, 24]),
    "center crop one": v1.CenterCrop((20,)),
    "pad two": v2.Pad((1, 2)),
    "pad four": v1.Pad([1, 2, 3, 4], fill=7),
    "pad fill": v2.Pad(1, fill=(1, 2.9, 3)),
    "pad fill one": v1.Pad(1, fill=(9,)),
    "pad fill others": v2.Pad(1, fill={tv_tensors.Mask: 1, "others": 2}),
    "pad fill of PIL": v2.Pad(1, fill={Image.Image: 3, "others": 2}),
    "pad fill of masks": v2.Pad(1, fill={tv_tensors.Mask: 1}),
    "pad fill None": v2.Pad(1, fill=None),
    "pad mode": v1.Pad(1, fill=9, padding_mode="reflect"),
    "random crop v1": v1.RandomCrop(32, padding=4),
    "random crop v2": v2.RandomCrop(32, padding=(1, 2, 3, 4)),
    "random crop v2 two": v2.RandomCrop(32, padding=(1, 2)),
    "random crop v2 zero": v2.RandomCrop(32, padding=0),
    "random crop needed": v1.RandomCrop((62, 62), pad_if_needed=True, fill=(1, 2, 3)),
    "random crop mirrored": v2.RandomCrop(50, padding=1, pad_if_needed=True, padding_mode="symmetric"),
    "resized crop": v2.RandomResizedCrop((32, 32), (0.5, 1), [1, 1], "bicubic"),
    "grey normalized": v1.Compose([v1.Grayscale(), v1.ToTensor(), v1.Normalize(0.5, 0.25)]),
    "solarize": v1.RandomSolarize(127.5),
    "solarize a tensor": v2.Compose([v2.ToImage(), v2.RandomSolarize(128.0000001, 0.25)]),  # 128 as a float32
    "jitter none v1": v1.ColorJitter(),
    "jitter none v2": v2.ColorJitter(),
    "jitter": v1.ColorJitter(0.5, (0.5, 2), hue=0.25),
    "uint8": v2.Compose([v2.PILToTensor(), v2.ToDtype(torch.uint8, scale=True)]),
    "tv image": v2.Compose([v2.ToImage(), v2.ToImage()]),
    "pure": v2.Compose([v2.ToPureTensor(), v2.ToImage(), v2.ToPureTensor(), v2.Identity()]),
    "tensor to tv image": v2.Compose([v2.PILToTensor(), v2.ToImage()]),
    "v2 ToTensor": v2.Compose([quiet(v2.ToTensor), quiet(v2.ToTensor), v2.PILToTensor()]),
    "ToDtype of PIL": v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.ToDtype({"others": None})]),
    "cast": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]),
    "v2 ConvertImageDtype": v2.Compose([v2.ToImage(), v2.ConvertImageDtype()]),
    "half": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float16, scale=True)]),
    "bfloat16": v1.Compose([*TO_FLOATS, v1.ConvertImageDtype(torch.bfloat16), v1.RandomErasing()]),
    "normalize by tensors": v1.Compose([v1.ToTensor(), v1.Normalize(torch.tensor(MEAN), np.array(STD))]),
    "normalize by one": v1.Compose([v1.ToTensor(), v2.Normalize([0.5], [1], inplace=True)]),
    "erasing v1": v1.Compose([v1.ToTensor(), v1.RandomErasing(0.25, value=(1, 2, 3))]),
    "erasing v2": v2.Compose([v2.ToImage(), v2.RandomErasing(value=7)]),
    "apply": v1.RandomApply([v1.Compose([v1.ColorJitter(hue=0.25)]), v1.RandomGrayscale()], 0.8),
    "apply of modules": v2.RandomApply(torch.nn.ModuleList([v2.RandomApply([v2.Pad(1)])]), 0.5),
    "choice": v2.RandomChoice([v2.Pad(1), v2.Compose([v2.RandomHorizontalFlip()])], p=[3, 1]),
    "choice v1": v1.RandomChoice([v1.Pad(1), v1.RandomHorizontalFlip(), v1.Compose([])], [1, 0.5, 2]),
    "order v1": v1.RandomOrder((v1.RandomChoice([v1.Pad(1), v1.Pad(1)]), v1.RandomHorizontalFlip())),
    "order": v2.RandomOrder([v2.RandomOrder([v2.Pad(1)]), v2.RandomHorizontalFlip()]),
    "apply of a tensor": v1.Compose([v1.ToTensor(), v1.RandomApply([v1.RandomHorizontalFlip()])]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("pictures"), [scene(50, 40, 1), scene(37, 61, 2)])


@pytest.mark.parametrize("case", NATIVE)
def test_wholly_native(folder: Path, case: str) -> None:
    transform = NATIVE[case]
    plan = compile(transform)
    assert plan.native and plan.rest == [] and plan.rest_draws is False and not plan.in_order
    assert all(line.native and line.what for line in plan.report)
    assert json.loads(json.dumps(plan.steps, allow_nan=False)) == plan.steps
    assert compile(transform) == plan
    same_folder(folder, [] if transform is None else [transform], rounds=3)


@pytest.mark.parametrize("mode", list(InterpolationMode))
def test_filters(mode: InterpolationMode) -> None:
    """As an enum, as its value (v2), and as Pillow's number."""
    number = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
    name = "nearest" if mode is InterpolationMode.NEAREST_EXACT else mode.value
    for transform in (
        v1.Resize(8, mode),
        v2.Resize(8, mode),
        v2.Resize(8, mode.value),
        v1.Resize(8, number[name]),
        v2.Resize(8, number[name]),
        v1.RandomResizedCrop(8, interpolation=mode),
        v2.RandomResizedCrop(8, interpolation=mode.value),
    ):
        assert compile(transform).steps[0]["filter"] == name
    image = scene(40, 30, 1)
    expected = np.array(image.resize((9, 7), number[name]))
    assert np.array_equal(np.array(v1.Resize((7, 9), mode)(image)), expected)
    assert np.array_equal(np.array(v2.Resize((7, 9), mode)(image)), expected)


# -- with a Python rest --------------------------------------------------------


def hooked(transform: torch.nn.Module) -> torch.nn.Module:
    transform.register_forward_hook(lambda module, inputs, output: output)
    return transform


def applied(times: int) -> v1.RandomApply:
    """RandomApply in one another so many times, or in itself."""
    outer = inner = v1.RandomApply([v1.RandomHorizontalFlip()])
    for _ in range(times - 1):
        outer = v1.RandomApply([outer])
    if not times:
        inner.transforms.append(inner)
    return outer


def pre_hooked(transform: torch.nn.Module) -> torch.nn.Module:
    transform.register_forward_pre_hook(lambda module, inputs: inputs)
    return transform


def with_attributes(transform: object, **attributes: object) -> object:
    for name, value in attributes.items():
        setattr(transform, name, value)
    return transform


def without(transform: object, name: str) -> object:
    delattr(transform, name)
    return transform


def cyclic() -> v1.Compose:
    compose = v1.Compose([])
    compose.transforms.append(compose)
    return compose


# A transform that must run in Python, and a word of the reason.
PYTHON = {
    "own function": (own, "your own code"),
    "own v2": (OwnTransform(), "your own code"),
    "Lambda v1": (v1.Lambda(own), "your own code"),
    "not callable": (5, "not callable"),
    "subclass": (OwnResize(8), "a subclass of Resize"),
    "own Compose": (OwnCompose([v1.Resize(8)]), "a subclass of Compose"),
    "odd Compose": (v1.Compose(iter([v1.Resize(8)])), "not a plain list"),
    "cycle": (cyclic(), "not a plain list"),
    "hook": (hooked(v1.Resize(8)), "has hooks"),
    "pre-hook": (pre_hooked(v2.Resize(8)), "has hooks"),
    "hook on Compose": (hooked(v2.Compose([v2.Resize(8)])), "has hooks"),
    "hook on Sequential": (hooked(torch.nn.Sequential(v1.Resize(8))), "has hooks"),
    "odd Sequential": (with_attributes(torch.nn.Sequential(), forward=own), "a changed nn.Sequential"),
    "more attributes": (with_attributes(v1.Resize(8), sharp=True), "unknown version"),
    "own forward": (with_attributes(v1.Resize(8), forward=own), "unknown version"),
    "fewer attributes": (without(v1.Resize(8), "antialias"), "unknown version"),
    "RandAugment": (v1.RandAugment(), "its translations depend on the picture's size"),
    "AutoAugment": (v2.AutoAugment(), "its translations depend on the picture's size"),
    "TrivialAugmentWide filter": (
        v1.TrivialAugmentWide(interpolation=InterpolationMode.BOX),
        "transforms by box",
    ),
    "TrivialAugmentWide fill": (v2.TrivialAugmentWide(fill=(1, 2)), "unusual fill=[1.0, 2.0]"),
    "posterize": (v1.RandomPosterize(0), "unusual bits=0"),
    "rotation backwards": (with_attributes(v1.RandomRotation(3), degrees=(3, -3)), "unusual degrees=(3, -3)"),
    "affine center": (with_attributes(v2.RandomAffine(3), center=(1, 2, 3)), "unusual center=(1, 2, 3)"),
    "choice v1 p": (v1.RandomChoice([v1.Resize(8), v1.Pad(1)], [1, -1]), "unusual p"),
    "choice v1 short p": (v1.RandomChoice([v1.Resize(8), v1.Pad(1)], [1]), "unusual p"),
    "choice v1 no p": (v1.RandomChoice([v1.Resize(8)], [0.0]), "unusual p"),
    "choice v1 array": (with_attributes(v1.RandomChoice([v1.Resize(8)]), p=np.ones(1)), "unusual p"),
    "order v1 own": (v1.RandomOrder([v1.Resize(8), own]), "own in it: your own code"),
    "choice own": (v2.RandomChoice([v2.Resize(8), v2.Compose([own])]), "own in it: your own code"),
    "choice conversion": (v2.RandomChoice([v2.ToImage(), v2.ToImage()]), "decides what the sample becomes"),
    "choice p": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[-1.0]), "unusual p"),
    "choice p of ints": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[1]), "unusual p"),
    "choice no p": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[0.0]), "unusual p"),
    "choice of many": (v2.RandomChoice([v2.Identity()] * 65), "not 1 to 64"),
    "order conversion": (v2.RandomOrder([v2.Grayscale(), v2.Resize(8)]), "decides what the sample becomes"),
    "blur of any size": (v1.GaussianBlur(3), "blurs pictures whose sizes differ"),
    "elastic": (v2.ElasticTransform(), "there is no native one"),
    "perspective far": (
        with_attributes(v1.RandomPerspective(), distortion_scale=1.5),
        "unusual distortion_scale=1.5",
    ),
    "perspective filter": (v2.RandomPerspective(interpolation="box"), "transforms by box: Pillow raises"),
    "perspective named filter": (v1.RandomPerspective(interpolation="nearest"), "torchvision raises"),
    "size float": (v1.CenterCrop((2.5, 3)), "unusual size"),
    "size zero": (v1.CenterCrop(0), "unusual size"),
    "size huge": (v1.CenterCrop(1 << 24), "unusual size"),
    "size None in v1": (with_attributes(v1.Resize(8), size=None, max_size=9), "unusual size"),
    "max_size small": (v1.Resize(8, max_size=8), "torchvision raises"),
    "max_size and two": (v2.Resize((8, 9), max_size=10), "torchvision raises"),
    "interpolation": (with_attributes(v1.Resize(8), interpolation="bil"), "unusual interpolation"),
    "padding negative": (v1.Pad(-1), "unusual padding"),
    "padding float": (v1.Pad(1.5), "unusual padding"),
    "fill channels": (v1.Pad(1, fill=(1, 2)), "unusual fill"),
    "fill large": (v1.Pad(1, fill=256), "unusual fill"),
    "fill of masks and PIL": (v2.Pad(1, fill={Image.Image: 300}), "unusual fill"),
    "padding_mode": (v1.RandomCrop(8, padding_mode="wrap"), "unusual padding_mode"),
    "padding_mode array": (v1.RandomCrop(8, padding_mode=np.zeros(2)), "unusual padding_mode"),
    "mirrored twice": (v1.RandomCrop(8, 1, True, padding_mode="reflect"), "mirrors the picture twice"),
    "p above 1": (v1.RandomHorizontalFlip(1.5), "unusual p"),
    "scale": (quiet(v1.RandomResizedCrop, 8, scale=(1, 0.5)), "unusual scale"),
    "ratio": (v1.RandomResizedCrop(8, ratio=(0, 1)), "unusual ratio"),
    "grey channels": (v1.Grayscale(2), "unusual num_output_channels"),
    "solarize": (v1.RandomSolarize(-1), "unusual threshold"),
    "hue": (with_attributes(v1.ColorJitter(hue=0.5), hue=(-1, 1)), "unusual hue"),
    "normalize PIL": (v2.Normalize(MEAN, STD), "needs a float tensor"),
    "convert PIL": (v1.ConvertImageDtype(torch.float32), "torchvision raises"),
    "erase PIL": (v2.RandomErasing(), "of a PIL image"),
    "apply own": (v1.RandomApply([own]), "own in it: your own code"),
    "apply conversion": (v1.RandomApply([v1.ToTensor()]), "decides what the sample becomes"),
    "apply hooked": (v2.RandomApply([hooked(v2.Resize(8))]), "Resize in it: has hooks"),
    "apply deep": (applied(101), "more than 100 lie in one another"),
    "apply itself": (applied(0), "more than 100 lie in one another"),
    "apply odd list": (v1.RandomApply({v1.Resize(8)}), "not a plain list"),
}


@pytest.mark.parametrize("case", PYTHON)
def test_runs_in_python(case: str) -> None:
    """In the middle of a chain: steps before it, and it and what follows untouched."""
    transform, reason = PYTHON[case]
    first, last = v1.Resize(16), v1.ToTensor()
    plan = compile(v1.Compose([first, transform, last]))
    assert plan.steps == [RESIZED]
    assert len(plan.rest) == 2 and plan.rest[0] is transform and plan.rest[1] is last
    assert plan.hands_over == "pil" and not plan.native
    assert [line.native for line in plan.report] == [True, False, False]
    assert reason in plan.report[1].what
    assert plan.report[1].cost == "decoded whole, one PIL image a sample"
    alone = compile(transform)
    assert alone.steps == [] and alone.rest == [transform]


# A transform that must run in Python behind a conversion, and a word of the reason.
PYTHON_BEHIND = {
    "resize": (v1.ToTensor(), v1.Resize(8), "torch's own arithmetic"),
    "RandAugment": (v1.ToTensor(), v2.RandAugment(), "torch's own arithmetic"),
    "rotation": (v1.ToTensor(), v1.RandomRotation(3), "torch's own arithmetic"),
    "equalize": (v1.ToTensor(), v2.RandomEqualize(), "torch's own arithmetic"),
    "center crop": (v1.PILToTensor(), v1.CenterCrop(8), "torch's own arithmetic"),
    "center crop of floats": (quiet(v2.ToTensor), v2.CenterCrop(8), "torch's own arithmetic"),
    "pad": (v2.ToImage(), v2.Pad(8, fill=1), "otherwise than with zeroes"),
    "pad by a mirror": (v2.ToImage(), v2.Pad(8, padding_mode="reflect"), "otherwise than with zeroes"),
    "pad by type": (v2.ToImage(), v2.Pad(8, fill={tv_tensors.Image: 1}), "otherwise than with zeroes"),
    "random crop": (v2.ToImage(), v2.RandomCrop(8, fill=7), "otherwise than with zeroes"),
    "resized crop": (v1.PILToTensor(), v1.RandomResizedCrop(8), "torch's own arithmetic"),
    "resized crop of floats": (v1.ToTensor(), v2.RandomResizedCrop(8), "torch's own arithmetic"),
    "nearest": (v2.ToImage(), v2.Resize(8, InterpolationMode.NEAREST), "by nearest"),
    "lanczos": (v2.ToImage(), v2.Resize(8, InterpolationMode.LANCZOS), "by lanczos"),
    "antialias": (v2.ToImage(), v2.Resize(8, antialias=False), "by bilinear, antialias=False"),
    "antialias None": (v2.ToImage(), v2.RandomResizedCrop(8, antialias=None), "antialias=False"),
    "grey": (v1.ToTensor(), v1.Grayscale(3), "torch's own arithmetic"),
    "random grey": (v1.ToTensor(), v1.RandomGrayscale(), "torch's own arithmetic"),
    "solarize": (v1.ToTensor(), v1.RandomSolarize(0.5), "torch's own arithmetic"),
    "solarize a float": (v1.ToTensor(), v2.RandomSolarize(0.5), "torch's own arithmetic"),
    "solarize nothing": (v2.ToImage(), v2.RandomSolarize(256), "unusual threshold"),
    "jitter": (v1.ToTensor(), v2.ColorJitter(0.5), "torch's own arithmetic"),
    "ToTensor twice": (v1.ToTensor(), v1.ToTensor(), "torchvision raises"),
    "PILToTensor twice": (v1.ToTensor(), v1.PILToTensor(), "torchvision raises"),
    "back": (v1.ToTensor(), v1.ToPILImage(), "there is no native one"),
    "normalize uint8": (v2.ToImage(), v2.Normalize(MEAN, STD), "torchvision raises"),
    "v1 of a tv image": (v2.ToImage(), v1.RandomHorizontalFlip(), "tv_tensors.Image"),
    "dict": (v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.float32}, scale=True), "dtype="),
    "float64": (v2.ToImage(), v2.ToDtype(torch.float64), "dtype="),
    "int16": (v2.ToImage(), v2.ToDtype(torch.int16), "dtype="),
    "back to uint8": (v1.ToTensor(), v1.ConvertImageDtype(torch.uint8), "float32 to uint8"),
    "std zero": (v1.ToTensor(), v1.Normalize(MEAN, [1, 1, 1e-60]), "std is zero"),
    "mean two": (v1.ToTensor(), v1.Normalize([1, 2], [1, 1]), "unusual mean"),
    "mean words": (v1.ToTensor(), v1.Normalize("abc", STD), "unusual mean"),
    "mean inf": (v1.ToTensor(), v1.Normalize(math.inf, STD), "unusual mean"),
    "std matrix": (v1.ToTensor(), v1.Normalize(MEAN, torch.ones(3, 1, 1)), "unusual std"),
    "normalize some": (v1.ToTensor(), v1.RandomApply([v1.Normalize(MEAN, STD)]), "some samples only"),
    "erasing random": (v1.ToTensor(), v1.RandomErasing(value="random"), "torch fills"),
    "erasing random v2": (v2.ToImage(), v2.RandomErasing(value="random"), "torch fills"),
    "erasing two": (v1.ToTensor(), v1.RandomErasing(value=(1, 2)), "unusual value"),
    "erasing uint8": (v2.ToImage(), v2.RandomErasing(value=0.5), "in a uint8 tensor"),
}


@pytest.mark.parametrize("case", PYTHON_BEHIND)
def test_runs_in_python_behind(case: str) -> None:
    conversion, transform, reason = PYTHON_BEHIND[case]
    chain = v1.Compose([v1.Resize((20, 24)), conversion, transform])
    plan = compile(chain)
    assert len(plan.rest) == 1 and plan.rest[0] is transform
    assert plan.hands_over == ("tv_image" if isinstance(conversion, v2.ToImage) else "tensor")
    assert reason in plan.report[2].what
    assert plan.report[2].cost.startswith("one ")


def test_solarizing_a_view() -> None:
    """Torch lays it out again only where it solarizes it: Python goes on before."""
    chain = v2.Compose([v2.Resize((9, 9)), v2.ToImage(), v2.CenterCrop(8), v2.RandomSolarize(9)])
    plan = compile(chain)
    assert plan.native
    assert len(compile(chain, handed=True).native_part) == 2


@pytest.mark.parametrize(
    "chain",
    [
        [v2.ToImage(), v2.RandomErasing(), v2.ToDtype(torch.float32, scale=True)],
        [v1.ToTensor(), v1.ConvertImageDtype(torch.float16), v1.Normalize(MEAN, STD)],
        [v1.ToTensor(), v1.ConvertImageDtype(torch.float16), v1.ConvertImageDtype(torch.float32)],
        [v1.Grayscale(), *TO_FLOATS],
        [v1.ToTensor(), v1.RandomErasing(), v1.Normalize(MEAN, STD)],
        [*TO_FLOATS, v1.Normalize(MEAN, STD)],
        [v1.ToTensor(), *9 * [v1.RandomErasing()]],
        [v1.Grayscale(), v1.Pad(1, fill=(1, 2, 3))],
    ],
)
def test_last_of_a_chain_in_python(chain: list[object]) -> None:
    assert compile(v1.Compose(chain)).rest == chain[-1:]


def test_nested_containers_are_cut_where_python_begins() -> None:
    chain = [v1.Resize(16), own, v1.ToTensor(), v2.RandomHorizontalFlip()]
    nested = v2.Compose([v1.Compose(chain[:1]), v1.Compose([v2.Compose(chain[1:3]), chain[3]])])
    plan = compile(nested)
    assert plan.steps == [RESIZED] and plan.rest == chain[1:]
    assert [line.name for line in plan.report] == ["Resize", "own", "ToTensor", "RandomHorizontalFlip"]
    what = ["your own code", "comes after own; native of a PIL image", "comes after own"]
    assert [line.what for line in plan.report[1:]] == what


def test_replaced_methods_run_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v1.RandomCrop, "get_params", staticmethod(lambda img, size: (0, 0, 8, 8)))
    assert "get_params was replaced" in compile(v1.RandomCrop(8)).report[0].what
    monkeypatch.setattr(v2.Resize, "transform", own)
    assert "transform was replaced" in compile(v2.Resize(8)).report[0].what
    monkeypatch.setattr(v1.Compose, "__call__", own)
    assert "__call__ was replaced" in compile(v1.Compose([v1.Resize(8)])).report[0].what


def test_unusual_processes_run_in_python() -> None:
    train = NATIVE["train"]
    torch.set_default_dtype(torch.float64)
    try:
        plan = compile(train)
    finally:
        torch.set_default_dtype(torch.float32)
    assert plan.steps == [] and len(plan.rest) == 4 and "default dtype" in plan.report[0].what
    with torch.device("meta"):
        assert "default device is meta" in compile(train).report[0].what
    hook = torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    try:
        assert "for all modules" in compile(train).report[0].what
    finally:
        hook.remove()
    assert compile(train).native


# -- what a plan says of itself ------------------------------------------------


SIZED = v1.Resize((9, 9))


@pytest.mark.parametrize(
    "steps, draws, needs_size, shape",
    [
        ([], False, False, None),
        ([v1.Resize(8)], False, False, None),
        ([v1.CenterCrop((8, 12)), v1.Resize(4)], False, False, [3, 4, 6]),
        ([v1.CenterCrop((24, 8)), v1.Resize(4, max_size=9)], False, False, [3, 9, 3]),
        ([v2.CenterCrop((8, 24)), v2.Resize(None, max_size=9)], False, False, [3, 3, 9]),
        ([v1.CenterCrop(8), v1.Pad((1, 2, 3, 4)), v1.Grayscale()], False, False, [1, 14, 12]),
        ([v1.ColorJitter()], True, False, None),
        ([v1.RandomCrop(8)], True, True, [3, 8, 8]),
        ([SIZED, v1.RandomCrop(8)], True, False, [3, 8, 8]),
        ([v1.ToTensor(), v1.RandomErasing()], True, True, None),
        ([SIZED, v1.RandomApply([v1.Pad(1)])], True, False, None),
        ([SIZED, v1.RandomApply([v1.Pad(1)]), v1.RandomCrop(8)], True, True, [3, 8, 8]),
        ([SIZED, v1.RandomApply([v1.RandomCrop(9)])], True, False, [3, 9, 9]),
        ([v2.RandomChoice([v2.RandomCrop(9), SIZED])], True, True, [3, 9, 9]),
        ([SIZED, v2.RandomOrder([v2.RandomCrop(9), v2.RGB()])], True, False, [3, 9, 9]),
        ([SIZED, v2.RandomOrder([v2.RandomCrop(8), v2.RGB()])], True, True, None),
    ],
)
def test_draws_and_shape(steps: list[Any], draws: bool, needs_size: bool, shape: list[int] | None) -> None:
    plan = compile(v1.Compose(steps))
    assert (plan.draws, plan.needs_size, plan.shape) == (draws, needs_size, shape)


@pytest.mark.parametrize(
    "rest, draws",
    [
        ([v1.FiveCrop(4)], False),
        ([v1.FiveCrop(4), v1.Lambda(own)], None),
        ([v1.FiveCrop(4), own, v1.RandomHorizontalFlip()], True),
        ([v2.ElasticTransform()], True),
        ([v2.ToPILImage()], False),
        ([hooked(v1.CenterCrop(4))], None),
        ([OwnResize(4)], None),
    ],
)
def test_rest_draws(rest: list[object], draws: bool | None) -> None:
    still = compile(v1.Compose([v1.Resize(8), *rest]))
    assert still.rest_draws is draws and not still.in_order
    moving = compile(v1.Compose([v1.RandomResizedCrop(8), *rest]))
    assert moving.rest_draws is draws and moving.in_order is (draws is not False)
    assert ("takes turns" in moving.report[1].cost) is moving.in_order
    assert moving.report[1].cost.startswith("one PIL image a sample")


@pytest.mark.parametrize(
    ("rest", "shown"),
    [
        ([], True),
        ([own, v1.ToTensor()], True),
        ([v1.ElasticTransform(), v1.ToTensor(), own], False),
        ([v1.ElasticTransform(), own, v1.ToTensor()], True),
        ([v1.FiveCrop(4), v1.Lambda(own)], True),
        ([v1.RandomApply([v1.ElasticTransform(), v1.GaussianBlur(3)]), v1.ToTensor()], False),
        ([v1.RandomApply([v1.Compose([own])]), v1.ToTensor()], True),
        ([v2.RandomChoice([v2.RandAugment(), own]), v2.ToImage()], True),
        ([hooked(v1.ElasticTransform()), v1.ToTensor()], True),
    ],
)
def test_who_sees_the_pil_image(rest: list[object], shown: bool) -> None:
    assert compile(v1.Compose([v1.Resize(8), *rest]), handed=True).shown is shown


def test_every_class_of_torchvision_is_known_to_draw_or_not() -> None:
    """The tables of classes follow torchvision; what is in none is never trusted."""
    unknown = set()
    for module in (v1, v2):
        for name in dir(module):
            kind = getattr(module, name)
            ours = isinstance(kind, type) and kind.__module__.startswith("torchvision.transforms")
            if ours and not issubclass(kind, enum.Enum):
                bare = kind.__new__(kind)
                if isinstance(bare, torch.nn.Module):
                    torch.nn.Module.__init__(bare)
                if transforms.identify(bare) is not None and draws(bare) is None:
                    unknown.add(name)
    assert unknown <= {
        *("Compose", "Lambda", "Transform"),
        *("ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "SetClampingMode"),
        *("CutMix", "MixUp", "SanitizeBoundingBoxes", "SanitizeKeyPoints", "UniformTemporalSubsample"),
    }


def test_torchvision_is_not_imported() -> None:
    """Neither by compile nor for somebody's own transforms."""
    code = (
        "import sys, torch\nfrom gofast._plan.compile import compile\n"
        "plan = compile(torch.nn.Sequential(torch.nn.Identity()))\n"
        "assert len(plan.rest) == 1 and compile(None).native and len(compile(len).rest) == 1\n"
        "assert 'torchvision' not in sys.modules and 'PIL' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_a_reason_is_one_short_line() -> None:
    plan = compile(v1.Compose([v1.ToTensor(), v1.Normalize(torch.rand(100, 3, 1), STD)]))
    assert len(plan.report[1].what) < 90 and "\n" not in plan.report[1].what

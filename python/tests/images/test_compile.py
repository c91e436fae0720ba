"""compile: what of a torchvision transform runs natively, what in Python, and why."""

from __future__ import annotations

import enum
import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from PIL import Image

torchvision = pytest.importorskip("torchvision")

from torchvision import transforms as v1  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import InterpolationMode, v2  # noqa: E402

from gofast._plan import transforms  # noqa: E402
from gofast._plan.compile import compile, format_report  # noqa: E402
from test_compiled_chains import MEAN, STD, check_what_is_handed_over, picture  # noqa: E402

NORMALIZE = {
    "op": "normalize",
    "mean": [float(np.float32(v)) for v in MEAN],
    "std": [float(np.float32(v)) for v in STD],
}
RESIZED_CROP = {
    "op": "random_resized_crop",
    "size": [32, 32],
    "scale": [0.08, 1.0],
    "ratio": [3 / 4, 4 / 3],
    "log_ratio": torch.log(torch.tensor((3 / 4, 4 / 3))).tolist(),
    "filter": "bilinear",
}
DIVIDE = {"op": "to_float", "how": "divide"}
MULTIPLY = {"op": "to_float", "how": "multiply"}
CAST = {"op": "to_float", "how": "cast"}
FLIP = {"op": "hflip", "p": 0.5}
UINT8 = {"op": "to_uint8"}


def resize(*size: int, max_size: int | None = None, filter: str = "bilinear") -> dict[str, object]:
    return {"op": "resize", "size": list(size), "max_size": max_size, "filter": filter}


def crop(version: str, **changes: object) -> dict[str, object]:
    step = {
        "op": "random_crop",
        "size": [32, 32],
        "padding": None,
        "pad_if_needed": False,
        "fill": [0, 0, 0],
        "mode": "constant",
        "version": version,
    }
    return step | changes


def pad(*padding: int, fill: tuple[int, int, int] = (0, 0, 0), mode: str = "constant") -> dict[str, object]:
    return {"op": "pad", "padding": list(padding), "fill": list(fill), "mode": mode}


def jitter(**ranges: list[float]) -> dict[str, object]:
    return {
        "op": "color_jitter",
        "brightness": None,
        "contrast": None,
        "saturation": None,
        "hue": None,
    } | ranges


def erasing(*value: float, p: float = 0.5) -> dict[str, object]:
    return {
        "op": "random_erasing",
        "p": p,
        "scale": [0.02, 0.33],
        "ratio": [0.3, 3.3],
        "log_ratio": torch.log(torch.tensor((0.3, 3.3))).tolist(),
        "value": list(value) * (3 // len(value)),
    }


def quiet(make: object, *arguments: object, **options: object) -> object:
    """v2.ToTensor warns when it is made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*arguments, **options)  # type: ignore[operator]


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


# -- wholly native -------------------------------------------------------------

# Each with the steps that it becomes.
NATIVE = {
    "none": (None, []),
    "empty": (v1.Compose([]), []),
    "v1 train": (
        v1.Compose(
            [v1.RandomResizedCrop(32), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)]
        ),
        [RESIZED_CROP, FLIP, DIVIDE, NORMALIZE],
    ),
    "v1 val": (
        v1.Compose([v1.Resize(40), v1.CenterCrop(32), v1.ToTensor(), v1.Normalize(MEAN, STD)]),
        [resize(40), {"op": "center_crop", "size": [32, 32]}, DIVIDE, NORMALIZE],
    ),
    "v2 train": (
        v2.Compose(
            [
                v2.RandomResizedCrop(32, antialias=True),
                v2.RandomHorizontalFlip(0.5),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(MEAN, STD),
            ]
        ),
        [RESIZED_CROP, FLIP, MULTIPLY, NORMALIZE],
    ),
    "v2 val of tensors": (
        v2.Compose(
            [
                v2.ToImage(),
                v2.Resize(40, InterpolationMode.BICUBIC),
                v2.CenterCrop(32),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(MEAN, STD),
            ]
        ),
        [resize(40, filter="torch_bicubic"), {"op": "center_crop", "size": [32, 32]}, MULTIPLY, NORMALIZE],
    ),
    "sequential": (
        torch.nn.Sequential(v1.Resize((20, 30)), v2.PILToTensor(), v1.ConvertImageDtype(torch.float32)),
        [resize(20, 30), DIVIDE],
    ),
    "nested": (
        v1.Compose([v2.Compose([v2.Resize([24])]), torch.nn.Sequential(v1.Grayscale(3)), v1.ToTensor()]),
        [resize(24), {"op": "grayscale", "channels": 3}, DIVIDE],
    ),
    "alone": (v1.ToTensor(), [DIVIDE]),
    "resize list": (v1.Resize([24]), [resize(24)]),
    "resize max_size": (v1.Resize(24, max_size=40), [resize(24, max_size=40)]),
    "resize None": (v2.Resize(None, max_size=40), [resize(max_size=40)]),
    "resize antialias": (v1.Resize(24, antialias=None), [resize(24)]),
    "resize numpy": (v1.Resize((np.int64(24), np.int32(25))), [resize(24, 25)]),
    "nearest-exact": (v1.Resize(24, InterpolationMode.NEAREST_EXACT), [resize(24, filter="nearest")]),
    "center crop list": (v2.CenterCrop([20, 24]), [{"op": "center_crop", "size": [20, 24]}]),
    "center crop one": (v1.CenterCrop((20,)), [{"op": "center_crop", "size": [20, 20]}]),
    "pad int": (v1.Pad(2), [pad(2, 2, 2, 2)]),
    "pad two": (v2.Pad((1, 2)), [pad(1, 2, 1, 2)]),
    "pad four": (v1.Pad([1, 2, 3, 4], fill=7), [pad(1, 2, 3, 4, fill=(7, 7, 7))]),
    "pad fill": (v2.Pad(1, fill=(1, 2.9, 3)), [pad(1, 1, 1, 1, fill=(1, 2, 3))]),
    "pad fill one": (v1.Pad(1, fill=(9,)), [pad(1, 1, 1, 1, fill=(9, 9, 9))]),
    "pad fill others": (v2.Pad(1, fill={tv_tensors.Mask: 1, "others": 2}), [pad(1, 1, 1, 1, fill=(2, 2, 2))]),
    "pad fill of PIL": (v2.Pad(1, fill={Image.Image: 3, "others": 2}), [pad(1, 1, 1, 1, fill=(3, 3, 3))]),
    "pad fill of masks": (v2.Pad(1, fill={tv_tensors.Mask: 1}), [pad(1, 1, 1, 1)]),
    "pad fill None": (v2.Pad(1, fill=None), [pad(1, 1, 1, 1)]),
    "pad mode": (v1.Pad(1, fill=9, padding_mode="reflect"), [pad(1, 1, 1, 1, mode="reflect")]),
    "random crop v1": (v1.RandomCrop(32, padding=4), [crop("v1", padding=[4, 4, 4, 4])]),
    "random crop v2": (v2.RandomCrop(32, padding=(1, 2, 3, 4)), [crop("v2", padding=[1, 2, 3, 4])]),
    "random crop v2 two": (v2.RandomCrop(32, padding=(1, 2)), [crop("v2", padding=[1, 2, 1, 2])]),
    "random crop v2 zero": (v2.RandomCrop(32, padding=0), [crop("v2")]),
    "random crop needed": (
        v1.RandomCrop((32, 32), pad_if_needed=True, fill=(1, 2, 3), padding_mode="constant"),
        [crop("v1", pad_if_needed=True, fill=[1, 2, 3])],
    ),
    "random crop mirrored": (
        v2.RandomCrop(32, padding=1, pad_if_needed=True, padding_mode="symmetric"),
        [crop("v2", padding=[1, 1, 1, 1], pad_if_needed=True, mode="symmetric")],
    ),
    "resized crop": (
        v2.RandomResizedCrop((32, 32), scale=(0.5, 1), ratio=[1, 1], interpolation="bicubic"),
        [
            RESIZED_CROP
            | {"scale": [0.5, 1.0], "ratio": [1.0, 1.0], "log_ratio": [0.0, 0.0], "filter": "bicubic"}
        ],
    ),
    "vflip": (v2.RandomVerticalFlip(1), [{"op": "vflip", "p": 1.0}]),
    "grey": (v1.Grayscale(), [{"op": "grayscale", "channels": 1}]),
    "grey normalized": (
        v1.Compose([v1.Grayscale(), v1.ToTensor(), v1.Normalize(0.5, 0.25)]),
        [{"op": "grayscale", "channels": 1}, DIVIDE, {"op": "normalize", "mean": [0.5], "std": [0.25]}],
    ),
    "random grey": (v2.RandomGrayscale(0.2), [{"op": "random_grayscale", "p": 0.2}]),
    "solarize": (
        v1.RandomSolarize(127.5),
        [{"op": "random_solarize", "p": 0.5, "threshold": 128, "version": "v1"}],
    ),
    "solarize a tensor": (
        v2.Compose([v2.ToImage(), v2.RandomSolarize(128.0000001, 0.25)]),  # 128 as a float32
        [{"op": "to_uint8"}, {"op": "random_solarize", "p": 0.25, "threshold": 128, "version": "v2"}],
    ),
    "jitter none v1": (v1.ColorJitter(), [jitter()]),
    "jitter none v2": (v2.ColorJitter(), [jitter()]),
    "jitter": (
        v1.ColorJitter(0.5, (0.5, 2), hue=0.25),
        [jitter(brightness=[0.5, 1.5], contrast=[0.5, 2.0], hue=[-0.25, 0.25])],
    ),
    "jitter v2": (v2.ColorJitter(saturation=[0.5, 0.75]), [jitter(saturation=[0.5, 0.75])]),
    "uint8 v1": (v1.PILToTensor(), [UINT8]),
    "uint8 v2": (v2.Compose([v2.PILToTensor(), v2.ToDtype(torch.uint8, scale=True)]), [UINT8]),
    "tv image": (v2.Compose([v2.ToImage(), v2.ToImage()]), [UINT8]),
    "pure": (v2.Compose([v2.ToPureTensor(), v2.ToImage(), v2.ToPureTensor(), v2.Identity()]), [UINT8]),
    "tensor to tv image": (v2.Compose([v2.PILToTensor(), v2.ToImage()]), [UINT8]),
    "v2 ToTensor": (v2.Compose([quiet(v2.ToTensor), quiet(v2.ToTensor), v2.PILToTensor()]), [DIVIDE]),
    "ToDtype of PIL": (
        v2.Compose(
            [v2.ToDtype(torch.float32, scale=True), v2.ConvertImageDtype(), v2.ToDtype({"others": None})]
        ),
        [],
    ),
    "cast": (v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]), [CAST]),
    "v2 ConvertImageDtype": (v2.Compose([v2.ToImage(), v2.ConvertImageDtype()]), [MULTIPLY]),
    "half": (v2.Compose([v2.ToImage(), v2.ToDtype(torch.float16, scale=True)]), [MULTIPLY]),
    "bfloat16 at the end": (
        v1.Compose(
            [
                v1.ToTensor(),
                v1.Normalize(MEAN, STD),
                v1.ConvertImageDtype(torch.bfloat16),
                v1.RandomHorizontalFlip(),
                v1.RandomErasing(),
            ]
        ),
        [DIVIDE, NORMALIZE, FLIP, erasing(0.0)],
    ),
    "flip of a tensor": (
        v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]),
        [FLIP, MULTIPLY],
    ),
    "normalize by tensors": (
        v1.Compose([v1.ToTensor(), v1.Normalize(torch.tensor(MEAN, dtype=torch.float64), np.array(STD))]),
        [DIVIDE, NORMALIZE],
    ),
    "normalize by one": (
        v2.Compose(
            [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [1], inplace=True)]
        ),
        [MULTIPLY, {"op": "normalize", "mean": [0.5] * 3, "std": [1.0] * 3}],
    ),
    "erasing v1": (
        v1.Compose([v1.ToTensor(), v1.RandomErasing(0.25, value=(1, 2, 3))]),
        [DIVIDE, erasing(1, 2, 3, p=0.25)],
    ),
    "erasing v2": (v2.Compose([v2.ToImage(), v2.RandomErasing(value=7)]), [UINT8, erasing(7)]),
    "random apply v1": (
        v1.RandomApply([v1.Compose([v1.ColorJitter(hue=0.25)]), v1.RandomGrayscale()], 0.8),
        [
            {
                "op": "random_apply",
                "p": 0.8,
                "steps": [jitter(hue=[-0.25, 0.25]), {"op": "random_grayscale", "p": 0.1}],
                "version": "v1",
            }
        ],
    ),
    "random apply v2": (
        v2.RandomApply(torch.nn.ModuleList([v2.RandomApply([v2.Pad(1)])]), 0.5),
        [
            {
                "op": "random_apply",
                "p": 0.5,
                "steps": [{"op": "random_apply", "p": 0.5, "steps": [pad(1, 1, 1, 1)], "version": "v2"}],
                "version": "v2",
            }
        ],
    ),
    "random choice": (
        v2.RandomChoice([v2.Pad(1), v2.Compose([v2.RandomHorizontalFlip(), v2.Identity()])], p=[3, 1]),
        [
            {
                "op": "random_choice",
                "numbers": [0.75, 0.25],
                "members": [[pad(1, 1, 1, 1)], [FLIP]],
                "version": "v2",
            }
        ],
    ),
    "random choice v1": (
        v1.RandomChoice([v1.Pad(1), v1.RandomHorizontalFlip(), v1.Compose([])], [1, 0.5, 2]),
        [
            {
                "op": "random_choice",
                "numbers": [1.0, 1.5, 3.5],
                "members": [[pad(1, 1, 1, 1)], [FLIP], []],
                "version": "v1",
            }
        ],
    ),
    "random order v1": (
        v1.RandomOrder((v1.RandomChoice([v1.Pad(1), v1.Pad(1)]), v1.RandomHorizontalFlip())),
        [
            {
                "op": "random_order",
                "members": [
                    [
                        {
                            "op": "random_choice",
                            "numbers": [1.0, 2.0],
                            "members": [[pad(1, 1, 1, 1)]] * 2,
                            "version": "v1",
                        }
                    ],
                    [FLIP],
                ],
                "version": "v1",
            }
        ],
    ),
    "random order": (
        v2.RandomOrder([v2.RandomOrder([v2.Pad(1)]), v2.RandomHorizontalFlip()]),
        [
            {
                "op": "random_order",
                "members": [
                    [{"op": "random_order", "members": [[pad(1, 1, 1, 1)]], "version": "v2"}],
                    [FLIP],
                ],
                "version": "v2",
            }
        ],
    ),
    "random apply of a tensor": (
        v1.Compose([v1.ToTensor(), v1.RandomApply([v1.RandomHorizontalFlip()])]),
        [DIVIDE, {"op": "random_apply", "p": 0.5, "steps": [FLIP], "version": "v1"}],
    ),
}


@pytest.mark.parametrize("case", NATIVE)
def test_wholly_native(case: str) -> None:
    transform, steps = NATIVE[case]
    plan = compile(transform)
    assert plan.steps == steps, format_report(plan.report)
    assert plan.native and plan.rest == [] and plan.rest_draws is False and not plan.in_order
    assert all(line.native and line.what for line in plan.report)
    assert json.loads(json.dumps(plan.steps, allow_nan=False)) == plan.steps
    assert compile(transform) == plan
    check_what_is_handed_over(transform, plan)


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
    image = picture(40, 30)
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
    "Lambda v2": (v2.Lambda(own), "your own code"),
    "not callable": (5, "not callable"),
    "subclass": (OwnResize(8), "a subclass of Resize"),
    "own Compose": (OwnCompose([v1.Resize(8)]), "a subclass of Compose"),
    "list": ([v1.Resize(8)], "not callable"),
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
    "choice v1 nan": (v1.RandomChoice([v1.Resize(8)], [math.nan]), "unusual p"),
    "choice v1 array": (with_attributes(v1.RandomChoice([v1.Resize(8)]), p=np.ones(1)), "unusual p"),
    "order v1 own": (v1.RandomOrder([v1.Resize(8), own]), "own in it: your own code"),
    "choice own": (v2.RandomChoice([v2.Resize(8), v2.Compose([own])]), "own in it: your own code"),
    "choice conversion": (v2.RandomChoice([v2.ToImage(), v2.ToImage()]), "decides what the sample becomes"),
    "choice p": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[-1.0]), "unusual p"),
    "choice p of ints": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[1]), "unusual p"),
    "choice no p": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[0.0]), "unusual p"),
    "choice of none": (with_attributes(v2.RandomChoice([v2.Resize(8)]), p=[]), "unusual p"),
    "choice of many": (v2.RandomChoice([v2.Identity()] * 65), "not 1 to 64"),
    "order of many": (v2.RandomOrder([v2.Identity()] * 65), "not 1 to 64"),
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
    "fill nan": (v2.Pad(1, fill=math.nan), "unusual fill"),
    "fill of masks and PIL": (v2.Pad(1, fill={Image.Image: 300}), "unusual fill"),
    "padding_mode": (v1.RandomCrop(8, padding_mode="wrap"), "unusual padding_mode"),
    "padding_mode array": (v1.RandomCrop(8, padding_mode=np.zeros(2)), "unusual padding_mode"),
    "mirrored twice": (v1.RandomCrop(8, 1, True, padding_mode="reflect"), "mirrors the picture twice"),
    "p above 1": (v1.RandomHorizontalFlip(1.5), "unusual p"),
    "p tensor": (v1.RandomHorizontalFlip(torch.tensor(0.5)), "unusual p"),
    "scale": (quiet(v1.RandomResizedCrop, 8, scale=(1, 0.5)), "unusual scale"),
    "scale nan": (v1.RandomResizedCrop(8, scale=(0.5, math.nan)), "unusual scale"),
    "ratio": (v1.RandomResizedCrop(8, ratio=(0, 1)), "unusual ratio"),
    "ratio three": (v1.RandomResizedCrop(8, ratio=(1, 1, 1)), "unusual ratio"),
    "grey channels": (v1.Grayscale(2), "unusual num_output_channels"),
    "solarize": (v1.RandomSolarize(-1), "unusual threshold"),
    "hue": (with_attributes(v1.ColorJitter(hue=0.5), hue=(-1, 1)), "unusual hue"),
    "brightness": (v1.ColorJitter(brightness=(0, 1e30)), "unusual brightness"),
    "normalize PIL": (v2.Normalize(MEAN, STD), "needs a float tensor"),
    "convert PIL": (v1.ConvertImageDtype(torch.float32), "torchvision raises"),
    "erase PIL": (v2.RandomErasing(), "of a PIL image"),
    "apply own": (v1.RandomApply([own]), "own in it: your own code"),
    "apply conversion": (v1.RandomApply([v1.ToTensor()]), "decides what the sample becomes"),
    "apply grey": (v2.RandomApply([v2.Grayscale()]), "decides what the sample becomes"),
    "apply hooked": (v2.RandomApply([hooked(v2.Resize(8))]), "Resize in it: has hooks"),
    "apply p": (v1.RandomApply([v1.Resize(8)], p=-1), "unusual p"),
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
    assert plan.steps == [resize(16)]
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
    check_what_is_handed_over(chain, plan)


def test_solarizing_a_view() -> None:
    """Torch lays it out again only where it solarizes it: Python goes on before."""
    chain = v2.Compose([v2.Resize((9, 9)), v2.ToImage(), v2.CenterCrop(8), v2.RandomSolarize(9)])
    plan = compile(chain)
    assert plan.native
    check_what_is_handed_over(chain, plan, strides=False)
    assert len(compile(chain, handed=True).native_part) == 2


@pytest.mark.parametrize(
    "chain, steps",
    [
        ([v2.ToImage(), v2.RandomErasing(), v2.ToDtype(torch.float32, scale=True)], [UINT8, erasing(0.0)]),
        ([v1.ToTensor(), v1.ConvertImageDtype(torch.float16), v1.Normalize(MEAN, STD)], [DIVIDE]),
        ([v1.ToTensor(), v1.ConvertImageDtype(torch.float16), v1.ConvertImageDtype(torch.float32)], [DIVIDE]),
        (
            [v1.Grayscale(), v1.ToTensor(), v1.Normalize(MEAN, STD)],
            [{"op": "grayscale", "channels": 1}, DIVIDE],
        ),
        ([v1.ToTensor(), v1.RandomErasing(), v1.Normalize(MEAN, STD)], [DIVIDE, erasing(0.0)]),
        ([v1.ToTensor(), v1.Normalize(MEAN, STD), v1.Normalize(MEAN, STD)], [DIVIDE, NORMALIZE]),
        ([v1.ToTensor(), *9 * [v1.RandomErasing()]], [DIVIDE, *8 * [erasing(0.0)]]),
        ([v1.Grayscale(), v1.Pad(1, fill=(1, 2, 3))], [{"op": "grayscale", "channels": 1}]),
    ],
)
def test_last_of_a_chain_in_python(chain: list[object], steps: list[dict[str, object]]) -> None:
    plan = compile(v1.Compose(chain))
    assert plan.steps == steps and plan.rest == chain[-1:]


def test_nested_containers_are_cut_where_python_begins() -> None:
    chain = [v1.Resize(8), own, v1.ToTensor(), v2.RandomHorizontalFlip()]
    nested = v2.Compose([v1.Compose(chain[:1]), v1.Compose([v2.Compose(chain[1:3]), chain[3]])])
    plan = compile(nested)
    assert plan.steps == [resize(8)] and plan.rest == chain[1:]
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
    train = NATIVE["v1 train"][0]
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


@pytest.mark.parametrize(
    "transform, draws, needs_size, shape",
    [
        (None, False, False, None),
        (v1.Resize((8, 9)), False, False, [3, 8, 9]),
        (v1.Resize(8), False, False, None),
        (v1.Compose([v1.CenterCrop((8, 12)), v1.Resize(4)]), False, False, [3, 4, 6]),
        (v1.Compose([v1.CenterCrop((24, 8)), v1.Resize(4, max_size=9)]), False, False, [3, 9, 3]),
        (v2.Compose([v2.CenterCrop((8, 24)), v2.Resize(None, max_size=9)]), False, False, [3, 3, 9]),
        (v1.Compose([v1.CenterCrop(8), v1.Pad((1, 2, 3, 4)), v1.Grayscale()]), False, False, [1, 14, 12]),
        (v1.RandomHorizontalFlip(), True, False, None),
        (v1.ColorJitter(), True, False, None),
        (v1.RandomResizedCrop(8), True, True, [3, 8, 8]),
        (v1.RandomCrop(8), True, True, [3, 8, 8]),
        (v1.Compose([v1.Resize((9, 9)), v1.RandomCrop(8)]), True, False, [3, 8, 8]),
        (v1.Compose([v1.Resize(9), v1.RandomCrop(8)]), True, True, [3, 8, 8]),
        (v1.Compose([v1.ToTensor(), v1.RandomErasing()]), True, True, None),
        (v1.Compose([v1.Resize((9, 9)), v1.ToTensor(), v1.RandomErasing()]), True, False, [3, 9, 9]),
        (v1.RandomApply([v1.Pad(1)]), True, False, None),
        (v1.Compose([v1.Resize((9, 9)), v1.RandomApply([v1.Pad(1)])]), True, False, None),
        (
            v1.Compose([v1.Resize((9, 9)), v1.RandomApply([v1.Pad(1)]), v1.RandomCrop(8)]),
            True,
            True,
            [3, 8, 8],
        ),
        (v1.Compose([v1.Resize((9, 9)), v1.RandomApply([v1.RandomCrop(9)])]), True, False, [3, 9, 9]),
        (v1.RandomApply([v1.RandomCrop(9)]), True, True, None),
        (v2.RandomChoice([v2.Pad(1), v2.RandomVerticalFlip()]), True, False, None),
        (v2.RandomChoice([v2.RandomCrop(9), v2.Resize((9, 9))]), True, True, [3, 9, 9]),
        (v2.Compose([v2.Resize((9, 8)), v2.RandomChoice([v2.RandomCrop(8)])]), True, False, [3, 8, 8]),
        (
            v2.Compose([v2.Resize((9, 9)), v2.RandomOrder([v2.RandomCrop(9), v2.RGB()])]),
            True,
            False,
            [3, 9, 9],
        ),
        (v2.Compose([v2.Resize((9, 9)), v2.RandomOrder([v2.RandomCrop(8), v2.RGB()])]), True, True, None),
        (v2.RandomOrder([v2.Resize((9, 9)), v2.RandomVerticalFlip()]), True, False, None),
    ],
)
def test_draws_and_shape(transform: object, draws: bool, needs_size: bool, shape: list[int] | None) -> None:
    plan = compile(transform)
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
                if transforms.identify(bare) is not None and transforms.draws(bare) is None:
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


def test_format_report() -> None:
    plan = compile(v1.Compose([v1.Resize(8), v2.RandomHorizontalFlip(), own, v1.ToTensor()]))
    assert format_report(plan.report).splitlines() == [
        "transform             runs in  what                                    cost",
        "Resize                C        resize: size [8], filter bilinear",
        "RandomHorizontalFlip  C        hflip: p 0.5",
        "own                   Python   your own code                           "
        "decoded whole, one PIL image a sample; takes turns with the native draws",
        "ToTensor              Python   comes after own; native of a PIL image",
    ]

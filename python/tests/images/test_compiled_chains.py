"""Plans beside torchvision itself: what a native prefix hands over, and what the arithmetic is."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from PIL import Image

torchvision = pytest.importorskip("torchvision")

from torchvision import transforms as v1  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from gofast._plan import transforms  # noqa: E402
from gofast._plan.compile import Plan, compile  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def picture(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


def check_what_is_handed_over(transform: object, plan: Plan, strides: bool = True) -> None:
    """Runs the native prefix by torchvision: is the sample there what the plan says?"""
    chain = [] if transform is None else list(transforms.leaves(transform))
    native = [line.native for line in plan.report]
    taken = sum(native)
    assert native == [True] * taken + [False] * (len(chain) - taken)
    assert len(plan.rest) == len(chain) - taken
    assert all(mine is theirs for mine, theirs in zip(plan.rest, chain[taken:], strict=True))
    for width, height in ((50, 40), (37, 61)):
        sample = picture(width, height)
        for transform in chain[:taken]:
            sample = transform(sample)  # type: ignore[operator]
        if plan.hands_over == "pil":
            assert type(sample) is Image.Image
            assert sample.mode == ("RGB" if plan.channels == 3 else "L") and plan.dtype == "uint8"
            shape = [plan.channels, sample.height, sample.width]
        else:
            assert type(sample) is (tv_tensors.Image if plan.hands_over == "tv_image" else torch.Tensor)
            shape, dtype = list(sample.shape), str(sample.dtype).removeprefix("torch.")
            assert dtype == plan.dtype and shape[0] == plan.channels
            if strides:
                dense = torch.empty_like(sample)  # of a view, in the same order
                assert dense.is_contiguous() is (plan.strides == "chw")
                assert plan.strides == "chw" or dense.permute(1, 2, 0).is_contiguous()
        assert plan.shape is None or plan.shape == shape


def moves_a_tensor(chain: v1.Compose) -> bool:
    """Whether torch's strides depend on sizes or draws: behind a conversion, pixels are moved or greyed."""
    names = [type(step).__name__ for step in chain.transforms]
    tensors = [i for i, name in enumerate(names) if name in ("ToTensor", "PILToTensor", "ToImage")]
    return bool(tensors) and any(
        "Crop" in n or n in ("Resize", "Pad", "RandomGrayscale") for n in names[tensors[0] :]
    )


def test_random_chains() -> None:
    """Whatever is chained: the prefix is what the plan says, and draws if it says so."""
    makers = [
        *(m.Resize for m in (v1, v2)),
        lambda size: v2.Resize((size, size + 3), "nearest"),
        *(m.CenterCrop for m in (v1, v2)),
        lambda size: v1.Pad(3),
        lambda size: v2.RandomCrop(size, padding=60),
        lambda size: v1.RandomCrop(size, pad_if_needed=True),
        *(m.RandomResizedCrop for m in (v1, v2)),
        lambda size: v1.RandomHorizontalFlip(),
        lambda size: v2.RandomVerticalFlip(),
        lambda size: v1.Grayscale(3),
        lambda size: v2.Grayscale(1),
        lambda size: v2.RandomGrayscale(),
        lambda size: v2.RandomSolarize(100),
        lambda size: v1.ColorJitter(0.5, 0.5, 0.5, 0.5),
        lambda size: v2.RandomApply([v2.Pad(2), v2.RandomVerticalFlip()]),
        *2 * (lambda size: v1.ToTensor(), lambda size: v1.PILToTensor(), lambda size: v2.ToImage()),
        lambda size: v2.ToPureTensor(),
        lambda size: v2.Identity(),
        *2
        * (
            lambda size: v2.ToDtype(torch.float32, scale=True),
            lambda size: v1.ConvertImageDtype(torch.float16),
        ),
        *3 * (lambda size: v1.Normalize(MEAN, STD), lambda size: v2.Normalize([0.5], [0.5])),
        *2 * (lambda size: v1.RandomErasing(), lambda size: v2.RandomErasing(value=9)),
        lambda size: v2.GaussianBlur(3),
    ]
    dice, lengths, kinds = random.Random(1), set(), set()
    for _ in range(400):
        chain = v1.Compose([dice.choice(makers)(dice.randint(8, 40)) for _ in range(dice.randint(1, 7))])
        plan = compile(chain)
        json.dumps(plan.steps, allow_nan=False)
        conversions = [step["op"] for step in plan.steps if step["op"] in ("to_float", "to_uint8")]
        assert len(conversions) == (plan.hands_over != "pil")
        before = torch.get_rng_state()
        check_what_is_handed_over(chain, plan, strides=not moves_a_tensor(chain))
        assert plan.draws or torch.equal(torch.get_rng_state(), before)
        lengths.add(len(plan.report) - len(plan.rest))
        kinds.add((plan.hands_over, plan.dtype, plan.strides, plan.native))
    assert max(lengths) >= 6 and len(kinds) >= 12


def test_a_reason_is_one_short_line() -> None:
    plan = compile(v1.Compose([v1.ToTensor(), v1.Normalize(torch.rand(100, 3, 1), STD)]))
    assert len(plan.report[1].what) < 90 and "\n" not in plan.report[1].what

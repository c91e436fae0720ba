"""Masks of v2 in another size, beside those that torch makes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from gofast._images import nearest_masks
from same import difference, outcome

pytestmark = pytest.mark.usefixtures("follows")
FOLLOWED = nearest_masks.kernels
G = v2.functional
MODES = v2.InterpolationMode


def test_which_rows_torch_takes() -> None:
    for size in (1, 2, 3, 7, 49, 375, 500, 601, 4096, 32767):
        rows = torch.arange(size, dtype=torch.float32)[None, None, None]
        for made in {1, size, 2 * size, *random.sample(range(1, 1500), 60)}:
            theirs = torch.nn.functional.interpolate(rows, size=[1, made], mode="nearest")
            assert np.array_equal(nearest_masks.taken(size, made), theirs[0, 0, 0].long().numpy()), (
                size,
                made,
            )


def pixels(*shape: int) -> torch.Tensor:
    return torch.randint(0, 21, shape, dtype=torch.uint8)


MASKS: dict[str, torch.Tensor] = {
    "usual": pixels(1, 90, 121),
    "as a picture's": pixels(90, 121, 1).permute(2, 0, 1),
    "no channel": pixels(90, 121),
    "two before": pixels(1, 1, 90, 121),
    "part": pixels(1, 100, 140)[..., 5:95, 7:128],
    "turned": pixels(121, 90).T,
    "objects": pixels(3, 90, 121),
    "none": pixels(0, 90, 121),
    "int64": pixels(1, 90, 121).long(),
    "bool": pixels(1, 90, 121) > 9,
    "small": pixels(1, 9, 12),
    "empty": pixels(1, 0, 12),
}
SIZES: list[dict[str, Any]] = [
    {"size": [70, 90]},
    {"size": [200, 100]},
    {"size": [50, 300], "interpolation": MODES.NEAREST},
    {"size": 77},
    {"size": 130, "max_size": 140},
    {"size": None, "max_size": 100},
    {"size": [90, 121]},
    {"size": [180, 242], "interpolation": MODES.BICUBIC},
    {"size": [70, 90], "interpolation": MODES.NEAREST_EXACT},
    {"size": [70, 90], "interpolation": 0},
    {"size": [70, 90], "interpolation": "bilinear"},
    {"size": [70, 90], "interpolation": "nearest-exact"},
    {"size": [70, 90], "interpolation": "x"},
    {"size": [10, 10]},
    {"size": [0, 90]},
    {"size": 100, "max_size": 50},
    {"size": "x"},
]


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("named", SIZES, ids=str)
def test_as_torch(name: str, named: dict[str, Any]) -> None:
    mask = tv_tensors.Mask(MASKS[name])
    ours = outcome(G.resize, mask, **named)
    nearest_masks.kernels.leave()
    assert difference(ours, outcome(G.resize, mask, **named)) == ""


def test_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By transforms too; and a mask of its own memory."""
    monkeypatch.setattr("torchvision.transforms.v2.functional._geometry.interpolate", None)
    mask = tv_tensors.Mask(MASKS["usual"])
    for transform in (v2.Resize((70, 90)), v2.RandomResize(70, 75), v2.RandomShortestSize([80])):
        made = transform(mask)
        assert type(made) is tv_tensors.Mask
    before = mask.clone()
    made.zero_()
    assert torch.equal(mask, before)


@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning", "ignore::torch.jit.TracerWarning")
def test_scripted_and_traced() -> None:
    def resized(x: torch.Tensor) -> Any:
        return G.resize(x.as_subclass(tv_tensors.Mask), [70, 90]).as_subclass(torch.Tensor)

    mask, other = MASKS["usual"], pixels(1, 90, 121)
    scripted, traced = torch.jit.script(G.resize), torch.jit.trace(resized, mask)
    assert difference(scripted(mask, [70, 90]), G.resize(mask, [70, 90])) == ""
    assert difference(traced(other), resized(other)) == ""

"""Boxes that v2's SanitizeBoundingBoxes keeps, beside those that torch does."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from gofast._images import conversions
from same import difference

pytestmark = pytest.mark.usefixtures("follows")
FOLLOWED = conversions._places
G = v2.functional
CANVAS = (60, 90)


def theirs() -> Any:
    own = G._misc._get_sanitize_bounding_boxes_mask
    return getattr(own, "__wrapped__", own)


def drawn(n: int) -> torch.Tensor:
    """Most lie on the canvas, some just on its edge or beyond it."""
    corners = torch.randint(-3, 100, (n, 4))
    return torch.where(torch.rand(n, 1) < 0.3, corners, corners.sort(1).values.clip(max=60))


NAN, INF = float("nan"), float("inf")
ROWS = [[0, 0, 90, 60], [0, 0, 90.5, 60], [5, 5, 6, 6], [5, 5, 5.99, 9], [-0.0, 0, 1, 1], [-1, 0, 9, 9]]
ROWS += [[9, 9, 1, 1], [NAN, 0, 9, 9], [0, 0, INF, INF], [-INF, 0, INF, 9], [INF, INF, INF, INF], [0] * 4]
EDGES = torch.tensor([*ROWS, [0, 0, 3e38, 3e38]])
BOXES: dict[str, torch.Tensor] = {
    "many": drawn(300) + torch.rand(300, 4),
    "whole": drawn(300),
    "double": drawn(50).double() / 3,
    "half": drawn(50).half(),
    "int32": drawn(50).int(),
    "edges": EDGES,
    "edges as doubles": EDGES.double(),
    "large": torch.tensor([[0, 0, 1 << 40, 1 << 40], [0, 0, 1 << 62, 2], [-(1 << 63), 0, 5, 5]]),
    "none": torch.zeros(0, 4),
    "one": torch.tensor([[1.0, 2, 3, 4]]),
    "a part": drawn(40).float()[::3],
    "turned": torch.rand(4, 20).mul(50).T,
}
LEAST: list[dict[str, Any]] = [
    {},
    {"min_size": 3, "min_area": 20},
    {"min_size": 2.5},
    {"min_area": 7.3},
    {"min_size": 1e9},
]


def boxes(name: str, format: str = "XYXY", canvas: Any = CANVAS) -> tv_tensors.BoundingBoxes:
    return tv_tensors.BoundingBoxes(BOXES[name].clone(), format=format, canvas_size=canvas)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("least", LEAST, ids=str)
@pytest.mark.parametrize("format", ["XYXY", "XYWH", "CXCYWH"])
def test_as_torch(name: str, least: dict[str, Any], format: str) -> None:
    given = boxes(name, format)
    before = given.clone()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = G._misc._get_sanitize_bounding_boxes_mask(given, given.format, CANVAS, **least)
    assert difference(ours, theirs()(given, given.format, CANVAS, **least)) == ""
    assert (
        difference(
            given.as_subclass(torch.Tensor).nan_to_num(7), before.as_subclass(torch.Tensor).nan_to_num(7)
        )
        == ""
    )


def test_the_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    """By numpy; with all that it returns."""
    sane = v2.SanitizeBoundingBoxes()
    sample = {"boxes": boxes("many"), "labels": torch.arange(300), "image": torch.zeros(3, *CANVAS)}
    conversions._places.leave()
    expected = sane(copy.deepcopy(sample))
    conversions._places.follow()
    monkeypatch.setattr(G._misc, "_convert_bounding_box_format", None)
    made = sane(sample)
    assert 0 < len(made["labels"]) < 300
    assert difference(made, expected) == ""
    assert type(made["boxes"]) is tv_tensors.BoundingBoxes
    assert difference(G.sanitize_bounding_boxes(boxes("many"))[0], expected["boxes"]) == ""


def test_what_torch_tells() -> None:
    """A gradient, and a type that operations keep."""
    given = boxes("one")
    with tv_tensors.set_return_type("TVTensor"):
        ours = G._misc._get_sanitize_bounding_boxes_mask(given, given.format, CANVAS)
        assert type(ours) is type(theirs()(given, given.format, CANVAS))
    assert G._misc._get_sanitize_bounding_boxes_mask(given.requires_grad_(), given.format, CANVAS).all()

"""v2's Compose on a lazy image with its boxes, masks and labels gives what it gives on Pillow's."""

from __future__ import annotations

import io
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import gofast
from image_data import make_folder
from same import difference, seeded

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGE_FLOAT = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
PURE_FLOAT = {torch.Tensor: torch.float32, tv_tensors.Mask: torch.int64, "others": None}

ADDRESS = re.compile(r"<.* at 0x[0-9a-f]+>")
Opener = Callable[[Any], Image.Image]


class Pad(v2.Transform):  # type: ignore[misc]
    """Somebody's own, as torchvision's references have one."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(v2.functional.pad, inpt, padding=[0, 0, 7, 5], fill=0)


def members(dice: random.Random) -> list[Any]:
    """A chain as detection and segmentation train with, or one that nobody would write."""
    before = [
        lambda: v2.RandomHorizontalFlip(0.5),
        lambda: v2.RandomResize(20, 70),
        lambda: v2.Resize((24, 31)),
        lambda: v2.RandomCrop(16, pad_if_needed=True),
        lambda: v2.RandomZoomOut(0),
        lambda: v2.RandomPhotometricDistort(),
        lambda: v2.RandomIoUCrop(),
        lambda: v2.RandomVerticalFlip(1.0),
        Pad,
    ]
    end = [
        lambda: v2.RandomHorizontalFlip(0.5),
        lambda: v2.RandomVerticalFlip(0.5),
        lambda: v2.ToDtype(torch.float32, scale=dice.random() < 0.8),
        lambda: v2.ToDtype(dice.choice([IMAGE_FLOAT, PURE_FLOAT]), scale=True),
        lambda: v2.ToDtype(dice.choice([torch.float16, torch.int64, torch.uint8, torch.bool]), scale=True),
        lambda: v2.ConvertImageDtype(torch.float32),
        lambda: v2.Normalize(MEAN, dice.choice([STD, (-0.2, 0.3, 0.1)]), inplace=dice.random() < 0.3),
        lambda: v2.SanitizeBoundingBoxes(min_size=dice.choice([1, 9])),
        lambda: v2.SanitizeBoundingBoxes(labels_getter=dice.choice([None, lambda sample: None])),
        lambda: v2.ClampBoundingBoxes(),
        lambda: v2.ConvertBoundingBoxFormat("CXCYWH"),
        lambda: v2.ToPureTensor(),
        lambda: v2.RandomErasing(0.5),
        lambda: v2.Resize((13, 14)),
        lambda: v2.Lambda(lambda x: x),
    ]
    first = [dice.choice(before)() for _ in range(dice.randrange(3))]
    convert = dice.choice([v2.ToImage, v2.ToImage, v2.PILToTensor])()
    last = [dice.choice(end)() for _ in range(dice.randrange(5))]
    usual = [v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]
    return [*first, convert, *(last if dice.random() < 0.6 else [v2.RandomHorizontalFlip(0.5), *usual])]


def target(dice: random.Random, size: tuple[int, int], mask: Image.Image) -> dict[str, Any]:
    width, height = size
    count = dice.randrange(4)
    corners = torch.tensor([[dice.randrange(width), dice.randrange(height), 9, 6] for _ in range(count)])
    boxes = tv_tensors.BoundingBoxes(
        corners.reshape(-1, 4).to(dice.choice([torch.float32, torch.int64])),
        format=dice.choice(["XYXY", "XYWH"]),
        canvas_size=(height, width),
    )
    kinds = {
        "boxes": boxes,
        "labels": torch.arange(count),
        "masks": tv_tensors.Mask(torch.arange(height * width, dtype=torch.uint8).reshape(1, height, width)),
        "picture of it": mask,
        "image_id": 7,
        "text": {"words": ["a", None], "area": torch.rand(count, generator=torch.Generator().manual_seed(1))},
        "array": np.zeros((height, width, 3), np.uint8),
        "image": tv_tensors.Image(torch.zeros((3, height, width), dtype=torch.uint8)),
    }
    rare = {"picture of it": 0.2, "array": 0.05, "image": 0.1}
    names = [name for name in kinds if dice.random() < rare.get(name, 0.8)]
    dice.shuffle(names)
    return {name: kinds[name] for name in names}


def called(compose: Any, dice: random.Random, path: Path, opener: Opener) -> Any:
    """The Compose on a picture in one of the ways to call it, or what it raises."""
    data = path.read_bytes()
    size = Image.open(io.BytesIO(data)).size
    rest = target(dice, size, Image.new("L", size, 5))
    way = dice.choices(range(8), [8, 2, 1, 3, 1, 3, 1, 1])[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = opener(io.BytesIO(data)).convert("RGB")
            ways: list[Callable[[], Any]] = [
                lambda: compose(picture, rest),
                lambda: compose((picture, rest)),
                lambda: compose([3, picture, rest]),
                lambda: compose({"image": picture, **rest}),
                lambda: compose({**rest, "image": picture}),
                lambda: compose(picture, rest.get("masks", 5)),
                lambda: compose(rest.get("labels", "none"), picture),
                lambda: compose(picture, {"same": picture}),
            ]
            return ways[way]()
    except Exception as error:
        return [type(error), ADDRESS.sub("", str(error))]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    found = sorted(make_folder(tmp_path_factory.mktemp("pictures"), 18).glob("*/*"))
    whole = next(path.read_bytes() for path in found if path.suffix == ".jpg")
    cut = found[0].with_name("cut.jpg")
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    return [*found, cut]


@pytest.mark.daily(20)
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(paths: list[Path], seed: int) -> None:
    chain = members(random.Random(seed))

    def all_of(opener: Opener) -> list[Any]:
        compose, dice = v2.Compose(chain), random.Random(seed)
        return [called(compose, dice, dice.choice(paths), opener) for _ in range(8)]

    want, after = seeded(seed, lambda: all_of(Image.open))
    got, then = seeded(seed, lambda: all_of(gofast.open))
    assert not difference(got, want), [type(each).__name__ for each in chain]
    assert then == after


def detection() -> list[Any]:
    end = [v2.ToDtype(torch.float, scale=True), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]
    return [v2.ToImage(), v2.RandomHorizontalFlip(0.5), *end]


def boxed(path: Path, opener: Opener) -> tuple[Image.Image, dict[str, Any]]:
    picture = opener(path).convert("RGB")
    canvas = (picture.height, picture.width)
    boxes = tv_tensors.BoundingBoxes(torch.tensor([[1.0, 2, 9, 12]]), format="XYXY", canvas_size=canvas)
    return picture, {"boxes": boxes, "labels": torch.tensor([3])}


def test_what_cannot_be_decoded_raises_and_draws_once(paths: list[Path], tmp_path: Path) -> None:
    data = paths[0].read_bytes()
    half = len(data) // 2
    spoilt = tmp_path / "spoilt.jpg"
    spoilt.write_bytes(data[:half] + b"\xff\xc4" * 20 + data[half + 40 :])
    picture, rest = boxed(spoilt, gofast.open)

    def raises() -> None:
        with pytest.raises(OSError, match="broken data stream"):
            v2.Compose(detection())(picture, rest)

    def draws_nothing() -> None:
        return None  # torchvision's ToImage would have raised before the flip

    assert seeded(3, raises) == seeded(3, draws_nothing)


def test_the_users_containers_stay_theirs(paths: list[Path]) -> None:
    for chain in ([v2.PILToTensor()], [v2.ToImage(), v2.RandomHorizontalFlip(0.0)]):
        picture, rest = boxed(paths[0], gofast.open)
        rest["inner"] = {"words": []}
        _, made = v2.Compose(chain)(picture, rest)
        made["inner"]["words"].append(1)
        made["more"] = 1
        assert rest["inner"] == {"words": []}
        assert "more" not in rest


def test_changes_of_members_show(paths: list[Path]) -> None:
    chain = detection()
    compose, plain = v2.Compose(chain), v2.Compose([*chain])

    def same() -> str:
        got, _ = seeded(1, lambda: compose(*boxed(paths[0], gofast.open)))
        want, _ = seeded(1, lambda: plain(*boxed(paths[0], Image.open)))
        found: str = difference(got, want)
        return found

    assert not same()
    chain[2].dtype = torch.float16
    assert not same()
    chain[1].p = 1.0
    assert not same()
    chain[2].dtype = torch.float32
    compose.transforms.insert(3, v2.Normalize(MEAN, STD))
    plain.transforms.insert(3, v2.Normalize(MEAN, STD))
    assert not same()
    handle = chain[2].register_forward_hook(lambda module, given, made: (made[0] + 1, made[1]))
    assert not same()
    handle.remove()
    chain[2].transform = lambda inpt, params: tv_tensors.wrap(inpt.double(), like=inpt)
    assert not same()
    del chain[2].transform
    assert not same()


def test_numbers_too_coarse_to_tell_a_turn(paths: list[Path]) -> None:
    coarse = [
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.0] * 3, [3.1e7] * 3),
        v2.ToDtype(torch.float16),
    ]
    compose = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1.0), *coarse])
    ours, theirs = (compose(open(paths[0]).convert("RGB"), 1) for open in (gofast.open, Image.open))
    assert not difference(ours, theirs)


def test_a_members_class_that_is_replaced_is_called(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = v2.Compose(detection())
    compose(*boxed(paths[0], gofast.open))
    seen = []

    def transform(self: Any, inpt: Any, params: Any) -> Any:
        seen.append(tuple(inpt.shape))
        return inpt

    monkeypatch.setattr(v2.ToDtype, "transform", transform)
    picture, rest = boxed(paths[0], gofast.open)
    compose(picture, rest)
    assert (3, picture.height, picture.width) in seen


def test_the_users_own_code_sees_the_whole_picture(paths: list[Path]) -> None:
    seen = []

    def labels(sample: Any) -> Any:
        seen.append(tuple(sample[0].shape[-2:]))
        return sample[1]["labels"]

    chain = detection()
    chain[3] = v2.SanitizeBoundingBoxes(labels_getter=labels)
    picture, rest = boxed(paths[0], gofast.open)
    v2.Compose(chain)(picture, rest)
    assert seen == [(picture.height, picture.width)]

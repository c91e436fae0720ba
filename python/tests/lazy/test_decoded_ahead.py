"""Where the latest pictures were needed whole, one is decoded from the first look at it on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import gofast
from forked import answer_of_child
from gofast._core import codecs, engine
from gofast._images.held_pictures import _MOST_MISSED, _SURE, Held
from image_data import noise_files
from same import difference

pytestmark = [
    pytest.mark.usefixtures("sure"),
    pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning"),
]
N = 8


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return noise_files(tmp_path_factory.mktemp("pictures"), [(90 + i, 120) for i in range(N)], quality=70)


def opened(path: Path, ours: bool = True) -> Any:
    """A picture, at which somebody has looked."""
    return (gofast.open if ours else Image.open)(path).convert("RGB")


def is_ahead(image: Any) -> bool:
    return image._lazy.source.begun is not None


def made(image: Any) -> Any:
    """What a detector is given: of all pixels, and not as they are at first."""
    return F.to_dtype(F.to_image(image), torch.float32, scale=True)


def pairs(files: list[Path], make: Callable[[Any], Any] = made) -> list[bool]:
    """Two pictures at a time, each of which is torchvision's; which were decoded ahead."""
    found = []
    for some in zip(files[::2], files[1::2], strict=True):
        images = [opened(path) for path in some]
        found += map(is_ahead, images)
        rows = [make(image) for image in images]
        theirs = [make(opened(path, ours=False)) for path in some]
        assert difference([row + 0 for row in rows], [row + 0 for row in theirs]) == ""
    return found


@pytest.fixture
def sure(files: list[Path], begun_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are decoded ahead from now on."""
    monkeypatch.setattr("gofast._lazy.source.counts.again", 0)  # and after it: some are used twice here
    v2.Compose([v2.ToImage()])(gofast.open(files[0]))  # v2 looks from now on
    for _ in range(2):
        pairs(files)
    assert Held.expected == _SURE


def test_pictures_that_are_needed_whole_are_decoded_once(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, begin = list[Any](), codecs.capsule().begin_rows

    def noted(pictures: Any, *more: Any) -> Any:
        begun.extend(pictures)
        return begin(pictures, *more)

    monkeypatch.setattr(codecs.capsule(), "begin_rows", noted)
    assert pairs(files) == [True] * N
    assert len(begun) == N and Held.missed == 0


@pytest.mark.parametrize(
    "make",
    [
        F.to_image,
        lambda image: made(image.crop((3, 5, 60, 70))),
        lambda image: made(image.resize((40, 30))),
        lambda image: made(image.convert("L")),
        lambda image: torch.from_numpy(np.array(image)),
        lambda image: torch.from_numpy(np.array(image.rotate(5))),
    ],
    ids=["as it is", "a part", "smaller", "grey", "pixels", "turned"],
)
def test_others_are_not_decoded_ahead_for_long(files: list[Path], make: Callable[[Any], Any]) -> None:
    ahead = pairs(files, make) + pairs(files, make)
    assert sum(ahead) <= 2 * _MOST_MISSED and not any(ahead[N:])


def test_one_that_nobody_needs_is_counted(files: list[Path]) -> None:
    for i in range(2 * _MOST_MISSED):
        assert is_ahead(opened(files[i % N])) == (i < _MOST_MISSED)
    assert Held.missed == _MOST_MISSED


def test_a_damaged_file_is_pillows(files: list[Path], tmp_path: Path) -> None:
    data = bytearray(files[0].read_bytes())
    data[-300:-200] = b"\x55" * 100
    (damaged := tmp_path / "damaged.jpg").write_bytes(data)
    for make in (made, lambda image: torch.from_numpy(np.array(image))):
        ours = opened(damaged)
        assert is_ahead(ours)
        assert difference(make(ours) + 0, make(opened(damaged, ours=False)) + 0) == ""


def test_a_forked_child_decodes_it_again(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    images = [opened(path) for path in files[:4]]
    assert all(map(is_ahead, images))
    expected = [made(opened(path, ours=False)).numpy().sum() for path in files[:4]]

    def sums() -> list[Any]:  # torch's own have threads, which a child has not
        return [made(image).numpy().sum() for image in images]

    with monkeypatch.context() as patch:
        patch.setattr(engine, "helpers", lambda: (0, 0))  # as a child has
        assert answer_of_child(sums) == expected
    assert sums() == expected


def test_threads_use_one_at_once(files: list[Path]) -> None:
    theirs = [made(opened(path, ours=False)) + 0 for path in files[:2]] * 3
    theirs += [made(np.array(opened(path, ours=False))) + 0 for path in files[:2]]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            images = [opened(path) for path in files[:2]]
            jobs = [pool.submit(lambda image: made(image) + 0, image) for image in images * 3]
            jobs += [pool.submit(lambda image: made(np.array(image)) + 0, image) for image in images]
            assert difference([job.result() for job in jobs], theirs) == ""

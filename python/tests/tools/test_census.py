"""The house does not grow second answers: what census.py counts is at most what it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torchvision.transforms as T

import census
import gofast
from image_data import make_folder

PACKAGE = str(Path(gofast.__file__).parent)

# The most files of Python whose code runs, and the most classes whose methods do: until the first batch of a
# table and of a folder of pictures, and until a Compose has made a tensor of a lazy image.
WAYS = {"table": (56, 39), "pictures": (64, 45), "lazy image": (43, 15)}


@pytest.mark.xdist_group("census")  # which counts once, for 3 s
@pytest.mark.parametrize("name", census.MOST)
def test_no_figure_has_grown(name: str) -> None:
    assert census.figures()[name] <= census.MOST[name], census.places(name)


def test_the_counted_words_are_there() -> None:
    """A figure of nothing would never grow."""
    assert all(census.answers(pattern) for pattern in census.ANSWERS.values())
    assert {"TableDataset", "DataLoader"} <= {*census.public_names()} <= {*dir(gofast)}


@pytest.fixture
def ways(tmp_path: Path) -> dict[str, Callable[[], object]]:
    np.save(tmp_path / "table.npy", np.arange(4000, dtype=np.float32).reshape(400, 10))
    pictures = make_folder(tmp_path / "pictures", 8)
    first = next(pictures.rglob("*.jpg"))

    def chain() -> T.Compose:
        return T.Compose([T.RandomResizedCrop(32), T.ToTensor()])

    return {
        "table": lambda: next(
            iter(gofast.DataLoader(gofast.TableDataset(tmp_path / "table.npy", label=None), 16, shuffle=True))
        ),
        "pictures": lambda: next(
            iter(gofast.DataLoader(gofast.ImageFolder(pictures, chain()), 4, shuffle=True))
        ),
        "lazy image": lambda: chain()(gofast.open(first)),
    }


@pytest.mark.parametrize("name", WAYS)
def test_the_ways_are_no_longer_than_they_were(name: str, ways: dict[str, Callable[[], object]]) -> None:
    ways[name]()  # the first time imports, and starts the engine
    files, classes = passed(ways[name])
    assert len(files) <= WAYS[name][0], sorted(files)
    assert len(classes) <= WAYS[name][1], sorted(classes)
    assert files and classes


def passed(act: Callable[[], object]) -> tuple[set[str], set[str]]:
    """The files of the package whose code runs meanwhile, and the classes whose methods do."""
    files, classes = set[str](), set[str]()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            files.add(path[len(PACKAGE) + 1 :])
            own = type(frame.f_locals.get("self"))
            if own.__module__.startswith("gofast"):
                classes.add(own.__name__)

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return files, classes

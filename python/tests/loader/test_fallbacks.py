"""What runs on torch's machinery, or wholly in Python, says so: once, at the user's line, where it costs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from torchvision import transforms as T

import fresh
import gofast
from gofast._core import warn
from gofast.errors import FallbackWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("always::gofast.errors.FallbackWarning"),
]


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warn, "_said", set())


def rows(**options: Any) -> gofast.ArrayDataset:
    return gofast.ArrayDataset(np.arange(40, dtype=np.uint8).reshape(20, 2), np.arange(20), **options)


def as_they_are(samples: Any) -> Any:
    return list(samples)


def zeros(_: Any) -> torch.Tensor:
    return torch.zeros(2)


def nothing(_: Any) -> None:
    pass


calls: list[int] = []


def counted(samples: Any) -> Any:
    calls.append(len(samples))
    return samples


def told(samples: Any) -> Any:
    import os

    return os.getpid()


def noted(_: Any) -> None:
    calls.append(0)


def said(make: Any) -> Iterator[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    for one in caught:
        if issubclass(one.category, FallbackWarning):
            assert one.filename == __file__
            yield str(one.message)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: gofast.DataLoader(rows(), 4, collate_fn=told, num_workers=1),
            "collate_fn=told needs processes of its own: told imports os",
        ),
        (
            lambda: gofast.DataLoader(rows(), 4, num_workers=1, worker_init_fn=noted),
            "worker_init_fn=noted does more than seed",
        ),
        (
            lambda: gofast.DataLoader(TensorDataset(torch.zeros(9)), 4),
            "TensorDataset is torch's: use gofast.ArrayDataset instead",
        ),
        (lambda: gofast.DataLoader(rows(transform=torch.neg), 4), "transform=neg runs in Python"),
    ],
)
def test_a_loader_says_it_once(make: Any, why: str) -> None:
    (text,) = said(lambda: [list(make()) for _ in range(3)])
    assert why in text and "torch's own machinery" in text
    assert 'warnings.filterwarnings("ignore", category=gofast.errors.FallbackWarning)' in text


@pytest.mark.parametrize(
    "make",
    [
        lambda: gofast.DataLoader(rows(), 4),
        lambda: gofast.DataLoader(rows(), 4, num_workers=2, shuffle=True),
        lambda: gofast.DataLoader(rows(), 4, worker_init_fn=noted),  # there are no workers
        lambda: gofast.DataLoader(rows(), 4, collate_fn=counted),
        lambda: gofast.DataLoader(rows(), 4, num_workers=1, worker_init_fn=nothing),
        lambda: gofast.DataLoader(rows(), batch_size=None),  # one by one is what was asked for
        lambda: DataLoader(rows(transform=torch.neg), 4, collate_fn=as_they_are, num_workers=1),
        lambda: DataLoader(TensorDataset(torch.zeros(9)), 4),
    ],
)
def test_where_nothing_is_lost_nothing_is_said(make: Any) -> None:
    assert not [*said(lambda: list(make()))]


def test_one_cause_is_said_once(folder: Path) -> None:
    (text,) = said(lambda: [list(gofast.DataLoader(gofast.ImageFolder(folder, zeros), 4)) for _ in range(2)])
    assert "the whole transform of this ImageFolder runs in Python (zeros: your own code)" in text
    other = gofast.ImageFiles(folder / "class 0", transform=T.Compose([T.Resize(8), T.ToTensor()]))
    (text,) = said(lambda: list(gofast.DataLoader(other, 1)))  # another cause is
    assert "torch's own machinery" in text


def test_a_transform_that_is_wholly_in_python(folder: Path) -> None:
    (text,) = said(lambda: [gofast.ImageFolder(folder, T.ToTensor()) for _ in range(3)])
    assert "ImageFolder runs in Python (ToTensor: no step before it gives all samples one size)" in text
    (text,) = said(lambda: gofast.ImageFiles(folder / "class 0", transform=as_they_are))
    assert "ImageFiles runs in Python (as_they_are: your own code)" in text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transform": T.Resize(8)},
        {"transform": T.Compose([T.Resize((8, 8)), T.ElasticTransform(20.0, 0.0), T.ToTensor()])},
        {"transform": T.Compose([T.Resize((8, 8)), T.ToTensor(), as_they_are])},
        {"transform": as_they_are, "loader": nothing},  # reading was asked to be Python's
    ],
)
def test_a_transform_that_is_native_in_part_says_nothing(folder: Path, options: Any) -> None:
    assert not [*said(lambda: gofast.ImageFolder(folder, **options))]


WORKERS = """
import sys, warnings
warnings.simplefilter("always")
import gofast, torch
def own(image):
    return torch.zeros(2)
if __name__ == "__main__":
    ours = gofast.ImageFolder(sys.argv[1], own)
    context = sys.argv[2]
    for loader in (gofast.DataLoader, torch.utils.data.DataLoader):
        for _ in loader(ours, 2, num_workers=2, multiprocessing_context=context):
            pass
"""


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_do_not_say_it_again(folder: Path, tmp_path: Path, context: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(WORKERS)
    source = str(Path(gofast.__file__).parents[1])
    done = fresh.run([script, folder, context], check=True, env={"PYTHONPATH": source, "PATH": ""})
    assert done.stderr.count("FallbackWarning:") == 1, done.stderr  # loaders have the dataset's cause
    assert done.stderr.count("script.py:") >= 1

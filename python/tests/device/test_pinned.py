"""pin_memory=True: batches are made in torch's pinned memory; ordinary memory stands for it here."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data._utils import pin_memory as torchs
from torchvision import transforms

import gofast
from gofast._loader import iterator, pinning
from gofast._loader.destination import Destination


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Addresses of memory that stands for pinned memory."""
    there: set[int] = set()

    def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        made = torch.empty(shape, dtype=dtype)
        there.add(made.data_ptr())
        return made

    monkeypatch.setattr(pinning, "empty", empty)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torchs, "pin_memory", lambda batch, device=None: batch)
    monkeypatch.setattr(iterator, "_pin_memory", lambda batch, device=None: batch)
    monkeypatch.setattr(gofast.DataLoader, "_destination", lambda self: Destination(pinned=True))
    return there


@pytest.fixture(params=["table", "pictures", "arrays", "complex"])
def dataset(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Any:
    rng = np.random.default_rng(0)
    if request.param == "table":
        values = rng.integers(0, 256, (70, 12), np.uint8)
        np.savez(tmp_path / "t.npz", features=values, label=np.arange(70))
        return gofast.TableDataset(tmp_path / "t.npz", mean=[0.5], std=[0.25], scale="unit")
    if request.param == "pictures":
        for i in range(20):
            (tmp_path / str(i % 2)).mkdir(exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (30, 40, 3), np.uint8)).save(
                tmp_path / str(i % 2) / f"{i}.png"
            )
        steps = [transforms.CenterCrop(24), transforms.ToTensor()]
        return gofast.ImageFolder(tmp_path, transforms.Compose(steps), channels_last=True)
    kind = torch.complex64 if request.param == "complex" else torch.float64
    return gofast.ArrayDataset(torch.randn(33, 5, dtype=kind), torch.arange(33), output="tuple")


def parts(batch: Any) -> list[torch.Tensor]:
    return list(batch.values()) if isinstance(batch, dict) else list(batch)


def epoch(kind: Any, dataset: Any) -> list[Any]:
    batches = iter(kind(dataset, 8))
    batches._pin_memory = True  # torch says so only where there is an accelerator
    return list(batches)


@pytest.mark.parametrize("kind", [gofast.DataLoader, TorchDataLoader])
def test_batches_lie_in_it(pinned: set[int], dataset: Any, kind: Any) -> None:
    held = epoch(kind, dataset)  # all at once: no memory is used twice meanwhile
    pinned_then = set(pinned)
    for batch, same in zip(held, TorchDataLoader(dataset, 8), strict=True):
        for value, expected in zip(parts(batch), parts(same), strict=True):
            assert (value.dtype, value.stride()) == (expected.dtype, expected.stride())
            assert torch.equal(value, expected)
        assert parts(batch)[0].data_ptr() in pinned_then


@pytest.mark.parametrize("kind", [gofast.DataLoader, TorchDataLoader])
def test_nothing_is_pinned_that_nobody_asked_for(
    pinned: set[int], dataset: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gofast.DataLoader, "_destination", lambda self: Destination())
    assert len(list(kind(dataset, 8))) > 0
    assert not pinned


def test_the_code_that_asks_for_it_is_torchs() -> None:
    """`is_asked_for` looks for a private function of torch's."""
    batches = iter(TorchDataLoader(torch.utils.data.TensorDataset(torch.zeros(1))))
    assert type(batches)._next_data.__code__ is pinning._FETCHES
    assert isinstance(batches._pin_memory, bool)

"""Whether a transform is still the one that was compiled: every change counts, and nothing else does."""

from __future__ import annotations

import random
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast._images.plan_stamp import PlanStamp
from gofast._plan.compile import compile


class Own(torch.nn.Module):
    """Somebody's own."""

    def forward(self, x: Any) -> Any:
        return x


def nest() -> Any:
    normalize = v1.Normalize([0.1, 0.2, 0.3], torch.tensor([0.5, 0.5, 0.5]))
    normalize.array = np.ones(3)  # type: ignore[attr-defined]
    own = Own()
    own.table = {"a": [1.0, 2.0]}  # type: ignore[attr-defined]
    own.around = own.table  # type: ignore[attr-defined]
    own.ordered = OrderedDict(a=1, b=2)  # type: ignore[attr-defined]
    choice = v1.RandomChoice([v1.RandomRotation(3), v1.RandomApply([v1.Grayscale(3)], p=0.5)], p=[1, 2])
    return v1.Compose(
        [
            v2.Compose([v2.RandomResizedCrop(8), v2.ToDtype({torch.Tensor: torch.float32, "others": None})]),
            torch.nn.Sequential(v1.RandomHorizontalFlip(), own),
            choice,
            v1.ToTensor(),
            normalize,
            v2.RandAugment(),
        ]
    )


def at(compose: Any, *path: int) -> Any:
    for step in path:
        compose = compose[step] if isinstance(compose, torch.nn.Sequential) else compose.transforms[step]
    return compose


def set_(name: str, value: Any, *path: int) -> Callable[[Any, Any], object]:
    return lambda compose, patch: setattr(at(compose, *path), name, value)


CHANGES: dict[str, Callable[[Any, Any], object]] = {
    "an attribute": set_("p", 0.7, 1, 0),
    "an equal one of another type": set_("inplace", 0, 4),
    "a new one": set_("more", 1, 4),
    "one less": lambda c, _: delattr(at(c, 4), "inplace"),
    "a member": lambda c, _: c.transforms.pop(),
    "another member": lambda c, _: c.transforms.__setitem__(3, v1.ToTensor()),
    "an inner member": lambda c, _: at(c, 2).transforms[1].transforms.append(v1.Grayscale()),
    "a module in a list of modules": lambda c, _: at(c, 1).append(Own()),
    "a number in a list": lambda c, _: at(c, 4).mean.__setitem__(1, 0.21),
    "a true number in a list": lambda c, _: at(c, 2).p.__setitem__(0, True),
    "a number in a list in a dict": lambda c, _: at(c, 1, 1).table["a"].append(3.0),
    "a key": lambda c, _: at(c, 0, 1).dtype.update(x=None),
    "an order": lambda c, _: at(c, 1, 1).ordered.move_to_end("a"),
    "a tensor": lambda c, _: at(c, 4).std.mul_(2),
    "a tensor's memory": lambda c, _: at(c, 4).std.numpy().__setitem__(0, -0.5),
    "a tensor's data": lambda c, _: setattr(at(c, 4).std, "data", torch.ones(3)),
    "an array": lambda c, _: at(c, 4).array.__setitem__(2, -1),
    "a hook": lambda c, _: at(c, 1, 1).register_forward_hook(lambda *a: None),
    "a hook before": lambda c, _: at(c, 0, 0).register_forward_pre_hook(lambda *a: None),
    "an object's class": lambda c, _: setattr(at(c, 1, 0), "__class__", v1.RandomVerticalFlip),
    "an object's attributes": lambda c, _: setattr(at(c, 4), "__dict__", {**vars(at(c, 4))}),
    "what a class chooses from": lambda _, patch: patch.setattr(v2.RandAugment, "_AUGMENTATION_SPACE", {}),
    "in what a class chooses from": lambda _, patch: patch.setitem(
        v2.RandAugment._AUGMENTATION_SPACE, "Rotate", v2.RandAugment._AUGMENTATION_SPACE["ShearX"]
    ),
    "a class's call": lambda _, patch: patch.setattr(v1.ToTensor, "__call__", lambda self, x: x),
    "a class's forward": lambda _, patch: patch.setattr(Own, "forward", lambda self, x: x),
    "a class's draws": lambda _, patch: patch.setattr(v1.RandomRotation, "get_params", lambda *a: 0),
    "a class's inherited method": lambda _, patch: patch.setattr(
        v2.RandomResizedCrop, "forward", lambda self, x: x
    ),
    "a base's method": lambda _, patch: patch.setattr(torch.nn.Module, "__call__", lambda self, x: x),
    "Python's random": lambda _, patch: patch.setattr(random, "choices", lambda *a, **k: [a[0][0]]),
    "a hook of all modules": lambda _, patch: patch.setitem(
        torch.nn.modules.module._global_forward_hooks, -1, lambda *a: None
    ),
    "torch's type": lambda *_: torch.set_default_dtype(torch.float64),
    "torch's threads": lambda *_: torch.set_num_threads(torch.get_num_threads() + 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compose, threads = nest(), torch.get_num_threads()
    stamp = PlanStamp(compose)
    assert stamp.holds() and stamp.holds()
    try:
        CHANGES[name](compose, monkeypatch)
        assert not stamp.holds()
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)
    monkeypatch.undo()
    assert PlanStamp(compose).holds()


def test_a_tensor_made_in_inference_mode() -> None:
    with torch.inference_mode():
        mean = torch.tensor([0.1, 0.2, 0.3])
    normalize = v1.Normalize(mean, [1.0] * 3)
    stamp = PlanStamp(normalize)
    assert stamp.holds()
    mean.numpy()[1] = 7
    assert not stamp.holds()


class Numbers(list[float]):
    """A list whose members could lie elsewhere."""


@pytest.mark.parametrize("kind", [Numbers, lambda numbers: array("d", numbers), deque])
def test_changes_that_nobody_would_see_are_not_native(kind: Any, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    Image.new("RGB", (30, 20), (9, 90, 200)).save(tmp_path / "a" / "a.png")
    normalize = v1.Normalize(kind([0.1, 0.2, 0.3]), [1.0] * 3)
    compose = v1.Compose([v1.CenterCrop(8), v1.ToTensor(), normalize])
    ours, theirs = gofast.ImageFolder(tmp_path, compose), datasets.ImageFolder(str(tmp_path), compose)
    for mean in (0.1, 0.9):
        normalize.mean[0] = mean
        assert torch.equal(ours[0][0], theirs[0][0])


def test_other_augmentations_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    augment = v2.TrivialAugmentWide()
    plan = compile(v2.Compose([augment, v2.ToImage()]))
    space = v2.TrivialAugmentWide._AUGMENTATION_SPACE
    less = {**space, "Rotate": (lambda bins, height, width: torch.linspace(0, 9, bins), True)}
    monkeypatch.setattr(v2.TrivialAugmentWide, "_AUGMENTATION_SPACE", less)
    assert compile(v2.Compose([augment, v2.ToImage()])).steps != plan.steps


def test_a_stamp_keeps_no_transform() -> None:
    """A Compose's program goes with it: compose_calls.py."""
    compose = nest()
    stamp, gone = PlanStamp(compose), weakref.ref(compose)
    del compose
    assert gone() is None and not stamp.holds()


def test_calls_change_nothing() -> None:
    compose = nest()
    stamp = PlanStamp(compose)
    for _ in range(5):
        compose(Image.new("RGB", (20, 20)))
        assert stamp.holds()


def test_a_list_that_holds_itself_has_an_end() -> None:
    compose = nest()
    compose.transforms[0].more = [compose]
    stamp = PlanStamp(compose)
    assert stamp.holds()
    compose.transforms[0].more.append(1)
    assert not stamp.holds()

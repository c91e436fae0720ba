"""Boxes that are written to samples which wait: by RandomErasing of any kind, beside torch's own."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as T
from torchvision.transforms import functional as F

import gofast
from gofast._images import compose_calls
from gofast._images.lazy_samples import LazySample
from image_data import noise_files
from same import difference, outcome

SIDE, N = 20, 6
VALUES = torch.rand(3, 5, 7)
Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return noise_files(tmp_path_factory.mktemp("pictures"), [(40 + i, 50) for i in range(N)])


@pytest.fixture(autouse=True)
def conversions_wait(samples_wait: None) -> None:
    compose_calls.follow()


def sample(path: Path, ours: bool, bytes_: bool = False) -> Any:
    image = (gofast.open if ours else Image.open)(path).convert("RGB").resize((SIDE, SIDE))
    x = F.pil_to_tensor(image) if bytes_ else F.to_tensor(image)
    assert (type(x) is LazySample) is ours
    return x


def set_(x: Any, index: Any, by: Any) -> Any:
    x[index] = by
    return x


def then_changed(x: Any) -> Any:
    """What was written is what it was then."""
    by = VALUES.clone()
    x[:, 2:7, 3:10] = by
    by.zero_()
    return x


FLOATS: dict[str, Change] = {
    "numbers": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES),
    "a number": lambda x: set_(x, np.s_[:, 2:7, 3:10], 0.5),
    "zero": lambda x: set_(x, np.s_[:, :4, 3:], 0),
    "dots": lambda x: set_(x, np.s_[..., 2:7, 3:10], VALUES),
    "a colour": lambda x: set_(x, np.s_[:, 1:6, 3:4], VALUES[:, :1, :1]),
    "a row": lambda x: set_(x, np.s_[:, 1:6, 3:10], VALUES[0, 0]),
    "one value": lambda x: set_(x, np.s_[:, 1:6, 3:10], torch.tensor(0.25)),
    "one channel": lambda x: set_(x, np.s_[1:2, 1:6, 3:10], VALUES[:1]),
    "the whole": lambda x: set_(x, np.s_[:, :, :], 0.1),
    "nothing": lambda x: set_(x, np.s_[:, 3:3, 5:9], 0.1),
    "beyond": lambda x: set_(x, np.s_[:, 15:99, -3:], 0.1),
    "one over another": lambda x: set_(set_(x, np.s_[:, 2:7, 3:10], VALUES), np.s_[:, 4:9, 5:9], 1.0),
    "then changed": then_changed,
    "of torchvision": lambda x: F.erase(x, 2, 3, 5, 7, VALUES, inplace=True),
}
# Torch does these at once, or refuses.
AT_ONCE: dict[str, Change] = {
    "numbers of another type": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES.double()),
    "of another shape": lambda x: set_(x, np.s_[:, 2:7, 3:9], VALUES),
    "of four dimensions": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES[None]),
    "numpy's": lambda x: set_(x, np.s_[:, 2:7, 3:10], np.float32(0.5)),
    "every other": lambda x: set_(x, np.s_[:, 2:7:2, 3:10], 0.0),
    "a mask": lambda x: set_(x, torch.ones(3, SIDE, SIDE) > 0, 0.0),
    "a channel": lambda x: set_(x, 1, 0.0),
    "true": lambda x: set_(x, np.s_[:, 1:2, 1:2], True),
    "infinite": lambda x: set_(x, np.s_[:, 1:2, 1:2], float("inf")),
    "huge": lambda x: set_(x, np.s_[:, 1:2, 1:2], 10**400),
    "large": lambda x: set_(x, np.s_[:, 1:2, 1:2], 1 << 64),
    "not a number": lambda x: set_(x, np.s_[:, 1:2, 1:2], float("nan")),
    "with a gradient": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES.clone().requires_grad_()) + 0,
    "itself": lambda x: set_(x, np.s_[:, 2:7, 3:10], x[:, :5, :7]),
    "and read": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES) + 1,
    "and added to": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES).sub_(0.5),
    "and cloned": lambda x: set_(x, np.s_[:, 2:7, 3:10], VALUES).clone(),
    "and normalised": lambda x: F.normalize(set_(x, np.s_[:, 2:7, 3:10], VALUES), [0.5], [0.5]),
    "many": lambda x: [set_(x, np.s_[:, i : i + 1, 0:2], 0.0) for i in range(12)][-1],
    "larger than it": lambda x: [
        set_(x, np.s_[:, :, :], torch.full((3, SIDE, SIDE), i / 4)) for i in range(3)
    ][-1],
}
BYTES: dict[str, Change] = {
    "a byte": lambda x: set_(x, np.s_[:, 2:7, 3:10], 255),
    "bytes": lambda x: set_(x, np.s_[:, 2:7, 3:10], (VALUES * 255).byte()),
}
NO_BYTES: dict[str, Change] = {
    "too large": lambda x: set_(x, np.s_[:, 2:7, 3:10], 256),
    "negative": lambda x: set_(x, np.s_[:, 2:7, 3:10], -1),
    "a float": lambda x: set_(x, np.s_[:, 2:7, 3:10], 0.7),
}


@pytest.mark.parametrize("how", [*FLOATS, *AT_ONCE, *BYTES, *NO_BYTES])
def test_a_box_is_written_as_torch_writes_it(how: str, files: list[Path]) -> None:
    change = {**FLOATS, **AT_ONCE, **BYTES, **NO_BYTES}[how]
    bytes_ = how in BYTES or how in NO_BYTES
    mine, theirs = (outcome(change, sample(files[0], ours, bytes_)) for ours in (True, False))
    if how in FLOATS or how in BYTES:
        assert type(mine) is LazySample, "it was made at once"
    else:
        assert type(mine) is not LazySample
    assert difference(mine, theirs) == ""


@pytest.mark.parametrize("how", [*FLOATS, *BYTES])
def test_it_is_written_in_the_batch(how: str, files: list[Path]) -> None:
    """And the sample, where somebody keeps it, has it too."""
    change, bytes_ = {**FLOATS, **BYTES}[how], how in BYTES
    mine, theirs = ([sample(path, ours, bytes_) for path in files] for ours in (True, False))
    for x in (mine, theirs):
        for one in x[::2]:
            change(one)
    for _ in range(2):
        assert difference(torch.stack(mine), torch.stack(theirs)) == ""
    assert difference([x + 0 for x in mine], [x + 0 for x in theirs]) == ""


def test_a_batch_may_be_written_to_between(files: list[Path]) -> None:
    """A sample that was stacked is written to, and stacked again."""
    mine, theirs = ([sample(path, ours) for path in files] for ours in (True, False))
    batches = []
    for x in (mine, theirs):
        first = torch.stack(x)
        x[1][:, 2:7, 3:10] = VALUES
        second = torch.stack(x)
        batches.append([first, second, torch.stack(x)])
    assert difference(batches[0], batches[1]) == ""


def test_random_programs_of_changes(files: list[Path]) -> None:
    """Boxes, arithmetic, looks and stacks in any order."""
    steps: list[Change] = [*FLOATS.values(), *AT_ONCE.values(), lambda x: x.sub_(0.5), lambda x: x + 0]
    steps += [lambda x: torch.stack([x, x])[0], lambda x: x / 0.5, T.Normalize([0.5] * 3, [0.2] * 3)]
    for _ in range(300):
        chosen = random.choices(steps, k=random.randint(1, 5))
        outcomes: list[Any] = []
        for ours in (True, False):
            x = [sample(path, ours) for path in files[:2]]
            for step in chosen:
                made = outcome(step, x[0])
                x[0] = made if isinstance(made, torch.Tensor) and made.shape == (3, SIDE, SIDE) else x[0]
                x[0] = x[0].detach()
            outcomes.append([torch.stack(x), x[0] + 0])
        assert difference(*outcomes) == ""

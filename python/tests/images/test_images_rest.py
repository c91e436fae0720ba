"""Tensors that the core makes and Python goes on with: beside torchvision's own, to the last bit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, tv_tensors
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from picture_chains import KINDS, MEAN, STD, chain, write_pictures
from test_images_parity import Pair

pytestmark = pytest.mark.usefixtures("quietly")

PICTURES = 23  # of `folder`
TO_NUMBERS = [v1.ToTensor(), v1.Normalize(MEAN, STD)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    write_pictures(root, 2 * len(KINDS), seed=8)
    return root


def looked_at(sample: Any) -> Any:
    """All that somebody's code can see of a sample beside its values."""
    if not isinstance(sample, torch.Tensor):
        return sample
    strides = [s for s, n in zip(sample.stride(), sample.shape, strict=True) if n > 1]
    memory = sample.untyped_storage().nbytes(), sample.storage_offset(), sample.is_contiguous()
    return sample, strides, memory, type(sample).__name__, sample.requires_grad


def raised(sample: Any) -> Any:
    """Writes into a tensor."""
    return sample.add_(1) if isinstance(sample, torch.Tensor) else sample


def noisy(sample: Any) -> Any:
    """Draws from all three generators."""
    drawn = float(torch.rand(())) + random.random() + np.random.rand()
    return sample * drawn if isinstance(sample, torch.Tensor) else sample


# What Python does with a tensor.
TAILS = (
    lambda d, m: m.Lambda(raised),
    lambda d, m: m.Lambda(noisy),
    lambda d, m: noisy,
    lambda d, m: m.RandomErasing(d.random(), value="random"),
    lambda d, m: m.GaussianBlur(3),
    lambda d, m: m.RandomPerspective(0.2),
    lambda d, m: m.RandomApply([m.Lambda(raised)], 0.5),
    lambda d, m: m.RandomHorizontalFlip(),
)


def chains(count: int, first: int) -> Iterator[tuple[random.Random, Any]]:
    """Random chains with something at the end that only Python can do."""
    for k in range(first, first + count):
        d = random.Random(k)
        module = d.choice((v1, v2))
        tail = [d.choice(TAILS)(d, module) for _ in range(d.randint(0, 2))]
        yield d, v1.Compose([chain(d, one_size=d.random() < 0.9), *tail, v1.Lambda(looked_at)])


def compare_chains(pair: Pair, count: int, first: int) -> tuple[int, int]:
    """How many samples were made, and how many of them from tensors of the core's."""
    made = native = 0
    for d, transform in chains(count, first):
        pair.transform(transform)
        indices = [d.randrange(len(pair.theirs)) for _ in range(6)]

        def load(dataset: Any, indices: list[int] = indices) -> list[Any]:
            loader = DataLoader(Subset(dataset, indices), batch_size=3, shuffle=True, collate_fn=as_list)
            return [sample for batch in loader for sample in batch]

        if pair.compare(d.randrange(1 << 40), load, one_sample=False):
            made += len(indices)
            native += len(indices) * (pair.ours._plan.hands_over != "pil")
    return made, native


def as_list(samples: Any) -> list[Any]:
    return [tuple(sample) for sample in samples]


@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.full)])
def test_random_chains(pictures: Path, times: int) -> None:
    made, native = compare_chains(Pair(pictures), 50 * times, 0)
    assert made > 150 * times and native > 100 * times


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_random_chains(pictures: Path) -> None:
    assert compare_chains(Pair(pictures), 4000, 50_000)[0] > 10_000


def plan_of(transform: Any) -> tuple[list[bool], str]:
    """Which steps of the longest prefix that Python can use are native, and why the next one is not."""
    from gofast._plan.compile import compile

    report = compile(transform, handed=True).report
    return [line.native for line in report], next((line.what for line in report if not line.native), "")


SAME, RESIZED = v1.Lambda(looked_at), v1.Resize((8, 9))
NO_SIZE = "no step before it gives all samples one size"


@pytest.mark.parametrize(
    ("steps", "native", "why"),
    [
        ([RESIZED, *TO_NUMBERS, SAME], 3, "your own code"),
        ([v1.RandomResizedCrop(8), v1.RandomHorizontalFlip(), *TO_NUMBERS, SAME], 4, "your own code"),
        ([RESIZED, *TO_NUMBERS, v1.RandomErasing(value="random")], 3, 'value="random": torch fills the rect'),
        ([RESIZED, *TO_NUMBERS, v1.GaussianBlur(3)], 3, "blurs a tensor with torch's own arithmetic"),
        ([RESIZED, *TO_NUMBERS, *TO_NUMBERS[1:], SAME], 3, "normalizes twice"),
        ([RESIZED, SAME, *TO_NUMBERS], 1, "your own code"),
        ([v1.Resize(8), *TO_NUMBERS, SAME], 1, NO_SIZE),
        ([*TO_NUMBERS], 0, NO_SIZE),
        (
            [RESIZED, v2.ToImage(), v2.CenterCrop(4), SAME],
            2,
            "torch's order of its tensor's memory depends on",
        ),
        ([v2.ToImage(), v2.RandomResizedCrop(8), v2.ToDtype(torch.float32), SAME], 0, NO_SIZE),
        ([RESIZED, v2.ToImage(), v2.Resize((5, 4)), v2.ToDtype(torch.float32), SAME], 4, "your own code"),
        ([RESIZED, v2.ToImage(), v2.RandomApply([v2.CenterCrop(4)])], 2, "it decides what the sample"),
    ],
)
def test_what_is_native_and_the_true_reason(steps: list[Any], native: int, why: str) -> None:
    marks, reason = plan_of(v1.Compose(steps))
    assert marks == [True] * native + [False] * (len(steps) - native)
    assert reason.startswith(why)


@pytest.mark.daily
@pytest.mark.arrives("copied")
@pytest.mark.parametrize("module", [v1, v2])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_loaders(folder: Path, module: Any, workers: int, loader: Any) -> None:
    """A rest that draws takes turns with native draws: batches and generators are torchvision's."""
    steps = [module.RandomResizedCrop(16), module.RandomHorizontalFlip(), *TO_NUMBERS, module.Lambda(noisy)]
    transform = v1.Compose(steps)
    pair = datasets.ImageFolder(str(folder), transform), gofast.ImageFolder(folder, transform)
    assert pair[1]._plan.hands_over == "tensor" and pair[1]._plan.in_order
    seen = []
    for dataset, kind in zip(pair, (DataLoader, loader), strict=True):
        torch.manual_seed(4), random.seed(4), np.random.seed(4)
        batches = [batch for _ in range(2) for batch in kind(dataset, 5, shuffle=True, num_workers=workers)]
        seen.append((batches, torch.get_rng_state(), random.getstate()))
    (theirs, *states), (ours, *own_states) = seen
    assert torch.equal(states[0], own_states[0]) and states[1] == own_states[1]
    for (x, y), (a, b) in zip(theirs, ours, strict=True):
        assert torch.equal(x, a) and torch.equal(y, b)


def test_a_sample_may_be_kept_and_written_into(folder: Path) -> None:
    kept: list[torch.Tensor] = []

    def keep(sample: torch.Tensor) -> torch.Tensor:
        kept.append(sample)
        return sample

    ours = gofast.ImageFolder(folder, v1.Compose([RESIZED, *TO_NUMBERS, keep]))
    plain = datasets.ImageFolder(str(folder), v1.Compose([RESIZED, *TO_NUMBERS]))
    for _ in range(3):
        list(DataLoader(ours, 8))
    for i, sample in enumerate(kept):
        assert torch.equal(sample, plain[i % len(plain)][0])
    kept[0].zero_()
    kept[0].resize_(5000)  # it owns its memory
    assert torch.equal(kept[1], plain[1][0])


def test_a_tv_image_is_handed_over(folder: Path) -> None:
    def check(sample: Any) -> Any:
        assert type(sample) is tv_tensors.Image
        return sample

    transform = v2.Compose([v2.Resize((8, 9)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), check])
    ours, theirs = gofast.ImageFolder(folder, transform), datasets.ImageFolder(str(folder), transform)
    assert ours._plan.hands_over == "tv_image"
    for i in range(len(theirs)):
        assert torch.equal(ours[i][0], theirs[i][0]) and type(ours[i][0]) is type(theirs[i][0])
        assert ours[i][0].stride() == theirs[i][0].stride()


def test_channels_last_is_no_matter_of_the_rest(folder: Path) -> None:
    """It sees torchvision's strides."""
    transform = v1.Compose([RESIZED, *TO_NUMBERS, v1.Lambda(looked_at)])
    ours = gofast.ImageFolder(folder, transform, channels_last=True)
    theirs = datasets.ImageFolder(str(folder), transform)
    for i in range(len(theirs)):
        assert torch.equal(ours[i][0][0], theirs[i][0][0]) and ours[i][0][1:] == theirs[i][0][1:]


@pytest.mark.parametrize("crop", [RESIZED, v1.RandomResizedCrop((8, 9))], ids=["still", "drawn"])
@pytest.mark.parametrize("policy", ["raise", "replace", "zero", "callable"])
def test_bad_samples(folder: Path, tmp_path: Path, policy: str, crop: Any) -> None:
    """What stands in for a bad one goes the same way: natively, and then through the rest."""
    paths = sorted(str(path) for path in folder.rglob("*.jpg"))[:6]
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff nothing")
    files = [*paths[:2], broken, *paths[2:]]
    transform = v1.Compose([crop, *TO_NUMBERS, v1.Lambda(lambda x: x + 1000)])
    ours = gofast.ImageFiles(
        files, transform=transform, on_error=(lambda i, error: 0) if policy == "callable" else policy
    )
    assert ours._plan.hands_over == "tensor"
    if policy == "raise":
        with pytest.raises(gofast.errors.BadImageError, match=r"broken\.jpg"):
            ours.__getitems__([1, 2, 3])
        return
    with pytest.warns(RuntimeWarning, match=r"broken\.jpg"):
        made = ours.__getitems__([1, 2, 3])[1]
    assert list(ours.bad_samples()) == [str(broken)]
    if policy == "zero":  # a black picture, as where PIL images are handed over
        black = v1.Normalize(MEAN, STD)(torch.zeros(3, 8, 9)) + 1000
        assert torch.equal(made, black)
    elif crop is RESIZED and policy == "callable":
        assert torch.equal(made, ours[0])
    else:
        assert made.shape == (3, 8, 9) and made.min() > 900


def test_another_order_of_the_same_steps_is_another_plan(folder: Path) -> None:
    """Cropped before it is a tensor, or after: the same numbers, natively the same steps, other strides."""
    crop, convert, floats = v2.CenterCrop(200), v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True)
    tail = v1.Lambda(looked_at)
    ours, theirs = gofast.ImageFolder(folder), datasets.ImageFolder(str(folder))
    for steps in (
        [convert, crop, floats, tail],
        [crop, convert, floats, tail],
        [crop, floats, convert, tail],
    ):
        ours.transform = theirs.transform = v2.Compose(steps)
        for i in range(6):
            (x, *rest), (a, *own) = theirs[i][0], ours[i][0]
            assert torch.equal(x, a) and rest == own

"""gofast.ImageFolder beside torchvision's: random chains over pictures of every kind, to the last bit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Subset

torchvision = pytest.importorskip("torchvision")

from torchvision import transforms as v1  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gofast  # noqa: E402
from gofast.images import ImageFolder  # noqa: E402
from picture_chains import KINDS, MEAN, STD, chain, moves_tensors, write_pictures  # noqa: E402
from same import difference  # noqa: E402

pytestmark = pytest.mark.usefixtures("quietly")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    write_pictures(root, 3 * len(KINDS), seed=5)
    return root


class Pair:
    """torchvision's dataset and gofast's, of the same folder."""

    def __init__(self, root: Path) -> None:
        self.theirs = torchvision.datasets.ImageFolder(root)
        self.ours = ImageFolder(root)
        paths = [self.ours._files.path(i) for i in range(len(self.ours))]
        assert paths == [path for path, _ in self.theirs.samples]
        self.native = 0

    def transform(self, transform: Any) -> None:
        self.theirs.transform = self.ours.transform = transform

    def compare(self, seed: int, make: Callable[[Any], Any], *, one_sample: bool) -> bool:
        """Makes the same of both; whether it could be made."""
        theirs, after = attempt(seed, lambda: make(self.theirs))
        ours, own_after = attempt(seed, lambda: make(self.ours))
        told = f"{self.theirs.transform}, seed {seed}"
        if isinstance(theirs, Exception):
            # Draws come before steps, and a batch's native steps before its rest: what raises first, and
            # after which draws, may differ.
            assert isinstance(ours, Exception), f"torchvision raises {theirs!r}: {told}"
            if one_sample:
                assert (type(ours), str(ours)) == (type(theirs), str(theirs)), told
            return False
        if isinstance(ours, Exception):
            raise AssertionError(told) from ours
        strides = not moves_tensors(self.theirs.transform)
        differ = difference(ours, theirs, strides)
        if differ and difference(attempt(seed, lambda: make(self.theirs))[0], theirs, strides):
            return False  # a perspective of float16 comes out of torchvision otherwise each time
        assert not differ, f"{differ}: {told}"
        assert own_after == after, f"generators differ: {told}"
        self.native += self.ours._here().finished
        return True


def attempt(seed: int, make: Callable[[], Any]) -> tuple[Any, tuple[bytes, Any, str]]:
    """What it makes or raises, and the state of all generators after it."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    try:
        made = make()
    except Exception as error:
        made = error
    return made, (torch.get_rng_state().numpy().tobytes(), random.getstate(), str(np.random.get_state()))


def single_samples(pair: Pair, chains: int, first: int) -> tuple[int, int]:
    """ds[i] of random chains: how many were made, and how many raised."""
    made = raised = 0
    for k in range(first, first + chains):
        dice = random.Random(k)
        pair.transform(chain(dice, one_size=dice.random() < 0.5))
        seed = dice.randrange(1 << 40)
        for i in dice.sample(range(len(pair.theirs)), 6):
            done = pair.compare(seed, lambda ds, i=i: ds[i], one_sample=True)
            made, raised = made + done, raised + (not done)
    return made, raised


def batches(pair: Pair, chains: int, first: int, rest: bool = False) -> tuple[int, int]:
    """Batches of a plain DataLoader without workers: how many samples were made, how many batches raised.

    Args:
        rest: Python must do a part, which may draw, and make samples of several sizes.
    """
    made = raised = 0
    for k in range(first, first + chains):
        dice = random.Random(k)
        pair.transform(chain(dice, one_size=not rest, rest=rest))
        indices = [dice.randrange(len(pair.theirs)) for _ in range(7 if rest else 9)]

        def load(dataset: Any, indices: list[int] = indices) -> list[Any]:
            options: Any = {"batch_size": 3, "collate_fn": as_list} if rest else {"batch_size": 4}
            return list(DataLoader(Subset(dataset, indices), shuffle=True, **options))

        done = pair.compare(dice.randrange(1 << 40), load, one_sample=False)
        made, raised = made + done * len(indices), raised + (not done)
    return made, raised


def as_list(samples: Any) -> list[Any]:
    return [tuple(sample) for sample in samples]


TIMES = pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.full)])


@TIMES
def test_single_samples(pictures: Path, times: int) -> None:
    pair = Pair(pictures)
    made, raised = single_samples(pair, 50 * times, 0)
    assert made > 200 * times and raised > 10 * times and pair.native > 80 * times


@TIMES
def test_batches(pictures: Path, times: int) -> None:
    pair = Pair(pictures)
    made, _ = batches(pair, 30 * times, 10_000)
    assert made > 160 * times and pair.native > 8 * times


@TIMES
def test_rests(pictures: Path, times: int) -> None:
    made, _ = batches(Pair(pictures), 24 * times, 20_000, rest=True)
    assert made > 100 * times


HALF = 48


def pipelines(size: int = 96) -> dict[str, Any]:
    """What users write, and what the core can only do a part of."""
    floats, numbers = [v1.ToTensor(), v1.Normalize(MEAN, STD)], v2.ToDtype(torch.float32, scale=True)
    crop, crop2 = v1.RandomResizedCrop(size), v2.RandomResizedCrop(size)
    flip, flip2 = v1.RandomHorizontalFlip(), v2.RandomHorizontalFlip()
    simclr = v1.RandomApply([v1.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    codes = v2.Normalize([255 * m for m in MEAN], [255 * s for s in STD])
    some = v1.RandomChoice([v1.RandomVerticalFlip(), v1.Pad(3)])
    bicubic = v2.Resize(size + 16, v2.InterpolationMode.BICUBIC)
    small, small2 = v1.RandomCrop(HALF, pad_if_needed=True), v2.RandomCrop(HALF, pad_if_needed=True)
    stacked, ten = v1.Lambda(stack), v1.TenCrop((HALF, HALF - 9), vertical_flip=True)
    made = {
        "train": [crop, flip, *floats],
        "val": [v1.Resize(size + 16), v1.CenterCrop(size), *floats],
        "train v2": [crop2, flip2, v2.ToImage(), numbers, v2.Normalize(MEAN, STD)],
        "train v2 tensors": [v2.ToImage(), crop2, flip2, numbers, v2.Normalize(MEAN, STD)],
        "val v2 tensors": [v2.PILToTensor(), bicubic, v2.CenterCrop(size), numbers, v2.Normalize(MEAN, STD)],
        "SimCLR": [crop, flip, simclr, v1.RandomGrayscale(0.2), v1.ToTensor()],
        "SimCLR with blur": [crop, simclr, v1.GaussianBlur(9), v1.ToTensor()],
        "jitter and erasing": [crop, v1.ColorJitter(0.4, 0.4, 0.4, 0.1), *floats, v1.RandomErasing(0.5)],
        "RandAugment": [crop2, v2.RandAugment(), v2.ToImage()],
        "bytes as floats": [v2.Resize((size, HALF)), v2.ToImage(), v2.ToDtype(torch.float32), codes],
        "five crops": [v1.Resize((size, size)), v1.FiveCrop(HALF), stacked],
        "ten random crops": [crop, ten, stacked],
        "five random crops v2": [crop2, flip2, v2.FiveCrop(HALF), v2.ToImage(), numbers],
        "rotation": [small2, v2.RandomRotation(30)],
        "choice": [small, some],
        "choices and orders": choices(v1, size, v1.ToTensor()),
        "choices and orders v2": choices(v2, size, v2.ToImage()),
    }
    return {name: v2.Compose(steps) if "v2" in name else v1.Compose(steps) for name, steps in made.items()}


def choices(m: Any, size: int, last: Any) -> list[Any]:
    colour = [m.ColorJitter(0.4, 0.4, 0.4, 0.1), m.RandomSolarize(100), m.RandomGrayscale(0.3)]
    some = m.RandomChoice([m.TrivialAugmentWide(), *colour])
    whole = m.Compose([m.Resize(size + 9), m.CenterCrop(size)])
    chosen = m.RandomChoice([m.RandomResizedCrop(size), whole], p=[0.8, 0.3])
    return [chosen, m.RandomOrder([m.RandomHorizontalFlip(), m.RandomRotation(20), some, *colour]), last]


def stack(crops: Any) -> torch.Tensor:
    return torch.stack([v1.functional.to_tensor(crop) for crop in crops])


@pytest.mark.parametrize("pipeline", pipelines())
def test_pipelines(pictures: Path, pipeline: str) -> None:
    pair = Pair(pictures)
    pair.transform(pipelines()[pipeline])
    whole(pair, 1, seed=3)


def whole(pair: Pair, epochs: int, seed: int) -> None:
    """Epochs over all pictures, by a loader that shuffles."""
    for epoch in range(epochs):
        assert pair.compare(
            seed + epoch,
            lambda dataset: list(DataLoader(dataset, 16, shuffle=True, collate_fn=as_samples)),
            one_sample=False,
        )


@pytest.mark.daily
@pytest.mark.arrives("copied")
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("pipeline", ["five crops", "ten random crops", "five random crops v2"])
def test_crops_in_loaders(pictures: Path, pipeline: str, workers: int, loader: Any) -> None:
    """Samples of several tensors: default_collate makes a list of batches of them."""

    def load(dataset: Any) -> list[Any]:
        kind = loader if isinstance(dataset, ImageFolder) else DataLoader
        return [batch for _ in range(2) for batch in kind(dataset, 16, shuffle=True, num_workers=workers)]

    pair = Pair(pictures)
    pair.transform(pipelines()[pipeline])
    assert pair.compare(1, load, one_sample=False)


def as_samples(samples: Any) -> list[Any]:
    return [tuple(sample) for sample in samples]


PHOTOGRAPHS = os.environ.get("GOFAST_TEST_DATA", "")


@pytest.mark.parametrize("pipeline", pipelines())
@pytest.mark.skipif(not PHOTOGRAPHS, reason="GOFAST_TEST_DATA has real photographs")
def test_pipelines_on_photographs(pipeline: str) -> None:
    pair = photographs()
    pair.transform(pipelines()[pipeline])
    few = random.Random(pipeline).sample(range(len(pair.theirs)), 40)
    assert pair.compare(1, lambda dataset: [dataset[i] for i in few], one_sample=False)


def photographs() -> Pair:
    """Of ImageNet's validation set."""
    return Pair(Path(PHOTOGRAPHS, "imagenet-500"))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "pipeline",
    ["train", "val", "train v2", "train v2 tensors", "val v2 tensors", "SimCLR", "jitter and erasing"],
)
@pytest.mark.skipif(not PHOTOGRAPHS, reason="GOFAST_TEST_DATA has real photographs")
def test_epochs_of_photographs(pipeline: str) -> None:
    """At the size that ImageNet is trained with."""
    pair = photographs()
    pair.transform(pipelines(224)[pipeline])
    whole(pair, 20 if pipeline in ("train", "val") else 3, seed=100)


CAPABILITY = """
import sys, torch, torchvision
sys.path[:0] = sys.argv[2:]
from pathlib import Path
import test_images_parity as parity
pair = parity.Pair(Path(sys.argv[1]))
assert torch.backends.cpu.get_cpu_capability() == "DEFAULT"
for name in ("train", "SimCLR", "jitter and erasing"):
    pair.transform(parity.pipelines()[name])
    parity.whole(pair, 2, seed=9)
assert pair.native == 6
column = parity.v2.RandomResizedCrop((8, 1), interpolation=parity.v2.InterpolationMode.BICUBIC)
pair.transform(parity.v2.Compose([parity.v2.PILToTensor(), column]))
parity.whole(pair, 2, seed=9)
"""


def test_without_vector_instructions(pictures: Path) -> None:
    """torch's plain kernels round uniform_ otherwise, and their exp is another."""
    subprocess.run(
        [sys.executable, "-c", CAPABILITY, str(pictures), *SOURCES],
        env={**os.environ, "ATEN_CPU_CAPABILITY": "default"},
        check=True,
        timeout=100,
    )


SOURCES = [str(folder) for folder in Path(__file__).parents[:3]]


@pytest.mark.parametrize("change", ["dtype", "device"])
def test_unusual_defaults_run_in_python(pictures: Path, change: str) -> None:
    """torch draws other numbers then: nothing may be drawn natively."""
    pair = Pair(pictures)
    pair.transform(pipelines()["train"])
    pair.compare(1, lambda dataset: dataset[0], one_sample=True)
    assert pair.native == 1
    try:
        if change == "dtype":
            torch.set_default_dtype(torch.float64)
        else:
            torch.set_default_device("meta")
        for i in range(6):
            if change == "device":  # torchvision itself fails with it
                pair.compare(i, lambda dataset, i=i: dataset[i], one_sample=True)
            else:
                assert pair.compare(i, lambda dataset, i=i: dataset[i], one_sample=True)
        assert pair.native == 1
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    assert pair.compare(2, lambda dataset: dataset[0], one_sample=True) and pair.native == 2


@pytest.mark.parametrize("module", [v1, v2])
def test_boxes_without_pixels(pictures: Path, module: Any) -> None:
    """A fallback box of RandomResizedCrop may have no height: Pillow 13 makes it black, and torch raises."""
    pair = Pair(pictures)
    thin = min(range(len(pair.theirs)), key=lambda i: pair.theirs[i][0].width / pair.theirs[i][0].height)
    for ratio in ((50.0, 60.0), (0.01, 0.02)):
        crop = module.RandomResizedCrop((9, 7), scale=(2.0, 3.0), ratio=ratio)
        for steps in ([crop, module.PILToTensor()], [v2.ToImage(), crop]):
            pair.transform(v2.Compose(steps))
            made = [pair.compare(i, lambda ds, i=i: ds[i], one_sample=True) for i in (thin, *range(30))]
            assert any(made)


def test_erasing_that_finds_no_place(pictures: Path) -> None:
    """After ten tries v1 erases with the picture itself: nothing, but the draws are made."""
    pair = Pair(pictures)
    for module in (v1, v2):
        pair.transform(
            module.Compose(
                [module.Resize((5, 7)), v1.ToTensor(), module.RandomErasing(1.0, scale=(0.999, 1.0), value=7)]
            )
        )
        for i in range(12):
            assert pair.compare(i, lambda dataset, i=i: dataset[i], one_sample=True)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_chains(pictures: Path) -> None:
    pair = Pair(pictures)
    assert single_samples(pair, 6000, 1_000_000)[0] > 25_000
    assert batches(pair, 4000, 2_000_000)[0] > 20_000
    assert batches(pair, 2000, 3_000_000, rest=True)[0] > 8000

"""Batches that are made on a guess, without workers: random programs beside torch's loader, step by step.

A program is a loader over pictures, and what its loop does between batches: mostly nothing, or it draws,
seeds, breaks, changes the transform, takes batches of another loader. What comes, and the states of all three
generators after every step, must be torch's.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    default_collate,
)
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from gofast._loader import iterator_stream, speculation
from image_data import make_folder
from in_threads import in_threads
from same import difference

PICTURES = 30  # of `folder`

END = [T.Resize((12, 12)), T.ToTensor()]
TRANSFORMS: dict[str, Callable[[], Any]] = {
    "crop": lambda: T.Compose([T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.ToTensor()]),
    "flip": lambda: T.Compose([T.RandomHorizontalFlip(0.3), *END]),
    "choice": lambda: T.Compose(
        [T.RandomChoice([T.CenterCrop(9), T.RandomCrop(9)]), T.RandomVerticalFlip(), *END]
    ),
    "order": lambda: T.Compose([T.RandomOrder([T.RandomHorizontalFlip(), T.RandomVerticalFlip()]), *END]),
    "v2": lambda: v2.Compose(
        [
            v2.RandomResizedCrop(12),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    ),
    "erasing": lambda: T.Compose([*END, T.RandomErasing()]),
    "none": lambda: T.Compose(END),
}


class Own(Sampler[int]):
    """Draws whenever it is asked: nothing of it may be pulled early."""

    def __iter__(self) -> Iterator[int]:
        for _ in range(PICTURES):
            yield int(torch.randint(PICTURES, ()))

    def __len__(self) -> int:
        return PICTURES


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


ORDERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "sequential": lambda n: {},
    "shuffle": lambda n: {"shuffle": True},
    "shuffle, own generator": lambda n: {"shuffle": True, "generator": generator(), "drop_last": True},
    "shuffle, everybody's generator": lambda n: {"shuffle": True, "generator": torch.default_generator},
    "replacement": lambda n: {"sampler": RandomSampler(range(n), True, 40)},
    "subset": lambda n: {"sampler": SubsetRandomSampler(range(3, n), generator())},
    "weighted": lambda n: {"sampler": WeightedRandomSampler([1.0 + i % 3 for i in range(n)], 20)},
    "own": lambda n: {"sampler": Own()},
}
SHAPES: dict[str, Callable[[Any], Any]] = {
    "folder": lambda one: one,
    "subset": lambda one: Subset(one, range(PICTURES)),
    "both": lambda one: ConcatDataset([Subset(one, range(0, 20, 2)), Subset(one, range(20))]),
}


def noisy(rows: Any) -> Any:
    """A collate function that draws, now and then."""
    images, labels = default_collate(rows)
    if int(labels[0]) == 1:
        images = images + torch.rand(1) + random.random() + float(np.random.rand())
    return images, labels


def mean(rows: Any) -> Any:
    """One that draws nothing."""
    images, labels = default_collate(rows)
    return images.mean((2, 3)), labels


COLLATES: dict[str, dict[str, Any]] = {
    "default": {},
    "mean": {"collate_fn": mean},
    "noisy": {"collate_fn": noisy},
}
DRAWING = ["torch", "python", "numpy", "seed", "stays", "apart", "inside", "other", "nested"]
CHANGING = ["transform", "probability", "indices", "double"]
LIBRARIES: dict[str, tuple[Any, Any]] = {
    "torch": (DataLoader, torchvision.datasets.ImageFolder),
    "gofast": (gofast.DataLoader, gofast.ImageFolder),
}


class Program:
    """What a seed says. It runs on either library, and tells what can be seen."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.transform, self.next_transform = (dice.choice([*TRANSFORMS]) for _ in range(2))
        self.order, self.shape, self.collate = (dice.choice([*of]) for of in (ORDERS, SHAPES, COLLATES))
        self.batch_size = dice.choice([1, 2, 4, 7])
        often = dice.choice([0, 0.1, 0.3, 1])
        what = dice.choice([DRAWING, [dice.choice(DRAWING)], [*DRAWING, *CHANGING]])
        self.epochs = [
            [dice.choice(what) if dice.random() < often else "nothing" for _ in range(40)] for _ in range(3)
        ]
        for epoch in self.epochs:
            if dice.random() < 0.4:
                epoch[dice.randrange(5)] = "break"

    def __str__(self) -> str:
        return (
            f"{self.transform}, {self.order}, {self.shape}, {self.collate}, {self.batch_size}: {self.epochs}"
        )

    def loader(self, library: str, folder: Path) -> Any:
        loader, dataset = LIBRARIES[library]
        inner = dataset(str(folder), TRANSFORMS[self.transform]())
        shaped = SHAPES[self.shape](inner)
        options = ORDERS[self.order](len(shaped)) | COLLATES[self.collate]
        return loader(shaped, self.batch_size, **options)

    def run(self, library: str, folder: Path) -> tuple[list[Any], Any]:
        """The log, and the loader."""
        torch.manual_seed(1)
        random.seed(1)
        np.random.seed(1)
        loader, other = self.loader(library, folder), self.loader(library, folder)
        others, log = iter(other), [states()]
        for actions in self.epochs:
            iterator = iter(loader)
            log.append(states())
            for action in actions:
                try:
                    batch = next(iterator)
                except StopIteration:
                    log += ["end", states()]
                    break
                log += [[part.clone() for part in batch], states()]
                if action == "break":
                    break
                if action == "inside":
                    with torch.random.fork_rng(devices=[]):
                        batch = next(iterator, None)
                        log += [batch and [part.clone() for part in batch], states()]
                elif action in ("other", "nested"):
                    batches = [*iter(other)] if action == "nested" else [next(others, None)]
                    log += [batch and [part.clone() for part in batch] for batch in batches]
                else:
                    self.act(action, loader.dataset)
                log.append(states())
            del iterator
            torch.set_default_dtype(torch.float32)
            log.append(states())
        return log, loader

    def act(self, action: str, dataset: Any) -> None:
        inner = dataset
        while not hasattr(inner, "transform"):
            inner = inner.datasets[0] if isinstance(inner, ConcatDataset) else inner.dataset
        if action == "torch":
            torch.rand(3)
        elif action == "python":
            random.random()
        elif action == "numpy":
            np.random.rand()
        elif action == "seed":
            torch.manual_seed(7)
        elif action == "stays":
            state = torch.get_rng_state()
            torch.rand(3)
            torch.set_rng_state(state)
        elif action == "apart":
            with torch.random.fork_rng(devices=[]):
                torch.rand(2)
        elif action == "transform":
            inner.transform = TRANSFORMS[self.next_transform]()
        elif action == "double":
            torch.set_default_dtype(torch.float64)
        elif action == "probability":
            for step in inner.transform.transforms:
                if isinstance(getattr(step, "p", None), float):
                    step.p = 0.9
        elif action == "indices" and isinstance(dataset, Subset):
            dataset.indices = range(PICTURES)[::-1]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses for batches that are made in no time, too."""
    monkeypatch.setattr(speculation, "_LEAST_NS", 0)


def states() -> list[Any]:
    return [torch.get_rng_state(), random.getstate(), str(np.random.get_state())]


@pytest.mark.daily(1)
@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
@pytest.mark.parametrize("block", range(6))
def test_programs(folder: Path, block: int, quietly: None) -> None:
    told: dict[str, int] = {"guessed": 0, "misguessed": 0}
    for seed in range(10 * block, 10 * block + 10):
        program = Program(seed)
        theirs, _ = program.run("torch", folder)
        ours, loader = program.run("gofast", folder)
        assert difference(ours, theirs, strides=False) == "", f"seed {seed}: {program}"
        for name in told:
            told[name] += loader.stats()[name]
    assert told["guessed"] > 30 and told["misguessed"] > 5, told


@pytest.mark.daily
@pytest.mark.parametrize("collate", COLLATES)
@pytest.mark.parametrize("transform", ["crop", "flip", "choice", "v2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pictures_that_cannot_be_read(tmp_path: Path, transform: str, collate: str, shape: str) -> None:
    """Their errors come at their batches, behind the draws for the samples before them."""
    files = sorted(path for path in make_folder(tmp_path, PICTURES).rglob("*") if path.is_file())
    files[5].write_bytes(files[5].read_bytes()[:200])
    files[13].write_bytes(b"no picture")
    files[14].write_bytes(b"")
    files[23].write_bytes(b"nor this one")
    logs = []
    for loader, dataset in LIBRARIES.values():
        torch.manual_seed(2)
        random.seed(2)
        np.random.seed(2)
        shaped = SHAPES[shape](dataset(str(tmp_path), TRANSFORMS[transform]()))
        batches = iter(loader(shaped, 4, **COLLATES[collate]))
        log: list[Any] = [states()]
        while log[-1] != "end":
            try:
                log.append([part.clone() for part in next(batches)])
            except StopIteration:
                log.append("end")
            except OSError:
                log.append("error")
            log[-1:-1] = [states()]
        logs.append(log)
    assert difference(logs[1], logs[0], strides=False) == ""
    assert logs[0].count("error") >= 3


def train(folder: Path, **options: Any) -> gofast.DataLoader[Any]:
    return gofast.DataLoader(gofast.ImageFolder(folder, TRANSFORMS["crop"]()), 2, shuffle=True, **options)


def test_a_loop_that_draws_nothing_gets_every_batch_but_the_first_by_a_guess(folder: Path) -> None:
    loader = train(folder)
    for epoch in (1, 2):
        assert len([*loader]) == 15
        told = loader.stats()
        assert (told["guessed"], told["misguessed"]) == (14 * epoch, 0)


def test_a_loop_that_always_draws_hardly_pays_for_guesses(folder: Path) -> None:
    """Fewer and fewer: of 600 batches, six were guessed for; and a calm epoch is guessed for again."""
    loader = train(folder)
    for _ in range(40):
        for _ in loader:
            torch.rand(1)
    told = loader.stats()
    assert told["guessed"] == 0 and 3 <= told["misguessed"] <= 6
    for _ in range(40):
        for _ in loader:
            pass
    assert loader.stats()["guessed"] > 100


def test_python_and_numpy_may_draw_where_the_transform_does_not(folder: Path) -> None:
    loader = train(folder)
    for _ in loader:
        random.random(), np.random.rand()
    assert loader.stats()["guessed"] == 14


def test_a_batch_is_there_when_it_is_asked_for(folder: Path) -> None:
    loader = train(folder)
    for _ in loader:
        time.sleep(0.05)  # which gives the engine's threads time, also on a busy machine
    assert loader.stats()["waits"] < 7


def test_no_more_is_made_than_flights_of_known_lists(folder: Path) -> None:
    loader = train(folder)
    batches = iter(loader)
    for _ in range(6):
        next(batches)
    time.sleep(0.3)
    until = time.monotonic() + 30  # of a busy machine
    while loader.stats()["made"] <= 12 and time.monotonic() < until:
        time.sleep(0.1)
    assert 12 < loader.stats()["made"] <= 2 * (6 + iterator_stream._MOST)


def test_a_fork_in_between(folder: Path) -> None:
    """The child draws for itself, since guesses are the parent's, who sees nothing of it."""

    def begun() -> tuple[Any, list[torch.Tensor]]:
        torch.manual_seed(3)
        batches = iter(train(folder))
        return batches, [next(batches)[0].clone() for _ in range(3)]

    batches, expected = begun()
    expected += [images.clone() for images, _ in batches]
    batches, _ = begun()
    torch.rand(1)
    other = [images.clone() for images, _ in batches]
    batches, got = begun()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            torch.rand(1)
            same = difference([images for images, _ in batches], other) == ""
            code = 0 if same and len([*train(folder)]) == 15 else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    got += [images.clone() for images, _ in batches]
    assert difference(got, expected) == ""


def test_threads_with_loaders_of_their_own(folder: Path) -> None:
    """Which of them draws which numbers is open. But each picture is one that torchvision can make."""
    plain = torchvision.datasets.ImageFolder(str(folder), T.Compose(END))
    can = [(image, image.flip(2)) for image, _ in plain]
    drawn = T.Compose([T.Resize((12, 12)), T.RandomHorizontalFlip(0.3), T.ToTensor()])
    wrong: list[int] = []

    def run() -> None:
        dataset = gofast.ImageFolder(folder, drawn)
        for _ in range(3):
            seen = torch.cat([images.clone() for images, _ in gofast.DataLoader(dataset, 4)])
            wrong.extend(
                i for i, image in enumerate(seen) if not any(torch.equal(image, one) for one in can[i])
            )

    in_threads(*[run] * 3)
    assert not wrong

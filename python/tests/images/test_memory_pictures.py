"""torchvision's datasets whose pictures lie in memory: their batches are torch's, made natively."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset, random_split
from torch.utils.data import DataLoader as TorchDataLoader
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from picture_chains import chain
from same import difference, two_epochs

# Warnings a mode that Pillow deprecates; what is refused on purpose.
pytestmark = pytest.mark.filterwarnings("ignore")


def made(name: str, count: int = 37, transform: Any = None, seed: int = 0) -> Any:
    """A dataset of torchvision's as its own __init__ leaves it, without files."""
    kind = getattr(datasets, name)
    dataset = kind.__new__(kind)
    datasets.VisionDataset.__init__(dataset, "nowhere", transform=transform)
    dice = np.random.default_rng(seed)

    def pixels(*shape: int) -> Any:
        return dice.integers(0, 256, (count, *shape), dtype=np.uint8)

    numbers = dice.integers(0, 10, count)
    if name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST"):
        dataset.data, dataset.targets = torch.from_numpy(pixels(28, 28)), torch.from_numpy(numbers)
    if name == "QMNIST":
        dataset.targets, dataset.compat = torch.from_numpy(dice.integers(0, 10, (count, 8))), True
    if name == "USPS":
        dataset.data, dataset.targets = pixels(16, 16), numbers.tolist()
    if name in ("CIFAR10", "CIFAR100"):
        dataset.data, dataset.targets = pixels(3, 32, 32).transpose(0, 2, 3, 1), numbers.tolist()
    if name == "SVHN":  # scipy's arrays are Fortran's
        whole = np.asfortranarray(pixels(32, 32, 3).transpose(1, 2, 3, 0))
        dataset.data, dataset.labels = whole.transpose(3, 2, 0, 1), numbers
    if name == "STL10":
        dataset.data, dataset.labels = pixels(3, 96, 96).transpose(0, 1, 3, 2), numbers.astype(np.uint8)
    return dataset


OURS = gofast.DataLoader  # importing it is what lets `resolve` look for adapters
NAMES = [
    "MNIST",
    "FashionMNIST",
    "KMNIST",
    "EMNIST",
    "QMNIST",
    "USPS",
    "CIFAR10",
    "CIFAR100",
    "SVHN",
    "STL10",
]

TENSOR = v1.Compose([v1.RandomCrop(16, padding=2), v1.RandomHorizontalFlip(), v1.ToTensor()])
TENSOR2 = v2.Compose([v2.RandomResizedCrop(20), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


def check(dataset: Any, workers: int = 0, native: bool = True) -> None:
    assert isinstance(resolve(dataset), Reason) is not native, resolve(dataset)
    theirs, ours = (two_epochs(kind, dataset, num_workers=workers) for kind in (TorchDataLoader, OURS))
    assert difference(ours, theirs) == ""


@pytest.mark.arrives("device")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("transform", [TENSOR, TENSOR2, v1.ToTensor()], ids=["v1", "v2", "plain"])
def test_each_class(name: str, transform: Any) -> None:
    check(made(name, transform=transform))


@pytest.mark.daily(20)
@pytest.mark.parametrize("seed", range(60))
def test_random_chains(seed: int) -> None:
    """Any native chain gives the same batches, draws and errors, of grey pictures and of coloured ones."""
    d = random.Random(seed)
    name = d.choice(("MNIST", "USPS", "CIFAR10", "CIFAR10", "SVHN", "STL10"))
    dataset = made(name, 11, chain(d, one_size=True), seed)
    check(dataset, native=not isinstance(resolve(dataset), Reason))


def test_trees() -> None:
    a, b = made("MNIST", 20, TENSOR), made("FashionMNIST", 13, TENSOR, 1)
    check(Subset(a, [3, 1, -1, 7, 7]))
    check(ConcatDataset([a, b]))
    check(Subset(ConcatDataset([a, Subset(b, range(5))]), range(24, -1, -1)))
    for part in random_split(made("CIFAR10", 30, TENSOR), [20, 10]):
        check(part)
    check(ConcatDataset([a, made("MNIST", 9, v1.ToTensor())]), native=False)


def test_rows_for_a_collate_function() -> None:
    def collate(rows: list[Any]) -> Any:
        assert type(rows[0]) is tuple and type(rows[0][1]) is int
        return [label for _, label in rows], torch.stack([x for x, _ in rows])

    for name in ("MNIST", "CIFAR10", "both"):
        dataset = made(name, transform=TENSOR) if name != "both" else None
        if dataset is None:
            dataset = ConcatDataset([made("MNIST", 9, TENSOR), made("USPS", 7, TENSOR)])
        both = []
        for kind in (TorchDataLoader, OURS):
            torch.manual_seed(1)
            both.append(list(kind(dataset, batch_size=5, shuffle=True, collate_fn=collate)))
        assert difference(both[1], both[0]) == ""


def test_qmnist_without_compat() -> None:
    dataset = made("QMNIST", transform=TENSOR)
    dataset.compat = False
    check(dataset)


# -- what the user changes


def write_pixels(dataset: Any, i: int) -> None:
    dataset.data[:] = (dataset.data[:] // 2) + i


def other_data(dataset: Any, i: int) -> None:
    dataset.data = dataset.data[:] // 2 + i if i % 2 else dataset.data[:]


def write_labels(dataset: Any, i: int) -> None:
    dataset.targets[: 5 * i] = [i] * 5 * i if isinstance(dataset.targets, list) else torch.tensor(i)


def other_labels(dataset: Any, i: int) -> None:
    dataset.targets = [int(label) + i for label in dataset.targets]


def other_transform(dataset: Any, i: int) -> None:
    dataset.transform = v1.Compose([v1.RandomCrop(16 + i), v1.ToTensor()])


def own_transform(dataset: Any, i: int) -> None:
    dataset.transform = (lambda image: torch.tensor(image.size)) if i == 1 else TENSOR


def inner_transform(dataset: Any, i: int) -> None:
    dataset.transform.transforms[0].size = (16 - i, 16)


def target_transform(dataset: Any, i: int) -> None:
    dataset.target_transform = (lambda label: label + 1) if i == 2 else None


def moved_memory(dataset: Any, i: int) -> None:
    if isinstance(dataset.data, torch.Tensor):
        dataset.data.set_(dataset.data.flip(0))


@pytest.mark.parametrize("name", ["MNIST", "CIFAR10"])
@pytest.mark.parametrize("draws", [True, False], ids=["draws", "still"])
@pytest.mark.parametrize(
    "change",
    [
        write_pixels,
        other_data,
        write_labels,
        other_labels,
        other_transform,
        own_transform,
        inner_transform,
        target_transform,
        moved_memory,
    ],
)
def test_changes_show_with_the_next_batch(name: str, draws: bool, change: Any) -> None:
    def transform() -> Any:
        first = v1.RandomCrop((16, 16)) if draws else v1.CenterCrop((16, 16))
        return v1.Compose([first, v1.ToTensor()])

    both = []
    for kind in (TorchDataLoader, OURS):
        dataset = made(name, transform=transform())
        both.append(two_epochs(kind, dataset, change=lambda i, dataset=dataset: change(dataset, i)))
    assert difference(both[1], both[0]) == ""


def test_labels_of_workers_are_those_of_the_start() -> None:
    for name in ("MNIST", "CIFAR10"):
        both = []
        for kind in (TorchDataLoader, OURS):
            dataset = made(name, transform=TENSOR)
            both.append(
                two_epochs(
                    kind, dataset, num_workers=2, change=lambda i, dataset=dataset: write_labels(dataset, i)
                )
            )
        assert difference(both[1], both[0]) == ""


@pytest.mark.parametrize(
    "labels",
    [
        [np.int64(i) for i in range(37)],
        np.arange(37),
        np.arange(37, dtype=np.uint16),
        torch.arange(37),
        [1.5] * 37,
        [2**40 + i for i in range(37)],
        tuple(range(37)),
        ["a"] * 37,
        [(i, str(i)) for i in range(37)],
        [{"a": i, "b": [i, 2 * i]} for i in range(37)],
    ],
    ids=[
        "numpy ints",
        "array",
        "uint16",
        "tensor",
        "floats",
        "large",
        "tuple",
        "text",
        "tuples",
        "dicts",
    ],
)
def test_labels_of_any_kind(labels: Any) -> None:
    whole = not isinstance(labels[0], (float, str, tuple, dict))
    for name in ("CIFAR10", "USPS"):
        dataset = made(name, transform=TENSOR)
        dataset.targets = labels
        check(dataset, native=whole or name == "CIFAR10")


# -- what is refused, and why


def refusal(dataset: Any) -> str:
    found = resolve(dataset)
    assert isinstance(found, Reason)
    check(dataset, native=False)
    return str(found)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(datasets.MNIST):
        pass

    mine = made("MNIST", transform=TENSOR)
    mine.__class__ = Mine
    assert "Mine" in refusal(mine)
    assert "PIL images" in str(resolve(made("MNIST")))  # type: ignore[union-attr]
    own = made("MNIST", transform=v1.Compose([v1.ToTensor(), v1.Lambda(lambda x: x + 1)]))
    assert refusal(own) == "Lambda runs in Python: your own code"
    labelled = made("MNIST", transform=TENSOR)
    labelled.target_transform = lambda label: label + 1
    assert "target_transform" in refusal(labelled)
    short = made("CIFAR10", transform=TENSOR)
    short.targets = short.targets[:30]
    assert "no number for each" in refusal(short)
    for data in (torch.zeros(37, 28, 28), torch.zeros(37, 1, 28, 28, dtype=torch.uint8)):
        odd = made("MNIST", transform=TENSOR)
        odd.data = data
        assert "data" in refusal(odd)
    four = made("CIFAR10", transform=v1.ToTensor())
    four.data = np.zeros((37, 8, 8, 4), np.uint8)
    assert "shape [37, 8, 8, 4]" in refusal(four)
    for name, other in (
        ("MNIST", np.zeros((37, 28, 28), np.uint8)),
        ("USPS", torch.zeros(37, 16, 16).byte()),
    ):
        read = made(name, transform=TENSOR)
        read.data = other
        assert "torchvision reads it as" in refusal(read)
    unset = made("QMNIST", transform=TENSOR)
    del unset.compat
    assert "compat" in refusal(unset)
    long = made("CIFAR10", transform=v1.ToTensor())
    long.targets += [99]  # which is that of -1, to torch
    assert "no number for each" in refusal(long)
    monkeypatch.setattr(datasets.MNIST, "__getitem__", lambda self, i: (self.data[i] * 2, 1))
    assert "MNIST" in refusal(made("MNIST", transform=TENSOR))


def test_explain() -> None:
    told = str(gofast.explain(made("CIFAR10", transform=TENSOR)))
    assert "37 pictures of torchvision's, in memory" in told and "random crop" in told
    assert "a gofast.DataLoader makes its batches" in str(gofast.explain(TorchDataLoader(made("CIFAR10"))))
    assert "the samples are PIL images" in str(gofast.explain(made("CIFAR10")))


# -- lives


def test_a_pickle_is_what_it_was_before_batches() -> None:
    dataset = made("MNIST", transform=TENSOR)
    before = pickle.dumps(dataset)
    assert len(list(gofast.DataLoader(dataset, batch_size=8))) == 5
    assert pickle.dumps(dataset) == before
    check(pickle.loads(before))


def test_unmodified_script() -> None:
    """A call of torch's DataLoader makes ours meanwhile."""
    dataset = made("CIFAR10", transform=TENSOR)
    theirs = two_epochs(TorchDataLoader, dataset)
    with gofast.install():
        loader = TorchDataLoader(dataset, batch_size=8)
        assert type(loader) is gofast.DataLoader and "engine's" in repr(loader)
        assert difference(two_epochs(TorchDataLoader, dataset), theirs) == ""

"""loader.skip: steps that are left out, by their number in the epoch; all else is as if they were made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, DistributedSampler, Sampler, default_collate
from torchvision import transforms as T

import gofast
from gofast._loader.skips import Skips
from gofast.errors import OptionError, UnsupportedError
from image_data import make_folder
from same import difference
from through_a_file import through_a_file

N = PICTURES = 50  # of `folder`, too
DRAWN = T.Compose([T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.ToTensor()])


class Own(Sampler[int]):
    """Draws from torch's generator: at once, or twice in an epoch."""

    def __init__(self, parts: int) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return N

    def __iter__(self) -> Iterator[int]:
        each = N // self.parts
        for part in range(self.parts):
            yield from (torch.randperm(each) + part * each).tolist()


def rows(writable: bool = False) -> gofast.ArrayDataset:
    numbers = np.arange(N)
    numbers.flags.writeable = writable
    return gofast.ArrayDataset(numbers.reshape(N, 1), numbers)


def dataset_of(kind: str, folder: Path) -> Any:
    if kind in ("rows", "writable"):
        return rows(kind == "writable")
    options: Any = {"rng": "stateless"} if kind == "stateless" else {}
    return gofast.ImageFolder(folder, DRAWN, **options)


def options_of(order: str) -> dict[str, Any]:
    if order == "shuffle":
        return {"shuffle": True}
    if order == "generator":
        return {"shuffle": True, "generator": torch.Generator().manual_seed(4)}
    if order in ("own", "own, twice"):
        return {"sampler": Own(1 + (order == "own, twice"))}
    if order == "sampler":
        return {"sampler": gofast.Sampler(range(N), 1, 0, seed=3, order="keyed")}
    return {}


KINDS = ("rows", "writable", "torch", "stateless")
ORDERS = ("in order", "shuffle", "generator", "own", "own, twice", "sampler")
SKIPS: tuple[Any, ...] = (range(2, 5), [0], [12, 3, 7], range(13), range(1, 13), [], range(0, 12, 2))


def copies(batches: Any) -> list[Any]:
    return [[value.clone() for value in batch] for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_else_is_as_if_they_had_been_made(folder: Path, kind: str, order: str, workers: int) -> None:
    """Two epochs and what torch's generator gives behind them."""
    dataset = dataset_of(kind, folder)

    def run(skips: Any) -> tuple[list[Any], list[float]]:
        torch.manual_seed(1)
        loader = gofast.DataLoader(dataset, 4, num_workers=workers, **options_of(order))
        made, drawn = list[Any](), list[float]()
        for epoch in range(2):
            if epoch == 0 and skips is not None:
                loader.skip(skips)
                assert len(loader) == 13 - len([*skips])
            made += copies(loader)
            drawn.append(torch.rand(1).item())
        assert len(loader) == 13
        return made, drawn

    want, drawn = run(None)
    for skips in SKIPS:
        found, own = run(skips)
        assert difference(found, [one for i, one in enumerate(want) if i not in [*skips]]) == ""
        assert own == drawn, skips


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["rows", "torch", "stateless"])
@pytest.mark.parametrize("order", ["shuffle", "own", "sampler"])
def test_a_state_has_the_steps_that_are_left_out(folder: Path, kind: str, order: str, workers: int) -> None:
    dataset = dataset_of(kind, folder)

    def make() -> gofast.DataLoader[Any]:
        return gofast.DataLoader(dataset, 4, num_workers=workers, **options_of(order))

    for stop in (0, 1, 2, 4, 8):
        torch.manual_seed(1)
        loader = make()
        loader.skip([1, *range(4, 7), 12])
        batches = iter(loader)
        first = copies(itertools.islice(batches, stop))
        state = through_a_file(loader.state_dict())
        assert state["skips"] == [[1, 2], [4, 7], [12, 13]]
        rest = copies(batches)
        torch.manual_seed(9)
        again = make()
        again.load_state_dict(state)
        assert len(again) == 8
        assert again.state_dict()["skips"] == state["skips"]
        assert difference(copies(again), rest) == "", stop
        assert len(first) + len(rest) == 8
        assert "skips" not in again.state_dict()
        torch.manual_seed(9)
        more = make()
        more.load_state_dict(state)
        more.skip(range(9, 11))  # by the same numbers, though the epoch goes on in its middle
        steps = [step for step in range(13) if step not in (1, 4, 5, 6, 12)][stop:]
        left = [one for step, one in zip(steps, rest, strict=True) if step not in (9, 10)]
        assert difference(copies(more), left) == ""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["rows", "torch"])
def test_the_state_behind_an_earlier_batch(folder: Path, kind: str, workers: int) -> None:
    dataset = dataset_of(kind, folder)

    def make() -> gofast.DataLoader[Any]:
        return gofast.DataLoader(dataset, 4, num_workers=workers, shuffle=True)

    torch.manual_seed(2)
    loader = make()
    loader.skip([1, 3, 4, 9, 12])
    held = [*loader]
    assert len(held) == 8
    for at, batch in enumerate(held[:-1]):
        again = make()
        again.load_state_dict(through_a_file(loader.state_after(batch)))
        assert difference(copies(again), copies(held[at + 1 :])) == ""
    loader = gofast.DataLoader(rows(), 1, num_workers=workers, shuffle=True)
    loader.skip(range(2, 4))
    batches = iter(loader)
    batch = [*itertools.islice(batches, 11)][-1]
    again = gofast.DataLoader(rows(), 1, num_workers=workers, shuffle=True)
    again.load_state_dict(loader.state_after(batch))
    assert difference(copies(again), copies(batches)) == ""


def test_ranks_leave_out_their_batches_of_a_step_and_go_on_as_others() -> None:
    def loaders(world: int) -> list[gofast.DataLoader[Any]]:
        return [
            gofast.DataLoader(rows(), 12 // world, sampler=gofast.Sampler(range(N), world, rank, seed=5))
            for rank in range(world)
        ]

    def global_batches(iterators: Any) -> list[list[int]]:
        return [sorted(n for _, one in parts for n in one.tolist()) for parts in zip(*iterators, strict=True)]

    whole = global_batches(loaders(2))
    assert len(whole) == 5
    first = loaders(2)
    for loader in first:
        loader.skip([1, 3])
    assert global_batches(first) == [whole[0], whole[2], whole[4]]
    first = loaders(2)
    for loader in first:
        loader.skip([1, 3])
    iterators = [iter(loader) for loader in first]
    for iterator in iterators:
        next(iterator), next(iterator)
    state = first[0].state_dict()
    assert first[0].sampler.state_dict()["position"] == 36  # type: ignore[attr-defined]
    for world in (1, 2, 4):
        then = loaders(world)
        for loader in then:
            loader.load_state_dict(state)
        (last,) = global_batches(then)
        assert {*whole[4]} <= {*last}  # with those that are padded
        then = loaders(world)
        for loader in then:
            loader.load_state_dict({**state, "skips": [[4, 5]]})
        assert global_batches(then) == [whole[3]]
    odd = gofast.DataLoader(rows(), 5, sampler=gofast.Sampler(range(N), 1, 0, seed=5))
    odd.load_state_dict(state)
    with pytest.raises(UnsupportedError, match="its steps have no numbers"):
        next(iter(odd))


def test_steps_are_those_of_explain() -> None:
    loader = gofast.DataLoader(rows(), 4, sampler=DistributedSampler(range(N), 2, 1, seed=1))  # type: ignore[arg-type,var-annotated]
    want = [gofast.explain(loader, step=step).indices for step in (0, 1, 5)]
    loader.skip(range(2, 5))
    loader.skip([6])
    assert [batch[1].tolist() for batch in loader] == want


def test_persistent_workers_leave_out_in_the_next_epoch(folder: Path) -> None:
    loader = gofast.DataLoader(rows(), 4, num_workers=2, persistent_workers=True)
    assert len([*loader]) == 13
    loader.skip(range(3, 9))
    assert [int(batch[1][0]) for batch in loader] == [0, 4, 8, 36, 40, 44, 48]
    assert len([*loader]) == 13


def test_errors_come_in_their_turn(tmp_path: Path) -> None:
    root = make_folder(tmp_path, 12)
    bad = sorted(root.glob("*/*"))[5]
    bad.write_bytes(b"no picture")
    for rng, workers in itertools.product(("torch", "stateless"), (0, 2)):
        loader = gofast.DataLoader(gofast.ImageFolder(root, DRAWN, rng=rng), 2, num_workers=workers)  # type: ignore[arg-type]
        loader.skip([2])
        assert len([*loader]) == 5, "the batch is not made"
        loader.skip([1])
        batches = iter(loader)
        next(batches)
        with pytest.raises(gofast.errors.GofastError):
            next(batches)
        assert len([*batches]) == 3


def test_a_changed_dataset_and_batch_size_keep_the_numbers(folder: Path) -> None:
    still = [T.Compose([T.Resize((8, 8)), *more, T.ToTensor()]) for more in ([], [T.Grayscale(3)])]
    dataset = gofast.ImageFolder(folder, still[1])
    want = copies(gofast.DataLoader(dataset, 4))
    dataset.transform = still[0]
    loader = gofast.DataLoader(dataset, 4)
    loader.skip([2, 3])
    batches = iter(loader)
    next(batches)
    dataset.transform = still[1]
    assert difference(copies(batches), [want[1], *want[4:]]) == ""
    loader = gofast.DataLoader(rows(), 4)
    loader.skip([2])
    batches = iter(loader)
    next(batches)
    loader.batch_sampler.batch_size = 2  # type: ignore[union-attr]
    assert [batch[1].tolist() for batch in batches][:3] == [[4, 5], [8, 9], [10, 11]]


def test_many_steps_cost_nothing() -> None:
    million = gofast.ArrayDataset(np.zeros((4_000_000, 1), np.uint8))
    for workers in (0, 2):
        sampler = gofast.Sampler(million, order="keyed")
        loader = gofast.DataLoader(million, 4, sampler=sampler, num_workers=workers)
        loader.skip(range(999_990))
        assert len([*loader]) == 10


class Listed(Dataset[int]):
    """A dataset of the user's."""

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> int:
        return index


def test_what_cannot_be_exact_is_refused(folder: Path) -> None:
    class Stream(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(9))

    python = gofast.DataLoader(ConcatDataset([Listed()]), 4)
    for loader, why in (
        (python, "need batches of the engine: Listed is not a dataset of gofast's"),
        (gofast.DataLoader(Stream(), 4), "need batches of the engine"),
        (gofast.DataLoader(rows(), 4, collate_fn=lambda some: default_collate(some)), "collate_fn=<lambda>"),
        (gofast.DataLoader(rows(), None), "need batches of the engine: batch_size=None"),
    ):
        with pytest.raises(UnsupportedError, match=why):
            loader.skip([1])
    loader = gofast.DataLoader(rows(), 4)
    state = {**loader.state_dict(), "skips": [[1, 2]]}
    with pytest.raises(UnsupportedError, match="need batches of the engine"):
        python.load_state_dict(state)
        iter(python)
    wrong: Any
    for wrong in (3, [-1], [1.5], [True], range(-2, 3), "12", None):
        with pytest.raises(OptionError):
            loader.skip(wrong)
    with pytest.raises(OptionError, match="an epoch has 13 steps, and 2 of those to skip lie behind it"):
        loader.skip(range(10, 15))
    batches = iter(loader)
    next(batches)
    with pytest.raises(OptionError, match="in the middle of its epoch"):
        loader.skip([5])
    assert len([*batches]) == 12


def test_ranges() -> None:
    skips = Skips.of([9, 3, 4, 3, 8, 20])
    assert skips.ranges() == [[3, 5], [8, 10], [20, 21]]
    assert [step for step in range(30) if skips.run(step)[0]] == [3, 4, 8, 9, 20]
    for step in range(30):
        skipped, alike = skips.run(step)
        assert all(skips.run(other)[0] == skipped for other in range(step, min(step + alike, 40)))
        assert skips.run(step + alike)[0] != skipped or step > 20
    assert (skips.count(0, 9), skips.count(4, 20), skips.count(30, 40)) == (3, 3, 0)
    assert skips.without(4).ranges() == [[0, 1], [4, 6], [16, 17]]
    assert Skips.of(np.array([1, 2])).ranges() == Skips.of(range(1, 3)).ranges() == [[1, 3]]
    assert not Skips.of(range(5, 5)) and not Skips.of([])

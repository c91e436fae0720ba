"""explain(loader, step=...): which samples a batch has, of which files, and what is drawn for them."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import functional as F

import gofast
from gofast._core.generators import Generators
from gofast._images import sample_parameters
from gofast.errors import OptionError, RowIndexError, UnsupportedError
from picture_chains import chain, write_pictures

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
PICTURES = 21  # of `folder`


def rows(n: int = 47) -> gofast.ArrayDataset:
    numbers = torch.arange(n)
    return gofast.ArrayDataset(numbers.float().reshape(n, 1).numpy(), numbers.numpy())


def loader_of(dataset: Any, size: int = 4, **more: Any) -> gofast.DataLoader[Any]:
    return gofast.DataLoader(dataset, size, **more)


def check(loader: Any, epochs: int = 2) -> None:
    """Compares the answer of each step with its batch: rows tell their numbers."""
    for epoch in range(epochs):
        world = getattr(loader.sampler, "num_replicas", 1)
        for rank in range(world):
            loader.sampler.rank = rank
            loader.set_epoch(epoch)
            batches = [batch[1].tolist() for batch in loader]
            loader.sampler.rank = (rank + 1) % world
            loader.set_epoch(epoch + 1)
            told = {"epoch": epoch, "rank": rank} if hasattr(loader.sampler, "epoch") else {}
            for step, want in enumerate(batches):
                found = gofast.explain(loader, step=step, **told)
                assert (found.indices, found.steps) == (want, len(batches))
            with pytest.raises(RowIndexError, match=f"there are {len(batches)} steps"):
                gofast.explain(loader, step=len(batches), **told)


@pytest.mark.parametrize("order", ["torch", "keyed"])
@pytest.mark.parametrize("sharding", ["strided", "contiguous"])
@pytest.mark.parametrize("uneven", ["pad", "drop", "exact"])
def test_samplers_of_many_ranks(order: Any, sharding: Any, uneven: Any) -> None:
    for world, drop_last, n in itertools.product((1, 2, 3), (False, True), (47, 48, 3)):
        sampler = gofast.Sampler(
            range(n),
            world,
            0,
            seed=5,
            order=order,
            sharding=sharding,
            uneven=uneven,
            batch_size=4 if sharding == "contiguous" else None,
        )
        check(loader_of(rows(n), sampler=sampler, drop_last=drop_last))


@pytest.mark.parametrize("shuffle", [False, True])
def test_torchs_samplers(shuffle: bool) -> None:
    for world, drop_last in itertools.product((2, 3), (False, True)):
        sampler: Any = DistributedSampler(range(47), world, 0, shuffle, drop_last=drop_last)  # type: ignore[arg-type]
        check(loader_of(rows(), sampler=sampler, drop_last=drop_last))
    check(loader_of(rows()), 1)
    check(loader_of(rows(), drop_last=True), 1)


def test_mixes() -> None:
    parts = ConcatDataset([rows(30), rows(17), rows(9)])
    labels = ConcatDataset(
        [Subset(rows(56), range(30)), Subset(rows(56), range(30, 47)), Subset(rows(56), range(47, 56))]
    )
    for uneven, world in (("pad", 2), ("exact", 3), ("drop", 1)):
        options: Any = {"weights": [0.2, 0.5, 0.3], "seed": 2, "uneven": uneven}
        check(loader_of(labels, sampler=gofast.Sampler(parts, world, 0, **options)), 4)


def test_a_mix_whose_weights_have_changed() -> None:
    parts = ConcatDataset([Subset(rows(47), range(30)), Subset(rows(47), range(30, 47))])
    before = gofast.Sampler(parts, 2, 0, weights=[1, 1], seed=1)
    before.load_state_dict({"epoch": 1, "position": 16})
    after = gofast.Sampler(parts, 2, 1, weights=[1, 3], seed=1)
    after.load_state_dict(before.state_dict())
    loader = loader_of(parts, sampler=after)
    steps = [gofast.explain(loader, step=step).indices for step in range(2, 6)]
    assert steps == [batch[1].tolist() for batch in loader]
    with pytest.raises(OptionError, match="the weights hold from sample 63 on"):
        gofast.explain(loader, step=1)


def test_steps_count_from_the_start_of_the_epoch_after_a_state_was_loaded() -> None:
    def make(rank: int, world: int, size: int) -> gofast.DataLoader[Any]:
        return loader_of(rows(), size, sampler=gofast.Sampler(range(47), world, rank, seed=1))

    first = make(0, 2, 4)
    first.set_epoch(3)
    batches = iter(first)
    for _ in range(2):
        next(batches)
    for rank in range(4):
        again = make(rank, 4, 2)
        again.load_state_dict(first.state_dict())
        rest = iter(again)
        for step in range(2, 6):
            assert gofast.explain(again, step=step).indices == next(rest)[1].tolist()
    odd = make(0, 2, 3)
    odd.sampler.load_state_dict({"epoch": 3, "position": 16})  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match="no whole number of global batches of 6"):
        gofast.explain(odd, step=3)
    assert gofast.explain(odd, epoch=4, step=0).steps == 8


# ------------------------------------------------------------------ orders that a generator draws

OWN: list[Callable[[Any], Any]] = [
    lambda g: {"shuffle": True, "generator": g},
    lambda g: {"sampler": RandomSampler(range(47), num_samples=31, generator=g)},  # type: ignore[arg-type]
    lambda g: {"sampler": SubsetRandomSampler(range(3, 40), generator=g)},
    lambda g: {"sampler": WeightedRandomSampler([1.0] * 20 + [3.0] * 27, 40, generator=g)},
    lambda g: {"sampler": WeightedRandomSampler([1.0] * 47, 40, generator=g), "generator": g},
]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("own", OWN)
def test_the_next_epoch_of_a_generator(own: Callable[[Any], Any], workers: int) -> None:
    options = own(torch.Generator().manual_seed(3))
    loader = loader_of(rows(), num_workers=workers, **options)
    for _ in range(2):
        want = [gofast.explain(loader, step=step).indices for step in range(3)]
        batches = iter(loader)
        assert [gofast.explain(loader, step=step).indices for step in range(3)] == want
        found = [batch[1].tolist() for batch in batches]
        assert found[:3] == want
        assert gofast.explain(loader, step=len(found) - 1).indices == found[-1]
        del batches
    with pytest.raises(UnsupportedError, match="draws each epoch anew"):
        gofast.explain(loader, epoch=1, step=0)
    with pytest.raises(OptionError, match="knows no ranks"):
        gofast.explain(loader, rank=1, step=0)


class Own(Sampler[int]):
    """A sampler of the user's."""

    def __init__(self) -> None:
        pass

    def __len__(self) -> int:
        return 47

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(47).tolist()


class Listed(Dataset[int]):
    """A dataset of the user's."""

    def __len__(self) -> int:
        return 47

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, index


@pytest.mark.parametrize("dataset", [rows(), Listed()])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_the_process_draws_is_known_while_an_iterator_lives(dataset: Any, workers: int) -> None:
    loader = loader_of(dataset, shuffle=True, num_workers=workers)
    with pytest.raises(UnsupportedError, match="RandomSampler draws its order when an iterator"):
        gofast.explain(loader, step=0)
    batches = iter(loader)
    found = [next(batches)[1].tolist() for _ in range(3)]
    assert [gofast.explain(loader, step=step).indices for step in range(3)] == found
    ahead = gofast.explain(loader, step=9).indices
    assert ahead == [*batches][6][1].tolist()
    with pytest.raises(UnsupportedError, match="RandomSampler draws its order when an iterator"):
        gofast.explain(loader_of(dataset, shuffle=True), step=0)


def test_orders_that_nobody_knows() -> None:
    class Stream(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(9))

    for loader, why in (
        (loader_of(rows(), sampler=Own()), "Own itself decides its order.*gofast.Sampler"),
        (gofast.DataLoader(rows(), batch_sampler=[[1, 2], [3]]), "list itself decides its order"),
        (loader_of(Stream()), "an iterable dataset decides"),
        (loader_of(rows(), sampler=WeightedRandomSampler([1.0] * 47, 9)), "WeightedRandomSampler draws"),
        (
            loader_of(rows(), sampler=RandomSampler(rows(), True, generator=torch.Generator())),
            "in the middle of its epoch",
        ),
    ):
        with pytest.raises(UnsupportedError, match=why):
            gofast.explain(loader, step=0)
    loader = loader_of(rows(), sampler=gofast.Sampler(range(47), 2, 0))
    with pytest.raises(OptionError, match="there are 2 ranks"):
        gofast.explain(loader, step=0, rank=2)
    for wrong in ({"epoch": 1}, {"rank": 0}, {"step": -1}, {"step": 0, "epoch": -1}, {"step": 1.5}):
        with pytest.raises(OptionError):
            gofast.explain(loader, **wrong)  # type: ignore[call-overload]
    with pytest.raises(OptionError, match="of a DataLoader, not of a ArrayDataset"):
        gofast.explain(rows(), step=0)  # type: ignore[call-overload]


def test_a_step_may_be_one_sample() -> None:
    loader = gofast.DataLoader(rows(), None, sampler=gofast.Sampler(range(47), 2, 1, seed=4))
    found = [gofast.explain(loader, step=step).indices for step in range(5)]
    assert found == [[int(row[1])] for row in itertools.islice(loader, 5)]


# ------------------------------------------------------------------ files


def test_rows_of_files(tmp_path: Path) -> None:
    numbers = np.arange(30)
    for i, (first, stop) in enumerate(((0, 7), (7, 8), (8, 30))):
        some = pd.DataFrame({"a": numbers[first:stop], "label": 0})
        some.to_csv(tmp_path / f"{i}.csv", index=False)
        some.to_parquet(tmp_path / f"{i}.parquet")
    np.arange(100, dtype=np.uint16).tofile(tmp_path / "t0.bin")
    np.arange(100, 130, dtype=np.uint16).tofile(tmp_path / "t1.bin")
    csv = gofast.TableDataset(tmp_path / "*.csv")
    parquet = gofast.TableDataset(tmp_path / "*.parquet")
    one = gofast.TableDataset(tmp_path / "0.csv")
    tokens = gofast.tokens.TokenDataset([tmp_path / "t0.bin", tmp_path / "t1.bin"], 8)
    frames = {path: pd.read_csv(path)["a"].tolist() for path in map(str, tmp_path.glob("*.csv"))}
    both = ConcatDataset([csv, Subset(ConcatDataset([one, parquet]), [*range(0, 37, 2), -1]), one])
    loader = loader_of(both, 5, sampler=gofast.Sampler(both, seed=1))
    values, told = [], []
    for step, batch in enumerate(loader):
        found = gofast.explain(loader, step=step)
        values += batch["features"][:, 0].int().tolist()
        for number, file, row in zip(found.datasets, found.files, found.rows, strict=True):
            assert file is not None and number == (0, 1, 2, 3)[number]
            told.append(frames[file.replace("parquet", "csv")][row])
            assert file.endswith("parquet") == (number == 2)
            assert number in (0, 2) or file == str(tmp_path / "0.csv")
    assert told == values and len(told) == 30 + 20 + 7
    loader = loader_of(tokens, 5)
    for step, (x, _) in enumerate(loader):
        found = gofast.explain(loader, step=step)
        first = [{"t0.bin": 0, "t1.bin": 100}[Path(str(file)).name] for file in found.files]
        assert [a + 8 * row for a, row in zip(first, found.rows, strict=True)] == x[:, 0].tolist()
    assert gofast.explain(loader_of(rows()), step=1).files == [None] * 4


def test_files_that_are_gone(tmp_path: Path) -> None:
    for i in range(2):
        pd.DataFrame({"a": np.arange(5)}).to_csv(tmp_path / f"{i}.csv", index=False)
    table = gofast.TableDataset(tmp_path / "*.csv", label=None)
    (tmp_path / "1.csv").unlink()
    found = gofast.explain(loader_of(table), step=1)
    assert (found.files, found.rows) == ([None] * 4, [4, 5, 6, 7])


# ------------------------------------------------------------------ draws


def pictures(root: Path, **options: Any) -> gofast.ImageFolder:
    named: Any = {"rng": "stateless", "seed": 5, "return_index": True, "return_path": True, **options}
    return gofast.ImageFolder(root, TRAIN, **named)


def made(path: str, parameters: Any) -> torch.Tensor:
    """The sample that torchvision's functions make with these parameters."""
    (_, box), (_, flip) = parameters
    picture = F.resized_crop(Image.open(path).convert("RGB"), *box.values(), size=[16, 16])
    return F.to_tensor(F.hflip(picture) if flip["happens"] else picture)


TREES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda one: one,
    "subset": lambda one: Subset(one, [5, 3, 3, 17, 0, -1, 9, 5, 20]),
    "joined": lambda one: ConcatDataset([one, Subset(one, range(4, 9)), one]),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("tree", TREES)
def test_crops_and_flips_are_those_of_the_pixels(folder: Path, tree: str, workers: int) -> None:
    dataset = TREES[tree](pictures(folder))
    for world, uneven in ((1, "pad"), (2, "pad"), (2, "exact")):
        sampler = gofast.Sampler(dataset, world, 0, order="keyed", uneven=uneven)  # type: ignore[arg-type]
        loader = loader_of(dataset, 6, sampler=sampler, num_workers=workers)
        for rank, epoch in itertools.product(range(world), (0, 3)):
            answers = [gofast.explain(loader, step=0, epoch=epoch, rank=rank)]
            for step in range(1, answers[0].steps):
                answers.append(gofast.explain(loader, step=step, epoch=epoch, rank=rank))
            sampler.rank = rank
            loader.set_epoch(epoch)
            for answer, (pixels, _, numbers, paths) in zip(answers, loader, strict=True):
                assert (answer.rows, answer.files) == (numbers.tolist(), [*paths])
                for file, sample, own in zip(paths, pixels, answer.parameters or (), strict=True):
                    assert torch.equal(made(file, own), sample)
            loader.set_epoch(0)


def test_a_sample_that_comes_twice_has_two_draws(folder: Path) -> None:
    dataset = pictures(folder)
    sampler = WeightedRandomSampler([1.0] + [0.01] * 20, 40, generator=torch.Generator().manual_seed(1))
    loader = loader_of(dataset, 10, sampler=sampler)
    answer = gofast.explain(loader, step=1)
    pixels, _, _, paths = [*loader][1]
    assert len({*answer.indices}) < 10 and len({str(one) for one in answer.parameters or ()}) > 8
    for file, sample, own in zip(paths, pixels, answer.parameters or (), strict=True):
        assert torch.equal(made(file, own), sample)


def test_draws_of_a_dataset_in_python_behind_native_steps(folder: Path) -> None:
    """With torch's machinery, a sample that comes twice may be asked for alone."""
    dataset = pictures(folder, return_index=False, return_path=False)
    python = T.Compose([*TRAIN.transforms, torch.sqrt])
    for loader in (
        loader_of(dataset, 8, worker_init_fn=print, num_workers=1),
        DataLoader(dataset, 8),
        DataLoader(ConcatDataset([dataset, Listed()]), 8),
        loader_of(gofast.ImageFolder(folder, python, rng="stateless", seed=5), 8),
    ):  # fmt: skip
        found = gofast.explain(loader, step=1)
        pixels = loader.collate_fn([loader.dataset[i] for i in found.indices])[0]
        for file, sample, own in zip(found.files, pixels, found.parameters or (), strict=True):
            whole = made(str(file), own)
            assert any(torch.equal(one, sample) for one in (whole, whole.sqrt()))
    twice: Any = DataLoader(Subset(dataset, [1, 2, 1, 3]), 4, sampler=[0, 1, 2, 0])
    with pytest.raises(UnsupportedError):
        gofast.explain(twice, step=0)
    both = DataLoader(
        ConcatDataset([dataset, Listed()]), 4, sampler=DistributedSampler(range(3), 1, 0, False)
    )  # type: ignore[arg-type,var-annotated]
    assert len(gofast.explain(both, step=0).parameters or ()) == 3
    mixed = gofast.explain(DataLoader(ConcatDataset([dataset, Listed()]), PICTURES + 3), step=0)
    assert mixed.parameters is not None
    assert [one is None for one in mixed.parameters] == [False] * PICTURES + [True] * 3
    assert "those of Listed, in Python, are not known" in mixed.draws
    theirs = gofast.explain(loader_of(datasets.ImageFolder(folder, TRAIN)), step=2)
    assert theirs.parameters is None and "torch's generators" in theirs.draws
    assert theirs.files == [path for path, _ in datasets.ImageFolder(folder).samples[8:12]]
    own = gofast.explain(loader_of(Listed(), collate_fn=list), step=0)
    assert own.parameters is None and "what collate_fn draws" in own.draws
    assert (own.files, own.rows) == ([None] * 4, [0, 1, 2, 3])


def test_a_picture_that_is_too_small_or_none(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for i, side in enumerate((40, 9, 40)):
        Image.new("RGB", (side, side)).save(tmp_path / f"class/{i}.png")
    (tmp_path / "class/3.png").write_bytes(b"none")
    steps = T.Compose([T.RandomCrop(20), T.ToTensor()])
    loader = loader_of(gofast.ImageFolder(tmp_path, steps, rng="stateless"), 2)
    assert gofast.explain(loader, step=0).parameters is None
    assert "the batch fails: Required crop size" in gofast.explain(loader, step=0).draws
    found = gofast.explain(loader, step=1)
    assert found.files[1] == str(tmp_path / "class/3.png") and found.parameters
    assert loader.dataset.bad_samples() == {}  # type: ignore[attr-defined]


def test_records_of_all_operations_are_read(tmp_path: Path) -> None:
    """Go lays records out, and the reader walks along: where they differ, it fails."""
    write_pictures(tmp_path, 8, 1, (33, 64, 97))
    seen = set[str]()
    dice = random.Random(7)
    for _ in range(150):
        transform = chain(dice, one_size=True)
        dataset = gofast.ImageFolder(tmp_path, transform, rng="stateless")
        plan = dataset._here().plan
        if not plan.draws or not plan.native:
            continue
        found = gofast.explain(loader_of(dataset, 8), step=0)
        names = {name for one in found.parameters or () if one is not None for name, _ in one}
        seen |= names
        assert found.parameters is None or not names or str(found)
    augment = T.Compose([T.Resize((32, 32)), T.AutoAugment(), T.RandAugment(), T.AugMix(), T.ToTensor()])
    found = gofast.explain(loader_of(gofast.ImageFolder(tmp_path, augment, rng="stateless"), 8), step=0)
    assert found.parameters is not None
    seen |= {name for one in found.parameters if one is not None for name, _ in one}
    operations = sample_parameters._operations()
    assert all(0 < one.form.size <= 4 * one.words for one in operations.values())
    drawing = {*operations}
    assert {"auto_augment", "rand_augment", "augmix", "random_apply", "color_jitter"} <= seen <= {
        *drawing, "random_choice", "random_order"}  # fmt: skip
    text = str(found)
    assert "auto augment first=" in text and "weights=[0." in text


def test_parameters_of_containers(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30)).save(tmp_path / "0.png")
    steps = T.Compose(
        [
            T.RandomApply([T.RandomCrop(12), T.RandomHorizontalFlip()]),
            T.RandomChoice([T.RandomVerticalFlip(0.0), T.ColorJitter(0.5)]),
            T.RandomOrder([T.RandomHorizontalFlip(1.0), T.RandomGrayscale(1.0)]),
            T.Resize((8, 8)),
            T.ToTensor(),
        ]
    )
    found = set[str]()
    for seed in range(60):
        dataset = gofast.ImageFiles([tmp_path / "0.png"], None, steps, rng="stateless", seed=seed)
        one = (gofast.explain(loader_of(dataset, 1), step=0).parameters or [None])[0]
        assert one is not None
        names = [name for name, _ in one]
        happens, chosen = one[0][1]["happens"], dict(one)["random_choice"]["members"]
        order = dict(one)["random_order"]["members"]
        last = ["hflip", "random_grayscale"]
        assert names == [
            "random_apply",
            *["random_crop", "hflip"] * happens,
            "random_choice",
            ["vflip", "color_jitter"][chosen[0]],
            "random_order",
            *(last[i] for i in order),
        ]
        found.add(str(names))
    assert len(found) == 8


# ------------------------------------------------------------------ no effect, and soon


@pytest.mark.parametrize("workers", [0, 2])
def test_asking_moves_nothing(folder: Path, workers: int) -> None:
    def run(asks: bool) -> list[Any]:
        torch.manual_seed(1)
        dataset = gofast.ImageFolder(folder, TRAIN)
        sampler = gofast.Sampler(dataset, 2, 1, seed=3)
        seen = []
        for options in ({"sampler": sampler}, {"shuffle": True, "generator": torch.Generator()}):
            loader = loader_of(dataset, num_workers=workers, **options)
            for _ in range(2):
                loader.set_epoch(len(seen))
                batches = iter(loader)
                for batch in batches:
                    seen += [value.clone() for value in batch]
                    before = Generators.now().plain()
                    if asks:
                        gofast.explain(loader, step=1)
                        if "sampler" in options:
                            gofast.explain(loader, step=0, epoch=9, rank=0)
                    assert torch.equal(Generators.now().plain()["torch"], before["torch"])
                    seen.append(str(sampler.state_dict()))
                seen.append(str(loader.state_dict()))
                del batches
        return seen

    for plain, asked in zip(run(False), run(True), strict=True):
        assert torch.equal(plain, asked) if isinstance(plain, torch.Tensor) else plain == asked


def test_other_epochs_leave_the_dataset_in_its_own(folder: Path) -> None:
    dataset = pictures(folder)
    loader = loader_of(dataset)
    loader.set_epoch(2)
    now = gofast.explain(loader, step=0)
    assert "seed 5, epoch 2" in now.draws and dataset._files.epoch[0] == 2
    later = gofast.explain(loader, step=0, epoch=7)
    assert "seed 5, epoch 7" in later.draws and dataset._files.epoch[0] == 2
    assert later.parameters != now.parameters
    loader.set_epoch(7)
    assert gofast.explain(loader, step=0).parameters == later.parameters


class Billion(Dataset[int]):
    """A billion samples."""

    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, index: int) -> int:
        return index


def test_a_keyed_order_answers_in_a_millisecond() -> None:
    loader = loader_of(Billion(), 64, sampler=gofast.Sampler(Billion(), 64, 0, order="keyed"))

    def ask(step: int) -> float:
        began = time.perf_counter()
        gofast.explain(loader, epoch=3, step=step, rank=5)
        return time.perf_counter() - began

    assert min(ask(step) for step in range(20)) < 0.001


def test_it_prints_a_table(folder: Path) -> None:
    dataset = pictures(folder)
    loader = loader_of(dataset, 2, sampler=gofast.Sampler(dataset, 3, 0, seed=8, order="keyed"))
    found = gofast.explain(loader, epoch=2, step=1, rank=2)
    head, order, draws, title, *lines = str(found).splitlines()
    assert repr(found) == str(found)
    assert head == "step 1 of 4 of epoch 2, rank 2 of 3: 2 samples"
    assert order == "order: Sampler(rank 2 of 3, strided, pad, keyed order), seed 8"
    assert draws == "draws: stateless: seed 5, epoch 2, and each sample's number"
    assert title.split() == ["index", "dataset", "file", "row", "drawn"] and len(lines) == 2
    for line, index, file, own in zip(lines, found.indices, found.files, found.parameters or (), strict=True):
        assert own is not None
        assert line.startswith(f"{index} ") and str(file) in line
        assert f"random resized crop top={own[0][1]['top']} " in line
    assert (found.step, found.steps, found.epoch, found.rank, found.world) == (1, 4, 2, 2, 3)


def test_parameters_of_all_samples_are_those_of_each() -> None:
    """Steps without others inside are read step by step, not sample by sample."""
    for name, operation in sample_parameters._operations().items():
        words = operation.words + 3  # one before it, and the size behind it
        records = np.random.RandomState(3).randint(0, 2, 7 * words).astype(np.int32).tobytes()
        each = [operation.values(records, 4 * (at + 1)) for at in range(0, 7 * words, words)]
        assert operation.column(records, 1, words) == each, name

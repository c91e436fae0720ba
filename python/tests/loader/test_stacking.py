"""Batches of others' Datasets in memory that is used again: they are torch's, and nobody's sample changes."""

from __future__ import annotations

import copy
import gc
import os
import random
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, default_collate, get_worker_info
from torch.utils.data._utils.collate import collate, default_collate_fn_map
from torchvision import tv_tensors

import gofast
from gofast._images import lazy_program
from gofast._loader import stacking
from gofast._loader.batch_memory import BatchMemory
from gofast._loader.sample_memory import empty
from in_threads import in_threads
from killing import kill_worker
from same import difference

pytestmark = pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")

Pair = namedtuple("Pair", "x y")
SHAPE = (3, 8, 10)
ONE = torch.rand(SHAPE)


@pytest.fixture(autouse=True)
def small_batches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacking, "_LEAST_BYTES", 1)
    monkeypatch.setattr(stacking, "_LEAST_SHARED", 1)


class Rows(Dataset[Any]):
    """Rows that are made by a function of their number."""

    def __init__(self, make: Callable[[int], Any], count: int = 45) -> None:
        self.make, self.count = make, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


def sample(index: int, shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    """A finished sample as a Compose makes it of a lazy image."""
    made = empty(shape, torch.float32)
    made.copy_(torch.arange(made.numel()).reshape(shape) + 1000 * index)
    return made


def plain(index: int, shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    """The same in memory of torch's."""
    return (torch.arange(np.prod(shape)).reshape(shape) + 1000 * index).float()


def both(make: Callable[[int], Any], **options: Any) -> Iterator[tuple[Any, Any]]:
    """The batches of two epochs of gofast's and of torch's loader."""
    loaders = [loader(Rows(make), **options) for loader in (gofast.DataLoader, DataLoader)]
    for _ in range(2):
        yield from zip(*loaders, strict=True)


def stacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call of torch.stack is given, from now on, in this process."""
    calls: list[int] = []
    own = torch.stack

    def stack(tensors: Any, *args: Any, **options: Any) -> Any:
        calls.append(len(tensors))
        return own(tensors, *args, **options)

    monkeypatch.setattr(torch, "stack", stack)
    return calls


# -- what torch gives


def nest(rng: random.Random, depth: int = 0) -> Callable[[int], Any]:
    """A random row, by its number."""
    kind = rng.randrange(12 if depth < 3 else 7)
    if kind < 4:
        shape = [rng.choice([1, 2, 3, 6]) for _ in range(rng.randrange(5))]
        order = rng.sample(range(len(shape)), len(shape))
        dtype = rng.choice(
            [torch.float32, torch.uint8, torch.int64, torch.bool, torch.float16, torch.complex64]
        )
        return lambda i: (torch.arange(int(np.prod(shape))).reshape(shape) + i).to(dtype).permute(order)
    if kind < 7:
        return rng.choice(
            [lambda i: i, lambda i: i / 7, str, lambda i: np.full((2, 3), i), lambda i: np.int16(i)]
        )
    parts = [nest(rng, depth + 1) for _ in range(rng.randrange(1, 4))]
    return {
        7: lambda i: tuple(part(i) for part in parts),
        8: lambda i: [part(i) for part in parts],
        9: lambda i: {str(n): part(i) for n, part in enumerate(parts)},
        10: lambda i: OrderedDict((n, part(i)) for n, part in enumerate(parts)),
        11: lambda i: Pair(parts[0](i), parts[-1](i)),
    }[kind]


@pytest.mark.parametrize("seed", range(40))
def test_nests_are_torchs(seed: int) -> None:
    make = nest(random.Random(seed))
    for ours, theirs in both(make, batch_size=7):
        assert difference(ours, theirs) == ""
        assert [t.stride() for t in tensors(ours)] == [t.stride() for t in tensors(theirs)]


@pytest.mark.parametrize("seed", range(4))
def test_nests_of_workers_are_torchs(seed: int) -> None:
    rng = random.Random(seed)
    nests = [nest(rng) for _ in range(20)]
    for ours, theirs in both(lambda i: [make(i) for make in nests], batch_size=7, num_workers=2):
        assert difference(ours, theirs) == ""
        assert [t.stride() for t in tensors(ours)] == [t.stride() for t in tensors(theirs)]


def tensors(batch: Any) -> list[torch.Tensor]:
    if isinstance(batch, torch.Tensor):
        return [batch]
    values = batch.values() if isinstance(batch, dict) else batch
    return (
        [t for value in values for t in tensors(value)]
        if isinstance(values, (list, tuple)) or isinstance(batch, dict)
        else []
    )


def odd(index: int) -> Any:
    """What torch refuses, by the batch."""
    cases: list[Callable[[], Any]] = [
        lambda: torch.zeros(3 + index % 2),
        lambda: torch.zeros(4, dtype=[torch.float32, torch.float64][index % 2]),
        lambda: torch.zeros(4, requires_grad=True),
        lambda: torch.zeros(4).to_sparse(),
        lambda: (torch.zeros(4), object()),
        lambda: [torch.zeros(4)] * (1 + index % 2),
        lambda: torch.nn.Parameter(torch.zeros(4)),
        lambda: torch.zeros(0, 4),
        lambda: torch.view_as_complex(sample(index, (3, 2))).conj().imag,
        lambda: None,
    ]
    return cases[index // 5]()


@pytest.mark.parametrize("workers", [0, 1])
def test_what_torch_refuses_is_refused_alike(workers: int) -> None:
    loaders = [
        iter(loader(Rows(odd, 50), batch_size=5, num_workers=workers))
        for loader in (gofast.DataLoader, DataLoader)
    ]
    for _ in range(10):
        outcomes: list[Any] = []
        for loader in loaders:
            try:
                outcomes.append(next(loader))
            except Exception as error:
                outcomes.append((type(error), str(error).splitlines()[-1]))
        assert difference(*outcomes) == "", outcomes


def test_a_changed_map_of_functions_is_torchs_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = gofast.DataLoader(Rows(plain), batch_size=9)
    assert next(iter(loader)).shape == (9, *SHAPE)
    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, lambda batch, *, collate_fn_map: len(batch))
    assert list(loader) == [9] * 5


def test_the_loader_has_torchs_function_and_can_be_copied() -> None:
    loader = gofast.DataLoader(Rows(plain), batch_size=9)
    assert loader.collate_fn is default_collate
    list(loader)
    for other in (copy.copy(loader), copy.deepcopy(loader)):
        assert difference(list(other), list(loader)) == ""


# -- samples that are made where the batch will lie


@pytest.mark.parametrize("kind", [torch.Tensor, tv_tensors.Image])
def test_batches_are_not_copied(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    calls = stacked(monkeypatch)
    loader = gofast.DataLoader(Rows(lambda i: (sample(i).as_subclass(kind), i)), batch_size=10)
    for batch, ours in enumerate(loader):
        rows = range(10 * batch, min(10 * batch + 10, 45))
        assert difference(ours, [torch.stack([plain(i) for i in rows]), torch.tensor(list(rows))]) == ""
        calls.pop()
    assert calls == [10]  # the first batch shows what rows are like


MAKERS: dict[str, Callable[[int], Any]] = {
    "two of a kind": lambda i: ((sample(i), sample(-i)), i),
    "crops": lambda i: (
        [sample(i), sample(i + 1), *(sample(n * i, (3, 4, 4)) for n in range(8))],
        {"label": i},
    ),
    "in another order": lambda i: (
        {"b": sample(i), "a": sample(-i)} if i % 20 < 10 else {"b": sample(-i), "a": sample(i)}
    ),
    "one in two places": lambda i: [sample(i)] * 2,
    "a view": lambda i: (sample(i)[:2], sample(i)[...], sample(i).view(torch.int32)),
    "turned": lambda i: sample(i).flip(0).permute(2, 0, 1),
    "permuted": lambda i: sample(i).permute(2, 0, 1),
    "written to": lambda i: sample(i).mul_(2).add_(i),
    "not all": lambda i: sample(i) if i % 7 else plain(i),
    "not in a row": lambda i: [sample(i) for _ in range(1 + i % 2)][-1],
    "of another shape": lambda i: sample(i, (2, 8) if i < 30 else (3, 7)),
    "one for all": lambda i: ONE,
    "changed type": lambda i: sample(i).half(),
    "of torchvision's classes": lambda i: (tv_tensors.Image(sample(i)), tv_tensors.Mask(plain(i)[0])),
    "of such a class or none": lambda i: tv_tensors.Image(sample(i)) if i % 7 else sample(i),
    "storage": lambda i: torch.tensor(sample(i).untyped_storage().nbytes()),
}


@pytest.mark.daily(14)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", MAKERS)
def test_made_in_place_or_not_batches_are_torchs(name: str, workers: int) -> None:
    for size in (10, 3) if not workers else (5,):
        for ours, theirs in both(
            MAKERS[name], batch_size=size, num_workers=workers, persistent_workers=workers > 0
        ):
            assert difference(ours, theirs) == ""


def test_torchvisions_classes_that_stay() -> None:
    with tv_tensors.set_return_type("TVTensor"):
        for ours, theirs in both(lambda i: tv_tensors.Image(sample(i)), batch_size=10):
            assert type(ours) is type(theirs) is tv_tensors.Image
            assert torch.equal(ours, theirs)
    with pytest.raises(TypeError, match="Multiple dispatch"):
        [*next(both(lambda i: (tv_tensors.Image, tv_tensors.Mask)[i % 7 == 1](sample(i)), batch_size=10))]


@pytest.mark.parametrize("workers", [0, 1])
def test_batch_sizes_change(workers: int) -> None:
    rng = random.Random(workers)
    lists = [[rng.randrange(45) for _ in range(rng.choice([1, 5, 5, 5, 5, 9]))] for _ in range(60)]
    for ours, theirs in both(sample, batch_sampler=lists, num_workers=workers):
        assert difference(ours, theirs) == ""


# -- whoever keeps a sample keeps its values


class Keeping(Dataset[Any]):
    """Keeps samples, or something of them, and says at the end whether one has changed."""

    def __init__(self, keep: Callable[[int, torch.Tensor], Any], count: int = 60) -> None:
        self.keep, self.count = keep, count
        self.kept: list[tuple[Any, Any]] = []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        made = sample(index)
        kept = self.keep(index, made)
        if kept is not None:
            self.kept.append((kept, np.asarray(kept).copy()))
        return made

    def check(self) -> None:
        for kept, before in self.kept:
            assert np.array_equal(np.asarray(kept), before)


KEEPERS: dict[str, Callable[[int, torch.Tensor], Any]] = {
    "all": lambda i, x: x,
    "one of a batch": lambda i, x: x if i % 10 == 3 else None,
    "one of all": lambda i, x: x if i == 37 else None,
    "a view": lambda i, x: x[1, 2:] if i % 10 == 9 else None,
    "an array": lambda i, x: x.numpy()[0] if i % 20 == 0 else None,
    "detached": lambda i, x: x.detach() if i == 25 else None,
    "the data": lambda i, x: x.data if i == 25 else None,
}


@pytest.mark.parametrize("name", KEEPERS)
def test_kept_samples_and_batches_do_not_meet(name: str) -> None:
    dataset = Keeping(KEEPERS[name])
    for number, batch in enumerate(gofast.DataLoader(dataset, batch_size=10)):
        rows = range(10 * number, 10 * number + 10)
        assert difference(batch, torch.stack([plain(i) for i in rows])) == ""
        batch.fill_(-1)
        dataset.check()
        for kept, before in dataset.kept:
            np.asarray(kept)[...] = 7
            assert (batch == -1).all()
            np.asarray(kept)[...] = before
    assert dataset.kept


def test_the_dataset_of_a_worker_keeps_samples() -> None:
    class Cache(Keeping):
        def __getitem__(self, index: int) -> torch.Tensor:
            super().__getitem__(index)
            self.check()
            return self.kept[-1][0]

    for number, batch in enumerate(gofast.DataLoader(Cache(KEEPERS["all"]), batch_size=10, num_workers=1)):
        batch.fill_(-1)  # also in the worker's memory, if that were shared with a sample
        assert number < 6


def test_batches_that_are_held_keep_their_values() -> None:
    for workers in (0, 2):
        batches = list(gofast.DataLoader(Rows(sample, 400), batch_size=4, num_workers=workers))
        assert difference(torch.cat(batches), torch.stack([plain(i) for i in range(400)])) == ""


def test_a_list_of_rows_that_the_dataset_keeps_stays_whole() -> None:
    class Lists(Rows):
        kept: list[Any]

        def __getitems__(self, indices: list[int]) -> list[Any]:
            if not hasattr(self, "kept"):
                self.kept = [sample(i) for i in range(10)]
            return self.kept

    dataset = Lists(sample)
    for loader in (
        gofast.DataLoader(dataset, batch_size=10),
        gofast.DataLoader(Subset(dataset, range(40)), batch_size=10),
    ):
        for batch in loader:
            assert difference(batch, torch.stack([plain(i) for i in range(10)])) == ""
            batch.fill_(-1)


class TwoViews:
    """Two crops of a picture."""

    def __init__(self) -> None:
        self.view = T.Compose([T.RandomCrop(20), T.ToTensor()])

    def __call__(self, image: Image.Image) -> list[torch.Tensor]:
        return [self.view(image), self.view(image)]


class OwnList(gofast.ImageFolder):
    """Keeps the last list of rows that it gave."""

    def __getitems__(self, indices: list[int]) -> Any:
        self.last = [self[i] for i in indices]
        return self.last


def test_our_own_folder_gives_lists_that_are_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "class").mkdir()
    for number in range(12):
        Image.new("RGB", (30, 24), (20 * number, 0, 0)).save(tmp_path / "class" / f"{number:02}.jpg")
    calls = stacked(monkeypatch)
    monkeypatch.setattr(lazy_program, "MOST_BYTES", 0)  # samples that wait are made by torch.stack
    for kind, copied in ((gofast.ImageFolder, 1), (OwnList, 3)):
        dataset = kind(tmp_path, TwoViews())
        for data in (dataset, Subset(dataset, range(12))):
            torch.manual_seed(1)
            ours = list(gofast.DataLoader(data, batch_size=4))
            assert calls == [4] * 2 * copied  # the first batch shows what rows are like
            calls.clear()
            torch.manual_seed(1)
            assert difference(ours, list(DataLoader(data, batch_size=4))) == ""
            calls.clear()
    assert len(dataset.last) == 4


def test_a_list_that_a_dataset_gives_as_one_sample_stays_whole() -> None:
    kept: dict[int, list[Any]] = {}

    class Lists(Rows):
        def __getitem__(self, index: int) -> list[Any]:
            return kept.setdefault(index, [sample(index), sample(index + 1)])

    loader = gofast.DataLoader(Lists(sample, 5), batch_size=None, collate_fn=default_collate)
    for _ in range(2):
        batches = list(loader)
        assert difference(batches, [torch.stack([plain(i), plain(i + 1)]) for i in range(5)]) == ""


class Own:
    """A sample of the user's, with a function of the user's that collates it."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x


class Looks(Pair):
    """A tuple whose constructor changes what it is given, and keeps a view of it."""

    def __new__(cls, x: Any, y: Any) -> Any:
        return super().__new__(cls, x, x.mul_(2)[:, :1] if x.ndim == 4 else y)


def collated_by_the_user(batch: list[Own], *, collate_fn_map: Any = None) -> Any:
    x = collate([one.x for one in batch], collate_fn_map=collate_fn_map)
    return x[:, :1], x.mul_(2)


@pytest.mark.parametrize("kind", [Own, lambda x: Looks(x, 0)], ids=["function", "tuple"])
def test_code_of_the_users_in_the_middle_of_collation(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(default_collate_fn_map, Own, collated_by_the_user)
    kept: list[torch.Tensor] = []

    def row(index: int) -> Any:
        kept.append(sample(index))
        return kind(kept[-1])

    for a, b in gofast.DataLoader(Rows(row), batch_size=9):
        view, batch = sorted((a, b), key=lambda one: one.shape[1])
        assert view.data_ptr() == batch.data_ptr()
        batch.fill_(-1)
    assert difference(kept, [plain(i) for i in range(45)]) == ""


def test_without_room_for_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: Any, slot_bytes: int) -> None:
        raise MemoryError

    monkeypatch.setattr(BatchMemory, "_add", none)
    batches = list(gofast.DataLoader(Rows(sample), batch_size=9))
    assert difference(torch.cat(batches), torch.stack([plain(i) for i in range(45)])) == ""


def test_larger_batches_take_the_place_of_smaller() -> None:
    loader = gofast.DataLoader(Rows(lambda i: sample(i, (1 << i // 9, 50))), batch_size=9)
    list(loader)
    blocks = loader._stacking._blocks
    assert blocks is not None and len(blocks._rings) == 1


def test_iterable_and_subset() -> None:
    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return map(sample, range(45))

    for dataset in (Stream(), Subset(Rows(sample), range(45))):
        for workers in (0, 1):
            batches = list(gofast.DataLoader(dataset, batch_size=4, num_workers=workers))
            assert difference(torch.cat(batches), torch.stack([plain(i) for i in range(45)])) == ""


def test_an_error_in_the_middle_of_a_batch() -> None:
    def fails(index: int) -> torch.Tensor:
        made = sample(index)
        if index % 15 == 7:
            raise KeyError(index)
        return made

    for workers in (0, 1):
        iterator = iter(gofast.DataLoader(Rows(fails), batch_size=5, num_workers=workers))
        for number in range(9):
            rows = range(5 * number, 5 * number + 5)
            if any(i % 15 == 7 for i in rows):
                with pytest.raises(KeyError):
                    next(iterator)
            else:
                assert difference(next(iterator), torch.stack([plain(i) for i in rows])) == ""


def test_threads_share_a_loader() -> None:
    loader, wrong = gofast.DataLoader(Rows(sample, 300), batch_size=10), []

    def run() -> None:
        for number, batch in enumerate(loader):
            rows = range(10 * number, 10 * number + 10)
            if difference(batch, torch.stack([plain(i) for i in rows])):
                wrong.append(number)

    in_threads(*[run] * 4)
    assert wrong == []


def inner(index: int) -> torch.Tensor:
    """A row for which another loader is run; its batches are torch's own kind."""
    before = sample(index)
    batches = [*gofast.DataLoader(Rows(sample, 8), batch_size=4)]
    assert all(type(batch) is torch.Tensor for batch in batches)
    return before + torch.cat(batches).sum(0)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_within_a_row(workers: int) -> None:
    for ours, theirs in both(inner, batch_size=15, num_workers=workers):
        assert difference(ours, theirs) == ""


def forks(index: int) -> torch.Tensor:
    """A row in whose middle a child makes samples too."""
    first = sample(index)
    pid = os.fork()
    if pid == 0:
        sample(-1)
        os._exit(0)
    os.waitpid(pid, 0)
    return first


@pytest.mark.parametrize("workers", [0, 1])
def test_a_child_in_the_middle_of_a_batch(workers: int) -> None:
    for batch, theirs in zip(
        gofast.DataLoader(Rows(forks, 20), batch_size=10, num_workers=workers),
        torch.arange(20).split(10),
        strict=True,
    ):
        assert difference(batch, torch.stack([plain(int(i)) for i in theirs])) == ""


# -- memory


def test_memory_is_used_again() -> None:
    loader = gofast.DataLoader(Rows(sample, 400), batch_size=4)
    addresses = {batch.data_ptr() for _ in range(3) for batch in loader}
    blocks = loader._stacking._blocks
    assert len(addresses) <= 3 and blocks is not None and len(blocks._rings) == 1
    held = list(loader)
    assert len(blocks._rings) > 1
    del held
    gc.collect()
    rings = len(blocks._rings)
    held = list(loader)
    assert len(held) == 100 and len(blocks._rings) == rings


def test_one_kept_sample_ends_it() -> None:
    """Else each would keep the memory of a whole batch."""
    dataset = Keeping(KEEPERS["one of a batch"], 400)
    loader = gofast.DataLoader(dataset, batch_size=10)
    list(loader)
    assert {kept.untyped_storage().nbytes() for kept, _ in dataset.kept} == {4 * 3 * 8 * 10}
    blocks = loader._stacking._blocks
    assert blocks is not None and loader._stacking._places(blocks)._kinds == []


def test_a_killed_worker_leaves_batches_whole() -> None:
    iterator = iter(gofast.DataLoader(Rows(sample, 400), batch_size=10, num_workers=1))
    held = [next(iterator), next(iterator), next(iterator)]
    with pytest.raises(RuntimeError):
        kill_worker(iterator)
        for _ in range(40):
            next(iterator)
    assert difference(torch.cat(held), torch.stack([plain(i) for i in range(30)])) == ""


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_other_start_methods(method: str) -> None:
    loader = gofast.DataLoader(Rows(sample, 40), batch_size=10, num_workers=1, multiprocessing_context=method)
    assert difference(torch.cat(list(loader)), torch.stack([plain(i) for i in range(40)])) == ""


def test_without_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacking, "can_share", lambda: False)
    for ours, theirs in both(sample, batch_size=10, num_workers=1):
        assert difference(ours, theirs) == "" and ours.is_shared()


# -- the real thing


class Files(Dataset[Any]):
    """As strangers write it."""

    def __init__(self, root: Path, open: Callable[[str], Any], transform: Any) -> None:
        self.paths, self.open, self.transform = sorted(map(str, root.rglob("*.*"))), open, transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = self.open(self.paths[index]).convert("RGB")
        return [self.transform(image) for _ in range(2)], index, get_worker_info() is None


@pytest.mark.parametrize("workers", [0, 2])
def test_own_dataset_of_pictures(folder: Path, workers: int) -> None:
    transform = T.Compose(
        [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)]
    )
    epochs = []
    for loader, open in ((gofast.DataLoader, gofast.open), (DataLoader, Image.open)):
        torch.manual_seed(5)
        made = loader(Files(folder, open, transform), batch_size=4, num_workers=workers)
        epochs.append([[*made], [*made], torch.get_rng_state()])
    assert difference(*epochs) == ""

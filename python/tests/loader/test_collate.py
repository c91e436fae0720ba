"""An own collate_fn, and a worker_init_fn that seeds: called in this process, and nobody can tell."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import enum
import functools
import gc
import itertools
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from torch.utils.data import DataLoader, default_collate, get_worker_info
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
import same
from gofast._core.reason import NotNative
from gofast._loader import worker_copies
from gofast._loader.iterator import NativeIterator
from gofast._loader.seeding import only_seeds
from gofast._loader.worker_copies import _MOST_BYTES, WorkerCopies

TRAIN = T.Compose([T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.ToTensor()])
MIX = v2.RandomChoice([v2.MixUp(num_classes=3), v2.CutMix(num_classes=3)])


PICTURES = 47  # of `folder`


def not_copied(function: Any) -> str:
    """Why a function cannot be copied for workers; "" if it can."""
    try:
        WorkerCopies(function)
    except NotNative as why:
        return str(why)
    return ""


def mixed(rows: Any) -> Any:
    return MIX(*default_collate(rows))


def by_others(rows: Any) -> Any:
    images, labels = default_collate(rows)
    info = get_worker_info()
    who = (-1, -1) if info is None else (info.id, info.num_workers)
    images = images * random.random() + float(np.random.randn())
    return {"images": images, "labels": labels, "who": who}


def kept(rows: Any) -> Any:
    return rows


def refused(rows: Any) -> Any:
    if torch.rand(()) < 0.3 or rows[0][1] == 2:
        raise KeyError("not this one")
    return [label for _, label in rows]


def drawn_lazy(rows: Any) -> Any:
    """Draws when everybody believes that it does not."""
    return rows[0][1], torch.rand(2) if rows[0][1] == 2 else None


def taken(loader: Any, batches: int) -> list[Any]:
    """So many batches, as far as there are any; an error's class where one comes."""
    came: list[Any] = []
    iterator = iter(loader)
    while len(came) < batches:
        try:
            came.append(copy.deepcopy(next(iterator)))
        except StopIteration:
            break
        except KeyError as error:
            came.append(type(error))
    del iterator
    gc.collect()  # torch's errors hold their iterator in a circle, and its processes with it
    return came


def told(make: Any, dataset: Any, **options: Any) -> list[Any]:
    """Two epochs, the first broken off, and what everybody draws afterwards."""
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    np.random.randn()  # the second of a pair waits
    loader = make(dataset, **({"shuffle": True} | options))
    # torch's processes take 5 s to end an epoch with errors that is broken off
    came = taken(loader, 99 if options["collate_fn"] is refused else 5) + taken(loader, 99)
    return [*came, torch.rand(2), random.random(), float(np.random.randn()), float(np.random.randn())]


def assert_same(folder: Path, transform: Any = TRAIN, native: bool = True, **options: Any) -> None:
    theirs = told(DataLoader, torchvision.datasets.ImageFolder(folder, transform), **options)
    dataset = gofast.ImageFolder(folder, transform)
    ours = told(gofast.DataLoader, dataset, **options)
    if native:
        assert isinstance(iter(gofast.DataLoader(dataset, **options)), NativeIterator)
    for mine, other in zip(ours, theirs, strict=True):
        mine = list(mine) if isinstance(mine, list) else mine
        assert not same.difference(mine, other)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize(
    ("function", "workers"),
    [*itertools.product([mixed, by_others], [0, 1, 3]), (kept, 0), (kept, 3), (refused, 0), (refused, 1)],
)
def test_batches_and_generators_are_torchs(folder: Path, function: Any, workers: int) -> None:
    assert_same(folder, batch_size=4, num_workers=workers, collate_fn=function, drop_last=workers == 3)


@pytest.mark.parametrize("function", [mixed, by_others])
def test_workers_that_live_on_collate_what_nobody_takes(folder: Path, function: Any) -> None:
    options = {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 3}
    assert_same(folder, batch_size=4, collate_fn=function, **options)


def test_a_draw_after_many_batches_without_one(folder: Path) -> None:
    options: dict[str, Any] = {"num_workers": 2, "persistent_workers": True, "collate_fn": drawn_lazy}
    assert_same(folder, batch_sampler=Sorted(), shuffle=False, **options)


class Sorted:
    """Sixteen batches of the first class, then the others."""

    def __iter__(self) -> Any:
        return iter([[i % 16, 15 - i % 8] for i in range(20)] + [[i] for i in range(47)])

    def __len__(self) -> int:
        return 67


def test_what_draws_nothing_runs_ahead_and_tables_too(folder: Path) -> None:
    still = T.Compose([T.Resize((9, 8)), T.ToTensor()])
    assert_same(folder, still, batch_size=5, num_workers=2, persistent_workers=True, collate_fn=mixed)
    rows = gofast.ArrayDataset(np.arange(80, dtype=np.uint8).reshape(40, 2), np.arange(40))
    values = torch.arange(80, dtype=torch.uint8).reshape(40, 2)
    plain = torch.utils.data.TensorDataset(values, torch.arange(40))
    for workers in (0, 2):
        options: dict[str, Any] = {"batch_size": 6, "num_workers": workers, "collate_fn": by_others}
        ours, theirs = told(gofast.DataLoader, rows, **options), told(DataLoader, plain, **options)
        assert not same.difference(ours, theirs)


def seed_worker(worker: int) -> None:
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def seed_all(worker: int, first: int = 4) -> None:
    torch.manual_seed(first + worker)


@pytest.mark.parametrize("init", [seed_worker, seed_all, lambda i: np.random.seed(get_worker_info().id)])
def test_a_worker_init_fn_that_seeds(folder: Path, init: Any) -> None:
    assert_same(folder, batch_size=4, num_workers=2, collate_fn=by_others, worker_init_fn=init)
    if init is seed_all:
        assert_same(folder, batch_size=4, num_workers=2, collate_fn=None, worker_init_fn=init)


ARGUMENTS = argparse.Namespace(seed=3)
COUNT = {"n": 0}
OWN = np.random.default_rng(1)


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: Any) -> Any:
        self.calls += 1
        return rows


class Still:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: Any) -> Any:
        return [self.calls, *rows]


def counting(rows: Any) -> Any:
    COUNT["n"] += 1
    return rows


def assigned() -> Callable[..., Any]:
    calls = 0

    def count(rows: Any) -> Any:
        nonlocal calls
        calls += 1
        return rows

    return count


class Kept:
    """Keeps something in what an attribute holds."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, rows: Any) -> Any:
        self.seen.append(1)
        return len(self.seen)


class Settings(dict[str, int]):
    __getattr__ = dict.__getitem__


class Mixing(torch.nn.Module):
    """As torchvision's reference has it."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, images: Any, labels: Any) -> Any:
        if torch.rand(1).item() >= self.p:
            return images, labels
        part = float(torch._sample_dirichlet(torch.tensor([1.0, 1.0]))[0])
        return images.roll(1, 0).mul_(1 - part).add_(images.mul(part)), labels


class Padding(enum.Enum):
    LONGEST = "longest"


@dataclasses.dataclass
class Collator:
    calls: int = 0
    seen: list[int] = dataclasses.field(default_factory=list)

    def __call__(self, rows: Any) -> Any:
        self.calls += 1
        self.seen.append(len(rows))
        return len(rows), self.calls, len(self.seen)


@dataclasses.dataclass
class Padded:
    """As transformers has them."""

    padding: Padding = Padding.LONGEST

    def __call__(self, rows: Any) -> Any:
        return len(rows), self.padding is Padding.LONGEST, str(self)


class Ticking(enum.Enum):
    A = 1

    def tick(self) -> int:
        self.calls = getattr(self, "calls", 0) + 1
        return self.calls


class Called(enum.IntEnum):
    A = 1

    def __call__(self, rows: Any) -> int:
        COUNT["n"] += 1
        return COUNT["n"]


class Holding(enum.Enum):
    LIST = []  # noqa: RUF012


class BySpecial:
    __call__ = Counter()


class ByCache:
    __len__ = functools.lru_cache(None)(lambda self: random.randrange(9))

    def __call__(self, rows: Any) -> int:
        return len(self)


class Shown:
    def __repr__(self) -> str:
        COUNT["n"] += 1
        return str(COUNT["n"])

    def __call__(self, rows: Any) -> str:
        return f"{self!r}"


class Made:
    def __init__(self, rows: Any) -> None:
        COUNT["n"] += 1
        self.n = COUNT["n"]


class InItsCell:
    calls = 0

    def __call__(self, rows: Any) -> int:
        __class__.calls += 1  # type: ignore[name-defined]
        return self.calls


class Told(str):
    def __call__(self, rows: Any) -> int:
        return len(self)


TOLD = Told()


class ByText:
    def __call__(self, rows: Any) -> int:
        return TOLD(rows)


def assigns_to_a_member(rows: Any) -> int:
    Padding.LONGEST.calls = getattr(Padding.LONGEST, "calls", 0) + 1  # type: ignore[attr-defined]
    return int(Padding.LONGEST.calls)  # type: ignore[attr-defined]


MIXING, SETTINGS, WEIGHTS, FACTOR = Mixing(0.5), Settings(a=1), torch.ones(2), 3


class Shared:
    """Keeps its count in the class."""

    calls = 0

    def __call__(self, rows: Any) -> Any:
        Shared.calls += 1
        return Shared.calls


class Rebinds:
    def __init__(self) -> None:
        self = Shared
        self.calls += 1


class ItsParents:
    def __call__(self, rows: Any) -> Any:
        Counter.__init__(Shared)  # type: ignore[arg-type]
        return Shared.calls


class OfItsClass:
    calls = 0

    def __call__(self, rows: Any) -> Any:
        self.__class__.calls += 1
        return self.calls


class OfClass:
    seen: list[int] = []  # noqa: RUF012

    def __call__(self, rows: Any) -> Any:
        self.seen.append(1)
        return len(self.seen)


class OfModule:
    def __call__(self, rows: Any) -> Any:
        COUNT["n"] += 1
        return COUNT["n"]


class Reset:
    """Says how it is pickled, which is not how it is forked."""

    def __getstate__(self) -> Any:
        return {}

    def __call__(self, rows: Any) -> Any:
        return vars(self)


def attribute(rows: Any) -> Any:
    attribute.calls += 1  # type: ignore[attr-defined]
    return attribute.calls  # type: ignore[attr-defined]


attribute.calls = 0  # type: ignore[attr-defined]


def through_another(rows: Any) -> Any:
    global TOTAL
    TOTAL += len(rows)
    return counting(rows) and (TOTAL, COUNT["n"])


def both_count(rows: Any) -> Any:
    counting(rows)
    return through_another(rows), COUNT["n"]


def imports_another(rows: Any) -> Any:
    import os

    return os.getpid()


class Keeps:
    """Hands out a list that it goes on writing to."""

    calls = 0

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, rows: Any) -> Any:
        self.seen.append(len(rows))
        return {"n": torch.tensor(len(rows)), "seen": self.seen}

    def __private(self, rows: Any) -> int:
        return len(rows)

    def private(self) -> Any:
        return self.__private


def counts_by_class(kind: Any, rows: Any) -> int:
    kind.calls += 1
    return int(kind.calls)


WHOLE = torch.zeros(4)
HEAD = WHOLE[:2]


def writes_to_a_part(rows: Any) -> torch.Tensor:
    HEAD.add_(1)
    return WHOLE.clone()


class Delegates:
    """Cannot be loaded: it asks for `inner` before there is one."""

    def __init__(self) -> None:
        self.inner = default_collate

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __call__(self, rows: Any) -> Any:
        return self.inner(rows)


TOTAL, LOCK, FILE = 0, threading.Lock(), Path(__file__).open()  # noqa: SIM115
MANY, TOGETHER = torch.zeros(_MOST_BYTES, dtype=torch.uint8), torch.zeros(2).share_memory_()


@pytest.mark.parametrize(
    "make",
    [
        Counter,
        Collator,
        lambda: Counter().__call__,
        Kept,
        lambda: counting,
        assigned,
        lambda: attribute,
        lambda: both_count,
        lambda: lambda rows: (OWN.random(), WEIGHTS.add_(1).tolist()),
        lambda: lambda rows, kept=[]: (kept.append(1), len(kept)),
        lambda: functools.partial(lambda rows, g: g.random(), g=random.Random(1)),
    ],
)
def test_what_a_function_keeps_is_each_workers_own(folder: Path, make: Any) -> None:
    """As in torch's workers; what this process has stays as it was."""
    before = copy.deepcopy((COUNT, TOTAL, attribute.calls, WEIGHTS))  # type: ignore[attr-defined]

    def told_more(rows: Any) -> Any:
        return len(rows), make_once(rows)

    make_once = make()
    options: dict[str, Any] = {"batch_size": 4, "num_workers": 2, "collate_fn": told_more}
    assert_same(folder, **options)
    assert_same(folder, persistent_workers=True, **options)
    after = (COUNT, TOTAL, attribute.calls, WEIGHTS)  # type: ignore[attr-defined]
    assert not same.difference(list(after), list(before))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (mixed, ""),
        (by_others, ""),
        (refused, ""),
        (functools.partial(default_collate), ""),
        (Still(), ""),
        (list, ""),
        (lambda rows: MIXING(*default_collate(rows)), ""),
        (lambda rows: torch.stack([row[0] for row in rows]) * FACTOR, ""),
        (lambda rows: Still()(rows), ""),
        (torch.nn.BatchNorm1d(3), ""),
        (lambda rows: SETTINGS.a, ""),
        (Shared(), "assigns to an attribute, perhaps of a class"),
        (Padded(), ""),
        (lambda rows: Padded()(rows), ""),
        (lambda rows: Ticking.A.tick(), "Ticking has code of its own"),
        (Called.A, "Called has code of its own"),
        (lambda rows: Holding.LIST.value, "uses a list, which all workers would share"),
        (assigns_to_a_member, "of a class"),
        (BySpecial(), "uses a Counter, which all workers would share"),
        (ByCache(), "uses a _lru_cache_wrapper, which all workers would share"),
        (Shown(), "uses a dict, which all workers would share"),
        (lambda rows: Made(rows).n, "uses a dict, which all workers would share"),
        (InItsCell(), "of a class"),
        (ByText(), "uses a Told, which all workers would share"),
        (lambda rows: setattr(Shared, "n", 1), "uses setattr"),
        (lambda rows: Rebinds(), "of a class"),
        (ItsParents(), "of a class"),
        (OfItsClass(), "assigns to an attribute, perhaps of a class"),
        (OfClass(), "uses a list, which all workers would share"),
        (OfModule(), "uses a dict, which all workers would share"),
        (Reset(), "Reset has a __getstate__ of its own"),
        (functools.partial(lambda rows, at: next(at), at=itertools.count()), "uses a count"),
        (functools.lru_cache(lambda rows: rows), "uses a _lru_cache_wrapper"),
        (lambda rows: torch.manual_seed(1), "uses manual_seed"),
        (lambda rows: torch.set_grad_enabled(False), "uses set_grad_enabled"),
        (lambda rows: get_worker_info().dataset, "uses dataset"),
        (lambda rows: open("log"), "uses open"),  # noqa: SIM115
        (lambda rows: same.difference(rows, rows), "uses the module same"),
        (lambda rows: __import__("os").getpid(), "uses __import__"),
        (imports_another, "imports_another imports os"),
        (functools.partial(counts_by_class, Keeps), "of a class"),
        (writes_to_a_part, "share memory"),
        (Delegates(), "cannot be copied"),
        (functools.partial(print, file=None), ""),
        (lambda rows, lock=LOCK: lock, "cannot be copied"),
        (lambda rows, file=FILE: file, "uses a TextIOWrapper"),
        (lambda rows, many=MANY: many, "more than 8 MiB"),
        (lambda rows, shared=TOGETHER: shared, "processes share"),
    ],
)
def test_functions_that_cannot_be_copied(function: Any, why: str) -> None:
    said = not_copied(function)
    assert why in said and bool(why) == bool(said)


def test_this_pythons_bytecode_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a version of Python names its instructions in another way, nothing is believed."""
    monkeypatch.setattr(worker_copies, "_PROBED", worker_copies._PROBED | {"imports": set()})
    assert not_copied(seed_worker) == "this version of Python is not known"


STILL = Still()


def of_here(rows: Any) -> Any:
    return FACTOR, STILL(rows)[0]


def test_a_worker_does_not_see_what_the_caller_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[list[Any]] = []
    for make, dataset in (
        (DataLoader, torchvision.datasets.ImageFolder(folder, TRAIN)),
        (gofast.DataLoader, gofast.ImageFolder(folder, TRAIN)),
    ):
        monkeypatch.setitem(globals(), "FACTOR", 3)
        made = []
        for batch in make(dataset, 9, num_workers=1, collate_fn=of_here):
            made.append(batch)
            monkeypatch.setitem(globals(), "FACTOR", 4)
            STILL.calls += 1
        STILL.calls = 0
        held.append(made)
    assert held[0] == held[1]


def test_what_is_handed_over_is_torchs_list(folder: Path) -> None:
    dataset = gofast.ImageFolder(folder, TRAIN)
    for workers in (0, 1):
        for function, found in (
            (lambda rows: {"rows": rows}, lambda batch: batch["rows"]),
            (lambda rows: (1, [rows]), lambda batch: batch[1][0]),
            (lambda rows: rows, lambda batch: batch),
        ):
            (batch, *_) = gofast.DataLoader(dataset, 4, num_workers=workers, collate_fn=function)
            assert type(found(batch)) is list


@pytest.mark.parametrize(
    ("function", "seeds"),
    [
        (seed_worker, True),
        (functools.partial(seed_all, first=2), True),
        (lambda i: np.random.seed(ARGUMENTS.seed + i), True),
        (lambda i: np.random.seed(np.random.get_state()[1][0] + i), True),
        (None, True),
        (print, False),
        (lambda i: torch.set_num_threads(1), False),
        (lambda i: COUNT.update(n=i), False),
        (lambda i: setattr(get_worker_info().dataset, "n", i), False),
        (functools.partial(seed_all, first=[1]), False),
        (Still(), False),
    ],
)
def test_functions_that_only_seed(function: Any, seeds: bool) -> None:
    assert only_seeds(function) == seeds


def test_it_is_said_how_far_ahead(folder: Path) -> None:
    dataset = gofast.ImageFolder(folder, TRAIN)
    loader = gofast.DataLoader(dataset, 4, num_workers=2, collate_fn=mixed, worker_init_fn=seed_worker)
    said = {name: what for name, _, what in gofast.explain(loader).lines}
    assert "one batch for each worker" in said["gofast.DataLoader"]
    assert "as in the worker whose turn it is" in said["collate_fn"]
    assert "only seeds" in said["worker_init_fn"]
    assert "nobody else draws" in gofast.explain(gofast.DataLoader(dataset, collate_fn=mixed)).lines[-1][2]


class Grows:
    """Hands out a list or a dict of tensors that it goes on adding to."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __call__(self, rows: Any) -> Any:
        made = torch.tensor(len(rows))
        if isinstance(self.kept, list):
            self.kept.append(made)
        else:
            self.kept[str(len(self.kept))] = made
        return self.kept


@pytest.mark.parametrize("kind", [list, dict])
def test_tensors_that_a_function_hands_out_stand_in_a_copy(kind: Any) -> None:
    rows = gofast.ArrayDataset(torch.arange(12.0))
    held = list(gofast.DataLoader(rows, 4, num_workers=1, collate_fn=Grows(kind())))
    assert [len(batch) for batch in held] == [1, 2, 3] and type(held[0]) is kind


def test_what_a_function_hands_out_is_a_copy() -> None:
    """As a worker's queue makes one: batches that are held do not change when the function writes on."""
    loader = gofast.DataLoader(gofast.ArrayDataset(torch.arange(12.0)), 4, num_workers=1, collate_fn=Keeps())
    batches = list(loader)
    assert [batch["seen"] for batch in batches] == [[4], [4, 4], [4, 4, 4]]
    assert not not_copied(Keeps().private())
    private = gofast.DataLoader(
        gofast.ArrayDataset(torch.arange(12.0)), 4, num_workers=1, collate_fn=Keeps().private()
    )
    assert list(private) == [4, 4, 4]


def test_a_batch_that_cannot_be_pickled_is_an_error() -> None:
    """torch's own loop waits for it for ever; on torch's machinery, ours raises the same."""
    made: list[Any] = []

    def third(rows: Any) -> Any:
        made.append(rows)
        return (lambda: 1) if len(made) == 3 else len(rows)

    loader = gofast.DataLoader(gofast.ArrayDataset(torch.arange(12.0)), 3, num_workers=1, collate_fn=third)
    batches = iter(loader)
    assert [next(batches), next(batches)] == [3, 3]
    with pytest.raises((AttributeError, pickle.PicklingError), match="whose batch cannot be pickled"):
        next(batches)
    assert [*batches] == [3]


def test_the_default_generator_is_a_workers(folder: Path) -> None:
    def draws(generator: Any, rows: Any) -> torch.Tensor:
        return torch.rand(2, generator=generator)

    made = []
    for kind, dataset in (
        (DataLoader, torchvision.datasets.ImageFolder),
        (gofast.DataLoader, gofast.ImageFolder),
    ):
        torch.manual_seed(4)
        function = functools.partial(draws, torch.default_generator)
        made.append(list(kind(dataset(folder, TRAIN), 3, num_workers=2, collate_fn=function)))
    assert not same.difference(*made)

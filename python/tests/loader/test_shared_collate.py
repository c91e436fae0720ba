"""A user's collate function in workers: what it stacks of lazy samples crosses to the parent without a copy.

And datasets of the package `datasets`, as far as they need none: test_datasets.py has the real ones.
"""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, get_worker_info
from torchvision import transforms as T
from torchvision import tv_tensors
from torchvision.transforms import v2

import gofast
from gofast._images.lazy_samples import LazySample
from gofast._lazy.lazy_image import LazyImage
from gofast._loader import worker_ring as shared
from image_data import photograph
from same import difference

COUNT, BATCH = 26, 4
TRAIN = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("pictures")
    for i in range(COUNT):
        photograph(i, 90 + i, 80).save(folder / f"{i:02}.jpg", progressive=i == 9)
    return [str(path) for path in sorted(folder.iterdir())]


class Own(Dataset[Any]):
    """A user's own dataset; its pictures are gofast's or Pillow's."""

    def __init__(self, paths: list[str], ours: bool) -> None:
        self.paths, self.ours = paths, ours

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        image = (gofast.open if self.ours else Image.open)(self.paths[index])
        return {"pixels": TRAIN(image.convert("RGB")), "label": index}


def stack(rows: list[dict[str, Any]]) -> torch.Tensor:
    return torch.stack([row["pixels"] for row in rows])


def in_a_dict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"pixels": stack(rows), "label": torch.tensor([row["label"] for row in rows]), "n": [len(rows)]}


def nested(rows: list[dict[str, Any]]) -> Any:
    return [(stack(rows), {"again": stack(rows)}), "text", None]


def in_place(rows: list[dict[str, Any]]) -> torch.Tensor:
    return stack(rows).mul_(2)


def twice(rows: list[dict[str, Any]]) -> tuple[torch.Tensor, ...]:
    made = stack(rows)
    return made, made


def with_view(rows: list[dict[str, Any]]) -> tuple[torch.Tensor, ...]:
    made = stack(rows)
    return made, made[0]


def with_gradient(rows: list[dict[str, Any]]) -> torch.Tensor:
    return stack(rows).requires_grad_()


def other_memory(rows: list[dict[str, Any]]) -> torch.Tensor:
    made = stack(rows)
    made.data = made.data[1:] - made.data.mean()
    return made


def swapped(rows: list[dict[str, Any]]) -> torch.Tensor:
    made = stack(rows)
    torch.utils.swap_tensors(made, made * 3)
    return made


def looked_at(rows: list[dict[str, Any]]) -> list[Any]:
    return [stack(rows), [row["pixels"].sum().item() for row in rows]]


def not_stacked(rows: list[dict[str, Any]]) -> list[torch.Tensor]:
    return [row["pixels"] for row in rows]


class Keeps:
    """It goes on holding what it gave, and its first samples."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def __call__(self, rows: list[dict[str, Any]]) -> tuple[torch.Tensor, float]:
        made = stack(rows)
        self.kept.append((made, rows[0]["pixels"]))
        return made, sum(float(one.sum() + sample.sum()) for one, sample in self.kept)


def called(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else getattr(value, "__name__", type(value).__name__)


FUNCTIONS = [stack, in_a_dict, nested, in_place, twice, with_view, looked_at, not_stacked, Keeps()]
FUNCTIONS += [with_gradient, other_memory, swapped]
SPAWNED = [pytest.param(f, "spawn", marks=pytest.mark.full) for f in (in_a_dict, Keeps())]


def batches(kind: Callable[..., Any], dataset: Any, workers: int, collate: Any, **more: Any) -> list[Any]:
    torch.manual_seed(3)
    return list(kind(dataset, BATCH, True, num_workers=workers, collate_fn=collate, **more))


@pytest.mark.parametrize(("collate", "method"), [(f, "fork") for f in FUNCTIONS] + SPAWNED, ids=called)
def test_batches_are_torchs(paths: list[str], collate: Any, method: str) -> None:
    theirs = batches(DataLoader, Own(paths, False), 2, collate, multiprocessing_context=method)
    ours = batches(gofast.DataLoader, Own(paths, True), 2, collate, multiprocessing_context=method)
    assert difference(ours, theirs) == ""


class Weak:
    """It remembers its samples as a cache does that keeps none: they cannot become ordinary tensors."""

    def __init__(self, kind: Any) -> None:
        self.kind, self.seen = kind, weakref.WeakValueDictionary[int, torch.Tensor]()

    def __call__(self, rows: list[dict[str, Any]]) -> Any:
        self.seen.update((row["label"], row["pixels"]) for row in rows)
        return not_stacked(rows), stack(rows), [isinstance(row["pixels"], self.kind) for row in rows]


@pytest.mark.parametrize("wraps", [False, True])
def test_samples_that_somebody_refers_to_weakly(
    paths: list[str], monkeypatch: pytest.MonkeyPatch, wraps: bool
) -> None:
    if wraps:
        chain = v2.Compose([v2.RandomResizedCrop(64), v2.ToImage()])
        monkeypatch.setattr(sys.modules[__name__], "TRAIN", chain)
    collate = Weak(tv_tensors.Image if wraps else torch.Tensor)
    theirs = batches(DataLoader, Own(paths, False), 1, collate)
    ours = batches(gofast.DataLoader, Own(paths, True), 1, collate)
    assert difference(ours, theirs) == ""
    kinds = {type(one) for first, *_ in ours for one in first}
    assert kinds == {collate.kind} and all(all(same) for *_, same in ours)


def test_views_still_share_memory(paths: list[str]) -> None:
    for whole, first in batches(gofast.DataLoader, Own(paths, True), 1, with_view):
        whole.zero_()
        assert not first.any()


@pytest.mark.parametrize(
    ("collate", "each"), [(in_a_dict, 1), (nested, 2), (twice, 1), (not_stacked, 0)], ids=called
)
def test_what_crosses_as_a_ticket(
    paths: list[str], collate: Any, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first batch on, also for the last one, which is smaller."""
    tickets: list[Any] = []
    rebuild = shared._rebuild

    def counted(*ticket: Any) -> Any:
        tickets.append(ticket)
        return rebuild(*ticket)

    monkeypatch.setattr(shared, "_rebuild", counted)
    count = len(batches(gofast.DataLoader, Own(paths, True), 2, collate))
    assert len(tickets) == each * count


class Stacks(IterableDataset[Any]):
    """It makes its own batches, as webdataset's `batched` does, so many ahead, and yields one twice."""

    def __init__(self, paths: list[str], ours: bool, collate: Any, ahead: int) -> None:
        self.rows, self.collate, self.ahead = Own(paths, ours), collate, ahead

    def __iter__(self) -> Iterator[Any]:
        first, made = None, list[Any]()
        info = get_worker_info()
        for i in range(info.id, len(self.rows) // BATCH, info.num_workers):
            made.append(self.collate([self.rows[i * BATCH + j] for j in range(BATCH)]))
            first = first or made[:1]
            if len(made) > self.ahead:
                yield made.pop(0)
        yield from made + (first or [])


@pytest.mark.parametrize(
    ("collate", "ahead"),
    [(stack, 0), (in_a_dict, 2), (nested, 0), (twice, 0), (with_view, 2), (Keeps(), 0), (Keeps(), 2)],
    ids=called,
)
def test_iterators_stack_as_torchs(
    paths: list[str], collate: Any, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets: list[Any] = []
    rebuild = shared._rebuild
    monkeypatch.setattr(shared, "_rebuild", lambda *ticket: tickets.append(ticket) or rebuild(*ticket))
    both = []
    for ours, kind in ((False, DataLoader), (True, gofast.DataLoader)):
        torch.manual_seed(3)
        both.append([*kind(Stacks(paths, ours, collate, ahead), None, num_workers=2)])
    assert difference(both[1], both[0]) == ""
    if collate is stack and not ahead:
        assert len(tickets) == COUNT // BATCH, "what is yielded again is copied"


def test_a_worker_init_fn_is_called(paths: list[str], tmp_path: Path) -> None:
    def begin(worker: int) -> None:
        (tmp_path / str(worker)).touch()

    batches(gofast.DataLoader, Own(paths, True), 2, stack, worker_init_fn=begin)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def raises(rows: Any) -> None:
    raise KeyError("the collate function's own")


def test_an_error_of_the_function_is_its_own(paths: list[str]) -> None:
    with pytest.raises(KeyError, match="the collate function's own"):
        batches(gofast.DataLoader, Own(paths, True), 1, raises)


# -- a dataset of Hugging Face's, by its class's name


class Theirs(Dataset[Any]):
    """Opens by Pillow's name, as `datasets` does."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        image = PIL.Image.open(self.paths[index])
        return {"pixels": TRAIN(image.convert("RGB")), "label": index, "lazy": type(image) is LazyImage}


HuggingFaces = type("Dataset", (Theirs,), {"__module__": "datasets.arrow_dataset"})


def lazy(rows: list[dict[str, Any]]) -> list[bool]:
    return [row["lazy"] for row in rows]


TREES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda dataset: dataset,
    "Subset": lambda dataset: Subset(dataset, [3, 1, 2, 8]),
    "ConcatDataset": lambda dataset: ConcatDataset([dataset, dataset]),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("tree", TREES)
def test_what_it_opens_is_lazy_in_a_loader(paths: list[str], tree: str, workers: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = TREES[tree](HuggingFaces(paths))
        assert all(map(all, batches(gofast.DataLoader, whole, workers, lazy)))
    theirs = batches(DataLoader, TREES[tree](Theirs(paths)), workers, in_a_dict)
    assert difference(batches(gofast.DataLoader, whole, workers, in_a_dict), theirs) == ""
    assert not any(map(any, batches(DataLoader, whole, workers, lazy)))


def test_nobody_else_opens_lazily(paths: list[str]) -> None:
    """Neither another thread meanwhile, nor this one between two batches and afterwards."""
    kinds: list[type] = []

    def look() -> None:
        with PIL.Image.open(paths[0]) as image:
            kinds.append(type(image))

    def open_elsewhere(rows: Any) -> list[bool]:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return lazy(rows)

    for made in gofast.DataLoader(HuggingFaces(paths), BATCH, collate_fn=open_elsewhere):
        assert all(made)
        look()
    assert len(kinds) == 14 and LazyImage not in kinds


def test_it_goes_on_beside_an_install(paths: list[str]) -> None:
    loader = iter(gofast.DataLoader(HuggingFaces(paths), BATCH, collate_fn=lazy))
    assert all(next(loader))
    with gofast.install():
        assert type(PIL.Image.open(paths[0])) is LazyImage
        assert all(next(loader))
    with PIL.Image.open(paths[0]) as image:
        assert type(image) is not LazyImage
    assert all(next(loader))


@pytest.mark.usefixtures("samples_wait")
def test_its_samples_wait_for_their_batch(paths: list[str]) -> None:
    waited: list[bool] = []

    def collate(rows: Any) -> torch.Tensor:
        waited.extend(type(row["pixels"]) is LazySample for row in rows)
        return stack(rows)

    batches(gofast.DataLoader, HuggingFaces(paths), 0, collate)
    assert waited.count(True) == COUNT - 1  # one is progressive

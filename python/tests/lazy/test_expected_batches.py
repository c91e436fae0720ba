"""Samples that a user's code stacks as before are begun in the memory of the batch: nobody sees that."""

from __future__ import annotations

import gc
import hashlib
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import gofast
from forked import answer_of_child
from gofast._images.expected_batches import ExpectedBatches
from gofast._images.lazy_samples import LazySample
from image_data import noise_files
from same import difference

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning"),
]
N = 24
sides = itertools.count(60)  # each chain has a program of its own


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return noise_files(tmp_path_factory.mktemp("pictures"), [(90 + i, 120) for i in range(N)], quality=70)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each batch was the memory that its samples were begun in."""
    found, take = list[bool](), ExpectedBatches.take

    def noted(self: ExpectedBatches, rows: Any) -> Any:
        made = take(self, rows)
        found.append(made is not None)
        return made

    monkeypatch.setattr(ExpectedBatches, "take", noted)
    return found


def chain(last: bool) -> T.Compose:
    """last: samples alone have their channels last."""
    ending = [T.PILToTensor(), T.ConvertImageDtype(torch.float)] if last else [T.ToTensor()]
    return T.Compose([T.RandomResizedCrop(next(sides)), T.RandomHorizontalFlip(), *ending])


def samples(files: list[Path], transform: Any, ours: bool = True, seed: int = 0) -> list[Any]:
    gofast.open(files[0])  # Compose looks from now on
    torch.manual_seed(seed)
    return [transform((gofast.open if ours else Image.open)(path).convert("RGB")) for path in files]


def strides(rows: list[Any]) -> list[Any]:
    return [one.stride() for one in rows]


both_layouts = pytest.mark.parametrize("last", [False, True])


@both_layouts
def test_batches_are_begun_and_not_copied(files: list[Path], last: bool, taken: list[bool]) -> None:
    transform = chain(last)
    for seed in range(4):
        rows, theirs = (samples(files, transform, ours, seed) for ours in (True, False))
        if seed:
            assert sum(one._pending.row is not None for one in rows) == N - 3  # 1, and 4 at a time
        assert strides(rows) == strides(theirs)
        batch, their_batch = torch.stack(rows), torch.stack(theirs)
        assert difference(batch, their_batch) == ""
        assert batch.untyped_storage().nbytes() == batch.nbytes and batch._base is None
        batch.zero_()
        looked = [one + 0 for one in rows]  # another one by now
        assert difference(looked, theirs) == "" and strides(rows) == strides(theirs)
        assert not batch.any()
    assert taken == [False, True, True, True]


HANDLING: dict[str, Callable[[list[Any]], Any]] = {
    "reversed": lambda rows: torch.stack(rows[::-1]),
    "a part": lambda rows: torch.stack(rows[:-3]),
    "without one": lambda rows: torch.stack(rows[:5] + rows[6:]),
    "one twice": lambda rows: torch.stack([*rows[:-1], rows[0]]),
    "looked at": lambda rows: (rows[3].sum(), rows[3].stride(), torch.stack(rows)),
    "changed": lambda rows: (rows[3].mul_(2), torch.stack(rows), rows[3]),
    "kept and changed": lambda rows: (torch.stack(rows).zero_(), [one.add_(1) for one in rows]),
    "another in between": lambda rows: torch.stack([*rows[:7], torch.ones_like(rows[7]), *rows[8:]]),
    "another at the end": lambda rows: torch.stack([*rows[:-1], torch.zeros(rows[0].shape)]),
    "stacked twice": lambda rows: (torch.stack(rows), torch.stack(rows).add_(1), torch.stack(rows)),
    "halves": lambda rows: (torch.stack(rows[: N // 2]), torch.stack(rows[N // 2 :])),
    "even and odd": lambda rows: (torch.stack(rows[::2]), torch.stack(rows[1::2])),
    "a box": lambda rows: (rows[2].__setitem__((slice(None), slice(3), slice(3)), 0.5), torch.stack(rows)),
    "out": lambda rows: torch.stack(rows, out=torch.empty(len(rows), *rows[0].shape)),
    "dropped": lambda rows: (rows.pop(2), gc.collect(), torch.stack(rows))[2],
}


@both_layouts
@pytest.mark.parametrize("how", HANDLING)
def test_what_becomes_of_them(files: list[Path], how: str, last: bool) -> None:
    transform, handle = chain(last), HANDLING[how]
    torch.stack(samples(files, transform))
    for seed in range(6):
        ours, theirs = (samples(files, transform, ours, seed) for ours in (True, False))
        made, expected = handle(ours), handle(theirs)
        assert difference(made, expected) == ""
        assert difference([one + 0 for one in ours], [one + 0 for one in theirs]) == ""
        assert strides(ours) == strides(theirs)
        assert difference(made, expected) == ""  # no look at a sample has changed a batch


def test_views_are_a_batch_each(files: list[Path], taken: list[bool]) -> None:
    transform = chain(last=False)
    for seed in range(3):
        ours, theirs = (samples(files, transform, ours, seed) for ours in (True, False))
        for view in range(3):
            assert difference(torch.stack(ours[view::3]), torch.stack(theirs[view::3])) == ""
    assert taken[-3:] == [True] * 3


def test_a_batch_of_fewer_comes_last(files: list[Path], taken: list[bool]) -> None:
    transform = chain(last=True)
    for _ in range(3):
        for part in (files[:10], files[10:20], files[20:]):
            torch.stack(samples(part, transform))
    assert taken == [False, True, False, True, True, False, True, True, False]


def test_what_never_comes_as_expected_is_not_begun(files: list[Path]) -> None:
    transform = chain(last=True)
    for _ in range(6):
        rows = samples(files, transform)
        torch.stack([*rows[1:], rows[0]][: N - 1])
    assert not any(one._pending.making is not None for one in samples(files, transform))


def test_samples_that_outlive_their_round_have_no_row_of_the_next(files: list[Path]) -> None:
    transform = chain(last=False)
    torch.stack(samples(files[:8], transform))
    left, their_left = (samples(files[:3], transform, ours) for ours in (True, False))
    torch.stack(samples(files[:8], transform))
    rows, theirs = (samples(files[:8], transform, ours) for ours in (True, False))
    batch = torch.stack(rows)
    assert difference([one + 0 for one in left], their_left) == ""
    assert difference(batch, torch.stack(theirs)) == ""


def test_inference_mode_stacks_what_was_begun_outside(files: list[Path]) -> None:
    transform = chain(last=True)
    torch.stack(samples(files, transform))
    rows, theirs = (samples(files, transform, ours) for ours in (True, False))
    with torch.inference_mode():
        batch = torch.stack(rows)
    assert batch.is_inference() and difference(batch, torch.stack(theirs)) == ""
    assert not rows[0].is_inference() and rows[0].add_(1) is rows[0]


def test_a_default_device_is_none_of_theirs(files: list[Path], taken: list[bool]) -> None:
    transform = chain(last=False)
    torch.stack(samples(files, transform))
    rows, theirs = (samples(files, transform, ours) for ours in (True, False))
    with torch.device("meta"):
        batch = torch.stack(rows)
    assert difference(batch, torch.stack(theirs)) == "" and taken[-1]


def digest(rows: list[Any]) -> bytes:
    return hashlib.sha256(torch.stack(rows).numpy().tobytes()).digest()


def test_a_forked_child_makes_its_own_batch(files: list[Path]) -> None:
    transform = chain(last=True)
    torch.stack(samples(files, transform))
    rows, theirs = (samples(files, transform, ours) for ours in (True, False))
    said = answer_of_child(lambda: digest(rows))  # without torch's threads
    assert said == digest(theirs) == digest(rows)


def test_threads_stack_what_others_begin(files: list[Path]) -> None:
    """Numbers go to and fro between threads: nothing is where it is expected, and all is right."""
    transform = T.Compose([T.Resize((70, 71)), T.PILToTensor()])
    theirs = torch.stack(samples(files, transform, ours=False))

    def stacked(_: int) -> bool:
        return bool((torch.stack(samples(files, transform)) == theirs).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(stacked, range(40)))


class Own(Dataset[Any]):
    def __init__(self, files: list[Path], transform: Any) -> None:
        self.files, self.transform = files, transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return {"image": self.transform(Image.open(self.files[index]).convert("RGB")), "index": index}


def collate(rows: list[Any]) -> Any:
    return {"image": torch.stack([row["image"] for row in rows]), "index": [row["index"] for row in rows]}


@both_layouts
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loaders_epochs_with_a_collate_function(
    files: list[Path], last: bool, workers: int, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gofast._loader.stacking._LEAST_BYTES", 1)
    transform, epochs = chain(last), []
    for kind in (DataLoader, gofast.DataLoader):
        torch.manual_seed(3)
        loader = kind(Own(files, transform), 8, shuffle=True, num_workers=workers, collate_fn=collate)
        epochs.append([batch for _ in range(3) for batch in loader])  # which the user keeps
    assert difference(*epochs) == ""
    if not workers:
        assert taken == [False] + [True] * 8


@pytest.mark.parametrize("size", [8, N])
def test_a_loaders_places_have_the_strides_of_a_batch(
    files: list[Path], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the default collate function: what a dataset keeps has its own strides again."""
    monkeypatch.setattr("gofast._loader.stacking._LEAST_BYTES", 1)

    class Keeping(Own):
        def __getitem__(self, index: int) -> Any:
            image = super().__getitem__(index)["image"]
            if index == 5:
                kept.append(image)
            return image, index

    transform, epochs, all_kept = chain(last=True), [], []
    for kind in (DataLoader, gofast.DataLoader):
        kept: list[Any] = []
        torch.manual_seed(3)
        epochs.append(
            [batch for _ in range(3) for batch in kind(Keeping(files, transform), size, shuffle=True)]
        )
        all_kept.append(kept)
    assert {type(one) for one in all_kept[1]} == {LazySample}
    assert difference([one + 0 for one in all_kept[1]], [one + 0 for one in all_kept[0]]) == ""
    assert strides(all_kept[1]) == strides(all_kept[0])
    assert difference(*epochs) == ""

"""Samples that wait are begun on the engine's threads while Python goes on: nobody sees a difference."""

from __future__ import annotations

import functools
import gc
import itertools
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

import gofast
from forked import answer_of_child
from gofast._core import codecs, engine
from gofast._images import conversions, lazy_samples
from gofast._images.held_pictures import Held, Making
from gofast._images.lazy_samples import LazySample
from gofast._loader.sample_memory import SampleMemory
from image_data import noise_files
from same import difference

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning"),
]
N = 24
sides = itertools.count(40)  # each chain has a program of its own, and no other test's


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return noise_files(tmp_path_factory.mktemp("pictures"), [(90 + i, 120) for i in range(N)], quality=70)


def chain(side: int | None = None) -> T.Compose:
    side = side or next(sides)
    return T.Compose([T.RandomResizedCrop(side, (0.0801, 1)), T.RandomHorizontalFlip(), T.ToTensor()])


def samples(files: list[Path], transform: Any, ours: bool = True) -> list[Any]:
    """Each of another picture."""
    gofast.open(files[0])  # Compose looks from now on
    made = []
    for i, path in enumerate(files):
        torch.manual_seed(i)
        made.append(transform((gofast.open if ours else Image.open)(path).convert("RGB")))
    return made


def both(files: list[Path]) -> tuple[list[Any], list[Any]]:
    """Ours, and theirs."""
    transform = chain()
    return samples(files, transform), samples(files, transform, ours=False)


def begun(rows: list[Any]) -> int:
    return sum(one._pending.making is not None for one in rows)


def test_all_but_the_latest_are_begun(files: list[Path]) -> None:
    rows = samples(files, transform := chain())
    assert begun(rows) == N - N % 4 - 4 * (N % 4 == 0)
    assert {type(one) for one in rows} == {LazySample}
    assert difference([one + 0 for one in rows], samples(files, transform, ours=False)) == ""


def test_a_stack_has_their_values_and_not_their_memory(files: list[Path]) -> None:
    rows, theirs = both(files)
    assert begun(rows)
    batch = torch.stack(rows)
    assert difference(batch, torch.stack(theirs)) == ""
    batch.zero_()
    assert difference([one + 0 for one in rows], theirs) == ""


CHANGES: dict[str, Callable[[Any], Any]] = {
    "normalised": lambda x: F.normalize(x, [0.5] * 3, [0.2] * 3),
    "in place": lambda x: x.sub_(0.25).div_(2),
    "twice": lambda x: [x * 2, x - 1, x],
    "a box": lambda x: [x.__setitem__((slice(None), slice(3, 9), slice(2, 5)), 0.5), x],
    "written to": lambda x: [x.zero_(), x],
    "numpy": lambda x: x.numpy().copy(),
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_becomes_of_one_that_is_begun(files: list[Path], change: str) -> None:
    ours, theirs = both(files)
    assert begun(ours[:4]) == 4
    do = CHANGES[change]
    assert difference([do(x) for x in ours], [do(x) for x in theirs]) == ""
    assert difference([x + 0 for x in ours], [x + 0 for x in theirs]) == ""


def test_they_may_be_dropped_at_any_moment(files: list[Path]) -> None:
    transform = chain()
    for count in (5, 6, 11, 24) * 5:
        rows = samples(files[:count], transform)
        del rows[::2]
        gc.collect()
    assert difference([one + 0 for one in rows], samples(files, transform, ours=False)[1::2]) == ""


def test_the_work_ends_before_its_memory_goes() -> None:
    gone = list[str]()

    class Going:
        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            gone.append(self.name)

    made: Any = Making(Going("work"), [Going("place")], Going("program"))  # type: ignore[arg-type, list-item]
    del made
    assert gone[0] == "work" and sorted(gone) == ["place", "program", "work"]


def sums_of_a_child(rows: list[Any]) -> list[float]:
    """What a forked process makes of them."""
    found: list[float] = answer_of_child(lambda: [float(one.sum()) for one in rows])
    return found


def test_a_forked_child_makes_them_again(files: list[Path]) -> None:
    rows, theirs = both(files)
    assert begun(rows)
    said = sums_of_a_child(rows)
    assert said == [float(one.sum()) for one in theirs]
    assert said == [float(one.sum()) for one in rows]


def two_views(files: list[Path], transform: Any, ours: bool = True) -> list[Any]:
    """Both of a picture, one after the other."""
    rows = []
    for i, path in enumerate(files):
        image = (gofast.open if ours else Image.open)(path).convert("RGB")
        torch.manual_seed(i)
        rows += [transform(image), transform(image)]
    return rows


@pytest.fixture
def views(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any], Any]:
    """Samples whose pictures are being decoded, the same of Pillow's, and what makes them."""
    monkeypatch.setattr("gofast._lazy.source.counts.again", 0)
    transform = chain()
    samples(files[:1], transform)
    made = two_views(files, transform)
    helds = {one._pending.held for one in made if one._pending.held is not None}
    assert all(held._making or not held.whole for held in helds), "their decoding is begun"
    return made, two_views(files, transform, ours=False), transform


def test_views_are_begun_when_their_picture_is_there(files: list[Path], views: Any) -> None:
    rows, theirs, transform = views
    for one in rows:
        assert one._pending.held.end() and one._pending.held.size != [0, 0]
    more = samples(files[:5], transform)
    assert begun([*rows, *more]) >= len(rows)
    assert difference([one + 0 for one in rows], theirs) == ""


@pytest.mark.parametrize("kept", [slice(None, None, 2), slice(1, None, 2), slice(0, 0)])
def test_views_may_be_dropped_at_any_moment(views: Any, kept: slice) -> None:
    rows, theirs, _ = views
    Held.__new__(Held).__del__()  # as where Ctrl-C comes before all else
    before = Held.waiting
    helds = [weakref.ref(one._pending.held) for one in rows]
    rows[:] = rows[kept]
    assert difference([one + 0 for one in rows], theirs[kept]) == ""
    assert all(held() is None for held in helds) and Held.waiting < before


def test_a_forked_child_decodes_pictures_again(views: Any) -> None:
    rows, theirs, _ = views
    assert sums_of_a_child(rows) == [float(one.sum()) for one in theirs]
    assert [float(one.sum()) for one in rows] == [float(one.sum()) for one in theirs]


def test_threads_look_at_once(files: list[Path]) -> None:
    for _ in range(20):
        rows, theirs = both(files[:10])
        look = functools.partial(lambda rows: [float(one.sum()) for one in rows], rows)
        with ThreadPoolExecutor(4) as pool:
            found = [each.result() for each in [pool.submit(look) for _ in range(4)]]
        assert found == [[float(one.sum()) for one in theirs]] * 4


def test_none_is_begun_before_it_has_its_place(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread, which makes samples meanwhile, would begin it elsewhere."""
    transform, own = chain(), lazy_samples.in_place
    pool, meanwhile = ThreadPoolExecutor(1), list[Any]()

    def slow(*given: Any) -> torch.Tensor | None:
        monkeypatch.setattr(lazy_samples, "in_place", own)
        meanwhile.append(pool.submit(samples, files[1:9], transform))
        wait(meanwhile, 0.5)
        return own(*given)

    samples(files[:1], transform)
    monkeypatch.setattr(lazy_samples, "in_place", slow)
    (first,) = samples(files[:1], transform)
    rows = [first, *meanwhile[0].result()]
    pool.shutdown()
    theirs = [one for some in (files[:1], files[1:9]) for one in samples(some, transform, ours=False)]
    assert difference(torch.stack(rows), torch.stack(theirs)) == ""


def test_what_cannot_be_made_is_said_for_each(files: list[Path]) -> None:
    (row,) = samples(files[:1], chain())
    program = row._pending.program
    place = [torch.empty(row.shape) for _ in range(2)]
    making = program.begin([(b"no picture" + bytes(99), 0, 0, b"")] * 2, [row._pending.record] * 2, place)
    codes = [making.end(), making.end()]
    assert codes[0] == codes[1] != 0


def test_after_an_error_they_are_made_as_if_nobody_had_begun(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They had memory for a sample that is alone, which has other strides than a batch's rows."""
    transform = T.Compose([T.RandomResizedCrop(next(sides)), T.PILToTensor()])
    first = samples(files[:4], transform)
    with monkeypatch.context() as patch:
        patch.setattr(codecs.capsule(), "begin_samples", raising)
        with pytest.raises(MemoryError):
            samples(files[:1], transform)
    for _ in range(2):
        torch.stack(samples(files[:8], transform))
    rows = [first[0].clone(), *samples(files[1:8], transform)]
    theirs = [one for some in (files[:1], files[1:8]) for one in samples(some, transform, ours=False)]
    assert difference(torch.stack(rows), torch.stack(theirs)) == ""


def raising(*_: Any) -> None:
    raise MemoryError


def test_one_that_becomes_another_tensor(files: list[Path]) -> None:
    rows, theirs = both(files[:6])
    for each in (rows, theirs):
        alias, other = each[0].as_subclass(torch.Tensor), torch.arange(3.0)
        assert alias.set_(other) is alias
        each[1].set_(other.clone())
        each.append(alias)
    assert type(rows[1]) is torch.Tensor
    assert difference([one + 0 for one in rows], theirs) == ""


def test_what_becomes_of_an_image_with_a_weak_reference_is_not_lost(files: list[Path]) -> None:
    rows = samples(files[:2], v2.Compose([v2.Resize((next(sides), 30)), v2.ToImage()]))
    refs = [weakref.ref(one) for one in rows]
    rows[0].data = torch.full((*rows[0].shape[1:], 3), 7, dtype=torch.uint8).permute(2, 0, 1)
    assert (rows[0] == 7).all()
    with pytest.raises(RuntimeError, match="weak reference"):
        rows[1].unsqueeze_(0)
    assert all(ref() is one for ref, one in zip(refs, rows, strict=True))


def test_a_crew_that_takes_no_work(files: list[Path]) -> None:
    codecs.load()
    begin = codecs.capsule().begin_samples
    (row,) = samples(files[:1], chain())
    view = row._pending.program._core.address
    assert begin([], view, 0, 0, engine.crew(), 2) is None
    with pytest.raises(TypeError, match="picture"):
        begin([3], view, 0, 0, engine.crew(), 2)  # type: ignore[list-item]


class Own(Dataset[Any]):
    """Two pictures a row, of which it may keep one."""

    def __init__(self, files: list[Path], keep: bool) -> None:
        self.files, self.keep, self.kept = files, keep, list[Any]()
        self.first, self.second = chain(30), chain(31)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        other = Image.open(self.files[-index]).convert("RGB")
        row = self.first(image), self.second(other), index
        if self.keep and index % 5 == 0:
            self.kept.append(row[0])
        return row


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("size", [5, 12, N])
def test_epochs_are_torchs(files: list[Path], keep: bool, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gofast._loader.stacking._LEAST_BYTES", 1)
    placed, batch = list[bool](), SampleMemory.batch

    def noted(self: SampleMemory, rows: Any) -> Any:
        made = batch(self, rows)
        placed.append(made is not None)
        return made

    monkeypatch.setattr(SampleMemory, "batch", noted)
    epochs, kept = [], []
    for kind in (DataLoader, gofast.DataLoader):
        dataset = Own(files, keep)
        torch.manual_seed(3)
        loader = kind(dataset, size, shuffle=True, drop_last=True)
        made = []
        for _ in range(3):
            for images, others, labels in loader:
                made.append([images.clone(), others.clone(), labels])
                images.zero_()  # what the dataset keeps is its own
        epochs.append(made)
        kept.append([one + 0 for one in dataset.kept])
    assert difference(*epochs) == ""
    assert difference(*kept) == ""
    if not keep:
        assert len(placed) >= 4 and placed.count(False) <= 2, "no batch but the first is a copy"


def test_a_thread_that_looks_while_a_batch_is_made_in_place(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It made the sample elsewhere, and the batch had whatever lay at that place."""
    monkeypatch.setattr("gofast._loader.stacking._LEAST_BYTES", 1)
    batch, seen = SampleMemory.batch, list[Any]()

    def looked_at(self: SampleMemory, rows: Any) -> Any:
        made = batch(self, rows)
        if made is not None:
            seen.extend(pool.submit(torch.add, one, 0) for one in ours.kept[-5:])
            wait(seen[-5:], timeout=0.5)
        return made

    ours, theirs = (Own(files[:15], True) for _ in range(2))
    made = []
    with ThreadPoolExecutor(5) as pool:
        monkeypatch.setattr(SampleMemory, "batch", looked_at)
        for kind, dataset in ((gofast.DataLoader, ours), (DataLoader, theirs)):
            torch.manual_seed(3)
            made.append([*kind(dataset, 5)])
    assert seen
    assert difference(*made) == ""


def is_begun(row: Any) -> bool:
    """Whether it is made, or its picture decoded, which may have ended."""
    held = row._pending.held
    return row._pending.making is not None or held._making is not None or held.size != [0, 0]


@pytest.mark.parametrize("first", [v2.PILToTensor(), v2.ToImage()])
@pytest.mark.usefixtures("begun_at_once")
def test_of_batches_of_two_each_is_begun(first: Any, files: list[Path]) -> None:
    """Others than Compose's samples lie with their channels last, and are divided in place."""
    steps = v2.Compose([v2.RandomHorizontalFlip(), first, v2.ToDtype(torch.float32, True)])
    conversions._conversions.clear()
    made = list[Any]()
    for i in range(0, N, 2):
        torch.manual_seed(i)
        rows = [steps(gofast.open(path).convert("RGB"), {"a": 1})[0] for path in files[i : i + 2]]
        assert all(isinstance(row, LazySample) for row in rows)
        assert [is_begun(row) for row in rows] == [i > 0] * 2
        made += [row.data_ptr() and row for row in rows]
    theirs = list[Any]()
    for i in range(0, N, 2):
        torch.manual_seed(i)
        theirs += [steps(Image.open(path).convert("RGB"), {"a": 1})[0] for path in files[i : i + 2]]
    assert difference(made, theirs) == ""


def pairs(files: list[Path], seen: Callable[[Any], Any]) -> list[int]:
    """Looks at two pictures at a time, each of which is torchvision's; how many were begun."""
    found = []
    for some in zip(files[::2], files[1::2], strict=True):
        rows = [F.to_tensor(gofast.open(path).convert("RGB")) for path in some]
        found.append(begun(rows))
        theirs = [F.to_tensor(Image.open(path).convert("RGB")) for path in some]
        assert difference([seen(row) for row in rows], [seen(row) for row in theirs]) == ""
    return found


@pytest.mark.usefixtures("begun_at_once")
def test_what_became_something_else_once_begun_is_begun_later(files: list[Path]) -> None:
    conversions._conversions.clear()
    assert pairs(files[:6], lambda x: x + 0) == [0, 2, 2]
    assert pairs(files[:8], CHANGES["normalised"]) == [2, 1, 1, 1], "the first of two, as others are begun"
    assert pairs(files[:4], lambda x: x + 0) == [1, 1]


@pytest.mark.usefixtures("begun_at_once")
def test_an_error_while_one_is_begun_at_once(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    conversions._conversions.clear()
    pairs(files[:4], lambda x: x + 0)
    with monkeypatch.context() as patch:
        patch.setattr(codecs.capsule(), "begin_samples", raising)
        with pytest.raises(MemoryError):
            F.to_tensor(gofast.open(files[0]).convert("RGB"))
    assert pairs(files[:4], lambda x: x + 0) == [2, 2]


def test_a_look_at_one_that_is_begun_makes_the_others_meanwhile(files: list[Path]) -> None:
    conversions._conversions.clear()
    rows = [F.to_tensor(gofast.open(path).convert("RGB")) for path in files[:7]]
    assert begun(rows) == 4
    program = rows[0]._pending.program
    assert difference(rows[0] + 0, F.to_tensor(Image.open(files[0]).convert("RGB"))) == ""
    assert (program.alone, program.together) == (0, 7)
    assert all(row._pending.value is not None for row in rows[4:])
    assert difference(rows, [F.to_tensor(Image.open(path).convert("RGB")) for path in files[:7]]) == ""

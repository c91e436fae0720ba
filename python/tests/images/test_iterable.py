"""IterableDataset: samples, draws, order and errors are those of a torch IterableDataset over Pillow."""

from __future__ import annotations

import collections
import errno
import gc
import io
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from gofast import errors
from picture_files import contents, noise, saved
from same import difference

FILES = contents()
TRANSFORMS: list[Any] = [
    T.Compose([T.Resize(24), T.CenterCrop(20), T.ToTensor()]),
    T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor(), T.RandomErasing()]),
    T.Compose([T.RandomResizedCrop(16), T.Lambda(lambda x: x), T.RandomVerticalFlip(), T.ToTensor()]),
    T.Compose(
        [T.Resize((9, 7)), T.RandomChoice([T.RandomRotation(20), T.ColorJitter(0.4)]), T.PILToTensor()]
    ),
    v2.Compose([v2.ToImage(), v2.RandomCrop(12, pad_if_needed=True), v2.ToDtype(torch.float32, scale=True)]),
]
Point = collections.namedtuple("Point", "picture label")


class Source:
    """Rows of files, that draws by the way as the seed says, and splits them over workers."""

    def __init__(self, seed: int, count: int, fails: int | None = None) -> None:
        self.seed, self.count, self.fails = seed, count, fails

    def __iter__(self) -> Iterator[Any]:
        r, info = random.Random(self.seed), get_worker_info()
        for i in range(0 if info is None else info.id, self.count, 1 if info is None else info.num_workers):
            data, way = FILES[r.randrange(len(FILES))], r.randrange(6)
            if i == self.fails:
                raise ValueError("the source's own")
            if r.random() < 0.3:
                torch.rand(3)
            if r.random() < 0.3:
                random.random()
            picture: Any = data
            if way == 0:
                picture = Image.open(io.BytesIO(data)).convert("RGB")
            elif way == 1:
                picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
            elif way == 2:
                picture = memoryview(data)
            elif way == 3:
                picture = {"bytes": data, "path": None}
            yield picture, i


class Theirs(IterableDataset):  # type: ignore[type-arg]
    def __init__(self, source: Any, transform: Callable[[Any], Any]) -> None:
        self.source, self.transform = source, transform

    def __iter__(self) -> Iterator[Any]:
        for picture, *others in self.source:
            if isinstance(picture, dict):
                picture = picture["bytes"]
            if isinstance(picture, np.ndarray):
                picture = Image.fromarray(picture)
            elif not isinstance(picture, Image.Image):
                picture = Image.open(io.BytesIO(picture)).convert("RGB")
            yield self.transform(picture), *others


def given_out(loader: Any) -> tuple[list[Any], str, Any, Any]:
    """Batches, the error behind them, and the generators."""
    torch.manual_seed(5)
    random.seed(5)
    batches, said = [], ""
    iterator = iter(loader)
    while True:
        try:
            batches.append(next(iterator))
        except StopIteration:
            break
        except ValueError as error:
            said = str(error).splitlines()[-1]
            break
    return batches, said, torch.get_rng_state(), random.getstate()


def assert_same(made: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert difference(made[0], expected[0], strides=False) == ""
    assert made[1] == expected[1]
    assert torch.equal(made[2], expected[2]) and made[3] == expected[3]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1 << 30), st.sampled_from(TRANSFORMS), st.integers(0, 19), st.integers(1, 9), st.booleans()
)
def test_batches_and_draws_are_torchs(seed: int, transform: Any, count: int, batch: int, drops: bool) -> None:
    fails = seed % 30 if seed % 3 == 0 else None
    source = Source(seed, count, fails)
    expected = given_out(DataLoader(Theirs(source, transform), batch, drop_last=drops))
    if fails is not None and fails < count:
        assert expected[1] == "the source's own"
    ours = gofast.IterableDataset(source, transform)
    assert_same(given_out(gofast.DataLoader(ours, batch, drop_last=drops)), expected)
    assert_same(given_out(DataLoader(ours, batch, drop_last=drops)), expected)


@pytest.mark.parametrize("start", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers(start: str) -> None:
    options: Any = {"batch_size": 4, "num_workers": 2, "multiprocessing_context": start}
    source, transform = Source(3, 30), TRANSFORMS[1]
    expected = given_out(DataLoader(Theirs(source, transform), **options))
    ours = gofast.IterableDataset(source, transform)
    assert_same(given_out(gofast.DataLoader(ours, **options)), expected)
    assert ours._at_once == 1
    loader = gofast.DataLoader(ours, **options, persistent_workers=True)
    first, second = given_out(loader)[0], given_out(loader)[0]
    assert len(first) == len(second) == len(expected[0])


def test_a_source_may_use_memory_and_files_again(tmp_path: Path) -> None:
    data = [one for one in FILES if len(one) < 4000][:9]
    path = tmp_path / "picture"

    def rows(way: str) -> Iterator[Any]:
        memory = bytearray(4000)
        for one in data:
            memory[: len(one)] = one
            path.write_bytes(one)
            yield (
                memoryview(memory)[: len(one)] if way == "memory" else path if way == "path" else str(path)
            )
        path.unlink()

    for way in ("memory", "path", "name"):
        source = gofast.IterableDataset(lambda way=way: rows(way), TRANSFORMS[0])  # type: ignore[misc]
        made = list(gofast.DataLoader(source, 4))
        expected = DataLoader(Theirs([(one,) for one in data], TRANSFORMS[0]), 4)
        assert difference(made, [batch for (batch,) in expected], strides=False) == ""


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1 << 30))
def test_a_source_may_change_the_transform(seed: int) -> None:
    def rows(dataset: list[Any]) -> Iterator[Any]:
        r = random.Random(seed)
        for i in range(12):
            if r.random() < 0.3:
                dataset[0].transform = r.choice([TRANSFORMS[0], changing, TRANSFORMS[2]])
            if r.random() < 0.3:
                changing.transforms[0].p = r.random()
            if r.random() < 0.3:
                changing.transforms[3].mean = [r.random()] * 3
            yield r.choice(FILES), i

    sets = []
    for kind in (Theirs, gofast.IterableDataset):
        changing = T.Compose(
            [T.RandomHorizontalFlip(), T.Resize((20, 20)), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)]
        )
        dataset: list[Any] = []

        class Rows:
            def __iter__(self, dataset: list[Any] = dataset) -> Iterator[Any]:
                return rows(dataset)

        dataset.append(kind(Rows(), changing))
        loader: Any = DataLoader if kind is Theirs else gofast.DataLoader
        sets.append(given_out(loader(dataset[0], 5, collate_fn=list)))
    assert len(sets[0][0]) == 3
    assert_same(sets[1], sets[0])


def test_what_is_no_pictures_fault_ends_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(picture: Any) -> Any:
        raise KeyboardInterrupt

    rows = [(one, i) for i, one in enumerate(FILES[:6])]
    for transform in (T.Compose([T.Resize(8), interrupted]), interrupted):
        iterator = iter(gofast.DataLoader(gofast.IterableDataset(rows, transform), 2))
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        assert list(iterator) == []
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    iterator = iter(gofast.DataLoader(gofast.IterableDataset(rows, TRANSFORMS[0]), 2))
    with pytest.raises(Image.DecompressionBombError):
        next(iterator)
    assert list(iterator) == []


def test_rows_are_pulled_when_their_batch_is_asked_for() -> None:
    pulled: list[int] = []

    def endless() -> Iterator[Any]:
        while True:
            pulled.append(len(pulled))
            yield FILES[0], len(pulled)

    iterator = iter(gofast.DataLoader(gofast.IterableDataset(endless, TRANSFORMS[0]), 5))
    assert not pulled
    for batch in range(1, 4):
        assert next(iterator)[1].tolist() == list(range(5 * batch - 4, 5 * batch + 1))
        assert len(pulled) == 5 * batch
    mixed = [b"", FILES[0], Image.new("RGB", (30, 30)), b"", *FILES[1:9]]
    counting = (pulled.append(0) or (one, i) for i, one in enumerate(mixed))  # type: ignore[func-returns-value]
    pulled.clear()
    skipping = gofast.IterableDataset(counting, TRANSFORMS[1], on_error="skip")
    assert next(iter(gofast.DataLoader(skipping, 4)))[1].tolist() == [1, 2, 4, 5] and len(pulled) == 6
    alone = iter(gofast.IterableDataset(endless, TRANSFORMS[0]))
    next(alone)
    assert len(pulled) == 7


def test_a_generator_that_is_left_is_closed() -> None:
    ended: list[str] = []

    def rows() -> Iterator[Any]:
        try:
            while True:
                yield FILES[0], 1
        finally:
            ended.append("closed")

    iterator = iter(gofast.DataLoader(gofast.IterableDataset(rows, TRANSFORMS[0]), 2))
    next(iterator)
    del iterator
    gc.collect()
    assert ended == ["closed"]


@pytest.mark.parametrize(
    "transform", [TRANSFORMS[0], TRANSFORMS[1], TRANSFORMS[2]], ids=["still", "drawn", "rest"]
)
def test_a_bad_picture_comes_behind_the_rows_before_it(transform: Any) -> None:
    rows = [
        (FILES[0], 0),
        (FILES[1], 1),
        (b"no picture", 2),
        (FILES[2][:200], 3),
        (FILES[0], 4),
    ]
    made, loader = [], iter(gofast.IterableDataset(rows, transform))
    with pytest.raises(errors.BadImageError, match="row 2") as caught:
        made += loader
    assert caught.value.index == 2 and [label for _, label in made] == [0, 1]
    assert list(loader) == []
    with pytest.raises(errors.BadImageError, match="row 2"):
        next(iter(gofast.DataLoader(gofast.IterableDataset(rows, transform), 4)))
    skipping = gofast.IterableDataset(rows, transform, on_error="skip")
    for several in (DataLoader(skipping, 2), gofast.DataLoader(skipping, 2)):
        assert torch.cat([labels for _, labels in several]).tolist() == [0, 1, 4]


def test_an_error_of_the_transform_ends_the_rows() -> None:
    made: list[Any] = []
    transform = T.Compose([T.RandomCrop(30), T.ToTensor()])
    rows = [(noise("RGB", (40, 40)), 0), (noise("RGB", (20, 40)), 1), (noise("RGB", (40, 40)), 2)]
    rows += [(saved(picture, "PNG"), label) for picture, label in rows]
    for given_rows in (rows[:3], rows[3:]):
        iterator = iter(gofast.DataLoader(gofast.IterableDataset(given_rows, transform), 1))
        made.append(next(iterator))
        with pytest.raises(ValueError, match="larger"):
            next(iterator)
        assert list(iterator) == []


def test_forms_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.open(io.BytesIO(FILES[0])).convert("RGB").save(path)
    still = TRANSFORMS[0]
    expected = still(Image.open(path).convert("RGB"))
    rows: list[Any] = [
        [str(path), path, {"bytes": None, "path": str(path)}],
        [Point(path, 1)],
        [[path, 1]],
        [(FILES[0], 0), (str(path), 1), (FILES[1], 2)],
    ]
    for given_rows in rows:
        made = list(gofast.IterableDataset(given_rows, still))
        for one, row in zip(made, given_rows, strict=True):
            assert type(one) is (type(row) if isinstance(row, (tuple, list)) else torch.Tensor)
    assert difference(made[1][0], expected, strides=False) == ""
    named = [{"jpg": path, "cls": 3, "more": "x"}]
    assert next(iter(gofast.IterableDataset(named, still, fields=("jpg", "cls"))))[1] == 3
    assert next(iter(gofast.IterableDataset([(3, path)], still, fields=(1, 0))))[1] == 3
    whole = next(iter(gofast.IterableDataset([path])))
    assert torch.equal(whole, T.PILToTensor()(Image.open(path)))
    for wrong, said in ((named, "fields="), ([()], "row 0"), ([3], "row 0")):
        with pytest.raises(errors.OptionError, match=said):
            next(iter(gofast.IterableDataset(wrong, still)))
    with pytest.raises(errors.OptionError, match="row 0 has not"):
        next(iter(gofast.IterableDataset(named, still, fields=("jpg", "label"))))


@pytest.mark.parametrize("keeper", [None, "subclass", "wrapper"])
def test_pictures_are_made_where_their_batch_is_unless_somebody_keeps_one(
    keeper: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, stacked = list[torch.Tensor](), list[int]()

    class Subclass(gofast.IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            for picture, label in super().__iter__():
                kept.append(picture)
                yield picture, label

    class Wrapper(IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            for picture, label in plain:
                kept.append(picture)
                yield picture, label

    rows = [(saved(noise("RGB", (230 + i, 240)), "JPEG"), i) for i in range(20)]
    plain = gofast.IterableDataset(rows, T.Compose([T.CenterCrop(224), T.ToTensor()]))
    want = [picture.clone() for picture, _ in plain]
    kinds: dict[Any, Any] = {"subclass": Subclass(rows, plain.transform), "wrapper": Wrapper(), None: plain}
    stack = torch.stack
    monkeypatch.setattr(torch, "stack", lambda *a, **b: stacked.append(len(a[0])) or stack(*a, **b))
    at = 0
    for pictures, labels in gofast.DataLoader(kinds[keeper], batch_size=8):
        assert labels.tolist() == [*range(at, at + len(labels))]
        assert torch.equal(pictures, stack(want[at : at + len(labels)]))
        at += len(labels)
        pictures.fill_(7)
    assert at == 20
    assert all(map(torch.equal, kept, want)) and len(kept) == (20 if keeper else 0)
    assert stacked == ([8, 8, 4] if keeper else [])


def test_what_is_no_source_is_refused() -> None:
    for options in ({"source": 3}, {"source": [], "on_error": "zero"}, {"source": [], "fields": "jpg"}):
        with pytest.raises(errors.OptionError):
            gofast.IterableDataset(**options)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        len(gofast.IterableDataset(lambda: iter([])))
    assert gofast.IterableDataset(lambda: iter([]))
    assert len(gofast.IterableDataset([1, 2])) == 2
    again: Any = pickle.loads(pickle.dumps(gofast.IterableDataset(Source(1, 3), TRANSFORMS[0])))
    assert len(list(again)) == 3


def test_explain_says_where_pictures_are_made() -> None:
    lines = gofast.explain(gofast.DataLoader(gofast.IterableDataset([], TRANSFORMS[2]), 4)).lines
    assert ("rows", "Python", "your source, one after another") in lines and lines[-1][1] == "Go"
    assert any(name == "Lambda" and where == "Python" for name, where, _ in lines)


def test_a_path_of_no_file_is_a_bad_image(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.jpg")
    with pytest.raises(FileNotFoundError) as caught:
        list(gofast.IterableDataset([missing], T.ToTensor()))
    error = caught.value
    assert isinstance(error, errors.BadImageError) and error.index == 0 and error.path == missing
    assert str(error).count(missing) == 1 and error.errno == errno.ENOENT


@pytest.mark.parametrize("transform", TRANSFORMS[1:3])
@pytest.mark.parametrize("at", [0, 4, 5, 11])
@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"no picture", lambda _: b""]
)
def test_nothing_is_drawn_behind_a_picture_that_cannot_be_decoded(
    damage: Callable[[bytes], bytes], at: int, transform: Any
) -> None:
    """Nor for itself: the next epoch of this process, or of a worker, begins with the same states."""
    files = [saved(noise("RGB", (50, 40)), "JPEG") for _ in range(12)]
    broken = [*files[:at], damage(files[at]), *files[at + 1 :]]
    turns = iter([])

    def rows() -> Iterator[tuple[bytes, int]]:
        yield from ((data, 0) for data in next(turns, files))

    def met(make: Any, dataset: Any, **options: Any) -> list[Any]:
        nonlocal turns
        turns, seen = iter([broken]), list[Any]()
        torch.manual_seed(5)
        loader = make(dataset, 3, **options)
        for _ in range(2):
            try:
                for pictures, _labels in loader:
                    seen.append(pictures.tolist())
            except OSError:
                seen.append("bad")
        return [*seen, torch.rand(1).item()]

    class Rows(IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            return iter(rows())

    want = met(DataLoader, Theirs(Rows(), transform))
    assert want.count("bad") == 1
    for make in (DataLoader, gofast.DataLoader):
        assert met(make, gofast.IterableDataset(rows, transform)) == want
    workers = {"num_workers": 1, "persistent_workers": True, "multiprocessing_context": "fork"}
    want = met(DataLoader, Theirs(Rows(), transform), **workers)
    assert met(gofast.DataLoader, gofast.IterableDataset(rows, transform), **workers) == want

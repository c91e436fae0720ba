"""cache= of pictures: epochs that go on from what was kept are those without it, to the last bit."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset

torchvision = pytest.importorskip("torchvision")

from torchvision import datasets, transforms  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gofast  # noqa: E402
from gofast import errors  # noqa: E402
from image_data import photograph  # noqa: E402
from picture_chains import KINDS, certain, chain, write_pictures  # noqa: E402
from same import difference, outcome, seeded  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("quietly"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]

SETTLED = 2.2  # seconds, after which a file is taken for one that stays: kept.c
RESIZED = transforms.Compose([transforms.Resize((40, 48)), transforms.ToTensor()])
CROPPED = transforms.Compose(
    [
        transforms.Resize(50),
        transforms.RandomCrop(32, pad_if_needed=True),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
    ]
)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    write_pictures(root, 2 * len(KINDS), seed=8)
    time.sleep(SETTLED)
    return root


def kept(dataset: Any) -> Any:
    return dataset._here().kept


def used(dataset: Any) -> int:
    return int(kept(dataset).uses[0])


def seen(make: Any, seed: int) -> Any:
    """What it makes or raises, and how generators are then."""
    return outcome(seeded, seed, make)


@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.full)])
@pytest.mark.parametrize("place", ["memory", "folder"])
def test_random_transforms(pictures: Path, tmp_path: Path, place: str, times: int) -> None:
    where = "memory" if place == "memory" else str(tmp_path)
    theirs, plain = datasets.ImageFolder(pictures), gofast.ImageFolder(pictures)
    ours = gofast.ImageFolder(pictures, cache=where, cache_limit="1GB")
    uses = made = 0
    for k in range(15 * times):
        d = random.Random(k)
        m = d.choice((transforms, v2))
        last = chain(d, one_size=d.random() < 0.5, rest=d.random() < 0.2)
        transform = m.Compose([*certain(d, m), *last.transforms])
        theirs.transform = plain.transform = ours.transform = transform
        chosen = d.sample(range(len(plain)), 6)
        for epoch, i in itertools.product(range(3), chosen):
            want, got = seen(lambda i=i: plain[i], k + epoch), seen(lambda i=i: ours[i], k + epoch)
            differ = want[0] != got[0] if isinstance(want[0], type) else difference(got, want)
            assert not differ, f"{differ}: {transform}, picture {i}, epoch {epoch}"
            if epoch == 2 and not isinstance(want[0], type):
                made += 1
                beside = seen(lambda i=i: theirs[i], k + epoch)
                assert not difference(got[0], beside[0], strides=False), f"not torchvision's: {transform}"
        if kept(ours) is not None:
            uses += used(ours)
    assert made > 37 * times and uses > 62 * times


SLOW = [pytest.param(method, marks=pytest.mark.full) for method in ("spawn", "forkserver")]


@pytest.mark.parametrize("place", ["memory", "folder"])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
@pytest.mark.parametrize("workers", [0, "fork", *SLOW])
def test_loaders(pictures: Path, tmp_path: Path, workers: Any, loader: Any, place: str) -> None:
    transform = CROPPED if place == "memory" else RESIZED
    options: dict[str, Any] = {"batch_size": 16, "shuffle": True}
    if workers:
        options |= {"num_workers": 2}
    ours = gofast.ImageFolder(pictures, transform, cache="memory" if place == "memory" else tmp_path)
    theirs = datasets.ImageFolder(pictures, transform)

    def epochs(kind: Any, dataset: Any, **more: Any) -> Any:
        return [[(x.clone(), y.clone()) for x, y in kind(dataset, **options, **more)] for _ in range(2)]

    want = seeded(4, lambda: epochs(DataLoader, theirs))
    started = (
        {"multiprocessing_context": workers} if workers else {}
    )  # torch spends 4 s on each spawned worker
    got = seeded(4, lambda: epochs(loader, ours, **started))
    assert not difference(got[0], want[0]) and got[1] == want[1]
    assert used(ours) > len(ours) // 2  # in workers too: they share it


def _same(picture: Any) -> Any:
    return picture


@pytest.mark.parametrize("place", ["memory", "folder"])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("own", [None, 1, 2], ids=["native", "in the middle", "at the end"])
def test_stats_count_what_explain_tells(
    pictures: Path, tmp_path: Path, own: int | None, workers: int, place: str
) -> None:
    steps: list[Any] = [*RESIZED.transforms]
    if own is not None:
        steps.insert(own, _same)
    ours = gofast.ImageFolder(
        pictures,
        transforms.Compose(steps),
        cache="memory" if place == "memory" else tmp_path,
        cache_limit="1GB",
    )
    all_hits = all_writes = 0
    for dataset in (ours, Subset(ours, range(len(ours)))):
        loader = gofast.DataLoader(dataset, batch_size=16, num_workers=workers)
        for _ in range(2):
            before = kept(ours).uses
            assert len([*loader]) > 1
            hits, writes = (now - then for now, then in zip(kept(ours).uses, before, strict=True))
            said = loader.stats()["epoch"]
            assert (said["cache_hits"], said["cache_writes"]) == (hits, writes)
            all_hits, all_writes = all_hits + hits, all_writes + writes
    assert all_hits > len(ours) and all_writes > len(ours) // 2
    assert f"used {all_hits} times" in gofast.explain(ours)


def test_views(pictures: Path) -> None:
    both = [
        make(pictures, CROPPED, **more)
        for make, more in ((datasets.ImageFolder, {}), (gofast.ImageFolder, {"cache": "memory"}))
    ]

    def epochs(dataset: Any) -> Any:
        subset = Subset(dataset, [*range(0, len(dataset), 3), 5, 5, 2])
        return [
            [
                *(gofast.DataLoader if dataset is both[1] else DataLoader)(
                    ConcatDataset([subset, dataset]), 8, shuffle=True
                )
            ]
            for _ in range(2)
        ]

    want, got = (seeded(2, lambda dataset=dataset: epochs(dataset)) for dataset in both)
    assert not difference(got[0], want[0]) and got[1] == want[1] and used(both[1])


def test_copies_and_other_transforms(pictures: Path, tmp_path: Path) -> None:
    """Records are of steps: a copy of the dataset with another transform has its own."""
    ours = gofast.ImageFolder(pictures, RESIZED, cache="memory")
    other = copy.copy(ours)
    other.transform = transforms.Compose(
        [transforms.Resize((40, 48)), transforms.CenterCrop(20), transforms.ToTensor()]
    )
    for _ in range(2):
        for dataset in (ours, other):
            plain = gofast.ImageFolder(pictures, dataset.transform)
            assert all(not difference(dataset[i], plain[i]) for i in range(10))
    assert kept(ours) is not kept(other) and used(ours) and used(other)
    tail = copy.copy(ours)
    tail.transform = transforms.Compose(
        [transforms.Resize((40, 48)), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]
    )
    before = used(ours)
    tail[0]
    assert kept(tail) is kept(ours) and used(ours) == before + 1
    again = pickle.loads(pickle.dumps(ours))
    assert not difference(again[0], ours[0]) and used(again) == 0


def test_bytes_and_records_in_memory(pictures: Path, tmp_path: Path) -> None:
    files = sorted(pictures.rglob("*.jpg"))
    contents = [file.read_bytes() for file in files]
    ours = gofast.ImageFiles.from_bytes(contents, None, RESIZED, cache="memory")
    plain = gofast.ImageFiles.from_bytes(contents, None, RESIZED)
    for _ in range(2):
        assert not difference([*gofast.DataLoader(ours, 8)], [*gofast.DataLoader(plain, 8)])
    assert used(ours)
    with pytest.raises(errors.OptionError, match='is "memory"'):
        gofast.ImageFiles.from_bytes(contents, None, RESIZED, cache=tmp_path)


def test_a_folder_is_found_again(pictures: Path, tmp_path: Path) -> None:
    first = gofast.ImageFolder(pictures, CROPPED, cache=tmp_path)
    for _ in gofast.DataLoader(first, 16):
        pass
    files = int((kept(first)._records != 0).sum())
    beside = gofast.ImageFolder(pictures, CROPPED, cache=tmp_path)  # while the first one has its file locked
    del first
    again = gofast.ImageFolder(pictures, CROPPED, cache=str(tmp_path))
    for dataset in (beside, again):
        assert (kept(dataset)._records != 0).sum() == files > 40
        plain = gofast.ImageFolder(pictures, CROPPED)
        want, got = (
            seeded(1, lambda d=d: [*gofast.DataLoader(d, 16, shuffle=True)]) for d in (plain, dataset)
        )
        assert not difference(got, want) and used(dataset) == files
    other = gofast.ImageFolder(pictures, RESIZED, cache=tmp_path)
    assert not kept(other)._records.any() and "1 other set" in str(gofast.explain(other))


def test_files_that_change(tmp_path: Path) -> None:
    for i in range(8):
        photograph(i, 60, 50).save(_named(tmp_path, i))
    time.sleep(SETTLED)
    ours, theirs = (
        gofast.ImageFolder(tmp_path, CROPPED, cache="memory"),
        datasets.ImageFolder(tmp_path, CROPPED),
    )

    def alike(seed: int) -> None:
        want, got = (seeded(seed, lambda d=d: [*DataLoader(d, 3, shuffle=True)]) for d in (theirs, ours))
        assert not difference(got, want)

    alike(0)
    alike(1)
    assert used(ours) == 8
    photograph(90, 60, 50).save(tmp_path / "new.jpg")
    os.replace(tmp_path / "new.jpg", _named(tmp_path, 1))  # another file
    photograph(91, 60, 50).save(_named(tmp_path, 2))  # the same, written to
    photograph(92, 71, 33).save(_named(tmp_path, 3))  # of another size
    alike(2)
    alike(3)  # too new to be kept
    before = used(ours)
    assert before >= 8 + 2 * 5
    time.sleep(SETTLED)
    alike(4)
    alike(5)
    assert used(ours) == before + 5 + 8
    loader = iter(gofast.DataLoader(ours, 2))
    next(loader)
    photograph(93, 60, 50).save(_named(tmp_path, 7))
    last = [*loader][-1][0][1]
    torch.manual_seed(0)
    assert last.shape == (3, 32, 32)
    os.unlink(_named(tmp_path, 5))
    with pytest.raises(FileNotFoundError):
        ours[5]


def _named(root: Path, i: int) -> Path:
    (root / "class").mkdir(exist_ok=True)
    return root / "class" / f"{i}.jpg"


def test_bad_pictures(tmp_path: Path) -> None:
    for i in range(6):
        photograph(i, 60, 50).save(_named(tmp_path, i))
    _named(tmp_path, 2).write_bytes(_named(tmp_path, 2).read_bytes()[:700])
    time.sleep(SETTLED)
    for on_error in ("replace", "zero"):
        plain = gofast.ImageFolder(tmp_path, RESIZED, on_error=on_error)
        ours = gofast.ImageFolder(tmp_path, RESIZED, on_error=on_error, cache="memory")
        for _ in range(3):
            assert not difference([*gofast.DataLoader(ours, 3)], [*gofast.DataLoader(plain, 3)])
        assert used(ours) == 10 and "5 of 6 pictures kept" in str(gofast.explain(ours))
        assert [*ours.bad_samples()] == [*plain.bad_samples()]


def test_limit(pictures: Path, tmp_path: Path) -> None:
    plain = gofast.ImageFolder(pictures, RESIZED)
    for place in ("memory", tmp_path):
        big = transforms.Compose([transforms.Resize((200, 200)), transforms.ToTensor()])
        ours, plain.transform = gofast.ImageFolder(pictures, big, cache=place, cache_limit="1MiB"), big
        for _ in range(3):
            assert not difference([*gofast.DataLoader(ours, 8)], [*gofast.DataLoader(plain, 8)])
        count = int((kept(ours)._records != 0).sum())
        assert count == 8 and used(ours) == 16  # what is in stays
    assert sum(f.stat().st_size for f in tmp_path.rglob("*.records")) <= 1 << 20


@pytest.mark.parametrize("place", ["memory", "folder"])
def test_coefficients(tmp_path: Path, place: str) -> None:
    """Before a random crop, a baseline JPEG is kept as its coefficients, and any other picture as pixels."""
    root, count = tmp_path / "set", 12
    (root / "class").mkdir(parents=True)
    for i in range(count):
        picture = photograph(i, 300 + 7 * i, 280 - 3 * i)
        picture.convert("L" if i == 3 else "RGB").save(
            root / "class" / f"{i:02}.jpg", quality=90, subsampling=i % 3, progressive=i == 5
        )
    time.sleep(SETTLED)
    where = "memory" if place == "memory" else tmp_path / "kept"
    train = transforms.Compose(
        [transforms.RandomResizedCrop(64), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    )
    ours, theirs = gofast.ImageFolder(root, train, cache=where), datasets.ImageFolder(root, train)
    for dataset in (ours, gofast.ImageFolder(root, train, cache=where)):
        for workers in (0, 2):
            for epoch in range(3):
                made = [
                    seeded(epoch, lambda d=d, w=workers: [*DataLoader(d, 4, shuffle=True, num_workers=w)])
                    for d in (dataset, theirs)
                ]
                assert not difference(*made)
    records = np.asarray(kept(ours)._records)
    assert (records != 0).all() and used(ours) > 3 * count
    whole = sum(path.stat().st_size for path in root.rglob("*.jpg"))
    assert int(kept(ours)._numbers[0]) < 2 * whole + 3 * 300 * 280  # one is progressive: pixels


def test_nothing_to_keep(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = transforms.Compose([transforms.Lambda(lambda picture: picture), transforms.ToTensor()])
    monkeypatch.setattr("gofast._core.warn._said", set())
    with pytest.warns(errors.GofastWarning, match="does not begin natively"):
        ours = gofast.ImageFolder(pictures, own, cache=tmp_path)
    assert "keeps nothing" in str(gofast.explain(ours)) and not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "wrong",
    [
        {"cache_limit": 5},
        {"cache": "memory", "cache_limit": "5 kB"},
        {"cache": "memory", "cache_limit": "much"},
        {"cache": "memory", "cache_limit": 2**63},
        {"cache": ""},
        {"cache": "a\0b"},
    ],
)
def test_wrong_options(pictures: Path, wrong: Any) -> None:
    with pytest.raises(errors.OptionError):
        gofast.ImageFolder(pictures, RESIZED, **wrong)

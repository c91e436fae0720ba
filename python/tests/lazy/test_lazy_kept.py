"""cache= of lazy images: what a Compose makes of them is that without it, to the last bit."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.transforms import v2

import fresh
import gofast
from gofast import errors
from gofast._core.units import many
from gofast._images import path_cache
from gofast._lazy.open_lazy import by_pillow
from image_data import photograph
from picture_chains import KINDS, certain, chain, write_pictures
from same import difference, outcome, seeded

pytestmark = pytest.mark.usefixtures("quietly", "one_thread")

SETTLED = 2.2  # seconds, after which a file is taken for one that stays: kept.c
SMALL = transforms.Compose([transforms.Resize((20, 24)), transforms.ToTensor()])
DRAWN = transforms.Compose(
    [transforms.Resize(30), transforms.RandomCrop(20, pad_if_needed=True), transforms.ToTensor()]
)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("pictures") / "class"
    root.mkdir()
    write_pictures(root, 2 * len(KINDS), seed=3)
    time.sleep(SETTLED)
    return sorted(str(path) for path in root.rglob("*.*"))


@pytest.fixture(params=["memory", "folder"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Where lazy images are kept meanwhile."""
    place = "memory" if request.param == "memory" else tmp_path / "kept"
    with gofast.install(cache=place, cache_limit="100MB"):
        yield place


def numbers() -> tuple[int, int]:
    """How many records were written, and how often any was used."""
    assert path_cache.current is not None
    return int(path_cache.current.kept._numbers[2]), int(path_cache.current.kept._numbers[3])


def by_path(path: str) -> Any:
    return PIL.Image.open(path).convert("RGB")


def by_file(path: str) -> Any:
    """As torchvision's pil_loader."""
    with open(path, "rb") as file:
        return PIL.Image.open(file).convert("RGB")


def seen(make: Any, seed: int) -> Any:
    """What it makes or raises, and how generators are then."""
    return outcome(seeded, seed, make)


def made_of(transform: Any, opened: Any, path: str) -> Any:
    return transform(opened(path))


@pytest.mark.daily(1)
def test_random_transforms(pictures: list[str], kept: Any) -> None:
    made = 0
    before = numbers()
    for k in range(40):
        d = random.Random(k)
        m = d.choice((transforms, v2))
        last = chain(d, one_size=d.random() < 0.8, rest=d.random() < 0.2)
        transform, opened = m.Compose([*certain(d, m), *last.transforms]), d.choice((by_path, by_file))
        plain = m.Compose(transform.transforms)
        for path in d.sample(pictures, 5):
            for epoch in range(3):
                got = seen(partial(made_of, transform, opened, path), epoch)
                current, path_cache.current = path_cache.current, None
                want = seen(partial(made_of, plain, opened, path), epoch)
                path_cache.current = current
                assert not difference(got, want), f"{transform}, {path}, epoch {epoch}"
                made += not isinstance(want[0], type)
    assert made > 300
    written, used = (now - then for now, then in zip(numbers(), before, strict=True))
    assert 60 < written < used


class Own(torch.utils.data.Dataset[Any]):
    """A Dataset that opens its pictures itself."""

    def __init__(self, paths: list[str], transform: Any) -> None:
        self.paths, self.transform = paths, transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return self.transform(by_path(self.paths[index])), index


@pytest.mark.parametrize("workers", [0, 2])
def test_epochs(pictures: list[str], kept: Any, workers: int) -> None:
    """Forked workers, new ones each epoch, share what is kept."""

    def epochs(transform: Any) -> Any:
        loader = DataLoader(Own(pictures, transform), 7, shuffle=True, num_workers=workers)
        return [[(x.clone(), y.clone()) for x, y in loader] for _ in range(3)]

    want = seeded(5, lambda: epochs(DRAWN.__call__))  # of which nobody sees that it is a Compose's, nor keeps
    start = numbers()[1]
    got = seeded(5, lambda: epochs(transforms.Compose(DRAWN.transforms)))
    assert not difference(got, want)
    assert numbers()[1] - start >= 2 * len(pictures) // 2


def test_explain_says_what_is_kept(pictures: list[str], tmp_path: Path) -> None:
    dataset = Own(pictures[:3], transforms.Compose(SMALL.transforms))
    with gofast.install(cache=tmp_path / "kept"):
        for _ in range(2):
            for i in range(3):
                dataset[i]
        assert numbers()[0] > 0
        written, used = (many(numbers()[0], "lazy image"), numbers()[1])
        for what in (dataset, DataLoader(dataset)):
            line = next(line for line in gofast.explain(what).lines if line[0] == "  cache")
            assert line[1] == "C" and f"{written} written" in line[2] and f"used {used} times" in line[2]
    assert "cache" not in gofast.explain(dataset)


def test_later_processes_find_a_folder(pictures: list[str], tmp_path: Path) -> None:
    want = [SMALL(by_path(path)) for path in pictures]
    for run in range(3):
        with gofast.install(cache=tmp_path / "kept"):
            assert not difference([SMALL(by_path(path)) for path in pictures], want)
            written, used = numbers()
            assert (written > 20, used > 20) == (run == 0, run > 0)
    (found,) = gofast_sets(tmp_path / "kept")
    assert found.is_lazy and found.fits() == {"fit": written_in(found), "changed": 0, "gone": 0}
    gofast.verify(tmp_path / "kept")


def gofast_sets(folder: Path) -> list[Any]:
    from gofast._images.cache_sets import set_at, sets_in

    return [set_at(path) for path in sets_in(folder)]


def written_in(found: Any) -> int:
    return sum(os.path.getsize(index) // 16 for _, index in found.files)


def test_two_transforms_keep_their_own(pictures: list[str], kept: Any) -> None:
    other = transforms.Compose([transforms.Resize((24, 20)), transforms.ToTensor()])
    for _ in range(2):
        for path in pictures[:6]:
            image = by_path(path)
            assert SMALL(image).shape == (3, 20, 24) and other(by_path(path)).shape == (3, 24, 20)
            assert not difference(other(image), other(by_path(path)))  # of one that was used before


def test_a_file_that_changes(tmp_path: Path, kept: Any) -> None:
    path = str(tmp_path / "picture.png")
    photograph(1, 40, 50).save(path)
    photograph(2, 40, 50).save(tmp_path / "other.png")
    time.sleep(SETTLED)
    first, used = SMALL(by_path(path)), numbers()[1]
    assert not difference(SMALL(by_path(path)), first) and numbers()[1] == used + 1
    image = PIL.Image.open(path)
    with open(path, "rb") as file:
        theirs = by_pillow(file)
        shutil.copy(tmp_path / "other.png", path)
        outcomes = []
        for each in (theirs, image):
            with pytest.raises(OSError) as caught:
                SMALL(each.convert("RGB"))
            outcomes.append((type(caught.value), str(caught.value)))
    assert outcomes[0] == outcomes[1]
    image = PIL.Image.open(path)
    os.utime(path, (1, 1))
    want = SMALL(image.convert("RGB"))
    assert not difference(want, SMALL(by_path(str(tmp_path / "other.png"))))
    assert not difference(SMALL(by_path(path)), want) and difference(want, first)
    shutil.copy(tmp_path / "other.png", path)
    image = PIL.Image.open(path).convert("RGB")  # which has read it
    os.unlink(path)
    assert not difference(SMALL(image), want)


def test_a_damaged_file(tmp_path: Path, kept: Any) -> None:
    path = tmp_path / "picture.jpg"
    photograph(1, 200, 150).save(path)
    path.write_bytes(path.read_bytes()[:-2000])
    time.sleep(SETTLED)
    for opened in (by_path, by_file):
        for _ in range(2):
            with pytest.raises(OSError, match="truncated"):
                SMALL(opened(str(path)))
    assert numbers() == (0, 0)


def test_names_that_share_a_place(pictures: list[str], kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record says whose it is."""
    want = [SMALL(by_path(path)) for path in pictures]
    start = numbers()[1]
    assert path_cache.current is not None
    monkeypatch.setattr(path_cache.current, "place", lambda name: 7)
    for _ in range(2):
        assert not difference([SMALL(by_path(path)) for path in pictures], want)
    assert not difference([SMALL(by_path(pictures[0])) for _ in range(3)], [want[0]] * 3)
    assert numbers()[1] > start


def test_datasets_of_torchvisions(pictures: list[str], kept: Any) -> None:
    root = Path(pictures[0]).parents[1]

    class Derived(datasets.ImageFolder):
        pass

    for kind in (datasets.ImageFolder, Derived):
        for shuffle in (False, True):
            dataset = kind(root, DRAWN)
            loader = DataLoader(dataset, 8, shuffle=shuffle)
            got = seeded(3, lambda: [[x.clone() for x, _ in loader] for _ in range(2)])  # noqa: B023
            assert not any(line[1] == "Python" for line in loader_lines(loader))
            plain = DataLoader(Own(dataset_paths(dataset), DRAWN.__call__), 8, shuffle=shuffle)
            want = seeded(3, lambda: [[x.clone() for x, _ in plain] for _ in range(2)])  # noqa: B023
            assert not difference(got, want)
            assert "pictures kept, of at most" in str(gofast.explain(loader))


def dataset_paths(dataset: Any) -> list[str]:
    return [path for path, _ in dataset.samples]


def loader_lines(loader: Any) -> list[Any]:
    from gofast._loader import explain

    return [line for line in explain._loader(loader) if line[0] == "loader"]


SCRIPT = """
import sys
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

class Own(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.transform = T.Compose([T.Resize((20, 24)), T.ToTensor()])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.transform(Image.open(self.paths[i]).convert("RGB"))

if __name__ == "__main__":
    start, *paths = sys.argv[1:]
    loader = DataLoader(Own(paths), 4, num_workers=2, multiprocessing_context=start)
    print(sum(float(batch.sum()) for batch in loader))
"""


# Spawned: eight workers import torch, one behind the other.
SPAWN = pytest.param("spawn", marks=[pytest.mark.full, pytest.mark.timeout(600)])


@pytest.mark.parametrize("start", ["fork", SPAWN])
def test_a_script(pictures: list[str], tmp_path: Path, start: str) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)

    def run(*options: str) -> tuple[str, str]:
        arguments = [*options, "train.py", start, *pictures[:20]]
        if start == "fork":
            done = fresh.run(arguments, cwd=tmp_path, check=True)
        else:  # spawned workers look for a program that was started as such
            command = [sys.executable, *arguments]
            env = {**os.environ, "PYTHONPATH": str(Path(gofast.__file__).parents[1])}
            done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    want, _ = run()
    for k in range(2):
        got, said = run("-m", "gofast", "--cache", "kept", "--cache-limit", "50MB")
        assert got == want
        (found,) = gofast_sets(tmp_path / "kept")
        kept = found.fits()["fit"]
        assert 10 < kept <= 20
        # What spawned workers do, they count themselves.
        assert start == "spawn" or f"kept': {(kept, 0)[k]} lazy images written" in said
        assert start == "spawn" or f"used {(0, kept)[k]} times" in said
    if start == "spawn":
        got, said = run("-m", "gofast", "--cache", "memory")
        assert got == want


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(errors.OptionError, match="cache_limit"):
        gofast.install(cache_limit="1GB")
    with pytest.raises(errors.OptionError, match="bytes"):
        gofast.install(cache="memory", cache_limit="much")
    assert path_cache.current is None and PIL.Image.open.__module__ == "PIL.Image"
    done = fresh.run(["-m", "gofast", "--cache", "memory", "--cache-limit", "3", "-c", "pass"])
    assert done.returncode == 2 and "cache_limit" in done.stderr and "Traceback" not in done.stderr


def test_threads(pictures: list[str], kept: Any) -> None:
    """One of them goes by a record at a time, and the others without."""
    want = {path: SMALL(by_path(path)) for path in pictures}
    transform = transforms.Compose(SMALL.transforms)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            order = random.sample(pictures, len(pictures))
            got = pool.map(lambda path: transform(by_path(path)), order)
            assert not difference([*got], [want[path] for path in order])
    assert numbers()[1] > 50

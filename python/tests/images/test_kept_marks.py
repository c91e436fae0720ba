"""Marks of JPEGs in the user's cache: the first epoch of a later run enters files by them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

import fresh
from gofast._core import marks
from image_data import photograph
from same import difference

CROP = [T.RandomCrop(100), T.ToTensor()]
COUNT = 8
SEEDED = Lock()  # the test's own generator
RUN = """
import os, signal, sys, torch, gofast
from torch.utils.data import DataLoader
from torchvision import transforms as T
from gofast._core import marks
marks._LEAST = 1000
root, made, loader, workers, epochs = sys.argv[1:]
Loader = {"ours": gofast.DataLoader, "torch's": DataLoader}[loader]
if __name__ == "__main__":
    torch.manual_seed(1)
    train = T.Compose([T.RandomCrop(100), T.ToTensor()])
    if os.path.isdir(root):
        dataset = gofast.ImageFolder(root, train)
    else:
        dataset = gofast.ImageFiles(open(root).read().split(), transform=train)
    batches = [list(Loader(dataset, 4, shuffle=True, num_workers=int(workers))) for _ in range(int(epochs))]
    torch.save([[batch[0] for batch in epoch] for epoch in batches], made)
    print(gofast.engine_stats()["marked"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "class").mkdir(parents=True)
    for i in range(COUNT):
        photograph(i, 500 + i, 400).save(tmp_path / "data" / "class" / f"{i:02}.jpg", quality=85)
    return tmp_path / "data"


def theirs(folder: Path, epochs: int = 1) -> Any:
    torch.manual_seed(1)
    dataset = datasets.ImageFolder(folder, T.Compose(CROP))
    return [[b[0] for b in DataLoader(dataset, 4, shuffle=True)] for _ in range(epochs)]


def run(folder: Path, what: str = "ours", workers: int = 0, epochs: int = 1, **env: str) -> int:
    """How many pictures had marks, in a process of its own whose batches are torchvision's."""
    cache, made = str(folder.parent / "cache"), folder.parent / f"made{os.urandom(4).hex()}"
    said = fresh.run(
        ["-c", RUN, folder, made, what, workers, epochs],
        env={**os.environ, "XDG_CACHE_HOME": cache, **env},
        check=True,
    )
    if folder.is_dir() and not workers:
        with SEEDED:
            assert not difference(torch.load(made), theirs(folder, epochs))
    return int(said.stdout)


def kept(folder: Path) -> list[Path]:
    """The files with marks."""
    found = (folder.parent / "cache" / "gofast" / "marks").glob("*")
    return [path for path in found if path.name != "key"]


def test_the_first_epoch_of_the_next_run(folder: Path) -> None:
    assert run(folder) == 0
    [file] = kept(folder)
    assert 1000 < file.stat().st_size < sum(path.stat().st_size for path in folder.rglob("*.jpg")) / 100
    assert run(folder) == COUNT
    assert run(folder, epochs=3) == 3 * COUNT
    was = kept(folder)[0].stat()
    run(folder)
    assert os.path.samestat(was, kept(folder)[0].stat()), "written again, and nothing is new"


def test_of_torchs_loader_and_its_workers(folder: Path) -> None:
    run(folder, "torch's", 2)
    assert kept(folder)
    assert run(folder) == COUNT


def test_a_list_of_files(folder: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text("\n".join(map(str, sorted(folder.rglob("*.jpg")))))
    assert (run(listed), run(listed)) == (0, COUNT)


def test_a_file_that_was_replaced_has_none(folder: Path) -> None:
    """With the same name, size and times."""
    run(folder)
    first, *_ = sorted(folder.rglob("*.jpg"))
    was = first.stat()
    photograph(99, 500, 400).save(first, quality=20)
    first.write_bytes(first.read_bytes().ljust(was.st_size, b"\0"))
    os.utime(first, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert run(folder) == COUNT - 1


@pytest.mark.daily(1)
@pytest.mark.parametrize("how", ["flipped", "folder"])
def test_what_is_damaged_is_not_used(folder: Path, how: str) -> None:
    run(folder)
    [file] = kept(folder)
    good = file.read_bytes()
    file.unlink()
    if how == "folder":
        file.mkdir()
    else:
        middle = len(good) // 2
        file.write_bytes(good[:middle] + bytes([good[middle] ^ 4]) + good[middle + 1 :])
    assert run(folder) == 0
    assert run(folder) == (0 if how == "folder" else COUNT)  # kept anew


def test_two_processes_at_once(folder: Path) -> None:
    """Each keeps what it has, and whoever comes second both."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: run(folder, epochs=2), range(2)))
    assert run(folder) == COUNT
    assert not [path for path in kept(folder) if path.suffix == ".part"]


def test_nothing_is_kept(folder: Path) -> None:
    run(folder, GOFAST_MARKS="0")
    assert not kept(folder)
    run(folder)
    assert run(folder, GOFAST_MARKS="0") == 0
    assert run(folder, XDG_CACHE_HOME="/dev/null/none") == 0


def test_few_marks_are_not_worth_a_file(folder: Path) -> None:
    cache = folder.parent / "cache"
    code = RUN.replace("marks._LEAST = 1000", "")
    command = ["-c", code, folder, folder.parent / "made", "ours", 0, 1]
    fresh.run(command, env={**os.environ, "XDG_CACHE_HOME": str(cache)}, check=True)
    assert not kept(folder)


def test_a_killed_process_has_kept_whole_epochs(folder: Path) -> None:
    code = RUN.replace("print(", "import time; time.sleep(0.5); os.kill(os.getpid(), signal.SIGKILL); print(")
    command = ["-c", code, folder, folder.parent / "made", "ours", 0, 1]
    fresh.run(command, env={**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")})
    assert run(folder) == COUNT


@pytest.mark.parametrize("cache", ["relative", "~", os.fsdecode(b"caf\xe9")])
def test_a_cache_that_is_no_place(folder: Path, monkeypatch: pytest.MonkeyPatch, cache: str) -> None:
    """There is no home, or its name is no text: nothing is kept, and nothing is made where the process is."""
    where = str(folder.parent / cache) if "caf" in cache else ""
    home = {} if where else {"HOME": cache}
    monkeypatch.chdir(folder.parent)
    assert run(folder, XDG_CACHE_HOME=where, **home) == 0
    assert run(folder, XDG_CACHE_HOME=where, **home) == 0
    assert not os.path.exists(cache) or where


def test_nothing_is_saved_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer may end an epoch when Python is about to unmap the memory."""
    saved: list[bool] = []
    monkeypatch.setattr(marks.process_operations, "save_marks", lambda asked: saved.append(asked["wait"]))
    ours = marks.Marks()
    ours._datasets, ours._pid = {"path": {"path": "path", "number": 2, "files": 1, "least": 1}}, os.getpid()
    ours.save()
    ours.save(wait=True)
    ours.save()
    assert saved == [False, True]

"""The files of cache= on bad days: damage, kills, full disks, many processes. Pictures stay right."""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision import transforms

import fresh
import gofast
from gofast import errors
from gofast._core import atomic_files
from image_data import photograph
from same import difference, seeded

pytestmark = pytest.mark.usefixtures("one_thread")

SETTLED = 2.2  # seconds, after which a file is taken for one that stays: kept.c
SMALL = transforms.Compose(
    [transforms.Resize((20, 24)), transforms.RandomHorizontalFlip(0.0), transforms.ToTensor()]
)
LARGE = transforms.Compose([transforms.Resize((400, 400)), transforms.ToTensor()])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    (root / "class").mkdir()
    for i in range(12):
        photograph(i, 40 + i, 50).save(root / "class" / f"{i:02}.jpg")
    time.sleep(SETTLED)
    return root


def made(dataset: Any) -> list[torch.Tensor]:
    return [dataset[i][0] for i in range(len(dataset))]


def opened(root: Path, cache: Path, transform: Any = SMALL) -> gofast.ImageFolder:
    gc.collect()  # what was dropped no longer has its file locked
    return gofast.ImageFolder(root, transform, cache=cache)


def numbers(dataset: Any) -> Any:
    """How many records there are, and how often any was used."""
    kept = dataset._here().kept
    return int((kept._records != 0).sum()), int(kept._numbers[3])


def filled(root: Path, cache: Path, transform: Any = SMALL) -> list[torch.Tensor]:
    """What a new dataset makes, and keeps."""
    pictures = made(opened(root, cache, transform))
    assert numbers(opened(root, cache, transform)) == (12, 0)
    return pictures


def one(cache: Path, what: str) -> Path:
    (found,) = cache.rglob(f"*.{what}")
    return found


@pytest.mark.parametrize("what", ["records", "index"])
@pytest.mark.parametrize("how", ["flipped", "cut", "zeros"])
def test_damage(root: Path, tmp_path: Path, what: str, how: str) -> None:
    """The file has small records, so that a flip is in a header as often as in pixels."""
    want = filled(root, tmp_path)
    file = one(tmp_path, what)
    good, both = file.read_bytes(), {p: p.read_bytes() for p in file.parent.iterdir()}
    dice, uses = random.Random(how), 0
    for k in range(60):
        for path, content in both.items():
            path.write_bytes(content)
        at = dice.randrange(80) if k % 3 == 0 else dice.randrange(len(good))
        bad = bytearray(good)
        if how == "flipped":
            bad[at] ^= 1 << dice.randrange(8)
        elif how == "cut":
            del bad[at:]
        else:
            bad[at : at + 300] = bytes(len(bad[at : at + 300]))
        file.write_bytes(bad)
        dataset = opened(root, tmp_path)
        assert not difference(made(dataset), want), f"byte {at}"
        uses += numbers(dataset)[1]
        assert not difference(made(dataset), want) and numbers(dataset)[0] == 12, f"byte {at}"
    assert uses > 60  # of 720: what is whole is used
    shutil.rmtree(tmp_path)


def test_a_foreign_file(root: Path, tmp_path: Path) -> None:
    """Records of other steps under this name: nothing of them is used, and they stay."""
    want = filled(root, tmp_path / "a")
    filled(
        root,
        tmp_path / "b",
        transforms.Compose([transforms.Resize((20, 24)), transforms.CenterCrop(20), *SMALL.transforms[1:]]),
    )
    mine, foreign = one(tmp_path / "a", "records"), one(tmp_path / "b", "records")
    for what in ("records", "index"):
        shutil.copy(one(tmp_path / "b", what), one(tmp_path / "a", what))
    dataset = opened(root, tmp_path / "a")
    assert not difference(made(dataset), want) and not difference(made(dataset), want)
    assert mine.read_bytes() == foreign.read_bytes() and numbers(dataset) == (12, 12)


@pytest.mark.parametrize("harm", ["unlink", "truncate", "overwrite", "folder"])
def test_harm_while_in_use(root: Path, tmp_path: Path, harm: str) -> None:
    want = filled(root, tmp_path)
    dataset = opened(root, tmp_path)
    assert not difference(made(dataset)[:4], want[:4])
    for file in tmp_path.rglob("0*"):
        if harm == "unlink":
            file.unlink()
        elif harm == "truncate":
            os.truncate(file, 100)
        elif harm == "overwrite":
            file.write_bytes(os.urandom(file.stat().st_size))
    if harm == "folder":
        shutil.rmtree(tmp_path)
    for _ in range(2):
        assert not difference(made(dataset), want)
    loader = gofast.DataLoader(dataset, 3)
    assert not difference([x for batch, _ in loader for x in batch.clone()], want)


def test_full_disk(root: Path, tmp_path: Path) -> None:
    want = made(gofast.ImageFolder(root, LARGE))
    dataset = opened(root, tmp_path, LARGE)
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, was[1]))
    try:
        assert not difference(made(dataset), want)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
    with pytest.warns(errors.GofastWarning, match="nothing more is written: File too large"):
        got = [x for batch, _ in gofast.DataLoader(dataset, 5) for x in batch.clone()]
    assert not difference(got, want)
    assert [x for _ in gofast.DataLoader(dataset, 5) for x in ()] == []  # said once
    assert numbers(dataset)[0] == 2 and "File too large" in str(gofast.explain(dataset))
    assert not difference(made(opened(root, tmp_path, LARGE)), want)


def test_no_folder_can_be_made(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.warns(errors.GofastWarning, match="Not a directory"):
        dataset = opened(root, tmp_path / "file")
    assert not difference(made(dataset), made(gofast.ImageFolder(root, SMALL)))


def child(work: Callable[[], None]) -> int:
    """A forked child that ends with 0 if that does not raise."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        print(repr(error), flush=True)
    finally:
        os._exit(code)


def test_ten_processes(root: Path, tmp_path: Path) -> None:
    want = made(gofast.ImageFolder(root, SMALL))

    def work() -> None:
        dataset = opened(root, tmp_path)
        order = random.Random(os.getpid()).sample(range(12), 12)
        for _ in range(3):
            assert not difference([dataset[i][0] for i in order], [want[i] for i in order])
        dataset._native_view()  # what others have written
        assert numbers(dataset)[0] == 12

    for _ in range(2):
        children = [child(work) for _ in range(10)]
        assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 10
    dataset = opened(root, tmp_path)
    assert numbers(dataset)[0] == 12 and not difference(made(dataset), want)


@pytest.mark.parametrize("dies", ["with the lock", "at any moment"])
def test_one_scan_for_eight_processes(root: Path, tmp_path: Path, dies: str) -> None:
    """Others wait for the one that scans; when it is killed, one of them scans."""
    index, scans = tmp_path / "index", tmp_path / "scans"

    def work() -> None:
        dataset = gofast.ImageFolder(root, SMALL, index=index)
        assert len(dataset) == 12 and dataset[11][0].shape == (3, 20, 24)
        if not dataset._listing.files._schema["reused"]:
            with open(scans, "a") as file:
                file.write("x")

    def hold() -> None:
        part = atomic_files.locked(f"{index}.part")
        os.write(part, b"half of an index")
        time.sleep(60)

    for delay in [0.5] if dies == "with the lock" else [0.02, 0.1]:
        index.unlink(missing_ok=True)
        scans.write_text("")
        victim = child(hold if dies == "with the lock" else work)
        while dies == "with the lock" and not Path(f"{index}.part").exists():
            time.sleep(0.01)
        others = [child(work) for _ in range(8)]
        time.sleep(delay)
        assert dies != "with the lock" or not index.exists(), "nobody waited"
        os.kill(victim, signal.SIGKILL)
        assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in others] == [0] * 8
        killed = os.WIFSIGNALED(os.waitpid(victim, 0)[1])
        assert scans.read_text() == "x" or (killed and scans.read_text() == "")  # it may die behind its scan
        assert [path.name for path in tmp_path.glob("index*")] == ["index"]


def kills(root: Path, cache: Path, count: int) -> None:
    want = made(gofast.ImageFolder(root, LARGE))
    dice, kept = random.Random(count), []
    for k in range(count):
        dataset = opened(root, cache, LARGE)
        pid = child(lambda dataset=dataset: [dataset[i] for i in range(12)])  # type: ignore[misc]
        time.sleep(dice.uniform(0.0, 0.04))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        del dataset
        again = opened(root, cache, LARGE)
        kept.append(numbers(again)[0])
        assert not difference(made(again), want), f"kill {k}"
        assert not difference(made(again), want) and numbers(again)[0] == 12, f"kill {k}"
        shutil.rmtree(cache)
    assert len(set(kept)) > 3, kept  # at different moments


def test_kills(root: Path, tmp_path: Path) -> None:
    kills(root, tmp_path / "cache", 20)


@pytest.mark.soak
def test_a_thousand_kills(root: Path, tmp_path: Path) -> None:
    kills(root, tmp_path / "cache", 1000)


def test_a_full_cache_makes_no_more_records(root: Path) -> None:
    """What does not fit is decoded in the ordinary way, and no record of it is tried again."""
    crop = transforms.Compose([transforms.RandomCrop(20, pad_if_needed=True), transforms.ToTensor()])
    ours = gofast.ImageFolder(root, crop, cache="memory", cache_limit=1 << 20)
    plain = gofast.ImageFolder(root, crop)
    kept = ours._here().kept
    assert kept is not None
    kept._limit = 4096
    ours._work = None  # its program knows the limit
    for epoch in range(3):
        assert not difference(
            *(seeded(epoch, lambda d=d: d.__getitems__([*range(len(d))])) for d in (ours, plain))
        )
    assert kept._numbers[4] >> 32 == 1


@pytest.mark.parametrize("place", ["memory", "folder"])
def test_a_bomb_is_still_refused(root: Path, tmp_path: Path, place: str, monkeypatch: Any) -> None:
    where = "memory" if place == "memory" else tmp_path
    ours = gofast.ImageFolder(root, SMALL, cache=where)
    want = ours[0][0]
    assert torch.equal(ours[0][0], want)
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 10)
    with pytest.raises(Exception, match="decompression bomb"):
        gofast.ImageFolder(root, SMALL)[0]
    ours.transform = transforms.Compose([*SMALL.transforms])
    for dataset in (ours, gofast.ImageFolder(root, SMALL, cache=where)):
        if place == "folder" or dataset is ours:
            with pytest.raises(Exception, match="decompression bomb"):
                dataset[0]


@pytest.mark.parametrize("place", ["memory", "folder"])
def test_descriptors_that_became_others(root: Path, tmp_path: Path, place: str) -> None:
    """A daemon closes all descriptors, and opens files of its own: nothing is written into those."""
    where = "memory" if place == "memory" else str(tmp_path / "kept")
    code = f"""
import os, sys
sys.path[:0] = {sys.path!r}
import gofast
from torchvision import transforms
train = transforms.Compose([transforms.Resize((40, 48)), transforms.ToTensor()])
ds = gofast.ImageFolder({str(root)!r}, train, cache={where!r})
ds[0]
if (pid := os.fork()) == 0:
    os.closerange(3, 300)
    for i in range(100):
        os.write(os.open(f"{tmp_path}/own{{i}}", os.O_RDWR | os.O_CREAT), b"mine")
    for i in range(len(ds)):
        try:
            ds[i]
        except Exception:
            pass
    del ds
    os._exit(0)
os.waitpid(pid, 0)
"""
    fresh.run(["-c", code], check=True)
    assert {path.read_bytes() for path in tmp_path.glob("own*")} == {b"mine"}


def test_files_that_are_none_leak_nothing(root: Path, tmp_path: Path) -> None:
    ours = gofast.ImageFolder(root, SMALL, cache=tmp_path)
    ours[0]
    folder = next(path for path in tmp_path.iterdir() if path.is_dir())
    os.mkfifo(folder / "001.records")
    (folder / "002.records").mkdir()
    gc.collect()  # or what other tests left is closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        ours._here().kept.refresh()  # type: ignore[union-attr]
    assert len(os.listdir("/proc/self/fd")) <= before

"""Sets of cache= in a folder: they outlive changes of their pictures, tell what they are, and verify."""

from __future__ import annotations

import gc
import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

import gofast
from gofast import errors
from gofast._command import main
from gofast._images.cache_sets import set_at, sets_in
from image_data import photograph
from same import difference

pytestmark = pytest.mark.usefixtures("one_thread")

SETTLED = 2.2  # seconds, after which a file is taken for one that stays: kept.c
SMALL = transforms.Compose([transforms.Resize((20, 24)), transforms.ToTensor()])


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    for i in range(16):
        photograph(i, 40 + i, 50).save(root / f"{i:02}.jpg")
    time.sleep(SETTLED)
    return root


def linked(root: Path, photos: Path, names: dict[str, int]) -> Path:
    """A folder of links to these photographs: a link's stamp is its file's, which has settled."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "class").mkdir(parents=True)
    for name, number in names.items():
        (root / "class" / f"{name}.jpg").symlink_to(photos / f"{number:02}.jpg")
    return root


def epoch(dataset: Any) -> tuple[Any, dict[str, Any]]:
    loader = gofast.DataLoader(dataset, 5)
    return [*loader], loader.stats()


def filled(root: Path, cache: Path, transform: Any = SMALL) -> tuple[Any, dict[str, Any]]:
    """What a new dataset's epoch gives and counts."""
    gc.collect()  # what was dropped no longer has its file locked
    return epoch(gofast.ImageFolder(root, transform, cache=cache))


def command(capsys: pytest.CaptureFixture[str], *line: str | Path) -> tuple[int, Any]:
    status = main.main([*map(str, line), "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("place", ["memory", "folder"])
def test_stats(photos: Path, tmp_path: Path, place: str, workers: int) -> None:
    root = linked(tmp_path / "set", photos, {str(i): i for i in range(12)})
    where = "memory" if place == "memory" else tmp_path / "cache"
    loader = gofast.DataLoader(gofast.ImageFolder(root, SMALL, cache=where), 5, num_workers=workers)
    for hits, writes in ((0, 12), (12, 0), (12, 0)):
        assert len([*loader]) == 3
        said = loader.stats()["epoch"]
        assert (said["cache_hits"], said["cache_writes"]) == (hits, writes)
    said = loader.stats()
    assert (said["cache_hits"], said["cache_writes"]) == (24, 12)
    plain = gofast.DataLoader(gofast.ImageFolder(root, SMALL), 5)
    assert len([*plain]) == 3 and plain.stats()["cache_hits"] == plain.stats()["cache_writes"] == 0


def test_a_folder_that_changes_keeps_its_set(photos: Path, tmp_path: Path) -> None:
    """Pictures come, go and are replaced at random: those that stayed are used, and the others are made."""
    dice, cache, names = random.Random(3), tmp_path / "cache", dict[str, int]()
    known: set[tuple[str, int]] = set()
    reused = 0
    for _ in range(16):
        for name in dice.sample(sorted(names), min(len(names), 2)):
            del names[name]
        for _ in range(dice.randint(2, 5)):
            names[f"{dice.randrange(20):02}"] = dice.randrange(16)
        root = linked(tmp_path / "set", photos, names)
        got, said = filled(root, cache)
        want, _ = epoch(gofast.ImageFolder(root, SMALL))
        assert not difference(got, want)
        theirs = datasets.ImageFolder(root, SMALL)
        rows = [row for batch, _ in got for row in batch.clone()]
        assert not difference(rows, [theirs[i][0] for i in range(len(theirs))])
        stayed = sum(pair in known for pair in names.items())
        # Of a name that was another file before, the last record counts.
        known = {pair for pair in known if names.get(pair[0], pair[1]) == pair[1]} | {*names.items()}
        assert (said["cache_hits"], said["cache_writes"]) == (stayed, len(names) - stayed)
        reused += stayed
    assert reused > 20 and len(sets_in(cache)) == 1


def test_a_path_twice_is_kept_once_for_all_runs(photos: Path, tmp_path: Path) -> None:
    files = [photos / f"{i:02}.jpg" for i in (3, 5, 3, 3, 7)]
    sizes = set()
    for run in range(4):
        gc.collect()
        got, said = epoch(gofast.ImageFiles(files, transform=SMALL, cache=tmp_path))
        assert not difference(got, epoch(gofast.ImageFiles(files, transform=SMALL))[0])
        assert said["cache_hits"] == (5 if run else 0)
        sizes.add(sum(path.stat().st_size for path in tmp_path.rglob("*.records")))
    assert len(sizes) == 1


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_that_are_not_forked_find_records(method: str, photos: Path, tmp_path: Path) -> None:
    """They have the names at other addresses."""
    root = linked(tmp_path / "set", photos, {str(i): i for i in range(12)})
    want, _ = epoch(gofast.ImageFolder(root, SMALL))
    filled(root, tmp_path / "cache")
    dataset = gofast.ImageFolder(root, SMALL, cache=tmp_path / "cache")
    loader = DataLoader(dataset, 5, num_workers=1, multiprocessing_context=method)
    assert not difference([*loader], want)
    assert int(dataset._here().kept._numbers[3]) == 12  # type: ignore[union-attr]
    first = next(sets.glob("000.index") for sets in (tmp_path / "cache").iterdir())
    entries = np.fromfile(next(first), np.uint64).reshape(-1, 2)
    assert len(entries) == len({*entries[:, 0].tolist()}) == 12  # nothing was written again


def test_verify(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = tmp_path / "cache"
    filled(linked(tmp_path / "set", photos, {str(i): i for i in range(12)}), cache)
    (folder,) = sets_in(cache)
    records = Path(folder, "000.records")
    offsets = sorted(np.fromfile(Path(folder, "000.index"), np.uint64)[1::2].tolist())
    good = records.read_bytes()
    gofast.verify(cache)
    for line in (["verify", cache], ["cache", "verify", cache], ["verify", folder]):
        status, said = command(capsys, *line)
        assert status == 0 and said["records"] == 1 and said["damaged"] == []
    size, dice = offsets[1] - offsets[0], random.Random(0)
    used = 72 + 16 + len("P6\n24 20\n255\n") + 3 * 20 * 24
    for _ in range(60):
        hit = sorted(dice.sample(range(12), dice.randint(1, 3)))
        bad = bytearray(good)
        for number in hit:
            bad[offsets[number] + dice.randrange(used)] ^= 1 << dice.randrange(8)
        records.write_bytes(bad)
        status, said = command(capsys, "verify", cache)
        (one,) = said["damaged"]
        assert status == 1 and one["path"] == str(records) and one["kind"] == "Damaged"
        assert f"offset {offsets[hit[0]]}" in one["reason"] and f"{len(hit)} of 12 records" in one["reason"]
    with pytest.raises(errors.DamagedError, match=f"offset {offsets[hit[0]]}"):
        gofast.verify(cache)
    records.write_bytes(good[: offsets[-1] + size // 2])
    assert "1 of 12 records" in command(capsys, "verify", cache)[1]["damaged"][0]["reason"]
    records.write_bytes(good)
    with open(Path(folder, "000.index"), "ab") as f:
        f.write(bytes(16) + b"half")  # of writers that were killed
    gofast.verify(cache)


def test_info(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    root, cache = tmp_path / "set", tmp_path / "cache"
    filled(linked(root, photos, {str(i): i for i in range(9)}), cache)
    linked(root, photos, {"0": 0, "1": 1, "2": 5, "3": 6, "4": 4})
    status, said = command(capsys, "cache", "info", tmp_path)
    (told,) = said["sets"]
    assert status == 0 and told["pictures"] == {"fit": 3, "changed": 2, "gone": 4}
    assert told["root"] == f"{root}/" and [step["op"] for step in told["steps"]] == ["resize"]
    assert told["differs"] == [] and said["files"][0]["bytes"] > 9 * 3 * 20 * 24
    monkeypatch.setattr("gofast._images.cache_option.VERSION", 77)
    assert command(capsys, "cache", "info", cache)[1]["sets"][0]["differs"] == ["format"]
    assert main.main(["cache", "info", str(cache)]) == 0
    said = capsys.readouterr().out
    assert "9 pictures" in said and "no: it was made with another format" in said and "resize(" in said


def test_who_loads_libraries_first_decides_nothing() -> None:
    """Pillow's own import finds libjpeg by another path."""
    code = "from gofast._images.cache_option import made_by; print(made_by())"
    first = [sys.executable, "-c", f"import PIL.Image, PIL.JpegImagePlugin; PIL.Image.core; {code}"]
    made = [subprocess.check_output(line, text=True) for line in (first, [sys.executable, "-c", code])]
    assert made[0] == made[1] and "libjpeg" in made[0]


def test_info_of_damaged_files(photos: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    filled(linked(tmp_path / "set", photos, {str(i): i for i in range(9)}), cache)
    (folder,) = sets_in(cache)
    files = {path: path.read_bytes() for path in Path(folder).glob("000.*")}
    dice, most = random.Random(2), 0
    for _ in range(200):
        for path, good in files.items():
            bad = bytearray(good)
            for _ in range(dice.randrange(4)):
                bad[dice.randrange(len(bad))] = dice.randrange(256)
            path.write_bytes(bad[: dice.choice((len(bad), dice.randrange(len(bad) + 1)))])
        if found := set_at(folder):
            most = max(most, sum(found.fits().values()))
    assert most == 9


def test_clear_removes_what_is_ours_alone(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    root, cache = linked(tmp_path / "set", photos, {str(i): i for i in range(5)}), tmp_path / "cache"
    filled(root, cache)
    filled(root, cache, transforms.Compose([transforms.CenterCrop(20), transforms.ToTensor()]))
    mine, foreign = (Path(path) for path in sets_in(cache))
    for path in (mine / "notes.txt", mine / "007.records", cache / "own.txt"):
        path.write_text("own")
    shutil.copytree(foreign, cache / "pixels-of-mine")
    (cache / "pixels-linked").symlink_to(photos)
    before = {path for path in cache.rglob("*") if path.is_file()}
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    for answer in ([], ["--yes"]):
        status = main.main(["cache", "clear", str(cache), *answer])
        said = capsys.readouterr()
        assert status == 1
        if not answer:
            assert "remove 2 caches of pictures?" in said.err
            assert {path for path in cache.rglob("*") if path.is_file()} == before
    assert str(mine) in said.err and str(foreign) in said.out and not foreign.exists()
    left = {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()}
    of_mine = {str(path.relative_to(cache)) for path in (cache / "pixels-of-mine").iterdir()}
    assert left == {f"{mine.name}/notes.txt", f"{mine.name}/007.records", "own.txt", *of_mine}
    assert len([*photos.iterdir()]) == 16


def test_what_is_no_set(tmp_path: Path, photos: Path) -> None:
    filled(linked(tmp_path / "set", photos, {"a": 1}), tmp_path / "cache")
    (folder,) = map(Path, sets_in(tmp_path / "cache"))
    said = (folder / "made-for.json").read_text()
    dice = random.Random(1)
    for _ in range(30):
        bad = bytearray(said.encode())
        bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
        (folder / "made-for.json").write_bytes(bad)
        assert set_at(str(folder)) is None
    (folder / "made-for.json").unlink()
    os.mkfifo(folder / "made-for.json")
    assert set_at(str(folder)) is None and sets_in(tmp_path / "none") == []

"""A table's cache from Python: what package gofast/table/cache wrote is what is read here."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gofast
from forged import forged
from gofast import errors
from gofast._tables import array_folder
from gofast._tables import cache as cache_files

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of 3 rows with an integer, a float and a text label, written by Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is needed to write a cache from its own tests")
    folder = tmp_path_factory.mktemp("cache")
    subprocess.run(
        [go, "test", "-count=1", "-run", "^TestExport$", "./gofast/table/cache"],
        cwd=ROOT,
        env={**os.environ, "GOFAST_TEST_CACHE_OUT": str(folder)},
        check=True,
    )
    return folder / "t.cache"


@pytest.fixture
def own(cache: Path, tmp_path: Path) -> Path:
    """A copy, to be harmed."""
    return Path(shutil.copytree(cache, tmp_path / "own"))


def test_layout_and_values(cache: Path) -> None:
    table = cache_files.open_cache(str(cache), "f")
    assert table is not None
    layout, memory = table.memory.layout, table.memory
    assert (layout.rows, layout.width, layout.type, layout.shape) == (3, 4, "int16", (2, 2))
    assert layout.features == ("a", "b", "ü", "d")
    assert layout.labels == ("i", "f", "t")
    assert layout.label_kinds == ("int", "float", "text")
    assert layout.classes == ("cat", "größe", "犬")
    assert memory.features.tobytes() == bytes(range(1, 25))
    assert memory.labels.tobytes() == bytes(range(1, 73))
    assert layout.features_offset % 64 == layout.labels_offset % 64 == 0
    gofast.verify(cache)
    for name, array in (("features", memory.features), ("labels", memory.labels)):
        assert np.array_equal(np.load(cache / f"{name}.npy", mmap_mode="r"), array)
    said = array_folder.read(str(cache))
    assert [one.header for one in said.arrays] == [
        (cache / f"{one.name}.npy").read_bytes()[: len(one.header)] for one in said.arrays
    ]


def test_stale_and_foreign(cache: Path, tmp_path: Path) -> None:
    assert cache_files.open_cache(str(cache), "g") is None
    assert cache_files.open_cache(str(tmp_path / "none"), "f") is None
    assert cache_files.open_cache(str(cache / "features.npy"), "f") is None
    assert cache_files.open_cache(str(tmp_path), "f") is None
    for content in (b"", b"\n", b"PK\x06\x06" * 100, b"{}\n" * 100):
        for whole in (content, content + array_folder.seal(content)):
            (tmp_path / array_folder.WHOLE).write_bytes(whole)
            assert cache_files.open_cache(str(tmp_path), "f") is None
            assert cache_files.open_cache(str(tmp_path), None) is None
    (tmp_path / "loop").symlink_to("loop")
    assert cache_files.open_cache(str(tmp_path / "loop"), "f") is None
    (tmp_path / array_folder.WHOLE).unlink()
    os.mkfifo(tmp_path / array_folder.WHOLE)
    assert cache_files.open_cache(str(tmp_path), "f") is None


def test_damaged_description(own: Path) -> None:
    path = own / array_folder.WHOLE
    good = path.read_bytes()
    gc.collect()  # or what other tests left is closed meanwhile
    opened = len(os.listdir("/proc/self/fd"))
    for at in range(len(good)):
        for harmed in (good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :], good[:at]):
            path.write_bytes(harmed)
            assert cache_files.open_cache(str(own), "f") is None, at
            with pytest.raises(errors.DamagedError):
                array_folder.read(str(own))
    path.write_bytes(good + b"\0")
    assert cache_files.open_cache(str(own), "f") is None
    assert len(os.listdir("/proc/self/fd")) <= opened


ODD: list[Any] = [None, -1, 0, 1, 1 << 62, 1.5, True, "", "../x", [], [1], [1 << 40], {}, "set", "float64"]


def test_forged_description(own: Path) -> None:
    path, d = own / array_folder.WHOLE, random.Random(3)
    first, *lines = path.read_bytes().split(b"\n")
    told: Any = json.loads(first)
    for _ in range(1000):
        odd = forged(told, d, ODD)
        body = b"\n".join([json.dumps(odd).encode(), *lines[:-2], b""])
        path.write_bytes(body + array_folder.seal(body))
        try:
            table = cache_files.open_cache(str(own), None)
        except errors.FormatError:
            assert odd["kind"] != "table"
            continue
        if table is not None:
            assert len(table.memory.features.tobytes()) <= 24 and len(table.memory.labels.tobytes()) <= 72


def test_a_cache_that_is_made_anew_while_it_is_opened(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = array_folder.open_regular

    def replaced(path: str) -> Any:
        if path.endswith("labels.npy"):
            content = (own / array_folder.WHOLE).read_bytes()
            (own / array_folder.WHOLE).unlink()
            (own / array_folder.WHOLE).write_bytes(content)
        return opened(path)

    monkeypatch.setattr(array_folder, "open_regular", replaced)
    assert cache_files.open_cache(str(own), "f") is None


def test_fingerprint(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    content = bytes(200_000)
    first.write_bytes(content)
    second.write_bytes(b"b")
    paths = [str(first), str(second)]
    seen = {cache_files.fingerprint(paths, {"label": ["x"]})}
    assert seen == {cache_files.fingerprint(paths, {"label": ["x"]})}
    times = os.stat(first)

    def changed(paths: list[str], options: dict[str, object]) -> None:
        now = cache_files.fingerprint(paths, options)
        assert now not in seen
        seen.add(now)

    changed(paths, {"label": ["y"]})
    changed(paths[::-1], {"label": ["x"]})
    changed(paths[:1], {"label": ["x"]})
    for at in (0, 65_535, 199_999, 199_999 - 65_535):
        first.write_bytes(content[:at] + b"x" + content[at + 1 :])
        os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))
        changed(paths, {"label": ["x"]})
    with pytest.raises(errors.NotFoundError):
        cache_files.fingerprint([str(tmp_path / "none")], {})
    with pytest.raises(errors.ReadError):
        cache_files.fingerprint([str(tmp_path)], {})

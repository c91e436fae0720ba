"""The cache file from Python: what package gofast/table/cache wrote is what is read here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gofast
from gofast import TableDataset, errors
from gofast._core.memory import MappedMemory
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
    return folder / "t.npz"


def test_layout_and_values(cache: Path) -> None:
    table = cache_files.open_cache(str(cache), "f")
    assert table is not None
    layout = table.layout
    assert (layout.rows, layout.width, layout.type, layout.shape) == (3, 4, "int16", (2, 2))
    assert layout.features == ("a", "b", "ü", "d")
    assert layout.labels == ("i", "f", "t")
    assert layout.label_kinds == ("int", "float", "text")
    assert layout.classes == ("cat", "größe", "犬")
    memory = MappedMemory(table.fd, layout)
    assert memory.features.tobytes() == bytes(range(1, 25))
    assert memory.labels.tobytes() == bytes(range(1, 73))
    assert layout.features_offset % 4096 == 0
    assert layout.labels_offset % 64 == 0


def test_numpy_reads_it(cache: Path) -> None:
    with np.load(cache) as arrays:
        assert arrays["features"].dtype == np.int16
        assert arrays["features"].shape == (3, 4)
        assert arrays["features"].tobytes() == bytes(range(1, 25))
        assert arrays["labels"].shape == (3, 3)
        assert arrays["classes_2"].tolist() == ["cat", "größe", "犬"]
        assert arrays["gofast"].tobytes().startswith(b'{"format":1,')


def test_stale_and_foreign(cache: Path, tmp_path: Path) -> None:
    assert cache_files.open_cache(str(cache), "g") is None
    assert cache_files.open_cache(str(tmp_path / "none"), "f") is None
    assert cache_files.open_cache(str(cache / "below"), "f") is None
    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, features=np.arange(5))
    assert cache_files.open_cache(str(foreign), "f") is None
    for size in (0, 1, 97, 5000):
        foreign.write_bytes(b"PK\x06\x06" * (size // 4 + 1))
        assert cache_files.open_cache(str(foreign), "f") is None
    assert cache_files.open_cache(str(tmp_path), "f") is None
    os.mkfifo(tmp_path / "pipe")
    assert cache_files.open_cache(str(tmp_path / "pipe"), "f") is None


def test_damaged_header(cache: Path, tmp_path: Path) -> None:
    good = cache.read_bytes()
    start = good.rindex(b'{"format":1,')
    end = good.index(b'"}', good.index(b'"sha256"', start)) + 2
    damaged = tmp_path / "damaged.npz"
    opened = len(os.listdir("/proc/self/fd"))
    for at in range(start, end):
        damaged.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert cache_files.open_cache(str(damaged), "f") is None, at
    for cut in (1, 22, len(good) - end, len(good) - start, len(good) - 4096):
        damaged.write_bytes(good[:-cut])
        assert cache_files.open_cache(str(damaged), "f") is None, cut
    damaged.write_bytes(good + b"\0")
    assert cache_files.open_cache(str(damaged), "f") is None
    assert len(os.listdir("/proc/self/fd")) == opened


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


def test_fingerprint_sees_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    hashes = set()
    for at in (None, 0, 65_535, 150_000, 199_999):
        content = bytearray(200_000)
        if at is not None:
            content[at] = 1
        path.write_bytes(content)
        hashes.add(cache_files._source(str(path))[-1])
    assert len(hashes) == 5


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    rows = [f"{i % 200},{i % 7},{'cat' if i % 3 else 'dog'}" for i in range(1000)]
    path.write_text("a,b,animal\n" + "\n".join(rows) + "\n")
    return path


def features(ds: TableDataset) -> torch.Tensor:
    return torch.stack([ds[i]["features"] for i in range(len(ds))])


def test_second_open_is_the_same_table(source: Path, tmp_path: Path) -> None:
    plain = TableDataset(source, label="animal")
    for _ in range(2):
        cached = TableDataset(source, label="animal", cache=tmp_path / "c.npz")
        assert torch.equal(features(cached), features(plain))
        assert torch.equal(cached.targets, plain.targets)
        assert cached.classes == plain.classes == ["cat", "dog"]
    gofast.verify(tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as arrays:
        assert arrays["features"].dtype == np.uint8
        assert arrays["features"][999].tolist() == [199, 5]
        assert arrays["classes"].tolist() == ["cat", "dog"]


def test_what_shapes_the_table_rebuilds_it(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "c.npz"

    def built(**options: Any) -> tuple[int, int]:
        TableDataset(source, cache=cache, **options)
        gofast.verify(cache)
        return cache.stat().st_ino, cache.stat().st_mtime_ns

    first = built(label="animal")
    assert built(label="animal", mean=0.5, std=2.0, keys=("x", "y")) == first, (
        "shapes the batch, not the table"
    )
    second = built(label="animal", columns=["b"])
    assert second != first
    assert built(label="animal", columns=["b", "a"]) != second
    swapped: dict[str, Any] = {"label": "animal", "columns": ["b", "a"], "cache": cache, "scale": None}
    assert TableDataset(source, **swapped)[8]["features"].tolist() == [1, 8]
    source.write_text(source.read_text().replace("\n8,", "\n9,", 1))
    assert TableDataset(source, **swapped)[8]["features"].tolist() == [1, 9]


def test_damaged_header_is_rebuilt(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "c.npz"
    want = features(TableDataset(source, label="animal", cache=cache))
    good = cache.read_bytes()
    at = good.rindex(b'"rows"') + 7
    for damaged in (good[:at] + b"2" + good[at + 1 :], good[:-1], b"", b"something else"):
        cache.write_bytes(damaged)
        with pytest.raises(errors.DamagedError):
            gofast.verify(cache)
        assert torch.equal(features(TableDataset(source, label="animal", cache=cache)), want)
        gofast.verify(cache)


def test_damaged_values_are_found_by_verify(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "c.npz"
    TableDataset(source, label="animal", cache=cache)
    content = bytearray(cache.read_bytes())
    content[4096 + 77] ^= 1
    cache.write_bytes(content)
    with pytest.raises(errors.DamagedError, match="features") as raised:
        gofast.verify(cache)
    assert raised.value.path == str(cache)
    with pytest.raises(errors.NotFoundError):
        gofast.verify(tmp_path / "none")


def test_processes_build_once(source: Path, tmp_path: Path) -> None:
    """Processes that start at once, children of one that imported torch: one builds, all see the same."""
    cache = tmp_path / "c.npz"
    program = (
        "import os, gofast\n"
        "from pathlib import Path\n"
        "gofast.TableDataset\n"
        "read, write = os.pipe()\n"
        "children = []\n"
        "while len(children) < 4 and (not children or children[-1]):\n"
        "    children.append(os.fork())\n"
        "os.close(write)\n"
        "if children[-1]:\n"
        "    os.close(read)\n"
        "    raise SystemExit(sum(os.waitpid(child, 0)[1] for child in children))\n"
        "os.read(read, 1)\n"  # until every process has closed the other end
        f"ds = gofast.TableDataset({str(source)!r}, label='animal', cache={str(cache)!r})\n"
        f"said = len(ds), ds.targets.sum().item(), Path({str(cache)!r}).stat().st_ino\n"
        "os.write(1, b'%d %d %d\\n' % said)\n"  # at once: the others write too
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"1000 334 {cache.stat().st_ino}"] * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.npz", "t.csv"]

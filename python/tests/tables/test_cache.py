"""The cache file from Python: what package gofast/table/cache wrote is what is read here."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gofast import errors
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
    (tmp_path / "loop").symlink_to("loop")  # what cannot be opened is no cache if it is the table itself
    assert cache_files.open_cache(str(tmp_path / "loop"), None) is None
    with pytest.raises(errors.ReadError, match="cannot read the cache"):
        cache_files.open_cache(str(tmp_path / "loop"), "f")
    os.mkfifo(tmp_path / "pipe")
    assert cache_files.open_cache(str(tmp_path / "pipe"), "f") is None


def test_damaged_header(cache: Path, tmp_path: Path) -> None:
    good = cache.read_bytes()
    start = good.rindex(b'{"format":1,')
    end = good.index(b'"}', good.index(b'"sha256"', start)) + 2
    damaged = tmp_path / "damaged.npz"
    gc.collect()  # or what other tests left is closed meanwhile
    opened = len(os.listdir("/proc/self/fd"))
    for at in range(start, end):
        damaged.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert cache_files.open_cache(str(damaged), "f") is None, at
    for cut in (1, 22, len(good) - end, len(good) - start, len(good) - 4096):
        damaged.write_bytes(good[:-cut])
        assert cache_files.open_cache(str(damaged), "f") is None, cut
    damaged.write_bytes(good + b"\0")
    assert cache_files.open_cache(str(damaged), "f") is None
    assert len(os.listdir("/proc/self/fd")) <= opened


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

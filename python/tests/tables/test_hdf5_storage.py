"""ArrayDataset.from_hdf5 beside h5py: what HDF5 can store, written by its low-level calls at random."""

from __future__ import annotations

import functools
import gc
import os
import random
import resource
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader

import fresh
import gofast
from gofast import ArrayDataset, errors
from in_threads import in_threads
from same import difference

VERSIONS = ["earliest", "v108", "v110", "v112", "v114", "latest"]
H5T = h5py.h5t


def number(d: random.Random) -> Any:
    """A type of numbers that few people use, or one that all do."""
    whole = [
        H5T.STD_I8LE,
        H5T.STD_U8BE,
        H5T.STD_I16BE,
        H5T.STD_U16LE,
        H5T.STD_I32LE,
        H5T.STD_U32BE,
        H5T.STD_I64LE,
    ]
    real = [H5T.IEEE_F16LE, H5T.IEEE_F16BE, H5T.IEEE_F32LE, H5T.IEEE_F32BE, H5T.IEEE_F64LE, H5T.IEEE_F64BE]
    kind = d.choice(whole + whole[4:] + real).copy()
    how = d.randrange(6)
    if how == 0 and kind.get_class() == H5T.INTEGER and kind.get_size() > 1:
        kind.set_precision(kind.get_size() * 8 - d.randint(1, 6))
        kind.set_offset(d.randint(0, 1))
    elif how == 1 and kind.get_class() == H5T.INTEGER:
        made = H5T.enum_create(kind)
        for i, name in enumerate([b"cat", b"dog"]):
            made.enum_insert(name, 3 * i)
        return made
    elif how == 2:
        return H5T.py_create(np.dtype(d.choice(["?", "<c8", ">c16", "<c16"])), logical=True)
    return kind


def property_list(d: random.Random, shape: tuple[int, ...], kind: Any) -> Any:
    """How it is stored. Sizes of chunks may be larger than the array."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout = d.choice(["contiguous", "compact", *["chunked"] * 6])
    if layout != "chunked":
        plist.set_layout(h5py.h5d.CONTIGUOUS if layout == "contiguous" else h5py.h5d.COMPACT)
    else:
        plist.set_chunk(tuple(d.randint(1, n) for n in shape))
        number = kind.get_class() in (H5T.INTEGER, H5T.FLOAT)
        if number and d.random() < 0.15:  # alone: HDF5 ends with some of these behind other filters
            plist.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL)
        elif kind.get_class() == H5T.INTEGER and d.random() < 0.15:
            plist.set_scaleoffset(h5py.h5z.SO_INT, 0)
        else:
            for _ in range(d.choice([0, 1, 1, 2, 3])):
                how = d.randrange(5)
                if how < 2:
                    plist.set_deflate(d.randint(0, 9))
                elif how == 2:
                    plist.set_shuffle()
                elif how == 3:
                    plist.set_fletcher32()
                else:
                    plist.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL)
    times = [h5py.h5d.ALLOC_TIME_EARLY, h5py.h5d.ALLOC_TIME_LATE]
    if layout != "compact" and d.random() < 0.5:
        plist.set_alloc_time(d.choice([*times, h5py.h5d.ALLOC_TIME_INCR] if layout == "chunked" else times))
    if d.random() < 0.4 and kind.get_class() in (H5T.INTEGER, H5T.FLOAT):
        plist.set_fill_value(np.array(d.randint(0, 5), kind.dtype))
    return plist


def values_of(d: random.Random, kind: Any, shape: tuple[int, ...]) -> Any:
    made = np.random.default_rng(d.getrandbits(32)).integers(0, d.choice([2, 5, 120]), shape)
    if kind.get_class() == H5T.ENUM:
        made %= 2
        made *= 3
    return made.astype(kind.dtype)


def write(d: random.Random, file: Any, name: str) -> None:
    """A dataset of which not all may be written."""
    shape = tuple(d.randint(1, 9) for _ in range(d.randint(1, 3)))
    kind = number(d)
    plist = property_list(d, shape, kind)
    chunked = plist.get_layout() == h5py.h5d.CHUNKED
    most: Any = None
    if chunked and d.random() < 0.5:  # None: without an end
        most = tuple(d.choice([h5py.h5s.UNLIMITED, n, n + 5]) for n in shape)
    space = h5py.h5s.create_simple(shape, most)
    made = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, plist))
    if chunked and most is not None:
        small = tuple(d.randint(1, n) for n in shape)
        made.id.set_extent(small)  # what was beyond is gone, and comes back as fill values
        made.id.set_extent(tuple(n if d.random() < 0.7 else m for n, m in zip(shape, small, strict=True)))
    for _ in range(d.choice([0, 1, 1, 3])):
        part = tuple(slice(a := d.randrange(n), d.randint(a + 1, n)) for n in made.shape)
        part = part if d.random() < 0.5 else (...,)
        made[part] = values_of(d, kind, made[part].shape)
    known = all(plist.get_filter(i)[0] not in (5, 6) for i in range(plist.get_nfilters()))
    if chunked and known and d.random() < 0.3:  # a chunk that went through none of the filters
        raw = values_of(d, kind, plist.get_chunk()).astype(made.dtype).tobytes()
        if len(raw) == kind.get_size() * np.prod(plist.get_chunk()):
            mask = (1 << plist.get_nfilters()) - 1
            made.id.write_direct_chunk((0,) * len(shape), raw, filter_mask=mask)


def by_h5py(path: Path, name: str) -> Any:
    with h5py.File(path) as file:
        return file[name][()]


def undetermined(path: Path, name: str, want: Any) -> bool:
    """Whether h5py itself gives something else for it now and then, as the memory that it finds holds.

    It does for scaleoffset in datasets that were resized, and for chunks that are marked as lzf and are not.
    """
    for i in range(200):
        memory = [np.full(n, i, np.uint8) for n in (24, 64, 100, 324, 1000)]
        del memory
        if by_h5py(path, name).tobytes() != want.tobytes():
            return True
    return False


@pytest.mark.daily(50)
@pytest.mark.parametrize("seed", range(250))
def test_random_storage(seed: int, tmp_path: Path) -> None:
    d, path = random.Random(seed), tmp_path / "a.h5"
    version, names = d.choice(VERSIONS), [f"group/{i}" for i in range(6)]
    options = {"track_order": True} if d.random() < 0.3 else {}
    with h5py.File(path, "w", libver=version, userblock_size=d.choice([0, 0, 512, 4096]), **options) as file:
        file.create_group("group")
        for name in names:
            write(d, file, name)
    for name in names:
        stored = by_h5py(path, name)
        ours = ArrayDataset.from_hdf5(path, name)
        want = torch.from_numpy(stored.astype(stored.dtype.newbyteorder("=")))
        wrong = difference(ours[:][0], want, strides=False)
        assert not wrong or undetermined(path, name, stored), (wrong, gofast.explain(ours))


def test_chunks_behind_a_user_block_are_decoded_here(tmp_path: Path) -> None:
    """MATLAB's files have one."""
    path, x = tmp_path / "a.mat", np.arange(300).reshape(60, 5)
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("x", data=x, chunks=(7, 2), compression="gzip")
    ours = ArrayDataset.from_hdf5(path, "x")
    assert ours[:][0].tolist() == x.tolist()
    assert gofast.explain(ours).lines[0][1] == "Go"


def test_room_for_more_than_there_is(tmp_path: Path) -> None:
    """An index that needs no places has chunks for the largest shape."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((2,))
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        made = h5py.h5d.create(file.id, b"x", H5T.NATIVE_INT32, h5py.h5s.create_simple((5,), (31,)), plist)
        h5py.Dataset(made)[:] = np.arange(5)
    assert ArrayDataset.from_hdf5(path, "x")[:][0].tolist() == [*range(5)]


def test_many_chunks(tmp_path: Path) -> None:
    path, x = tmp_path / "a.h5", np.arange(20_000, dtype="<i4")
    for version in ("earliest", "latest"):
        with h5py.File(path, "w", libver=version) as file:
            file.create_dataset("x", data=x, chunks=(1,), maxshape=(None,), compression="gzip")
        assert ArrayDataset.from_hdf5(path, "x")[:][0].equal(torch.from_numpy(x))


def test_a_chunk_that_is_larger_than_the_data(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(9), chunks=(1 << 20,), maxshape=(None,), compression="gzip")
    assert ArrayDataset.from_hdf5(path, "x", limits={"memory": 1 << 26})[:][0].tolist() == [*range(9)]
    with pytest.raises(errors.LimitError, match="a chunk that is decoded"):
        ArrayDataset.from_hdf5(path, "x", limits={"memory": 1 << 20})


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "größe x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a/b c/größe.x", data=np.arange(7), chunks=(3,))
        file["soft"] = h5py.SoftLink("/a/b c/größe.x")
        file["hard"] = file["soft"]
        file["nowhere"] = h5py.SoftLink("/none")
        file["elsewhere"] = h5py.ExternalLink("none.h5", "/x")
        file["type"] = np.dtype("<f8")
    for name in ("a/b c/größe.x", "/a/b c/größe.x", "a//b c/./größe.x", "soft", "hard"):
        assert ArrayDataset.from_hdf5(path, name)[:][0].tolist() == [*range(7)]
    for name, why in (
        ("", "none of this name"),
        ("a\0b", "none of this name"),
        ("nowhere", "none of this name"),
        ("elsewhere", "none of this name"),
        ("a", "a group"),
        (".", "a group"),
        ("type", "a datatype"),
    ):
        with pytest.raises(errors.SchemaError, match=why):
            ArrayDataset.from_hdf5(path, name)


def test_a_filter_that_h5py_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4,))
        plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)  # zstd
        made = h5py.h5d.create(file.id, b"x", H5T.NATIVE_INT32, h5py.h5s.create_simple((4,)), plist)
        made.write_direct_chunk((0,), zlib.compress(bytes(16)))
    with pytest.raises(errors.UnsupportedError, match=r"32015.*hdf5plugin"):
        ArrayDataset.from_hdf5(path, "x")


def test_thousands_of_columns(tmp_path: Path) -> None:
    """They are not open at the same time."""
    path, names = tmp_path / "a.h5", [f"column {i}" for i in range(300)]
    with h5py.File(path, "w") as file:
        for i, name in enumerate(names):
            file.create_dataset(name, data=np.arange(5) + i, chunks=(2,) if i % 2 else None)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, most))
    try:
        ours = ArrayDataset.from_hdf5(path, names, limits={"memory": 1 << 20})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert ours[:][0].tolist() == [[i + k for i in range(300)] for k in range(5)]


# -- afterwards ------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_mapped_files_beside_arrays(first: int, tmp_path: Path) -> None:
    """Whichever part of a ConcatDataset comes first, a file that was written to is an error."""
    path, x = tmp_path / "a.h5", np.arange(200.0).reshape(50, 4)
    with h5py.File(path, "w") as file:
        file["x"], file["y"] = x, np.arange(50)
    parts: list[Any] = [ArrayDataset.from_hdf5(path, "x", "y"), ArrayDataset(x, np.arange(50))]
    both = ConcatDataset(parts[first:] + parts[:first])
    for loader in (gofast.DataLoader, DataLoader):
        features, labels = zip(*loader(both, batch_size=8), strict=True)
        assert torch.cat(features).equal(torch.from_numpy(np.concatenate([x, x])))
        assert torch.cat(labels).tolist() == [*range(50)] * 2
    with h5py.File(path, "r+") as file:
        file["y"][:] = 0
    for loader in (gofast.DataLoader, DataLoader):
        with pytest.raises(errors.ChangedError):
            list(loader(both, batch_size=8))


def test_arrays_that_are_looked_at_directly(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"], file["y"] = np.arange(6), np.arange(6)
    ours = ArrayDataset.from_hdf5(path, "x", "y")
    ours.targets[0] = 7  # a copy
    assert ours.targets.tolist() == [*range(6)] and [t.tolist() for t in ours.tensors] == [[*range(6)]] * 2
    with h5py.File(path, "r+") as file:
        file["y"][:] = 1
    for look in (lambda: ours.targets, lambda: ours.tensors):
        with pytest.raises(errors.ChangedError):
            look()


def test_the_users_own_handles_live_on(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(50), chunks=(7,), compression="gzip")
    with h5py.File(path) as mine:
        x = mine["x"]
        for _ in range(2):
            assert ArrayDataset.from_hdf5(path, "x")[:][0].tolist() == x[:].tolist() == [*range(50)]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Descriptors and mappings: of datasets that are dropped, and of those that cannot be opened."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"], file["big"] = np.arange(50), np.arange(50, dtype=">i4")
        made = file.create_dataset("bad", data=np.arange(50), chunks=(7,), compression="gzip", scaleoffset=0)
        place = made.id.get_chunk_info(3)
        file.create_dataset("y", data=np.arange(50), chunks=(7,), compression="gzip")
    with open(path, "r+b") as raw:
        raw.seek(place.byte_offset)
        raw.write(b"\xff" * place.size)

    def once() -> int:
        for names in (["x", "y"], ["big", "y"], ["x", "bad"], ["y", "none"]):
            try:
                ArrayDataset.from_hdf5(path, *names)
            except (errors.DamagedError, errors.SchemaError):
                pass
        gc.collect()
        return len(os.listdir("/proc/self/fd")), Path("/proc/self/maps").read_text().count("gofast")

    before = once()
    assert [once() for _ in range(5)] == [before] * 5


INTERRUPTED = """
import signal, sys, gofast, h5py
path, name = sys.argv[1:]
gofast.ArrayDataset.from_hdf5(path, "small")  # everything is imported
# The kernel's timer, not a thread: a thread would wait for the GIL until h5py is done.
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    gofast.ArrayDataset.from_hdf5(path, name)
    print("opened")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("name", ["packed", "reversed"])
def test_ctrl_c_while_it_is_opened(name: str, tmp_path: Path) -> None:
    """In our decoding and in h5py's reading, which nobody can stop: then as soon as it is over."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        noise = np.random.default_rng(0).integers(0, 1 << 40, (1 << 22,))
        file["small"] = np.arange(3)
        file.create_dataset("packed", data=noise, chunks=(1 << 10,), compression="gzip", compression_opts=1)
        file.create_dataset(
            "reversed", data=noise.astype(">i8"), chunks=(1 << 12,), compression="gzip", shuffle=True
        )
    done = fresh.run(["-c", INTERRUPTED, path, name])
    assert done.stdout == "interrupted\n", done


def test_two_threads_open_files(tmp_path: Path) -> None:
    for i in range(2):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            file.create_dataset("x", data=np.arange(5000) + i, chunks=(7,), compression="gzip")
    wrong: list[Any] = []

    def many(i: int) -> None:
        for _ in range(10):
            got = ArrayDataset.from_hdf5(tmp_path / f"{i}.h5", "x")[:][0]
            if not got.equal(torch.arange(5000) + i):
                wrong.append(got)

    in_threads(*(functools.partial(many, i % 2) for i in range(4)))
    assert not wrong

"""ArrayDataset.from_hdf5 beside what people write: h5py in ``__getitem__``, torch's loader, torchvision."""

from __future__ import annotations

import copy
import ctypes
import fcntl
import os
import pickle
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as v1
from torchvision.transforms import v2

import fresh
import gofast
from gofast import ArrayDataset, errors
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from same import assert_same_loaders, batches, difference

NUMBERS = ["u1", "i1", "u2", "<i2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "?", "<c8", ">i2", ">f8"]


# Warnings of small batches of complex numbers, and of fallbacks on purpose.
pytestmark = pytest.mark.filterwarnings("ignore")


class Lazy(Dataset[Any]):
    """The folk remedy: the file is opened where samples are made."""

    def __init__(self, path: Path, *names: str, transform: Callable[[Any], Any] | None = None) -> None:
        self.path, self.names, self.transform = path, names, transform
        with h5py.File(path) as file:
            self.count = len(file[names[0]])
        self.file: Any = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        self.file = self.file or h5py.File(self.path)
        x, *rest = (self.file[name][index] for name in self.names)
        if self.transform is not None:
            return self.transform(x), *rest
        # torch reads no other order of bytes
        return tuple(np.asarray(v, v.dtype.newbyteorder("=")) for v in (x, *rest))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"file": None}


def values(d: random.Random, kind: str, shape: tuple[int, ...]) -> Any:
    bits = np.random.default_rng(d.getrandbits(32)).integers(
        0, 256, (*shape, np.dtype(kind).itemsize), np.uint8
    )
    if d.random() < 0.5:
        bits[..., :] = bits.flat[0] % 3 if bits.size else 0  # what compresses
    if kind == "?":
        bits %= 2
    return np.nan_to_num(bits.view(kind)[..., 0]) if np.dtype(kind).kind in "fc" else bits.view(kind)[..., 0]


def storage(d: random.Random, shape: tuple[int, ...]) -> dict[str, Any]:
    """How h5py may store an array of that shape."""
    if d.random() < 0.3 or 0 in shape:
        return {}
    options: dict[str, Any] = {"chunks": d.choice([True, tuple(d.randint(1, n) for n in shape)])}
    options["compression"] = d.choice([None, "gzip", "gzip", "lzf"])
    options["shuffle"], options["fletcher32"] = d.random() < 0.5, d.random() < 0.4
    if d.random() < 0.3:
        options["maxshape"] = (None, *shape[1:])
    return options


def written(path: Path, **arrays: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


@pytest.mark.daily(25)
@pytest.mark.parametrize("seed", range(60))
def test_random_datasets(seed: int, tmp_path: Path) -> None:
    d = random.Random(seed)
    count, path = d.randint(1, 40), tmp_path / "a.h5"
    latest = d.choice([{}, {"libver": "latest"}, {"userblock_size": 512}])
    with h5py.File(path, "w", **latest) as file:
        for name in ("x", "y"):
            shape = (count, *(d.randint(1, 9) for _ in range(d.randint(0, 3 if name == "x" else 1))))
            array = values(d, d.choice(NUMBERS), shape)
            made = file.create_dataset(name, data=array, **storage(d, shape))
            if made.maxshape[0] is None:
                made.resize(count + d.randint(0, 5), 0)
                made.resize(count, 0)
    ours, theirs = ArrayDataset.from_hdf5(path, "x", "y"), Lazy(path, "x", "y")
    assert not isinstance(resolve(ours), Reason)
    for i in {0, count - 1, -1, d.randrange(count)}:
        want = tuple(map(torch.from_numpy, theirs[i]))
        assert difference(ours[i], want) == ""
    assert_same_loaders(ours, theirs)
    assert difference(list(ours.targets.shape), list(h5py.File(path)["y"].shape)) == ""


def as_picture(transform: Any) -> Callable[[Any], Any]:
    return lambda x: transform(Image.fromarray(x))


PIL = [
    v1.ToTensor(),
    v1.Compose([v1.RandomCrop(16, padding=2), v1.RandomHorizontalFlip(), v1.ToTensor()]),
    v2.Compose([v2.RandomResizedCrop(12), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
]
TENSOR = v2.Compose([v2.RandomCrop(12), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])


@pytest.mark.parametrize("packed", [{}, {"compression": "gzip", "shuffle": True, "chunks": True}])
@pytest.mark.parametrize("transform", PIL)
@pytest.mark.parametrize("colours", [(), (3,)])
def test_pictures(colours: tuple[int, ...], transform: Any, packed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values(random.Random(0), "u1", (37, 18, 19, *colours)), **packed)
        file["y"] = np.arange(37, dtype=np.uint8)
    ours = ArrayDataset.from_hdf5(path, "x", "y", transform=transform)
    assert not isinstance(resolve(ours), Reason)
    theirs = Lazy(path, "x", "y", transform=as_picture(transform))
    assert_same_loaders(ours, theirs)
    for workers in (0, 2):
        options: Any = {"batch_size": 5, "shuffle": True, "num_workers": workers}
        want = batches(DataLoader(theirs, **options))
        assert difference(batches(gofast.DataLoader(ours, **options)), want) == ""


def test_pictures_as_tensors(tmp_path: Path) -> None:
    path = written(tmp_path / "a.h5", x=values(random.Random(0), "u1", (37, 3, 18, 19)), y=np.arange(37))
    ours = ArrayDataset.from_hdf5(path, "x", "y", transform=TENSOR)
    assert not isinstance(resolve(ours), Reason)
    assert_same_loaders(ours, Lazy(path, "x", "y", transform=lambda x: TENSOR(torch.from_numpy(x))))


@pytest.mark.arrives("device", "copied")
def test_columns_and_options(tmp_path: Path) -> None:
    d, path = random.Random(4), tmp_path / "a.h5"
    names = ("a", "b", "c")
    columns = {name: values(d, "<f4", (50,)) for name in names}
    with h5py.File(path, "w") as file:
        for i, (name, column) in enumerate(columns.items()):
            file.create_dataset(f"in/{name}", data=column, chunks=(7,) if i else None)
        file["y"] = np.arange(50) % 5
        file["short"] = np.zeros(49, "f4")
        file["other"] = np.zeros(50, "f8")
    inside = [f"in/{name}" for name in names]
    matrix = np.stack([*columns.values()], 1)
    ours = ArrayDataset.from_hdf5(path, inside, "y", mean=1.0, std=2.0, output="dict", one_hot=5)
    theirs = gofast.ArrayDataset(matrix, np.arange(50) % 5, mean=1.0, std=2.0, output="dict", one_hot=5)
    assert_same_loaders(ours, theirs)
    assert ArrayDataset.from_hdf5(path, ["in/a"])[3][0].shape == (1,)
    for names_, why in ((["in/a", "short"], "alike"), (["in/a", "other"], "alike")):
        with pytest.raises(errors.SchemaError, match=why):
            ArrayDataset.from_hdf5(path, names_)
    with pytest.raises(errors.SchemaError, match="first dimension"):
        ArrayDataset.from_hdf5(path, "in/a", "short")


# -- what is not simple ----------------------------------------------------------


def contiguous(file: Any) -> None:
    file["x"] = np.arange(24, dtype="<f4").reshape(6, 4)


def gzip(file: Any) -> None:
    file.create_dataset("x", data=np.arange(24, dtype="<f4").reshape(6, 4), chunks=(4, 3), compression="gzip")


def partly_written(file: Any) -> None:
    made = file.create_dataset(
        "x", (9, 5), "<i2", chunks=(2, 2), fillvalue=-3, shuffle=True, compression="gzip"
    )
    made[3:5, 1] = 7


def never_written(file: Any) -> None:
    file.create_dataset("x", (6, 4), "<f4", fillvalue=2.5)


def odd_offset(file: Any) -> None:
    file["first"] = np.zeros(3, np.uint8)
    file["x"] = np.arange(6, dtype="<i8")


def enumerated(file: Any) -> None:
    kind = h5py.enum_dtype({"cat": 0, "dog": 5}, basetype="u1")
    file.create_dataset("x", data=np.array([0, 5, 5], np.uint8), dtype=kind)


def compact(file: Any) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((5,))
    made = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, plist)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, dtype="i4"))


def virtual(file: Any) -> None:
    file["part"] = np.arange(6, dtype="i4")
    layout = h5py.VirtualLayout((2, 6), "i4")
    layout[0] = layout[1] = h5py.VirtualSource(file["part"])
    file.create_virtual_dataset("x", layout)


def external(file: Any) -> None:
    outside = Path(file.filename).with_suffix(".raw")
    outside.write_bytes(np.arange(6, dtype="<i4").tobytes())
    file.create_dataset("x", (6,), "<i4", external=[(str(outside), 0, 24)])


def linked(file: Any) -> None:
    other = Path(file.filename).with_suffix(".other")
    with h5py.File(other, "w") as there:
        there["x"] = np.arange(300)
    file["x"] = h5py.ExternalLink(str(other), "/x")
    file["y"] = np.arange(900)


def linked_within(file: Any) -> None:
    file["y"] = np.arange(30)
    file["x"] = h5py.SoftLink("/y")


def hdf5_library() -> ctypes.CDLL:
    """That of h5py, for what h5py itself has no call."""
    maps = Path("/proc/self/maps").read_text()
    return ctypes.CDLL(next(iter(re.findall(r"\S+/libhdf5[-.]\S+", maps))))


def plain_edges(file: Any) -> None:
    library = hdf5_library()
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4,))
    plist.set_shuffle()
    library.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]
    assert library.H5Pset_chunk_opts(plist.id, 2) == 0  # H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
    made = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((11,)), plist)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(11, dtype="i4") * 1000)


def scaled(file: Any) -> None:
    file.create_dataset("x", data=np.arange(60), chunks=(7,), scaleoffset=0)


def twelve_bits(file: Any) -> None:
    kind = h5py.h5t.STD_I16LE.copy()
    kind.set_precision(12)
    made = h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple((5,)))
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, -2, 3, -4, 2047], "i2"))


def unknown_where_unwritten(file: Any) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((2,))
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    made = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((5,)), plist)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, dtype="i4"))


def partly_never_filled(file: Any) -> None:
    file.create_dataset("x", (9,), "i4", chunks=(4,), fill_time="never")[2] = 3


def empty(file: Any) -> None:
    file.create_dataset("x", (0, 3), "<f4", chunks=(5, 3), maxshape=(None, 3))


KINDS = {
    contiguous: ("C", "mapped where they lie"),
    gzip: ("Go", r"4 chunks \(gzip\)"),
    partly_written: ("Go", r"chunks? \(shuffle, gzip\)"),
    never_written: ("h5py", "never written"),
    odd_offset: ("h5py", "whole words"),
    enumerated: ("h5py", "another type"),
    compact: ("h5py", "compact"),
    virtual: ("h5py", "virtual"),
    external: ("h5py", "external"),
    linked: ("h5py", "a link into another file"),
    linked_within: ("C", "mapped"),
    plain_edges: ("h5py", "edges"),
    scaled: ("h5py", "filter"),
    twelve_bits: ("h5py", "another type"),
    unknown_where_unwritten: ("Go", "3 chunks"),
    partly_never_filled: ("h5py", "not all of it was written"),
    empty: ("h5py", "empty"),
}


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_who_reads_it(make: Callable[[Any], None], tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest" if make is plain_edges else None) as file:
        make(file)
    with h5py.File(path) as file:
        want = torch.from_numpy(file["x"][()])
    ours = ArrayDataset.from_hdf5(path, "x")
    assert difference(ours[:][0], want, strides=len(want) > 0) == ""
    name, runs_in, what = gofast.explain(ours).lines[0]
    pattern = KINDS[make][1]
    assert (name, runs_in) == ("dataset", KINDS[make][0])
    assert re.search(pattern, what), what


@pytest.mark.parametrize("chunk", [None, 4])
def test_values_that_only_chance_knows(chunk: int | None, tmp_path: Path) -> None:
    """Without a fill value, HDF5 gives what was in memory where nothing was written."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if chunk is not None:
            plist.set_chunk((chunk,))
        call = hdf5_library().H5Pset_fill_value
        call.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
        assert call(plist.id, -1, None) == 0
        space = h5py.h5s.create_simple((11,))
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, plist)
        if chunk is not None:
            h5py.Dataset(made)[2] = 5
    with pytest.raises(errors.UnsupportedError, match="not all of it was written"):
        ArrayDataset.from_hdf5(tmp_path / "a.h5", "x")


def test_values_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["text"] = ["a", "bc"]
        file["fixed"] = np.array([b"ab", b"c"])
        file["records"] = np.zeros(3, [("a", "i4"), ("b", "f4")])
        file.create_dataset("ragged", (3,), h5py.vlen_dtype("i4"))
        file.create_dataset("arrays", (3,), np.dtype(("<f4", (2,))))
        file.create_dataset("references", (3,), h5py.ref_dtype)
        file["long"] = np.zeros(3, np.longdouble)
        file["scalar"] = 3
        file["none"] = h5py.Empty("f4")
        file["group/x"] = np.zeros(3)
    for name, kind, why in (
        ("text", errors.UnsupportedError, "holds strings"),
        ("fixed", errors.UnsupportedError, "holds strings"),
        ("records", errors.UnsupportedError, "records of 'a', 'b'"),
        ("ragged", errors.UnsupportedError, "different lengths"),
        ("arrays", errors.UnsupportedError, "values of"),
        ("references", errors.UnsupportedError, "references"),
        ("long", errors.UnsupportedError, "float128|longdouble"),
        ("scalar", errors.SchemaError, "no dimensions"),
        ("none", errors.SchemaError, "no dimensions"),
        ("group", errors.SchemaError, "a group; the file has 'arrays', 'fixed', 'group/x'"),
        ("x", errors.SchemaError, "none of this name; the file has"),
    ):
        with pytest.raises(kind, match=why):
            ArrayDataset.from_hdf5(path, name)


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.NotFoundError, match="No such file"):
        ArrayDataset.from_hdf5(tmp_path / "none.h5", "x")
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(errors.FormatError, match="h5py cannot open"):
        ArrayDataset.from_hdf5(tmp_path / "text.h5", "x")
    path = written(tmp_path / "a.h5", x=np.zeros(3))
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(errors.DamagedError, match="h5py cannot open"):
        ArrayDataset.from_hdf5(path, "x")
    os.mkfifo(tmp_path / "pipe.h5")
    for name in ("pipe.h5", "."):
        with pytest.raises(errors.ReadError, match="not a regular file"):
            ArrayDataset.from_hdf5(tmp_path / name, "x")
    for given in (None, [path], b"a"):
        with pytest.raises(errors.OptionError, match="not a path"):
            ArrayDataset.from_hdf5(given, "x")  # type: ignore[arg-type]
    for name in (3, [], [3], None):
        with pytest.raises(errors.OptionError, match="a dataset's name"):
            ArrayDataset.from_hdf5(path, name)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(errors.UnsupportedError, match="pip install h5py"):
        ArrayDataset.from_hdf5(path, "x")


def test_a_file_that_is_being_written(tmp_path: Path) -> None:
    path = written(tmp_path / "a.h5", x=np.zeros(3))
    with h5py.File(path, "r+"), pytest.raises(errors.ReadError, match="open for writing"):
        ArrayDataset.from_hdf5(path, "x")
    with open(path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # as HDF5 in another process does
        with pytest.raises(errors.ReadError, match=r"lock.*HDF5_USE_FILE_LOCKING"):
            ArrayDataset.from_hdf5(path, "x")
    with h5py.File(path):
        assert len(ArrayDataset.from_hdf5(path, "x")) == 3


# -- afterwards ------------------------------------------------------------------


@pytest.mark.daily
@pytest.mark.parametrize("transform", [None, v1.ToTensor()])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_is_written_to_is_an_error(
    workers: int, loader: Any, transform: Any, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.h5", x=values(random.Random(0), "u1", (600, 8, 9)), y=np.arange(600))
    ours = ArrayDataset.from_hdf5(path, "x", "y", transform=transform)
    made = iter(loader(ours, batch_size=2, num_workers=workers))
    next(made)
    with h5py.File(path, "r+") as file:
        file["x"][:] = 1
    with pytest.raises(errors.ChangedError, match="written to since"):
        list(made)
    with pytest.raises(errors.ChangedError, match="written to since"):
        list(loader(ours, batch_size=2, num_workers=workers))
    with pytest.raises(errors.ChangedError, match="written to since"):
        ours[0]


def test_a_file_that_is_removed_or_replaced(tmp_path: Path) -> None:
    x = values(random.Random(0), "<f4", (60, 5))
    path = written(tmp_path / "a.h5", x=x)
    ours = ArrayDataset.from_hdf5(path, "x")
    pickled = pickle.dumps(ours)
    os.replace(written(tmp_path / "b.h5", x=x * 2), path)
    assert difference(ours[:][0], torch.from_numpy(x)) == ""
    assert difference(pickle.loads(pickled)[:][0], torch.from_numpy(x * 2)) == ""
    written(path, x=x[:50])
    with pytest.raises(errors.ChangedError, match="other arrays"):
        pickle.loads(pickled)
    path.unlink()
    assert difference(copy.copy(ours)[:][0], torch.from_numpy(x)) == ""
    assert difference(copy.deepcopy(ours)[:][0], torch.from_numpy(x)) == ""
    with pytest.raises(errors.NotFoundError):
        pickle.loads(pickled)


def without_h5py(_: int) -> None:
    sys.modules["h5py"] = None  # type: ignore[assignment]


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_need_no_h5py(method: str, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = values(random.Random(0), "<f4", (60, 5))
        file.create_dataset("y", data=np.arange(60), compression="gzip")
    ours, theirs = ArrayDataset.from_hdf5(path, "x", "y"), Lazy(path, "x", "y")
    want = batches(DataLoader(theirs, batch_size=7))
    path.unlink()  # nor do they open it
    options: Any = {"num_workers": 2, "multiprocessing_context": method, "worker_init_fn": without_h5py}
    assert difference(batches(DataLoader(ours, batch_size=7, **options)), want) == ""


# -- memory and lies -------------------------------------------------------------


def test_memory_is_asked_for_beforehand(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("huge", (1 << 40, 1 << 10), "<f4", chunks=(1 << 10, 1 << 10), compression="gzip")
        file.create_dataset("unwritten", (1 << 40, 1 << 10), "<f4")
        file.create_dataset("x", data=np.zeros((1000, 100)), compression="gzip")
        file["a"], file["b"] = np.zeros(1000), np.zeros(1000)
    for name in ("huge", "unwritten"):
        with pytest.raises(errors.LimitError, match=f"{1 << 52} bytes"):
            ArrayDataset.from_hdf5(path, name)
    with pytest.raises(errors.LimitError, match=r"800000 bytes.*gofast\.convert"):
        ArrayDataset.from_hdf5(path, "x", limits={"memory": 700_000})
    with pytest.raises(errors.LimitError, match=r"16000 bytes.*fewer columns"):
        ArrayDataset.from_hdf5(path, ["a", "b"], limits={"memory": 15_000})
    with pytest.raises(errors.LimitError):
        ArrayDataset.from_hdf5(path, "x", "x", limits={"memory": 1_500_000})
    assert len(ArrayDataset.from_hdf5(path, "x", limits={"memory": 3_000_000})) == 1000


PEAK = """
import sys, gofast
def most():  # ru_maxrss would be that of whoever started this process
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) >> 10
gofast.ArrayDataset.from_hdf5(sys.argv[1], "small")  # what starting the engine takes
before = most()
ours = gofast.ArrayDataset.from_hdf5(sys.argv[1], "x")
assert all(ours[i][0].sum() == 0 for i in range(len(ours)))
print(most() - before)
"""


def test_memory_at_its_most(tmp_path: Path) -> None:
    """A decoded dataset is there once, in memory that is shared, beside a few chunks."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("small", data=np.zeros((10, 2)), chunks=(3, 2))
        file.create_dataset("x", data=np.zeros((100, 1 << 18)), chunks=(4, 1 << 16), compression="gzip")
    done = fresh.run(["-c", PEAK, path])
    assert 190 < int(done.stdout) < 200 + 64, done


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        (0, 3, r"chunk \[3 3\].*begins there"),
        (0, 600, r"chunk \[600 3\].*begins there"),
        (0, -4, r"chunk \[-4 3\].*begins there"),
        (1, 0, r"chunk \[0 0\].*twice"),
        (2, 1 << 40, r"chunk \[0 3\].*the file has"),
        (2, -1, r"chunk \[0 3\].*the file has"),
        (3, 1 << 40, r"chunk \[0 3\].*the file has"),
        (3, 0, r"chunk \[0 3\].*the file has"),
        (3, 3, r"chunk \[0 3\].*cannot be decompressed"),
        (2, 0, r"chunk \[0 3\].*cannot be decompressed"),
        (4, 1, r"chunk \[0 3\].*bytes of values"),
    ],
)
def test_a_lying_index(
    column: int, value: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gofast._tables import hdf5

    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        gzip(file)
    true = hdf5.chunk_index

    def lying(found: Any, size: int) -> Any:
        index = true(found, size)
        assert index is not None
        index[1, column] = value
        return index

    monkeypatch.setattr(hdf5, "chunk_index", lying)
    ours = ArrayDataset.from_hdf5(path, "x")  # h5py finds no such chunk, and reads what there is
    assert "does not lead to" in gofast.explain(ours)
    assert ours[:][0].flatten().tolist() == list(range(24))
    monkeypatch.setattr(hdf5, "as_read", lambda _, index, *rest: index)
    with pytest.raises(errors.DamagedError, match=why) as caught:
        ArrayDataset.from_hdf5(path, "x")
    assert caught.value.path == str(path) and caught.value.column == "x"


@pytest.mark.parametrize(
    ("packed", "why"),
    [({"compression": "gzip"}, "gzip"), ({"compression": "lzf"}, "lzf"), ({"fletcher32": True}, "checksum")],
)
def test_a_damaged_chunk_is_named(packed: dict[str, Any], why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", data=np.arange(900), chunks=(100,), **packed)
        place = made.id.get_chunk_info(4)
    content = bytearray(path.read_bytes())
    for at in range(place.byte_offset + 2, place.byte_offset + place.size, 3):
        content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(errors.DamagedError, match=rf"chunk \[400\].*{why}") as caught:
        ArrayDataset.from_hdf5(path, "x")
    assert (caught.value.path, caught.value.column) == (str(path), "x")
    assert caught.value.offset == place.byte_offset


def test_h5py_has_the_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an array that was read here has other values than h5py reads, h5py's are taken."""
    from gofast._tables import hdf5

    path, true = tmp_path / "a.h5", hdf5.chunk_index
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(12), chunks=(3,))

    def lying(found: Any, size: int) -> Any:
        index = true(found, size)
        assert index is not None
        index[:, 1] = index[::-1, 1].copy()
        return index

    monkeypatch.setattr(hdf5, "chunk_index", lying)
    for why in ("does not lead to", "other values"):
        ours = ArrayDataset.from_hdf5(path, "x")
        assert ours[:][0].tolist() == list(range(12))
        assert why in gofast.explain(ours)
        monkeypatch.setattr(hdf5, "as_read", lambda _, index, *rest: index)


@pytest.mark.parametrize("signature", [b"SNOD", b"TREE", b"HEAP"])
def test_a_damaged_group_is_named(signature: bytes, tmp_path: Path) -> None:
    path, named = tmp_path / "a.h5", list[str | None]()
    with h5py.File(path, "w") as file:
        for name in ("a", "g/x", "g/y", "h/deep/z"):
            file[name] = np.arange(10.0)
    data = path.read_bytes()
    at = data.find(signature)
    while at >= 0:
        path.write_bytes(data[:at] + b"XXXX" + data[at + 4 :])
        with pytest.raises(errors.DamagedError) as caught:
            gofast.verify(path)
        named.append(caught.value.column)
        at = data.find(signature, at + 1)
    assert named == ["/", "g", "h", "h/deep"]

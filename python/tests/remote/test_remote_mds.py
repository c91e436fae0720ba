"""MDS shards and litData chunks behind a URL: the local folder's batches, or an error that names the file."""

from __future__ import annotations

import gc
import gzip
import io
import itertools
import json
import pickle
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from buckets import copied
from gofast import errors
from gofast._core import shard_pieces
from gofast._core.download_locks import claims
from gofast.integrations import StreamingSampler
from mds import mds_bytes, pil_bytes, write_litdata, write_mds
from picture_files import contents
from same import batches, difference
from served import Served, serving

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
COLUMNS = {"image": "jpeg", "class": "int", "name": "str"}
PICTURES = contents(13)
SAMPLES = [{"image": PICTURES[i], "class": 50 - i, "name": f"ä{i}".encode()} for i in range(13)]
ODD = "in/sh #1%41+ä?{a,b}[*].mds"  # a name that no URL or pattern may take for something else


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "1GB")
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where indexes are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Three shards, of which one is empty and one has an odd name."""
    folder = tmp_path / "mds"
    write_mds(folder, COLUMNS, [SAMPLES[:5], [], SAMPLES[5:]])
    (folder / "in").mkdir()
    (folder / "shard.00002.mds").rename(folder / ODD)
    index(folder, lambda told: told["shards"][2]["raw_data"].update(basename=ODD))
    return folder


def index(folder: Path, change: Callable[[Any], Any]) -> None:
    told = json.loads((folder / "index.json").read_text())
    change(told)
    (folder / "index.json").write_text(json.dumps(told))


@pytest.fixture
def web(shards: Path) -> Iterator[Served]:
    """The same behind HTTP."""
    with serving() as made:
        made.put(**{quote(path.name): path.read_bytes() for path in shards.rglob("*") if path.is_file()})
        yield made


@pytest.mark.parametrize("scheme", ["http", "s3", "memory"])
def test_batches_are_those_of_the_disk(scheme: str, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with copied(shards, scheme, monkeypatch) as url:
        for label, end in (("class", "/"), ("name", "/index.json"), (None, "")):
            want = gofast.ImageFiles.from_mds(shards, label=label, transform=TRAIN)
            got = gofast.ImageFiles.from_mds(url + end, label=label, transform=TRAIN)
            assert label is None or got.targets == want.targets
            order = StreamingSampler(url + end, shuffle_seed=3)
            assert [*order] == [*StreamingSampler(shards, shuffle_seed=3)]
            for options in ({"shuffle": True}, {"sampler": order}):
                torch_s = batches(DataLoader(want, 4, **options))  # type: ignore[arg-type]
                for kind in (gofast.DataLoader, DataLoader):
                    assert difference(batches(kind(got, 4, **options)), torch_s) == "", (kind, options)


def test_an_order_needs_no_shard(web: Served) -> None:
    assert sorted(StreamingSampler(web.url + "mds/")) == [*range(13)]
    assert {*web.asked} == {"index.json"}


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_ask_nobody(method: str, web: Served, shards: Path) -> None:
    crop = T.Compose([T.CenterCrop(16), T.ToTensor()])
    dataset = gofast.ImageFiles.from_mds(web.url + "mds", transform=crop)
    asked = sum(web.asked.values())
    loader = DataLoader(dataset, 4, num_workers=2, multiprocessing_context=method)
    want = gofast.ImageFiles.from_mds(shards, transform=crop)
    assert difference([*loader], [*DataLoader(want, 4)]) == ""
    assert sum(web.asked.values()) == asked
    assert set(web.whole.values()) == {1}


def test_compressed_shards_and_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    mds, lit = tmp_path / "mds", tmp_path / "lit"
    write_mds(mds, COLUMNS, [SAMPLES[:6], SAMPLES[6:]])
    leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
    spec = {"type": "builtins.dict", "context": '["image", "class"]', "children_spec": [leaf, leaf]}
    rows = [(one["image"], struct.pack("<q", one["class"])) for one in SAMPLES]
    write_litdata(lit, spec, ["jpeg", "int"], [rows[:6], rows[6:]])

    def pack(path: Path, name: str, data: bytes) -> str:
        path.with_name(name).write_bytes(data)
        path.unlink()
        return name

    def pack_mds(told: Any) -> None:
        for shard in told["shards"]:
            path = mds / shard["raw_data"]["basename"]
            packed = pack(path, path.name + ".gz", gzip.compress(path.read_bytes()))
            shard |= {"compression": "gz:6", "zip_data": {"basename": packed}}

    def pack_lit(told: Any) -> None:
        told["config"]["compression"] = "zstd:4"
        for chunk in told["chunks"]:
            path = lit / chunk["filename"]
            data = bytes(pyarrow.compress(path.read_bytes(), "zstd", asbytes=True))
            chunk["filename"] = pack(path, path.name.replace(".bin", ".zstd:4.bin"), data)

    index(mds, pack_mds)
    index(lit, pack_lit)
    for folder, make in ((mds, gofast.ImageFiles.from_mds), (lit, gofast.ImageFiles.from_litdata)):
        want = make(folder, transform=T.ToTensor())
        for scheme in ("http", "s3"):
            with copied(folder, scheme, monkeypatch) as url:
                got = make(url, transform=T.ToTensor())
            assert got.targets == want.targets == [50 - i for i in range(13)]
            assert all(torch.equal(got[i][0], want[i][0]) for i in range(13))


@pytest.mark.parametrize("form", ["mds", "litdata"])
def test_pictures_that_pillow_had_in_memory(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, make = tmp_path / form, getattr(gofast.ImageFiles, f"from_{form}")
    stored = [pil_bytes(Image.open(io.BytesIO(one)).convert("RGB")) for one in PICTURES[:6]]
    if form == "mds":
        rows = [{"image": one, "class": i} for i, one in enumerate(stored)]
        write_mds(folder, {"image": "pil", "class": "int"}, [rows[:3], rows[3:]])
    else:
        leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
        spec = {"type": "builtins.dict", "context": '["image", "class"]', "children_spec": [leaf, leaf]}
        both = [(one, struct.pack("<q", i)) for i, one in enumerate(stored)]
        write_litdata(folder, spec, ["pil", "int"], [both[:3], both[3:]])
    with copied(folder, "http", monkeypatch) as url:
        for transform in (TRAIN, T.Compose([T.Resize((8, 8)), T.ToTensor()])):
            want, got = (gofast.DataLoader(make(one, transform=transform), 4) for one in (folder, url))
            assert difference(batches(got), batches(want)) == ""


@pytest.mark.parametrize("form", ["mds", "litdata"])
@pytest.mark.parametrize("share", [2, 20])
def test_pieces_where_the_limit_does_not_hold_all(
    share: int, form: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole shards where the server has no ETag: nobody could compare a piece with the index."""
    folder, make = tmp_path / form, getattr(gofast.ImageFiles, f"from_{form}")
    stored = [pil_bytes(Image.open(io.BytesIO(one)).convert("RGB")) for one in PICTURES]
    if form == "mds":
        rows = [one | {"second": stored[i]} for i, one in enumerate(SAMPLES)]
        write_mds(folder, {**COLUMNS, "second": "pil"}, [rows[:7], [], rows[7:]])
    else:
        leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
        spec = {
            "type": "builtins.dict",
            "context": '["class", "image", "second"]',
            "children_spec": [leaf] * 3,
        }
        leaves = [(struct.pack("<q", 50 - i), one, stored[i]) for i, one in enumerate(PICTURES)]
        write_litdata(folder, spec, ["int", "jpeg", "pil"], [leaves[:7], leaves[7:]])
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    limit = max(map(len, files.values())) + 2 * len(files["index.json"])  # one with a tag, one without
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    monkeypatch.setattr(shard_pieces, "_SHARE", share)
    crop = T.Compose([T.CenterCrop(16), T.ToTensor()])
    with serving() as web:
        web.put(**files)
        for tags, column in itertools.product((True, False), ("image", "second")):
            web.tags = tags
            web.dated = not tags
            want, got = (make(where, image=column, transform=crop) for where in (folder, web.url + "x"))
            assert got.targets == want.targets == [50 - i for i in range(13)]
            pieces = got._listing.files.shards._pieces
            one_each = len(want) + len(files) - 3  # and the empty shard, if there is one
            assert (len(files) - 1 < len(pieces.ends) <= one_each - (share == 2)) == tags
            before = web.sent.total()
            for number in (12, 3, 12):
                assert torch.equal(got[number][0], want[number][0])
            assert not tags or web.sent.total() - before < limit // 2
            for kind, workers in ((gofast.DataLoader, 0), (DataLoader, 1)):
                torch.manual_seed(2)
                read = batches(kind(got, 1, shuffle=True, num_workers=workers))
                torch.manual_seed(2)
                assert difference(read, batches(DataLoader(want, 1, shuffle=True))) == ""
            assert sum(path.stat().st_size for path in kept.iterdir() if path.name != "lock") <= limit
            del got  # whose last piece stays, and the shards come once more for another column
            gc.collect()


def test_what_is_wrong_is_said(web: Served) -> None:
    good = {name + "?SECRET": data for name, data in web.files.items()}
    told, first = "index.json?SECRET", "shard.00000.mds?SECRET"

    def refused(kind: type[errors.GofastError], said: str, **changed: bytes | None) -> None:
        web.files = {name: data for name, data in {**good, **changed}.items() if data is not None}
        web.asked.clear()
        with pytest.raises(kind, match=said) as error:
            gofast.ImageFiles.from_mds(web.url + "mds/index.json?SECRET")
        assert error.value.path is not None and "SECRET" not in f"{error.value} {error.value.path}"

    refused(errors.NotFoundError, r"mds/index\.json.*404", **{told: None})
    refused(errors.NotFoundError, r"mds/shard\.00000\.mds.*404", **{first: None})
    refused(errors.DamagedError, r"shard\.00000\.mds", **{first: good[first][:-1]})
    refused(errors.DamagedError, r"shard\.00000\.mds.*no shard has so few", **{first: b"short"})
    fewer = mds_bytes(COLUMNS, SAMPLES[:4])
    refused(errors.DamagedError, "4 samples, and index.json says 5", **{first: fewer})
    for text in (b"{", b"3", b"[" * 99_999, b"\xff"):
        refused(errors.DamagedError, r"mds/index\.json: not an index", **{told: text})
    assert {*web.asked} == {told}
    for name in ("../a.mds", "in/../../a.mds", "/etc/a.mds", "a\0.mds", "\ud800.mds", "a::memory://b.mds"):
        listed = json.loads(good[told])
        listed["shards"][0]["raw_data"]["basename"] = name
        refused(errors.DamagedError, "not an index", **{told: json.dumps(listed).encode()})
        assert {*web.asked} == {told}, name


def test_one_that_changes_while_it_comes(web: Served) -> None:
    def change(request: Any, number: int) -> bool:
        if request.path.endswith("/shard.00000.mds") and number == 2:
            web.files["shard.00000.mds"] += b"more"
        return False

    web.spoil = change
    with pytest.raises(errors.ChangedError, match=r"mds/shard\.00000\.mds.*another one by now"):
        gofast.ImageFiles.from_mds(web.url + "mds")


def test_each_must_fit(web: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "2kB")
    with pytest.raises(errors.LimitError, match=r"are asked for together.*raise cache_limit="):
        gofast.ImageFiles.from_mds(web.url + "mds")
    assert not web.whole["shard.00000.mds"]


def test_a_limit_of_one_shard(web: Served, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes once for its index, which is kept, and again for its samples: without an ETag, whole."""
    web.tags, web.dated = False, True
    sizes = [len(data) for data in web.files.values()]
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(max(sizes) + len(web.files["index.json"])))
    make = gofast.ImageFiles.from_mds
    want = make(shards, transform=T.Compose([T.CenterCrop(16), T.ToTensor()]))
    for number, (kind, workers) in enumerate(itertools.product((gofast.DataLoader, DataLoader), (0, 1))):
        web.whole.clear()
        got = make(web.url + "mds", transform=want.transform)
        assert sum(web.whole.values()) == (0 if number else 4)
        assert got.targets == want.targets
        loader: Any = kind(got, 1, num_workers=workers)
        assert difference([*loader], [*DataLoader(want, 1)]) == "", (kind, workers)
        del got, loader  # a process keeps the shard of its last batch
        gc.collect()
    got = make(web.url + "mds", transform=want.transform)
    with pytest.raises(errors.LimitError, match="raise cache_limit="):
        next(iter(gofast.DataLoader(got, 13)))
    assert "3 shards on a server" in str(gofast.explain(got))
    assert got[12][1] == want.targets[12]  # whose shard takes the room of the first
    web.files["shard.00000.mds"] += b"x"
    with pytest.raises(errors.ChangedError, match=r"mds/shard\.00000\.mds.*another one by now"):
        got[0]


def test_an_index_that_is_kept_is_that_of_this_file(web: Served, home: Path) -> None:
    def opened() -> Any:
        web.whole.clear()
        return gofast.ImageFiles.from_mds(web.url + "mds", label="class")

    dataset = opened()
    pickled = pickle.dumps(dataset)
    assert pickle.loads(pickled).targets == dataset.targets
    kept = [*home.rglob("tfrecord/*")]
    assert len(kept) == 3
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    kept[1].write_bytes(b"of somebody else")
    kept[2].unlink()
    assert opened().targets == dataset.targets and sum(web.whole.values()) == 0  # the shards are here
    assert kept[1].read_bytes() == b"of somebody else"
    web.files["shard.00000.mds"] = mds_bytes(COLUMNS, [one | {"class": 7} for one in SAMPLES[:5]])
    assert opened().targets[:6] == [7] * 5 + dataset.targets[5:6] and sum(web.whole.values()) == 1
    with pytest.raises(errors.ChangedError, match="other records than when the dataset was pickled"):
        pickle.loads(pickled)


def test_an_index_of_another_file_is_made_anew(web: Served, kept: Path) -> None:
    """The server says the same of both, such as the second in which they were written."""

    def opened() -> Any:
        return gofast.ImageFiles.from_mds(web.url + "mds", label="class", transform=T.ToTensor())

    before = opened().targets
    (path,) = kept.glob("*-shard.00000.mds")
    path.write_bytes(mds_bytes(COLUMNS, [one | {"class": 7} for one in SAMPLES[:5]]))
    dataset = opened()
    assert dataset.targets == before
    with pytest.raises(errors.ChangedError, match=r"shard\.00000\.mds: .*: make the dataset again"):
        dataset[0]
    assert opened().targets == [7] * 5 + before[5:] and opened()[0][1] == 7


def test_what_came_for_an_index_is_given_back_by_an_error(web: Served, kept: Path) -> None:
    web.files["shard.00000.mds"] = web.files["shard.00000.mds"][:-1]
    with pytest.raises(errors.DamagedError) as error:
        gofast.ImageFiles.from_mds(web.url + "mds")
    assert error.tb is not None  # with whose frames all that it knew of would live on
    assert (str(kept), False) not in claims


def test_shards_that_must_all_be_here(web: Served, shards: Path) -> None:
    """Where nobody would see that one is another file when it comes again."""
    web.tags = False
    got = gofast.ImageFiles.from_mds(web.url + "mds", transform=T.ToTensor())
    asked = sum(web.asked.values())
    assert [picture.sum() for picture, _ in got] == [
        picture.sum() for picture, _ in gofast.ImageFiles.from_mds(shards, transform=T.ToTensor())
    ]
    assert sum(web.asked.values()) == asked

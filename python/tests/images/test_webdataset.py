"""gofast.webdataset beside the package webdataset: the same samples in the same order for the same seeds."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import pickle
import random
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms as T

import gofast.webdataset as wds
from gofast import errors
from gofast.typing import LazyImage
from picture_files import contents
from tars import tar_bytes, write_tar

# The package leaves shards open.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture
def theirs() -> Any:
    """The package."""
    return pytest.importorskip("webdataset", reason="the package webdataset is not installed")


@pytest.fixture
def shards(tmp_path: Path) -> str:
    """Five shards of 7 samples."""
    pictures = contents(7)
    for shard in range(5):
        samples = [
            {
                "jpg" if i % 2 else "png": picture,
                "cls": b" %d\n" % (10 * shard + i),
                "json": b'{"n": [%d]}' % i,
            }
            for i, picture in enumerate(pictures)
        ]
        write_tar(tmp_path / f"{shard:02}.tar", samples, stem=f"s{shard}/")
    return f"{tmp_path}/{{00..04}}.tar"


def same(a: Any, b: Any) -> None:
    """Equal values of equal types; a lazy image is an image."""
    if isinstance(a, (dict, list, tuple)):
        assert type(a) is type(b) and len(a) == len(b)
        keys = a.keys() if isinstance(a, dict) else range(len(a))
        assert not isinstance(a, dict) or a.keys() == b.keys()
        for key in keys:
            same(a[key], b[key])
    elif isinstance(a, torch.Tensor):
        assert isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    elif hasattr(a, "getbands"):
        assert a.mode == b.mode and a.tobytes() == b.tobytes()
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and np.array_equal(a, b)
    else:
        assert type(a) is type(b) and a == b


def seeded(pipeline: Callable[[Any, str], Any], package: Any, shards: str, most: int = 200) -> list[Any]:
    """What comes out, with the generators' states behind it."""
    random.seed(3)
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(itertools.islice(iter(pipeline(package, shards)), most))
    return [*made, random.random(), torch.rand(1)]


def data(w: Any, urls: str, **options: Any) -> Any:
    return w.WebDataset(urls, **{"shardshuffle": False, **options})


def square(number: int) -> int:
    return number * number


PIPELINES: dict[str, Callable[[Any, str], Any]] = {
    "samples": data,
    "shards": lambda w, urls: data(w, urls, shardshuffle=3, seed=5),
    "shards twice": lambda w, urls: data(w, urls, shardshuffle=True, seed=5).repeat(2),
    "drawn seed": lambda w, urls: data(w, urls, shardshuffle=100),
    "detshuffle": lambda w, urls: data(w, urls, shardshuffle=100, detshuffle=True, seed=2).repeat(3),
    "shuffle": lambda w, urls: data(w, urls).shuffle(10, initial=4, rng=random.Random(1)),
    "shuffle more": lambda w, urls: data(w, urls).shuffle(1000, seed=9).shuffle(0),
    "resampled": lambda w, urls: w.DataPipeline(
        w.ResampledShards(urls, deterministic=True, seed=4), w.tarfile_to_samples(), w.shuffle(9, seed=1)
    ),
    "pil": lambda w, urls: data(w, urls).decode("pil"),
    **{
        kind: lambda w, urls, kind=kind: (
            data(w, urls).decode(kind).to_tuple("png;jpg json cls", handler=w.warn_and_stop)
        )
        for kind in [
            "rgb",
            "rgb8",
            "l",
            "l8",
            "rgba",
            "torchrgb",
            "torchrgb8",
            "torch",
            "torchl",
            "pill",
            "pilrgba",
        ]
    },
    "only": lambda w, urls: data(w, urls).decode("rgb8", only=["cls", "jpg"]),
    "handlers": lambda w, urls: data(w, urls).decode(w.handle_extension("cls jpg", len), partial=True),
    "training": lambda w, urls: (
        data(w, urls, shardshuffle=5, seed=1)
        .shuffle(20, seed=2)
        .decode("pil")
        .to_tuple("jpg;png", "cls")
        .map_tuple(TRAIN, square, None)
        .batched(8)
    ),
    "training without the rest": lambda w, urls: (
        data(w, urls).decode("pil").to_tuple("jpg;png", "cls").map_tuple(TRAIN).batched(8, partial=False)
    ),
    "dicts": lambda w, urls: (
        data(w, urls)
        .decode("pil")
        .rename(image="jpg;png", label="cls")
        .map_dict(image=TRAIN, label=square)
        .batched(4)
    ),
    "lists": lambda w, urls: (
        data(w, urls).decode("l8").to_tuple("cls", "__key__").listed(4).unlisted().batched(3)
    ),
    "unbatched": lambda w, urls: data(w, urls).decode().to_tuple("cls", "__key__").batched(4).unbatched(),
    "map": lambda w, urls: data(w, urls).decode().map(lambda s: {"n": s["cls"]} if s["cls"] % 3 else None),
    "select": lambda w, urls: data(w, urls).decode().select(lambda s: s["cls"] % 2).slice(2, 9),
    "rsample": lambda w, urls: data(w, urls).rsample(0.4),
    "epoch": lambda w, urls: data(w, urls).with_epoch(50),
    "rename_keys": lambda w, urls: data(w, urls).rename_keys(("image", "*[pj]?g"), label="C?s".lower()),
    "rename_keys, kept": lambda w, urls: data(w, urls).rename_keys(
        a="json", b="*", keep_unselected=True, must_match=False, duplicate_is_error=False
    ),
    "extract_keys": lambda w, urls: data(w, urls).extract_keys(
        "*.jpg;png", "*.cls", ["x"], ignore_missing=True
    ),
    "extract_keys, first": lambda w, urls: data(w, urls).extract_keys("*s*", duplicate_is_error=False),
    "xdecode": lambda w, urls: data(w, urls).xdecode(
        ("*.j*", len_of), ("*.jpg", False), cls=len_of, must_decode=False
    ),
    "associate": lambda w, urls: w.DataPipeline(
        w.SimpleShardList(urls), w.tarfile_to_samples(), w.associate({"s1/00002": {"n": 3}}), w.slice(12)
    ),
    "files": lambda w, urls: data(
        w, urls, select_files=lambda n: "4" in n, rename_files=lambda n: n.replace("s", "t")
    ),
    "pipeline": lambda w, urls: w.DataPipeline(
        w.SimpleShardList(urls, seed=3),
        w.split_by_node,
        w.split_by_worker,
        w.tarfile_to_samples(handler=w.reraise_exception),
        w.shuffle(10, seed=3),
        w.decode("pil"),
        w.to_tuple("jpg;png", "cls"),
        w.map_tuple(TRAIN),
        w.batched(5),
    ),
    "loader": lambda w, urls: (
        w.WebLoader(
            data(w, urls).decode("pil").to_tuple("jpg;png", "cls").map_tuple(TRAIN).batched(5),
            batch_size=None,
        )
        .unbatched()
        .batched(3)
        .with_epoch(9)
    ),
    "workers": lambda w, urls: w.WebLoader(
        data(w, urls).decode("pil").to_tuple("jpg;png", "cls", "__key__").map_tuple(TRAIN).batched(4),
        batch_size=None,
        num_workers=2,
    ),
    "torch's batches": lambda w, urls: w.WebLoader(
        data(w, urls).decode("pil").to_tuple("jpg;png", "cls").map_tuple(TRAIN), batch_size=4, num_workers=2
    ),
}


def len_of(stream: Any) -> int:
    return len(stream.read())


@pytest.mark.parametrize("name", PIPELINES)
def test_it_is_the_packages(name: str, shards: str, theirs: Any) -> None:
    want, got = (seeded(PIPELINES[name], package, shards) for package in (theirs, wds))
    assert len(want) > 4
    same(got, want)


@pytest.mark.parametrize(
    "stage",
    [
        lambda d: d.rename_keys(a="*.none"),
        lambda d: d.rename_keys(a="*s*"),
        lambda d: d.extract_keys("none"),
        lambda d: d.extract_keys("*s*"),
        lambda d: d.xdecode(cls=len_of),
    ],
)
def test_names_that_do_not_match_are_errors_there_too(stage: Any, shards: str, theirs: Any) -> None:
    for package in (theirs, wds):
        with pytest.raises(ValueError):
            list(stage(data(package, shards)))


def test_keys_are_logged_alike(shards: str, theirs: Any, tmp_path: Path) -> None:
    for name, package in (("a", theirs), ("b", wds)):
        for _ in range(2):
            assert len(list(data(package, shards).log_keys(str(tmp_path / name)).log_keys())) == 35
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_compressed_shards(tmp_path: Path, kind: str) -> None:
    plain = tar_bytes([{"txt": b"%d" % i * 3000} for i in range(5)])
    path = tmp_path / f"a.tar.{kind}"
    if kind == "zst":
        pyarrow = pytest.importorskip("pyarrow")
        path.write_bytes(bytes(pyarrow.compress(plain, "zstd", asbytes=True)))
    else:
        with tarfile.open(path, f"w:{kind}") as tar, tarfile.open(fileobj=io.BytesIO(plain)) as source:
            for member in source:
                tar.addfile(member, source.extractfile(member))
    samples = list(data(wds, str(path)))
    assert [sample["txt"] for sample in samples] == [b"%d" % i * 3000 for i in range(5)]


class Told:
    """A handler that keeps what it is told."""

    def __init__(self, answer: bool = True) -> None:
        self.answer, self.errors = answer, list[Exception]()

    def __call__(self, error: Exception) -> bool:
        self.errors.append(error)
        return self.answer


def broken(tmp_path: Path) -> dict[str, bytes]:
    """Shards that the package reads the beginning of, and says nothing."""
    whole = tar_bytes([{"cls": b"%d" % i} for i in range(4)])
    header = bytearray(whole)
    header[2 * 1024] ^= 1
    return {"header": bytes(header), "cut header": whole[:2148], "two archives": whole + whole}


@pytest.mark.parametrize("name", ["header", "cut header", "two archives"])
def test_what_the_package_loses_in_silence_is_an_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(broken(tmp_path)[name])
    with pytest.raises(errors.DamagedError) as error:
        list(data(wds, str(path)))
    assert error.value.path == str(path) and error.value.offset == (2048 if "header" in name else 4096)
    told, urls = Told(), [str(path), str(path)]
    got = list(data(wds, urls, handler=told))
    assert len(told.errors) == 2 and str(path) in str(told.errors[0])
    assert [int(sample["cls"]) for sample in got] == [0, 1, 2, 3][: 2 if "header" in name else 4] * 2
    webdataset = pytest.importorskip("webdataset")
    want = list(data(webdataset, urls, handler=lambda error: pytest.fail(repr(error))))
    same(got, want)


@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
def test_packed_shards_are_read_to_their_end(packer: Any, tmp_path: Path) -> None:
    """Python's tarfile, and so the package, stops behind the first of several packed parts."""
    path, many = tmp_path / "a.tar", [{"cls": b"%d" % i * 500} for i in range(60)]
    whole = tar_bytes(many)
    path.write_bytes(packer.compress(whole[:20480]) + packer.compress(whole[20480:]))
    assert [sample["cls"] for sample in data(wds, str(path))] == [sample["cls"] for sample in many]
    path.write_bytes(packer.compress(whole) + packer.compress(whole))
    with pytest.raises(errors.DamagedError, match="second archive"):
        list(data(wds, str(path)))
    path.write_bytes(packer.compress(whole)[:-12])
    with pytest.raises(errors.DamagedError, match="ended before"):
        list(data(wds, str(path)))
    path.write_bytes(packer.compress(whole + bytes(32 << 20)))  # seconds, where all of that was held
    assert len(list(data(wds, str(path)))) == 60


def test_a_command_leaves_nothing_behind(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", [{"cls": b"1"}, {"cls": b"2"}])
    said = tmp_path / "pid"
    samples = iter(data(wds, f"pipe:sleep 600 & echo $! > {said}; cat {tmp_path}/a.tar; wait"))
    assert next(samples)["cls"] == b"1"
    samples.close()
    for _ in range(100):
        if not Path(f"/proc/{said.read_text().strip()}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the command's own process goes on")


def test_a_size_that_is_a_lie_takes_no_memory(tmp_path: Path) -> None:
    whole = bytearray(tar_bytes([{"cls": b"1"}]))
    whole[124:136] = b"\x80" + (1 << 40).to_bytes(11, "big")
    whole[148:156] = b" " * 8
    whole[148:156] = b"%06o\0 " % sum(whole[:512])
    (tmp_path / "a.tar").write_bytes(whole)
    with pytest.raises(errors.DamagedError, match="the archive ends after"):
        list(data(wds, str(tmp_path / "a.tar")))


def test_the_handler_decides(tmp_path: Path, theirs: Any) -> None:
    """What the package tells its handler of, in the order of its samples."""
    cut, twice, gone = tmp_path / "0.tar", tmp_path / "1.tar", tmp_path / "2.tar"
    whole = tar_bytes([{"cls": b"%d" % i * 600} for i in range(3)])
    cut.write_bytes(whole[:4000])
    twice.write_bytes(tar_bytes([{"JPG": b"1", "jpg": b"2"}, {"cls": b"4"}]))
    last = tmp_path / "3.tar"
    last.write_bytes(tar_bytes([{"cls": b"5"}], stem="z"))
    for going in (True, False):
        for end in (3, 2, 1):
            urls = [str(path) for path in (cut, twice, gone, last)][-end:]
            made = []
            for package in (theirs, wds):
                told = Told(going)
                made.append((list(data(package, urls, handler=told, empty_check=False)), len(told.errors)))
            same(made[1], made[0])


def test_pictures_are_lazy_and_bad_ones_raise_where_they_are_decoded(tmp_path: Path) -> None:
    picture = contents(1)[0]
    write_tar(
        tmp_path / "a.tar", [{"jpg": picture}, {"jpg": picture[:-300]}, {"jpg": b"none"}, {"jpg": picture}]
    )
    told = Told()
    dataset = data(wds, str(tmp_path / "a.tar")).decode("pil", handler=told)
    samples = list(dataset)
    assert [sample["__key__"] for sample in samples] == ["00000", "00003"]
    assert all(type(sample["jpg"]) is LazyImage for sample in samples)
    assert [type(error) for error in told.errors] == [wds.DecodingError] * 2 and "00001" in str(
        told.errors[0]
    )


def test_pickles_are_refused(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", [{"pyd": pickle.dumps([1]), "txt.gz": gzip.compress(b"a")}])
    dataset = data(wds, str(tmp_path / "a.tar"))
    with pytest.raises(wds.DecodingError) as error:
        list(dataset.decode())
    assert isinstance(error.value.__cause__, errors.UnsupportedError)
    (sample,) = dataset.decode(wds.handle_extension("pyd", pickle.loads))
    assert sample["pyd"] == [1] and sample["txt.gz"] == "a"


def test_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tar(tmp_path / "a.tar", [{"cls": b"1"}])
    monkeypatch.setenv("WDS_PLACE", str(tmp_path))
    for urls in (
        "${PLACE}/a.tar",
        f"{tmp_path}/*.tar",
        f"file:{tmp_path}/a.tar",
        f"pipe:cat {tmp_path}/a.tar",
        f"pipe:cat {tmp_path}/a.tar; exit 141",
    ):
        assert [sample["cls"] for sample in data(wds, urls)] == [b"1"], urls
    with pytest.raises(errors.ReadError, match="ended with"):
        list(data(wds, f"pipe:cat {tmp_path}/a.tar; exit 3"))
    with pytest.raises(errors.NotFoundError, match="no file matches"):
        data(wds, f"{tmp_path}/none-*.tar::{tmp_path}/a.tar")
    write_tar(tmp_path / "a.tar#2", [{"cls": b"2"}])
    stages = wds.SimpleShardList([f"{tmp_path}/a.tar#2"]), wds.tarfile_to_samples()
    assert [sample["cls"] for sample in wds.DataPipeline(*stages)] == [b"2"]
    with pytest.raises(errors.UnsupportedError, match="ftp9"):
        list(data(wds, "ftp9://a.tar"))
    for bad in ("a.yaml", "a/", {}):
        with pytest.raises(ValueError, match="specifications"):
            data(wds, bad)


def test_a_length_and_a_pickle(shards: str) -> None:
    sized = data(wds, shards).decode().with_length(12, silent=True)
    again = pickle.loads(pickle.dumps(sized))
    assert len(sized) == len(again) == 12
    same(list(again), list(sized))


def test_ranks(shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="split_by_node"):
        list(data(wds, shards))
    keys = {sample["__key__"][:2] for sample in data(wds, shards, nodesplitter=wds.split_by_node)}
    assert keys == {"s1", "s3"}


def test_no_sample_is_an_error(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", [])
    with pytest.raises(ValueError, match="no samples"):
        list(data(wds, str(tmp_path / "a.tar")))


def _endless() -> Iterator[int]:
    yield from itertools.count()


def test_a_function_is_a_source_and_a_stage() -> None:
    pipeline = wds.DataPipeline(_endless, lambda numbers: (2 * number for number in numbers)).compose(
        wds.pipelinefilter(itertools.islice)(5)
    )
    assert list(pipeline) == [0, 2, 4, 6, 8]

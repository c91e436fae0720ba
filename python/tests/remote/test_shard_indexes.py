"""Tar shards on a server with an index beside each: batches are the disk's, and only what they need comes."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import gofast
from buckets import Bucket, bucket
from gofast import errors
from gofast._command import main, shard_writer
from gofast._core import remote_shards
from gofast._core.remote_shards import RemoteShards
from gofast._core.shard_index import write_index
from gofast._images.picture_batches import PictureBatchSource
from image_data import make_folder
from served import Served, serving

TRAIN = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()])
TEST = T.Compose([T.Resize((24, 24)), T.ToTensor()])


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "1GB")
    monkeypatch.setattr(shard_writer, "_SMALLEST", 0)
    return tmp_path / "kept"


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of a folder, and their indexes."""
    place = tmp_path_factory.mktemp("sharded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_writer, "_SMALLEST", 0)
        return shard(place / "out", make_folder(place / "photos", 90))


@pytest.fixture
def out(sharded: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(sharded, tmp_path / "out"))


def shard(out: Path, photos: Path, *more: str) -> Path:
    line = [str(photos), str(out / "train-{:03d}.tar"), "--size", "40kB", *(more or ("--shuffle", "1"))]
    assert main.main(["shard", *line]) == 0
    return out


@pytest.fixture
def web(out: Path) -> Iterator[Served]:
    with serving() as made:
        made.put(**{path.name: path.read_bytes() for path in out.iterdir()})
        yield made


def tars(out: Path) -> list[Path]:
    return sorted(out.glob("*.tar"))


def urls(web: Served, out: Path) -> str:
    return f"{web.url}train-{{000..{len(tars(out)) - 1:03d}}}.tar"


def remote(web: Served, out: Path, transform: Any = TEST, **options: Any) -> gofast.ImageFiles:
    made = gofast.ImageFiles.from_tar(urls(web, out), transform=transform, **options)
    assert isinstance(made._listing.files.shards, RemoteShards)
    return made


def local(out: Path, transform: Any = TEST) -> gofast.ImageFiles:
    return gofast.ImageFiles.from_tar(out / "*.tar", transform=transform)


def came(web: Served) -> list[str]:
    """The shards of which more than a byte was asked for."""
    return sorted(name for name, count in web.whole.items() if name.endswith(".tar") and count)


def epoch(loader: Any, seed: int = 0) -> list[Any]:
    torch.manual_seed(seed)
    return [[one.clone() for one in batch] for batch in loader]


def same(got: list[Any], want: list[Any]) -> bool:
    pairs = zip(got, want, strict=True)
    return all(torch.equal(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


def test_no_shard_comes_before_its_samples_do(web: Served, out: Path) -> None:
    want = local(out)
    assert len(tars(out)) >= 20
    dataset = remote(web, out)
    assert (len(dataset), dataset.classes, dataset.targets) == (len(want), want.classes, want.targets)
    assert came(web) == []
    assert {web.whole[f"{path.name}.index"] for path in tars(out)} == {1}
    assert (
        web.asked.total() == 2 * len(tars(out)) + 1
    )  # what each shard is, each index, and whether there are any
    assert dataset.paths[:2] == [f"{web.url}train-000.tar[{i}]" for i in range(2)]
    first = next(iter(DataLoader(dataset, 2)))
    assert same([first], [next(iter(DataLoader(want, 2)))])
    assert came(web) == ["train-000.tar"]
    last = dataset[-1]
    assert torch.equal(last[0], want[-1][0]) and last[1] == want[-1][1]
    assert came(web) == ["train-000.tar", tars(out)[-1].name]
    remote(web, out)[0]
    assert web.whole["train-000.tar"] == 1  # it is kept


def test_indexes_are_kept_while_the_shards_are_the_same(web: Served, out: Path, kept: Path) -> None:
    def asked() -> tuple[int, int]:
        """For indexes, and what shards are, since the last time."""
        with web.lock:
            indexes = sum(count for name, count in web.asked.items() if name.endswith("index"))
            made = indexes, web.asked.total() - indexes
            web.asked.clear()
        return made

    want = remote(web, out).targets
    count = len(tars(out))
    assert asked() == (count + 1, count)
    assert remote(web, out).targets == want
    assert asked() == (1, count)
    (path,) = kept.glob("*.index")
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:500] + b"x" + whole[501:], b"", bytes(len(whole))):
        path.write_bytes(damaged)
        assert remote(web, out).targets == want
        assert asked() == (count + 1, count)
        assert remote(web, out).targets == want
        assert asked() == (1, count)
    web.files["train-000.tar"] = relabelled(web.files["train-000.tar"])
    for _ in range(2):
        dataset = remote(web, out)
        assert asked() == (count + 1, count)  # of other shards, and then of one that was another's
        with pytest.raises(errors.ChangedError, match=r"not the file that .*train-000\.tar\.index is of"):
            dataset[0]
        asked()
    path = out / "train-000.tar"
    path.write_bytes(web.files["train-000.tar"])
    Path(f"{path}.index").unlink()
    write_index(str(path), f"{path}.index")
    web.files[f"{path.name}.index"] = Path(f"{path}.index").read_bytes()
    assert remote(web, out)[0][1] == local(out)[0][1]


@pytest.mark.parametrize("transform", [TRAIN, TEST])
@pytest.mark.parametrize(
    ("loader", "options"),
    [
        (gofast.DataLoader, {}),
        (gofast.DataLoader, {"num_workers": 2}),
        (gofast.DataLoader, {"num_workers": 2, "collate_fn": torch.utils.data.default_collate}),
        (DataLoader, {}),
        (DataLoader, {"num_workers": 2, "multiprocessing_context": "fork"}),
    ],
)
def test_batches_are_those_of_the_disk(
    loader: Any, options: dict[str, Any], transform: Any, web: Served, out: Path
) -> None:
    want, got = (loader(one(transform), 7, shuffle=True, **options) for one in (
        lambda transform: local(out, transform), lambda transform: remote(web, out, transform)
    ))  # fmt: skip
    for seed in range(2):
        assert same(epoch(got, seed), epoch(want, seed))
    assert set(web.whole.values()) == {1}


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_that_inherit_nothing(method: str, web: Served, out: Path) -> None:
    dataset = remote(web, out, TRAIN)
    rows = Subset(dataset, range(20))
    options: dict[str, Any] = {"num_workers": 1, "multiprocessing_context": method}
    want = epoch(DataLoader(Subset(local(out, TRAIN), range(20)), 7, num_workers=1))
    assert same(epoch(DataLoader(rows, 7, **options)), want)
    assert len(came(web)) == 4 and max(web.whole.values()) == 1


def test_subsets_and_sums_of_datasets(web: Served, out: Path) -> None:
    def parts(dataset: Any, other: Any) -> Any:
        return ConcatDataset([Subset(dataset, [3, 1, -1, 40]), other])

    want = parts(local(out, TRAIN), local(out, TRAIN))
    got = parts(remote(web, out, TRAIN), local(out, TRAIN))
    assert same(epoch(gofast.DataLoader(got, 5)), epoch(gofast.DataLoader(want, 5)))
    assert len(came(web)) in (3, 4)


def test_the_next_ones_come_ahead(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_shards, "_BYTES_AHEAD", 0)
    dataset = remote(web, out)
    batches = iter(gofast.DataLoader(dataset, 1, num_workers=1, prefetch_factor=1))
    next(batches)
    shards = dataset._listing.files.shards
    assert shards is not None
    there = sorted({*shards._here.held, *shards._here.coming})
    assert there == [*range(len(there))] and 3 <= len(there) <= 5  # of the batches ahead, and two more


def held(folder: Path) -> int:
    """The bytes of what is downloaded: the least of three looks, which count what comes and goes."""

    def look() -> int:
        size = 0
        for path in folder.glob("*-*"):
            with contextlib.suppress(FileNotFoundError):
                size += path.stat().st_size
        return size

    return min(look() for _ in range(3))


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_budget_of_a_few_shards(
    shuffle: bool, web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 4 * max(path.stat().st_size for path in tars(out))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    monkeypatch.setattr(remote_shards, "_TURNS", 2)
    size = 1 if shuffle else 3
    want, got = (gofast.DataLoader(one, size, shuffle=shuffle) for one in (local(out), remote(web, out)))
    for seed in range(2):
        torch.manual_seed(seed)
        expected = [batch[0].clone() for batch in want]
        torch.manual_seed(seed)
        for batch, other in zip(got, expected, strict=True):
            assert torch.equal(batch[0], other)
            assert held(kept) <= limit
    assert sum(web.whole[path.name] for path in tars(out)) >= len(tars(out)) * (3 if shuffle else 1)


@pytest.mark.parametrize("how", ["fork", "forkserver"])
def test_workers_leave_each_other_room(
    how: str, web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(7 * max(path.stat().st_size for path in tars(out))))
    loader = DataLoader(remote(web, out), 1, num_workers=2, multiprocessing_context=how)
    assert same(epoch(loader), epoch(DataLoader(local(out), 1)))
    assert sum(web.sent[path.name] for path in tars(out)) < 2 * sum(path.stat().st_size for path in tars(out))


def test_a_batch_that_cannot_fit_says_so(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 4 * max(path.stat().st_size for path in tars(out))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    dataset = remote(web, out)
    with pytest.raises(errors.LimitError, match="raise cache_limit= by"):
        next(iter(gofast.DataLoader(dataset, 64, shuffle=True)))
    assert dataset[0][1] == dataset.targets[0]


def test_what_is_gone_when_it_is_read_comes_again(
    web: Served, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = epoch(gofast.DataLoader(local(out), 8))
    monkeypatch.setattr(PictureBatchSource, "fetch", lambda *_: True)  # as if evicted behind it
    monkeypatch.setattr(PictureBatchSource, "using", lambda *_: contextlib.nullcontext())
    assert same(epoch(gofast.DataLoader(remote(web, out), 8)), want)


def test_what_is_removed_while_it_is_used_comes_again(web: Served, out: Path, kept: Path) -> None:
    """A picture that Pillow decodes is read by the process itself."""
    dataset = remote(web, out)
    files = dataset._listing.files
    content = files.source(0).read()
    for path in kept.glob("*.tar"):
        path.unlink()
    assert files.source(0).read() == content


def test_resuming_brings_only_the_rest(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = epoch(gofast.DataLoader(local(out), 4))
    loader = gofast.DataLoader(remote(web, out), 4)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    del batches
    web.whole.clear()
    monkeypatch.setenv("GOFAST_DOWNLOADS", os.environ["GOFAST_DOWNLOADS"] + "-2")  # another machine
    other = gofast.DataLoader(remote(web, out), 4)
    other.load_state_dict(state)
    assert same(epoch(other), want[3:])
    assert "train-000.tar" not in came(web) and tars(out)[-1].name in came(web)
    batches = iter(loader)
    for _ in want:
        next(batches)
    other.load_state_dict(loader.state_dict())
    assert [len(epoch(other)) for _ in range(2)] == [0, len(want)]


def test_a_pickle_finds_the_same_records(web: Served, out: Path, sharded: Path, tmp_path: Path) -> None:
    dataset = remote(web, out, TRAIN)
    assert copy.deepcopy(dataset)._listing.files.shards is dataset._listing.files.shards
    told = pickle.dumps(dataset)
    again = pickle.loads(told)
    loaders = [gofast.DataLoader(one, 8) for one in (again, local(out, TRAIN))]
    assert same(*map(epoch, loaders))
    other = shard(tmp_path / "other", sharded.parent / "photos", "--shuffle", "2")
    web.put(**{path.name: path.read_bytes() for path in other.iterdir()})
    with pytest.raises(errors.ChangedError, match="when the dataset was pickled"):
        pickle.loads(told)


def test_a_shard_that_changes_meanwhile_is_an_error(web: Served, out: Path) -> None:
    dataset = remote(web, out)
    web.files["train-001.tar"] = web.files["train-001.tar"][:-1] + b"\1"
    assert dataset[0][1] == dataset.targets[0]
    with pytest.raises(errors.ChangedError, match=r"train-001\.tar"):
        for _ in gofast.DataLoader(dataset, 2):
            pass


def relabelled(data: bytes) -> bytes:
    """A shard as long, of which a picture has another label."""
    made = bytearray(data)
    at = data.index(b".cls\0") // 512 * 512 + 512
    made[at] = ord("0") + (data[at] - ord("0") + 1) % 3
    return bytes(made)


def test_an_index_of_another_file_of_its_size_is_found_with_it(web: Served, out: Path) -> None:
    web.files["train-000.tar"] = relabelled(web.files["train-000.tar"])
    dataset = remote(web, out)  # HTTP: the index knows no ETag
    with pytest.raises(errors.ChangedError, match=r"not the file that .*train-000\.tar\.index is of"):
        dataset[0]
    assert torch.equal(dataset[-1][0], local(out)[-1][0])


def cut(web: Served) -> None:
    web.files["train-003.tar.index"] = web.files["train-003.tar.index"][:-9]


def other(web: Served) -> None:
    size = len(web.files["train-003.tar"])
    name = next(name for name, data in web.files.items() if name.endswith("tar") and len(data) != size)
    web.files["train-003.tar.index"] = web.files[f"{name}.index"]


def page(web: Served) -> None:
    web.files["train-003.tar.index"] = b"<html>not found</html>" * 100


def gone(web: Served) -> None:
    del web.files["train-003.tar.index"]


def refused(web: Served) -> None:
    def refuse(request: Any, number: int) -> bool:
        if request.path.endswith("train-003.tar.index"):
            request.send_error(403)
            return True
        return False

    web.spoil = refuse


@pytest.mark.parametrize("spoil", [cut, other, page, gone, refused])
def test_an_index_that_is_none_is_a_warning(spoil: Callable[[Served], None], web: Served, out: Path) -> None:
    spoil(web)
    with pytest.warns(gofast.errors.GofastWarning, match=r"train-003.*gofast shard writes them"):
        dataset = gofast.ImageFiles.from_tar(urls(web, out), transform=TEST)
    assert dataset._listing.files.shards is None and len(came(web)) == len(tars(out))
    assert same(epoch(gofast.DataLoader(dataset, 8)), epoch(gofast.DataLoader(local(out), 8)))


def test_without_indexes_all_is_as_it_was(web: Served, out: Path, recwarn: pytest.WarningsRecorder) -> None:
    web.files = {name: data for name, data in web.files.items() if not name.endswith(".index")}
    dataset = gofast.ImageFiles.from_tar(urls(web, out), transform=TEST)
    assert not recwarn.list and len(came(web)) == len(tars(out))
    assert sum(count for name, count in web.asked.items() if name.endswith("index")) == 1
    assert dataset.classes == local(out).classes


@pytest.mark.parametrize("status", [503, 500])
def test_a_server_that_is_busy_has_indexes_all_the_same(status: int, web: Served, out: Path) -> None:
    def busy(request: Any, number: int) -> bool:
        if request.path.endswith("train-000.tar.index") and number == 1:
            request.send_error(status)
            return True
        return False

    web.spoil = busy
    remote(web, out)


@pytest.mark.parametrize("label", ["txt", "json:a.b", ["cls"]])
def test_labels_that_no_index_has(label: Any, web: Served, out: Path) -> None:
    if label == ["cls"]:
        dataset = gofast.ImageFiles.from_tar(urls(web, out), label=label, transform=TEST)
        assert [one for (one,) in dataset.targets] == local(out).targets
        return
    with pytest.raises(errors.SchemaError, match="no record has a feature"):
        gofast.ImageFiles.from_tar(urls(web, out), label=label)


def test_missing_suffixes_are_the_disks_errors(web: Served, out: Path) -> None:
    for options in ({"image": "webp"}, {"image": "jpg"}, {"label": "index"}):
        said = []
        for paths in (out / "*.tar", urls(web, out)):
            with pytest.raises(errors.GofastError) as raised:
                gofast.ImageFiles.from_tar(paths, **options)  # type: ignore[arg-type]
            said.append((type(raised.value), str(raised.value).partition("train-")[2]))
        assert said[0] == said[1]
    assert came(web) == []


def test_ctrl_c_leaves_all_as_it_was(web: Served, out: Path) -> None:
    dataset = remote(web, out)

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def hold(request: Any, number: int) -> bool:
        if "train-000.tar" in request.path and not request.path.endswith("index"):
            os.kill(os.getpid(), signal.SIGINT)
        return False

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        web.spoil = hold
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000):
                dataset[0]
                (item,) = [*dataset._listing.files.shards._here.held]  # type: ignore[union-attr]
                dataset._listing.files.shards._here.held.pop(item)[0].release()  # type: ignore[union-attr]
    finally:
        web.spoil = None
        signal.signal(signal.SIGINT, before)
    assert torch.equal(dataset[0][0], local(out)[0][0])


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as made:
        yield made


def test_a_bucket(
    store: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = make_folder(tmp_path / "photos", 40)
    line = ["shard", str(photos), "s3://bkt/sets/train-{:03d}.tar", "--size", "20kB", "--verify"]
    assert main.main(line) == 0
    names = [key for key in store.objects if key.endswith(".tar")]
    assert sorted(store.objects) == sorted([*names, *(f"{name}.index" for name in names)]) and len(names) > 9
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "another"))
    before = store.asked["GET object"]
    dataset, want = gofast.ImageFiles.from_tar("s3://bkt/sets/train-*.tar"), ImageFolder(photos)
    assert store.asked["GET object"] - before == len(names) + 1  # whether there are any, and each index
    assert dataset.classes == want.classes and dataset.targets == want.targets
    assert all(dataset[i][0].tobytes() == want[i][0].tobytes() for i in range(len(want)))
    sent = store.asked["PUT object"]
    assert main.main(line) == 0 and store.asked["PUT object"] == sent
    # An interruption between a shard and its index.
    index = store.objects.pop(f"{names[1]}.index")
    assert main.main(line) == 0
    assert store.objects[f"{names[1]}.index"].content == index.content
    # A shard that was written anew, by other means.
    store.put(names[1], relabelled(store.objects[names[1]].content))
    with pytest.warns(gofast.errors.GofastWarning, match="index"):
        gofast.ImageFiles.from_tar("s3://bkt/sets/train-*.tar")
    store.objects[f"{names[2]}.index"] = index
    capsys.readouterr()
    assert main.main(line) != 0

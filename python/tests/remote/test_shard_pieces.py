"""Shards with indexes that the budget of downloads does not hold: what their samples need comes in ranges."""

from __future__ import annotations

import io
import pickle
import random
import re
import tarfile
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Subset

import gofast
from gofast import errors
from gofast._core import shard_pieces
from gofast._core.braces import index_name
from gofast._core.shard_index import index_of, write_index
from image_data import make_folder
from picture_files import contents
from served import Served
from tars import tar_bytes
from test_shard_indexes import TRAIN, epoch, held, local, relabelled, remote, same, shard, tars
from test_shard_indexes import kept as kept
from test_shard_indexes import web as web

GAP = 3 * 512  # between the pictures of two records: a label and two headers


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three shards of some 30 pictures, and their indexes."""
    return shard(tmp_path / "out", make_folder(tmp_path / "photos", 90), "--size", "250kB", "--shuffle", "1")


def limited(monkeypatch: pytest.MonkeyPatch, limit: int, share: int = 3) -> None:
    """So many bytes of downloads; a piece takes less than 1 / 2**share of them."""
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    monkeypatch.setattr(shard_pieces, "_SHARE", share)


def sizes(out: Path) -> list[int]:
    return [path.stat().st_size for path in tars(out)]


def cuts(dataset: gofast.ImageFiles) -> shard_pieces.ShardPieces:
    records = dataset._listing.files.shards
    assert records is not None
    return records._pieces


@pytest.mark.parametrize(
    ("shards", "loader", "options"),
    [
        (0.7, gofast.DataLoader, {}),
        (0.7, gofast.DataLoader, {"num_workers": 2}),
        (0.7, gofast.DataLoader, {"num_workers": 2, "persistent_workers": True}),
        (0.7, DataLoader, {}),
        (0.7, DataLoader, {"num_workers": 2, "multiprocessing_context": "fork"}),
        (0.7, DataLoader, {"num_workers": 1, "multiprocessing_context": "spawn", "persistent_workers": True}),
        (1.9, gofast.DataLoader, {}),
        (3, gofast.DataLoader, {"num_workers": 2}),
        (1000, gofast.DataLoader, {}),
    ],
)
def test_batches_are_those_of_the_disk_in_any_room(
    loader: Any,
    options: dict[str, Any],
    shards: float,
    web: Served,
    out: Path,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = int(shards * max(sizes(out)))
    limited(monkeypatch, limit, 4)
    got = remote(web, out, TRAIN)
    assert (len(cuts(got).ends) > len(tars(out))) == (shards < 1000)
    rows = range(0, len(got), 3)
    want, have = (loader(Subset(one, rows), 2, shuffle=True, **options) for one in (local(out, TRAIN), got))
    for seed in range(2):
        torch.manual_seed(seed)
        expected = [[one.clone() for one in batch] for batch in want]
        torch.manual_seed(seed)
        for batch, other in zip(have, expected, strict=True):
            assert same([batch], [other])
            assert held(kept) <= limit


def test_ranks_read_their_share(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, int(1.5 * max(sizes(out))))
    for rank in range(3):
        want, got = (
            gofast.DataLoader(one, 2, sampler=gofast.Sampler(one, 3, rank, seed=1))
            for one in (local(out, TRAIN), remote(web, out, TRAIN))
        )
        assert same(epoch(got), epoch(want))


def test_a_sample_is_all_that_comes(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, max(sizes(out)), 20)
    dataset, want = remote(web, out), local(out)
    assert len(cuts(dataset).ends) == len(dataset)  # one record each
    ranges = list[str]()

    def note(request: BaseHTTPRequestHandler, number: int) -> bool:
        assert request.headers["If-Match"]
        ranges.append(request.headers["Range"])
        return False

    web.spoil = note
    numbers = [44, 0, len(dataset) - 1]
    for number in numbers:
        assert torch.equal(dataset[number][0], want[number][0])
        assert torch.equal(dataset[number][0], want[number][0])  # it is kept
    assert len(ranges) == len(numbers)
    extents = index_of(str(tars(out)[0])).columns["jpg"].values  # of the first shard
    assert extents[0, 1] + extents[0, 2] + GAP + 511 >= int(ranges[1].partition("-")[2])
    assert web.sent.total() < 3 * max(sizes(out))


def test_in_order_each_byte_comes_once(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 2 * max(sizes(out)), 2)
    dataset = remote(web, out)
    pieces = cuts(dataset)
    assert len(tars(out)) < len(pieces.ends) < len(dataset)
    before = web.sent.total()
    assert same(epoch(gofast.DataLoader(dataset, 4)), epoch(gofast.DataLoader(local(out), 4)))
    assert web.sent.total() - before <= sum(sizes(out)) + GAP * len(pieces.ends)


def test_in_a_global_shuffle_each_byte_comes_once(
    web: Served, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, int(0.9 * max(sizes(out))), 10)
    dataset = remote(web, out)
    assert len(cuts(dataset).ends) == len(dataset)
    before = web.sent.total()
    epoch(gofast.DataLoader(dataset, 2, shuffle=True))
    assert web.sent.total() - before <= sum(sizes(out)) + GAP * len(dataset)


@pytest.mark.parametrize("ignores", [False, True])
def test_a_shard_that_changes_is_an_error_that_names_it(
    ignores: bool, web: Served, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, max(sizes(out)))
    dataset = remote(web, out)
    dataset[0]
    web.files["train-000.tar"] = web.files["train-000.tar"][:-1] + b"\1"

    def spoil(request: BaseHTTPRequestHandler, number: int) -> bool:
        if ignores:
            del request.headers["If-Match"]
        return False

    web.spoil = spoil
    behind = int(dataset._listing.files.shards._ends[0])  # type: ignore[union-attr]
    with pytest.raises(errors.ChangedError, match=r"train-000\.tar: offset.* another one by now"):
        dataset[behind - 1]
    assert torch.equal(dataset[behind][0], local(out)[behind][0])


def test_a_server_that_sends_all_for_a_range(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, max(sizes(out)))
    dataset = remote(web, out)

    def spoil(request: BaseHTTPRequestHandler, number: int) -> bool:
        del request.headers["Range"]
        return False

    web.spoil = spoil
    assert same(epoch(gofast.DataLoader(dataset, 4)), epoch(gofast.DataLoader(local(out), 4)))
    again = remote(web, out)
    assert len(cuts(again).ends) == len(tars(out))  # it says so at once: nothing is cut


def test_headers_are_compared_with_the_index(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, max(sizes(out)))
    web.files["train-000.tar"] = relabelled(web.files["train-000.tar"])
    dataset = remote(web, out)  # HTTP: the index knows no ETag
    with pytest.raises(errors.ChangedError, match=r"not the file that .*train-000\.tar\.index is of"):
        dataset[0]
    assert torch.equal(dataset[-1][0], local(out)[-1][0])


def test_other_limits_have_the_same_records(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, max(sizes(out)))
    told = pickle.dumps(remote(web, out, TRAIN))
    limited(monkeypatch, 10**9)
    again = pickle.loads(told)
    assert len(cuts(again).ends) == len(tars(out))
    rows = range(5, 30)
    loaders = [DataLoader(Subset(one, rows), 8) for one in (again, local(out, TRAIN))]
    assert same(*map(epoch, loaders))


def test_another_thread_reads_what_is_there_while_a_shard_stalls(web: Served, out: Path) -> None:
    dataset, want, over, asked = remote(web, out), local(out), threading.Event(), threading.Event()
    dataset[0]

    def stall(request: BaseHTTPRequestHandler, number: int) -> bool:
        asked.set()
        return not over.wait(60)

    web.spoil = stall
    came = list[Any]()
    waiting = [threading.Thread(target=lambda: came.append(dataset[-1])) for _ in range(2)]
    try:
        for each in waiting:
            each.start()
        assert asked.wait(60)
        reading = threading.Thread(target=lambda: came.append(dataset[1]))
        reading.start()
        reading.join(20)
        assert len(came) == 1 and torch.equal(came[0][0], want[1][0])
    finally:
        over.set()
        for each in waiting:
            each.join()
    assert [torch.equal(one[0], want[-1][0]) for one in came[1:]] == [True, True]
    assert web.whole[tars(out)[-1].name] == 1


def test_threads_in_little_room(web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = int(1.5 * max(sizes(out)))
    limited(monkeypatch, limit)
    dataset, want, wrong = remote(web, out), local(out), list[int]()

    def read(seed: int) -> None:
        for number in random.Random(seed).sample(range(len(want)), 40):
            if not torch.equal(dataset[number][0], want[number][0]):
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong and held(kept) <= limit


def odd(data: bytes, extra: bool, names: int) -> bytes:
    """The same samples with folders between them, and names so long that these have headers of their own."""
    made = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=made, mode="w") as new:
        for member in old:
            content = old.extractfile(member)
            if extra:
                folder = tarfile.TarInfo("folder/")
                folder.type = tarfile.DIRTYPE
                new.addfile(folder)
            member.name = "x" * names + member.name
            new.addfile(member, content)
    return made.getvalue()


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("names", [0, 150])
@pytest.mark.parametrize("suffixes", ["jpg cls", "cls jpg", "jpg", "png cls jpg txt"])
@pytest.mark.parametrize("share", [3, 12])
def test_each_piece_is_a_tar_file_of_its_records(
    share: int, suffixes: str, names: int, extra: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def content(suffix: str) -> bytes:
        return b"%d" % random.randrange(10) if suffix == "cls" else random.randbytes(random.randrange(3000))

    samples = [{suffix: content(suffix) for suffix in suffixes.split()} for _ in range(40)]
    data = odd(tar_bytes(samples), extra, names)
    path = tmp_path / "x.tar"
    path.write_bytes(data)
    whole = index_of(str(path))
    monkeypatch.setattr(shard_pieces, "_SHARE", share)
    state: Any = {"size": len(data), "whole": False}
    pieces = shard_pieces.cut([whole], [state], len(data), tars=True)
    count = len(pieces.ends)
    assert count == 40 if share == 12 else 4 < count < 40
    assert pieces.spans[0, 0] == 0 and pieces.spans[-1, 1] == len(data)

    def fits(content: bytes, piece: int, offset: int) -> bool:
        path.write_bytes(content)
        asked = whole.asked._replace(partial=pieces.span(piece)[1] < len(data))
        found = type(whole)._made(asked)
        columns = {name: column for name, column in whole.columns.items()}
        for column in columns.values():
            if column.kind == "byte":
                column.values = column.values - [0, offset, 0]
        try:
            return shard_pieces.is_of(found, columns, pieces, piece, len(data))
        finally:
            for column in columns.values():
                if column.kind == "byte":
                    column.values = column.values - [0, -offset, 0]

    for piece in range(count):
        begin, end = pieces.span(piece)
        part = data[begin:end]
        assert fits(part, piece, begin)
        if piece + 1 < count:
            after = pieces.span(piece + 1)
            assert not fits(data[slice(*after)], piece, begin)
        label = re.search(rb"\.cls\0", part)
        if label and piece and suffixes == "cls jpg":
            at = label.start() // 512 * 512 + 512
            assert not fits(part[:at] + b"%d" % ((part[at] - 47) % 10) + part[at + 1 :], piece, begin)


def test_an_index_that_cannot_be_cut_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(tar_bytes([{"jpg": random.randbytes(2000)} for _ in range(9)]))
    state: Any = {"size": path.stat().st_size, "whole": False}
    for row, column, value in [
        (3, 1, -1),
        (3, 1, 1 << 62),
        (3, 2, 1 << 62),
        (3, 2, -5),
        (3, 1, 512),
        (0, 1, 0),
    ]:
        whole = index_of(str(path))
        values = whole.columns["jpg"].values.copy()
        values[row, column] = value
        whole.columns["jpg"].values = values
        with pytest.raises(errors.DamagedError):
            shard_pieces.cut([whole], [state], 1000, tars=True)


def test_records_that_lie_among_each_other_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(tar_bytes([{"jpg": random.randbytes(2000), "png": b"x"} for _ in range(9)]))
    size = path.stat().st_size
    state: Any = {"size": size, "whole": False, "tag": "x"}
    whole = index_of(str(path))
    assert len(shard_pieces.cut([whole], [state], 1000, tars=False).ends) == 9
    assert len(shard_pieces.cut([whole], [state | {"tag": ""}], 1000, tars=False).ends) == 1
    whole.columns["png"].values = whole.columns["png"].values[::-1]
    pieces = shard_pieces.cut([whole], [state], 1000, tars=False)
    assert pieces.spans.tolist() == [[0, size]] and pieces.ends.tolist() == [9]


def test_a_piece_may_begin_like_a_packed_file(
    web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train-000.tar"
    pictures = [{"jpg": content, "cls": b"%d" % i} for i, content in enumerate(contents(6))]
    path.write_bytes(tar_bytes(pictures, stem="BZh91AY"))
    write_index(str(path), index_name(str(path)))
    web.files = {each.name: each.read_bytes() for each in (path, Path(index_name(str(path))))}
    limited(monkeypatch, 2 * path.stat().st_size - 1, 20)
    dataset = remote(web, tmp_path)
    assert len(cuts(dataset).ends) == 6
    assert [label for _, label in (dataset[i] for i in range(6))] == [*range(6)]

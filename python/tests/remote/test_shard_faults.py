"""Tar shards with indexes where something goes wrong: a server that says little, errors, too little room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._core import units
from served import Served
from test_shard_indexes import TEST, TRAIN, came, epoch, held, local, remote, same, tars, urls
from test_shard_indexes import kept as kept
from test_shard_indexes import out as out
from test_shard_indexes import sharded as sharded
from test_shard_indexes import web as web

FLIP = T.Compose([T.Resize((24, 24)), T.RandomHorizontalFlip(), T.ToTensor()])  # draws, and needs no size


def part(web: Served, first: int, behind: int) -> gofast.ImageFiles:
    paths = [f"{web.url}train-{i:03d}.tar" for i in range(first, behind)]
    return gofast.ImageFiles.from_tar(paths, transform=TEST)


def test_files_without_a_version_come_first(web: Served, out: Path) -> None:
    """Another process would call them something else, and nobody would see that one has changed."""
    web.tags = False
    dataset = gofast.ImageFiles.from_tar(urls(web, out), transform=TEST)
    assert dataset._listing.files.shards is None and len(came(web)) == len(tars(out))
    loader = DataLoader(Subset(dataset, range(20)), 7, num_workers=1, multiprocessing_context="forkserver")
    assert same(epoch(loader), epoch(DataLoader(Subset(local(out), range(20)), 7)))


@pytest.mark.parametrize(
    ("status", "behind"), [(403, ""), (400, "train-003.tar.index"), (401, "train-000.tar.index")]
)
def test_what_a_server_refuses_for_other_reasons_is_an_error(
    status: int, behind: str, web: Served, out: Path, recwarn: pytest.WarningsRecorder
) -> None:
    def refuse(request: Any, number: int) -> bool:
        if request.path.endswith(behind):
            request.send_error(status)
            return True
        return False

    web.spoil = refuse
    with pytest.raises(errors.ReadError, match=f"the server says {status}"):
        gofast.ImageFiles.from_tar(urls(web, out))
    assert not recwarn.list and not came(web)


def test_explain_says_where_the_shards_are(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def line(dataset: Any) -> str:
        return next(what for name, _, what in gofast.explain(dataset).lines if name == "shards")

    shards, size = len(tars(out)), units.size(sum(path.stat().st_size for path in tars(out)))
    dataset, told = remote(web, out), f"{shards} shards on a server ({size})"
    assert line(dataset) == f"{told}, 0 of them here (0 B)"
    dataset[0]
    first = units.size(tars(out)[0].stat().st_size)
    loader = gofast.DataLoader(dataset, 4)
    assert line(loader) == f"{told}, 1 of them here ({first})"
    assert not [name for name, *_ in gofast.explain(local(out)).lines if name == "shards"]
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "200kB")
    said = f"{told} in 90 pieces, 0 of them here (0 B): they are more than half of the limit, 200.0 kB"
    assert line(remote(web, out)) == said


def test_a_dataset_that_rests_gives_another_its_room(
    web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 8 * max(path.stat().st_size for path in tars(out))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    parts, want = [part(web, 0, 14), part(web, 14, len(tars(out)))], local(out)
    rows = range(len(parts[0])), range(len(parts[0]), len(want))
    for _ in range(2):
        for one, other in zip(parts, (Subset(want, each) for each in rows), strict=True):
            assert same(epoch(gofast.DataLoader(one, 2)), epoch(gofast.DataLoader(other, 2)))
            assert held(kept) <= limit
    assert same(epoch(gofast.DataLoader(ConcatDataset(parts), 2)), epoch(gofast.DataLoader(want, 2)))


@pytest.mark.daily
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform", [TEST, TRAIN, FLIP])
@pytest.mark.parametrize("lists", [False, True])
def test_a_shard_that_is_gone_or_another_is_an_error_of_its_batches(
    workers: int, transform: Any, lists: bool, web: Served, out: Path
) -> None:
    dataset = remote(web, out, transform)
    records = dataset._listing.files.shards
    assert records is not None
    first, behind = (int(end) for end in records._ends[3:5])
    if lists:
        del web.files["train-004.tar"]
    else:
        web.files["train-004.tar"] = web.files["train-004.tar"][:-1] + b"\1"
    options: dict[str, Any] = {"collate_fn": list} if lists else {}
    batches, failed = iter(gofast.DataLoader(dataset, 2, num_workers=workers, **options)), []
    for number in range((len(dataset) + 1) // 2):
        try:
            next(batches)
        except (errors.NotFoundError, errors.ChangedError) as error:
            assert isinstance(error, errors.NotFoundError) == lists
            failed.append(number)
    assert failed == [*range(first // 2, (behind + 1) // 2)]
    assert next(batches, None) is None


def test_a_label_as_a_picture_is_an_error_of_the_picture(web: Served, out: Path) -> None:
    for paths in (out / "*.tar", urls(web, out)):
        with pytest.raises(errors.BadImageError, match="cannot identify image file"):
            gofast.ImageFiles.from_tar(paths, image="cls", label=None)[0]

"""gofast.webdataset goes on at its place: shards that are behind it are not opened."""

from __future__ import annotations

import builtins
import gzip
import io
import itertools
import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms as T

import gofast
import gofast.webdataset as wds
from gofast import errors
from gofast._core.generators import Generators
from picture_files import contents
from same import difference
from tars import write_tar
from through_a_file import through_a_file

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
SHARDS, SAMPLES = 8, 9


@pytest.fixture
def shards(tmp_path: Path) -> str:
    pictures = contents(SAMPLES)
    for shard in range(SHARDS):
        samples = [
            {"jpg" if i % 2 else "png": picture, "cls": b"%d" % (100 * shard + i)}
            for i, picture in enumerate(pictures)
        ]
        write_tar(tmp_path / f"{shard}.tar", samples, stem=f"s{shard}/")
    return f"{tmp_path}/{{0..{SHARDS - 1}}}.tar"


def noisy(number: int) -> float:
    return number + random.random() + float(np.random.rand()) + float(torch.rand(()))


def mixed(samples: list[Any]) -> Any:
    """A collation that draws."""
    return wds.default_collation_fn(samples), torch.rand(2)


def labelled(data: Any) -> Any:
    return data.decode().to_tuple("cls", "__key__", "cls").map_tuple(None, None, noisy)


def trained(data: Any, **options: Any) -> Any:
    return (
        data.shuffle(20, initial=7, **options)
        .decode("pil")
        .to_tuple("jpg;png", "cls")
        .map_tuple(TRAIN, noisy)
    )


def kept(sample: Any) -> bool:
    return bool(sample["cls"] % 3)


PIPELINES: dict[str, Callable[[str], Any]] = {
    "plain": lambda urls: labelled(wds.WebDataset(urls, shardshuffle=False)),
    "training": lambda urls: trained(wds.WebDataset(urls, shardshuffle=4)),
    "batched": lambda urls: trained(wds.WebDataset(urls, shardshuffle=4, seed=3)).batched(6),
    "a collation that draws": lambda urls: trained(wds.WebDataset(urls, shardshuffle=4)).batched(
        5, mixed, partial=False
    ),
    "one by one": lambda urls: trained(wds.WebDataset(urls, shardshuffle=4)).batched(1, mixed),
    "single samples": lambda urls: trained(wds.WebDataset(urls, shardshuffle=4)),
    "select": lambda urls: (
        wds.WebDataset(urls, shardshuffle=False)
        .shuffle(12, rng=random.Random(4))
        .decode()
        .select(kept)
        .map(lambda sample: (sample["cls"], noisy(1)))
        .batched(4)
    ),
    "epochs": lambda urls: trained(
        wds.WebDataset(urls, shardshuffle=4, detshuffle=True), rng=random.Random(2)
    ).repeat(2),
    "seeds of workers": lambda urls: labelled(wds.WebDataset(urls, shardshuffle=4).shuffle(9)).repeat(3),
    "resampled": lambda urls: trained(wds.WebDataset(urls, resampled=True)).with_epoch(40),
    "two shuffles": lambda urls: labelled(
        wds.FluidWrapper(wds.SimpleShardList(urls, seed=True)).compose(
            wds.split_by_worker, wds.tarfile_to_samples(), wds.shuffle(9, seed=1), wds.detshuffle(5)
        )
    ),
    "few shards": lambda urls: labelled(
        wds.WebDataset(urls.replace("..7}", "..1}"), shardshuffle=2, detshuffle=True, empty_check=False)
    ),
    "user's own stage": lambda urls: (
        labelled(wds.WebDataset(urls, shardshuffle=4, seed=2).shuffle(20, seed=2)).compose(pairs).batched(2)
    ),
}


def noisy_row(row: Any) -> Any:
    """A collation of one that draws."""
    return row, random.random()


def pairs(samples: Iterator[Any]) -> Iterator[Any]:
    """Holds a sample."""
    for one, other in itertools.pairwise(samples):
        yield one[0], other[0], one[2] + other[2]


def scramble(seed: int) -> None:
    torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)


def rest_of(iterator: Any) -> list[Any]:
    return [copied(batch) for batch in iterator]


def copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(copied, value)) if isinstance(value, (list, tuple)) else value


def loader_of(name: str, urls: str, workers: int, **options: Any) -> Any:
    data = PIPELINES[name](urls)
    batched = any(getattr(getattr(stage, "f", None), "__name__", "") == "batched_" for stage in data.pipeline)
    size = None if batched or name == "single samples" else 4
    options = {name: value for name, value in options.items() if size or name != "drop_last"}
    return gofast.DataLoader(data, size, num_workers=workers, **options)


@pytest.mark.filterwarnings(
    "ignore:.*made again:gofast.errors.GofastWarning", "ignore:This DataLoader will create"
)
@pytest.mark.parametrize(
    ("name", "workers"),
    [
        *((name, 0) for name in PIPELINES if name != "seeds of workers"),
        *((name, 2) for name in ("training", "a collation that draws", "single samples")),
        ("seeds of workers", 2),
        ("batched", 3),
        # By day, workers of these are the persistent ones below.
        pytest.param("epochs", 2, marks=pytest.mark.full),
        *(
            pytest.param(name, 3, marks=pytest.mark.full)
            for name in ("resampled", "two shuffles", "user's own stage")
        ),
    ],
)
def test_it_goes_on_as_if_nothing_had_happened(name: str, workers: int, shards: str) -> None:
    scramble(1)
    count = len([*loader_of(name, shards, workers)])
    assert count >= 5
    for stop in (1, count // 2, count) if workers else (1, 2, count // 2, count - 1, count):
        scramble(1)
        loader = loader_of(name, shards, workers)
        iterator = iter(loader)
        for _ in range(stop):
            next(iterator)
            if name != "user's own stage":
                torch.rand(3), random.random()  # the loop draws, too
        state = through_a_file(loader.state_dict())
        want, then = rest_of(iterator), Generators.now()
        assert len(want) == count - stop
        scramble(9)
        again = loader_of(name, shards, workers)
        again.load_state_dict(state)
        iterator, got = iter(again), list[Any]()
        if stop == count // 2:  # once more, from a state of the one that went on
            got.append(copied(next(iterator)))
            state = through_a_file(again.state_dict())
            scramble(5)
            again = loader_of(name, shards, workers)
            again.load_state_dict(state)
            iterator = iter(again)
        got += rest_of(iterator)
        assert difference(got, want) == "", stop
        assert then.same(Generators.now())


@pytest.mark.parametrize(
    ("name", "workers"),
    [("training", 2), ("select", 0), ("epochs", 0), ("seeds of workers", 2), ("two shuffles", 0)],
)
def test_it_goes_on_between_epochs(name: str, workers: int, shards: str) -> None:
    """Stages count epochs, and have seeds and generators of their own."""
    scramble(1)
    loader = loader_of(name, shards, workers)
    rest_of(loader)
    state = through_a_file(loader.state_dict())
    want = rest_of(loader)
    scramble(9)
    again = loader_of(name, shards, workers)
    again.load_state_dict(state)
    assert difference(rest_of(again), want) == ""


def plain_order(urls: Any, **options: Any) -> Any:
    data = wds.WebDataset(urls, shardshuffle=False).shuffle(10, seed=1).decode().to_tuple("cls", "__key__")
    return gofast.DataLoader(data, 4, **options)


def stopped(urls: Any, batches: int) -> tuple[Any, Any]:
    """The state behind so many batches, and the rest."""
    loader = plain_order(urls)
    iterator = iter(loader)
    for _ in range(batches):
        next(iterator)
    state = through_a_file(loader.state_dict())
    return state, rest_of(iterator)


def test_only_shards_of_its_place_are_opened(shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state, want = stopped(shards, 12)
    opened = list[str]()

    def recorded(path: str, mode: str) -> Any:
        opened.append(Path(path).name)
        return builtins.open(path, mode)

    monkeypatch.setattr("gofast._webdataset.opened_shards.open", recorded, raising=False)
    again = plain_order(shards)
    again.load_state_dict(state)
    assert difference(rest_of(again), want) == ""
    # 48 samples of 72 were given, and 9 that are held may be older.
    assert {"6.tar", "7.tar"} <= set(opened) <= {"4.tar", "5.tar", "6.tar", "7.tar"}


def test_shards_for_ever_take_no_more_memory(tmp_path: Path) -> None:
    """A pass knows the shards whose samples it holds, and not all that it has passed."""
    for shard in range(20):
        write_tar(tmp_path / f"{shard}.tar", [{"cls": b"%d" % (2 * shard + i)} for i in range(2)])

    def made() -> Any:
        shards = wds.ResampledShards(f"{tmp_path}/{{0..19}}.tar", deterministic=True)
        return wds.DataPipeline(shards, wds.tarfile_to_samples(), wds.shuffle(30, seed=1)).with_epoch(9999)

    run = iter(made())
    for _ in range(4000):
        next(run)
    known = run._now._urls
    assert len(known) < 300 and max(known) > 1900
    again = made()
    again._begin_at(through_a_file(run.place()), {})
    rest = [sample["cls"] for sample, _ in zip(again, range(100), strict=False)]
    assert rest == [next(run)["cls"] for _ in range(100)]


@pytest.mark.parametrize("kind", ["gz", "pipe", "global headers"])
def test_shards_that_have_no_offsets(kind: str, shards: str, tmp_path: Path) -> None:
    """Their first samples are read, and left out."""
    urls = []
    for shard in range(4):
        path = tmp_path / f"{shard}.tar"
        if kind == "gz":
            (tmp_path / f"{shard}.gz").write_bytes(gzip.compress(path.read_bytes()))
            urls.append(f"{tmp_path}/{shard}.gz")
        elif kind == "pipe":
            urls.append(f"pipe:cat {path}")
        else:
            global_header_in_the_middle(path, shard)
            urls.append(str(path))
    for batches in (1, 4, 8):
        state, want = stopped(urls, batches)
        again = plain_order(urls)
        again.load_state_dict(state)
        assert difference(rest_of(again), want) == ""


def global_header_in_the_middle(path: Path, shard: int) -> None:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for i in range(SAMPLES):
            if i == 4:
                words = tarfile.TarInfo.create_pax_global_header({"comment": "from here on"})
                tar.fileobj.write(words)  # type: ignore[union-attr]
                tar.offset += len(words)
            member = tarfile.TarInfo(f"{shard}-{i}.cls")
            member.size = 1
            tar.addfile(member, io.BytesIO(b"%d" % i))


def test_other_shards_are_refused(shards: str, tmp_path: Path) -> None:
    state, _ = stopped(shards, 12)
    again = plain_order(f"{tmp_path}/{{{SHARDS - 1}..0}}.tar")
    again.load_state_dict(state)
    with pytest.raises(errors.UnsupportedError, match="other shards"):
        next(iter(again))
    for shard in range(SHARDS):
        write_tar(tmp_path / f"{shard}.tar", [{"cls": b"1"}])
    again = plain_order(shards)
    again.load_state_dict(state)
    with pytest.raises(errors.GofastError, match=r"\d.tar: .*(has changed|ends early)"):
        next(iter(again))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_users_own_stage_is_named(workers: int, shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a state is asked for, and not before."""
    monkeypatch.setattr("gofast._core.warn._said", set[str]())
    loader = loader_of("user's own stage", shards, workers)
    iterator = iter(loader)
    next(iterator)
    with pytest.warns(errors.GofastWarning, match="pairs.*may hold samples.*made again"):
        loader.state_dict()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_state_behind_an_earlier_batch(workers: int, shards: str) -> None:
    scramble(1)
    data = labelled(wds.WebDataset(shards, shardshuffle=4, seed=2).shuffle(20, seed=1))
    loader = gofast.DataLoader(data, 4, num_workers=workers)
    iterator = iter(loader)
    held = [next(iterator) for _ in range(9)]
    state = through_a_file(loader.state_after(held[3]))
    scramble(4)
    again = gofast.DataLoader(data, 4, num_workers=workers)
    again.load_state_dict(state)
    got = [copied(batch) for batch, _ in zip(again, range(5), strict=False)]
    assert [batch[1] for batch in got] == [batch[1] for batch in held[4:]]
    if workers:
        assert difference(got, held[4:]) == ""


def test_persistent_workers(shards: str) -> None:
    """The epoch behind the one that went on begins at its beginning, and with the first worker."""

    def made() -> Any:
        data = labelled(wds.WebDataset(shards, shardshuffle=4, seed=2).shuffle(20, seed=1))
        return gofast.DataLoader(data, 4, num_workers=2, persistent_workers=True)

    scramble(1)
    loader = made()
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    check_this_epoch_and_the_next(loader, iterator, made())


def check_this_epoch_and_the_next(loader: Any, iterator: Any, again: Any) -> None:
    """Another loader goes on with both, as the first does."""
    state = through_a_file(loader.state_dict())
    want = rest_of(iterator), rest_of(loader)
    again.load_state_dict(state)
    assert difference((rest_of(iter(again)), rest_of(again)), want) == ""


@pytest.mark.filterwarnings(
    "ignore:.*made again:gofast.errors.GofastWarning", "ignore:This DataLoader will create"
)
@pytest.mark.parametrize(
    ("name", "workers", "options"),
    [
        ("epochs", 2, {}),
        ("resampled", 2, {}),
        ("two shuffles", 3, {}),
        ("user's own stage", 2, {}),
        pytest.param("training", 3, {"drop_last": True}, marks=pytest.mark.full),
        pytest.param("single samples", 2, {}, marks=pytest.mark.full),
        pytest.param("single samples", 2, {"collate_fn": noisy_row}, marks=pytest.mark.full),
        pytest.param("few shards", 3, {}, marks=pytest.mark.full),
    ],
)
def test_persistent_workers_go_on_between_and_in_later_epochs(
    name: str, workers: int, options: dict[str, Any], shards: str
) -> None:
    """States of all places in three epochs, of which some are tried, and the state behind each again."""
    scramble(1)
    loader = loader_of(name, shards, workers, persistent_workers=True, **options)
    epochs, states = list[list[Any]](), list[tuple[int, int, Any]]()
    for epoch in range(3):
        iterator, given = iter(loader), list[Any]()
        while True:
            states.append((epoch, len(given), through_a_file(loader.state_dict())))
            if (batch := next(iterator, None)) is None:
                break
            given.append(copied(batch))
        epochs.append(given)
        states.append((epoch + 1, 0, through_a_file(loader.state_dict())))
    want = [*epochs, rest_of(loader)]
    assert all(epochs)
    tried = random.sample(states, 1)
    tried += [state for state in states if state[:2] in ((1, 0), (1, 1), (2, len(epochs[2])))]
    for epoch, batch, state in tried:
        scramble(9)
        again = loader_of(name, shards, workers, persistent_workers=True, **options)
        again.load_state_dict(state)
        iterator = iter(again)
        got = [[copied(next(iterator)) for _ in want[epoch][batch : batch + 1]]]
        if epoch < 3:
            state = through_a_file(again.state_dict())
            scramble(5)
            again = loader_of(name, shards, workers, persistent_workers=True, **options)
            again.load_state_dict(state)
            iterator = iter(again)
        got[0] += rest_of(iterator)
        got += [rest_of(again) for _ in want[epoch + 1 :]]
        assert difference(got, [want[epoch][batch:], *want[epoch + 1 :]]) == "", (epoch, batch)


def test_persistent_workers_whose_epoch_was_left(shards: str) -> None:
    """They had made batches that nobody got: where they begin the next epoch is known when they tell."""

    def made() -> Any:
        data = labelled(wds.WebDataset(shards, shardshuffle=4, detshuffle=True).shuffle(20))
        return gofast.DataLoader(data, 4, num_workers=2, persistent_workers=True)

    loader = made()
    next(iter(loader))
    iterator = iter(loader)
    next(iterator)
    again = made()
    with pytest.raises(errors.UnsupportedError, match="an epoch was left early"):
        again.load_state_dict(loader.state_dict())
    next(iterator)
    check_this_epoch_and_the_next(loader, iterator, made())

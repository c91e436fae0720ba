"""even= of gofast.webdataset: samples are dealt out to ranks and workers, and not shards."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DistributedSampler

import gofast.webdataset as wds
from gofast import errors
from gofast._loader.order import dealt
from tars import write_tar


@pytest.fixture
def shards(tmp_path: Path) -> str:
    """Five shards of 7 samples."""
    for shard in range(5):
        write_tar(tmp_path / f"{shard}.tar", [{"cls": b"%d" % i} for i in range(7)], stem=f"s{shard}/")
    return f"{tmp_path}/{{0..4}}.tar"


@pytest.mark.parametrize("world", [1, 2, 5, 12, 50])
@pytest.mark.parametrize("even", ["drop", "pad"])
def test_samples_are_dealt_out_as_by_torchs_sampler(
    even: Any, world: int, shards: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five shards and up to 150 workers."""
    every = [sample["__key__"] for sample in wds.WebDataset(shards, shardshuffle=5, seed=1)]
    assert len(every) == 35
    monkeypatch.setenv("WORLD_SIZE", str(world))
    monkeypatch.setenv("NUM_WORKERS", "3")
    for rank in range(world):
        monkeypatch.setenv("RANK", str(rank))
        parts = []
        for worker in range(3):
            monkeypatch.setenv("WORKER", str(worker))
            samples = wds.WebDataset(shards, shardshuffle=5, seed=1, even=even)
            parts.append([sample["__key__"] for sample in samples])
        got = [key for row in itertools.zip_longest(*parts) for key in row if key is not None]
        want = DistributedSampler(range(35), world, rank, shuffle=False, drop_last=even == "drop")  # type: ignore[arg-type]
        assert got == [every[i] for i in want]


def test_samples_that_cannot_be_dealt_out(shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(errors.OptionError, match="35 samples cannot be divided among 2 ranks"):
        list(wds.WebDataset(shards, shardshuffle=False, even="error"))
    monkeypatch.setenv("WORLD_SIZE", "5")
    assert len(list(wds.WebDataset(shards, shardshuffle=False, even="error"))) == 7
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"even": "most"}, "drop"),
        ({"even": "pad", "nodesplitter": wds.split_by_node}, "splitters"),
        ({"even": "pad", "resampled": True}, "resampled"),
        ({"even": "pad", "shardshuffle": 9}, "seed="),
    ]
    for options, said in wrong:
        with pytest.raises(errors.OptionError, match=said):
            wds.WebDataset(shards, **options)


@pytest.mark.parametrize(("even", "most"), [("drop", 3), ("error", 3), ("pad", 103)])
def test_others_samples_are_not_held(even: Any, most: int) -> None:
    """But as many as may come again."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def samples() -> Iterator[Any]:
        for _ in range(1000):
            alive.add(sample := type("Sample", (), {})())
            yield sample
            assert len(alive) <= most

    assert len([None for _ in dealt(samples(), 1, 100, even)]) == 10


def test_workers_of_a_loader_share_a_shard(shards: str) -> None:
    one = shards.replace("{0..4}", "2")
    dataset = wds.WebDataset(one, shardshuffle=False, even="drop").to_tuple("__key__").batched(2)
    got = [key for (keys,) in wds.WebLoader(dataset, batch_size=None, num_workers=2) for key in keys]
    assert sorted(got) == sorted(sample["__key__"] for sample in wds.WebDataset(one, shardshuffle=False))

"""StreamingSampler beside the package `streaming`, whose functions need no more than numpy."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gofast
from gofast import errors
from gofast.integrations import StreamingSampler
from mds import write_mds

SIZES = [[5, 40, 1, 0, 17, 30], [64] * 9 + [13], [1000, 300], [7] * 60]


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Its modules of orders, without the rest of it."""
    spec = importlib.util.find_spec("streaming")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("make test-integrations has mosaicml-streaming")
    folder = Path(spec.submodule_search_locations[0])
    before = {name for name in sys.modules if name.partition(".")[0] == "streaming"}
    for name, path in (("streaming", folder), ("streaming.base", folder / "base")):
        module = types.ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    try:
        yield tuple(importlib.import_module(f"streaming.base.{name}") for name in ("shuffle", "partition"))
    finally:
        for name in {name for name in sys.modules if name.partition(".")[0] == "streaming"} - before:
            del sys.modules[name]


def their_order(
    theirs: Any, sizes: list[int], algo: Any, epoch: int, nodes: int, each: int, canonical: int, block: int
) -> Any:
    """As StreamingDataset's generate_work and a DataLoader of two workers and batches of 3 have it."""
    shuffles, partitions = theirs
    ids = partitions.get_partitions("relaxed", sum(sizes), canonical, nodes, each, 2, 3, 0, None)
    if algo is not None:
        units = np.array([size for size in sizes if size])
        order = shuffles.get_shuffle(algo, units, canonical, 9176, epoch, block)
        ids = np.where(ids == -1, -1, order[ids])
    for node, rank in itertools.product(range(nodes), range(each)):
        batches = ids[node, rank].transpose(1, 0, 2).reshape(-1)
        yield batches[batches != -1].tolist()


@pytest.mark.filterwarnings("ignore:Shuffle block size")
@pytest.mark.parametrize("algo", ["py1e", "py1s", "naive", None])
@pytest.mark.parametrize("sizes", SIZES, ids=["few", "even", "large", "many"])
def test_it_is_theirs(algo: Any, sizes: list[int], theirs: Any) -> None:
    shapes = [(1, 1, 1), (1, 1, 4), (1, 3, 1), (2, 1, 2), (2, 4, 2), (4, 2, 2), (6, 1, 2), (2, 2, 8)]
    for (nodes, each, canonical), epoch, block in itertools.product(shapes, (0, 1, 7), (None, 20, 300)):
        given = {} if block is None else {"shuffle_block_size": block}
        usual = max(4_000_000 // canonical, 1 << 18)
        wanted = their_order(theirs, sizes, algo, epoch, nodes, each, canonical, block or usual)
        for rank, want in enumerate(wanted):
            order = StreamingSampler(
                sizes,
                shuffle_algo=algo,
                num_canonical_nodes=canonical,
                num_replicas=nodes * each,
                rank=rank,
                ranks_per_node=each,
                **given,
            )
            order.set_epoch(epoch)
            assert [*order] == want and len(order) == len(want)


def test_defaults(theirs: Any) -> None:
    for algo, canonical in (("py1e", 1), ("py1s", 64)):
        order: Any = StreamingSampler(SIZES[1], shuffle_algo=algo)  # type: ignore[arg-type]
        order.set_epoch(3)
        block = max(4_000_000 // canonical, 1 << 18)
        (want,) = their_order(theirs, SIZES[1], algo, 3, 1, 1, canonical, block)
        assert [*order] == want


def test_shards_in_a_loader(tmp_path: Path) -> None:
    rows = [{"image": b"", "class": i} for i in range(20)]
    write_mds(tmp_path, {"image": "bytes", "class": "int"}, [rows[:5], [], rows[5:]])
    order = StreamingSampler(tmp_path, shuffle_seed=3)
    assert sorted(order) == [*range(20)] and [*order] != [*range(20)] and len(order) == 20
    dataset = gofast.ArrayDataset(np.arange(20))
    loader = gofast.DataLoader(dataset, batch_size=6, sampler=order)
    loader.set_epoch(1)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    want = [batch[0].tolist() for batch in iterator]
    assert [*itertools.chain.from_iterable(want)] == [*order][6:]
    again = gofast.DataLoader(dataset, batch_size=6, sampler=StreamingSampler(tmp_path, shuffle_seed=3))
    again.set_epoch(1)
    again.load_state_dict(state)
    assert [batch[0].tolist() for batch in again] == want


def test_what_is_refused() -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ([9], {"shuffle_algo": "py2s"}, "py1e"),
        ([], {}, "no samples"),
        ([9, -1], {}, "shards"),
        ([99], {"num_replicas": 3, "rank": 0, "ranks_per_node": 2}, "divide"),
        ([99], {"num_replicas": 4, "rank": 0, "ranks_per_node": 2, "num_canonical_nodes": 3}, "divide"),
        ([3], {"num_canonical_nodes": 4}, "too few"),
        ([9], {"shuffle_seed": -1}, "shuffle_seed"),
    ]
    for shards, given, said in wrong:
        with pytest.raises(errors.OptionError, match=said):
            StreamingSampler(shards, **given)

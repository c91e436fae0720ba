"""Orders that are cut for ranks: every sample in exactly one of them, as torch's DistributedSampler cuts."""

from __future__ import annotations

from typing import Any

import pytest
from torch.utils.data import BatchSampler, DistributedSampler, SequentialSampler

from gofast import errors
from gofast._loader.order import Listed, Order, Slice
from gofast._loader.schedule import draw_order


def lists_of(order: Order) -> list[list[int]]:
    made = []
    while (pull := order.pull()) is not None:
        made.append([*pull.index])
    return made


def whole(samples: int, batch: int) -> Order:
    order = draw_order(BatchSampler(SequentialSampler(range(samples)), batch, False))
    assert order is not None
    return order


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("samples", [1, 7, 24, 25, 30, 61])
@pytest.mark.parametrize("even", ["drop", "pad"])
def test_as_torchs_sampler_cuts(samples: int, world: int, even: str) -> None:
    for rank in range(world):
        sampler: Any = DistributedSampler(
            range(samples),  # type: ignore[arg-type]
            world, rank, shuffle=False, drop_last=even == "drop",
        )  # fmt: skip
        # torch's own rule of rounding cuts a sample more off where there are fewer samples than ranks
        expected = [] if samples < world and even == "drop" else [*BatchSampler(sampler, 3, False)]
        assert lists_of(Slice(whole(samples, 3 * world), rank, world, even)) == expected


LISTS = [[], [4], [1, 2, 3], [5, 6, 7, 8, 9, 10, 11], [], [12, 13], [14, 15, 16, 17, 18]]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
def test_lists_of_odd_lengths(world: int) -> None:
    """All ranks get as many batches, of as many samples."""
    every = [sample for one in LISTS for sample in one]
    for even in ("drop", "pad"):
        made = [lists_of(Slice(Listed(None, iter(LISTS)), rank, world, even)) for rank in range(world)]
        assert len({tuple(map(len, lists)) for lists in made}) == 1
        given = [sample for lists in made for one in lists for sample in one]
        if even == "pad":
            assert set(given) == set(every)
        else:
            assert len(given) == len(set(given)) == sum(len(one) // world * world for one in LISTS)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
def test_an_error_where_a_list_cannot_be_cut(world: int) -> None:
    even = [[*range(start, start + world * size)] for start, size in ((0, 3), (20, 1), (40, 2))]
    made = [lists_of(Slice(Listed(None, iter(even)), rank, world, "error")) for rank in range(world)]
    assert sorted(s for lists in made for one in lists for s in one) == [s for one in even for s in one]
    for rank in range(world):
        order = Slice(Listed(None, iter([*even, [60] * (world + 1)])), rank, world, "error")
        if world == 1:
            assert lists_of(order)[-1] == [60, 60]
            continue
        for _ in even:
            order.pull()
        with pytest.raises(errors.OptionError, match=f"{world + 1} samples cannot be cut for {world}"):
            order.pull()


def test_it_goes_on_where_it_stood() -> None:
    for stop in range(5):
        first = Slice(whole(25, 6), 1, 4, "pad")
        expected = lists_of(Slice(whole(25, 6), 1, 4, "pad"))
        before = [[*pull.index] for _ in range(stop) if (pull := first.pull()) is not None]
        again = Slice(whole(25, 6), 3, 4, "pad")  # the state is the same on all ranks
        again.load(first.state())
        assert len(before) == stop
        assert len(lists_of(again)) == len(expected) - stop
        rest = Slice(whole(25, 6), 1, 4, "pad")
        rest.load(first.state())
        assert before + lists_of(rest) == expected
    with pytest.raises(errors.OptionError):
        Slice(whole(3, 3), 2, 2)

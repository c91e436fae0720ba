"""States of torchdata's StatefulDataLoader, as those of ours. The keys are those of torchdata 0.11."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from .. import errors
from .._core.generators import Generators, owned
from .order import begin, beginnings
from .torch_samplers import is_known


def is_torchdatas(state: Any) -> bool:
    """Whether it is the state of a StatefulDataLoader."""
    return isinstance(state, dict) and ("_snapshot" in state or "_num_yielded" in state)


def epoch_of(loader: DataLoader[Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """Where in an epoch it stands, as the loader's iterators tell it; None: before one, of any order.

    torchdata keeps the order, and no generator that samples draw from: they draw as the generators are.

    Raises:
        UnsupportedError: this loader cannot go on exactly, with the reason.
    """
    snapshot = state.get("_snapshot")
    main = state if snapshot is None else snapshot["_main_snapshot"]
    lists = main["_sampler_iter_yielded"]
    since = state.get("_steps_since_snapshot", 0)  # batches, of which there is no snapshot
    processes = 0 if snapshot is None else main["_num_workers"]
    iterated = isinstance(loader.dataset, IterableDataset)
    known = main["_sampler_iter_state"] or {}
    generator = (known.get("sampler_iter_state") or known).get("generator")
    finished = state["_iterator_finished"]
    if finished and generator is None:
        return None
    dataset = _dataset_of(main if snapshot is None else None, snapshot)
    if iterated:
        lists = state["_num_yielded"] if snapshot is None else snapshot["_snapshot_step"]
        order = _listed(loader, 0, None)
    elif is_known(loader._index_sampler):
        order = _order(loader, known.get("samples_yielded", 0), lists, since, generator, finished, processes)
    else:
        order = _listed(loader, 0 if finished else lists + since, generator)
    return {
        "given": 0 if finished else lists + since,
        "order": order,
        "ahead": [],
        "pull_ahead": 0,
        "workers": None,
        "dataset": dataset,
        "iterated": iterated,
        "processes": processes,
        "base_seed": main.get("_base_seed", 0),
    }


def _dataset_of(main: dict[str, Any] | None, snapshot: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a dataset told of itself."""
    if main is None:
        for worker in (snapshot or {}).get("_worker_snapshots", {}).values():
            fetcher = worker.get("fetcher_state") or {}
            if worker.get("dataset_state") is not None or fetcher.get("dataset_iter_state") is not None:
                raise errors.UnsupportedError(
                    "the state has what datasets told in worker processes, and here these take none: "
                    "save it with num_workers=0"
                )
        return None
    told, fetcher = {}, main["fetcher_state"] or {}
    if main["dataset_state"] is not None:
        told["dataset"] = main["dataset_state"]
    if fetcher.get("dataset_iter_state") is not None:
        told["iterator"] = fetcher["dataset_iter_state"]
    if told and "fetcher_ended" in fetcher:
        told["ended"] = fetcher["fetcher_ended"]
    return told or None


def _order(
    loader: DataLoader[Any],
    samples: int,
    lists: int,
    since: int,
    generator: Any,
    finished: bool,
    processes: int,
) -> dict[str, Any]:
    """What DrawnOrder loads.

    Args:
        samples, lists: pulled before the snapshot.
        since: lists behind it.
    """
    batch_sampler: Any = loader._index_sampler
    sampler: Any = batch_sampler.sampler
    size = -(-samples // lists) if lists else batch_sampler.batch_size
    position = min(samples + since * size, len(sampler))
    order = {"position": position, "before": None, "seed": None, "ended": True, "epoch": None}
    if type(sampler) is RandomSampler and generator is not None:
        if finished:
            order["position"], generator = 0, _next(loader, generator, processes > 0)
        return {**order, "permutation": generator}
    if type(sampler) is SequentialSampler and generator is None:
        return order
    if type(sampler) is DistributedSampler and generator is None:
        return {**order, "position": position * sampler.num_replicas, "epoch": sampler.epoch}
    which = "no generator" if generator is None else "a generator"
    raise errors.UnsupportedError(
        f"the state has {which} of a permutation, and this loader has a {type(sampler).__name__}. Only "
        "torchdata's own random sampler (shuffle=True) keeps what it drew"
    )


def _next(loader: DataLoader[Any], state: torch.Tensor, processes: bool) -> torch.Tensor:
    """The state of a generator from which the next epoch is drawn, if the last one was from this.

    torch makes the sampler's iterator twice with workers, and torchdata's draws when it is made.
    """
    generator = torch.Generator()
    generator.set_state(state)
    sampler: Any = loader.sampler
    size, block = len(sampler.data_source), 32 if sampler.replacement else len(sampler.data_source)

    def draw() -> None:
        if sampler.replacement:
            torch.randint(size, (block,), generator=generator)
        else:
            torch.randperm(size, generator=generator)

    for _ in range(-(-sampler.num_samples // block)):
        draw()
    if processes and loader.persistent_workers:
        return generator.get_state()
    if processes:
        draw()
    if loader.generator is not None:  # the base seed is drawn from it too
        torch.empty((), dtype=torch.int64).random_(generator=generator)
    return generator.get_state()


def _listed(loader: DataLoader[Any], at: int, generator: Any) -> dict[str, Any]:
    """So many lists are pulled again, as torchdata does: from a generator that it kept, or without a draw."""
    sampler = loader._index_sampler
    begun = now = beginnings(sampler)
    if generator is not None:
        if len(owned(sampler)) != 1:
            raise errors.UnsupportedError("the state has a sampler's generator, and this loader's has none")
        begun = {**now, "own": [generator]}
    elif at:
        before, lists = Generators.now(), iter(sampler)
        for _ in range(at):
            with suppress(Exception):  # it came in its turn
                next(lists)
        then = beginnings(sampler)["own"]
        drew = not before.same(Generators.now()) or any(map(_differ, then, now["own"]))
        begin(sampler, now)
        if drew:
            raise errors.UnsupportedError(
                "this loader's sampler draws its order, and the state does not say from what"
            )
    return {"begun": begun, "first": begun, "at": at, "each": None, "numbers": []}


def _differ(one: Any, other: Any) -> bool:
    """Whether these are different states of a generator."""
    return not torch.equal(one, other) if isinstance(one, torch.Tensor) else str(one) != str(other)

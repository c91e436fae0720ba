"""Where a loader stands, as plain data that an equal loader goes on from, in another process too."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

from .. import errors
from .._core.generators import Generators, owned, put_state, state_of, unpacked
from .._core.warn import warn
from .order import begin, beginnings, samples_of_list
from .ranks import ranks_here
from .recent_batches import RecentBatches
from .skips import NO_SKIPS, Skips
from .torchdata_state import epoch_of, is_torchdatas

_VERSION = 2
_AS_IT_IS = {int, str, bool, float, type(None), torch.Tensor}
_SHORT = 16  # entries of a tuple that may hold arrays: Python's generator has 625 numbers


def state_of_loader(
    loader: DataLoader[Any], iterator: Any, recent: RecentBatches, *batch: Any
) -> dict[str, Any]:
    """See DataLoader.state_dict; with a batch, DataLoader.state_after.

    Args:
        iterator: the last one; None: there is none any more.
        recent: its batches.
    """
    back = _came_behind(iterator, recent, batch)
    if not back:
        return _now(loader, iterator)
    if iterator is not None:
        behind, told, source = iterator._behind, iterator._state, iterator
    else:
        assert recent.ended is not None
        behind, told, source = recent.ended.behind, recent.ended.state, recent.ended
    now = Generators.now().plain()
    with behind(back) as between:
        state = _now(loader, iterator, told(back), source)
        if between is not None:
            state["then"] = _plain([*between, now]) + (state["then"] or [])
        return state


class Then:
    """The process's generators behind each batch that a loop had taken ahead, when it has it again.

    Between these batches, and behind the last one, the loop drew from the same generators.

    Args:
        states: of the generators, behind the next batch, the one behind that, and so on; None: they are as
            that batch left them.
    """

    def __init__(self, states: list[dict[str, Any] | None]) -> None:
        self.states = states

    @classmethod
    def of(cls, state: dict[str, Any], workers: int) -> Then | None:
        """That of a state, in the rank that drew; None: the generators are as the next sample draws."""
        if not state["then"] or draws_anew(state, workers):
            return None
        return cls([*state["then"]])

    def give(self) -> Then | None:
        """A batch was given, or has failed. Returns what is left."""
        state = self.states.pop(0)
        if state is not None:
            Generators.of(state).put()
        return self if self.states else None


def _came_behind(iterator: Any, recent: RecentBatches, batch: tuple[Any, ...]) -> int:
    """How many batches the iterator gave behind the one whose state is asked for."""
    moving = getattr(iterator, "_moving", None)
    source = iterator if moving is None or moving() is None else moving()
    if not batch:
        return 0 if source is iterator else source.ahead()
    if iterator is None:
        if recent.ended is None:
            raise errors.UnsupportedError(
                "the iterator that gave this batch is gone, in the middle of its epoch"
            )
        return recent.behind(batch[0], 0)
    if not hasattr(source, "came_behind"):
        raise errors.UnsupportedError("only state_dict tells where a stream in windows stands")
    behind: int = source.came_behind(batch[0])
    return behind


def _now(
    loader: DataLoader[Any], iterator: Any, epoch: dict[str, Any] | None = None, source: Any = None
) -> dict[str, Any]:
    """The state as the generators are now.

    Args:
        epoch: its part, if it is not behind the last batch.
        source: what that is of; None: the iterator.
    """
    counted = None if iterator is None else iterator._counted
    inside = epoch is not None or (counted is not None and counted.runs)
    then: Then | None = getattr(iterator, "_then", None)
    own = owned(loader._index_sampler)
    state: dict[str, Any] = {
        "gofast": _VERSION,
        "place": "inside" if inside else "before" if iterator is None else "after",
        "rank": ranks_here()[1],
        "samples": _length(loader),
        "now": beginnings(loader._index_sampler, own),
        "own": [state_of(one) for one in _others(loader, own)],
        "epoch": epoch,
        "then": None if then is None else [*then.states],
        "unknown": None,
    }
    if not inside and tells_places(loader.dataset):
        state["begun"] = loader.dataset._begun()  # type: ignore[attr-defined]
    if epoch is None and (inside or (loader.persistent_workers and iterator is not None)):
        try:
            state["epoch"] = iterator._state()
        except errors.UnsupportedError as error:
            state["unknown"] = str(error)
    skips = getattr(iterator if source is None else source, "skips", NO_SKIPS) if inside else loader._skips  # type: ignore[attr-defined]
    return with_skips(_plain(state), skips)


def with_skips(state: dict[str, Any], skips: Skips) -> dict[str, Any]:
    """A copy of a state with the steps that its epoch leaves out."""
    return {**state, "skips": skips.ranges()} if skips else {**state}


def of_all_ranks(state: dict[str, Any]) -> dict[str, Any]:
    """The part of a state that is the same on all ranks: its order, but no draws."""

    def without(told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "process": None} if told else told

    epoch = state["epoch"]
    if epoch is not None:
        epoch = {**_without_lists(epoch), "workers": None}
        order = epoch["order"]
        epoch["order"] = {**order, **{n: without(order[n]) for n in ("begun", "first") if n in order}}
    return {**state, "rank": None, "now": without(state["now"]), "epoch": epoch, "then": None}


def _without_lists(epoch: dict[str, Any]) -> dict[str, Any]:
    """The state of an epoch without lists that this rank's sampler gave ahead: it is asked for them again."""
    if not epoch["ahead"]:
        return epoch
    order = {**epoch["order"], "at": epoch["order"]["at"] - len(epoch["ahead"])}
    return {**epoch, "ahead": [], "pull_ahead": 0, "order": order}


def ahead_by_one(state: dict[str, Any]) -> dict[str, Any]:
    """The state for a loop that took one batch ahead, and has restored the generators that it had then."""
    if state["place"] != "inside":
        return {**state, "now": {**state["now"], "process": None}}
    return {**state, "then": [Generators.now().plain()]}


def check(loader: DataLoader[Any], state: Any) -> dict[str, Any]:
    """A state that this loader may go on from.

    Raises:
        UnsupportedError: it is of something else, or nothing can go on from it.
    """
    if is_torchdatas(state):
        state = _of_torchdata(loader, state)
    if not isinstance(state, dict) or state.get("gofast") != _VERSION:
        raise errors.UnsupportedError("the state is not one of a gofast.DataLoader of this version")
    if state["unknown"] is not None:
        raise errors.UnsupportedError(f"nobody knows where the loader stood: {state['unknown']}")
    before, now = state["samples"], _length(loader)
    if before != now and before is not None and now is not None:
        raise errors.UnsupportedError(f"the state is of {before} samples, and the dataset has {now}")
    own = len(owned(loader._index_sampler)), len(_others(loader))
    if (len(state["now"]["own"]), len(state["own"])) != own:
        raise errors.UnsupportedError("the state is of a loader with other generators of its own")
    epoch, iterated = state["epoch"], isinstance(loader.dataset, IterableDataset)
    if epoch is not None and iterated != (epoch.get("iterated", "position" in epoch)):
        raise errors.UnsupportedError("the state is that of a loader of another kind of dataset")
    found: dict[str, Any] = _arrays(state)
    return found


def _of_torchdata(loader: DataLoader[Any], state: dict[str, Any]) -> dict[str, Any]:
    try:
        epoch = epoch_of(loader, state)
    except (KeyError, TypeError, AttributeError) as error:
        raise errors.UnsupportedError(f"torchdata 0.11 writes no such state: {error!r}") from error
    return {
        "gofast": _VERSION,
        "place": "before" if epoch is None else "inside",
        "rank": ranks_here()[1],
        "samples": None,
        "now": beginnings(loader._index_sampler),
        "own": [state_of(one) for one in _others(loader)],
        "epoch": epoch,
        "then": None,
        "unknown": None,
    }


def is_over(state: dict[str, Any]) -> bool:
    """Whether the last batch of its epoch was handed out, and nobody asked for more."""
    return state["place"] == "inside" and bool((state["epoch"] or {}).get("order", {}).get("over"))


def comes_first(state: dict[str, Any]) -> bool:
    """Whether `put` comes before an iterator begins, which draws; else behind that."""
    return state["place"] != "inside" and state["epoch"] is None


def put(loader: DataLoader[Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """Gives the generators their states. Returns that of the epoch."""
    epoch, now = state["epoch"], state["now"]
    if now["process"] is None or ranks_here()[1] != state["rank"]:  # its draws are its own
        now = {**now, "process": Generators.now().plain()}
    if epoch is not None and draws_anew(state, loader.num_workers):
        epoch = {**epoch, "workers": None}
    if epoch is not None and epoch.get("ahead"):
        each = epoch["order"]["each"], samples_of_list(loader._index_sampler)
        if ranks_here()[1] != state["rank"] or (None not in each and each[0] != each[1]):
            epoch = _without_lists(epoch)
    begin(loader._index_sampler, now)
    if state.get("begun") is not None and tells_places(loader.dataset):
        loader.dataset._begin_at(None, state["begun"])  # type: ignore[attr-defined]
    for one, told in zip(_others(loader), state["own"], strict=True):
        put_state(one, told)
    return epoch and {**epoch, "now": now}


def tells_places(dataset: Any) -> bool:
    """Whether its iterators tell a state in a worker process, behind which nothing is made again."""
    return callable(getattr(dataset, "_place", None)) and callable(getattr(dataset, "_begin_at", None))


def draws_anew(state: dict[str, Any], workers: int) -> bool:
    """Whether nobody knows what this many workers of this rank would have drawn."""
    epoch = state["epoch"]
    if epoch is None:
        return False
    return bool(epoch.get("processes")) or (ranks_here()[1], workers) != (state["rank"], _workers_of(state))


def _workers_of(state: dict[str, Any]) -> int:
    epoch = state["epoch"]
    processes: int = epoch.get("processes", 0)  # torch's, whose generators nobody knows
    return processes if epoch["workers"] is None else len(epoch["workers"]["now"])


def seed_anew(state: dict[str, Any]) -> int:
    """A base seed for workers that draw anew: it follows from the state and the rank, and from nothing else.

    That of the epoch would repeat what was drawn at its beginning.
    """
    generator, process = torch.Generator(), state["now"]["process"]
    now = torch.get_rng_state() if process is None else unpacked(process["torch"])
    generator.set_state(now)
    for more in (ranks_here()[1], 0):
        seed = int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
        generator.manual_seed((seed + more) % (1 << 63))
    return seed


def warn_of_draws(state: dict[str, Any], workers: int) -> None:
    """Warns where samples draw, and what they would have drawn is not known."""
    if not draws_anew(state, workers):
        return
    before = f"rank {state['rank']} with {_workers_of(state)} workers"
    warn(
        f"the state is of {'all ranks' if state['rank'] is None else before}, this is rank "
        f"{ranks_here()[1]} with {workers} workers: samples come in the same order, but what is drawn for "
        'them begins anew. Give a dataset rng="stateless" where draws must not depend on ranks and workers',
        once="resume: draws",
    )


def warn_of_processes() -> None:
    """Warns of worker processes whose generators, and copies of the dataset, nobody knows."""
    warn(
        "worker processes begin where others would have gone on: samples come in the same order, but what is "
        "drawn for them in the processes, and what changes in their copies of the dataset, begins anew",
        once="resume: processes",
    )


def _others(loader: DataLoader[Any], own: list[Any] | None = None) -> list[Any]:
    """The generators of a loader that are not its sampler's; own: these, if they are known."""
    samplers = {id(one) for one in (owned(loader._index_sampler) if own is None else own)}
    return [one for one in owned(loader) if id(one) not in samplers]


def _length(loader: DataLoader[Any]) -> int | None:
    try:
        return len(loader.dataset)  # type: ignore[arg-type]
    except (TypeError, NotImplementedError):  # of rows that nobody has counted
        return None


def _plain(value: Any) -> Any:
    """The same without numpy's arrays, which `torch.load` refuses with weights_only=True."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, np.ndarray):
        words = torch.frombuffer(bytearray(value.tobytes()), dtype=torch.uint8)
        return {"dtype": str(value.dtype), "bytes": words}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        if _AS_IT_IS.issuperset(map(type, value.values())):
            return value
        return {key: one if type(one) in _AS_IT_IS else _plain(one) for key, one in value.items()}
    if isinstance(value, list) or (isinstance(value, tuple) and len(value) <= _SHORT):
        if _AS_IT_IS.issuperset(map(type, value)):
            return value
        return type(value)(map(_plain, value))
    return value


def _arrays(value: Any) -> Any:
    """What `_plain` was given."""
    if isinstance(value, dict):
        if value.keys() == {"dtype", "bytes"}:
            return np.frombuffer(value["bytes"].numpy().tobytes(), value["dtype"])
        return {key: _arrays(one) for key, one in value.items()}
    if isinstance(value, list) or (isinstance(value, tuple) and len(value) <= _SHORT):
        return type(value)(map(_arrays, value))
    return value

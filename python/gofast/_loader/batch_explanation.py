"""explain(loader, step=...): which samples a batch has, of which files, and what is drawn for them."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, IterableDataset, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from .. import errors
from .._core.reason import Reason
from .._core.units import aligned
from .batch_source import Parameters
from .native_dataset import locate, native
from .resume import check
from .sampler import Sampler
from .schedule import DrawnOrder, draw_order
from .torch_samplers import is_known

_TITLE = ("index", "dataset", "file", "row", "drawn")


@dataclasses.dataclass(frozen=True, repr=False)
class BatchExplanation:
    """The samples of one batch. It prints as a table with a line for each.

    Attributes:
        step, steps: the batch's number in its epoch, from 0 on, and how many batches that has.
        epoch: None: the order knows none.
        rank, world: whose batch it is, of how many ranks.
        order: what decides the order, in words.
        draws: what decides what is drawn for samples, in words.
        indices: of the samples in the loader's dataset.
        datasets: the number of each sample's own dataset among those that a ConcatDataset joins, else 0.
        files: each sample's file; None: it is from none.
        rows: its row there; of a picture, and without a file, its number in its own dataset.
        parameters: of each sample (operation, values) for each step that draws, in the order in which they
            happen; None for one, or for all: they are not known before the batch is made.
    """

    step: int
    steps: int
    epoch: int | None
    rank: int
    world: int
    order: str
    draws: str
    indices: list[int]
    datasets: list[int]
    files: list[str | None]
    rows: list[int]
    parameters: list[Parameters | None] | None

    def __str__(self) -> str:
        drawn = self.parameters or [None] * len(self.indices)
        columns = zip(self.indices, self.datasets, self.files, self.rows, map(_in_words, drawn), strict=True)
        lines = [tuple("" if one is None else str(one) for one in line) for line in columns]
        rank = f", rank {self.rank} of {self.world}" if self.world > 1 else ""
        epoch = "" if self.epoch is None else f" of epoch {self.epoch}"
        head = f"step {self.step} of {self.steps}{epoch}{rank}: {len(lines)} samples"
        return "\n".join([head, f"order: {self.order}", f"draws: {self.draws}", *aligned([_TITLE, *lines])])

    __repr__ = __str__


def explain_batch(loader: Any, epoch: int | None, step: int, rank: int | None) -> BatchExplanation:
    """See explain."""
    sampler, order = known_order(loader, epoch, rank)
    if step >= order.batches:
        raise errors.RowIndexError(f"step {step}: there are {order.batches} steps, from 0 on").at(index=step)
    indices = order.indices(step, step + 1).tolist()
    found = locate(loader.dataset, np.array(indices, np.int64))
    datasets, origins = [0] * len(indices), _without_files(indices)
    for number, (leaf, positions, rows) in enumerate(found):
        ours = leaf if hasattr(leaf, "_origins") else native(leaf)
        told = _without_files(rows.tolist()) if ours is None else ours._origins(rows.tolist())
        if len(found) == 1:
            origins = told
        else:
            for position, origin in zip(positions.tolist(), told, strict=True):
                datasets[position], origins[position] = number, origin
    own = epoch if callable(getattr(loader.dataset, "set_epoch", None)) else None
    draws, parameters = _drawn(loader, found, indices, own)
    ranked = isinstance(sampler, DistributedSampler)
    seed = f", seed {sampler.seed}" if ranked and sampler.shuffle else ""
    name = repr(sampler) if isinstance(sampler, Sampler) else type(sampler).__name__
    files, numbers = zip(*origins, strict=True)
    return BatchExplanation(
        step=step,
        steps=order.batches,
        epoch=sampler.epoch if ranked else epoch,
        rank=sampler.rank if ranked else 0,
        world=sampler.num_replicas if ranked else 1,
        order=name + seed,
        draws=draws,
        indices=indices,
        datasets=datasets,
        files=[*files],
        rows=[*numbers],
        parameters=parameters,
    )


def _without_files(rows: list[int]) -> list[tuple[str | None, int]]:
    return [(None, row) for row in rows]


# -- order -------------------------------------------------------------------------


def known_order(loader: Any, epoch: int | None, rank: int | None) -> tuple[Any, DrawnOrder]:
    """The order of an epoch from its first batch on, and the sampler that gives it, at that epoch and rank.

    Nothing moves: neither the loader's sampler nor any generator.

    Raises:
        UnsupportedError: nobody knows it, with the reason.
    """
    if isinstance(loader.dataset, IterableDataset):
        raise errors.UnsupportedError("an iterable dataset decides itself which samples a batch has")
    lists = loader.batch_sampler
    if lists is None:
        lists = BatchSampler(loader.sampler, 1, False)
    if not is_known(lists):
        kind = type(lists if type(lists) is not BatchSampler else lists.sampler).__name__
        raise errors.UnsupportedError(f"{kind} itself decides its order when it is iterated over{_INSTEAD}")
    sampler = copy.copy(lists.sampler)
    if isinstance(sampler, DistributedSampler):
        _load(sampler, loader)
        _move(sampler, epoch, rank, lists.batch_size)
    elif rank:
        raise errors.OptionError(f"rank={rank}: {type(sampler).__name__} knows no ranks")
    elif type(sampler) is not SequentialSampler:
        if epoch is not None:
            raise errors.UnsupportedError(
                f"epoch={epoch}: {type(sampler).__name__} draws each epoch anew, and numbers none{_INSTEAD}"
            )
        iterator = loader._newest() if hasattr(loader, "_newest") else None
        source = getattr(iterator, "_epoch", None) or getattr(iterator, "_lists", None)
        drawn: DrawnOrder | None = getattr(source, "_drawn", None)
        if drawn is not None:
            return sampler, drawn
        sampler.generator = _next_generator(loader, sampler, iterator is not None and source is None)
    order = draw_order(BatchSampler(sampler, lists.batch_size, lists.drop_last))
    if order is None:
        raise errors.UnsupportedError(
            f"{type(sampler).__name__} draws in the middle of its epoch, or its dataset has changed{_INSTEAD}"
        )
    return sampler, order


_INSTEAD = ": gofast.Sampler(dataset, seed=...) has an order that follows from seed and epoch"


def _pending(loader: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The states of the epoch and of the generators that the next batch goes on from, if it has not begun."""
    if getattr(loader, "_state", None) is not None:
        state = check(loader, loader._state)
        return state["epoch"] or {}, state["now"]
    iterator = loader._newest() if hasattr(loader, "_newest") else None
    resumed = getattr(iterator, "_resumed", None)
    if isinstance(resumed, tuple):  # of torch's machinery
        return resumed[1]["epoch"] or {}, resumed[1]["now"]
    return None if resumed is None else (resumed, {})


def _load(sampler: DistributedSampler[Any], loader: Any) -> None:
    """Sets a copy of a sampler to what the loader's goes on from."""
    epoch, now = _pending(loader) or ({}, {})
    order = epoch.get("order", {})
    if isinstance(sampler, Sampler):
        sampler._mix_on(now.get("mix", {}))
        sampler.load_state_dict(order.get("sampler", {}))
    elif order.get("epoch") is not None:
        sampler.set_epoch(order["epoch"])


def _move(sampler: DistributedSampler[Any], epoch: int | None, rank: int | None, size: int) -> None:
    """Sets a copy of a sampler to an epoch, from its start on, and to a rank."""
    if rank is not None:
        if rank >= sampler.num_replicas:
            raise errors.OptionError(f"rank={rank}: there are {sampler.num_replicas} ranks")
        sampler.rank = rank
    if epoch is not None:
        sampler.set_epoch(epoch)
    if isinstance(sampler, Sampler):
        if sampler._start % (size * sampler.num_replicas):
            raise errors.UnsupportedError(
                f"this epoch goes on from sample {sampler._start}, which is no whole number of global "
                f"batches of {size * sampler.num_replicas}: its steps have no numbers"
            )
        sampler._start = 0


def _next_generator(loader: Any, sampler: Any, begun: bool) -> torch.Generator:
    """A copy of a sampler's own generator, as the first batch finds it.

    Args:
        begun: there is an iterator already, which has drawn torch's base seed.
    """
    own = sampler.generator
    if own is None or _pending(loader) is not None:
        raise errors.UnsupportedError(
            f"{type(sampler).__name__} draws its order when an iterator asks for the first batch: ask again "
            f"while that lives, give the loader a generator{_INSTEAD.replace(':', ', or', 1)}"
        )
    made = torch.Generator(own.device)
    made.set_state(own.get_state())
    if own is loader.generator and not begun:
        torch.empty((), dtype=torch.int64).random_(generator=made)
    return made


# -- draws -------------------------------------------------------------------------


def _drawn(
    loader: Any, found: list[Any], indices: list[int], epoch: int | None
) -> tuple[str, list[Parameters | None] | None]:
    """What is drawn for the samples of a batch: in words, and for each.

    Args:
        found: of `locate`.
    """
    view = loader._native_view() if hasattr(loader, "_native_view") else Reason("torch's DataLoader")
    if not isinstance(view, Reason):
        said, drawn = view.sample_parameters(indices, epoch)
        return said + _of_collate(loader), None if drawn is None else [*drawn]
    # One sample after another, or whole batches: a sample that comes twice has other draws the second time.
    often, parameters = Counter(indices), list[Parameters | None]([None] * len(indices))
    words = dict[str, None]()
    for leaf, positions, rows in found:
        if not len(rows):
            continue
        said, drawn, ours = f"those of {type(leaf).__name__}, in Python, are not known", None, native(leaf)
        inner = None if ours is None else ours._drawing_view()
        if inner is not None:
            said, drawn = inner.sample_parameters(rows.tolist(), epoch)
        words[said] = None
        for position, one in zip(positions.tolist(), drawn or (), strict=False):
            parameters[position] = one if often[indices[position]] == 1 else None
    known = any(one is not None for one in parameters)
    return "; ".join(words) + _of_collate(loader), parameters if known else None


def _of_collate(loader: Any) -> str:
    own = loader.collate_fn is not torch.utils.data.default_collate
    return "; what collate_fn draws is not among them" if own and loader.batch_sampler is not None else ""


def _in_words(parameters: Parameters | None) -> str:
    return "; ".join(
        " ".join([name.replace("_", " "), *(f"{key}={_value(value)}" for key, value in values.items())])
        for name, values in parameters or ()
    )


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

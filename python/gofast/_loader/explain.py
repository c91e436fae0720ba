"""explain: which steps of a dataset or a loader run natively and which in Python, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, overload

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, default_collate

from .._core import engine, reason
from .._core.arguments import checked, whole
from .._core.openmp import as_in_workers
from .._core.reason import Reason
from .._core.units import aligned, duration
from ..errors import GofastError, OptionError
from .batch_explanation import BatchExplanation, explain_batch
from .batch_source import BatchSource, Line, called
from .destination import PINNED
from .iterable_dataset import IterableSourceDataset
from .native_dataset import NativeDataset, foreign, native, resolve
from .schedule import draw_order

_MOST_PARTS = 5  # shown of a ConcatDataset
_TITLE = ("step", "runs in", "what")


class Explanation(str):
    """A table with one line for each step. It prints as text, and a notebook shows it as a table.

    Attributes:
        lines: (step, runs in, what) for each step.
    """

    lines: list[Line]

    def __new__(cls, lines: Sequence[Line]) -> Explanation:
        made = super().__new__(cls, "\n".join(aligned([_TITLE, *lines])))
        made.lines = list(lines)
        return made

    def __getnewargs__(self) -> tuple[Any]:
        return (self.lines,)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        def row(cells: Line, tag: str) -> str:
            style = ' style="text-align: left; white-space: pre-wrap"'
            return "<tr>" + "".join(f"<{tag}{style}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(line, "td") for line in self.lines)
        return f"<table><thead>{row(_TITLE, 'th')}</thead><tbody>{body}</tbody></table>"


@overload
def explain(what: Dataset[Any] | DataLoader[Any]) -> Explanation: ...
@overload
def explain(
    what: DataLoader[Any], *, epoch: int | None = None, step: int, rank: int | None = None
) -> BatchExplanation: ...
@checked
def explain(
    what: Dataset[Any] | DataLoader[Any],
    *,
    epoch: int | None = None,
    step: int | None = None,
    rank: int | None = None,
) -> Explanation | BatchExplanation:
    """Shows which steps run natively, which run in Python, and why; or which samples one batch has.

    With ``step``, the answer is that batch: its samples, their files, and the crops, flips and whatever else
    is drawn for them, where that follows from a seed. It is found without iterating, and nothing moves: no
    generator, no iterator, no place. Orders are known of a gofast.Sampler, torch's DistributedSampler and
    SequentialSampler, and of samplers with a generator of their own. What torch's RandomSampler draws else
    is known while an iterator of a gofast.DataLoader lives: then the batch is one of its epoch. Draws are
    known with ``rng="stateless"``.

    Args:
        what: a dataset, gofast's or another, also inside Subset and ConcatDataset; or a loader over one,
            torch's, gofast's or any other object with a `dataset`, which is explained as far as that goes.
        epoch: as after `set_epoch` of the loader; None: the one that its sampler and dataset are in.
        step: of a batch in its epoch, from 0 on. Also after a state was loaded, it counts from the epoch's
            first sample.
        rank: whose batch; None: the loader's own.

    Returns:
        A str: a table with one line for each step. A notebook shows it as a table. With ``step``, an object
        that prints as a table, and has its columns as attributes (`gofast.typing.BatchExplanation`).

    Raises:
        TypeError: it is neither a dataset nor a loader.
        OptionError: ``step`` without a loader, or there is no such rank.
        RowIndexError: the epoch has no such step.
        UnsupportedError: nobody knows the order before an iterator draws it, with the reason.

    Example:
        >>> print(gofast.explain(gofast.ArrayDataset(torch.zeros(3, 2))))
        step               runs in  what
        array 0            C        3 rows of float32 [2]
        ...
        >>> train = gofast.ArrayDataset(torch.zeros(100, 2))
        >>> loader = gofast.DataLoader(train, batch_size=3, sampler=gofast.Sampler(train, 8, 0, seed=1))
        >>> gofast.explain(loader, epoch=3, step=1, rank=5).indices
        [61, 33, 10]
    """
    if step is not None:
        if not isinstance(what, DataLoader):
            raise OptionError(f"step={step} is a batch of a DataLoader, not of a {type(what).__name__}")
        return explain_batch(what, epoch, whole(0)("step", step), rank)
    if epoch is not None or rank is not None:
        raise OptionError("epoch= and rank= choose a batch: give step= too")
    if isinstance(what, DataLoader):
        return Explanation(_loader(what))
    if not isinstance(what, Dataset):
        kind = type(what).__name__
        if hasattr(what, "dataset"):
            own = (kind, "Python", "a loader of its own kind: what it does with the dataset is not known")
            return Explanation([*_dataset(what.dataset), own])
        raise TypeError(f"explain takes a dataset (torch.utils.data.Dataset) or a DataLoader, not {kind}")
    view = resolve(what)
    where = "Python" if isinstance(view, Reason) else "Go"
    if isinstance(what, IterableSourceDataset):
        where, ahead = "Go", what._ahead
    elif isinstance(view, Reason):
        ahead = f"torch's own machinery: {view}"
    else:
        ahead = "look-ahead on engine threads"
        if _draws_lazy(view):
            ahead += f"; with num_workers=0 {_GUESSED}"
        elif not view.steady:
            ahead += " if num_workers > 0: the arrays can be written to"
    return Explanation([*_dataset(what), ("gofast.DataLoader", where, ahead)])


_GUESSED = "as long as nobody else draws from torch's generator"


def _draws_lazy(view: BatchSource) -> bool:
    """Whether samples draw from torch's generator. Without workers, torch draws when it makes the batch."""
    return view.draws and getattr(view, "rng", "") == "torch"


# -- datasets ----------------------------------------------------------------------


def _dataset(dataset: Any, in_ours: bool = True) -> list[Line]:
    """Its lines.

    Args:
        in_ours: in a gofast.DataLoader, without which nothing stands in for another library's dataset.
    """
    kind = type(dataset)
    if issubclass(kind, IterableSourceDataset):
        pulled: list[Line] = dataset._explained()
        return pulled
    ours = dataset if issubclass(kind, NativeDataset) else native(dataset)
    if ours is not dataset and ours is not None and not in_ours:
        return [(kind.__name__, "Python", "torchvision's: a gofast.DataLoader makes its batches")]
    if ours is not None:
        lines: list[Line] = ours._explained()
        return lines
    for torchs in (Subset, ConcatDataset):
        if issubclass(kind, torchs):
            where, own = ("", "") if kind is torchs else ("Python", ": its own code makes the samples")
            parts = [dataset.dataset] if torchs is Subset else dataset.datasets
            of = f"of {len(parts[0])}" if torchs is Subset else f"of {len(parts)} datasets"
            inner = [line for part in parts[:_MOST_PARTS] for line in _dataset(part, in_ours)]
            if len(parts) > _MOST_PARTS:
                inner.append(("...", "", f"{len(parts) - _MOST_PARTS} more datasets"))
            title = (kind.__name__, where, f"{len(dataset)} samples {of}{own}")
            return [title, *((f"  {name}", where, what) for name, where, what in inner)]
    costs = reason.most({} if kind.__module__.startswith("torch") else reason.process.seconds())
    seen = [("  so far", "Python", f"{why} ({duration(took)})") for why, took in costs]
    kept_paths = sys.modules.get("gofast._images.path_cache")
    if kept_paths is not None and kept_paths.current is not None:
        seen.append(("  cache", "C", kept_paths.current.explained()))
    return [(kind.__name__, "Python", foreign(kind)), *seen]


def overrides(dataset: Any, base: Any, what: str) -> list[Line]:
    """A line that says so if a subclass of base makes its samples by itself."""
    if type(dataset).__getitem__ is base.__getitem__:
        return []
    return [(what, "Python", f"{type(dataset).__name__} overrides __getitem__: one call each")]


# -- loaders -----------------------------------------------------------------------


def _loader(loader: Any) -> list[Line]:
    ours = hasattr(type(loader), "_native_view")  # a gofast.DataLoader
    found = loader._native_view() if ours else Reason("")
    view = None if isinstance(found, Reason) else found
    with as_in_workers(loader.num_workers):
        lines = _dataset(loader.dataset, ours)
    lines.append(("order", "Python", _order(loader, view)))
    if loader.collate_fn is not default_collate and loader._auto_collation:
        each = f"{called(loader.collate_fn)}: your callable, one call a batch"
        if view is not None:
            each += ", in this process" + ", as in the worker whose turn it is" * (loader.num_workers > 0)
        lines.append(("collate_fn", "Python", each))
    if loader.worker_init_fn is not None:
        each = "one call a worker process" if loader.num_workers else "no call: there are no workers"
        if loader.num_workers and view is not None:
            each = "it only seeds: one call for each worker's generators, in this process"
        lines.append(("worker_init_fn", "Python", f"{called(loader.worker_init_fn)}: {each}"))
    lines.append(("workers", "Go" if view else "Python", _workers(loader, view)))
    wanted = loader._wanted_device() if ours else None
    if wanted is not None:
        try:
            own = loader.collate_fn is not default_collate
            there = loader._destination().explained(None if own else view)
        except GofastError as error:
            there = f"batches do not get there: {error}"
        lines.append(("device", "Go", there))
    elif loader.pin_memory:
        found = (
            torch.accelerator.is_available() if hasattr(torch, "accelerator") else torch.cuda.is_available()
        )
        what = "without effect: no accelerator is there"
        if found:
            what = "every batch is copied into pinned memory"
            if view is not None or not (ours or loader.num_workers or _refused(loader.dataset)):
                what = PINNED
        lines.append(("pin_memory", "Python", what))
    if view is not None:
        what, now = "look-ahead", "each batch when it is asked for"
        if not loader.num_workers and _draws_lazy(view):
            if view.steady and _drawn_at_once(loader.batch_sampler):
                what += f" {_GUESSED}"
            else:
                what = f"{now}: its samples draw from torch's generator"
        elif not loader.num_workers and not view.steady:
            what = f"{now}: the arrays can be written to"
        elif _draws_lazy(view) and loader.collate_fn is not default_collate:
            what += " (one batch for each worker while collate_fn draws from torch's generator)"
        return [*lines, ("gofast.DataLoader", "Go", f"{what}, on engine threads")]
    if ours and issubclass(type(loader.dataset), IterableSourceDataset):
        return [*lines, ("gofast.DataLoader", "Go", loader.dataset._ahead)]
    name = "gofast.DataLoader" if ours else "torch's DataLoader"
    why = f"torch's own machinery: {found}; " if isinstance(found, Reason) and ours else ""
    return [*lines, (name, "Python", f"{why}{_made(loader)}")]


def describe(loader: Any) -> str:
    """The repr of a gofast.DataLoader: its dataset, its order and its threads or processes. Never raises."""
    kind = type(loader.dataset)
    try:
        dataset = f"{kind.__name__} of {len(loader.dataset)} samples"
    except Exception:  # an iterable dataset may have no length; others may raise anything
        dataset = kind.__name__
    try:
        view = loader._native_view()
        if isinstance(view, Reason):
            how = f"{_workers(loader, None)}; on torch's own machinery: {view}"
        else:
            how = _workers(loader, view)
    except Exception as error:
        how = f"cannot be known: {error}"
    lines = [f"dataset: {dataset}", f"order: {_sampler(loader)}", f"workers: {how}"]
    return "\n    ".join([type(loader).__name__, *lines])


def _workers(loader: Any, view: BatchSource | None) -> str:
    """The threads or processes that work for a loader, if any."""
    count = loader.num_workers
    if view is not None:
        wanted, most = loader.threads or count, engine.threads()
        return f"{min(wanted, most) if wanted else most} of the engine's {most} threads, no process"
    if count == 0:
        return "none: batches are made in this process, when they are asked for"
    kept = ", which live on after an epoch" if loader.persistent_workers else " for each epoch"
    return f"{count} process{'es' * (count != 1)}{kept}"


def _order(loader: Any, view: BatchSource | None) -> str:
    """The sampler that gives the order, and when it draws."""
    if view is None:
        return _sampler(loader)
    early = _drawn_at_once(loader.batch_sampler)
    return f"{_sampler(loader)}: " + ("a whole epoch is drawn at once" if early else "asked batch by batch")


def _sampler(loader: Any) -> str:
    if issubclass(type(loader.dataset), IterableDataset):
        return "the dataset's own"
    if loader.batch_size is None:  # the user's batch_sampler has its own size, or there are no batches
        return type(loader.sampler if loader.batch_sampler is None else loader.batch_sampler).__name__
    last = ", the last dropped if it is smaller" if loader.drop_last else ""
    return f"{type(loader.sampler).__name__}, batches of {loader.batch_size}{last}"


def _drawn_at_once(batch_sampler: Any) -> bool:
    """Whether the sampler's epoch is drawn at once. Draws it to find out, then restores the generators."""
    own = getattr(getattr(batch_sampler, "sampler", None), "generator", None)
    before = None if own is None else own.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            return draw_order(batch_sampler) is not None
    except Exception:  # the sampler raises; the loader will raise the same when it is iterated
        return False
    finally:
        if own is not None:
            own.set_state(before)


def _made(loader: Any) -> str:
    """Who makes the batches on torch's machinery."""
    batched = loader._auto_collation and callable(getattr(loader.dataset, "__getitems__", None))
    if batched and _by_the_core(loader.dataset):
        return "the core makes whole batches"
    return "one call a batch to the dataset" if batched else "samples are asked for one by one"


def _by_the_core(dataset: Any) -> bool:
    inner = dataset.dataset if type(dataset) is Subset else dataset
    if type(inner) is Subset:
        return _by_the_core(inner)
    return issubclass(type(inner), NativeDataset) and not _refused(inner)


def _refused(dataset: Any) -> bool:
    return isinstance(resolve(dataset), Reason)

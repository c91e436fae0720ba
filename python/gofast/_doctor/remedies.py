"""Which changes may help against which bottleneck, and how each is tried: a row for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, default_collate

from . import swap, variants
from .facts import Facts
from .keeping import later
from .loaders import is_iterable, like
from .verdicts import Remedy, Verdict

Build = Callable[[], Any]  # makes a loader, in a child
_SAMPLES = ("gofast", "num_workers", "arrays", "float32", "pin_memory")
SIZE = "batch_size"
FITTING: dict[Verdict, tuple[str, ...]] = {
    Verdict.SLOW_STORAGE: (*_SAMPLES, "prefetch_factor"),
    Verdict.SLOW_DECODE: (*_SAMPLES, "cache"),
    Verdict.SLOW_TRANSFORM: (*_SAMPLES, "cache", "step", "uint8"),
    Verdict.SLOW_DATASET: _SAMPLES,
    Verdict.HEAVY_COLLATE: ("gofast", "float32", "default_collate", "num_workers"),
    Verdict.HEAVY_PICKLING: ("gofast", "float32", "no_workers", "uint8", "tensors", "pin_memory"),
    Verdict.SLOW_SAMPLER: ("sampler",),
    Verdict.GENERATOR_BOUND: ("num_workers", "map_style"),
    Verdict.STRAGGLER: ("in_order", "prefetch_factor", "gofast", "num_workers", "slowest"),
    Verdict.TINY_BATCHES: (SIZE, "gofast"),
    Verdict.TOO_MANY_WORKERS: ("fewer_workers", "gofast"),
    Verdict.OVERSUBSCRIBED_THREADS: ("threads", "gofast"),
    Verdict.WORKER_START: ("persistent_workers", "gofast", "no_workers"),
    Verdict.LOW_MEMORY: ("fewer_workers", "gofast", "uint8"),
    Verdict.UNCLEAR: ("gofast", "num_workers", "prefetch_factor"),
}


class Offer(NamedTuple):
    """A change to this loader.

    Attributes:
        build: makes the loader with it; None: it cannot be tried, and the remedy says why.
        beside: makes the one that it is compared with; None: that is the loader as it is.
    """

    remedy: Remedy
    build: Build | None
    beside: Build | None = None


def offered(facts: Facts, key: str) -> Offer | None:
    """A change to this loader. None where it makes no sense."""
    if not isinstance(facts.loader, DataLoader) and key != "map_style":
        return None
    row = _TABLE[key]
    how = row.fits(facts)
    if how is None:
        return None
    title, code, caution = (text.format(how) for text in (row.title, row.code, row.caution))
    untried, make, beside = row.untried(facts), row.make, row.beside
    caution = "" if untried else caution
    remedy = Remedy(
        key, title, code, untried=untried, caution=caution, shows_cost=row.shows_cost, spares=row.spares
    )
    if untried or make is None:
        return Offer(remedy, None)
    return Offer(remedy, lambda: make(facts, how), None if beside is None else lambda: beside(facts, how))


@dataclass(frozen=True)
class _Row:
    """A change.

    Attributes:
        title, code, caution, shows_cost, spares: as a Remedy's; {} is what `fits` gives.
        fits: how the loader would be changed, such as 8 for num_workers; None where that makes no sense.
        make: makes the loader from that, in a child; None: it cannot be tried.
        untried: why it cannot be tried; "" if it can.
        beside: makes the loader that it is compared with; None: that is the loader as it is.
    """

    title: str
    fits: Callable[[Facts], Any]
    make: Callable[[Facts, Any], Any] | None = None
    code: str = ""
    caution: str = ""
    untried: Callable[[Facts], str] = lambda facts: ""
    shows_cost: bool = False
    spares: bool = False
    beside: Callable[[Facts, Any], Any] | None = None


def _option(
    name: str,
    fits: Callable[[Facts], Any],
    title: str = "",
    caution: str = "",
    untried: Callable[[Facts], str] = lambda facts: "",
) -> _Row:
    """An argument of DataLoader that gets another value."""
    code, title = f"DataLoader(..., {name}={{}})", title or f"{name}={{}}"
    return _Row(title, fits, lambda facts, value: like(facts.loader, **{name: value}), code, caution, untried)


def _torchs(facts: Facts, value: Any, least: int = 1) -> Any:
    """The value where torch's workers make the batches, and there are so many."""
    return None if facts.native or facts.workers < least else value


def _more_workers(facts: Facts) -> Any:
    # Where samples wait more than they compute, more workers than processors are right.
    took, blocked = (sum(seconds) for seconds in zip(*facts.parts().values(), strict=True))
    count = min(max(4 * facts.cores, 4), 32) if blocked > 0.5 * took else facts.cores
    return _torchs(facts, count, 0) if count > facts.workers else None


def _fewer_workers(facts: Facts) -> Any:
    return _torchs(facts, min(facts.cores, facts.workers // 2), 2)


def _prefetch(facts: Facts) -> Any:
    return _torchs(facts, 4 * (getattr(facts.loader, "prefetch_factor", None) or 2))


def _pin(facts: Facts) -> bool | None:
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return True if in_use and not facts.loader.pin_memory else None  # without a GPU, nothing gains from it


def _size(facts: Facts) -> tuple[str, str] | None:
    size = facts.loader.batch_size
    if size is not None:
        return f"batch_size={8 * size}", f"DataLoader(..., batch_size={8 * size})"
    larger = "a batch_sampler with batches of eight times the size"
    return None if facts.loader.batch_sampler is None else (larger, "")


def _step(facts: Facts) -> str | None:
    """A step that runs in Python, or the slowest that no other relies on."""
    needed = ("ToTensor", "PILToTensor", "ToImage", "Normalize")
    fallen = [name for name, _ in facts.python_steps()]
    slow = [name for name in facts.steps() if name not in needed]
    return next(iter([*fallen, *slow]), None) if variants.steps_of(facts.loader) else None


def _room(facts: Facts) -> tuple[float, str, str] | None:
    """Bytes for all samples, where gofast has no dataset of the same; how arrays are given, and come."""
    if is_iterable(facts.loader) or facts.memory is None or (facts.plan is not None and facts.plan.fits):
        return None
    if facts.run.parts:
        return facts.memory.free / 2, "*arrays", ""
    return facts.memory.free / 2, "arrays", "; a batch is then a list with the tensor in it"


def _no_room(facts: Facts) -> str:
    kept = facts.keeping
    if kept is None or kept.why:
        return "" if kept is None else kept.why
    if facts.memory is not None and kept.bytes <= facts.memory.free / 2:
        return ""
    return f"all pictures would take {kept} of memory, more than half of what is free; a folder has room"


def _if(fits: bool) -> bool | None:
    return fits or None


_TABLE: dict[str, _Row] = {
    "gofast": _Row(
        "{0.title}",
        lambda facts: facts.plan,
        lambda facts, plan: swap.swapped(facts.loader, plan),
        "{0.code}",
        "{0.said}",
        lambda facts: "" if facts.plan is None or facts.plan.fits else facts.plan.said,
    ),
    "num_workers": _option(
        "num_workers",
        _more_workers,
        untried=lambda facts: (
            "each worker would give all samples again, unless the dataset shares them out by "
            "torch.utils.data.get_worker_info()"
            if is_iterable(facts.loader)
            else ""
        ),
    ),
    "fewer_workers": replace(
        _option("num_workers", _fewer_workers, caution="less memory, and fewer processes to start"),
        spares=True,
    ),
    "no_workers": _option(
        "num_workers", lambda facts: _torchs(facts, 0), "num_workers={}: no way between processes"
    ),
    "persistent_workers": _option(
        "persistent_workers", lambda facts: True, "workers that live on after an epoch"
    ),
    "prefetch_factor": _option(
        "prefetch_factor", _prefetch, caution="up to {} batches of each worker wait in memory"
    ),
    "pin_memory": _option(
        "pin_memory",
        _pin,
        untried=lambda facts: "CUDA is in use here, and cannot be used by the process of a trial",
    ),
    "in_order": _option(
        "in_order",
        lambda facts: _torchs(facts, False, 2) if hasattr(facts.loader, "in_order") else None,
        "batches in the order in which they are ready",
        "the order of batches changes from run to run",
    ),
    SIZE: _Row(
        "{0[0]}",
        _size,
        lambda facts, _: variants.larger_batches(facts.loader),
        "{0[1]}",
        "tried without a step. Larger batches change the training: its learning rate, for one",
    ),
    "threads": _Row(
        "one thread in each worker",
        lambda facts: _if(facts.workers > 0),
        lambda facts, _: variants.one_thread(facts.loader),
        "worker_init_fn=lambda worker: torch.set_num_threads(1), and OMP_NUM_THREADS=1",
    ),
    "sampler": _Row(
        "torch's RandomSampler instead of yours",
        lambda facts: _if(not is_iterable(facts.loader)),
        lambda facts, _: variants.torchs_sampler(facts.loader),
        "DataLoader(..., sampler=torch.utils.data.RandomSampler(dataset))",
        caution="another order; draw all indices of an epoch at once, with torch or numpy",
        shows_cost=True,
    ),
    "default_collate": _Row(
        "torch's default_collate instead of yours",
        lambda facts: _if(facts.loader.collate_fn is not default_collate),
        lambda facts, _: like(facts.loader, collate_fn=default_collate),
        caution="other batches; work on whole tensors (torch.stack) in yours",
        shows_cost=True,
    ),
    "step": _Row(
        "the transform without {}",
        _step,
        lambda facts, name: variants.without_step(facts.loader, name),
        caution="other samples; write it with whole tensors, or with steps that gofast runs natively",
        shows_cost=True,
    ),
    "uint8": _Row(
        "uint8 pictures, made numbers on the GPU",
        lambda facts: _if("ToTensor" in [type(step).__name__ for step in variants.steps_of(facts.loader)]),
        lambda facts, _: variants.as_bytes(facts.loader),
        "PILToTensor() instead of ToTensor()",
        "a quarter of the bytes; divide by 255 and normalise in the step, or use device= of gofast",
    ),
    "arrays": _Row(
        "gofast.ArrayDataset: all samples are made once, at the start",
        _room,
        lambda facts, how: variants.in_arrays(facts.loader, how[0]),
        "arrays = default_collate([dataset[i] for i in range(len(dataset))]); "
        "dataset = gofast.ArrayDataset({0[1]})",
        "tried with some of them, of which none looked random; all must fit in memory{0[2]}",
    ),
    "cache": _Row(
        'cache="memory": what is the same in every epoch is made in the first',
        lambda facts: facts.keeping,
        lambda facts, kept: later(facts.loader, kept.samples, cache=True),
        'gofast.{0.called}(..., cache="memory"), or a folder, which later runs find again',
        "all pictures take {0} of memory, and the first epoch more time; {0.samples} of them were tried, in "
        "later epochs with it and without",
        _no_room,
        beside=lambda facts, kept: later(facts.loader, kept.samples, cache=False),
    ),
    "float32": _Row(
        "float32 instead of float64: half the bytes, and what models take",
        lambda facts: _if(facts.run.doubles),
        lambda facts, _: like(facts.loader, collate_fn=variants.Narrow(facts.loader.collate_fn)),
        "sample = sample.astype(np.float32), where the dataset makes it",
        "other numbers, where float32 rounds",
    ),
    "slowest": _Row(
        "samples such as {} made smaller or split, once",
        lambda facts: facts.slowest() or None,
        untried=lambda facts: "only you can change what samples are",
    ),
    "tensors": _Row(
        "tensors or arrays instead of Python objects: they cross as memory",
        lambda facts: True,
        untried=lambda facts: "only you can change what samples are",
    ),
    "map_style": _Row(
        "a Dataset with __getitem__: workers and gofast then make samples side by side",
        lambda facts: True,
        untried=lambda facts: "only you can say what sample i is",
    ),
}

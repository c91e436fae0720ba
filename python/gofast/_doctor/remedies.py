"""Which changes may help against which bottleneck, and how each is tried: a row for each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, default_collate

from . import replacement, variants
from .cache_trial import later
from .facts import Facts
from .loaders import innermost, is_iterable, like, starting
from .verdicts import Remedy, Verdict

Build = Callable[[], Any]  # makes a loader, in a child
_SAMPLES = ("gofast", "compose", "num_workers", "arrays", "float32", "pin_memory")
SIZE = "batch_size"
FITTING: dict[Verdict, tuple[str, ...]] = {
    Verdict.SPINNING_THREADS: ("wait_policy", "one_thread"),
    Verdict.PYTHON_STEP: ("whole_tensors",),
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
    title, caution = (text.format(how) for text in (row.title, row.caution))
    code = row.code(facts, how)
    untried, make, beside = row.untried(facts), row.make, row.beside
    caution = "" if untried else caution
    remedy = Remedy(
        key, title, code, untried=untried, caution=caution, shows_cost=row.shows_cost, spares=row.spares
    )
    if row.measured is not None:
        remedy.gain = remedy.low = remedy.high = row.measured(facts, how)
        remedy.rounds = 1
    if untried or make is None:
        return Offer(remedy, None)
    return Offer(remedy, lambda: make(facts, how), None if beside is None else lambda: beside(facts, how))


@dataclass(frozen=True)
class _Row:
    """A change.

    Attributes:
        title, caution, shows_cost, spares: as a Remedy's; {} is what `fits` gives.
        code: gives a Remedy's.
        fits: how the loader would be changed, such as 8 for num_workers; None where that makes no sense.
        make: makes the loader from that, in a child; None: it cannot be tried.
        untried: why it cannot be tried; "" if it can.
        beside: makes the loader that it is compared with; None: that is the loader as it is.
        measured: the gain, where the loop itself has shown it.
    """

    title: str
    fits: Callable[[Facts], Any]
    make: Callable[[Facts, Any], Any] | None = None
    code: Callable[[Facts, Any], str] = lambda facts, how: ""
    caution: str = ""
    untried: Callable[[Facts], str] = lambda facts: ""
    shows_cost: bool = False
    spares: bool = False
    beside: Callable[[Facts, Any], Any] | None = None
    measured: Callable[[Facts, Any], float] | None = None


def _option(
    name: str,
    fits: Callable[[Facts], Any],
    title: str = "",
    caution: str = "",
    untried: Callable[[Facts], str] = lambda facts: "",
) -> _Row:
    """An argument of DataLoader that gets another value."""
    return _Row(
        title or f"{name}={{}}",
        fits,
        lambda facts, value: like(facts.loader, **{name: value}),
        lambda facts, value: _again(facts, **{name: repr(value)}),
        caution,
        untried,
    )


def _again(facts: Facts, **changes: str) -> str:
    """The lines that make the loader once more, with arguments that are changed."""
    loader, scope = facts.loader, facts.scope
    line = scope.remade(loader, scope.dataset(loader.dataset, loader.dataset), **changes)
    return _lines(facts, line)


def _lines(facts: Facts, *lines: str) -> str:
    """Lines with what they need before them."""
    scope = facts.scope
    return "\n".join([*replacement.fill_in(scope), *scope.imports("\n".join(lines)), *lines])


def _fewer_threads(facts: Facts, _: Any) -> str:
    """The workers' own function comes first: it may ask for more."""
    init = facts.loader.worker_init_fn
    if starting(facts.loader):  # a lambda does not get there
        return f"OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python {facts.scope.command}"
    said = facts.scope.expression(init) or f"{facts.scope.loader}.worker_init_fn"
    do = "torch.set_num_threads(1)"
    # The line replaces what a name in it stands for: that is taken before.
    first = [f"init_worker = {said}"] if init is not None else []
    given = f"lambda worker: (init_worker(worker), {do})" if init is not None else f"lambda worker: {do}"
    again = _again(facts, worker_init_fn=given).split("\n")
    return "\n".join([*again[:-1], *first, again[-1]])


def _as_arrays(facts: Facts, how: tuple[float, str, str]) -> str:
    scope, loader = facts.scope, facts.loader
    said = scope.dataset(loader.dataset, loader.dataset)
    made = f"torch.utils.data.default_collate([{said}[i] for i in range(len({said}))])"
    return _lines(
        facts,
        f"arrays = {made}",
        f"dataset = gofast.ArrayDataset({how[1]})",
        scope.remade(loader, "dataset", "gofast.DataLoader"),
    )


def _as_bytes(facts: Facts, _: Any) -> str:
    scope, dataset = facts.scope, innermost(facts.loader.dataset)
    said = scope.expression(dataset.transform) or f"{scope.dataset(dataset, facts.loader.dataset)}.transform"
    at = [type(step).__name__ for step in dataset.transform.transforms].index("ToTensor")
    return _lines(
        facts, "import torchvision", f"{said}.transforms[{at}:] = [torchvision.transforms.PILToTensor()]"
    )


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


def _size(facts: Facts) -> tuple[str, int] | None:
    size = facts.loader.batch_size
    if size is not None:
        return f"batch_size={8 * size}", 8 * size
    larger = "a batch_sampler with batches of eight times the size"
    return None if facts.loader.batch_sampler is None else (larger, 0)


def _in_batches(facts: Facts) -> dict[str, str]:
    """A random order of torch's, in batches of the size that there was."""
    return {"batch_size": repr(facts.loader.batch_size or round(facts.run.size)), "shuffle": "True"}


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
        lambda facts, plan: replacement.swapped(facts.loader, plan, facts.scope),
        lambda facts, plan: str(plan.code),
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
        lambda facts, how: _again(facts, batch_size=repr(how[1])) if how[1] else "",
        "tried without a step. Larger batches change the training: its learning rate, for one",
    ),
    "threads": _Row(
        "one thread in each worker",
        lambda facts: _if(facts.workers > 0),
        lambda facts, _: variants.one_thread(facts.loader),
        _fewer_threads,
    ),
    "wait_policy": _Row(
        "threads that sleep while they wait",
        lambda facts: _if(os.environ.get("OMP_WAIT_POLICY", "").lower() != "passive"),
        code=lambda facts, _: f"OMP_WAIT_POLICY=passive python {facts.scope.command}",
        untried=lambda facts: "it is read when torch is loaded, so not in this process",
    ),
    "one_thread": _Row(
        "one thread of torch's for the loop",
        lambda facts: facts.threads,
        code=lambda facts, _: _lines(facts, "torch.set_num_threads(1)"),
        caution="a large model may gain from more; {0.steps} steps were measured",
        measured=lambda facts, known: known.gain(facts.run.wait),
    ),
    "whole_tensors": _Row(
        "whole tensors or arrays in the step, instead of one value after the other",
        lambda facts: True,
        untried=lambda facts: "only you can change what the step does",
    ),
    "compose": _Row(
        "the Compose of {} built once, in __init__ or above the class",
        lambda facts: next(iter(facts.built), None),
        untried=lambda facts: "only you can change what the dataset does",
    ),
    "sampler": _Row(
        "torch's RandomSampler instead of yours",
        lambda facts: _if(not is_iterable(facts.loader)),
        lambda facts, _: variants.torchs_sampler(facts.loader),
        lambda facts, _: _again(facts, sampler="", batch_sampler="", **_in_batches(facts)),
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
        _as_bytes,
        "a quarter of the bytes; divide by 255 and normalise in the step, or use device= of gofast",
    ),
    "arrays": _Row(
        "gofast.ArrayDataset: all samples are made once, at the start",
        _room,
        lambda facts, how: variants.in_arrays(facts.loader, how[0]),
        _as_arrays,
        "tried with some of them, of which none looked random; all must fit in memory{0[2]}",
    ),
    "cache": _Row(
        'cache="memory": what is the same in every epoch is made in the first',
        lambda facts: facts.keeping,
        lambda facts, kept: later(facts.loader, kept.samples, cache=True),
        lambda facts, kept: (
            f'# one more argument of gofast.{kept.called}: cache="memory", or a folder, which later runs find'
        ),
        "all pictures take {0} of memory, and the first epoch more time; {0.samples} of them were tried, in "
        "later epochs with it and without",
        _no_room,
        beside=lambda facts, kept: later(facts.loader, kept.samples, cache=False),
    ),
    "float32": _Row(
        "float32 instead of float64: half the bytes, and what models take",
        lambda facts: _if(facts.run.doubles),
        lambda facts, _: like(facts.loader, collate_fn=variants.Narrow(facts.loader.collate_fn)),
        caution="where the dataset makes a sample: .astype(np.float32), or .float() of a tensor; other "
        "numbers, where float32 rounds",
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

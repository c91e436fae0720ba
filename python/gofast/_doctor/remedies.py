"""Which changes may help against which bottleneck, and how each is tried."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils.data import DataLoader

from . import swap, variants
from .apart import apart
from .facts import Facts
from .loaders import innermost, is_native, like
from .trials import Build
from .verdicts import Remedy, Verdict

Offer = tuple[Remedy, Build | None]  # without a function, it cannot be tried, and the remedy says why

_SAMPLES = ("gofast", "num_workers", "cache", "pin_memory")
SIZE = "batch_size"
FITTING: dict[Verdict, tuple[str, ...]] = {
    Verdict.SLOW_STORAGE: (*_SAMPLES, "prefetch_factor"),
    Verdict.SLOW_DECODE: (*_SAMPLES, "smaller_files"),
    Verdict.SLOW_TRANSFORM: (*_SAMPLES, "step", "uint8"),
    Verdict.SLOW_DATASET: _SAMPLES,
    Verdict.HEAVY_COLLATE: ("gofast", "default_collate", "num_workers"),
    Verdict.HEAVY_PICKLING: ("gofast", "no_workers", "uint8", "tensors", "pin_memory"),
    Verdict.SLOW_SAMPLER: ("sampler",),
    Verdict.GENERATOR_BOUND: ("num_workers", "map_style"),
    Verdict.STRAGGLER: ("in_order", "prefetch_factor", "gofast", "num_workers"),
    Verdict.TINY_BATCHES: (SIZE, "gofast"),
    Verdict.TOO_MANY_WORKERS: ("fewer_workers", "gofast"),
    Verdict.OVERSUBSCRIBED_THREADS: ("threads", "gofast"),
    Verdict.WORKER_START: ("persistent_workers", "gofast", "no_workers"),
    Verdict.LOW_MEMORY: ("fewer_workers", "gofast", "uint8"),
    Verdict.UNCLEAR: ("gofast", "num_workers", "prefetch_factor"),
}
_NEEDED = ("ToTensor", "PILToTensor", "ToImage", "Normalize")  # others rely on what these make
_BUSY_DEVICE = "CUDA is in use here, and cannot be used by the process of a trial"


class Offers:
    """The changes that can be made to one loader: a method for each key, None where it makes no sense.

    Args:
        folder: for files that a trial makes.
        seconds: that a trial may take to prepare itself.
    """

    def __init__(self, facts: Facts, folder: str, seconds: float) -> None:
        self.facts, self.loader, self.folder, self.seconds = facts, facts.loader, folder, seconds
        self.workers = facts.anatomy.workers if facts.anatomy else 0

    def of(self, key: str) -> Offer | None:
        """The change of this key."""
        make: Callable[[], Offer | None] = getattr(self, key)
        return make() if isinstance(self.loader, DataLoader) or key == "map_style" else None

    def gofast(self) -> Offer | None:
        try:
            title, code = swap.what(self.loader, self._opens_pictures())
        except swap.CannotSwapError:
            return None
        loader = self.loader
        same = apart(lambda send: send(swap.same_batches(loader)), self.seconds)
        remedy = Remedy("gofast", title, code)
        if same.error is not None:
            remedy.untried = f"gofast could not take over: {same.error}"
            return remedy, None
        if not same.last:
            remedy.untried = "the first batch was not the same: the dataset draws in a way of its own"
            return remedy, None
        remedy.caution = "the first batches were compared, and are equal"
        return remedy, lambda: swap.swapped(loader)

    def _opens_pictures(self) -> bool:
        return self.facts.anatomy is not None and self.facts.anatomy.parts()["decode"].busy > 0

    def num_workers(self) -> Offer | None:
        waits = self._waits()
        count = min(max(4 * self.facts.cores, 4), 32) if waits else self.facts.cores
        if count <= self.workers or is_native(self.loader):
            return None
        remedy = Remedy("num_workers", f"num_workers={count}", f"DataLoader(..., num_workers={count})")
        if self.facts.iterable:
            remedy.untried = (
                "each worker would give all samples again, unless the dataset shares them out by "
                "torch.utils.data.get_worker_info()"
            )
            return remedy, None
        loader = self.loader
        return remedy, lambda: like(loader, num_workers=count)

    def _waits(self) -> bool:
        """Whether samples wait more than they compute. Then more workers than processors are right."""
        parts = self.facts.anatomy.parts().values() if self.facts.anatomy else ()
        return sum(part.blocked for part in parts) > 0.5 * sum(part.busy for part in parts)

    def fewer_workers(self) -> Offer | None:
        count = min(self.facts.cores, self.workers // 2)
        if count < 1 or is_native(self.loader):
            return None
        loader = self.loader
        code = f"DataLoader(..., num_workers={count})"
        return Remedy("fewer_workers", f"num_workers={count}", code), lambda: like(loader, num_workers=count)

    def no_workers(self) -> Offer | None:
        if not self.workers or is_native(self.loader):
            return None
        loader = self.loader
        remedy = Remedy(
            "no_workers", "num_workers=0: no way between processes", "DataLoader(..., num_workers=0)"
        )
        return remedy, lambda: like(loader, num_workers=0)

    def persistent_workers(self) -> Offer | None:
        loader = self.loader
        remedy = Remedy(
            "persistent_workers",
            "workers that live on after an epoch",
            "DataLoader(..., persistent_workers=True)",
        )
        return remedy, lambda: like(loader, persistent_workers=True)

    def prefetch_factor(self) -> Offer | None:
        if not self.workers or is_native(self.loader):
            return None
        count = 4 * (self.loader.prefetch_factor or 2)
        loader = self.loader
        remedy = Remedy(
            "prefetch_factor", f"prefetch_factor={count}", f"DataLoader(..., prefetch_factor={count})"
        )
        remedy.caution = f"up to {count * self.workers} batches wait in memory"
        return remedy, lambda: like(loader, prefetch_factor=count)

    def pin_memory(self) -> Offer | None:
        in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        if self.loader.pin_memory or not in_use:
            return None  # without a GPU in use, nothing gains from it
        remedy = Remedy("pin_memory", "pin_memory=True", "DataLoader(..., pin_memory=True)")
        remedy.untried = _BUSY_DEVICE
        return remedy, None

    def in_order(self) -> Offer | None:
        if self.workers < 2 or not hasattr(self.loader, "in_order") or is_native(self.loader):
            return None
        loader = self.loader
        remedy = Remedy(
            "in_order", "batches in the order in which they are ready", "DataLoader(..., in_order=False)"
        )
        remedy.caution = "the order of batches changes from run to run"
        return remedy, lambda: like(loader, in_order=False)

    def batch_size(self) -> Offer | None:
        size, loader = self.loader.batch_size, self.loader
        if size is not None:
            remedy = Remedy(SIZE, f"batch_size={8 * size}", f"DataLoader(..., batch_size={8 * size})")
        elif loader.batch_sampler is not None:
            remedy = Remedy(SIZE, "a batch_sampler with batches of eight times the size")
        else:
            return None
        remedy.caution = (
            "tried without a step. Larger batches change the training: its learning rate, for one"
        )
        return remedy, lambda: variants.larger_batches(loader)

    def threads(self) -> Offer | None:
        if not self.workers:
            return None
        loader = self.loader
        code = "worker_init_fn=lambda worker: torch.set_num_threads(1), and OMP_NUM_THREADS=1"
        return Remedy("threads", "one thread in each worker", code), lambda: variants.one_thread(loader)

    def sampler(self) -> Offer | None:
        if self.facts.iterable:
            return None
        remedy = Remedy("sampler", "torch's RandomSampler instead of yours", shows_cost=True)
        remedy.caution = "another order; draw all indices of an epoch at once, with torch or numpy"
        loader = self.loader
        return remedy, lambda: variants.torchs_sampler(loader)

    def default_collate(self) -> Offer | None:
        from torch.utils.data import default_collate

        if self.loader.collate_fn is default_collate:
            return None
        loader = self.loader
        remedy = Remedy("default_collate", "torch's default_collate instead of yours", shows_cost=True)
        remedy.caution = "other batches; work on whole tensors (torch.stack) in yours"
        return remedy, lambda: variants.default_collated(loader)

    def step(self) -> Offer | None:
        steps = self.facts.anatomy.steps() if self.facts.anatomy else {}
        fallen = self.facts.python_steps()
        if not (fallen or steps) or variants.steps_of(self.loader) is None:
            return None
        own = [name for name in steps if name not in _NEEDED]
        if not fallen and not own:
            return None
        name = fallen[0][0] if fallen else own[0]
        loader = self.loader
        remedy = Remedy("step", f"the transform without {name}", shows_cost=True)
        remedy.caution = "other samples; write it with whole tensors, or with steps that gofast runs natively"
        return remedy, lambda: variants.without_step(loader, name)

    def uint8(self) -> Offer | None:
        names = [type(step).__name__ for step in variants.steps_of(self.loader) or []]
        if "ToTensor" not in names:
            return None
        loader = self.loader
        remedy = Remedy(
            "uint8", "uint8 pictures, made numbers on the GPU", "PILToTensor() instead of ToTensor()"
        )
        remedy.caution = (
            "a quarter of the bytes; divide by 255 and normalise in the step, or use device= of gofast"
        )
        return remedy, lambda: variants.as_bytes(loader)

    def cache(self) -> Offer | None:
        if self.facts.iterable or self.facts.memory is None:
            return None
        room, loader, seconds = self.facts.memory.free / 2, self.loader, self.seconds
        remedy = Remedy("cache", "all samples kept in memory after the first epoch")
        remedy.caution = "tried with some of them"
        return remedy, lambda: variants.in_memory(loader, seconds, room)

    def smaller_files(self) -> Offer | None:
        dataset = innermost(self.loader.dataset)
        if not hasattr(dataset, "samples"):
            return None
        remedy = Remedy("smaller_files", "files that are hardly larger than what is used of them")
        remedy.caution = "tried with some of them; JPEG of quality 90, not the same pixels"
        loader, folder, seconds = self.loader, self.folder, self.seconds
        return remedy, lambda: variants.smaller_files(loader, folder, seconds)

    def tensors(self) -> Offer | None:
        remedy = Remedy("tensors", "tensors or arrays instead of Python objects: they cross as memory")
        remedy.untried = "only you can change what samples are"
        return remedy, None

    def map_style(self) -> Offer | None:
        remedy = Remedy(
            "map_style", "a Dataset with __getitem__: workers and gofast then make samples side by side"
        )
        remedy.untried = "only you can say what sample i is"
        return remedy, None

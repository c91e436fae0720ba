"""The reasons why the engine cannot work for a dataset or a loader by itself. `resolve` decides whether."""

from __future__ import annotations

from typing import Any

from torch.utils.data import ConcatDataset, Subset, default_collate

from .._core.collation import is_torchs
from .own_state import kept_by
from .seeding import only_seeds
from .view import NativeDataset, resolve


def of_loader(loader: Any) -> str:
    """Why a gofast.DataLoader runs on torch's own machinery. Call it only if it does."""
    if not loader._auto_collation:
        return "batch_size=None: samples are asked for one by one"
    if loader.collate_fn is default_collate and not is_torchs():
        return "default_collate_fn_map has functions of your own: they make the batches"
    if loader.num_workers > 0:
        kept = kept_by(loader.collate_fn)
        if kept is not None:
            return f"collate_fn={called(loader.collate_fn)} may differ from worker to worker: {kept}"
        if not only_seeds(loader.worker_init_fn):
            return f"worker_init_fn={called(loader.worker_init_fn)} does more than seed, in worker processes"
    return of_dataset(loader.dataset)


def of_dataset(dataset: Any) -> str:
    """Why the engine cannot make a dataset's batches by itself. Call it only if it cannot."""
    kind = type(dataset)
    if issubclass(kind, NativeDataset):
        why: str = dataset._why_python()
        return why
    for torchs in (Subset, ConcatDataset):
        if issubclass(kind, torchs) and kind is not torchs:
            return f"{kind.__name__} is a subclass of {torchs.__name__}: its own code makes the samples"
    if kind not in (Subset, ConcatDataset):
        return f"{kind.__name__} is not a dataset of gofast's"
    for part in [dataset.dataset] if kind is Subset else dataset.datasets:
        if resolve(part) is None:
            return of_dataset(part)
    if kind is Subset:
        return "the Subset's indices are not a sequence of integers within its dataset"
    return "the ConcatDataset's parts make different samples, or have changed their lengths"


def overridden(kind: type, base: Any) -> str | None:
    """A text that names the method of torch's protocol that a subclass of base overrides, or None."""
    for name in ("__getitem__", "__getitems__", "__len__"):
        if getattr(kind, name) is not getattr(base, name):
            return f"{kind.__name__} overrides {name}"
    return None


def called(function: Any) -> str:
    """The name of a user's callable."""
    return str(getattr(function, "__name__", type(function).__name__))

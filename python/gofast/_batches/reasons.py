"""Why the engine cannot work for a dataset or a loader by itself, in words. `resolve` says whether."""

from __future__ import annotations

from typing import Any

from torch.utils.data import ConcatDataset, Subset, default_collate

from .._core.collation import is_torchs
from .view import NativeDataset, resolve


def of_loader(loader: Any) -> str:
    """Why a gofast.DataLoader runs on torch's own machinery. Only where it does."""
    if not loader._auto_collation:
        return "batch_size=None: samples are asked for one by one"
    if loader.collate_fn is not default_collate:
        return f"collate_fn={called(loader.collate_fn)}: your code makes the batches"
    if not is_torchs():
        return "default_collate_fn_map has functions of your own: they make the batches"
    if loader.num_workers > 0 and loader.worker_init_fn is not None:
        return f"worker_init_fn={called(loader.worker_init_fn)} runs in worker processes"
    return of_dataset(loader.dataset)


def of_dataset(dataset: Any) -> str:
    """Why the engine cannot make a dataset's batches by itself. Only where it cannot."""
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
    """Which method of torch's protocol a subclass of base took over, in words."""
    for name in ("__getitem__", "__getitems__", "__len__"):
        if getattr(kind, name) is not getattr(base, name):
            return f"{kind.__name__} overrides {name}"
    return None


def called(function: Any) -> str:
    """What somebody's callable is called."""
    return str(getattr(function, "__name__", type(function).__name__))

"""Loaders with one thing changed, each built in a forked child: what it changes in place stays there."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import BatchSampler, RandomSampler, Subset, default_collate

from .._core.units import size
from ..arrays import ArrayDataset
from .differences import difference
from .isolation import RefusalError, keep_one_thread
from .loaders import estimated_bytes, innermost, like, narrow, samples_of
from .replacement import over, seed
from .stages import name_of

_PREPARE = 0.5  # seconds in which samples or files are made before a trial


def steps_of(loader: Any) -> list[Any]:
    """The steps of a dataset's transform if it is a Compose."""
    transform = getattr(innermost(getattr(loader, "dataset", None)), "transform", None)
    steps = getattr(transform, "transforms", None)
    return steps if isinstance(steps, list) and type(transform).__name__ == "Compose" else []


def _with_steps(loader: Any, steps: list[Any]) -> Any:
    dataset = innermost(loader.dataset)
    dataset.transform.transforms = steps
    dataset.transform = dataset.transform  # gofast's datasets look at it then
    return like(loader)


def without_step(loader: Any, name: str) -> Any:
    """The transform without its steps of this name."""
    return _with_steps(loader, [step for step in steps_of(loader) if name_of(step) != name])


def as_bytes(loader: Any) -> Any:
    """uint8 pictures: the steps that make floats of them are left out, as a GPU can do them."""
    from torchvision.transforms import PILToTensor

    steps = steps_of(loader)
    names = [type(step).__name__ for step in steps]
    if names[-1] not in ("ToTensor", "Normalize"):
        raise RefusalError("the transform does not end with ToTensor, or with Normalize behind it")
    return _with_steps(loader, [*steps[: names.index("ToTensor")], PILToTensor()])


class OneThread:
    """A worker_init_fn that leaves each worker one thread, and calls the user's."""

    def __init__(self, inner: Callable[[int], object] | None) -> None:
        self._inner = inner

    def __call__(self, worker: int) -> None:
        keep_one_thread()
        if self._inner is not None:
            self._inner(worker)


def one_thread(loader: Any) -> Any:
    """One thread in each worker."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    return like(loader, worker_init_fn=OneThread(loader.worker_init_fn))


class _JoinedBatches:
    """A batch sampler that joins eight batches of another to one."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[list[Any]]:
        batches = iter(self._inner)
        while some := list(itertools.islice(batches, 8)):
            yield [index for batch in some for index in batch]


def larger_batches(loader: Any) -> Any:
    """Batches of eight times the size."""
    if loader.batch_size is not None:
        return like(loader, batch_size=8 * loader.batch_size)
    return like(loader, batch_sampler=_JoinedBatches(loader.batch_sampler))


def torchs_sampler(loader: Any) -> Any:
    """torch's random order instead of the user's sampler."""
    samples = loader.batch_size or samples_of(next(iter(like(loader, num_workers=0))), loader)
    random_order = RandomSampler(loader.dataset)
    return like(loader, sampler=random_order, batch_sampler=BatchSampler(random_order, samples, False))


class Narrow:
    """A collate function that gets float32 for float64, and gives none."""

    def __init__(self, inner: Callable[[Any], Any]) -> None:
        self._inner = inner

    def __call__(self, samples: Any) -> Any:
        return narrow(self._inner(narrow(samples)))


def in_arrays(loader: Any, room: float) -> Any:
    """Samples that were made before, in an ArrayDataset: some of them, instead of all.

    Args:
        room: bytes that all of them may take.
    """
    dataset, samples, end = loader.dataset, list[Any](), time.perf_counter() + _PREPARE
    for index in range(min(len(dataset), 256)):
        seed(index)
        samples.append(dataset[index])
        whole = estimated_bytes(samples[0]) * len(dataset)
        if whole > room:
            raise RefusalError(f"all samples would take {size(whole)}, more than half of the free memory")
        if time.perf_counter() > end:
            break
    for index, sample in enumerate(samples):
        seed(len(samples) + index)
        if difference(sample, dataset[index]):
            raise RefusalError("samples look random: one was another when it was made again")
    arrays = default_collate(samples)
    arrays = [arrays] if isinstance(arrays, torch.Tensor) else arrays
    if not isinstance(arrays, list) or not all(isinstance(array, torch.Tensor) for array in arrays):
        raise RefusalError("samples are no tensors")
    some = [index % len(samples) for index in range(len(dataset))]
    return over(like(loader), Subset(ArrayDataset(*arrays), some))

"""Loaders with one thing changed, each built in a forked child: what it changes in place stays there."""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import BatchSampler, Dataset, RandomSampler

from .._core.units import size
from .apart import RefusalError
from .loaders import estimated_bytes, innermost, like, samples_of
from .stages import name_of
from .swap import equal

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
    """A worker_init_fn that calls the user's, and then leaves each worker one thread."""

    def __init__(self, inner: Callable[[int], object] | None) -> None:
        self._inner = inner

    def __call__(self, worker: int) -> None:
        if self._inner is not None:
            self._inner(worker)
        for module, name, threads in (
            (torch, "set_num_threads", 1),
            (sys.modules.get("cv2"), "setNumThreads", 0),
        ):
            if module is not None:
                getattr(module, name)(threads)
                setattr(module, name, _leave)  # the dataset may ask for more


def _leave(threads: int) -> None:
    """Changes nothing."""


def one_thread(loader: Any) -> Any:
    """One thread in each worker."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    return like(loader, worker_init_fn=OneThread(loader.worker_init_fn))


class _Joined:
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
    return like(loader, batch_sampler=_Joined(loader.batch_sampler))


def torchs_sampler(loader: Any) -> Any:
    """torch's random order instead of the user's sampler."""
    samples = loader.batch_size or samples_of(next(iter(like(loader, num_workers=0))), loader)
    random_order = RandomSampler(loader.dataset)
    return like(loader, sampler=random_order, batch_sampler=BatchSampler(random_order, samples, False))


class InMemory(Dataset[Any]):
    """Some samples of a dataset in memory, instead of all of them."""

    def __init__(self, samples: list[Any], length: int) -> None:
        self._samples, self._length = samples, length

    def __getitem__(self, index: int) -> Any:
        return self._samples[index % len(self._samples)]

    def __len__(self) -> int:
        return self._length


def in_memory(loader: Any, room: float) -> Any:
    """Samples that were made before, kept in memory.

    Args:
        room: bytes that all of them may take.
    """
    dataset, samples, end = loader.dataset, list[Any](), time.perf_counter() + _PREPARE
    for seed in (1, 2):
        torch.manual_seed(seed)
        random.seed(seed)
        samples.append(dataset[0])
    if not equal(*samples):
        raise RefusalError("samples are random: each epoch needs others")
    whole = estimated_bytes(samples.pop()) * len(dataset)
    if whole > room:
        raise RefusalError(f"all samples would take {size(whole)}, more than half of the free memory")
    for index in range(1, min(len(dataset), 256)):
        samples.append(dataset[index])
        if time.perf_counter() > end:
            break
    return like(loader, dataset=InMemory(samples, len(dataset)))


def smaller_files(loader: Any, folder: str) -> Any:
    """Pictures that were made smaller before: their shorter side is an eighth longer than what is used."""
    from PIL import Image

    dataset = innermost(loader.dataset)
    samples = dataset.samples
    if not isinstance(samples, list) or not samples or not isinstance(samples[0], tuple):
        raise RefusalError("the dataset has no list `samples` of files")
    used = _shorter_side(dataset[0])
    end, made = time.perf_counter() + _PREPARE, list[Any]()
    some = samples[:: max(len(samples) // 24, 1)][:24]
    for path, *rest in some:
        with Image.open(path) as picture:
            scale = used * 9 / 8 / min(picture.size)
            if scale >= 0.8:
                continue
            small = picture.convert("RGB")
        small.thumbnail((round(small.width * scale) + 1, round(small.height * scale) + 1))
        name = os.path.join(folder, f"{len(made)}.jpg")
        small.save(name, quality=90)
        made.append((name, *rest))
        if time.perf_counter() > end:
            break
    if not made or (len(made) < len(some) / 2 and time.perf_counter() < end):
        raise RefusalError("most files are hardly larger than what is used of them")
    dataset.samples = [made[index % len(made)] for index in range(len(samples))]
    return like(loader)


def _shorter_side(sample: Any) -> int:
    picture = sample[0] if isinstance(sample, (list, tuple)) else sample
    if not isinstance(picture, torch.Tensor) or picture.ndim != 3:
        raise RefusalError("samples are no picture tensors")
    return int(min(picture.shape[-2:]))

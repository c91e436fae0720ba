"""Writing the samples of a dataset: natively where its batches are, else one by one, also in workers."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset

from .. import errors
from .._core.generators import Generators
from .._core.progress import Progress
from .._core.units import size
from .._images.dataset import ImageDataset
from .._loader.view import Refusal, overridden, resolve
from ..loader import DataLoader
from . import fields, files, same
from .files import SetInfo
from .writer import SetWriter, alone, writing

_BATCH = 8 << 20  # bytes of samples that are made together


def write(dataset: Any, folder: str, workers: int, overwrite: bool, allow_random: bool) -> None:
    """Writes a set, or goes on with it, or finds it there; see `gofast.preprocess`."""
    before = Generators.now()
    try:
        info = same.looked_at(dataset, allow_random)
        if overwrite or not files.is_set(folder) or files.is_begun(folder):
            with alone(folder) as journal, writing(folder):
                if overwrite or not files.is_set(
                    folder
                ):  # else another made it, or was killed behind its end
                    with SetWriter(folder, journal, info) as writer:
                        _begin(dataset, writer, overwrite, allow_random)
                        _fill(dataset, writer, workers)
                        writer.finish()
                    return
        same.check(folder, files.read(folder), info)
        if not allow_random:
            same.check_samples(dataset, folder, info, info.samples)
    finally:
        before.put()  # a script draws the same, whether the set was there or not


def _begin(dataset: Any, writer: SetWriter, overwrite: bool, allow_random: bool) -> None:
    """Begins a set, or goes on behind the samples that are there."""
    folder, info, lines = writer.folder, writer.info, writer.lines()
    begun = files.begun(lines[0]) if lines else None
    if begun is not None and len(lines) > 1 and not overwrite:
        same.check(folder, begun, info)
        writer.resume()
        if not allow_random:
            same.check_samples(dataset, folder, info, writer.done)
        return
    for old in (begun, files.read(folder) if files.is_set(folder) else None):
        if old is not None:
            files.remove(folder, old)
    if others := sorted({*os.listdir(folder)} - {files.UNFINISHED}):
        raise errors.OptionError(f"{folder} holds other files, such as {others[0]}: give a new folder")
    found = os.statvfs(folder)
    if (free := found.f_bavail * found.f_frsize) < info.bytes:
        raise errors.ReadError(
            f"write {folder}: the set takes {size(info.bytes)}, and {size(free)} are free: give a path on "
            "another disk, or free some room. Pictures kept as uint8 take a quarter of floats"
        ).at(path=folder)
    writer.begin()


def _fill(dataset: Any, writer: SetWriter, workers: int) -> None:
    info, natively = writer.info, _natively(dataset, writer.info)
    count = max(1, min(256, _BATCH * info.samples // info.bytes))
    order, packing = range(writer.done, info.samples), _Packing(info.fields)
    loader: Any = (
        torch.utils.data.DataLoader(dataset, count, sampler=order, num_workers=workers, collate_fn=packing)
        if natively is None
        else DataLoader(natively, count, sampler=order, num_workers=workers)
    )
    batches: Any = iter(loader) if writer.done < info.samples else iter(())
    with Progress(f"preprocessing {writer.folder} ({size(info.bytes)})") as bar:
        while writer.done < info.samples:
            stop = min(writer.done + count, info.samples)
            try:
                made = next(batches)
                if natively is not None:
                    made = fields.batch(info.fields, made, stop - writer.done)
            except Exception:
                _blame(dataset, info, range(writer.done, stop))
                raise
            writer.add([np.asarray(array) for array in made])
            bar.update(writer.done / info.samples)


class _Packing:
    """A collate_fn that makes one tensor of each field."""

    def __init__(self, wanted: Sequence[fields.Field]) -> None:
        self._fields = wanted

    def __call__(self, samples: Sequence[Any]) -> list[torch.Tensor]:
        columns = zip(*(fields.rows(self._fields, sample) for sample in samples), strict=True)
        return [torch.from_numpy(np.stack(column)) for column in columns]


def _natively(dataset: Any, info: SetInfo) -> Any:
    """The dataset whose batches the core makes; None where it makes none. Pictures are tensors there."""
    if any(field.picture for field in info.fields):
        dataset = _as_tensors(dataset)
    return None if dataset is None or isinstance(resolve(dataset), Refusal) else dataset


def _as_tensors(dataset: Any) -> Any:
    """The same pictures as PILToTensor makes them; None where they are not gofast's own."""
    if type(dataset) is Subset:
        inner = _as_tensors(dataset.dataset)
        return None if inner is None else Subset(inner, dataset.indices)
    if type(dataset) is ConcatDataset:
        parts = [*map(_as_tensors, dataset.datasets)]
        return None if None in parts else ConcatDataset(parts)
    if not isinstance(dataset, ImageDataset) or overridden(dataset, ImageDataset) is not None:
        return None
    from torchvision.transforms import Compose, PILToTensor

    made = copy.copy(dataset)
    made.transform = Compose([*([] if made.transform is None else [made.transform]), PILToTensor()])
    if isinstance(resolve(made), Refusal):
        return None
    made._options, made._work = (
        dataclasses.replace(made._options, channels_last=True),
        None,
    )  # as a set has them
    return made


def _blame(dataset: Any, info: SetInfo, where: range) -> None:
    """Raises what is wrong with one of these samples, if anything is."""
    for i in where:
        sample = dataset[i]
        try:
            fields.rows(info.fields, sample)
        except errors.GofastError as error:
            raise type(error)(f"sample {i}{same.place(dataset, i)}: {error}") from None

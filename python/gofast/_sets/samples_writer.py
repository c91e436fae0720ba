"""Writing the samples of a dataset: natively where its batches are, else one by one, also in workers."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset

from .. import errors
from .._core.generators import Generators
from .._core.progress import Progress
from .._core.reason import Reason
from .._core.units import size
from .._images.image_dataset import ImageDataset
from .._loader.native_dataset import overridden, resolve
from .._tables import array_folder
from ..loader import DataLoader
from . import identity, set_fields, set_files
from .set_files import SetInfo
from .writer import SetWriter, alone, writing

Opened = TypeVar("Opened")
_BATCH = 8 << 20  # bytes of samples that are made together
_PIECE = 64  # samples that a worker makes in a row: few, so that all workers have some to the end


def write(
    dataset: Any,
    folder: str,
    workers: int,
    overwrite: bool,
    allow_random: bool,
    opened: Callable[[str], Opened],
) -> Opened:
    """Writes a set, or goes on with it, or finds it there, and opens it; see `gofast.preprocess`."""
    before, old = Generators.now(), array_folder.stamp(folder) if overwrite else None
    try:
        info = identity.looked_at(dataset, allow_random)
        if not overwrite and array_folder.is_whole(folder):
            return _found(dataset, folder, info, allow_random, opened)
        with alone(folder, old) as journal:  # until it is opened: others may wait to overwrite it
            if array_folder.is_whole(folder):  # another process made it meanwhile
                return _found(dataset, folder, info, allow_random, opened)
            with SetWriter(folder, journal, info) as writer:
                _begin(dataset, writer, overwrite, allow_random)
                _fill(dataset, writer, workers)
                if not allow_random:
                    identity.check_again(dataset, folder, info)
                with writing(folder):
                    writer.finish()
            return opened(folder)
    finally:
        before.put()  # a script draws the same, whether the set was there or not


def _found(
    dataset: Any, folder: str, info: SetInfo, allow_random: bool, opened: Callable[[str], Opened]
) -> Opened:
    """The set that lies there, if it is that of the dataset."""
    identity.check(folder, set_files.read(folder)[0], info)
    if not allow_random:
        identity.check_samples(dataset, folder, info, info.samples)
    return opened(folder)


def _begin(dataset: Any, writer: SetWriter, overwrite: bool, allow_random: bool) -> None:
    """Begins a set, or goes on behind the samples that are there."""
    folder, info, begun = writer.folder, writer.info, None
    with writing(folder):
        lines = writer.lines()
    with contextlib.suppress(*array_folder.ODD):
        begun = SetInfo.of(lines[0])
    if begun is None or len(lines) == 1 or overwrite:
        with writing(folder):
            writer.begin(begun)
        return
    identity.check(folder, begun, info)
    with writing(folder):
        writer.resume()
    if writer.done and not allow_random:
        identity.check_samples(dataset, folder, info, writer.done)


def _fill(dataset: Any, writer: SetWriter, workers: int) -> None:
    info, natively = writer.info, _natively(dataset, writer.info)
    count = max(1, min(256 if natively is not None else _PIECE, _BATCH * info.samples // info.size))
    starts = range(writer.done, info.samples, count)
    pieces = _Pieces(dataset, info, [range(start, min(start + count, info.samples)) for start in starts])
    batches: Any = iter(
        torch.utils.data.DataLoader(pieces, None, num_workers=workers)
        if natively is None
        else DataLoader(natively, count, sampler=range(writer.done, info.samples), num_workers=workers)
    )
    with Progress(f"preprocessing {writer.folder} ({size(info.size)})") as bar:
        for number, where in enumerate(pieces.places):
            try:
                made = next(batches)
                if natively is not None:
                    made = set_fields.batch(info.fields, made, len(where))
            except Exception:
                pieces[number]  # raises what is wrong, and nothing around it
                raise
            with writing(writer.folder):
                writer.add([np.asarray(array) for array in made])
            bar.update(writer.done / info.samples)


class _Pieces(Dataset[Any]):
    """Ranges of a dataset's samples, each as an array of each field.

    A sample is copied before the next is made: all may be views of one buffer.
    """

    def __init__(self, dataset: Any, info: SetInfo, places: Sequence[range]) -> None:
        self._dataset, self._info, self.places = dataset, info, places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> list[torch.Tensor]:
        where, info = self.places[number], self._info
        made = [np.empty((len(where), *field.shape), field.dtype) for field in info.fields]
        for row, i in enumerate(where):
            sample = self._dataset[i]
            try:
                arrays = set_fields.rows(info.form, info.fields, sample)
            except errors.GofastError as error:
                raise type(error)(f"sample {i}{identity.place(self._dataset, i)}: {error}") from None
            for whole, array in zip(made, arrays, strict=True):
                whole[row] = array
        return [*map(torch.from_numpy, made)]


def _natively(dataset: Any, info: SetInfo) -> Any:
    """The dataset whose batches the core makes; None where it makes none. Pictures are tensors there."""
    if any(field.picture for field in info.fields):
        dataset = _as_tensors(dataset)
    return None if dataset is None or isinstance(resolve(dataset), Reason) else dataset


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
    if isinstance(resolve(made), Reason):
        return None
    made._options = dataclasses.replace(made._options, channels_last=True)  # as a set has them
    made._work = None
    return made

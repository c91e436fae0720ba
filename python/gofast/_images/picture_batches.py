"""What a list of sample numbers points into: datasets of pictures, with a program each."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from .. import errors
from .._core import engine
from .._core.picture_operations import TorchWords
from .._core.pieces_here import brought
from .._core.remote_shards import RemoteShards
from .._loader.batch_source import BatchSource, Parameters, SampleForm, row_index_error
from .._loader.core_dataset import IntArray, joined
from .._loader.draws import BatchPosition
from .._loader.transfer_format import TransferFormat, alike
from .._loader.workers import Workers
from . import fallback, picture_draws, pillow, sample_parameters
from .core_pictures import CorePictures
from .plan_stamp import PlanStamp
from .protocols import HasPictures


class PictureBatchSource(BatchSource):
    """Samples that the engine can make from files.

    Args:
        cores: of each dataset.
        generator: what is drawn comes from it; None: from torch's default one.

    Attributes:
        draws: whether anything is drawn for a sample.
        rng: where from: "torch" or "stateless".
    """

    def __init__(
        self,
        datasets: Sequence[HasPictures],
        index_map: IntArray | None,
        cores: Sequence[CorePictures],
        generator: torch.Generator | None = None,
    ) -> None:
        first, plan, shape = datasets[0], cores[0].plan, cores[0].shape
        labels = torch.int64 if first._native_labels else None
        size, dtype = tuple(shape or ()), getattr(torch, plan.dtype)
        form = SampleForm(first._output, first._names, size, dtype, labels, (), first._alone)
        super().__init__(datasets, index_map, form, cores)
        self.carry(first._columns(datasets, self.starts))
        self._pictures = shape is None
        if self._pictures:
            self.row_bytes = pillow.PICTURE_BYTES
        self.heavy = not cores[0].files.are_pixels
        self.fetches = any(core.files.shards for core in cores)
        self._channels_last = cores[0].channels_last
        self.as_made = not self._channels_last
        self.draws, self.rng, self._generator = plan.draws, first._options.rng, generator
        self.needs_size, self.draws_python = plan.needs_size, plan.draws_python
        self.torch_words: Sequence[TorchWords] = cores[0].torch_words
        self._strides, self._hands_over = plan.strides, plan.hands_over
        self._raw: list[CorePictures] = []  # of each dataset, once there is a wire
        # A sample that is a tv_tensors.Image alone keeps its class, for which torch's collate wants a list.
        alone = self.bare and self.label_dtype is None and not self.has_more
        self.lists = alone and plan.hands_over == "tv_image"

    def size_of(self, index: int) -> tuple[int, int]:
        """Asks Pillow for the size that the core could not tell."""
        part, sample = self._locate(index)
        return fallback.size_of(self._cores[part].files, sample)

    def unreadable(self, index: int) -> Exception | None:
        """Asks Pillow, which reads a file before anything is drawn for it."""
        dataset, sample = self.locate(index)
        if dataset._files.are_pixels or dataset._bad.on_error != "raise":
            return None
        return fallback.unreadable(dataset, sample)

    def fetch(self, indices: Sequence[int] | torch.Tensor, wait: bool = True) -> bool:
        """See the base class."""
        if all([shards.fetch(samples) for shards, samples in self._remote(indices)]):
            return True
        if wait:
            with self.using(indices):
                pass
        return wait

    def using(self, indices: Sequence[int] | torch.Tensor) -> AbstractContextManager[None]:
        """See the base class."""
        if not self.fetches:
            return nullcontext()
        return brought([(shards, shards.pieces_of(samples)) for shards, samples in self._remote(indices)])

    def expect(self, indices: torch.Tensor) -> None:
        """See the base class."""
        for shards, samples in self._remote(indices):
            shards.expect(samples)

    def _remote(self, indices: Sequence[int] | torch.Tensor) -> Iterator[tuple[RemoteShards, IntArray]]:
        """Samples' numbers among the shards on a server that they lie in."""
        rows = np.asarray(indices, np.int64)
        rows = rows[(rows >= -len(self)) & (rows < len(self))] % max(len(self), 1)  # others are errors soon
        if self._map is not None:
            rows = self._map[rows]
        for core, start in zip(self._cores, self.starts.tolist(), strict=True):
            if core.files.shards is not None:
                yield core.files.shards, rows[(rows >= start) & (rows < start + core.length)] - start

    @property
    def epochs(self) -> tuple[int, ...]:
        """The epochs of the datasets whose stateless draws depend on it."""
        if not self.draws or self.rng != "stateless":
            return ()
        return tuple(int(dataset._files.epoch[0]) for dataset in self.datasets)

    def stamps(self) -> list[PlanStamp]:
        """Of the datasets' plans."""
        return [dataset._stamp for dataset in self.datasets]

    def forget(self, indices: Sequence[int]) -> None:
        """Forgets the sizes of these samples' pictures: they are read again before the next draw."""
        for index in indices:
            dataset, sample = self.locate(index)
            dataset._files.forget([sample])

    def row_image(self, image: torch.Tensor) -> torch.Tensor:
        """One sample of a batch, of the type and strides that torchvision gives it."""
        if self._strides == "hwc" and not self._channels_last:
            image = image.permute(1, 2, 0).contiguous().permute(2, 0, 1)
        if self._hands_over != "tv_image":
            return image
        from torchvision import tv_tensors

        wrapped: torch.Tensor = tv_tensors.Image(image)
        return wrapped

    def row_labels(self, labels: torch.Tensor) -> list[Any]:
        """Class numbers, as torchvision's datasets give them: of the type that `samples` has."""
        kind = self.datasets[0]._listing.kind
        return [kind(number) for number in labels.tolist()]

    def shaped(self, images: torch.Tensor) -> torch.Tensor:
        """[n, C, H, W]: where it is channels_last, over memory that is [n, H, W, C]."""
        return images.permute(0, 3, 1, 2) if self._channels_last else images

    def _new_wire(self) -> TransferFormat | None:
        first: CorePictures = self._cores[0]
        if first.shape is None or not first.plan.native or first.plan.dtype == "uint8":
            return None
        if len(first.shape) > 3:
            return None  # several crops
        if not all(core.makes_as(first) for core in self._cores):
            return None
        rest = first.rest()
        if rest is None:
            return None
        self._raw = [core.raw() for core in self._cores]
        channels, height, width = first.shape
        given = (rest[name] for name in ("mean", "std"))
        mean, std = alike(*(None if v is None else np.array(v, np.float32) for v in given))
        return TransferFormat(
            core=joined(self._raw, self._map),
            stored="uint8",
            made=rest["dtype"],
            shape=(height, width, channels) if rest["last"] else (channels, height, width),
            scale=rest["scale"],
            mean=mean,
            std=std,
            channels=1 if mean is None else len(mean),
            last=rest["last"],
            erasures=tuple(
                (e["word"], (e["value"][0], e["value"][1], e["value"][2])) for e in rest["erasures"]
            ),
        )

    def mend(
        self,
        slot: int,
        indices: Sequence[int] | torch.Tensor,
        records: int,
        labels: int,
        finished: dict[int, torch.Tensor] | None = None,
    ) -> dict[int, int]:
        """Makes what could not be made, by Pillow or as the datasets' policies say, or raises."""
        data, faults, missing = faults_of(self, slot, indices)
        replaced = {}
        for position, code, offset, text in faults:
            part, sample = self._locate(int(indices[position]))
            core = self._cores[part]  # the dataset may have another by now
            record = records + 4 * self.record_words * position
            dataset, fault = self.datasets[part], fallback.Fault(code, offset, text)
            if finished is None:
                address = data + position * self.row_bytes
                place = fallback.SamplePlace(dataset, core, record, address, self.row_bytes)
                used = rescue_at(position, place, sample, fault)
            else:
                wire = self.wire()
                assert wire is not None
                slot_at = data + position * wire.row_bytes
                stored = fallback.StoredPlace(dataset, core, record, wire, self._raw[part], slot_at)
                used = rescue_at(position, stored, sample, fault)
                if stored.finished is not None:
                    finished[position] = stored.finished
            if used == sample:
                continue
            replaced[position] = used
            if labels:
                ctypes.c_int64.from_address(labels + 8 * position).value = int(core.files.targets[used])
        if missing is not None:
            raise missing
        return replaced

    def new_draws(self, workers: Workers | None) -> picture_draws.PictureDraws:
        """Stateless ones, torch's, or those of torch's workers."""
        if self.rng == "stateless":
            return picture_draws.StatelessDraws(self)
        return (
            picture_draws.TorchDraws(self, self._generator)
            if workers is None
            else picture_draws.WorkerDraws(self, workers)
        )

    def sample_parameters(
        self, indices: Sequence[int], epoch: int | None
    ) -> tuple[str, list[Parameters] | None]:
        """See the base class."""
        if not self.draws:
            return super().sample_parameters(indices, epoch)
        if self.rng != "stateless":
            return "torch's generators, as they are when the batch is made", None
        seeds = ", ".join(sorted({str(dataset._options.seed) for dataset in self.datasets}))
        epochs = ", ".join(sorted({str(one) for one in (self.epochs if epoch is None else (epoch,))}))
        said, rows = f"stateless: seed {seeds}, epoch {epochs}, and each sample's number", array("q", indices)
        if self.fetches:
            self.fetch(rows)
        sizes = picture_draws.find_sizes(self, rows)
        try:
            records = picture_draws.draw(self, rows, sizes, 0, epoch=epoch)
        except picture_draws.RAISED as error:
            return f"{said}; the batch fails: {error}", None
        return said, sample_parameters.read(self._cores[0].plan.steps, records.tobytes(), self.record_words)

    def discard(self, slot: int, rows: int) -> None:
        """Frees pictures."""
        if self._pictures:
            data, _, _ = engine.capsule().faults(slot)
            pillow.free_pictures(data, rows)

    def locate(self, index: int) -> tuple[HasPictures, int]:
        """The dataset of a sample, and its number there."""
        part, sample = self._locate(index)
        return self.datasets[part], sample

    def _locate(self, index: int) -> tuple[int, int]:
        at = index + len(self) if index < 0 else index
        if self._map is not None:
            at = int(self._map[at])
        part = int(np.searchsorted(self.starts, at, "right")) - 1
        return part, at - int(self.starts[part])


def faults_of(
    view: BatchSource, slot: int, indices: Sequence[int] | torch.Tensor
) -> tuple[int, list[tuple[int, int, int, str]], errors.RowIndexError | None]:
    """What is wrong with a failed batch.

    Returns:
        Where its samples lie; what is wrong with which: (position, code, offset, text); and the error of an
        index of no sample, which torch's fetcher meets behind these.
    """
    data, bad, faults = engine.capsule().faults(slot)
    if faults and -len(view) <= bad < len(view):  # that is 0 without any
        return data, sorted(faults), None
    listed = [int(index) for index in indices]
    first = next((i for i, index in enumerate(listed) if not -len(view) <= index < len(view)), 0)
    return (
        data,
        sorted(fault for fault in faults if fault[0] < first),
        row_index_error(listed[first], len(view)),
    )


def rescue_at(position: int, place: fallback.SamplePlace, sample: int, fault: fallback.Fault) -> int:
    """Makes a sample of a batch in another way: see rescue. Its error says which it was."""
    try:
        return fallback.rescue(place, sample, fault)
    except Exception as error:
        BatchPosition(position, place.is_read).note(error)
        raise

"""Batches of a view's own samples and of its wire's, and in numpy what a device makes of the latter."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from gofast._core import engine
from gofast._core.numbers import Spec
from gofast._loader.batch_source import BatchSource
from gofast._loader.core_dataset import CoreDataset
from gofast._loader.native_dataset import resolve
from gofast._loader.slots import RING
from gofast._loader.transfer_format import TransferFormat

Batch = tuple[torch.Tensor, torch.Tensor | None, dict[int, int]]  # samples, labels, substitutes by position


def fill(
    view: BatchSource,
    core: CoreDataset,
    row_bytes: int,
    indices: array[int],
    records: array[int] | None,
    finished: dict[int, torch.Tensor] | None = None,
) -> Batch:
    """A batch of a core's samples, mended where need be."""
    capsule, n = engine.capsule(), len(indices)
    labels, slots = view.new_labels(n), array("q", [0])
    ring, place = capsule.ring(max(row_bytes * n, 1), 1, -1), slots.buffer_info()[0]
    assert capsule.reserve(ring, core.address, n, n, place, 0)
    drawn = 0 if records is None else records.buffer_info()[0]
    label_address = 0 if labels is None else labels.data_ptr()
    replaced: dict[int, int] = {}
    try:
        capsule.fill(core.address, indices.buffer_info()[0], drawn, 0, slots[0], label_address)
        made = capsule.take(place, 0)
        if made is False:
            replaced = view.mend(slots[0], indices, drawn, label_address, finished)
            made = capsule.take(place, 1)
    except BaseException:
        capsule.move(place, 1, RING)
        raise
    return from_dlpack(made), labels, replaced


def finish(wire: TransferFormat, stored: torch.Tensor, records: array[int] | None) -> torch.Tensor:
    """What a device makes of stored samples."""
    assert stored.shape[1:] == wire.shape and stored[0].numel() * stored.itemsize == wire.row_bytes
    values, made = stored.numpy().reshape(len(stored), -1), getattr(torch, wire.made)
    if wire.stored == "uint8":
        at = np.arange(values.shape[1])
        channel = at % wire.channels if wire.last else at * wire.channels // values.shape[1]
        results = wire.results().reshape(wire.channels, 256, made.itemsize)
        out = torch.from_numpy(results[channel, values]).view(made)
    else:
        assert wire.scale in ("cast", "divide")
        out = Spec(wire.scale == "divide", wire.mean, wire.std, wire.made).make(values)
    out = out.reshape(stored.shape)
    words = wire.core.record_words
    for k in range(len(stored) if wire.erasures else 0):
        assert records is not None
        for word, value in wire.erasures:
            there, top, left, height, width = records[k * words + word :][:5]
            planes = out[k].permute(2, 0, 1) if wire.last else out[k]
            for c, plane in enumerate(planes if there else ()):
                plane[top : top + height, left : left + width] = torch.tensor(value[c]).to(made)
    return out


def assert_wire_gives_the_batch(
    view: BatchSource, wire: TransferFormat, indices: array[int], records: array[int] | None
) -> dict[int, torch.Tensor]:
    """Fills a batch in both ways of the same records: to the last bit the same. What came finished."""
    whole, labels, replaced = fill(view, view.core, view.row_bytes, indices, records)
    finished: dict[int, torch.Tensor] = {}
    stored, own_labels, own_replaced = fill(view, wire.core, wire.row_bytes, indices, records, finished)
    assert wire.core.length == len(view) and wire.core.record_words == view.record_words
    assert stored.dtype == getattr(torch, wire.stored) and whole.dtype == getattr(torch, wire.made)
    assert stored.itemsize < whole.itemsize
    made = finish(wire, stored, records)
    for position, sample in finished.items():
        made[position] = sample
    assert torch.equal(_bits(made), _bits(whole))
    assert own_replaced == replaced
    assert (labels is None) == (own_labels is None)
    assert labels is None or torch.equal(_bits(own_labels), _bits(labels))
    return finished


def _bits(tensor: Any) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def view_of(dataset: Any) -> BatchSource:
    view = resolve(dataset)
    assert isinstance(view, BatchSource)
    return view


def wire_of(dataset: Any) -> TransferFormat:
    wire = view_of(dataset).wire()
    assert wire is not None
    return wire


def compared(dataset: Any, indices: list[int] | None = None) -> dict[int, torch.Tensor]:
    """Compares a batch of each sample, or of these; what came finished."""
    view, wire = view_of(dataset), wire_of(dataset)
    wanted = array("q", range(len(dataset)) if indices is None else indices)
    records = view.new_draws(None).records(wanted) if view.draws else None
    return assert_wire_gives_the_batch(view, wire, wanted, records)

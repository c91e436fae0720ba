"""What ImageFolder and ImageFiles share: samples made of picture files by a compiled plan."""

from __future__ import annotations

import json
import operator
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from .. import errors
from .._core import codecs
from .._core.arguments import checked
from .._core.generators import Generators
from .._core.indices import listed
from .._core.reason import Reason
from .._loader.batch_source import Line, Output, called, check_callable, row_index_error
from .._loader.batch_types import Kind
from .._loader.changes import changes
from .._loader.core_dataset import IntArray
from .._loader.draws import BatchPosition
from .._loader.explain import overrides
from .._loader.extra_columns import ExtraColumns
from .._loader.getitems import getitems
from .._loader.native_dataset import NativeDataset, overridden
from .._plan.compile import Plan
from . import fallback, pillow, torchvision_datasets
from .bad_samples import BadSample, BadSamples
from .compiled_dataset import CompiledDataset, Making
from .core_pictures import CorePictures
from .file_index import Files
from .listing import Listing
from .options import PictureOptions
from .picture_batches import PictureBatchSource
from .picture_cache import PictureCache
from .plan_stamp import PlanStamp
from .source_columns import NumberColumn, PathColumn


class ImageDataset(NativeDataset[Kind]):
    """A map-style dataset over picture files. Base class.

    Indexing gives one sample for an int, as torchvision would. Batches are made by the core where the
    transform allows; `gofast.explain` says how far.
    """

    transform: Callable[[Any], Any] | None
    target_transform: Callable[[Any], Any] | None

    loader: Callable[[str], Any]

    def _begin(self, listing: Listing, options: PictureOptions) -> None:
        """Makes this a dataset of these samples; the transforms and the loader are there.

        Not ``__init__``: torchvision's subclasses may never call that.
        """
        check_callable(transform=self.transform, target_transform=self.target_transform)
        self._listing, self._options = listing, options
        self._bad = BadSamples(options.on_error, options.max_bad)
        self._output: Output = options.output
        self._work: CompiledDataset | None = None
        options.names(self._has_labels)
        if self._reader is None:
            self._here()  # compiled before a fork, the transform needs no engine in the workers

    def __len__(self) -> int:
        return len(self._listing)

    # -- torch's protocol ------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """The sample at an index, negative from the end: (picture, label), as the transforms make them."""
        if isinstance(index, slice):
            raise TypeError(f"one sample at a time: write Subset(dataset, range(...)) for dataset[{index}]")
        samples = [self._checked(operator.index(index))]
        self._listing.take_over(samples)
        return self._samples(samples)[0]

    @getitems
    def __getitems__(self, indices: Iterable[int]) -> Sequence[Any]:
        """The samples of a whole batch; torch's fetcher calls this. See `_loader/batch`."""
        indices = listed(indices)
        if type(self).__getitem__ is not ImageDataset.__getitem__ or len(indices) == 0:
            return [self[i] for i in indices]
        try:
            samples = [self._checked(operator.index(i)) for i in indices]
        except IndexError:
            return [self[i] for i in indices]  # those before it draw, as torchvision's
        self._listing.take_over(samples)
        if self._reader is None and self._native_labels == self._has_labels:
            work = self._here()
            if work.finished:
                batch: Sequence[Any] = work.batch(array("q", samples))
                return list(batch) if work.view.lists else batch
        return self._samples(samples)

    def _checked(self, index: int) -> int:
        count = len(self._listing)
        if not -count <= index < count:
            raise row_index_error(index, count)
        return index + count if index < 0 else index

    def _samples(self, indices: list[int]) -> list[Any]:
        if self._reader is not None:
            return [self._finished(partial(self._loaded, i)) for i in indices]
        work = self._here()
        if self.target_transform is None or not work.plan.draws or work.plan.in_order:
            return [self._finished(make) for make in work.pictures(indices)]
        return self._in_turns(work, indices)

    def _finished(self, make: Making) -> Any:
        picture, sample = make()
        return self._row(picture, sample, self._label(sample))

    def _in_turns(self, work: CompiledDataset, indices: list[int]) -> list[Any]:
        """The same where the label's transform may draw too: after its own picture's draws, before the next
        one's."""
        records, labels, before = array("i"), list[Any](), list[Generators]()
        lazy: Exception | None = None
        for index in indices:
            self._files.forget([index])  # what the label's transform draws cannot be drawn again
            before.append(Generators.now())
            try:
                records += work.records(array("q", [index])) or records[:0]
                labels.append(self._label(index))
            except Exception as error:  # that of a picture before it comes first
                lazy = error
                break
        drawn, rows = indices[: len(records) // work.core.record_words], list[Any]()
        position = 0
        try:
            for position, make in enumerate(work.pictures(drawn, records)):
                picture, sample = make()
                if position < len(labels):
                    label = labels[position] if sample == drawn[position] else self._label(sample)
                    rows.append(self._row(picture, sample, label))
        except Exception as error:
            place = BatchPosition.of(error) or BatchPosition(position, True)
            before[place.position].put()
            if place.is_drawn:
                work.records(array("q", [drawn[place.position]]))
            raise
        if lazy is not None:
            raise lazy
        return rows

    def _loaded(self, sample: int) -> tuple[Any, int]:
        """What the transforms make of the user's loader's picture, and the sample that it is of."""
        assert self._reader is not None
        try:
            picture = self._reader(self._listing.path(sample))
        except Exception as error:
            picture, sample = fallback.load_instead(self, sample, error)
        return self._rounded(picture if self.transform is None else self.transform(picture)), sample

    def _rounded(self, picture: Any) -> Any:
        """What a transform made, as dtype asks."""
        dtype = self._options.dtype
        if dtype is None:
            return picture
        if not isinstance(picture, torch.Tensor) or picture.dtype != torch.float32:
            made = f"{picture.dtype} tensors" if isinstance(picture, torch.Tensor) else type(picture).__name__
            raise errors.OptionError(f"dtype={dtype} rounds float32 tensors; the transform makes {made}")
        return picture.to(dtype)

    def _label(self, sample: int) -> Any:
        if not self._has_labels:
            return None
        label = self._listing.label(sample)
        return label if self.target_transform is None else self.target_transform(label)

    def _row(self, picture: Any, sample: int, label: Any) -> Any:
        values = [picture, *([label] if self._has_labels else []), *self._number_and_path(sample)]
        if self._output == "dict":
            return dict(zip(self._names, values, strict=True))
        return tuple(values) if len(values) > 1 else picture

    def _number_and_path(self, sample: int) -> list[Any]:
        """Its number and its path, as far as they are asked for."""
        number = [sample] if self._options.return_index else []
        return [*number, self._listing.path(sample)] if self._options.return_path else number

    @property
    def _names(self) -> tuple[str, ...]:
        """What a sample consists of."""
        return self._options.names(self._has_labels)

    @property
    def _called(self) -> str:
        return type(self).__name__

    @property
    def _has_labels(self) -> bool:
        return True

    @checked
    def set_epoch(self, epoch: int) -> None:
        """Says which epoch it is, for ``rng="stateless"``; workers that live on see it too."""
        self._files.epoch[0] = epoch
        changes.count += 1  # a loader draws early for stateless transforms

    @property
    def _files(self) -> Files:
        return self._listing.files

    @property
    def _reader(self) -> Callable[[Any], Any] | None:
        """What reads the pictures, where that is not the core."""
        return torchvision_datasets.own_loader(self.loader) if self._listing.readable else self.loader

    # -- the core's part -------------------------------------------------------

    @property
    def _native_labels(self) -> bool:
        return self._has_labels and self.target_transform is None and self._listing.labels is None

    @property
    def _plan(self) -> Plan:
        return self._here().plan

    def _core(self) -> CorePictures:
        return self._here().core

    def _origins(self, samples: Sequence[int]) -> list[tuple[str | None, int]]:
        return [*zip(self._listing.paths_of(samples), samples, strict=True)]

    def _drawing_view(self) -> PictureBatchSource | None:
        known = self._reader is None and overridden(self, ImageDataset) is None
        return self._here().view if known else None

    def _explained(self) -> list[Line]:
        """The lines of gofast.explain: which steps run natively and which in Python."""
        lines = [("source", "Go", f"{len(self)} {self._files.called}")]
        if self._files.shards is not None:
            lines.append(("shards", "Go", self._files.shards.explained()))
        if self._reader is not None:
            what = "your callable" if self._listing.readable else "samples are no (path, label) of files"
            lines.append(("loader", "Python", f"{what}: one call a sample"))
        else:
            found = codecs.load()
            native, missing = ", ".join(found["native"]) or "nothing", found["missing"]
            lines.append(("decode", "C", f"{native} ({found['jpeg'] or 'no libjpeg'})"))
            lines += [("decode", "Python", f"{name} by Pillow: {why}") for name, why in missing.items()]
            seen = f"{self._fallbacks} picture{'s' * (self._fallbacks != 1)} so far"
            lines.append(("decode", "Python", f"other formats by Pillow: {seen}"))
        for line in self._plan.report:
            where = "C" if line.native and self._reader is None else "Python"
            lines.append((line.name, where, f"{line.what} ({line.cost})" if line.cost else line.what))
        if self._options.cache is not None and self._reader is None:
            kept = self._keeps()
            nothing = "keeps nothing: the transform begins in Python"
            lines.append(("cache", "C" if kept else "", kept.explained() if kept else nothing))
        if self.target_transform is not None:
            lines.append(("target_transform", "Python", "your callable: one call a sample"))
        if self._options.channels_last and not self._core().channels_last:
            lines.append(("channels_last", "", "without effect: Python makes the samples"))
        bad, policy = int((self._files.bad > 0).sum()), self._bad.on_error
        what = policy if isinstance(policy, str) else "your callable"
        lines.append(("on_error", "Python", f"{what}: {bad} bad sample{'s' * (bad != 1)} so far"))
        return lines + overrides(self, ImageDataset, "samples")

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> PictureBatchSource:
        return PictureBatchSource(parts, index_map, [part._core() for part in parts])

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> list[ExtraColumns]:
        made: list[ExtraColumns] = [NumberColumn(starts)] if self._options.return_index else []
        return [*made, PathColumn(parts, starts)] if self._options.return_path else made

    @property
    def _alone(self) -> bool:
        return self._output == "tuple"

    def _attributes(self) -> tuple[Any, ...]:
        return self.transform, self._files, self._native_labels, pillow.max_pixels()

    @property
    def _stamp(self) -> PlanStamp:
        assert self._work is not None
        return self._work.stamp

    def _sample_signature(self) -> tuple[Any, ...]:
        """What must be equal for two datasets' samples to stand in one batch, and to be drawn alike."""
        plan = self._plan
        return (
            json.dumps(plan.steps),
            plan.shape,
            plan.dtype,
            self._output,
            self._names,
            self._options.dtype,
            self._native_labels,
            self._listing.kind,
            self._options.channels_last,
            self._options.rng,
        )

    def _keeps(self) -> PictureCache | None:
        return self._here().kept if self._options.cache is not None and self._reader is None else None

    def _native_view(self) -> PictureBatchSource | Reason:
        """A view for gofast.DataLoader."""
        refused = overridden(self, ImageDataset)
        if refused is not None:
            return refused
        self._listing.take_over()
        if not self._listing.readable:
            return Reason("samples holds something else than (path, label)")
        if self._reader is not None:
            return Reason(f"loader={called(self.loader)} runs in Python: it reads the pictures")
        if self.target_transform is not None and self._has_labels:
            return Reason(f"target_transform={called(self.target_transform)} runs in Python")
        if self._native_labels != self._has_labels:
            return Reason("the labels are not whole numbers of 32 bits")
        work = self._here()
        if work.kept is not None:
            work.kept.refresh()
        return work.view if work.finished else work.plan.reason

    def _here(self) -> CompiledDataset:
        """What this process makes samples with, for the transform as it is now."""
        self._work = CompiledDataset.of(self, self._work)
        return self._work

    def bad_samples(self) -> dict[str, BadSample]:
        """The files that could not be read so far: the reason, and how often they were met.

        By this process and the worker processes of its loaders. Under on_error="raise" too.
        """
        return self._bad.report(self._files, lambda sample: fallback.reason(self, sample))

    @property
    def _fallbacks(self) -> int:
        """Pictures that Pillow decoded because the core does not, here and in worker processes."""
        return int(self._files.fallbacks.sum())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_work"] = None
        return state

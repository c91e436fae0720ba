"""What ImageFolder and ImageFiles share: samples made of picture files by a compiled plan."""

from __future__ import annotations

import copy
import dataclasses
import json
import operator
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from .. import errors
from .._batches import fallback
from .._batches.changes import changes
from .._batches.core_dataset import IntArray
from .._batches.filler import Filler
from .._batches.flights import MOST_REDRAWN
from .._batches.getitems import getitems
from .._batches.view import Line, NativeDataset, Output, row_index_error
from .._core.indices import listed
from .._plan.compile import Plan, compile
from . import pillow, rescue, vision
from .bad_samples import BadSample, BadSamples
from .core_pictures import CorePictures
from .draws import rounding
from .files import Files
from .listing import Listing
from .options import PictureOptions
from .view import ImageView


class ImageDataset(NativeDataset):
    """A map-style dataset over picture files. Base class.

    Indexing gives one sample for an int, as torchvision would. Batches are made by the core where the
    transform allows; `gofast.explain` says how far.
    """

    transform: Callable[[Any], Any] | None
    target_transform: Callable[[Any], Any] | None

    loader: Callable[[str], Any]

    def _begin(self, listing: Listing, options: PictureOptions, bad: BadSamples) -> None:
        """Makes this a dataset of these samples; the transforms and the loader are there.

        Not ``__init__``: torchvision's subclasses may never call that.
        """
        self._listing, self._options, self._bad = listing, options, bad
        self._output: Output = options.output
        self._work: _Work | None = None
        options.names(self._has_labels)
        if self._reader is None:
            self._here()  # compiled before a fork, the transform needs no engine in the workers

    def __len__(self) -> int:
        return len(self._listing)

    # -- torch's protocol ------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """The sample at an index, negative from the end: (picture, label), as the transforms make them."""
        samples = [self._checked(operator.index(index))]
        self._listing.follow(samples)
        return self._samples(samples)[0]

    @getitems
    def __getitems__(self, indices: Iterable[int]) -> Sequence[Any]:
        """The samples of a whole batch; torch's fetcher calls this. See `_batches/batch`."""
        indices = listed(indices)
        if type(self).__getitem__ is not ImageDataset.__getitem__ or len(indices) == 0:
            return [self[i] for i in indices]
        samples = [self._checked(operator.index(i)) for i in indices]
        self._listing.follow(samples)
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
            loaded = (self._loaded(i) for i in indices)
            return [self._row(picture, i, self._label(i)) for picture, i in loaded]
        work = self._here()
        if self.target_transform is None or not work.plan.draws or work.plan.in_order:
            return [self._row(picture, i, self._label(i)) for picture, i in work.pictures(indices)]
        # The label's transform may draw too: after its own picture's draws, before the next one's.
        records, labels = array("i"), []
        for index in indices:
            self._files.forget([index])  # what the label's transform draws cannot be drawn again
            records += work.records(array("q", [index])) or records[:0]
            labels.append(self._label(index))
        made = work.pictures(indices, records)
        return [
            self._row(picture, i, label if i == index else self._label(i))
            for (picture, i), index, label in zip(made, indices, labels, strict=True)
        ]

    def _loaded(self, sample: int) -> tuple[Any, int]:
        """What the transforms make of the user's loader's picture, and the sample that it is of."""
        assert self._reader is not None
        try:
            picture = self._reader(self._listing.path(sample))
        except Exception as error:
            picture, sample = rescue.load_instead(self, sample, error)
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
        values = [picture, label] if self._has_labels else [picture]
        if self._options.return_index:
            values.append(sample)
        if self._options.return_path:
            values.append(self._listing.path(sample))
        if self._output == "dict":
            return dict(zip(self._names, values, strict=True))
        return tuple(values) if len(values) > 1 else picture

    @property
    def _names(self) -> tuple[str, ...]:
        """What a sample consists of."""
        return self._options.names(self._has_labels)

    @property
    def _has_labels(self) -> bool:
        return True

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
        return vision.own_loader(self.loader) if self._listing.readable else self.loader

    # -- the core's part -------------------------------------------------------

    @property
    def _native_labels(self) -> bool:
        return self._has_labels and self.target_transform is None and self._listing.labels is None

    @property
    def _plan(self) -> Plan:
        return self._here().plan

    def _core(self) -> CorePictures:
        return self._here().core

    def _explained(self) -> list[Line]:
        from .explained import steps

        return steps(self, ImageDataset)

    def _why_python(self) -> str:
        from .explained import why_python

        return why_python(self, ImageDataset)

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> ImageView:
        return ImageView(parts, index_map, [part._core() for part in parts])

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

    def _native_view(self) -> ImageView | None:
        """A view for gofast.DataLoader, or None where Python code has a say."""
        return self._followed_view(None)

    def _native_view_of(self, samples: IntArray) -> ImageView | None:
        """See NativeDataset."""
        count = len(self._listing)
        return self._followed_view([i for i in samples.tolist() if -count <= i < count])

    def _followed_view(self, samples: list[int] | None) -> ImageView | None:
        if (
            type(self).__getitem__ is not ImageDataset.__getitem__
            or type(self).__getitems__ is not ImageDataset.__getitems__
            or type(self).__len__ is not ImageDataset.__len__
        ):
            return None
        self._listing.follow(samples)
        if self._reader is not None or self._native_labels != self._has_labels:
            return None
        work = self._here()
        return work.view if work.finished else None

    def _here(self) -> _Work:
        """What this process makes samples with, for the transform as it is now."""
        work = self._work
        plan = compile(self.transform)
        if work is None or not work.fits(plan, self):
            work = self._work = _Work(self, plan)
        elif work.pid != os.getpid():
            work = self._work = work.inherited()
        return work

    def bad_samples(self) -> dict[str, BadSample]:
        """The files that could not be read so far: the reason, and how often they were met.

        By this process and the worker processes of its loaders. Under on_error="raise" too.
        """
        return self._bad.report(self._files, lambda sample: rescue.reason(self, sample))

    @property
    def _fallbacks(self) -> int:
        """Pictures that Pillow decoded because the core does not, here and in worker processes."""
        return int(self._files.fallbacks.sum())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_work"] = None
        return state


class _Work:
    """A dataset's plan, compiled for this process.

    Attributes:
        finished: the core makes whole samples, all of one shape; else Python goes on with what it makes.
    """

    def __init__(self, dataset: ImageDataset, plan: Plan) -> None:
        self.pid = os.getpid()
        self.asked = plan
        self.layout = _layout(dataset)
        drawable = not plan.draws or rounding() is not None
        self.finished = plan.native and plan.hands_over != "pil" and plan.shape is not None and drawable
        if not self.finished:
            plan = compile(dataset.transform, handed=True, drawn=drawable)
        elif dataset._options.dtype is not None:
            if plan.dtype != "float32":
                raise errors.OptionError(
                    f"dtype={dataset._options.dtype} rounds float32 tensors; the transform makes {plan.dtype}"
                )
            plan = dataclasses.replace(plan, dtype=str(dataset._options.dtype).removeprefix("torch."))
        self.plan = plan
        self._dataset = dataset
        files = dataset._files
        self.max_pixels = pillow.max_pixels()
        shape = None if plan.hands_over == "pil" else plan.shape
        last = dataset._options.channels_last and self.finished  # Python shall see torchvision's strides
        labels, seed = dataset._native_labels, dataset._options.seed
        self.core = CorePictures(files, plan, shape, last, self.max_pixels, labels, seed)
        self.view = ImageView([dataset], None, [self.core])
        fallback.warn_of_transform(type(dataset).__name__, plan.report)
        if dataset._options.channels_last and not self.finished:
            fallback.warn_of_channels_last()
        self.filler = Filler(self.view)

    def inherited(self) -> _Work:
        """The same in a forked child: what was compiled is plain memory, and so are its functions."""
        child = copy.copy(self)
        child.pid = os.getpid()
        child.filler = Filler(self.view)
        return child

    def fits(self, plan: Plan, dataset: ImageDataset) -> bool:
        """Whether this is the work of such a plan."""
        old = self.asked
        return (
            self.core.files is dataset._files
            and old.steps == plan.steps
            and _same(old.native_part, plan.native_part)
            and _same(old.rest, plan.rest)
            and (old.hands_over, old.dtype, old.shown) == (plan.hands_over, plan.dtype, plan.shown)
            and self.layout == _layout(dataset)
            and self.max_pixels == pillow.max_pixels()
        )

    def batch(self, indices: array[int], records: array[int] | None = None) -> Any:
        """A finished batch, with the draws that torchvision would have made for it."""
        if records is not None or not self.plan.draws:
            return self.filler.fill(indices, records)
        before, again = torch.get_rng_state(), MOST_REDRAWN
        while True:
            try:
                return self._drawn(indices, before)
            except (errors.ChangedError, ValueError) as error:
                stale = isinstance(error, errors.ChangedError) or not isinstance(error, errors.GofastError)
                if not again or not stale:
                    raise
            # Drawn for another size than a picture has by now: a new one lies in its place.
            torch.set_rng_state(before)
            self.core.files.forget(indices)
            again -= 1

    def _drawn(self, indices: array[int], before: torch.Tensor) -> Any:
        drawn = self.records(indices)
        try:
            return self.filler.fill(indices, drawn)
        except errors.BadImageError as error:
            if self._dataset._options.rng == "torch" and error.index is not None and error.index in indices:
                # torchvision reads before it draws: who catches this goes on with its draws for those before.
                torch.set_rng_state(before)
                if read := indices[: indices.index(error.index)]:
                    self.records(read)
            raise

    def records(self, indices: array[int]) -> array[int] | None:
        """What is drawn for these samples from torch's generator, or None where the plan draws nothing."""
        if not self.plan.draws:
            return None
        return self.view.new_draws(0, 0).records(indices)

    def pictures(self, indices: list[int], records: array[int] | None = None) -> Iterator[tuple[Any, int]]:
        """What the transforms make of each sample's picture, and the sample that it is of.

        The rest in Python runs when a picture is asked for.

        Args:
            records: what was drawn for the samples; else it is drawn now.
        """
        if self.finished:
            yield from self._tensors(indices, records)
            return
        handed_over = self._pil_images if self.plan.hands_over == "pil" else self._tensors
        for turn in [[i] for i in indices] if self.plan.in_order else [indices]:
            for picture, sample in handed_over(turn, records):
                yield self._rest(picture), sample

    def _tensors(self, indices: list[int], records: array[int] | None) -> Iterator[tuple[Any, int]]:
        """What the native steps make, each in memory of its own: the rest may write into it, or keep it."""
        batch = self.batch(array("q", indices), records)
        for position, sample in enumerate(batch.sources(indices)):
            image = batch.images[position]
            yield self.view.row_image(image if len(indices) == 1 else image.clone()), sample

    def _pil_images(self, indices: list[int], records: array[int] | None) -> list[tuple[Any, int]]:
        """The same, where that is PIL images."""
        mode, files = "RGB" if self.plan.channels == 3 else "L", self.core.files
        batch = self.batch(array("q", indices), records)
        place, made = batch.images.data_ptr(), []
        try:
            for i, sample in enumerate(batch.sources(indices)):
                source = files.source(sample) if self.plan.shown else None
                image = pillow.take_picture(place + i * pillow.PICTURE_BYTES, mode, source)
                made.append((image, sample))
        finally:
            pillow.free_pictures(place, len(indices))
        return made

    def _rest(self, picture: Any) -> Any:
        for function in self.plan.rest:
            picture = function(picture)
        return self._dataset._rounded(picture)


def _same(old: Sequence[object], new: Sequence[object]) -> bool:
    """Whether these are the same transforms: equal steps may come of others, that leave other strides."""
    return len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))


def _layout(dataset: ImageDataset) -> tuple[Any, ...]:
    """What else than plan and files a batch depends on."""
    return (
        dataset._native_labels,
        dataset._options.channels_last,
        dataset._options.dtype,
        dataset._output,
        dataset._names,
    )

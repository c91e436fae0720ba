"""Where the random parameters of a plan come from: torch's generator, or one that stands for a worker's.

A record is what was drawn for one sample: `record_words` int32s, all that a picture's making depends on
beside the file. Batches draw in the order in which torch would have drawn them.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import random
from array import array
from collections.abc import Iterator, Sequence
from ctypes import addressof
from typing import Any, Protocol

import torch

from .. import errors
from .._core import engine, generators, picture_operations, process_operations, torch_words
from .._core.native import DrawRequest
from .._loader.batch_source import row_index_error
from .._loader.core_dataset import CoreDataset
from .._loader.counts import tally_here
from .._loader.draws import Draws, Undrawn
from .._loader.workers import Workers
from .core_pictures import CorePictures

_OK, _ASK, _RAISES, _, _UNKNOWN_SIZES, _NO_INDEX = range(6)  # GF_DRAW_...: image.h, steps/draw.h
_STATE_BYTES = 5056  # of a CPU generator's get_state(); gofast/image/steps/draw.h has the layout

# What torchvision raises where a picture is too small for what is drawn.
RAISED = ValueError, torch.linalg.LinAlgError  # type: ignore[attr-defined]


class DrawnView(Protocol):
    """A view, as the draws for its samples see it: ImageView."""

    needs_size: bool
    draws_python: bool
    torch_words: Sequence[picture_operations.TorchWords]

    @property
    def core(self) -> CoreDataset:
        """What the core draws for."""

    def forget(self, indices: Sequence[int]) -> None:
        """Forgets the sizes of these samples' pictures."""

    def size_of(self, index: int) -> tuple[int, int]:
        """Width and height of a picture whose header the core cannot read."""

    def unreadable(self, index: int) -> Exception | None:
        """The error of a picture that cannot be read, if it is to be raised."""


def find_sizes(view: DrawnView, indices: array[int]) -> array[int]:
    """Width and height of each picture, where draws depend on them: headers are read, which may take long.

    Where the view fetches, the pictures are here.
    """
    sizes = _no_sizes(view, indices)
    _draw(view.core, indices, sizes, DrawRequest(), view)
    return sizes


def _no_sizes(view: DrawnView, indices: array[int]) -> array[int]:
    """Zeros, for sizes that are to be found; ones where no draw depends on them."""
    return array("i", bytes(8 * len(indices)) if view.needs_size else [1, 1] * len(indices))


def draw(
    view: DrawnView,
    indices: array[int],
    sizes: array[int],
    state: int,
    python: generators.PythonWords | None = None,
    epoch: int | None = None,
    refills: array[int] | None = None,
) -> array[int]:
    """One record for each picture, in their order.

    Args:
        state: address of the state image of a torch generator, which goes on; or 0: each sample draws from a
            stream of its own, of seed, epoch, sample and its occurrence in the batch.
        python: goes on too; needed with a state where the view draws from Python's random.
        epoch: of the samples' own streams; None: the one in which their datasets are.
        refills: takes up how often torch's generator made new words.

    Raises:
        ValueError: as torchvision's own, where a picture is too small for a crop.
        torch.linalg.LinAlgError: likewise, for a perspective.
    """
    return _records(view.core, view.torch_words, indices, sizes, state, python, view, epoch, refills)


def draw_one(
    core: CorePictures, size: tuple[int, int], state: int, python: generators.PythonWords | None
) -> array[int]:
    """The record of a picture of this size, whichever it is; arguments and errors are those of `draw`."""
    return _records(core, core.torch_words, array("q", [0]), array("i", size), state, python)


def _records(
    core: CoreDataset,
    words: Sequence[picture_operations.TorchWords],
    indices: array[int],
    sizes: array[int],
    state: int,
    python: generators.PythonWords | None,
    view: DrawnView | None = None,
    epoch: int | None = None,
    refills: array[int] | None = None,
) -> array[int]:
    flags = rounding() if state else 0
    if flags is None:
        raise errors.UnsupportedError(
            "this torch draws its random numbers in a way that gofast does not know"
        )
    records = array("i", bytes(4 * len(indices) * core.record_words))
    request = DrawRequest(records=records.buffer_info()[0], state=state, flags=flags)
    if python is not None:
        request.python = python.words.buffer_info()[0]
    own = array("Q", () if epoch is None else (epoch,))
    if own:
        request.epoch = own.buffer_info()[0]
    if refills is not None:
        request.refills = refills.buffer_info()[0]
    _draw(core, indices, sizes, request, view)
    if words:
        torch_words.fill(records, core.record_words, words)
    return records


def _draw(
    core: CoreDataset,
    indices: array[int],
    sizes: array[int],
    request: DrawRequest,
    view: DrawnView | None,
) -> None:
    """Runs a request to its end. Without a view, all sizes are known."""
    (request.indices, request.n), request.sizes = indices.buffer_info(), sizes.buffer_info()[0]
    helpers = (0, 0) if view is None else engine.helpers()
    request.tally = tally_here()
    asked = array("f")
    answers: torch.Tensor | None = None
    while True:
        code, done, ask, text = engine.capsule().draw(core.address, *helpers, addressof(request))
        if code == _OK:
            return
        request.done = done
        if code == _RAISES:
            raise ValueError(text)
        if code == _NO_INDEX:
            raise row_index_error(indices[done], core.length)
        if code == _UNKNOWN_SIZES and view is not None:
            for position, index in enumerate(indices):
                if sizes[2 * position] < 0:
                    sizes[2 * position : 2 * position + 2] = array("i", view.size_of(index))
        elif code == _ASK:  # a box depends on the last bit of torch's exp, which is not libm's
            asked.append(ask)
            one = torch.exp(torch.tensor([ask], dtype=torch.float32, device="cpu"))
            answers = one if answers is None else torch.cat([answers, one])
            request.asked, request.answers = asked.buffer_info()[0], answers.data_ptr()
            request.answered = len(asked)
        else:
            raise errors.InternalError(f"the plan cannot be drawn: {text}")


def rounding() -> int | None:
    """How this torch's uniform_ rounds, as a flag for the core; None where the core does not imitate it.

    torchvision draws numbers of the default type.
    """
    return _rounding() if torch.get_default_dtype() == torch.float32 else None


@functools.cache
def _rounding() -> int | None:
    """Torch's vectorised kernels multiply and add in one rounding, its plain ones do not."""
    if len(torch.get_rng_state()) != _STATE_BYTES:
        return None
    drawn = torch.empty(1, device="cpu").uniform_(0.08, 1.0, generator=torch.Generator().manual_seed(1))
    fused = process_operations.is_fused({"value": drawn.item()})
    return None if fused < 0 else fused


def _bytes(state: torch.Tensor) -> bytes:
    return ctypes.string_at(state.data_ptr(), _STATE_BYTES)  # torch.equal takes four times as long


class PictureDraws(Draws):
    """Draws for the batches of a loader's iterator, in torch's order. Base class."""

    def __init__(self, view: DrawnView) -> None:
        self._view = view
        self.python = view.draws_python

    def __call__(self, indices: array[int]) -> array[int]:
        """See Draws. They end where there is no such sample, or its picture is too small."""
        before = self.state()
        # Too small for a crop or a perspective: perhaps the picture that lay there before, and not the one
        # that does now.
        for stale in (indices, array("q")):
            try:
                return self.records(indices)
            except errors.RowIndexError:
                break  # before anything was drawn
            except RAISED as error:
                if isinstance(error, errors.GofastError):
                    raise
            self.rewind(before, stale)
        made = array("i")
        for samples, index in enumerate(indices):  # as torch's fetcher asks for them
            before = self.state()
            try:
                made += self.records(array("q", [index]))
            except errors.RowIndexError as error:
                raise Undrawn(error, made, samples) from None
            except RAISED as error:
                if earlier := self._view.unreadable(index):
                    self.rewind(before, array("q"))
                raise Undrawn(earlier or error, made, samples) from None
        return made

    def records(self, indices: array[int]) -> array[int]:
        """The same, by the sizes that are known.

        Raises:
            ValueError: as torchvision's own, where a picture is too small for a crop.
            torch.linalg.LinAlgError: likewise, for a perspective.
        """
        raise NotImplementedError

    def rewind(self, state: Any, indices: array[int]) -> None:
        """See Draws."""
        if indices:
            self._view.forget(indices)


class TorchDraws(PictureDraws):
    """From a generator of torch's, which is left as torchvision would leave it.

    Args:
        generator: None: that of the thread, which mostly is torch's default one.
    """

    def __init__(self, view: DrawnView, generator: torch.Generator | None = None) -> None:
        super().__init__(view)
        self._given = generator

    @property
    def _generator(self) -> torch.Generator:
        return generators.of_thread() if self._given is None else self._given

    def records(self, indices: array[int]) -> array[int]:
        """By the generator's next numbers."""
        # First: what others draw while headers are read must not be lost.
        sizes = find_sizes(self._view, indices)
        generator = self._generator
        with generators.taken():  # threads that took the same state would draw the same numbers
            state = generator.get_state()
            python = generators.PythonWords(random.getstate()) if self.python else None
            try:
                return draw(self._view, indices, sizes, state.data_ptr(), python)
            finally:
                generator.set_state(state)
                if python is not None:
                    python.put()

    def state(self) -> tuple[torch.Tensor, Any]:
        """The generator's, and Python's where it is drawn from."""
        return self._generator.get_state(), random.getstate() if self.python else None

    def rewind(self, state: tuple[torch.Tensor, Any], indices: array[int]) -> None:
        """Puts them back."""
        self._put(state)
        super().rewind(state, indices)

    def _put(self, state: tuple[torch.Tensor, Any]) -> None:
        self._generator.set_state(state[0])
        if self.python:
            random.setstate(state[1])

    def ahead(self, indices: array[int], state: tuple[torch.Tensor, Any]) -> tuple[array[int], Any]:
        """On copies."""
        torchs, python = state[0].clone(), generators.PythonWords(state[1]) if self.python else None
        sizes = find_sizes(self._view, indices)
        records = draw(self._view, indices, sizes, torchs.data_ptr(), python)
        return records, (torchs, None if python is None else python.state)

    def give(self, before: tuple[torch.Tensor, Any], after: tuple[torch.Tensor, Any]) -> bool:
        """Gives the generators that are drawn from. The others do not matter."""
        with generators.taken():
            torchs, python = self.state()
            same = _bytes(torchs) == _bytes(before[0]) and python == before[1]
            if same:
                self._put(after)
            return same


class WorkerDraws(PictureDraws):
    """From generators that stand for those of torch's worker processes."""

    def __init__(self, view: DrawnView, workers: Workers) -> None:
        super().__init__(view)
        self._workers = workers
        self._batch = 0

    def __call__(self, indices: array[int]) -> array[int]:
        """Then it is the next worker's turn."""
        try:
            return super().__call__(indices)
        finally:
            self.skip()

    def records(self, indices: array[int]) -> array[int]:
        """By the generators of the worker whose turn it is."""
        sizes = find_sizes(self._view, indices)  # first: Ctrl-C must not come in the worker's turn
        worker = self._batch % self._workers.count
        now = self._workers[worker].copy()
        python = generators.PythonWords(now.python) if self.python else None
        try:
            return draw(self._view, indices, sizes, now.torch.data_ptr(), python, refills=now.refills)
        finally:
            self._workers[worker] = now if python is None else now.replaced(now, python.state)

    def state(self) -> tuple[int, generators.Generators]:
        """Whose turn it is, and its generators."""
        return self._batch, self._workers[self._batch % self._workers.count]

    def rewind(self, state: tuple[int, generators.Generators], indices: array[int]) -> None:
        """Puts them back. What a collate function has drawn meanwhile from other generators stays drawn."""
        self._batch, before = state
        worker = self._batch % self._workers.count
        python = before.python if self.python else None
        self._workers[worker] = self._workers[worker].replaced(before, python)
        super().rewind(state, indices)

    def skip(self) -> None:
        """It is the next worker's turn."""
        self._batch += 1

    def begin(self, batch: int = 0) -> None:
        """From this batch's worker on. Persistent workers keep their generators; the first begins again."""
        self._batch = batch


class StatelessDraws(PictureDraws):
    """From a stream of each sample's own: any batch may be drawn for at any time."""

    early = True

    def records(self, indices: array[int]) -> array[int]:
        """By the samples' own streams."""
        return draw(self._view, indices, _no_sizes(self._view, indices), 0)


@contextlib.contextmanager
def from_generator(generator: torch.Generator | None) -> Iterator[None]:
    """What is drawn from torch's default generator meanwhile comes from this one; None: nothing changes."""
    if generator is None:
        yield
        return
    with generators.taken():
        before = torch.get_rng_state()
        torch.set_rng_state(generator.get_state())
        try:
            yield
        finally:
            generator.set_state(torch.get_rng_state())
            torch.set_rng_state(before)

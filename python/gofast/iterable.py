"""IterableDataset: rows of a generator or a stream, whose pictures are made natively."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from . import errors
from ._core.arguments import checked
from ._images.bad_image import both
from ._images.bad_samples import BadSamples
from ._images.decoding import DecodingLane, IdleLanes, file_of
from ._images.pulled import PulledRows, Row
from ._loader.pulled import PulledDataset
from ._loader.view import Line, check_callable
from ._plan.compile import compile


class IterableDataset(PulledDataset):
    """What a generator, an iterable, or an IterableDataset of yours yields, with its pictures made natively.

    Rows, their order, their errors and their split over workers are the source's own. Samples are those of
    torchvision's transforms under ``Image.open(...).convert("RGB")``, to the last bit, and so are the draws.
    A :class:`gofast.DataLoader` pulls the rows of a batch, in this process or in a worker, and where all of
    the transform is native, it decodes their pictures in parallel. Elsewhere each picture is made when it is
    asked for. Rows are never pulled before the batch that they are in is asked for, and a source may use its
    memory and its files again for the next row.

    Args:
        source: an iterable, or a function without arguments that returns one, such as a generator function.
            It is asked for an iterator at each epoch.
        transform: of the pictures; as in :class:`gofast.ImageFolder`. None: uint8 [3, H, W] of each file.
        fields: of each row, by name or by number: first the picture, then what else the sample has; samples
            are tuples. None: a row is the picture alone, or a tuple or a list that begins with it.
        on_error: what becomes of a picture that cannot be read: ``"raise"`` its error, behind the rows before
            it; ``"skip"`` the row. What is drawn for rows of the same batch is drawn all the same.

    A picture is a file's bytes, a path, or the dict {"bytes": ..., "path": ...} of Hugging Face's
    ``Image(decode=False)``; or a PIL image or a numpy array uint8 [H, W] or [H, W, 3], which the transform is
    given as it is.

    Raises:
        gofast.errors.OptionError: an option makes no sense; while iterating, a row has no such fields.
        gofast.errors.BadImageError: while iterating, a picture cannot be read; ``index`` is its row.

    Example:
        >>> def rows():
        ...     for line in open("train.txt"):
        ...         path, label = line.split()
        ...         yield path, int(label)
        >>> dataset = gofast.IterableDataset(rows, transform=T.ToTensor())
        >>> loader = gofast.DataLoader(dataset, batch_size=64)
    """

    @checked
    def __init__(
        self,
        source: Iterable[Any] | Callable[[], Iterable[Any]],
        transform: Callable[[Any], Any] | None = None,
        fields: Sequence[str | int] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise errors.OptionError(f"source={source!r} is no iterable, and no function that returns one")
        check_callable(transform=transform)
        if on_error not in ("raise", "skip"):
            raise errors.OptionError(f'on_error={on_error!r} is not "raise" or "skip"')
        if fields is not None and (isinstance(fields, str) or len(fields) == 0):
            raise errors.OptionError(f"fields={fields!r}: give names or numbers, first the picture's")
        self.source, self.transform = source, transform
        self.fields = None if fields is None else tuple(fields)
        self.on_error = on_error
        self._lanes = IdleLanes()

    @property
    def _skips(self) -> bool:
        return self.on_error == "skip"

    def __iter__(self) -> Iterator[Any]:
        source: Any = self.source
        given = iter(source if isinstance(source, Iterable) else source())
        # A subclass, or what iterates this dataset itself, may keep samples.
        kept = type(self) is not IterableDataset or self._at_once == 1
        return PulledRows(given, self, self._at_once, kept)

    def __len__(self) -> int:
        """The source's, if it has one.

        Raises:
            TypeError: it has none, as torch's own has none.
        """
        return len(self.source)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return True  # as torch's, which has no length to ask for

    def set_epoch(self, epoch: int) -> None:
        """Passes the epoch on to a source that takes it."""
        accept = getattr(self.source, "set_epoch", None)
        if callable(accept):
            accept(epoch)

    def _row(self, given: Any, number: int) -> Row:
        if self.fields is not None:
            picture, *others = self._chosen(given, number)
            kind: Callable[[Any], Any] = tuple
        elif isinstance(given, (tuple, list)):
            if not given:
                raise errors.OptionError(f"row {number} of the source is empty: it has no picture")
            picture, *others = given
            kind = getattr(type(given), "_make", tuple if isinstance(given, tuple) else list)
        else:
            if isinstance(given, dict) and "bytes" not in given:
                raise errors.OptionError(f"row {number} is {[*given]}: fields= says which are wanted")
            return Row(_file(given, number), given, _alone, number)
        return Row(_file(picture, number), picture, lambda made: kind((made, *others)), number)

    def _chosen(self, given: Any, number: int) -> list[Any]:
        assert self.fields is not None
        try:
            return [given[name] for name in self.fields]
        except (KeyError, IndexError) as error:
            there = [*given] if isinstance(given, dict) else type(given).__name__
            raise errors.OptionError(f"row {number} has not {self.fields}: it is {there}") from error

    def _transformed(self, picture: Any) -> Any:
        if isinstance(picture, np.ndarray) and picture.dtype == np.uint8:
            from PIL import Image

            picture = Image.fromarray(picture)
        return picture if self.transform is None else self.transform(picture)

    @contextmanager
    def _lane(self, room: int) -> Iterator[DecodingLane]:
        lane = self._lanes.take(room, False)
        if lane is None:
            lane = DecodingLane(self.transform, room, False, BadSamples("raise", None, kept=False))
            lane._called = "IterableDataset"
        try:
            yield lane
        finally:
            lane.end()
            self._lanes.put(lane)

    def __repr__(self) -> str:
        return f"IterableDataset({self.source!r}, {self.transform!r})"

    def _explained(self) -> list[Line]:
        plan = compile(self.transform)
        rows: Line = ("rows", "Python", "your source, one after another")
        return [rows, *((line.name, "Go" if line.native else "Python", line.what) for line in plan.report)]


def _file(picture: Any, number: int) -> Any:
    """Its file's bytes; None where it is a picture already.

    A source may write over what it has yielded, or remove the file, as soon as it is asked for the next row.
    """
    if not isinstance(picture, (str, bytes)) and (
        getattr(picture, "ndim", 1) > 1 or hasattr(picture, "getbands")
    ):
        return None
    file = file_of(picture)
    if file is None:
        kind = type(picture).__name__
        raise errors.OptionError(f"row {number} begins with {kind}: give a picture, its bytes, or its path")
    if isinstance(file, str):
        try:
            with open(file, "rb") as opened:
                return opened.read()
        except OSError as error:
            raise both(error, str(error)).at(path=file) from error
    return bytes(file)


def _alone(made: Any) -> Any:
    return made

"""Datasets whose rows are pulled, one after another, and made some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from torch.utils.data import IterableDataset

from .batch_source import Line
from .batch_types import Kind

if TYPE_CHECKING:
    from .counts import Counts

# Makes a batch, once, before the next one is asked for. Steps of the user run when it is called: a generator
# would turn their StopIteration, which ends an epoch, into another error.
Make = Callable[[], Any]


class IterableSourceDataset(IterableDataset[Kind]):
    """Base class of gofast.IterableDataset, of its streams of files, and for the loader and explain."""

    _makes_batches = False  # `_batches` has whole batches
    _ahead = "the pictures of a batch at once, when it is asked for"  # in explain
    _orders: ClassVar[Mapping[str, str]] = {}  # what does what these options of a DataLoader would do
    _at_once = 1  # rows that an iterator pulls before it hands out the first

    @contextmanager
    def _of_batches(self, size: int | None) -> Iterator[None]:
        """Iterators that are made meanwhile, and copies for workers, pull the rows of a batch at once."""
        self._at_once = size or 1
        try:
            yield
        finally:
            self._at_once = 1

    def _check_order(self, **given: object) -> None:
        """Raises torch's error for an option that no IterableDataset takes, and says what does it."""
        for option, value in given.items():
            if option in self._orders and value is not None and value is not False:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {option} option, but got "
                    f"{option}={value}: {self._orders[option]}"
                )

    def _begin(self) -> dict[str, Any]:
        """What decides an epoch that begins now, as plain data, with the "position" of its next sample."""
        raise NotImplementedError

    def _batches(
        self,
        begun: dict[str, Any],
        size: int,
        drop_last: bool,
        collate: Callable[[Any], Any] | None,
        counts: Counts | None,
    ) -> Iterator[Make]:
        """The batches of an epoch, from a position on.

        Args:
            begun: see `_begin`.
            collate: the user's function; None: torch's own.
            counts: of the loader that hands them out; None: somebody else counts them.
        """
        raise NotImplementedError

    def _explained(self) -> list[Line]:
        """Its lines in explain."""
        raise NotImplementedError

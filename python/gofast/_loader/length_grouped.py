"""LengthGroupedSampler: an order in which batches have rows of similar lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch.utils.data import Sampler

from .. import errors
from .._core.arguments import whole

if TYPE_CHECKING:
    import numpy.typing as npt

# The order is drawn, and then sorted within so many batches.
_BATCHES = 50


class HasLengths(Protocol):
    """A dataset that says how long its rows are."""

    def text_lengths(self) -> npt.NDArray[np.int64]:
        """One for each row."""

    def __len__(self) -> int: ...


class LengthGroupedSampler(Sampler[int]):
    """A random order in which rows that follow each other have similar lengths, so that little is padded.

    It equals transformers' sampler of this name, from the same generator: rows are permuted, each 50 batches
    of them are sorted, the longest first, and the longest row of all is moved to the front, so that memory
    that does not suffice is noticed at once.

    Args:
        batch_size: that of the loader.
        dataset: a :class:`gofast.TableDataset` with ``text=`` and one tokenizer; or None, with ``lengths``.
        lengths: of the rows, such as ``dataset.text_lengths("review")``, or those of a Subset.
        generator: default torch's.

    Raises:
        gofast.errors.OptionError: there are no lengths, or they are not of the dataset.

    Example:
        >>> def as_bytes(texts):
        ...     return [list(text.encode()) for text in texts]
        >>> letters = gofast.tokens.Text(as_bytes, pad_token_id=0)
        >>> train = gofast.TableDataset("flowers.csv", text={"colour": letters}, columns=[], label=None)
        >>> order = gofast.tokens.LengthGroupedSampler(2, train)
        >>> loader = gofast.DataLoader(train, batch_size=2, sampler=order)
        >>> next(iter(loader))["attention_mask"].tolist()
        [[1, 1, 1, 1], [1, 1, 1, 0]]
    """

    def __init__(
        self,
        batch_size: int,
        dataset: HasLengths | None = None,
        lengths: Sequence[int] | npt.NDArray[Any] | torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        batch_size = whole(1)("batch_size", batch_size)
        if lengths is None:
            find = getattr(dataset, "text_lengths", None)
            if find is None:
                raise errors.OptionError("give a TableDataset with text=, or lengths=")
            lengths = find()
        self.batch_size, self.generator = batch_size, generator
        self.lengths = np.asarray(lengths)
        if self.lengths.ndim != 1 or self.lengths.dtype.kind not in "iu":
            raise errors.OptionError("lengths: give a whole number for each row")
        if dataset is not None and len(dataset) != len(self.lengths):
            raise errors.OptionError(f"{len(self.lengths)} lengths, and the dataset has {len(dataset)} rows")

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        lengths, count = self.lengths.astype(np.int64), len(self)
        order = torch.randperm(count, generator=self.generator).numpy()
        many = self.batch_size * max(min(count // (4 * self.batch_size), _BATCHES), 1)
        parts = [order[i : i + many] for i in range(0, count, many)]
        parts = [part[np.argsort(-lengths[part], kind="stable")] for part in parts]
        if parts:
            longest = int(torch.argmax(torch.tensor([lengths[part[0]] for part in parts])))
            parts[0][0], parts[longest][0] = parts[longest][0], parts[0][0]
        return iter([i for part in parts for i in part.tolist()])

"""What language models and other models of text are fed: windows of packed tokens, tokenized texts.

Example:
    >>> from gofast.tokens import LengthGroupedSampler, Text, TokenDataset
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from ._core.indices import listed, whole
from ._core.numbers import type_name
from ._core.patterns import Paths, files_of
from ._core.reason import Reason
from ._loader.batch_source import BatchSource, Line, SampleForm, row_index_error
from ._loader.batch_types import Kind, SampleOf
from ._loader.batcher import Batcher
from ._loader.core_dataset import CoreDataset, IntArray, joined
from ._loader.destination import own_batcher
from ._loader.explain import overrides
from ._loader.getitems import getitems
from ._loader.length_grouped import LengthGroupedSampler
from ._loader.native_dataset import NativeDataset, origins, overridden
from ._tables.texts import Text
from ._tables.token_files import TYPES, TokenFile, TokenFileOptions, windows

__all__ = ["LengthGroupedSampler", "Text", "TokenDataset"]


class TokenDataset(NativeDataset[Kind]):
    """Map-style dataset over packed tokens: one long array of integers in a file, as nanoGPT writes it.

    Sample ``i`` is ``(x, y)``, int64 tensors [block_size]: the tokens from ``i * stride`` on, and those one
    token later. They equal what nanoGPT's ``get_batch`` makes of the file with ``numpy.memmap``. Files are
    mapped where they lie, and may be larger than memory. No sample has tokens of two files. What
    is left over at a file's end is in no sample.

    Replace or remove a file at any time. One that is written to gives a ChangedError; one that is cut while
    it is in use may end the process (SIGBUS).

    Args:
        paths: a file, a pattern such as ``"train-*.bin"`` (sorted by path), or a list of these, end to end. A
            .npy file says itself what its tokens are; of any other all bytes are tokens.
        block_size: tokens of a sample.
        stride: tokens from one sample to the next; default ``block_size``, so that a token is in one ``x``.
            1 gives a sample at every token, as nanoGPT draws them.
        dtype: how tokens are stored, ``"uint16"`` by default. A file does not say it: give ``"uint32"`` for
            tokens that were written so. Where they look like that, the default is an error.
        offset: bytes of a header before the first token; 1024 in files of llm.c.

    Raises:
        gofast.errors.NotFoundError: no such file (a FileNotFoundError).
        gofast.errors.FormatError: a file's size is no whole number of tokens, it has a header that is not
            skipped, or its tokens look like uint32 and nobody said so.
        gofast.errors.SchemaError: a file has fewer than ``block_size + 1`` tokens, or a .npy file other ones
            than ``dtype`` says, or more dimensions than one.
        gofast.errors.DamagedError: a .npy file is cut.
        gofast.errors.UnsupportedError: a .npy file holds uint64, no integers, or those of another processor.
        gofast.errors.ChangedError: at indexing, a file was written to since.

    Example:
        >>> train = gofast.tokens.TokenDataset("train.bin", block_size=1024, stride=1)
        >>> x, y = train[0]
        >>> loader = gofast.DataLoader(train, batch_size=12, shuffle=True)
    """

    @checked
    def __init__(
        self: TokenDataset[SampleOf[tuple[Literal["tuple"], None, None, None]]],
        paths: Paths,
        block_size: int,
        *,
        stride: int | None = None,
        dtype: Any = None,
        offset: int = 0,
    ) -> None:
        self._block, self._stride = block_size, block_size if stride is None else stride
        name = None if dtype is None else _named(dtype)
        least = self._block + 1
        self._files = [TokenFile(TokenFileOptions(path, name, offset, least)) for path in files_of(paths)]
        self._per_process: Batcher | None = None
        self._compiled: list[CoreDataset] | None = None
        self._ends = np.cumsum([core.length for core in self._cores])
        self._view()  # forked workers use one that was made before the fork

    @property
    def block_size(self) -> int:
        """Tokens of a sample."""
        return self._block

    @property
    def stride(self) -> int:
        """Tokens from one sample to the next."""
        return self._stride

    def __repr__(self) -> str:
        files = self._files[0].path if len(self._files) == 1 else f"{len(self._files)} files"
        return f"TokenDataset({files}: {len(self)} samples of {self._block} tokens, stride={self._stride})"

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: Any) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
        """The sample at an index, negative from the end."""
        sample, count = operator.index(index), len(self)
        if not -count <= sample < count:
            raise row_index_error(sample, count)
        sample %= count
        number = int(np.searchsorted(self._ends, sample, "right"))
        file = self._files[number]
        at = (sample - (int(self._ends[number - 1]) if number else 0)) * self._stride
        x, y = (torch.from_numpy(file.array[i : i + self._block].astype(np.int64)) for i in (at, at + 1))
        file.check()
        return x, y

    @getitems
    def __getitems__(self, indices: Iterable[int]) -> Sequence[Any]:
        """The samples of a whole batch; torch's fetcher calls this. See `_loader/batch`."""
        indices = listed(indices)
        if type(self).__getitem__ is not TokenDataset.__getitem__ or len(indices) == 0:
            return [self[i] for i in indices]
        try:
            wanted: array[int] = whole(indices)
        except (OverflowError, TypeError):
            return [self[i] for i in indices]
        return self._here().batch(wanted)

    # -- the core's part -------------------------------------------------------

    @property
    def _cores(self) -> list[CoreDataset]:
        if self._compiled is None:
            self._compiled = [windows(file, self._block, self._stride) for file in self._files]
        return self._compiled

    def _here(self) -> Batcher:
        here = self._per_process = own_batcher(self, self._per_process)
        return here

    def _view(self) -> BatchSource:
        return self._here().view

    def _native_view(self) -> BatchSource | Reason:
        """A view for gofast.DataLoader."""
        return overridden(self, TokenDataset) or self._view()

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> BatchSource:
        block = self._block
        form = SampleForm("tuple", ("x", "y"), (block,), torch.int64, torch.int64, (block,))
        return BatchSource(parts, index_map, form)

    def _core(self) -> CoreDataset:
        return joined(self._cores, None)

    @property
    def _mapped(self) -> Sequence[TokenFile]:
        return self._files

    def _sample_signature(self) -> tuple[Any, ...]:
        return ("tokens", self._block)

    def _origins(self, samples: Sequence[int]) -> list[tuple[str | None, int]]:
        return origins([file.path for file in self._files], self._ends, samples)

    def _explained(self) -> list[Line]:
        """The lines of gofast.explain: which steps run natively and which in Python."""
        lines = [line for file in self._files[:_SHOWN] for line in file.explained()]
        if len(self._files) > _SHOWN:
            lines.append(("source", "C", f"{len(self._files) - _SHOWN} more files"))
        what = f"{len(self)} samples of {self._block} tokens, one every {self._stride}: int64 x, y"
        return [*lines, ("windows", "C", what), *overrides(self, TokenDataset, "samples")]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_per_process": None, "_compiled": None}


_SHOWN = 3  # files in an explanation


def _named(dtype: Any) -> str:
    """numpy's name of a type of tokens."""
    name = type_name(dtype)
    if name not in TYPES:
        raise errors.OptionError(f"dtype={dtype!r} is not one of {', '.join(TYPES)}")
    return name

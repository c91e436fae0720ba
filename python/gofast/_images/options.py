"""The options of a dataset of pictures other than paths, labels and transforms."""

from __future__ import annotations

import dataclasses
import os
from typing import Literal

import torch

from .. import errors
from .._core.arguments import OptionGroup, checked
from .._core.numbers import torch_dtype
from .._core.units import bytes_of
from .._loader.batch_source import Output
from .bad_samples import OnError
from .cache_option import Budget

Rng = Literal["torch", "stateless"]

_ROUNDED = (torch.float16, torch.bfloat16, torch.float32)  # a float32 picture may be rounded to these


_LEAST_KEPT = 1 << 20


@checked
@dataclasses.dataclass(frozen=True)
class PictureOptions(OptionGroup):
    """The checked options of one dataset. :class:`gofast.ImageFolder` explains each of them.

    They are in an object of their own, because subclasses of torchvision's ImageFolder also have attributes
    called ``rng``, ``seed`` or ``keys``.

    Raises:
        OptionError: an option makes no sense.
    """

    output: Output = "tuple"
    keys: tuple[str, str] = ("image", "label")
    channels_last: bool = False
    dtype: torch.dtype | None = None
    on_error: OnError = "raise"
    max_bad: int | None = None
    return_index: bool = False
    return_path: bool = False
    rng: Rng = "torch"
    seed: int = 0
    cache: str | os.PathLike[str] | None = None
    cache_limit: str | int | None = None

    def __post_init__(self) -> None:
        if self.output not in ("dict", "tuple"):
            raise errors.OptionError(f'output={self.output!r} is not "dict" or "tuple"')
        if len(self.keys) != 2 or self.keys[0] == self.keys[1]:
            raise errors.OptionError(
                f"keys={self.keys!r}: give two different names, of the picture and of the label"
            )
        dtype = None if self.dtype is None else torch_dtype(self.dtype)
        if dtype not in (None, *_ROUNDED):
            raise errors.OptionError(
                f"dtype={self.dtype!r} is not one of {', '.join(str(d) for d in _ROUNDED)}"
            )
        if self.rng not in ("torch", "stateless"):
            raise errors.OptionError(f'rng={self.rng!r} is not "torch" or "stateless"')
        if self.cache is None and self.cache_limit is not None:
            raise errors.OptionError("cache_limit= is a limit of cache=: give that too")
        own = {
            "keys": (str(self.keys[0]), str(self.keys[1])),
            "dtype": dtype,
            "seed": self.seed & ((1 << 63) - 1),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> Budget | None:
        """What cache and cache_limit say; None: nothing is kept."""
        if self.cache is None:
            return None
        place = os.path.expanduser(os.fspath(self.cache))
        if not place or "\0" in place:
            raise errors.OptionError(f'cache={self.cache!r}: give "memory" or a folder')
        if place != "memory":
            place = os.path.abspath(place)
        limit = None if self.cache_limit is None else bytes_of("cache_limit", self.cache_limit)
        if limit is not None and not _LEAST_KEPT <= limit < 1 << 60:
            raise errors.OptionError(
                f'cache_limit={self.cache_limit!r}: give at least "1MiB", and less than 2**60 bytes'
            )
        return Budget(place, limit)

    def names(self, labelled: bool) -> tuple[str, ...]:
        """The names of the parts of a sample.

        Raises:
            OptionError: two parts have the same name.
        """
        more = (labelled, self.keys[1]), (self.return_index, "index"), (self.return_path, "path")
        names = (self.keys[0], *(name for wanted, name in more if wanted))
        if len(set(names)) < len(names):
            raise errors.OptionError(f"keys={self.keys!r} name what return_index or return_path adds")
        return names

"""What a view, the draws and the rescue of samples see of a dataset of pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .._loader.batch_source import Output
from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns
from .bad_samples import BadSamples
from .listing import Listing
from .options import PictureOptions
from .picture_files import PictureFiles
from .pixels import PixelLayout


def same_attributes(now: tuple[Any, ...], then: tuple[Any, ...]) -> bool:
    """Whether these are the same objects, and what describes memory is equal."""
    return all(a is b or (type(a) is PixelLayout and a == b) for a, b in zip(now, then, strict=True))


class HasPictures(Protocol):
    """A dataset of picture files, as those see it that make its samples."""

    transform: Callable[[Any], Any] | None
    _output: Output
    _listing: Listing
    _options: PictureOptions
    _bad: BadSamples

    @property
    def _files(self) -> PictureFiles: ...

    @property
    def _called(self) -> str:
        """What warnings call it."""

    @property
    def _names(self) -> tuple[str, ...]: ...

    @property
    def _alone(self) -> bool:
        """Whether a sample that is one value is that itself, not a tuple of it."""

    @property
    def _native_labels(self) -> bool: ...

    @property
    def _reader(self) -> Callable[[Any], Any] | None: ...

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> Sequence[ExtraColumns]:
        """What samples of such datasets have beside picture and label.

        Args:
            starts: the number of each dataset's first sample.
        """

    def _attributes(self) -> tuple[Any, ...]:
        """What samples follow from, beside files and the insides of the transform: see `same_attributes`."""

    def _rounded(self, picture: Any) -> Any:
        """What a transform made, as dtype asks."""

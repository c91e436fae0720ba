"""What a view, the draws and the rescue of samples see of a dataset of pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .._loader.view import Output
from .bad_samples import BadSamples
from .listing import Listing
from .options import PictureOptions
from .picture_files import PictureFiles


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
    def _native_labels(self) -> bool: ...

    @property
    def _reader(self) -> Callable[[Any], Any] | None: ...

    def _rounded(self, picture: Any) -> Any:
        """What a transform made, as dtype asks."""

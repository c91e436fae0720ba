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
from .plan_stamp import PlanStamp


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

    @property
    def _stamp(self) -> PlanStamp:
        """Of the plan that its samples are made by."""

    def _attributes(self) -> tuple[Any, ...]:
        """The transform, and what else samples follow from: see PlanStamp."""

    def _rounded(self, picture: Any) -> Any:
        """What a transform made, as dtype asks."""

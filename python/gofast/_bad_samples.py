"""What becomes of samples that neither the core nor Pillow can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from . import errors

OnError = Literal["raise", "replace", "zero"] | Callable[[int, Exception], Any]


class BadSamples:
    """A policy, and the samples that fell under it in this process.

    Args:
        on_error: "raise", "replace" by another sample, "zero", or a callable of (index, error).
        most: more bad samples than this raise the last error whatever the policy; None: any number.
    """

    def __init__(self, on_error: OnError, most: int | None) -> None:
        if on_error not in ("raise", "replace", "zero") and not callable(on_error):
            raise errors.OptionError(f'on_error={on_error!r} is not "raise", "replace", "zero" or a callable')
        self.on_error = on_error
        self.most = most
        self.seen: dict[str, str] = {}

    def note(self, path: str, error: Exception) -> None:
        """Notes a bad file; raises where there are too many by now."""
        self.seen[path] = str(error)
        if self.most is not None and len(self.seen) > self.most:
            raise errors.LimitError(
                f"{len(self.seen)} bad files are more than max_bad={self.most}; the last: {error}"
            ) from error

"""What becomes of samples that neither the core nor Pillow can read: the user's policy, and the account."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import errors
from .._core.warn import warn

if TYPE_CHECKING:
    from .files import Files

OnError = Literal["raise", "replace", "zero"] | Callable[[int, Exception], Any]

MOST_TRIES = 100  # samples that are asked to stand in for one, before its error is raised


@dataclasses.dataclass(frozen=True)
class BadSample:
    """What is known of a file that could not be read.

    Attributes:
        reason: the error's text.
        count: how often it was met, by this process and the workers of its loaders.
    """

    reason: str
    count: int


class BadSamples:
    """A policy for bad samples, and those that fell under it.

    A sample is bad where Pillow or the user's loader cannot read it, or where it is too small for a step.
    What the user's own transforms raise is raised.

    "replace" takes another sample of the whole dataset, with its label: see `stand_ins`. A Subset's bad
    samples may be replaced by samples outside it; a callable can choose. Where sizes matter to what is drawn,
    it is drawn for the picture that stands in, without torch's generator. "zero" is a tensor of zeros, or,
    where Python code makes the samples, a black picture on which that code runs; the label stays.

    Args:
        on_error: "raise", "replace" by another sample, "zero", or a callable of (index, error) that returns
            another index or a PIL image, or raises.
        most: more bad samples than this raise the last error whatever the policy; None: any number.
    """

    def __init__(self, on_error: OnError, most: int | None) -> None:
        if on_error not in ("raise", "replace", "zero") and not callable(on_error):
            raise errors.OptionError(f'on_error={on_error!r} is not "raise", "replace", "zero" or a callable')
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
            raise errors.OptionError(f"max_bad={most!r}: give a number of files, or None for any")
        self.on_error = on_error
        self.most = most
        self._reasons: dict[int, str] = {}  # by sample; those that workers met are asked for when wanted

    def note(self, files: Files, sample: int, error: Exception) -> None:
        """Notes that a sample could not be read.

        Raises:
            LimitError: there are too many by now.
        """
        first = not files.bad.any()
        files.bad[sample] += 1
        self._reasons[sample] = str(error)
        if self.on_error == "raise":
            return
        if self.most is not None:
            count = int(np.count_nonzero(files.bad))
            if count > self.most:
                made = errors.LimitError(
                    f"{count} bad samples are more than max_bad={self.most}; the last: {error}"
                )
                made.path, made.index = files.path(sample), sample
                raise made from error
        if first:
            what = self.on_error if isinstance(self.on_error, str) else "your function decides"
            said = f"{error}; on_error: {what}; this is said once, bad_samples() has them all"
            warn(said, errors.BadSampleWarning)

    def settle(
        self, files: Files, sample: int, error: Exception, make: Callable[[int | Any, int], None]
    ) -> int:
        """Finds what stands in for a bad sample that was noted, under "replace" or a callable.

        Args:
            error: why it is bad.
            make: makes a sample of a choice, an index or what else the callable returned, at the attempt of
                that number; raises where that is bad too.

        Returns:
            The sample whose label goes with it.
        """
        first, at, others = error, sample, stand_ins(sample, files.count)
        for attempt in range(1, MOST_TRIES + 1):
            choice: Any = self.on_error(at, error) if callable(self.on_error) else next(others, None)
            if choice is None and not callable(self.on_error):
                break
            is_index = hasattr(choice, "__index__")
            if is_index:
                at = choice = _checked(operator.index(choice), files.count)
            try:
                make(choice, attempt)
                return at if is_index else sample
            except Exception as failed:
                if not excusable(failed):
                    raise
                if is_index:
                    self.note(files, at, failed)
                error = failed
        raise first

    def report(self, files: Files, reason: Callable[[int], str]) -> dict[str, BadSample]:
        """The bad files so far, by path.

        Args:
            reason: tells why a sample cannot be read that another process met.
        """
        made: dict[str, BadSample] = {}
        for sample in np.flatnonzero(files.bad).tolist():
            path, count = files.path(sample), int(files.bad[sample])
            if sample not in self._reasons:
                self._reasons[sample] = reason(sample)
            before = made[path].count if path in made else 0
            made[path] = BadSample(self._reasons[sample], before + count)
        return made


def excusable(error: Exception) -> bool:
    """Whether an error is the fault of the file, and of nothing that would be the same with another one."""
    if isinstance(error, errors.GofastError):
        return isinstance(error, errors.BadImageError)
    return not isinstance(error, MemoryError)


def _checked(index: int, count: int) -> int:
    if not -count <= index < count:
        raise errors.RowIndexError(f"on_error returned {index}: there are {count} samples")
    return index % count


def stand_ins(sample: int, count: int) -> Iterator[int]:
    """The samples that may stand in for one of count, in order: each of the others once.

    A function of its arguments only. The steps are about 0.618 of the way round, so that a damaged stretch of
    files, or a class, is left with the first one.
    """
    step = max(1, round(count * (math.sqrt(5) - 1) / 2))
    while math.gcd(step, count) != 1:
        step += 1
    for attempt in range(1, min(count, MOST_TRIES + 1)):
        yield (sample + attempt * step) % count

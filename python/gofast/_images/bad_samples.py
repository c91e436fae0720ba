"""Samples that neither the core nor Pillow can read: the user's policy for them, and the list of them."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import errors
from .._core.signals import by_handler
from .._core.warn import warn
from .._loader import counts

if TYPE_CHECKING:
    from .picture_files import PictureFiles

OnError = Literal["raise", "replace", "zero"] | Callable[[int, Exception], Any]

MOST_TRIES = 100  # samples tried instead of a bad one before its error is raised


@dataclasses.dataclass(frozen=True)
class BadSample:
    """A file that could not be read.

    Attributes:
        reason: the error's text.
        count: how many times this process and the workers of its loaders met it.
    """

    reason: str
    count: int


def known_policy(on_error: Any) -> OnError:
    """The policy.

    Raises:
        OptionError: it is none. A dataset with a length cannot skip: samplers have drawn the numbers.
    """
    if on_error in ("raise", "replace", "zero") or callable(on_error):
        policy: OnError = on_error
        return policy
    skip = "a dataset with a length cannot leave a sample out; " * (on_error == "skip")
    raise errors.OptionError(
        f'on_error={on_error!r}: {skip}give "raise", "replace" (by another sample and its label), "zero" '
        "(zeros, and the label stays), or a callable of (index, error) that returns an index or a picture"
    )


class BadSamples:
    """A policy for bad samples, and the bad samples so far.

    A sample is bad if Pillow or the user's loader cannot read it, or if it is too small for a step.
    An error of the user's own transforms is raised.

    "replace" takes another sample of the whole dataset, with its label: see `stand_ins`. A sample outside a
    Subset may replace a bad sample of it; a callable can choose another. If draws depend on a picture's size,
    they are made for the replacing picture, without torch's generator. "zero" gives a tensor of zeros. If
    Python code makes the samples, that code runs on a black picture instead. The label stays.

    Args:
        on_error: "raise", "replace" by another sample, "zero", or a callable of (index, error) that returns
            another index or a PIL image, or raises.
        most: more bad samples than this raise the last error, whatever the policy; None: any number.
        kept: `report` has them; else the samples of each batch are others, and places tell nothing.
    """

    def __init__(self, on_error: OnError, most: int | None, kept: bool = True) -> None:
        self.on_error = known_policy(on_error)
        self.most, self._kept = most, kept
        self._reasons: dict[int, str] = {}  # by sample; found later for samples that workers met

    def note(self, files: PictureFiles, sample: int, error: Exception) -> None:
        """Notes that a sample could not be read.

        Raises:
            LimitError: there are too many now.
        """
        counts.here().error(error)
        first = not (files.bad.any() if self._kept else self._reasons)
        files.bad[sample] += 1
        self._reasons[sample] = str(error)
        if self.on_error == "raise":
            return
        if self.most is not None:
            count = int(np.count_nonzero(files.bad))
            if count > self.most:
                said = f"{count} bad samples are more than max_bad={self.most}; the last: {error}"
                raise errors.LimitError(said).at(path=files.path(sample), index=sample) from error
        if first:
            what = self.on_error if isinstance(self.on_error, str) else "your function decides"
            more = ", bad_samples() has them all" if self._kept else ""
            said = f"{error}; on_error: {what}; this is said once{more}"
            warn(said, errors.BadSampleWarning)

    def settle(
        self, files: PictureFiles, sample: int, error: Exception, make: Callable[[int | Any, int], None]
    ) -> int:
        """Finds a replacement for a noted bad sample, under "replace" or a callable.

        Args:
            error: why the sample is bad.
            make: makes a sample from a choice, for the attempt of this number. A choice is an index or
                anything else that the callable returned. It raises if that is bad too.

        Returns:
            The sample that gives the label.
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

    def report(self, files: PictureFiles, reason: Callable[[int], str]) -> dict[str, BadSample]:
        """The bad files so far, by path.

        Args:
            reason: says why a sample that another process met cannot be read.
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
    """Whether an error is the fault of this file. Other errors would be the same with another file."""
    if isinstance(error, errors.GofastError):
        return isinstance(error, errors.BadImageError)
    return not isinstance(error, MemoryError) and not by_handler(error)


def _checked(index: int, count: int) -> int:
    if not -count <= index < count:
        raise errors.RowIndexError(f"on_error returned {index}: there are {count} samples")
    return index % count


def stand_ins(sample: int, count: int) -> Iterator[int]:
    """The samples that may replace one sample of count, in order: each of the others once.

    The order depends on the arguments only. A step goes about 0.618 of the way round, so that the first step
    leaves a damaged stretch of files, or a class.
    """
    step = max(1, round(count * (math.sqrt(5) - 1) / 2))
    while math.gcd(step, count) != 1:
        step += 1
    for attempt in range(1, min(count, MOST_TRIES + 1)):
        yield (sample + attempt * step) % count

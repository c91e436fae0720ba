"""Warnings for work that torch's machinery or Python does instead of the engine: correct, but not fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch.utils.data import get_worker_info

from .._core.warn import warn
from ..errors import FallbackWarning, GofastWarning

_SILENCE = (
    "gofast.explain shows what runs where; to silence this: "
    'warnings.filterwarnings("ignore", category=gofast.errors.FallbackWarning)'
)


class Step(Protocol):
    """How one transform runs: a line of a plan's report."""

    @property
    def name(self) -> str:
        """The transform's class or function."""

    @property
    def native(self) -> bool:
        """Whether it runs natively."""

    @property
    def what(self) -> str:
        """The native step in words, or the reason for Python."""


def warn_of_loader(why: str) -> None:
    """Warns that a gofast.DataLoader runs on torch's machinery: once for each reason, never in workers."""
    if get_worker_info() is None:
        text = f"this gofast.DataLoader runs on torch's own machinery: {why}. {_SILENCE}"
        warn(text, FallbackWarning, once=f"fallback: {why}")


def warn_of_transform(dataset: str, report: Sequence[Step]) -> None:
    """Warns if no part of a picture's transform runs natively: once for each reason, never in workers.

    Args:
        dataset: the class of the dataset.
        report: the report of its plan.
    """
    if report and not any(line.native for line in report) and get_worker_info() is None:
        name, what = report[0].name, report[0].what
        text = f"the whole transform of this {dataset} runs in Python ({name}: {what}). {_SILENCE}"
        # A loader of this dataset would say `why_python`: the same cause.
        warn(text, FallbackWarning, once=f"fallback: {name} runs in Python: {what}")


def warn_of_cache(dataset: str) -> None:
    """Warns once that cache= keeps nothing; never in workers."""
    if get_worker_info() is None:
        text = f"cache= of this {dataset} keeps nothing: its transform does not begin natively"
        warn(text, GofastWarning, once="cache")


def warn_of_channels_last() -> None:
    """Warns once that channels_last=True has no effect."""
    if get_worker_info() is None:
        text = (
            "channels_last=True has no effect: Python makes a part of these samples, and torch's collate "
            "lays them out as [C, H, W]; leave it out, and call "
            "images.contiguous(memory_format=torch.channels_last)"
        )
        warn(text, GofastWarning, once="channels_last")

"""Warnings for work that torch's machinery or Python does instead of the engine: correct, but not fast."""

from __future__ import annotations

from torch.utils.data import get_worker_info

from .._core.reason import Reason
from .._core.warn import warn
from ..errors import FallbackWarning, GofastWarning

_SILENCE = (
    "gofast.explain shows what runs where; to silence this: "
    'warnings.filterwarnings("ignore", category=gofast.errors.FallbackWarning)'
)


def warn_of_loader(why: Reason) -> None:
    """Warns that a gofast.DataLoader runs on torch's machinery: once for each reason, never in workers."""
    if get_worker_info() is None:
        text = f"this gofast.DataLoader runs on torch's own machinery: {why}. {_SILENCE}"
        warn(text, FallbackWarning, once=f"fallback: {why}")


def warn_of_transform(dataset: str, why: Reason) -> None:
    """Warns that no part of a picture's transform runs natively: once for each reason, never in workers.

    Args:
        dataset: the class of the dataset.
    """
    if get_worker_info() is None:
        text = f"the whole transform of this {dataset} runs in Python ({why.step}: {why.text}). {_SILENCE}"
        warn(text, FallbackWarning, once=f"fallback: {why}")  # a loader of this dataset would say the same


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

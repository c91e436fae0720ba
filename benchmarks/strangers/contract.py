"""What a case has to offer, so that all are checked and timed by the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.strangers.files import Files

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

Loader = Callable[[Files, int], Iterable[Any]]


@dataclass(frozen=True)
class Case:
    """How somebody feeds a training loop: files and a number of workers to an epoch's batches.

    Attributes:
        loader: their code, which knows nothing of gofast. It runs plain, and as it stands under
            `gofast.install()`. What has no effect without a GPU (`pin_memory`) is left out.
        swapped: the same with names of gofast's, as a user of it writes; None: there is no name to swap.
        pictures: of an epoch, at least; fewer where they take long.
    """

    loader: Loader
    swapped: Loader | None = None
    pictures: int = 1_000


def gofast() -> Any:
    """The module, which the sides without it do not import."""
    import gofast

    return gofast

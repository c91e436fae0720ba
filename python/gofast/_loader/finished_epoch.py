"""The iterator of an epoch that was loaded behind its last batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader


class Over:
    """It ends at once, or gives the next epoch if the sampler was told of one meanwhile.

    Lightning asks for an iterator first, and calls `set_epoch` then. A loader that took it for one of the old
    epoch would end the training an epoch early, as torchdata's does.

    Args:
        loader: whose iterator it is.
        begin: makes another one: of the state, or with False, of a new epoch behind that.
    """

    _on_device = False

    def __init__(self, loader: DataLoader[Any], begin: Callable[[bool], Any]) -> None:
        self._loader, self._begin, self._inner, self._epoch = loader, begin, None, epoch_of(loader)

    def __iter__(self) -> Over:
        return self

    def __next__(self) -> Any:
        return next(self._opened())

    def __len__(self) -> int:
        return len(self._loader)

    def _opened(self) -> Any:
        if self._inner is None:
            self._inner = self._begin(epoch_of(self._loader) == self._epoch)
        return self._inner

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """torch calls it for each epoch of persistent workers."""
        self._opened()._reset(loader, first_iter)


def epoch_of(loader: DataLoader[Any]) -> int | None:
    """The epoch of its sampler; None: that counts none."""
    epoch: int | None = getattr(loader.sampler, "epoch", None)
    return epoch

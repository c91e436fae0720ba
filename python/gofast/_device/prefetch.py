"""Any loader's batches, moved to a device."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import default_collate
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

from .._loader.recent_batches import RecentBatches
from .device import opened
from .mover import Moved


class Moving:
    """An iterator whose batches are on a device. What else the inner one has, this one has too.

    Args:
        device: without an index, torch's current one.
        ahead: batches that are asked for, and on their way, before the one that is handed out is used up.
    """

    def __init__(self, inner: Iterator[Any], device: torch.device, ahead: int = 0) -> None:
        self._inner, self._ahead = inner, ahead
        self._recent: RecentBatches | None = None
        of_ours: Any = inner
        if hasattr(inner, "_recent"):  # of ours: its loader's state is behind what is handed out here
            self._recent, of_ours._moving = RecentBatches(), weakref.ref(self)
        self._device = opened(device)
        self._pulled: list[Any] = []  # a batch that is not moved yet
        self._moving: deque[Moved] = deque()
        self._error: Exception | None = None
        # What is pulled ahead comes while the batch before is read.
        self._reused = ahead > 0 and not _is_fresh(inner)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._device.check_capture()
        while self._error is None and len(self._moving) <= self._ahead:
            if not self._moving:
                self._device.behind.wait()
            elif not self._device.behind.has_room():
                break
            try:
                self._move_one_more()
            except torch.cuda.OutOfMemoryError:
                if not self._moving:
                    raise  # the batch is kept, and moved when it is asked for again
                break
            except Exception as error:  # it comes in its turn, behind the batches before it
                self._error = error
        if not self._moving:
            failed, self._error = self._error, None
            assert failed is not None
            try:
                raise failed
            finally:
                del failed  # its traceback keeps this frame and its callers', with pinned memory in them
        try:
            batch = self._moving[0].received()
        except torch.cuda.OutOfMemoryError:
            raise
        except Exception:
            self._moving.popleft()
            raise
        self._moving.popleft()
        if self._recent is not None:
            self._recent.add(batch)
        return batch

    def ahead(self) -> int:
        """Batches that were asked for and not handed out."""
        return len(self._moving) + len(self._pulled)

    def came_behind(self, batch: Any) -> int:
        """How many batches were asked for behind one that was handed out; raises as RecentBatches does."""
        assert self._recent is not None
        return self._recent.behind(batch, 0) + self.ahead()

    def _move_one_more(self) -> None:
        if not self._pulled:
            self._pulled.append(next(self._inner))
        try:
            moved = Moved(self._device, self._pulled[0], self._reused)
        except torch.cuda.OutOfMemoryError:
            raise
        except Exception:
            self._pulled.clear()
            raise
        self._device.keep(moved.number, moved.sources)
        self._pulled.clear()
        self._moving.append(moved)

    def __len__(self) -> int:
        return len(self._inner)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_inner"], name)


def _is_fresh(inner: object) -> bool:
    """Whether torch has pinned each batch by itself; another loader may fill one buffer again and again."""
    if isinstance(inner, _SingleProcessDataLoaderIter):
        return inner._collate_fn is default_collate  # another one may give what was pinned before
    return isinstance(inner, _MultiProcessingDataLoaderIter)


class Prefetch:
    """What `gofast.prefetch` returns: the loader, whose batches arrive on a device."""

    def __init__(self, loader: Iterable[Any], device: torch.device | None, ahead: int) -> None:
        self.__dict__.update(_loader=loader, _device=device, _ahead=ahead)

    def __iter__(self) -> Iterator[Any]:
        inner = iter(self._loader)
        return inner if self._device is None else Moving(inner, self._device, self._ahead)

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_loader"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._loader, name, value)

    def __repr__(self) -> str:
        return f"gofast.prefetch({self._loader!r}, {str(self._device or 'cpu')!r})"

    def set_epoch(self, epoch: int) -> None:
        """Pass the epoch on to the loader, or else to its sampler."""
        for part in (self._loader, getattr(self._loader, "sampler", None)):
            accept = getattr(part, "set_epoch", None)
            if callable(accept):
                accept(epoch)
                return

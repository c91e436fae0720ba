"""A user's collate function, which this process calls instead of torch's workers."""

from __future__ import annotations

import io
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
from torch._utils import ExceptionWrapper

from .batch import Rows
from .counts import counted_by
from .mixup import mixers, recycled
from .worker_copies import loaded

if TYPE_CHECKING:
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    from .._core.generators import Generators
    from .counts import Counts
    from .worker_copies import WorkerCopies
    from .workers import Workers

# So many batches in a row were collated without a draw from torch's generator: then later ones are drawn for
# as if none would. It is found out afterwards, and the first draw ends it: batches in the air are lost then.
_CALM = 8


class Unmade:
    """A batch that torch's own code makes, rows and all, when its turn comes."""

    def __init__(self, index: Any) -> None:
        self.index = index


class Collation:
    """Makes the batches of an iterator, in their order, of their rows.

    With workers, it draws what the worker would draw whose turn it is.

    Args:
        fetcher: torch's, which has the function.
        workers: None where torch would call the function in this process too.
        copies: of the function, for the workers.
        counts: of the loader.

    Attributes:
        finished: batches of this epoch that are handed over, or have failed.
        overtaken: samples of later batches were drawn from a generator that the last call has changed.
    """

    def __init__(
        self,
        fetcher: _MapDatasetFetcher,
        workers: Workers | None,
        copies: WorkerCopies | None,
        counts: Counts,
    ) -> None:
        self._fetcher, self._workers, self._counts = fetcher, workers, counts
        self._functions: list[Any] = [fetcher.collate_fn]  # one of each worker
        if workers is not None and copies is not None:
            self._functions = copies.take(workers.count)
        self._mixers = [mixers(function) for function in self._functions]
        self._unchanged = 0
        self.finished = 0
        self.overtaken = False

    @property
    def calm(self) -> bool:
        """Whether the next calls will hardly draw from torch's generator."""
        return self._unchanged >= _CALM

    @property
    def count(self) -> int:
        """The number of workers."""
        return self._workers.count if self._workers is not None else 0

    def __call__(self, rows: Any, drawn: Generators | None = None) -> Any:
        """The batch.

        Args:
            rows: a list, or Unmade.
            drawn: what the worker's generators had when samples of this batch were drawn, if they are.
        """
        self.overtaken = False
        if self._workers is None:
            return _with_lists(self._made(rows, 0), rows)
        workers, worker = self._workers, self.finished % self._workers.count
        latest = workers[worker]
        start = latest if drawn is None else latest.replaced(drawn)
        turn = workers.turn(worker, start)
        try:
            with turn:
                made = self._made(rows, worker)
        finally:
            self.finished += 1
            self._unchanged += 1
            left = workers.left
            if torch.equal(left.torch, start.torch):
                workers[worker] = left.replaced(latest)
            else:
                self._unchanged = -(1 << 62)
                self.overtaken = start.torch is not latest.torch
                workers[worker] = left
        return sent(_with_lists(made, rows))

    def _made(self, rows: Any, worker: int) -> Any:
        function = self._fetcher.collate_fn = self._functions[worker]
        with counted_by(self._counts), recycled(self._mixers[worker]):
            if isinstance(rows, Unmade):
                return self._counts.fetched(lambda: self._fetcher.fetch(rows.index), len(rows.index))  # type: ignore[no-untyped-call]
            return function(rows)

    def state(self, batch: int) -> Generators:
        """What the generators of the worker that makes a batch have now."""
        assert self._workers is not None
        return self._workers[batch % self._workers.count]

    def overtake(self) -> None:
        """The worker of the last call goes on with what this call left."""
        assert self._workers is not None
        self._workers[(self.finished - 1) % self._workers.count] = self._workers.left

    def failed(self) -> None:
        """There are no rows of the next batch: there was an error."""
        self.finished += 1

    def begin(self, batch: int = 0) -> None:
        """An epoch begins, with this batch: persistent workers keep their generators."""
        self.finished = batch


_TENSORS, _TEXTS = {torch.Tensor}, {str}


class _Sender(ForkingPickler):
    """What a worker's queue does to a batch: tensors keep their memory, all else becomes a copy."""

    def __init__(self, room: io.BytesIO) -> None:
        super().__init__(room, 5)
        self.kept: list[Any] = []

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, (torch.Tensor, Rows)):
            return None
        self.kept.append(value)
        return len(self.kept) - 1


def sent(made: Any) -> Any:
    """A batch as a worker sends it: what its function keeps of it does not change what the loop has."""
    kind = type(made)
    if isinstance(made, torch.Tensor):
        return made
    if kind in (list, tuple) and _TENSORS.issuperset(map(type, made)):
        return kind(made)
    if kind is dict and _TENSORS.issuperset(map(type, made.values())) and _TEXTS.issuperset(map(type, made)):
        return dict(made)
    room = io.BytesIO()
    sender = _Sender(room)
    try:
        sender.dump(made)
        return loaded(room.getvalue(), sender.kept)
    except Exception as error:
        return unsent(error).reraise()  # type: ignore[no-untyped-call]


def unsent(error: BaseException) -> ExceptionWrapper:
    """The error of a batch that cannot be pickled. A worker of torch's hangs on it."""
    what = (type(error), error, error.__traceback__)
    return ExceptionWrapper(what, "in a DataLoader worker process, whose batch cannot be pickled")  # type: ignore[no-untyped-call]


def _with_lists(made: Any, rows: Any, depth: int = 3) -> Any:
    """What a function made, with an ordinary list where it gave its rows back: torch's is one."""
    if made is rows:
        return list(rows) if isinstance(rows, Rows) else rows
    if depth and type(made) in (list, tuple):
        inner = [_with_lists(one, rows, depth - 1) for one in made] if len(made) < 16 else made
        same = all(new is old for new, old in zip(inner, made, strict=True))
        return made if same else type(made)(inner)
    if depth and type(made) is dict:
        for key, one in made.items():
            made[key] = _with_lists(one, rows, depth - 1)
    return made

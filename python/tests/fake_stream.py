"""A Batcher without an engine: plain torch indexing behind the interface that gofast's loader works through.

It counts what the loader does with it (`Log`), and refuses what the engine could not do: cancelled
tickets, batches out of order, more bytes in flight than the loader promises.
"""

from __future__ import annotations

import operator
import os
from array import array
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import Dataset, default_collate

ROW_BYTES = 64 << 10  # of the fake's rows: large, so that flights are short and their borders get tested


@dataclass
class Log:
    """What the loaders of one test did."""

    opened: int = 0
    submitted: int = 0
    most_in_flight: int = 0
    streams: list[FakeBatcher] = field(default_factory=list)

    @property
    def in_flight(self) -> int:
        return sum(ticket.batches - ticket.taken for stream in self.streams for ticket in stream.live)


class Numbers(Dataset[dict[str, torch.Tensor]]):
    """Row i is {"x": i}."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        index = operator.index(index)
        if not -self.size <= index < self.size:
            raise IndexError(f"index {index} is out of range")
        return {"x": torch.tensor(index % self.size)}


class FakeView:
    def __init__(self, dataset: Numbers) -> None:
        self.dataset = dataset
        self.row_bytes = ROW_BYTES
        self.draws = self.heavy = self.fetches = False
        self.steady = True
        self.epochs = ()
        self.datasets = (dataset,)

    def __len__(self) -> int:
        return len(self.dataset)

    def stamps(self) -> tuple[()]:
        return ()

    def same_rows(self, other: FakeView) -> bool:
        return self.dataset is other.dataset

    def as_forked(self) -> FakeView:
        return self


class FakeTicket:
    def __init__(self, indices: list[int], batch_size: int) -> None:
        self.lists = [indices[i : i + batch_size] for i in range(0, len(indices), batch_size)]
        self.batches = len(self.lists)
        self.taken = 0


class FakeBatcher:
    usable = True

    def __init__(self, log: Log, view: FakeView, threads: int | None) -> None:
        self.log, self.pid = log, os.getpid()
        self.view = view
        self.threads = threads
        self.rows = False
        self.live: list[FakeTicket] = []
        self.interrupt: type[BaseException] | None = None  # raised by the next take, once
        log.opened += 1
        log.streams.append(self)

    def count_for(self, counts: Any) -> None:
        pass

    def submit(
        self, indices: array[int] | torch.Tensor, batch_size: int, records: array[int] | None = None
    ) -> FakeTicket:
        if isinstance(indices, torch.Tensor):
            assert indices.dtype == torch.int64 and indices.dim() == 1
            assert indices.is_contiguous() and indices.device.type == "cpu"
        else:
            assert indices.typecode == "q"
        ticket = FakeTicket(indices.tolist(), batch_size)
        assert ticket.batches > 0
        self.live.append(ticket)
        self.log.submitted += 1
        self.log.most_in_flight = max(self.log.most_in_flight, self.log.in_flight)
        return ticket

    def take(self, ticket: FakeTicket) -> Any:
        assert ticket is self.live[0], "tickets are taken in the order of submission"
        if self.interrupt is not None:
            error, self.interrupt = self.interrupt, None
            raise error
        wanted = ticket.lists[ticket.taken]
        ticket.taken += 1
        if ticket.taken == ticket.batches:
            self.live.remove(ticket)
        rows = [self.view.dataset[i] for i in wanted]
        return rows if self.rows else default_collate(rows)

    def cancel(self, ticket: FakeTicket) -> None:
        self.live.remove(ticket)

    def close(self) -> None:
        self.live.clear()


def install(monkeypatch: Any) -> Log:
    """Make gofast's loader work on `Numbers` through fake batchers."""
    from gofast import loader_iterators
    from gofast._core import engine
    from gofast._core.reason import Reason
    from gofast._loader import dataset_stamp, destination, iterator_stream

    log = Log()

    def resolve(dataset: Any) -> FakeView | Reason:
        return FakeView(dataset) if type(dataset) is Numbers else Reason("it holds no numbers")

    monkeypatch.setattr(engine, "threads", lambda requested=None: requested or 16)
    monkeypatch.setattr(loader_iterators, "resolve", resolve)
    monkeypatch.setattr(dataset_stamp, "resolve", resolve)

    def new_batcher(self: Any, before: Any) -> FakeBatcher:
        batcher = FakeBatcher(log, self.view, self._threads)
        batcher.rows = self.rows
        return batcher

    monkeypatch.setattr(iterator_stream.IteratorStream, "_new_batcher", new_batcher)
    monkeypatch.setattr(destination.Destination, "fits", lambda self, batcher, view: True)
    return log

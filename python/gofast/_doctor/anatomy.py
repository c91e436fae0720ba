"""Takes a loader apart: flat out with looks at its workers' stacks, then its sampler and transport alone."""

from __future__ import annotations

import gc
import itertools
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import DataLoader, Dataset

from . import stacks
from .apart import Outcome, Send, apart
from .consume import Run, consume, nothing
from .loaders import anew, are_pictures, is_native, like, starting, workers
from .processes import Seen

_LIFE = 0.05  # seconds of a process, of which something can be said
_GROUPS = ("read", "decode", "transform", "own", "collate")


@dataclass
class Part:
    """Seconds a batch of one stage, without the time in which it waited for a processor.

    Attributes:
        busy: in all.
        blocked: of these, neither on a processor nor waiting for one: asleep, or waiting for data.
    """

    busy: float = 0.0
    blocked: float = 0.0


@dataclass
class Anatomy:
    """What a loader consists of.

    Attributes:
        workers: processes of the user's loader; threads if it is native.
        native: gofast's engine makes the batches; it tells of its stages itself.
        run: flat out, without a step.
        stacks: what the looks at the stacks found, of all workers together.
        sampler: seconds of the sampler, a batch.
        order: seconds until the sampler gives an epoch's first batch.
        transfer: processor seconds of bringing a batch from one worker to the loop: the worker's, the loop's.
        engine: seconds a batch of each stage of gofast's engine, with the threads that it has.
        notes: what could not be measured, and why.
        processes: the workers, as the kernel saw them, but for those that hardly lived.
        main: the process that has the loader.
        others: processors that other programs kept busy meanwhile.
    """

    workers: int
    native: bool
    run: Run = field(default_factory=Run)
    stacks: stacks.Seen = field(default_factory=stacks.Seen)
    sampler: float = 0.0
    order: float = 0.0
    transfer: tuple[float, float] = (0.0, 0.0)
    engine: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    processes: list[Seen] = field(default_factory=list)
    main: Seen | None = None
    others: float = 0.0

    @property
    def interval(self) -> float:
        """Seconds a batch, flat out."""
        return self.run.wait

    @property
    def made(self) -> float:
        """Seconds in which a worker makes a batch; 0 if that is not known."""
        return sum(took for took, _ in self.stacks.stages.values()) / max(self.stacks.batches, 1)

    def parts(self) -> dict[str, Part]:
        """Seconds a batch of each group of stages."""
        found = {group: Part() for group in _GROUPS}
        for name, (took, blocked) in self.stacks.stages.items():
            part = found[name.partition(":")[0]]
            part.busy += max(took, 0.0) / max(self.stacks.batches, 1)
            part.blocked += min(max(blocked, 0.0), max(took, 0.0)) / max(self.stacks.batches, 1)
        return found

    def steps(self) -> dict[str, float]:
        """Seconds a batch of each step of the transform, the longest first."""
        found = {
            name.partition(":")[2]: took / max(self.stacks.batches, 1)
            for name, (took, _) in self.stacks.stages.items()
            if name.startswith("transform:") and took > 0
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def stragglers(self) -> tuple[float, float, float]:
        """How uneven samples are: the share of time in those that take 10 times the median or more, the
        share of samples that they are, and how many times the median the slowest takes."""
        seen, total, count = self.stacks.slow, self.stacks.fetching, self.stacks.samples
        if not seen or count <= len(seen):
            return 0.0, 0.0, 1.0
        # Samples that no two looks met are quick, and known by their sum alone.
        quick = max(total - sum(seen), 0.0) / (count - len(seen))
        usual = max(quick if 2 * len(seen) < count else statistics.median(seen), 1e-6)
        slow = [seconds for seconds in seen if seconds > 10 * usual]
        return sum(slow) / max(total, 1e-9), len(slow) / count, max(seen) / usual


def take_apart(loader: Any, seconds: float) -> tuple[Anatomy, Outcome]:
    """Measures in forked children. What they had found before an error or the time limit is kept."""
    found = Anatomy(workers(loader), is_native(loader))
    planned = seconds + starting(loader)
    first = apart(lambda send: _flat_out(loader, 0.6 * seconds, send), planned)
    for message in first.messages:
        _take(found, message)
    if first.watcher is not None:
        found.main = first.watcher.main
        found.others = first.others
        found.processes = [seen for seen in first.watcher.workers.values() if seen.life >= _LIFE]
    if first.error is None and not found.run.empty and isinstance(loader, DataLoader):
        second = apart(lambda send: _alone(loader, found, 0.4 * seconds, send), seconds)
        for message in second.messages:
            _take(found, message)
        if second.error:
            found.notes.append(f"the sampler and the transport could not be measured alone: {second.error}")
    return found, first


def _take(found: Anatomy, message: tuple[str, Any]) -> None:
    name, value = message
    if name == "note":
        found.notes.append(value)
    else:
        setattr(found, name, value)


# -- in the child ------------------------------------------------------------------


def _flat_out(loader: Any, seconds: float, send: Send) -> None:
    inside = isinstance(loader, DataLoader)
    source: Any = like(loader)
    if is_native(source):
        if are_pictures(source.dataset):
            # What the parent's engine has laid out tells nothing of its stages to the engine of this process.
            source = like(source, dataset=anew(source.dataset))
        run = consume(source, nothing, seconds, each=_telling(send))
        send(("run", run))
        send(("engine", _engine(source.stats(), run.size)))
        return
    stacks.made[:] = 0, 0
    if inside:
        source = like(source, collate_fn=stacks.Counted(source.collate_fn))
    if workers(source) and inside:
        reader, writer = multiprocessing.Pipe(duplex=False)
        os.set_blocking(writer.fileno(), False)
        source = like(source, worker_init_fn=stacks.Started(source.worker_init_fn, writer))
        reports: dict[int, stacks.Seen] = {}

        def collect() -> None:
            while reader.poll():
                told = json.loads(reader.recv_bytes())
                told["stages"] = {name: tuple(spent) for name, spent in told["stages"].items()}
                pid = told.pop("pid")
                reports[pid] = stacks.Seen(**told)

        run = consume(source, nothing, seconds, each=_telling(send, collect))
        time.sleep(1.5 * stacks.TELL)  # the last reports of workers that live
        collect()
        found = stacks.Seen()
        for seen in reports.values():
            found.add(seen)
    else:
        with stacks.Stacks(getattr(source, "dataset", None), whole=not inside) as looking:
            run = consume(source, nothing, seconds, each=_telling(send))
        found = looking.seen
        found.batches, found.samples = stacks.made if inside else (run.batches, int(run.batches * run.size))
    send(("run", run))
    send(("stacks", found))


def _telling(send: Send, collect: Callable[[], None] = lambda: None) -> Callable[[Run], None]:
    """Sends what is known now and then, should this process be stopped."""
    collected = sent = time.perf_counter()

    def each(run: Run) -> None:
        nonlocal collected, sent
        now = time.perf_counter()
        if now - collected > 0.02:
            collected = now
            collect()
        if now - sent > 0.5:
            sent = now
            send(("run", run))

    return each


def _engine(counted: dict[str, Any], size: float) -> dict[str, float]:
    """Seconds a batch of the engine's stages, its threads side by side; draws are the loop's own."""
    made = max(counted["made"] / size, 1.0)
    stages = {name: spent / max(counted["threads"], 1) / made for name, spent in counted["stages"].items()}
    if not stages.keys() - {"read", "header"}:
        return {}  # no picture was measured in detail
    return {**stages, "draw": counted["draw_seconds"] / max(counted["batches"], 1)}


def _alone(loader: DataLoader[Any], found: Anatomy, seconds: float, send: Send) -> None:
    order, sampler = _sampler(loader, seconds / 4)
    send(("order", order))
    send(("sampler", sampler))
    gc.collect()
    if found.workers and not found.native:
        send(("transfer", _transfer(loader, seconds / 2)))


def _sampler(loader: DataLoader[Any], seconds: float) -> tuple[float, float]:
    """Seconds until the first batch, and seconds a batch.

    The first batch often has the draw of a whole epoch in it, which is shared by all.
    """
    begin = time.perf_counter()
    indices = iter(loader._index_sampler)
    if next(indices, None) is None:
        return 0.0, 0.0
    first, count = time.perf_counter() - begin, 0
    begin = time.perf_counter()
    for _ in itertools.islice(indices, 5000):
        count += 1
        if time.perf_counter() - begin + first > seconds:
            break
    rest = time.perf_counter() - begin
    try:
        all_of_it = len(loader._index_sampler)
    except (TypeError, NotImplementedError):
        all_of_it = count + 1
    return first, first / max(all_of_it, 1) + (rest / count if count else 0.0)


class _Same(Dataset[Any]):
    """One batch, again and again."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __getitem__(self, index: int) -> Any:
        return self._batch

    def __len__(self) -> int:
        return 1 << 20


def _itself(batch: Any) -> Any:
    return batch


def _transfer(loader: DataLoader[Any], seconds: float) -> tuple[float, float]:
    """One worker sends one batch again and again: processor seconds a batch, the worker's and the loop's.

    Nothing on this way waits for anything but the other end, so time without a processor is not counted.
    """
    batch = next(iter(like(loader, num_workers=0)))
    source: Any = iter(DataLoader(_Same(batch), batch_size=None, collate_fn=_itself, num_workers=1))
    next(source)
    worker, pid = Seen(), source._workers[0].pid
    worker.look(pid)
    theirs, ours, end, count = worker.cpu, time.thread_time(), time.perf_counter() + seconds, 0
    while count < 8 or time.perf_counter() < end:
        next(source)
        count += 1
    worker.look(pid)
    return (worker.cpu - theirs) / count, (time.thread_time() - ours) / count

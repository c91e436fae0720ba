"""Takes a loader apart: flat out with the clock in its workers, then its sampler and its transport alone."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import DataLoader, Dataset

from . import hooks
from .apart import HARD, Outcome, Send, apart
from .clock import Clock
from .consume import Run, consume, nothing
from .hot import Hot
from .loaders import anew, are_pictures, is_native, like, samples_of, starting, workers
from .processes import Seen
from .records import Batch, Records

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
        batches: what the workers reported.
        sampler: seconds of the sampler, a batch.
        order: seconds until the sampler gives an epoch's first batch.
        transfer: processor seconds of bringing a batch from one worker to the loop: the worker's, the loop's.
        engine: seconds a batch of each stage of gofast's engine, with the threads that it has.
        hot: the user's line of code that was found most often.
        reading: the share of time in which the user's own code was reading, by the names of its functions.
        notes: what could not be measured, and why.
        processes: the workers, as the kernel saw them, but for those that hardly lived.
        main: the process that has the loader.
        others: processors that other programs kept busy meanwhile.
    """

    workers: int
    native: bool
    run: Run = field(default_factory=Run)
    batches: list[Batch] = field(default_factory=list)
    sampler: float = 0.0
    order: float = 0.0
    transfer: tuple[float, float] = (0.0, 0.0)
    engine: dict[str, float] = field(default_factory=dict)
    hot: str = ""
    reading: float = 0.0
    notes: list[str] = field(default_factory=list)
    processes: list[Seen] = field(default_factory=list)
    main: Seen | None = None
    others: float = 0.0

    @property
    def interval(self) -> float:
        """Seconds a batch, flat out."""
        return self.run.wait

    @property
    def detailed(self) -> list[Batch]:
        """The batches of which the stages are known."""
        return [batch for batch in self.batches if batch.stages]

    @property
    def made(self) -> float:
        """Seconds in which a worker makes a batch; 0 if that is not known."""
        return statistics.fmean([batch.wall for batch in self.detailed] or [0.0])

    def parts(self) -> dict[str, Part]:
        """Seconds a batch of each group of stages."""
        known = self.detailed
        found = {group: Part() for group in _GROUPS}
        for batch in known:
            for name, (wall, cpu, delay) in batch.stages.items():
                part = found[name.partition(":")[0]]
                part.busy += max(wall - delay, cpu) / len(known)
                part.blocked += max(wall - cpu - delay, 0.0) / len(known)
        return found

    def blocked(self, stage: str) -> float:
        """Seconds a batch in which one stage, and not its whole group, neither computed nor could have."""
        times = [batch.stages[stage] for batch in self.detailed if stage in batch.stages]
        return sum(max(wall - cpu - delay, 0.0) for wall, cpu, delay in times) / max(len(self.detailed), 1)

    def steps(self) -> dict[str, float]:
        """Seconds a batch of each step of the transform, the longest first."""
        known, found = self.detailed, dict[str, float]()
        for batch in known:
            for name, (wall, cpu, delay) in batch.stages.items():
                if name.startswith("transform:"):
                    step = name.partition(":")[2]
                    found[step] = found.get(step, 0.0) + max(wall - delay, cpu) / len(known)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def stragglers(self) -> tuple[float, float, float, float]:
        """How uneven samples are: the share of time in those that take 10 times the median or more, the
        share of samples that they are, how many times the median the slowest takes, and what slow ones add
        to the time of a sample, on average."""
        known = [batch for batch in self.batches if batch.median]
        if not known:
            return 0.0, 0.0, 1.0, 0.0
        usual = statistics.median(batch.median for batch in known)
        slow = [seconds for batch in known for seconds in batch.slowest if seconds > 10 * usual]
        total, count = sum(batch.fetch for batch in known), sum(batch.samples for batch in known)
        most = max(max(batch.slowest, default=usual) for batch in known)
        if total <= 0 or usual <= 0:
            return 0.0, 0.0, 1.0, 0.0
        return sum(slow) / total, len(slow) / max(count, 1), most / usual, sum(slow) / max(count, 1)


def take_apart(loader: Any, seconds: float) -> tuple[Anatomy, Outcome]:
    """Measures in forked children. What they had found before an error or the time limit is kept."""
    found = Anatomy(workers(loader), is_native(loader))
    planned = seconds + starting(loader)
    first = apart(lambda send: _flat_out(loader, 0.6 * seconds, send, clocked=True), planned)
    if first.error is not None and first.kind not in HARD:  # it ran before: the clock may be what it minds
        again = apart(lambda send: _flat_out(loader, 0.6 * seconds, send, clocked=False), planned)
        if again.error is None:
            found.notes.append(f"stages could not be timed: with the clock in its code, {first.error}")
            first = again
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


def _flat_out(loader: Any, seconds: float, send: Send, clocked: bool) -> None:
    records = Records()
    if clocked:
        hooks.put(getattr(loader, "dataset", None), records)
    read = sent = time.perf_counter()

    def each(run: Run) -> None:
        nonlocal read, sent
        now = time.perf_counter()
        if now - read > 0.02:
            read = now
            records.collect()
        if now - sent > 0.5:  # what is known, should this process be stopped
            sent = now
            send(("run", run))

    source: Any = like(loader) if isinstance(loader, DataLoader) else _Timed(loader, records)
    if is_native(source) and are_pictures(source.dataset):
        # What the parent's engine has laid out tells nothing of its stages to the engine of this process.
        source = like(source, dataset=anew(source.dataset))
    run = consume(source, nothing, seconds, each=each)
    records.collect()
    send(("run", run))
    if is_native(loader):
        send(("engine", _engine(source.stats(), run.size)))
    elif clocked and not records.batches and workers(loader):
        send(("note", "workers that are not forked tell nothing of themselves: stages are of this process"))
        consume(like(loader, num_workers=0), nothing, seconds / 2, least=1, each=each)
    records.collect()
    send(("batches", records.batches[-2000:]))


def _engine(counted: dict[str, Any], size: float) -> dict[str, float]:
    """Seconds a batch of the engine's stages, its threads side by side; draws are the loop's own."""
    made = max(counted["made"] / size, 1.0)
    stages = {name: spent / max(counted["threads"], 1) / made for name, spent in counted["stages"].items()}
    if not stages.keys() - {"read", "header"}:
        return {}  # no picture was measured in detail
    return {**stages, "draw": counted["draw_seconds"] / max(counted["batches"], 1)}


class _Timed:
    """Any iterable of batches; each batch is the stage "own", with the stages inside it."""

    def __init__(self, inner: Any, records: Records) -> None:
        self._inner, self._records = inner, records

    def __iter__(self) -> Iterator[Any]:
        source = iter(self._inner)
        while True:
            begin = time.perf_counter()
            hooks.clock.start()
            try:
                with hooks.clock.stage("own"):
                    batch = next(source)
            except StopIteration:
                return
            finally:
                hooks.clock.stop()
            stages = {name: (s.wall, s.cpu, s.delay) for name, s in hooks.clock.stages.items()}
            took = time.perf_counter() - begin
            self._records.put(Batch(samples_of(batch), took, 0.0, stages))
            yield batch


def _alone(loader: DataLoader[Any], found: Anatomy, seconds: float, send: Send) -> None:
    order, sampler = _sampler(loader, seconds / 4)
    send(("order", order))
    send(("sampler", sampler))
    gc.collect()
    if found.workers and not found.native:
        send(("transfer", _transfer(loader, seconds / 2)))
    with Hot() as hot:
        consume(like(loader, num_workers=0), nothing, seconds / 4, least=1)
    send(("hot", hot.line))
    send(("reading", hot.reading))


def _sampler(loader: DataLoader[Any], seconds: float) -> tuple[float, float]:
    """Seconds until the first batch, and seconds a batch.

    The first batch often has the draw of a whole epoch in it, which is shared by all.
    """
    clock = Clock()
    clock.start()
    end = time.perf_counter() + seconds
    with clock.stage("first"):
        indices = iter(loader._index_sampler)
        if next(indices, None) is None:
            return 0.0, 0.0
    count = 0
    with clock.stage("rest"):
        for _ in itertools.islice(indices, 5000):
            count += 1
            if time.perf_counter() > end:
                break
    clock.stop()
    try:
        all_of_it = len(loader._index_sampler)
    except (TypeError, NotImplementedError):
        all_of_it = count + 1
    first, rest = (clock.stages[name].wall - clock.stages[name].delay for name in ("first", "rest"))
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

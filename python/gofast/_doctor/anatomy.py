"""Takes a loader apart: flat out with looks at its workers' stacks, then its sampler and transport alone."""

from __future__ import annotations

import itertools
import statistics
import time
from contextlib import suppress
from typing import Any

from torch.utils.data import DataLoader, Dataset

from . import stacks
from .facts import Facts
from .isolation import apart
from .loaders import are_pictures, fresh, innermost, like
from .processes import Process
from .rebuilt_transforms import built
from .training_loop import Run, consume, nothing

_LONG = 1.0  # seconds for samples that are asked for twice
_LIFE = 0.05  # seconds of a process, of which something can be said


def take_apart(facts: Facts, seconds: float, starting: float) -> float:
    """Measures in forked children, and writes what was found into the facts.

    Args:
        starting: seconds that the start of the workers should take.

    Returns:
        How many processors other programs kept busy meanwhile.
    """
    loader, native, folder = facts.loader, facts.native, facts.folder
    outcome = apart(lambda: _flat_out(loader, native, folder, 0.6 * seconds), seconds + starting)
    others = outcome.watcher.others()
    if outcome.error:
        facts.error = outcome.error
        return others
    facts.flat, facts.stacks, facts.engine = outcome.value
    facts.main = outcome.watcher.main
    facts.read += outcome.watcher.read()
    facts.processes = [seen for seen in outcome.watcher.workers.values() if seen.life >= _LIFE]
    if isinstance(loader, DataLoader) and not facts.flat.empty:
        sampler = apart(
            lambda: (*_sampler(loader, 0.1 * seconds), _twice(loader.dataset), _built(loader.dataset)),
            seconds,
        )
        facts.order, facts.sampler, facts.twice, facts.built = sampler.value or (0.0, 0.0, (0.0, 0.0), [])
        error = sampler.error
        if facts.workers and not native and not error:
            transfer = apart(lambda: _transfer(loader, 0.2 * seconds), seconds)
            facts.transfer, error = transfer.value or (0.0, 0.0), transfer.error
        if error:
            facts.notes.append(f"the sampler and the transport could not be measured alone: {error}")
    return others


# -- in the child ------------------------------------------------------------------


def _flat_out(
    loader: Any, native: bool, folder: str, seconds: float
) -> tuple[Run, stacks.StackSamples, dict[str, float]]:
    """The loop without a step, what was seen of the stacks, and the times of the engine's stages."""
    source: Any = like(loader)
    if native:
        if are_pictures(source.dataset):
            # What the parent's engine has laid out tells nothing of its stages to the engine of this process.
            source = like(source, dataset=fresh(source.dataset))
        run = consume(source, nothing, seconds)
        return run, stacks.StackSamples(), _engine(source.stats(), run.size)
    stacks.made[:] = 0, 0
    if not isinstance(source, DataLoader):
        with stacks.Stacks(getattr(source, "dataset", None), whole=True) as looking:
            run = consume(source, nothing, seconds)
        looking.seen.batches = looking.seen.samples = run.batches  # each comes as a whole
        return run, looking.seen, {}
    source = like(source, collate_fn=stacks.Counted(source.collate_fn))
    if source.num_workers:
        run = consume(
            like(source, worker_init_fn=stacks.Started(source.worker_init_fn, folder)), nothing, seconds
        )
        time.sleep(1.5 * stacks.TELL)  # the last reports of workers that live
        return run, stacks.told(folder), {}
    with stacks.Stacks(source.dataset) as looking:
        run = consume(source, nothing, seconds)
    return run, looking.seen, {}


def _engine(counted: dict[str, Any], size: float) -> dict[str, float]:
    """Seconds a batch of the engine's stages, its threads side by side; draws are the loop's own."""
    made = max(counted["made"] / size, 1.0)
    stages = {name: spent / max(counted["threads"], 1) / made for name, spent in counted["stages"].items()}
    if not stages.keys() - {"read", "header"}:
        return {}  # no picture was measured in detail
    return {**stages, "draw": counted["draw_seconds"] / max(counted["batches"], 1)}


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


def _twice(dataset: Any) -> tuple[float, float]:
    """Seconds of a sample, and of the same one again when others were made since: the middle of some."""
    times: tuple[list[float], list[float]] = [], []
    with suppress(Exception):  # no samples by index; those that raise have done so before
        indices = range(0, len(dataset), max(len(dataset) // 31, 1))
        for spent in times:
            for index in indices:
                start = time.perf_counter()
                dataset[index]
                spent.append(time.perf_counter() - start)
                if sum(spent) > _LONG / 2:
                    break
            indices = indices[: len(spent)]
    first, again = (statistics.median(spent or [0.0]) for spent in times)
    return first, again


def _built(dataset: Any) -> list[str]:
    """Where a sample builds a Compose."""
    with suppress(Exception):
        return [made.place for made in built(innermost(dataset), 0)]
    return []


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
    worker, pid = Process(), source._workers[0].pid
    worker.look(pid)
    theirs, ours, end, count = worker.cpu, time.thread_time(), time.perf_counter() + seconds, 0
    while count < 8 or time.perf_counter() < end:
        next(source)
        count += 1
    worker.look(pid)
    return (worker.cpu - theirs) / count, (time.thread_time() - ours) / count

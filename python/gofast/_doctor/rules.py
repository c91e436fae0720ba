"""From figures to a verdict. Each rule is a function of the facts, and says what speaks for it."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from .._core.units import duration, size
from .anatomy import Anatomy
from .facts import Facts
from .verdicts import Finding, Verdict

BINDING = 0.10  # the share of the loop from which waiting is worth a change
_IDLE = 10  # a step that is so many times slower than the loader is the limit, whatever the loader does
_SCARCE = 0.08  # of the memory that may be used, free,
_ROOM = 8 << 30  # but so many bytes are enough
_SMALL = 16  # samples in a batch
SAMPLE = ("read", "decode", "transform", "own")  # the stages of a single sample

Try = Callable[[str], float | None]  # tries the remedy of that key, and gives the gain


def judge(facts: Facts, attempt: Try) -> Finding:
    """The verdict. Where only a trial can tell, `attempt` makes it."""
    if facts.run.empty:
        return Finding(Verdict.EMPTY)
    # What was measured before a hang or an error is no verdict: the loader does not get to its end.
    if facts.error or facts.anatomy is None or not facts.run.batches:
        return Finding(Verdict.FAILED)
    if facts.run.share < BINDING or _keeps_up(facts, facts.anatomy):
        return _fine(facts, facts.anatomy)
    for rule in (_low_memory, _worker_start, _threads, _too_many_workers, _straggler, _tiny_batches, _stage):
        found = rule(facts, facts.anatomy, attempt)
        if found is not None:
            return found
    return Finding(Verdict.UNCLEAR)


def _keeps_up(facts: Facts, anatomy: Anatomy) -> bool:
    """A loader that could make ten batches a step: the waits are threads that wake up, 0.1 ms each."""
    run = facts.run
    return run.share < 2 * BINDING and run.restarts < 0.5 and 0 < _IDLE * anatomy.interval < run.step


def _low_memory(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    memory = facts.memory
    if memory is None or memory.free >= min(_SCARCE * memory.limit, _ROOM):
        return None
    return Finding(
        Verdict.LOW_MEMORY,
        [f"{size(memory.free)} of {size(memory.limit)} are free (limit of the {memory.source})"],
    )


def _fine(facts: Facts, anatomy: Anatomy) -> Finding:
    own, step = anatomy.interval, facts.run.step
    said = [f"flat out, the loader makes a batch in {duration(own)}; a step takes {duration(step)}"]
    low = _low_memory(facts, anatomy, lambda key: None)
    slow = step > _IDLE * own and not facts.simulated
    said += low.evidence if low else []
    return Finding(Verdict.SLOW_STEP if slow else Verdict.HEALTHY, said, [Verdict.LOW_MEMORY] if low else [])


def _worker_start(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    first = statistics.fmean(facts.run.starts)
    # Drawing the order and making that batch take their time also where workers live on.
    starting = max(first - anatomy.order - anatomy.made, 0.0)
    share = facts.run.restarts * starting / max(first, 1e-9)
    # The drawing was timed without waits for a processor, and the start with them: a fifth is enough.
    if share < 0.5 or anatomy.order > 0.2 * first:
        return None
    anew = anatomy.workers and not anatomy.native and not getattr(facts.loader, "persistent_workers", False)
    return Finding(
        Verdict.WORKER_START if anew else Verdict.UNCLEAR,
        [f"epochs are short: {share:.0%} of the waiting is their starts, {duration(starting)} each"],
    )


def _threads(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    known = anatomy.processes
    threads = sum(seen.running for seen in known)
    if not known or threads < 2 * len(known) or threads <= 1.5 * facts.cores:
        return None
    gain = attempt("threads")
    if gain is None or gain < 1.1:
        return None
    return Finding(
        Verdict.OVERSUBSCRIBED_THREADS,
        [
            f"on average, {threads:.0f} threads of {len(known)} workers want to compute; there are "
            f"{facts.cores} processors",
            f"they waited {_waited(anatomy):.0%} of that time for a processor",
            f"with one thread in each worker, the loop runs {gain:.2f} times as fast",
        ],
    )


def _straggler(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    share, count, most = anatomy.stragglers()
    weights = facts.weights()
    samples = sum(weights.get(name, 0.0) for name in SAMPLE)
    if share < 0.4 or count > 0.2 or 2 * samples < sum(weights.values()):
        return None
    return Finding(
        Verdict.STRAGGLER,
        [
            f"{count:.1%} of the samples take {share:.0%} of the time of all",
            f"the slowest takes {most:.0f} times as long as the middle one",
        ],
    )


def _tiny_batches(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    weights = facts.weights()
    samples = sum(weights.get(name, 0.0) for name in SAMPLE)
    # Of what the stacks say, not of the interval: it has the waits of a busy machine in it.
    if facts.run.size > _SMALL or samples > 0.7 * sum(weights.values()):
        return None
    gain = attempt("batch_size")
    if gain is None or gain < 2:
        return None
    return Finding(
        Verdict.TINY_BATCHES,
        [
            f"a batch of {facts.run.size:.0f} takes {duration(anatomy.interval)}, its samples "
            f"{duration(samples)} of that",
            f"batches of eight times the size give {gain:.1f} times the samples a second",
        ],
    )


def _too_many_workers(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    if anatomy.native or anatomy.workers <= 2 * facts.cores:
        return None
    # By the kernel's own count: a hypervisor that takes the processor away looks like sleep to the clock.
    known = anatomy.processes
    running = sum(seen.running for seen in known)
    if running < max(1.5 * facts.cores, 0.4 * len(known)) or _waited(anatomy) < 0.4:
        return None  # those that sleep most of the time may be many
    # A trial cannot decide: among other programs, more workers get more of the processors, and look faster.
    gain = attempt("fewer_workers")
    own = sum(seen.pss or seen.rss for seen in anatomy.processes)
    return Finding(
        Verdict.TOO_MANY_WORKERS,
        [
            f"{anatomy.workers} workers share {facts.cores} processors",
            f"of the time in which they could have computed, they waited {_waited(anatomy):.0%} for one",
            f"the {anatomy.workers} take {size(own)} of memory",
            *([] if gain is None else [f"with {facts.cores}, the loop runs {gain:.2f} times as fast"]),
        ],
    )


def _waited(anatomy: Anatomy) -> float:
    """Of the time in which workers could have computed, the share in which they had no processor."""
    waited, ran = sum(s.delay for s in anatomy.processes), sum(s.cpu for s in anatomy.processes)
    return waited / max(waited + ran, 1e-9)


def _stage(facts: Facts, anatomy: Anatomy, attempt: Try) -> Finding | None:
    """The stage that takes most of a batch's time."""
    weights = facts.weights()
    parts = anatomy.parts()
    if anatomy.native or sum(weights.values()) <= 0:
        return _native(facts, anatomy)
    total = sum(weights.values())
    name = max(weights, key=lambda name: weights[name])
    share = weights[name] / total
    said = [f"{_NAMES[name]} takes {share:.0%} of a batch's {duration(total)}"]
    if anatomy.stacks.hot and name in ("own", "collate", "transform"):
        said.append(f"the line found most often: {anatomy.stacks.hot}")
    code = _CODES[name]
    if name == "own":
        fallen = facts.python_steps()
        blocked = parts["own"].blocked / max(parts["own"].busy, 1e-9)
        if blocked > 0.5:
            said.append(f"{blocked:.0%} of it is waiting, not computing: a lock, the network, a sleep")
        if facts.iterable:
            code = Verdict.GENERATOR_BOUND
        elif fallen:
            code = Verdict.SLOW_TRANSFORM
            said.append(f"gofast runs {fallen[0][0]} in Python: {fallen[0][1]}")
    elif name == "transform":
        step, seconds = next(iter(anatomy.steps().items()))
        said.insert(1, f"of the transform, {step} takes {seconds / max(parts['transform'].busy, 1e-9):.0%}")
    elif name == "read":
        said.insert(
            1, f"a sample waits {duration(parts['read'].blocked / max(facts.run.size, 1))} for its data"
        )
    elif name == "transfer":
        said.insert(
            1,
            f"a batch has {size(facts.run.largest)}; it takes a worker and the loop "
            f"{duration(sum(anatomy.transfer))} to hand it over",
        )
    also = [_CODES[other] for other in weights if other != name and weights[other] > 0.25 * total]
    return Finding(code, said, also)


def _native(facts: Facts, anatomy: Anatomy) -> Finding | None:
    """gofast's engine, or nothing that could be timed."""
    if not anatomy.native:
        return None
    said = ["gofast makes the batches"]
    if anatomy.main is not None:
        used = anatomy.main.cpu / max(anatomy.main.life, 1e-9)
        said[0] += f"; {used:.1f} of {facts.cores} processors were busy"
    grouped: dict[Verdict, float] = {}
    for name, seconds in anatomy.engine.items():
        code = _ENGINE.get(name, Verdict.SLOW_DATASET)
        grouped[code] = grouped.get(code, 0.0) + seconds
    total = sum(grouped.values())
    if total <= 0:
        return Finding(Verdict.SLOW_DECODE if facts.pictures else Verdict.SLOW_DATASET, said)
    code = max(grouped, key=lambda code: grouped[code])
    said.append(f"{_MADE[code]} takes {grouped[code] / total:.0%} of a batch's {duration(total)}")
    return Finding(
        code, said, [other for other in grouped if other is not code and grouped[other] > total / 4]
    )


_ENGINE = {  # the stages of gofast's engine, see DataLoader.stats
    "read": Verdict.SLOW_STORAGE,
    **dict.fromkeys(("header", "entropy", "inverse", "decode"), Verdict.SLOW_DECODE),
    **dict.fromkeys(("resize", "steps", "numbers", "draw"), Verdict.SLOW_TRANSFORM),
}
_MADE = {
    Verdict.SLOW_STORAGE: "reading files",
    Verdict.SLOW_DECODE: "decoding",
    Verdict.SLOW_TRANSFORM: "the transform",
    Verdict.SLOW_DATASET: "copying rows",
}
_NAMES = {
    "read": "waiting for data",
    "decode": "decoding",
    "transform": "the transform",
    "own": "the dataset's own code",
    "collate": "collate",
    "sampler": "the sampler",
    "transfer": "the way from worker to loop",
}
_CODES = {
    "read": Verdict.SLOW_STORAGE,
    "decode": Verdict.SLOW_DECODE,
    "transform": Verdict.SLOW_TRANSFORM,
    "own": Verdict.SLOW_DATASET,
    "collate": Verdict.HEAVY_COLLATE,
    "sampler": Verdict.SLOW_SAMPLER,
    "transfer": Verdict.HEAVY_PICKLING,
}

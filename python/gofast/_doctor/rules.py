"""From figures to a verdict. Each rule is a function of the facts, and says what speaks for its verdict."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

from .._core.units import duration, size
from .facts import Facts
from .loaders import are_pictures, is_iterable
from .verdicts import Finding, Verdict

_BINDING = 0.10  # waiting is worth a change if it takes this share of the loop
_IDLE = 10  # a step that is this many times slower than the loader is the limit, whatever the loader does
_SCARCE = 0.08  # memory is scarce if a smaller share of it is free,
_ROOM = 8 << 30  # and fewer bytes than these
_WORTH = 1.2  # spinning threads are named if a step is this many times faster without them
_SMALL = 16  # a batch of at most so many samples is small
_SAMPLE = ("read", "decode", "transform", "own")  # the stages of a single sample

Try = Callable[[str], float | None]  # tries the remedy of that key, and gives the gain


def judge(facts: Facts, attempt: Try) -> Finding:
    """The verdict. Where only a trial can tell, `attempt` makes it."""
    if facts.run.empty:
        return Finding(Verdict.EMPTY)
    # What was measured before a hang or an error is no verdict: the loader does not get to its end.
    if facts.error or facts.flat is None or not facts.run.batches:
        return Finding(Verdict.FAILED)
    if said := _spinning(facts):
        return Finding(Verdict.SPINNING_THREADS, said)
    if said := _python_step(facts):
        return Finding(Verdict.PYTHON_STEP, said)
    if facts.run.share < _BINDING or _keeps_up(facts, facts.flat.wait):
        return _fine(facts, facts.flat.wait)
    left, once = _once(facts)
    lost = facts.workers and not getattr(facts.loader, "persistent_workers", False)  # with the epoch
    if once and not lost and left < _BINDING * (left + facts.run.step):
        return Finding(Verdict.HEALTHY, once)
    for code, rule in _RULES.items():
        said = rule(facts, attempt)
        if said:
            return Finding(code, said)
    finding = _stage(facts)
    if stored := facts.from_storage():
        once.append(f"{size(stored)} a batch came from storage; later epochs may find it in memory")
    return replace(finding, evidence=[*finding.evidence, *once])


def _keeps_up(facts: Facts, interval: float) -> bool:
    """A loader that could make ten batches a step: the waits are threads that wake up, 0.1 ms each."""
    run = facts.run
    return run.share < 2 * _BINDING and run.restarts < 0.5 and 0 < _IDLE * interval < run.step


def _fine(facts: Facts, interval: float) -> Finding:
    step = facts.run.step
    low = _low_memory(facts)
    slow = step > _IDLE * interval and not facts.simulated
    said = f"flat out, the loader makes a batch in {duration(interval)}; a step takes {duration(step)}"
    return Finding(
        Verdict.SLOW_STEP if slow else Verdict.HEALTHY, [said, *low], [Verdict.LOW_MEMORY] if low else []
    )


# -- causes that lie behind the stages: what speaks for them, or nothing -----------


def _low_memory(facts: Facts, attempt: Try | None = None) -> list[str]:
    memory = facts.memory
    if memory is None or memory.free >= min(_SCARCE * memory.limit, _ROOM):
        return []
    return [f"{size(memory.free)} of {size(memory.limit)} are free (limit of the {memory.source})"]


def _spinning(facts: Facts) -> list[str]:
    known = facts.threads
    if known is None or not known.spin or known.gain(facts.run.wait) < _WORTH:
        return []
    return [
        f"with {known.count} threads of torch's a step takes {duration(known.step)}, with one "
        f"{duration(known.alone)}",
        f"it computes for {duration(known.cpu)} then, and for {duration(known.alone_cpu)} with one: the "
        "work is the same, the rest is waiting for a thread that has no processor",
    ]


def _python_step(facts: Facts) -> list[str]:
    seen = facts.python
    if seen.share < 0.5 or seen.share * facts.run.step < facts.run.wait:
        return []
    return [
        f"in {seen.share:.0%} of {seen.all} looks at the step, Python itself was at work, and no library",
        f"the line found most often: {seen.hot}",
    ]


def _worker_start(facts: Facts, attempt: Try) -> list[str]:
    again = facts.workers and not facts.native and not getattr(facts.loader, "persistent_workers", False)
    return _short_epochs(facts, attempt) if again else []


def _short_epochs(facts: Facts, attempt: Try) -> list[str]:
    first = statistics.fmean(facts.run.starts)
    # Drawing the order and making that batch take their time also where workers live on.
    made = sum(took for took, _ in facts.parts().values())
    starting = max(first - facts.order - made, 0.0)
    share = facts.run.restarts * starting / max(first, 1e-9)
    # The drawing was timed without waits for a processor, and the start with them: a fifth is enough.
    if share < 0.5 or facts.order > 0.2 * first:
        return []
    return [f"epochs are short: {share:.0%} of the waiting is their starts, {duration(starting)} each"]


def _threads(facts: Facts, attempt: Try) -> list[str]:
    known, threads = len(facts.processes), sum(seen.running for seen in facts.processes)
    if not known or threads < 1.5 * known or threads <= 1.25 * facts.cores:
        return []
    gain = attempt("threads")
    if gain is None or gain < 1.1:
        return []
    return [
        f"on average, {threads:.0f} threads of {known} workers want to compute; there are "
        f"{facts.cores} processors",
        f"they waited {_waited(facts):.0%} of that time for a processor",
        f"with one thread in each worker, the loop runs {gain:.2f} times as fast",
    ]


def _too_many_workers(facts: Facts, attempt: Try) -> list[str]:
    if facts.native or facts.workers <= 2 * facts.cores:
        return []
    # By the kernel's own count: a hypervisor that takes the processor away looks like sleep to the clock.
    running = sum(seen.running for seen in facts.processes)
    if running < max(1.5 * facts.cores, 0.4 * len(facts.processes)) or _waited(facts) < 0.4:
        return []  # those that sleep most of the time may be many
    # A trial cannot decide: among other programs, more workers get more of the processors, and look faster.
    gain = attempt("fewer_workers")
    own = sum(seen.pss or seen.rss for seen in facts.processes)
    return [
        f"{facts.workers} workers share {facts.cores} processors",
        f"of the time in which they could have computed, they waited {_waited(facts):.0%} for one",
        f"the {facts.workers} take {size(own)} of memory",
        *([] if gain is None else [f"with {facts.cores}, the loop runs {gain:.2f} times as fast"]),
    ]


def _waited(facts: Facts) -> float:
    """The share of the time in which workers could have computed and had no processor."""
    waited, ran = sum(seen.delay for seen in facts.processes), sum(seen.cpu for seen in facts.processes)
    return waited / max(waited + ran, 1e-9)


def _samples(facts: Facts) -> tuple[float, float]:
    """Seconds a batch that its samples take, and all stages."""
    weights = facts.weights()
    return sum(weights.get(name, 0.0) for name in _SAMPLE), sum(weights.values())


def _straggler(facts: Facts, attempt: Try) -> list[str]:
    share, count, most = facts.stragglers()
    samples, total = _samples(facts)
    if share < 0.4 or count > 0.2 or 2 * samples < total:
        return []
    return [
        f"{count:.1%} of the samples take {share:.0%} of the time of all",
        f"the slowest takes {most:.0f} times as long as the middle one",
        *([f"slow ones are samples {facts.slowest()}"] if facts.slowest() else []),
    ]


def _tiny_batches(facts: Facts, attempt: Try) -> list[str]:
    samples, total = _samples(facts)
    # A share of what the stacks say, not of the interval: that has the waits of a busy machine in it.
    if facts.run.size > _SMALL or samples > 0.7 * total or facts.flat is None:
        return []
    gain = attempt("batch_size")
    if gain is None or gain < 2:
        return []
    return [
        f"a batch of {facts.run.size:.0f} takes {duration(facts.flat.wait)}, its samples "
        f"{duration(samples)} of that",
        f"batches of eight times the size give {gain:.1f} times the samples a second",
    ]


_RULES: dict[Verdict, Callable[[Facts, Try], list[str]]] = {  # earlier ones win
    Verdict.LOW_MEMORY: _low_memory,
    Verdict.WORKER_START: _worker_start,
    Verdict.UNCLEAR: _short_epochs,  # where workers live on, or there are none
    Verdict.OVERSUBSCRIBED_THREADS: _threads,
    Verdict.TOO_MANY_WORKERS: _too_many_workers,
    Verdict.STRAGGLER: _straggler,
    Verdict.TINY_BATCHES: _tiny_batches,
}


def _once(facts: Facts) -> tuple[float, list[str]]:
    """Waits that are there at first only: how long the loop will wait later, and what speaks for it."""
    assert facts.flat is not None
    first, again = facts.twice
    if facts.run.settled:
        left, said = facts.run.settled, f"later epochs wait {duration(facts.run.settled)} for a batch"
    elif not facts.from_storage() and first * facts.run.size > 0.3 * facts.flat.wait and again < 0.1 * first:
        left = facts.flat.wait * again / first
        said = f"a sample takes {duration(first)}, and {duration(again)} when it is asked for again"
    elif not facts.native and facts.flat.wait < 0.2 * facts.run.wait and not facts.workers:
        left, said = facts.flat.wait, f"looked at once more, a batch takes {duration(facts.flat.wait)} only"
    else:
        return 0.0, []
    return left, [f"{said}: something is made or read once, such as a cache that the first epoch fills"]


# -- the stage that takes most of a batch's time -----------------------------------

_STAGES = {
    "read": (Verdict.SLOW_STORAGE, "waiting for data"),
    "decode": (Verdict.SLOW_DECODE, "decoding"),
    "transform": (Verdict.SLOW_TRANSFORM, "the transform"),
    "own": (Verdict.SLOW_DATASET, "the dataset's own code"),
    "collate": (Verdict.HEAVY_COLLATE, "collate"),
    "sampler": (Verdict.SLOW_SAMPLER, "the sampler"),
    "transfer": (Verdict.HEAVY_PICKLING, "the way from worker to loop"),
    "rows": (Verdict.SLOW_DATASET, "copying rows"),
}
_ENGINE = {  # the stages of gofast's engine, see DataLoader.stats; all others copy rows
    "read": "read",
    **dict.fromkeys(("header", "entropy", "inverse", "decode"), "decode"),
    **dict.fromkeys(("resize", "steps", "numbers", "draw"), "transform"),
}


def _stage(facts: Facts) -> Finding:
    weights, said = facts.weights(), list[str]()
    if facts.native:
        weights, said = _of_the_engine(facts)
    total = sum(weights.values())
    if total <= 0:
        pictures = are_pictures(getattr(facts.loader, "dataset", None))
        most = Verdict.SLOW_DECODE if pictures else Verdict.SLOW_DATASET
        return Finding(most if facts.native else Verdict.UNCLEAR, said)
    name = max(weights, key=lambda name: weights[name])
    code, words = _STAGES[name]
    also = [_STAGES[other][0] for other in weights if other != name and weights[other] > 0.25 * total]
    said.append(f"{words} takes {weights[name] / total:.0%} of a batch's {duration(total)}")
    if facts.native:
        return Finding(code, said, also)
    if facts.built:
        said.append(f"{facts.built[0]} builds a Compose for every sample: build it once, in __init__")
    took, blocked = facts.parts().get(name, (0.0, 0.0))
    if name == "transform":
        shares = ((step, seconds / max(took, 1e-9)) for step, seconds in facts.steps().items())
        longest = [f"{step} {share:.0%}" for step, share in shares if share >= 0.1]
        said.append(f"of the transform's time: {', '.join(longest[:3])}")
    elif name == "read":
        said.append(f"a sample waits {duration(blocked / max(facts.run.size, 1))} for its data")
    elif name == "transfer":
        said.append(
            f"a batch has {size(facts.run.largest)}; it takes a worker and the loop "
            f"{duration(sum(facts.transfer))} to hand it over"
        )
    if name in ("own", "decode") and blocked > 0.5 * took and facts.from_storage():
        code = Verdict.SLOW_STORAGE
    if facts.stacks.hot and name in ("own", "collate", "transform"):
        said.append(f"the line found most often: {facts.stacks.hot}")
    if name == "own":
        fallen = facts.python_steps()
        if blocked > 0.5 * took:
            said.append(f"{blocked / took:.0%} of it is waiting, not computing: a lock, the network, a sleep")
        if is_iterable(facts.loader):
            code = Verdict.GENERATOR_BOUND
        elif fallen:
            code = Verdict.SLOW_TRANSFORM
            said.append(f"gofast runs {fallen[0][0]} in Python: {fallen[0][1]}")
    return Finding(code, said, also)


def _of_the_engine(facts: Facts) -> tuple[dict[str, float], list[str]]:
    said = "gofast makes the batches"
    if facts.main is not None:
        used = facts.main.cpu / max(facts.main.life, 1e-9)
        said += f"; {used:.1f} of {facts.cores} processors were busy"
    grouped: dict[str, float] = {}
    for name, seconds in facts.engine.items():
        stage = _ENGINE.get(name, "rows")
        grouped[stage] = grouped.get(stage, 0.0) + seconds
    return grouped, [said]

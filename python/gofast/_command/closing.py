"""The last words of `python -m gofast`: whose the loops' time was, and what there is most to gain from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .._core import reason
from .._core.units import duration

_TOLD = 1.0  # seconds: nothing is said of loops that took less
_SOME = 0.05  # a share of the waits: others' code that took less is not what was waited for
_LITTLE = 0.1  # a share of the loops' time: where waiting took less, something else is slow


class Ran(NamedTuple):
    """What was measured of a script.

    Attributes:
        loops, waited: seconds that its loops over loaders took, and how long these waited for batches.
        samples, pictures: seconds of processor time that others' code took for samples, in all processes, and
            how many of these went into pictures.
        costs: seconds of processor time of each step that ran in Python, within a transform that is known.
        where: the lines of the script that make samples, if they are known.
        kept: pictures are kept already, by ``cache=``.
        composes: a Compose made some of them natively: of those, a cache may keep something.
    """

    loops: float = 0.0
    waited: float = 0.0
    samples: float = 0.0
    pictures: float = 0.0
    costs: Mapping[str, float] = {}
    where: str = ""
    kept: bool = False
    composes: bool = True


def verdict(ran: Ran) -> str:
    """One line; empty where nothing took long."""
    if ran.loops < _TOLD:
        return ""
    share = min(ran.waited / ran.loops, 1.0)
    begin = f"batches were waited for {share:.0%} of the {duration(ran.loops)} that loops took"
    if share < _LITTLE:
        return f"{begin}: the rest is your own steps, and faster data would gain no more than that"
    cache = "" if ran.kept else "; most to gain: python -m gofast --cache memory"
    if ran.samples < _SOME * ran.waited:
        return f"{begin}, all of it native" + cache
    step, took = max(ran.costs.items(), key=lambda cost: cost[1], default=("", 0.0))
    pictures = min(ran.pictures, ran.samples)
    transforms = min(sum(ran.costs.values()), ran.samples - pictures)
    rest = ran.samples - pictures - transforms
    parts = [(pictures, "pictures"), (transforms, "steps of transforms in Python"), (rest, "your Python")]
    told = ", ".join(f"{part / ran.samples:.0%} {what}" for part, what in parts if part > 0)
    most = max(parts)[1]
    if most == "pictures":
        gain = cache * ran.composes
    elif most == "your Python":
        gain = f"; most to gain: {ran.where}" * bool(ran.where)
    else:
        gain = f"; most to gain: {step} ({duration(took)})"
    return f"{begin}; the samples' {duration(ran.samples)} are {told}{gain}"


def costliest(verdict: str, took: Mapping[str, float], spent: Mapping[str, float]) -> str:
    """The step in Python that took longest, unless the verdict names it; empty where none took long.

    Args:
        took, spent: seconds of each step, by the clock and of processor time, in which the verdict counts.
    """
    for step, seconds in reason.most(took)[:1]:
        if not verdict:
            return f"{step} ({duration(seconds)})"
        if step not in verdict:
            own = duration(spent.get(step, 0.0))
            return f"{step} ({own} of processor time, {duration(seconds)} by the clock)"
    return ""

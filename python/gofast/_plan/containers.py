"""Native steps of what calls some of its transforms: RandomApply, RandomChoice and RandomOrder."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import torch

from .._core.reason import NotNative
from . import values as read
from .state import State, Step, Translation
from .transforms import MOST_NESTED, Family, leaves, name, sequence

Translate = Callable[[object, State], tuple[list[Step], State]]

_MOST_MEMBERS = 64  # step.h's GF_MOST_MEMBERS
_TOO_DEEP = f"more than {MOST_NESTED} lie in one another"


def _random_apply(translate: Translate, t: Any, family: Family, state: State) -> list[Step]:
    members = _members(t)
    p = read.number(t.p, 0, 1, "p")
    inner = _begin(state)
    steps, behind = _steps(translate, members, inner)
    _meet(state, [inner, behind])
    return [{"op": "random_apply", "p": p, "steps": steps, "version": family}]


def _random_choice(translate: Translate, t: Any, family: Family, state: State) -> list[Step]:
    members = _few(t)
    chances = (_sums if family == "v1" else _chances)(t.p, len(members))
    inner = _begin(state, python=family == "v1")
    made, ends = [], []
    for member in members:
        steps, behind = _steps(translate, [member], inner)
        inner = dataclasses.replace(inner, erased=behind.erased)  # the core adds up all that may be erased
        made.append(steps)
        ends.append(behind)
    _meet(state, ends)
    state.erased = inner.erased
    return [{"op": "random_choice", "numbers": chances, "members": made, "version": family}]


def _random_order(translate: Translate, t: Any, family: Family, state: State) -> list[Step]:
    members = _few(t)
    inner = _begin(state, python=family == "v1")
    while True:
        translated = [_steps(translate, [member], inner) for member in members]
        ends = [end for _, end in translated]
        # Each member may find what any of the others left.
        found = dataclasses.replace(
            inner,
            size=inner.size if all(end.size == inner.size for end in ends) else None,
            loose=any(end.loose for end in ends),
            shared=any(end.shared for end in ends),
        )
        if found == inner:
            break
        inner = found
    if any(end.erased != inner.erased for end in ends):
        raise NotNative("erases in an order that is drawn")
    _meet(state, [inner, *ends])
    return [{"op": "random_order", "members": [steps for steps, _ in translated], "version": family}]


def _members(t: Any) -> list[object]:
    members = sequence(t.transforms)
    if members is None:
        raise NotNative("its transforms are not a plain list")
    return members


def _few(t: Any) -> list[object]:
    members = _members(t)
    if not 0 < len(members) <= _MOST_MEMBERS:
        raise NotNative(f"draws from {len(members)} transforms, not 1 to {_MOST_MEMBERS}")
    return members


def _begin(state: State, python: bool = False) -> State:
    """What a member is given, where something was drawn."""
    if state.within == MOST_NESTED:
        raise NotNative(_TOO_DEEP)
    if python and not _shuffles():
        raise NotNative("this Python draws in a way that gofast does not know")
    state.draw()
    state.python |= python
    return dataclasses.replace(state, within=state.within + 1)


def _steps(translate: Translate, transforms: list[object], state: State) -> tuple[list[Step], State]:
    steps: list[Step] = []
    for leaf in (leaf for transform in transforms for leaf in leaves(transform)):
        try:
            made, state = translate(leaf, state)
        except NotNative as reason:
            said = str(reason)
            raise NotNative(said if said == _TOO_DEEP else f"{name(leaf)} in it: {said}") from None
        steps += made
    return steps, state


def _meet(state: State, ends: list[State]) -> None:
    """Makes of a state what is known where one of the ends was reached."""
    if any(end.normalized != state.normalized for end in ends):
        raise NotNative("it normalizes some samples only")
    if any(_form(end) != _form(state) for end in ends):
        raise NotNative("it decides what the sample becomes")
    sizes = {end.size for end in ends}
    state.size = sizes.pop() if len(sizes) == 1 else None
    state.needs_size = any(end.needs_size for end in ends)
    state.erased = max(end.erased for end in ends)
    state.loose = any(end.loose for end in ends)
    state.shared |= any(end.shared for end in ends)
    state.python = any(end.python for end in ends)


def _form(state: State) -> tuple[object, ...]:
    return state.kind, state.dtype, state.channels, state.strides, state.cut


def _chances(p: Any, count: int) -> list[float]:
    """The float32 of each chance, which torch.multinomial takes."""
    if type(p) is not list or not all(type(chance) is float for chance in p):
        raise read.unusual("p", p)
    chances: list[float] = torch.tensor(p, dtype=torch.float32, device="cpu").tolist()
    usual = all(0 <= chance <= 1 for chance in chances) and sum(chances) > 0
    if len(p) != count or not usual:
        raise read.unusual("p", p)
    if not _chooses():
        raise NotNative("this torch chooses in a way that gofast does not know")
    return chances


def _sums(p: Any, count: int) -> list[float]:
    """The weights, summed up as random.choices does it."""
    weights = [1] * count if p is None else p
    if type(weights) not in (list, tuple) or not all(type(weight) in (int, float) for weight in weights):
        raise read.unusual("p", p)
    sums = list(itertools.accumulate(weights))
    usual = len(sums) == count and all(0 <= weight <= read.WIDEST for weight in weights) and sums[-1] > 0
    if not usual:
        raise read.unusual("p", p)
    return [float(each) for each in sums]


@functools.cache
def _shuffles() -> bool:
    """Whether Python's choices and shuffle draw as the core does: in any version, they draw as in 3.10."""
    drawn, plain = random.Random(1), random.Random(1)
    if drawn.getstate()[0] != 3 or len(drawn.getstate()[1]) != 625:
        return False
    for _ in range(32):
        chosen = bisect.bisect([1, 3, 3.5], plain.random() * 3.5, 0, 2)
        order, shuffled = list(range(6)), list(range(6))
        drawn_one = drawn.choices(range(3), weights=[1, 2, 0.5])
        drawn.shuffle(shuffled)
        for i in range(5, 0, -1):
            z = 6
            while z > i:
                z = plain.getrandbits((i + 1).bit_length())
            order[i], order[z] = order[z], order[i]
        if drawn_one != [chosen] or shuffled != order:
            return False
        if drawn.choices(range(5)) != [int(plain.random() * 5)]:
            return False
    return drawn.getstate() == plain.getstate()


@functools.cache
def _chooses() -> bool:
    """Whether torch chooses by doubles that it draws one by one. Older ones let MKL draw them."""
    chances = torch.tensor([0.3, 0.1, 0.4, 0.2], device="cpu")
    drawn, uniform = (torch.Generator(device="cpu").manual_seed(1) for _ in range(2))
    for _ in range(32):
        chosen = int(torch.multinomial(chances, 1, generator=drawn))
        numbers = torch.empty(4, dtype=torch.float64, device="cpu").uniform_(generator=uniform).tolist()
        parts = chances / torch.tensor([-math.log1p(-u) for u in numbers], dtype=torch.float32, device="cpu")
        if chosen != int(parts.argmax()):
            return False
    return torch.equal(drawn.get_state(), uniform.get_state())


def native(translate: Translate) -> dict[str, Translation]:
    """The table's lines of the containers."""
    return {
        "RandomApply": Translation(functools.partial(_random_apply, translate), ("transforms", "p")),
        "RandomChoice": Translation(functools.partial(_random_choice, translate), ("transforms", "p")),
        "RandomOrder": Translation(functools.partial(_random_order, translate), ("transforms",)),
    }

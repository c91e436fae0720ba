"""Descriptions in JSON that somebody else may have written: one value of a good one is odd."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any


def forged(told: Any, dice: random.Random, odd: Sequence[Any]) -> Any:
    """A copy in which one value, at any depth, is an odd one."""
    made = copy.deepcopy(told)
    inside: Any = made
    while True:
        key = dice.choice([*inside] if isinstance(inside, dict) else [*range(len(inside))])
        if isinstance(inside[key], (dict, list)) and inside[key] and dice.random() < 0.7:
            inside = inside[key]
            continue
        inside[key] = dice.choice(odd)
        return made

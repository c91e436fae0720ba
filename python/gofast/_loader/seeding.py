"""Whether a worker_init_fn does nothing but seed: then this process can call it, in each worker's turn."""

from __future__ import annotations

import argparse
import functools
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from .._core.reason import NotNative
from .worker_copies import used_by

# All that the function may name: modules, functions of theirs, builtin functions, attributes, imports.
_KNOWN: tuple[Any, ...] = (random, np, np.random, torch, torch.random, torch.utils, torch.utils.data)
_KNOWN += (torch.initial_seed, random.seed, np.random.seed, np.random.get_state, get_worker_info)
_BUILTINS = {"int", "abs"}
_ATTRIBUTES = {"initial_seed", "seed", "random", "get_state", "utils", "data", "get_worker_info"}
_ATTRIBUTES |= {"id", "num_workers"}  # of a WorkerInfo
_IMPORTS = {"random", "numpy", "numpy.random", "torch", "torch.utils.data"}
_NUMBERS = (int, float, str, type(None))


def seeder(function: Any) -> Callable[[int], Any] | None:
    """What this process calls in a worker's turn instead of a worker_init_fn; None: that does more than seed.

    transformers' own also seeds the generators of each accelerator, which are a worker's there and this
    process's here.
    """
    inner, keywords = (function.func, function.keywords) if type(function) is functools.partial else (0, {})
    transformers = sys.modules.get("transformers.trainer_utils")
    if transformers is not None and inner is transformers.seed_worker and not function.args:
        return functools.partial(_as_transformers, **keywords)
    return function if only_seeds(function) else None


def _as_transformers(worker_id: int, num_workers: int, rank: int) -> None:
    seed = num_workers * rank + torch.initial_seed() % 2**32
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)


def only_seeds(function: Any) -> bool:
    """Whether all that a function names is what seeds Python's, numpy's and torch's generators."""
    if function is None:
        return True
    if isinstance(function, functools.partial):
        given = (*function.args, *function.keywords.values())
        return all(isinstance(value, _NUMBERS) for value in given) and only_seeds(function.func)
    if not isinstance(function, types.FunctionType):
        return False
    try:
        used = used_by(function.__code__)
        outer = [cell.cell_contents for cell in function.__closure__ or ()]
    except (NotNative, ValueError):  # a cell may be empty
        return False
    outer += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    outer += [v for n, v in function.__globals__.items() if n in used["globals"]]
    allowed, known = set(_ATTRIBUTES), _KNOWN
    if not _accelerated():  # torch.manual_seed would seed its generators too, which are this process's
        allowed, known = allowed | {"manual_seed"}, (*known, torch.manual_seed)
    for value in outer:
        if isinstance(value, argparse.Namespace):
            allowed.update(n for n, v in vars(value).items() if isinstance(v, _NUMBERS))
        elif not isinstance(value, _NUMBERS) and not any(value is one for one in known):
            return False
    return (
        not used["assigned"]
        and not used["written"]
        and used["imports"] <= _IMPORTS
        and used["attributes"] <= allowed
        and used["globals"] - function.__globals__.keys() <= _BUILTINS
    )


def _accelerated() -> bool:
    """Whether there is an accelerator, whose generators torch.manual_seed seeds."""
    if hasattr(torch, "accelerator"):
        return bool(torch.accelerator.is_available())
    return torch.cuda.is_available() or torch.backends.mps.is_available()

"""v2's transforms take each sample apart and put it together again: in 3 us, where torch takes 18.

That is of dicts, lists and tuples, for a picture and its target. Nests of other types are torch's.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree

from .._lazy.patches import Own, Patches

_NODES = _pytree.SUPPORTED_NODES  # their types; named tuples are among them, too


class FlatSample(NamedTuple):
    """How a sample was nested.

    Attributes:
        nest: a container's type, its keys, and its parts; None of a leaf.
        leaves: how many there were.
    """

    nest: Any
    leaves: int


class _Other(Exception):
    """A nest of another type."""


def _taken_apart(tree: Any, leaves: list[Any]) -> Any:
    kind = type(tree)
    if kind is dict:
        return dict, [*tree], [_taken_apart(part, leaves) for part in tree.values()]
    if kind is list or kind is tuple:
        return kind, None, [_taken_apart(part, leaves) for part in tree]
    if issubclass(kind, tuple) or kind in _NODES:
        raise _Other
    leaves.append(tree)
    return None


def _put_together(nest: Any, leaves: Iterator[Any]) -> Any:
    if nest is None:
        return next(leaves)
    kind, keys, parts = nest
    made = [_put_together(part, leaves) for part in parts]
    return dict(zip(keys, made, strict=True)) if kind is dict else kind(made)


def _flattening(own: Own) -> Own:
    @functools.wraps(own)
    def tree_flatten(tree: Any, *more: Any, **named: Any) -> Any:
        if more or named or torch.compiler.is_compiling():
            return own(tree, *more, **named)
        leaves: list[Any] = []
        try:
            nest = _taken_apart(tree, leaves)
        except _Other:
            return own(tree)
        return leaves, FlatSample(nest, len(leaves))

    return tree_flatten


def _unflattening(own: Own) -> Own:
    @functools.wraps(own)
    def tree_unflatten(leaves: Any, treespec: Any) -> Any:
        if type(treespec) is not FlatSample:
            return own(leaves, treespec)
        if len(leaves) != treespec.leaves:
            raise ValueError(f"{len(leaves)} leaves of a sample that has {treespec.leaves}")
        return _put_together(treespec.nest, iter(leaves))

    return tree_unflatten


_V2 = "torchvision.transforms.v2"
places = Patches(
    {
        f"{_V2}.{module}:{name}:torch.utils._pytree": maker
        for module, (name, maker) in itertools.product(
            ("_transform", "_misc", "_augment", "_auto_augment"),
            (("tree_flatten", _flattening), ("tree_unflatten", _unflattening)),
        )
    }
)

"""How samples are taken apart for v2's transforms, beside how torch does it."""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest
import torch
from torch.utils import _pytree
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import _transform

from gofast._images import flat_samples
from same import difference

pytestmark = pytest.mark.usefixtures("follows")
FOLLOWED = flat_samples.places
Pair = namedtuple("Pair", "first second")


class Words(list[str]):
    """No list to torch."""


class Own:
    """Somebody registers it."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


def leaf(dice: random.Random) -> Any:
    return dice.choice(
        [1, None, "text", torch.arange(3), tv_tensors.Image(torch.zeros(3, 4, 5)), Words("ab"), Own]
    )


def nest(dice: random.Random, depth: int = 0) -> Any:
    if depth == 4 or dice.random() < 0.3:
        return leaf(dice)
    parts = [nest(dice, depth + 1) for _ in range(dice.randrange(4))]
    named = dict(zip(dice.sample(["z", "a", 3, None], len(parts)), parts, strict=True))
    kinds = [lambda: parts, lambda: tuple(parts), lambda: named] * 4
    kinds += [
        lambda: OrderedDict(named),
        lambda: defaultdict(list, named),
        lambda: Pair(1, parts),
        lambda: Own(*parts),
    ]
    return dice.choice(kinds)()


def shown(tree: Any) -> Any:
    """Its types and keys, in their order, and each leaf's identity."""
    if isinstance(tree, dict):
        return type(tree), [(key, shown(part)) for key, part in tree.items()]
    if isinstance(tree, (list, tuple)) and not isinstance(tree, Words):
        return type(tree), [*map(shown, tree)]
    return (Own, [*map(shown, tree.parts)]) if type(tree) is Own else id(tree)


def test_any_nest() -> None:
    _pytree.register_pytree_node(Own, lambda own: ([*own.parts], None), lambda parts, _: Own(*parts))
    try:
        ours = 0
        for seed in range(2_000):
            tree = nest(random.Random(seed))
            leaves, spec = _transform.tree_flatten(tree)
            expected, theirs = _pytree.tree_flatten(tree)
            assert [*map(id, leaves)] == [*map(id, expected)]
            again = _transform.tree_unflatten(leaves, spec)
            assert shown(again) == shown(_pytree.tree_unflatten(expected, theirs)) == shown(tree)
            assert again is not tree or tree == () or theirs.is_leaf()
            ours += type(spec) is flat_samples.FlatSample
        assert 500 < ours < 2_000
        with pytest.raises(ValueError, match="leaves"):
            _transform.tree_unflatten([1, 2], _transform.tree_flatten([1])[1])
    finally:
        _pytree._deregister_pytree_node(Own)


def test_transforms_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = {"image": tv_tensors.Image(torch.rand(3, 9, 8)), "more": [torch.arange(2), ("text", None)]}
    chain = v2.Compose(
        [v2.RandomHorizontalFlip(1.0), v2.Resize(5), v2.RandomVerticalFlip(0.0), v2.ToPureTensor()]
    )
    flat_samples.places.leave()
    expected = chain(sample)
    flat_samples.places.follow()
    monkeypatch.setattr(_pytree, "tree_unflatten", None)
    monkeypatch.setattr(_pytree.TreeSpec, "unflatten", None)
    assert not difference(chain(sample), expected)

"""timm's training transform: rand-m9-mstd0.5-inc1 and random erasing."""

from __future__ import annotations

from typing import Any

from timm.data import auto_augment, create_transform

from benchmarks.peers.recipes.contract import Recipe, folders


def posterize(image: Any, bits: int, **_: Any) -> Any:
    """timm's, which asks for 0 bits at its strongest; Pillow 13 refuses that."""
    return auto_augment.posterize(image, max(bits, 1))


auto_augment.NAME_TO_OP["PosterizeIncreasing"] = posterize


def transform() -> Any:
    """As timm's training script makes it."""
    made: Any = create_transform(
        224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25, re_mode="pixel"
    )
    return made


RECIPES = {"timm": Recipe(folders(transform, "timm"), 1_000)}

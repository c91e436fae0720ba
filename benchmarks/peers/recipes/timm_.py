"""timm's training transform: rand-m9-mstd0.5-inc1 and random erasing."""

from __future__ import annotations

from typing import Any

import torchvision
from timm.data import auto_augment, create_transform

from benchmarks.peers.recipes.contract import Recipe, sides


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


def ours(folder: str) -> Any:
    """gofast's folder."""
    import gofast

    return gofast.ImageFolder(folder, transform())


RECIPES = {
    "timm": Recipe(
        sides(lambda folder: torchvision.datasets.ImageFolder(folder, transform()), ours, "timm"), 1_000
    )
}

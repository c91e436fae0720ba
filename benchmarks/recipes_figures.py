"""What the recipes have to reach: issue 12's table, on sections whose values are seconds a picture."""

from __future__ import annotations

from benchmarks.figures import Ratio
from benchmarks.peers.recipes.contract import THEIR_WORKERS, workers

OWN = f"gofast.DataLoader, {workers(2)}"
PLAIN = f"gofast, torch's DataLoader, {workers(2)}"


def _best(recipe: str, least: float, aim: float, who: str = "torchvision", ours: str = OWN) -> Ratio:
    return Ratio(recipe, recipe, tuple(f"{who}, {workers(n)}" for n in THEIR_WORKERS), least, aim, ours=ours)


RATIOS = (
    _best("basic", 3.5, 4.5),
    _best("reference", 3.5, 4.5),
    _best("reference mixup", 3.5, 4.5),
    Ratio("mixup and cutmix, of the speed without", "reference mixup", (OWN,), 0.9, 0.97, "reference", OWN),
    _best("randaugment", 3.5, 4.5),
    _best("autoaugment", 3.5, 4.5),
    _best("augmix", 3, 5),
    _best("simclr", 7, 10),
    _best("preset", 3.5, 4.5),
    _best("rotation affine", 3, 5),
    _best("ten crops", 3, 5),
    _best("dino", 5, 8),
    Ratio("timm, 2 workers", "timm", (f"timm, {workers(2)}",), 1.8, 3, ours=PLAIN),
    Ratio("custom dataset, 2 workers", "custom dataset", (f"Image.open, {workers(2)}",), 2, 2.8, ours=PLAIN),
    _best("script", 3.5, 4.3, "python", f"python -m gofast, {workers(2)}"),
    _best("parquet bytes", 2, 3, "datasets", PLAIN),
)

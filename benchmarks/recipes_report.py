"""What the recipes have to reach, their text and page table; report.py has what all benchmarks share."""

from __future__ import annotations

from typing import Any

from benchmarks import report
from benchmarks.figures import Ratio
from benchmarks.peers.recipes.contract import THEIR_WORKERS, workers
from benchmarks.report import Stored

PACKAGES = ("torch", "torchvision", "pillow", "timm", "datasets")
WHAT = {
    "basic": "RandomResizedCrop, flip, ToTensor, Normalize",
    "reference": "torchvision's reference: 176, TrivialAugmentWide, RandomErasing(0.1)",
    "reference mixup": "the same, mixup or cutmix in a collate_fn",
    "randaugment": "RandAugment(2, 9), RandomErasing",
    "autoaugment": "AutoAugment",
    "augmix": "AugMix",
    "simclr": "SimCLR: jitter 0.8, grey, blur 23",
    "preset": "ResNet50_Weights.DEFAULT.transforms()",
    "rotation affine": "RandomRotation, RandomAffine (bilinear)",
    "ten crops": "Resize, TenCrop, Lambda(stack)",
    "dino": "DINO's class: two large crops, eight small ones",
    "custom dataset": "a Dataset of one's own, with gofast.open",
    "script": "an unmodified script under python -m gofast",
    "timm": "timm: rand-m9-mstd0.5-inc1, erasing",
    "parquet bytes": "Hugging Face datasets over bytes, with gofast.Decoder",
}


OWN = f"gofast.DataLoader, {workers(2)}"
PLAIN = f"gofast, torch's DataLoader, {workers(2)}"


def _best(recipe: str, least: float, aim: float, who: str = "torchvision", ours: str = OWN) -> Ratio:
    return Ratio(recipe, recipe, tuple(f"{who}, {workers(n)}" for n in THEIR_WORKERS), least, aim, ours=ours)


PROMISED = (
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


def amount(_: str, value: float) -> str:
    """Pictures a second."""
    return f"{1 / value:,.0f} img/s"


def remarks(stored: Stored) -> list[str]:
    """What runs in Python, and what could not be measured."""
    steps = [f"{where}: {step}" for where, steps in stored["in Python"].items() for step in steps]
    return [*steps, *(f"not measured: {what}: {reason}" for what, reason in stored["missing"].items())]


def best(sides: dict[str, Any], ours: bool) -> tuple[str, float] | None:
    """The fastest side, with gofast or without, and its seconds a picture."""
    found = {name: side["median"] for name, side in sides.items() if ("gofast" in name) == ours}
    return min(found.items(), key=lambda item: item[1]) if found else None


def what(stored: Stored) -> str:
    """The data."""
    return report.pictures(stored["data"])


def table(stored: Stored) -> list[str]:
    """The page's lines: a recipe a line."""
    lines = [
        "| recipe | without gofast, at its best | with gofast, at its best | times faster |",
        "|---|---|---|---|",
    ]
    for recipe, about in WHAT.items():
        sides = stored["sections"].get(recipe, {})
        theirs, ours = best(sides, False), best(sides, True)
        if theirs is None or ours is None:
            reasons = [why for name, why in stored["missing"].items() if f"{name},".startswith(f"{recipe},")]
            lines += [f"| {about} | | not measured: {why} | |" for why in reasons[:1]]
            continue
        cells = [f"{amount('', seconds)} ({name})" for name, seconds in (theirs, ours)]
        lines.append(f"| {about} | {cells[0]} | {cells[1]} | {theirs[1] / ours[1]:.1f} |")
    return [
        *lines,
        "",
        "Both sides' first batches were equal. The roof of the first line is the bare C pipeline in the "
        "pictures' table; the others have none of their own.",
    ]


RECIPES = report.Benchmark("recipes", amount, table, what, PACKAGES, PROMISED, remarks)

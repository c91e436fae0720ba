"""The recipes' JSON, text and README table; report.py has what all benchmarks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import figures, report
from benchmarks.recipes_figures import RATIOS
from benchmarks.report import Stored

if TYPE_CHECKING:
    from benchmarks.images_data import Folder

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


def result(
    measured: figures.Measured,
    folder: Folder,
    python: dict[str, list[str]],
    missing: dict[str, str],
    rounds: int,
    neighbours: float,
) -> Stored:
    """Everything that the JSON holds."""
    about = {"name": folder.name, "pictures": folder.pictures, "bytes a picture": folder.bytes}
    return {
        **report.frame(PACKAGES, about, rounds, neighbours),
        "unit": "seconds a picture",
        "sections": report.sections(measured),
        "in Python": python,
        "missing": missing,
        "figures": figures.table(measured, {}, RATIOS, ()),
    }


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
    """README's lines: a recipe a line."""
    lines = [
        "| recipe | without gofast, at its best | with gofast, at its best | times faster |",
        "|---|---|---|---|",
    ]
    for recipe, about in WHAT.items():
        sides = stored["sections"].get(recipe, {})
        theirs, ours = best(sides, False), best(sides, True)
        if theirs is None or ours is None:
            reason = stored["missing"].get(recipe)
            lines += [f"| {about} | | not measured: {reason} | |"] if reason else []
            continue
        cells = [f"{amount('', seconds)} ({name})" for name, seconds in (theirs, ours)]
        lines.append(f"| {about} | {cells[0]} | {cells[1]} | {theirs[1] / ours[1]:.1f} |")
    return [
        *lines,
        "",
        "Both sides' first batches were equal. The roof of the first line is the bare C pipeline in the "
        "pictures' table; the others have none of their own.",
    ]


RECIPES = report.Benchmark("recipes", amount, table, what, remarks)

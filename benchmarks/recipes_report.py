"""The recipes' JSON, text and README table; report.py has what all benchmarks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import figures, report
from benchmarks.images_data import Folder
from benchmarks.recipes_figures import RATIOS

RECIPES = "recipes"
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
) -> dict[str, Any]:
    """Everything that the JSON holds."""
    about = {"name": folder.name, "pictures": folder.pictures, "bytes a picture": folder.bytes}
    return {
        **report.frame(PACKAGES, about, rounds, neighbours),
        "benchmark": RECIPES,
        "unit": "seconds a picture",
        "sections": report.sections(measured),
        "in Python": python,
        "missing": missing,
        "figures": figures.table(measured, {}, RATIOS, ()),
    }


def amount(_: str, value: float) -> str:
    """Pictures a second."""
    return f"{1 / value:,.0f} img/s"


def text(stored: dict[str, Any]) -> str:
    """Every median, the figures, what runs in Python, and what could not be measured."""
    lines = [report.text(stored, amount), ""]
    for where, steps in stored["in Python"].items():
        lines += [f"{where}: {step}" for step in steps]
    lines += [f"not measured: {what}: {reason}" for what, reason in stored["missing"].items()]
    return "\n".join(lines)


def best(sides: dict[str, Any], ours: bool) -> tuple[str, float] | None:
    """The fastest side, with gofast or without, and its seconds a picture."""
    found = {name: side["median"] for name, side in sides.items() if ("gofast" in name) == ours}
    return min(found.items(), key=lambda item: item[1]) if found else None


def readme_table(stored: dict[str, Any], source: str) -> str:
    """README's table, in Markdown: a recipe a line."""
    machine, about = stored["machine"], stored["data"]
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in stored["versions"].items())
    lines = [
        f"{about['pictures']} photographs, {about['name']} ({about['bytes a picture'] / 1e3:.0f} kB on "
        f"average), {machine['processor']}, {machine['cores']} cores; medians of {stored['rounds']} "
        "interleaved rounds. Both sides' first batches were equal.",
        "",
        "| recipe | without gofast, at its best | with gofast, at its best | times faster |",
        "|---|---|---|---|",
    ]
    for recipe, what in WHAT.items():
        sides = stored["sections"].get(recipe, {})
        theirs, ours = best(sides, False), best(sides, True)
        if theirs is None or ours is None:
            reason = stored["missing"].get(recipe)
            lines += [f"| {what} | | not measured: {reason} | |"] if reason else []
            continue
        cells = [f"{amount('', seconds)} ({name})" for name, seconds in (theirs, ours)]
        lines.append(f"| {what} | {cells[0]} | {cells[1]} | {theirs[1] / ours[1]:.1f} |")
    lines += [
        "",
        f"Versions: {versions}. Made by `make bench-recipes` at {stored['commit']} ({stored['date']}), "
        f"all values in `benchmarks/results/{source}`.",
    ]
    return "\n".join(lines)


def publish(stored: dict[str, Any], path: Path) -> None:
    """Writes README's table."""
    report.write_readme(readme_table(stored, path.name), report.README, RECIPES)

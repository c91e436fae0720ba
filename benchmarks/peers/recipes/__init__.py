"""What people train with, one line of the benchmark each: see contract.py."""

from __future__ import annotations

import importlib

from benchmarks.peers.recipes.contract import Recipe

# Name on the command line and in the tables -> module of this package that has it in RECIPES. Modules are
# imported in the measuring process only; where that fails the recipe is reported as not measured.
MODULES = {
    "basic": "torchvision_",
    "reference": "torchvision_",
    "reference mixup": "torchvision_",
    "randaugment": "torchvision_",
    "autoaugment": "torchvision_",
    "augmix": "torchvision_",
    "simclr": "torchvision_",
    "preset": "torchvision_",
    "rotation affine": "torchvision_",
    "ten crops": "torchvision_",
    "dino": "own_code",
    "custom dataset": "own_code",
    "script": "scripts",
    "timm": "timm_",
    "parquet bytes": "datasets_",
}


def recipe(name: str) -> Recipe:
    """The recipe called name; imports its module."""
    found = importlib.import_module(f"benchmarks.peers.recipes.{MODULES[name]}").RECIPES[name]
    assert isinstance(found, Recipe)
    return found

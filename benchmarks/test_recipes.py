"""The recipes' benchmark: its figures name sides that exist, and a difference is noticed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks import recipes_report, report
from benchmarks.peers import recipes
from benchmarks.recipes_child import different

BATCH = [[torch.zeros(2, 3), torch.ones(2, 3)], torch.tensor([1, 2])]


def test_ratios_name_sides_that_exist() -> None:
    assert recipes_report.WHAT.keys() == recipes.MODULES.keys()
    for ratio in recipes_report.RATIOS:
        if recipes.MODULES[ratio.section] in ("timm_", "datasets_"):
            continue  # stand beside the development environment
        sides = recipes.recipe(ratio.section).sides
        assert {ratio.ours, *ratio.against} <= sides.keys(), ratio.what
        assert all((side.reference is None) == ("gofast" not in name) for name, side in sides.items())


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ([[torch.zeros(2, 3), torch.ones(2, 3)], torch.tensor([1, 2])], ""),
        ([[torch.zeros(2, 3), torch.zeros(2, 3)], torch.tensor([1, 2])], "6 of 6 values"),
        ([[torch.zeros(2, 3), torch.ones(2, 3)], torch.tensor([1.0, 2])], "float32"),
        ([[torch.zeros(2, 3)], torch.tensor([1, 2])], "1 parts instead of 2"),
        ([(torch.zeros(2, 3), torch.ones(2, 3)), torch.tensor([1, 2])], "tuple instead of list"),
    ],
)
def test_a_difference_is_noticed(batch: Any, said: str) -> None:
    found = different(batch, BATCH)
    assert said in found if said else not found


def test_the_table_says_what_is_missing() -> None:
    sides = {
        "torchvision, 0 workers": 0.004,
        "torchvision, 2 workers": 0.002,
        "gofast.DataLoader, 2 workers": 0.0005,
    }
    stored = {
        "machine": {"processor": "one", "cores": 2},
        "data": {"name": "some", "pictures": 5, "bytes a picture": 1e5},
        "versions": {"torch": "2.15.0+cpu"},
        "rounds": 3,
        "commit": "abc",
        "date": "today",
        "sections": {"basic": {name: {"median": value} for name, value in sides.items()}},
        "missing": {"timm": "No module named 'timm'"},
    }
    lines = report.readme_block(stored, recipes_report.RECIPES, "r.json").splitlines()
    (basic,) = [line for line in lines if line.startswith("| RandomResizedCrop")]
    assert basic.endswith(
        "500 img/s (torchvision, 2 workers) | 2,000 img/s (gofast.DataLoader, 2 workers) | 4.0 |"
    )
    assert any("not measured: No module named 'timm'" in line for line in lines)

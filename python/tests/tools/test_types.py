"""What mypy, in strict mode, knows of samples and batches in a user's script."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

import gofast

SCRIPT = """
from typing import Any, Literal

import gofast
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, Dataset, Subset
from typing import NamedTuple
from typing_extensions import assert_type

unknown: Any = None
options: dict[str, Any] = {}
Pairs = tuple[Tensor, ...]


class Named(NamedTuple):
    image: Tensor
    label: Tensor


def turned(image: Tensor) -> Tensor:
    return image


def counted(rows: list[Any]) -> tuple[Tensor, int]:
    return rows[0], len(rows)


def samples(form: Literal["dict", "tuple"]) -> None:
    assert_type(gofast.TableDataset("x")[0], dict[str, Tensor])
    assert_type(gofast.TableDataset("x", label="y", output="dict")[[1, 2]], dict[str, Tensor])
    assert_type(gofast.TableDataset("x", output="tuple")[0], Pairs)
    assert_type(gofast.TableDataset("x", output="tuple")[:3], Any)  # a list
    assert_type(gofast.TableDataset("x", output=form)[0], Any)
    assert_type(gofast.TableDataset("x", output=unknown)[0], Any)
    assert_type(gofast.TableDataset("x", **options)[0], Any)
    assert_type(gofast.TableDataset("x", text="title")[0], Any)
    assert_type(gofast.TableDataset("x", text={"title": unknown})[0], Any)
    assert_type(gofast.TableDataset("x", text=unknown)[0], Any)
    assert_type(gofast.TableDataset("x", transform=turned)[0], Any)
    assert_type(gofast.TableDataset("x", transform=torch.nn.ReLU())[0], Any)
    assert_type(gofast.TableDataset("x", transform=unknown)[0], Any)
    assert_type(gofast.TableDataset("x", target_transform=lambda label: label * 2)[0], Any)
    assert_type(gofast.ArrayDataset(torch.ones(3))[0], Pairs)
    assert_type(gofast.ArrayDataset(torch.ones(3), output="dict")[0], dict[str, Tensor])
    assert_type(gofast.ArrayDataset.from_hdf5("x", "y")[0], Pairs)
    assert_type(gofast.ArrayDataset.open("x")[0], Any)


def batches(
    train: gofast.TableDataset,
    loader: gofast.DataLoader,
    dicts: Dataset[dict[str, Tensor]],
    named: Dataset[Named],
    pairs: Dataset[tuple[Any, Tensor]],
    anything: Dataset[dict[str, Any]],
) -> None:
    table = gofast.TableDataset("x")
    assert_type(next(iter(gofast.DataLoader(table, batch_size=3, shuffle=True))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(table, 3, collate_fn=None))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(gofast.ArrayDataset(torch.ones(3))))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(gofast.tokens.TokenDataset("x", 3)))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(gofast.TableDataset("x", text="title")))), Any)
    assert_type(next(iter(gofast.DataLoader(gofast.ImageFolder("x")))), Any)
    assert_type(next(iter(gofast.DataLoader(table, collate_fn=counted))), tuple[Tensor, int])
    assert_type(next(iter(gofast.DataLoader(table, collate_fn=lambda rows: len(rows)))), int)
    assert_type(next(iter(gofast.DataLoader(table, collate_fn=unknown))), Any)
    assert_type(next(iter(gofast.DataLoader(table, **options))), Any)
    assert_type(next(iter(gofast.DataLoader(Subset(table, [1])))), Any)
    assert_type(next(iter(gofast.DataLoader(dicts))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(named))), Any)  # a Named, and no list
    assert_type(next(iter(gofast.DataLoader(pairs))), Any)
    assert_type(next(iter(gofast.DataLoader(anything))), Any)
    assert_type(next(iter(gofast.DataLoader(train))), Any)
    assert_type(next(iter(loader)), Any)
    with gofast.DataLoader(table) as begun:
        assert_type(next(iter(begun)), dict[str, Tensor])


class Mine(gofast.TableDataset):
    def __init__(self) -> None:
        super().__init__("x", output="tuple", transform=turned)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return super().__getitem__(index)[0], index


class Loader(gofast.DataLoader):
    def __init__(self, dataset: Dataset[Any]) -> None:
        super().__init__(dataset, collate_fn=counted)


assert_type(next(iter(gofast.DataLoader(Mine()))), Any)
assert_type(next(iter(Loader(Mine()))), Any)
batches(gofast.TableDataset("x", output="tuple"), gofast.DataLoader(Mine(), collate_fn=counted), *unknown)
theirs: torch.utils.data.DataLoader[Any] = gofast.DataLoader(Mine())
gofast.TableDataset("x", lable="y")  # type: ignore[call-arg]
gofast.TableDataset("x", output="list")  # type: ignore[type-var]
gofast.DataLoader(3)  # type: ignore[arg-type]
"""


def test_types_of_samples_and_batches_in_a_strict_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "mypy", "--config-file", root / "pyproject.toml", script]
    told = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def test_batches_have_those_types() -> None:
    features, labels = np.zeros((6, 3), np.float32), np.arange(6)
    for batch_size in (2, None):
        dicts = gofast.ArrayDataset(features, labels, output="dict")
        batch = next(iter(gofast.DataLoader(dicts, batch_size)))
        assert type(batch) is dict and {type(value) for value in batch.values()} == {torch.Tensor}
        row = gofast.ArrayDataset(features, labels)
        assert type(row[0]) is tuple and {type(value) for value in row[0]} == {torch.Tensor}
        pair = next(iter(gofast.DataLoader(row, batch_size)))
        assert type(pair) is list and {type(value) for value in pair} == {torch.Tensor}


def test_at_run_time_a_loader_has_torchs_one_parameter() -> None:
    class Loader(gofast.DataLoader[int]):
        pass

    assert gofast.DataLoader[int].__args__ == (int,)
    assert gofast.DataLoader[int, None].__args__ == (int,)
    assert issubclass(Loader, torch.utils.data.DataLoader)

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
from gofast.typing import TableStream
from torch import Tensor
from torch.utils.data import ConcatDataset, Dataset, Subset, random_split
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


def to_tensor(image: object) -> Tensor:
    return torch.ones(3)


def root(label: int) -> float:
    return label / 2


def crops(image: object) -> tuple[Tensor, Tensor]:
    return torch.ones(3), torch.ones(3)


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
    triples: Dataset[tuple[Tensor, Any, Tensor]],
    anything: Dataset[dict[str, Any]],
) -> None:
    table = gofast.TableDataset("x")
    assert_type(next(iter(gofast.DataLoader(table, batch_size=3, shuffle=True))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(table, 3, collate_fn=None))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(gofast.ArrayDataset(torch.ones(3))))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(gofast.tokens.TokenDataset("x", 3)))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(gofast.TableDataset("x", text="title")))), Any)
    assert_type(next(iter(gofast.DataLoader(table, collate_fn=counted))), tuple[Tensor, int])
    assert_type(next(iter(gofast.DataLoader(table, collate_fn=lambda rows: len(rows)))), int)
    assert_type(next(iter(gofast.DataLoader(table, collate_fn=unknown))), Any)
    assert_type(next(iter(gofast.DataLoader(table, **options))), Any)
    assert_type(next(iter(gofast.DataLoader(dicts))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(named))), Any)  # a Named, and no list
    assert_type(next(iter(gofast.DataLoader(pairs))), Any)
    assert_type(next(iter(gofast.DataLoader(triples))), Any)
    assert_type(next(iter(gofast.DataLoader(anything))), Any)
    assert_type(next(iter(gofast.DataLoader(train))), Any)
    assert_type(next(iter(loader)), Any)
    with gofast.DataLoader(table) as begun:
        assert_type(next(iter(begun)), dict[str, Tensor])
    for batch in gofast.DataLoader(table):
        assert_type(batch, dict[str, Tensor])
    for _, batch in enumerate(gofast.DataLoader(table)):
        assert_type(batch, dict[str, Tensor])
    assert_type(list(gofast.DataLoader(gofast.ImageFolder("x", to_tensor))), list[list[Tensor]])


def batches_of_pictures(form: Literal["dict", "tuple"], folder: gofast.ImageFolder) -> None:
    pairs = gofast.ImageFolder("x", to_tensor)
    assert_type(next(iter(gofast.DataLoader(pairs, 4, device="cuda"))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(pairs, collate_fn=counted))), tuple[Tensor, int])
    dicts = gofast.ImageFolder("x", to_tensor, output="dict", return_path=False)
    assert_type(next(iter(gofast.DataLoader(dicts))), dict[str, Tensor])
    squares = gofast.ImageFolder("x", to_tensor, root, return_index=True)
    assert_type(next(iter(gofast.DataLoader(squares))), list[Tensor])
    doubles = gofast.ImageFolder("x", to_tensor, lambda label: label * 2)
    assert_type(next(iter(gofast.DataLoader(doubles))), list[Any])
    # What a transform makes may be unknown, or several pictures; a path is text.
    for one in (gofast.ImageFolder("x"), gofast.ImageFolder("x", unknown), gofast.ImageFolder("x", crops)):
        assert_type(next(iter(gofast.DataLoader(one))), list[Any])
    named = gofast.ImageFolder("x", to_tensor, str)
    assert_type(next(iter(gofast.DataLoader(named))), list[Any])
    assert_type(next(iter(gofast.DataLoader(gofast.ImageFolder("x", to_tensor, unknown)))), list[Any])
    paths = gofast.ImageFolder("x", to_tensor, return_path=True)
    assert_type(next(iter(gofast.DataLoader(paths))), list[Any])
    views = gofast.ImageFolder("x", crops, output="dict")
    assert_type(next(iter(gofast.DataLoader(views))), dict[str, Any])
    views_of = gofast.ImageFolder("x", unknown, output="dict")
    assert_type(next(iter(gofast.DataLoader(views_of))), dict[str, Any])
    assert_type(next(iter(gofast.DataLoader(gofast.ImageFolder("x", to_tensor, output=form)))), Any)
    assert_type(next(iter(gofast.DataLoader(gofast.ImageFolder("x", to_tensor, output=unknown)))), Any)
    assert_type(next(iter(gofast.DataLoader(gofast.ImageFolder("x", **options)))), Any)
    assert_type(next(iter(gofast.DataLoader(folder))), Any)
    assert_type(next(iter(gofast.DataLoader(MyFolder("x", to_tensor)))), Any)
    assert_type(next(iter(gofast.DataLoader(gofast.ImageFiles("x")))), Any)  # without labels no list


def batches_of_streams(form: Literal["dict", "tuple"], stream: TableStream) -> None:
    from_table, from_hdf5 = gofast.IterableDataset.from_table, gofast.IterableDataset.from_hdf5
    assert_type(next(iter(gofast.DataLoader(from_table("x")))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(from_table("x", output="tuple"), 4))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(from_table("x", output=form)))), Any)
    assert_type(next(iter(gofast.DataLoader(from_table("x", transform=turned)))), Any)
    assert_type(next(iter(gofast.DataLoader(from_table("x"), collate_fn=counted))), tuple[Tensor, int])
    assert_type(next(iter(gofast.DataLoader(from_hdf5("x", "y")))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(from_hdf5("x", "y", output="dict")))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(stream))), Any)
    assert_type(next(iter(gofast.DataLoader(gofast.IterableDataset([b""])))), Any)


def batches_of_parts(part: Subset[Any], theirs: Subset[dict[str, Tensor]]) -> None:
    table = gofast.TableDataset("x")
    assert_type(next(iter(gofast.DataLoader(Subset(table, [1])))), dict[str, Tensor])
    assert_type(next(iter(gofast.DataLoader(Subset(Subset(table, [1]), [0])))), dict[str, Tensor])
    for half in random_split(gofast.ArrayDataset(torch.ones(3)), [1, 2]):
        assert_type(next(iter(gofast.DataLoader(half))), list[Tensor])
    train, test = random_split(gofast.ImageFolder("x", to_tensor), [0.9, 0.1])
    assert_type(next(iter(gofast.DataLoader(train))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(test, collate_fn=counted))), tuple[Tensor, int])
    tokens = gofast.tokens.TokenDataset("x", 3)
    assert_type(next(iter(gofast.DataLoader(Subset(tokens, [0])))), list[Tensor])
    assert_type(next(iter(gofast.DataLoader(Subset(gofast.TableDataset("x", text="y"), [1])))), Any)
    assert_type(next(iter(gofast.DataLoader(Subset(gofast.TableDataset("x", transform=turned), [1])))), Any)
    assert_type(next(iter(gofast.DataLoader(Subset(Mine(), [1])))), Any)
    assert_type(next(iter(gofast.DataLoader(ConcatDataset([table, table])))), Any)
    assert_type(next(iter(gofast.DataLoader(part))), Any)
    assert_type(next(iter(gofast.DataLoader(theirs))), Any)


def whatever(dicts: Dataset[dict[str, Tensor]], pairs: Dataset[tuple[Tensor, int]]) -> None: ...


def annotated() -> None:  # a dataset of ours fits any annotation of torch's, as Dataset[Any] does
    whatever(gofast.TableDataset("x"), gofast.ArrayDataset(torch.ones(3)))
    whatever(Subset(gofast.TableDataset("x"), [1]), gofast.ImageFolder("x", to_tensor))
    whatever(gofast.IterableDataset.from_table("x"), gofast.tokens.TokenDataset("x", 3))
    name, label = gofast.ImageFolder("x", to_tensor)[0]
    assert_type(label, Any)


class Mine(gofast.TableDataset):
    def __init__(self) -> None:
        super().__init__("x", output="tuple", transform=turned)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return super().__getitem__(index)[0], index


class MyFolder(gofast.ImageFolder):
    def __getitem__(self, index: int) -> tuple[Any, int, str]:
        return (*super().__getitem__(index), "name")


class Loader(gofast.DataLoader):
    def __init__(self, dataset: Dataset[Any]) -> None:
        super().__init__(dataset, collate_fn=counted)


assert_type(next(iter(gofast.DataLoader(Mine()))), Any)
assert_type(next(iter(Loader(Mine()))), Any)
batches(gofast.TableDataset("x", output="tuple"), gofast.DataLoader(Mine(), collate_fn=counted), *unknown)
theirs: torch.utils.data.DataLoader[Any] = gofast.DataLoader(Mine())
gofast.TableDataset("x", lable="y")  # type: ignore[call-arg]
gofast.TableDataset("x", output="list")  # type: ignore[type-var]
gofast.DataLoader(3)  # type: ignore[type-var]
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

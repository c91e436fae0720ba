"""The line that the doctor tells to write, on naive datasets: with equal batches, or the reason why not."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
import torchvision
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset
from torchvision import transforms as T
from torchvision.io import read_image

import gofast
from gofast._doctor import opened_files
from gofast._doctor.differences import difference
from gofast._doctor.facts import Facts
from gofast._doctor.replacement import Replacement
from gofast._doctor.stacks import StackSamples

N = 40
STILL = T.Compose([T.Resize(24), T.CenterCrop(24), T.ToTensor()])
DRAWN = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """digits (28 x 28 as columns), flowers (an id, words, holes), and photos in class folders."""
    folder = tmp_path_factory.mktemp("home")
    draw = np.random.default_rng(0)
    digits = pd.DataFrame(draw.integers(0, 256, (N, 784)), columns=[f"pixel{i}" for i in range(784)])
    digits.insert(0, "label", draw.integers(0, 10, N))
    digits.to_csv(folder / "digits.csv", index=False)
    digits.to_parquet(folder / "digits.parquet")
    flowers = pd.DataFrame(
        {
            "id": range(N),
            "a": draw.random(N),
            "name": list("xy") * (N // 2),
            "b": draw.random(N),
            "kind": draw.integers(0, 3, N),
        }
    )
    flowers.loc[draw.integers(0, N, 5), "b"] = np.nan
    flowers.to_csv(folder / "flowers.csv", index=False)
    for at in range(N):
        (folder / "photos" / "ab"[at % 2]).mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(draw.integers(0, 256, (5, 6, 3), np.uint8)).resize((60, 50))
        picture.save(folder / f"photos/{'ab'[at % 2]}/{at:02}.jpg")
    return folder


class Rows(Dataset[Any]):
    """A table that was read somehow, and a sample of row i of it."""

    def __init__(self, table: Any, sample: Callable[[Any, int], Any], **kept: Any) -> None:
        self.table, self.sample = table, sample
        self.__dict__.update(kept)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Any:
        return self.sample(self.table, index)


def digit(table: Any, index: int) -> Any:
    row = table.iloc[index]
    return torch.tensor(row.drop("label").values.astype("float32") / 255).view(1, 28, 28), int(row["label"])


def normal(table: Any, index: int) -> Any:
    x, y = digit(table, index)
    return T.Normalize((0.1307,), (0.3081,))(x), y


def flower(table: Any, index: int) -> Any:
    row = table.iloc[index]
    return {"x": torch.tensor([row.a, row.b], dtype=torch.float32), "y": int(row.kind)}


def loops(path: Path) -> list[list[str]]:
    with open(path) as file:
        return [*csv.reader(file)][1:]


TABLES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "read_csv and iloc": (
        lambda f: Rows(pd.read_csv(f / "digits.csv"), digit),
        '"digits.csv", shape=(1, 28, 28), output="tuple"',
    ),
    "loadtxt, flat": (
        lambda f: Rows(
            np.loadtxt(f / "digits.csv", delimiter=",", skiprows=1, dtype=np.float32),
            lambda t, i: (torch.from_numpy(t[i, 1:]), int(t[i, 0])),
        ),
        '"digits.csv", output="tuple"',
    ),
    "csv loops, scaled": (
        lambda f: Rows(
            loops(f / "digits.csv"),
            lambda t, i: (torch.tensor([float(v) for v in t[i][1:]]) / 255, int(t[i][0])),
        ),
        '"digits.csv", scale="unit", output="tuple"',
    ),
    "read_parquet and iloc": (  # pyarrow opens it by itself
        lambda f: Rows(pd.read_parquet(f / "digits.parquet"), digit, path=f / "digits.parquet"),
        '"digits.parquet", shape=(1, 28, 28), output="tuple"',
    ),
    "normalised": (
        lambda f: Rows(pd.read_csv(f / "digits.csv"), normal),
        '"digits.csv", mean=0.1307, std=0.3081, shape=(1, 28, 28), output="tuple"',
    ),
    "some columns, holes, a dict": (
        lambda f: Rows(pd.read_csv(f / "flowers.csv").fillna(0.0), flower),
        '"flowers.csv", label="kind", fill_value=0.0, exclude=["name", "id"], keys=("x", "y")',
    ),
    "a part of them": (
        lambda f: Subset(Rows(pd.read_csv(f / "digits.csv"), digit), range(0, N, 2)),
        '"digits.csv", shape=(1, 28, 28), output="tuple"',
    ),
}


def planned(loader: Any, decoding: float = 0.0) -> Replacement:
    seen = StackSamples(batches=1, samples=4, stages={"decode": (decoding, 0.0)})
    found = Facts(loader, 0, False, 2, None, True, stacks=seen, comparing=20.0).plan
    assert found is not None
    return found


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setattr(opened_files, "by_script", {})
    make, options = TABLES[name]
    with opened_files.noted(opened_files.by_script):
        dataset = make(Path())
    loader = DataLoader(dataset, 8, shuffle=True)
    found = planned(loader)
    assert found.fits, found.said
    assert "samples were compared, and are equal" in found.said
    assert f"gofast.TableDataset({options})" in found.code
    names = {"loader": loader}
    exec(found.code, names)
    assert type(names["loader"]) is gofast.DataLoader
    assert len(names["loader"].dataset) == len(dataset)


class Lazy(Dataset[Any]):
    """An HDF5 file, opened where samples are made."""

    def __init__(self, path: str, x: str, y: str | None, transform: Any, named: bool) -> None:
        self.path, self.x, self.y, self.transform, self.named = path, x, y, transform, named
        self.file: Any = None

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> Any:
        if self.file is None:
            self.file = h5py.File(self.path)
        x = self.file[self.x][index]
        x = torch.from_numpy(x) if self.transform is None else self.transform(x)
        y = () if self.y is None else (self.file[self.y][index],)
        return dict(zip("ab", (x, *y), strict=True)) if self.named else (x, *y)


@pytest.mark.parametrize(
    ("x", "y", "transform", "words"),
    [
        ("small", "y", None, '"digits.h5", "small", "y")'),
        ("x", "y", T.ToTensor(), '"digits.h5", "x", "y", transform=transform)'),
        ("x", None, T.ToTensor(), '"digits.h5", "x", transform=transform)'),
        ("small", "y", None, '"digits.h5", "small", "y", output="dict", keys=("a", "b"))'),
    ],
)
def test_hdf5(
    x: str, y: str | None, transform: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    with h5py.File("digits.h5", "w") as file:
        file.create_dataset("x", data=draw.integers(0, 256, (N, 9, 8, 3), np.uint8), compression="gzip")
        file["small"], file["y"] = draw.random((N, 3)), draw.integers(0, 10, N)
        file["other"], file["short"] = draw.integers(0, 10, N), np.zeros(3)
    found = planned(DataLoader(Lazy("digits.h5", x, y, transform, "keys" in words), 8, shuffle=True))
    assert found.fits, found.said
    words = words.replace("=transform", "=loader.dataset.transform")
    assert f"\ndataset = gofast.ArrayDataset.from_hdf5({words}\n" in found.code


def small(folder: Path, name: str, **columns: Any) -> str:
    """A table of 400 rows, which a few samples do not show."""
    path = folder / f"{name}.csv"
    pd.DataFrame(columns).to_csv(path, index=False, header=name != "bare")
    return str(path)


COUNT = 400
DRAW = np.random.default_rng(1)
SMALL: dict[str, tuple[dict[str, Any], Callable[[Any, int], Any], str | None]] = {
    "numbered": (  # sorted by class: the first batches have one alone
        {"x": DRAW.random(COUNT), "kind": ["ant"] * 150 + ["bee"] * 150 + ["cat"] * 100},
        lambda t, i: (
            torch.tensor([t.x[i]], dtype=torch.float32),
            {"ant": 0, "cat": 1, "bee": 2}[t.kind[i]],
        ),
        'classes=["ant", "cat", "bee"], label="kind"',
    ),
    "numbered as words sort": (
        {"x": DRAW.random(COUNT), "kind": ["ant"] * 150 + ["bee"] * 250},
        lambda t, i: (torch.tensor([t.x[i]], dtype=torch.float32), ["ant", "bee"].index(t.kind[i])),
        'csv", label="kind"',
    ),
    "tiny": (
        {"p": 1e-6 * DRAW.random(COUNT), "q": 1e-6 * DRAW.random(COUNT), "label": DRAW.integers(0, 2, COUNT)},
        lambda t, i: (torch.tensor([t.q[i], -t.p[i]], dtype=torch.float32), int(t.label[i])),
        None,
    ),
    "tiny, one of two": (
        {"p": 1e-6 * DRAW.random(COUNT), "q": 1e-6 * DRAW.random(COUNT), "label": DRAW.integers(0, 2, COUNT)},
        lambda t, i: (torch.tensor([t.q[i]], dtype=torch.float32), int(t.label[i])),
        'exclude=["p"]',
    ),
    "kept NaN": (
        {
            "a": np.where(np.arange(COUNT) % 5, DRAW.random(COUNT), np.nan),
            "label": DRAW.integers(0, 2, COUNT),
        },
        lambda t, i: (torch.tensor([t.a[i]], dtype=torch.float32), int(t.label[i])),
        'fill_value=float("nan")',
    ),
    "nearly the same labels": (
        {
            "x": DRAW.random(COUNT),
            "one": np.arange(COUNT) % 2,
            "two": (np.arange(COUNT) % 2) ^ (np.arange(COUNT) == 203),
        },
        lambda t, i: (torch.tensor([t.x[i]], dtype=torch.float32), int(t.one[i])),
        None,
    ),
    "bare": (
        {str(at): DRAW.permutation(COUNT) for at in range(4)},
        lambda t, i: (torch.tensor(t.iloc[i].values[:-1], dtype=torch.float32), int(t.iloc[i, -1])),
        'header=False, label="3"',
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_labels_and_numbers_that_few_samples_do_not_show(name: str, tmp_path: Path) -> None:
    columns, sample, options = SMALL[name]
    path = small(tmp_path, name, **columns)
    found = planned(DataLoader(Rows(pd.DataFrame(columns), sample, path=path), 8))
    assert found.fits == (options is not None), found.said
    assert options is None or options in found.code
    if options is not None:
        names: dict[str, Any] = {}
        exec(found.runs.splitlines()[0], {"gofast": gofast}, names)
        assert [int(y) for _, y in names["dataset"]] == [
            sample(pd.DataFrame(columns), at)[1] for at in range(COUNT)
        ]


def test_differences() -> None:
    one = torch.rand(8, 3) * torch.tensor([1.0, 1e-6, 1e3])
    assert difference(one, one * (1 + 3e-7)) == "rounding"
    assert difference(one, one * torch.tensor([1.0, 2.0, 1.0])) != "rounding"
    assert difference([one, torch.tensor(1)], [one * (1 + 3e-7), torch.tensor(2)]) == "1 at most"
    assert difference(torch.tensor(2**60), torch.tensor(2**60 + 1)) != ""
    assert difference(torch.tensor([1.0, np.inf]), torch.tensor([2.0, np.inf])) == "1 at most"
    assert difference(one.double(), one.double() * (1 + 3e-7)) != "rounding"
    assert difference(*[torch.tensor([1.0, float("nan")])] * 2) == ""
    assert "NaN" in difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("nan")]))


REFUSED: dict[str, tuple[Callable[[Any, int], Any], str]] = {
    "computed": (
        lambda t, i: (torch.tensor(t.iloc[i].values[1:] ** 0.5).float(), int(t.iloc[i, 0])),
        "computed",
    ),
    "another label": (lambda t, i: (torch.tensor(t.iloc[i].values[1:] / 255).float(), i + 11), "no column"),
    "words": (lambda t, i: ("a word", 1), "no arrays"),
    "words as labels": (lambda t, i: (torch.tensor(t.iloc[i].values[1:]).float(), "cat"), "labels are text"),
    "two labels": (lambda t, i: (torch.tensor(t.iloc[i].values[1:]).float(), (1, 2)), "several labels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_why_no_table(name: str, home: Path) -> None:
    sample, why = REFUSED[name]
    found = planned(DataLoader(Rows(pd.read_csv(home / "digits.csv"), sample, path=home / "digits.csv"), 8))
    assert not found.fits
    assert why in found.said and "digits.csv" in found.code
    split = planned(
        DataLoader(Rows(pd.read_csv(home / "digits.csv")[:30], digit, path=home / "digits.csv"), 8)
    )
    assert not split.fits and "40 rows, your dataset 30" in split.said


class Photos(Dataset[Any]):
    def __init__(self, folder: Path, transform: Any, labels: bool) -> None:
        self.files, self.transform, self.labels = sorted(folder.glob("*/*.jpg")), transform, labels

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        picture = Image.open(self.files[index]).convert("RGB")
        if self.transform is None:
            return torch.from_numpy(np.asarray(picture).copy())
        picture = self.transform(picture)
        return (picture, len(self.files[index].name)) if self.labels else picture


@pytest.mark.parametrize(
    ("transform", "labels", "code"),
    [
        (STILL, False, "ImageFiles(loader.dataset.files, transform=loader.dataset.transform)"),
        (DRAWN, True, "ImageFiles(loader.dataset.files, labels, transform=loader.dataset.transform)"),
        (None, False, "python -m gofast "),
    ],
)
def test_pictures(transform: Any, labels: bool, code: str, home: Path) -> None:
    found = planned(DataLoader(Photos(home / "photos", transform, labels), 8, shuffle=True), 0.1)
    assert found.fits, found.said
    assert code in found.code


def test_pictures_that_pillow_does_not_decode(home: Path) -> None:
    dataset = Rows([str(path) for path in home.glob("photos/*/*.jpg")], lambda t, i: read_image(t[i]))
    seen = StackSamples(batches=1, samples=4, stages={"decode:torchvision": (0.1, 0.0)})
    assert Facts(DataLoader(dataset, 8), 0, False, 2, None, True, stacks=seen).plan is None


def gray(path: str) -> Image.Image:
    return Image.open(path).convert("L").convert("RGB")


class Named(Dataset[Any]):
    """Pictures whose names are kept, and not their paths; one may be found by its last letters alone."""

    def __init__(self, root: Path, joined: bool) -> None:
        self.names = [str(path.relative_to(root)) for path in sorted(root.glob("*/*.jpg"))]
        self.ends = [name[-6:] for name in self.names]
        self.transform = STILL
        self.__dict__.update({"root": str(root)} if joined else {"parts": [root]})

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Any:
        root = self.root if "root" in self.__dict__ else self.parts[0]  # type: ignore[attr-defined]
        return self.transform(Image.open(f"{root}/{self.names[index]}").convert("RGB"))


@pytest.mark.parametrize(
    ("joined", "files"),
    [
        (True, "[os.path.join(loader.dataset.root, name) for name in loader.dataset.names]"),
        (False, "paths"),
    ],
)
def test_the_files_of_pictures(joined: bool, files: str, home: Path) -> None:
    found = planned(DataLoader(Named(home / "photos", joined), 8), 0.1)
    assert found.fits, found.said
    assert f"\ndataset = gofast.ImageFiles({files}, transform=loader.dataset.transform)" in found.code
    assert ("# fill in: the path of each" in found.code) != joined


def test_torchvisions_folder_and_tensors(home: Path) -> None:
    folder = torchvision.datasets.ImageFolder(home / "photos", DRAWN)
    found = planned(DataLoader(Subset(folder, range(10)), 4, shuffle=True), 0.1)
    made = f'gofast.ImageFolder("{home}/photos", loader.dataset.dataset.transform)'
    assert found.fits and f"dataset = torch.utils.data.Subset({made}, loader.dataset.indices)" in found.code
    folder = torchvision.datasets.ImageFolder(
        home / "photos", STILL, target_transform=lambda label: 1 - label, loader=gray
    )
    found = planned(DataLoader(folder, 4), 0.1)
    assert found.fits
    assert "target_transform=loader.dataset.target_transform, loader=loader.dataset.loader)" in found.code
    found = planned(DataLoader(TensorDataset(torch.rand(8, 2)), 4))
    assert found.fits and "dataset = gofast.ArrayDataset(*loader.dataset.tensors)" in found.code

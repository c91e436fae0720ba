"""What crosses to a device in the place of samples: finished there, it is the core's batch, bit for bit."""

from __future__ import annotations

import gc
import itertools
import os
import random
import warnings
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

pytest.importorskip("torchvision")

from torchvision import transforms as v1
from torchvision.transforms import v2

from gofast import ArrayDataset, TableDataset, errors
from gofast._batches.view import View, resolve
from gofast._batches.wire import Wire
from gofast._core import operations
from gofast._core.numbers import NAMES
from gofast.images import ImageFolder
from image_data import make_folder, photograph
from picture_chains import KINDS, MEAN, STD, chain, write_pictures
from picture_files import saved
from wires import assert_wire_gives_the_batch, fill

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    write_pictures(root, 2 * len(KINDS), seed=11, sides=(17, 33, 64, 97, 128))
    return root


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """Without torchvision's and Pillow's warnings of odd parameters and odd files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def view_of(dataset: Any) -> View:
    view = resolve(dataset)
    assert view is not None
    return view


def wire_of(dataset: Any) -> Wire:
    wire = view_of(dataset).wire()
    assert wire is not None
    return wire


def compared(dataset: Any, indices: list[int] | None = None) -> dict[int, torch.Tensor]:
    """Compares a batch of each sample, or of these; what came finished."""
    view, wire = view_of(dataset), wire_of(dataset)
    wanted = array("q", range(len(dataset)) if indices is None else indices)
    records = view.new_draws(0, 0).records(wanted) if view.draws else None
    return assert_wire_gives_the_batch(view, wire, wanted, records)


# ------------------------------------------------------------------ pictures

ERASED = [0, 0.7, (0.1, -2.5, 300.0)]


def erasing(m: Any, value: Any) -> Any:
    return m.RandomErasing(0.8, value=value)


CHAINS: dict[str, Any] = {
    "v1": [v1.RandomResizedCrop(24), v1.RandomHorizontalFlip(), v1.ToTensor()],
    "v1 normalized": [v1.Resize((20, 31)), v1.ToTensor(), v1.Normalize(MEAN, STD)],
    "v1 one mean": [v1.Resize((20, 31)), v1.ToTensor(), v1.Normalize([0.5], [0.25])],
    "v1 product": [v1.Resize((9, 9)), v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)],
    "v1 flips behind": [
        v1.Resize((20, 31)),
        v1.ToTensor(),
        v1.RandomHorizontalFlip(),
        v1.Normalize(MEAN, STD),
        v1.RandomVerticalFlip(),
    ],
    "v1 grey": [v1.Resize((16, 16)), v1.Grayscale(1), v1.ToTensor(), v1.Normalize([0.5], [0.3])],
    "v2": [v2.Resize((20, 31)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    "v2 unscaled": [v2.Resize((20, 31)), v2.ToImage(), v2.ToDtype(torch.float32), v2.Normalize(MEAN, STD)],
    "v2 tensors first": [
        v2.ToImage(),
        v2.Resize((20, 31), antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ],
    "jitter": [
        v1.ColorJitter(0.4, 0.4, 0.4, 0.1),
        v1.Resize((12, 12)),
        v1.RandomGrayscale(0.3),
        v1.ToTensor(),
    ],
    **{
        f"{name} erased {value}": [
            v1.RandomResizedCrop(24),
            v1.ToTensor(),
            v1.RandomHorizontalFlip(),
            v1.Normalize(MEAN, STD),
            erasing(m, value),
            erasing(m, 3),
        ]
        for name, m in (("v1", v1), ("v2", v2))
        for value in ERASED
    },
    "grey erased": [v1.Resize((16, 16)), v1.Grayscale(1), v1.ToTensor(), erasing(v1, 0.25)],
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_pictures_are_finished_as_the_core_does(
    pictures: Path, name: str, dtype: torch.dtype, last: bool
) -> None:
    dataset = ImageFolder(pictures, v1.Compose(CHAINS[name]), channels_last=last, dtype=dtype)
    wire = wire_of(dataset)
    assert (wire.stored, wire.made, wire.last) == ("uint8", NAMES[dtype], last)
    assert wire.channels == (3 if MEAN in [getattr(t, "mean", None) for t in CHAINS[name]] else 1)
    assert compared(dataset) == {}  # those that Pillow decodes lie in the batch, as bytes too


def test_random_chains_are_finished_as_the_core_does(pictures: Path) -> None:
    made = erased = without = 0
    for seed in range(200):
        dice = random.Random(seed)
        dataset = ImageFolder(pictures, chain(dice, one_size=True), channels_last=dice.random() < 0.3)
        view = resolve(dataset)
        wire = None if view is None else view.wire()
        if view is None or wire is None:
            without += 1
            continue
        indices = array("q", dice.choices(range(len(dataset)), k=12))
        try:
            records = view.new_draws(0, 0).records(indices) if view.draws else None
            fill(view, view.core, view.row_bytes, indices, records)
        except ValueError:  # a picture is too small for a step
            continue
        assert_wire_gives_the_batch(view, wire, indices, records)
        made, erased = made + 1, erased + len(wire.erasures)
    assert made > 50 and erased > 10 and without > 10


@pytest.mark.skipif("GOFAST_TEST_DATA" not in os.environ, reason="GOFAST_TEST_DATA has real photographs")
def test_photographs_are_finished_as_the_core_does() -> None:
    root = Path(os.environ["GOFAST_TEST_DATA"]) / "imagenet-500"
    if not root.is_dir():
        pytest.skip("no photographs")
    train = [v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)]
    dataset = ImageFolder(root, v1.Compose([*train, erasing(v1, 0)]), dtype=torch.bfloat16)
    compared(dataset, list(range(0, len(dataset), 5)))


@pytest.mark.parametrize(
    "transform",
    [
        None,
        v1.Compose([v1.Resize((8, 8)), v1.PILToTensor()]),
        v1.Compose([v1.Resize((8, 8)), v1.ToTensor(), erasing(v1, 0), v1.RandomHorizontalFlip()]),
        v1.Compose([v1.Resize((8, 8)), v1.ToTensor(), v1.RandomApply([erasing(v1, 0)])]),
    ],
    ids=["pictures", "bytes", "erased and moved", "perhaps erased"],
)
def test_pictures_without_a_wire(pictures: Path, transform: Any) -> None:
    view = resolve(ImageFolder(pictures, transform))
    assert view is None or view.wire() is None


def test_what_python_finishes_has_no_wire(pictures: Path) -> None:
    rest = v1.Compose([v1.Resize((8, 8)), v1.ToTensor(), v1.Lambda(lambda x: x)])
    assert ImageFolder(pictures, rest)._here().view.wire() is None


def test_a_wire_is_made_once_and_freed(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[int] = []
    free = operations.free
    monkeypatch.setattr(operations, "free", lambda config: (freed.append(config["address"]), free(config)))
    dataset = ImageFolder(pictures, v1.Compose(CHAINS["v1"]))
    view = view_of(dataset)
    wire, own = wire_of(dataset), view.core.address
    assert view.wire() is wire
    core = wire.core.address
    dataset.transform = v1.Compose(CHAINS["v2"])
    assert wire_of(dataset) is not wire
    del wire, view
    gc.collect()
    assert {own, core} <= set(freed)


def test_folders_end_to_end(pictures: Path, tmp_path: Path) -> None:
    make_folder(tmp_path, 12, 3)
    transform = v1.Compose(CHAINS["v1 erased 0.7"])
    both: Any = ConcatDataset([ImageFolder(pictures, transform), ImageFolder(tmp_path, transform)])
    some: Any = Subset(both, [len(both) - 1, 3, 3, 0, len(both) - 5])
    compared(both)
    compared(some, [0, 4, -1, 2])


# ------------------------------------------------------------------ samples that the core does not make


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """12 pictures in 3 classes: number 4 is damaged, 7 is a GIF, which Pillow decodes, 9 is CMYK."""
    root = make_folder(tmp_path, 12, 3)
    files = sorted(root.glob("*/*"))
    files[4].write_bytes(files[4].read_bytes()[:200])
    files[7].write_bytes(saved(photograph(1, 50, 40), "GIF") or b"")
    files[9].write_bytes(saved(photograph(2, 60, 40).convert("CMYK"), "JPEG") or b"")
    return root


CROP = [v1.RandomResizedCrop(24), v1.ToTensor(), v1.Normalize(MEAN, STD)]
SIZED = [v1.Resize((24, 24)), v1.ToTensor(), v1.Normalize(MEAN, STD)]


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("value", [None, 0.5])
@pytest.mark.parametrize("steps", [CROP, SIZED], ids=["crop", "resize"])
@pytest.mark.parametrize(
    "policy",
    ["replace", "zero", lambda i, _: i + 1, lambda *_: photograph(3, 70, 50)],
    ids=["replace", "zero", "next", "own"],
)
def test_policies_hold_for_stored_samples(
    bad: Path, policy: Any, steps: list[Any], value: float | None, last: bool
) -> None:
    erase = [] if value is None else [v1.RandomErasing(1, value=value)]
    dataset = ImageFolder(bad, v1.Compose([*steps, *erase]), on_error=policy, channels_last=last)
    finished = compared(dataset)
    # Where sizes matter it is drawn anew for another picture: the record has not the boxes of those draws.
    assert set(finished) == ({4} if policy == "zero" or steps is CROP else set())
    assert len(dataset.bad_samples()) == 1


def test_damage_is_raised(bad: Path) -> None:
    dataset = ImageFolder(bad, v1.Compose(SIZED))
    with pytest.raises(errors.BadImageError) as raised:
        compared(dataset)
    assert raised.value.index == 4
    compared(dataset, [7, 9, 7])
    view, wire = view_of(dataset), wire_of(dataset)
    with pytest.raises(errors.BadImageError):
        fill(view, wire.core, wire.row_bytes, array("q", [0, 4]), None, {})
    with pytest.raises(errors.RowIndexError):
        fill(view, wire.core, wire.row_bytes, array("q", [0, 12]), None, {})


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_what_only_the_transforms_make_comes_finished(
    bad: Path, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise errors.UnsupportedError("resized to 20000x20000 pixels")

    monkeypatch.setattr("gofast._images.pillow.make_sample", refuse)
    dataset = ImageFolder(bad, v1.Compose(SIZED), channels_last=last)
    assert set(compared(dataset, [0, 7, 9, 1])) == {1}
    with pytest.raises(errors.UnsupportedError):
        compared(ImageFolder(bad, v1.Compose(CROP)), [7])


# ------------------------------------------------------------------ tables

STORED = ["uint8", "int16", "int32"]


def rows(storage: str) -> np.ndarray[Any, Any]:
    codes = np.tile(np.arange(256), 3)
    if storage == "uint8":
        return np.stack([codes, codes[::-1], codes % 7]).astype(storage)
    return np.stack([codes, codes * 127 - 16000, -codes]).astype(storage)


@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize("dtype", [t for t in NAMES if t.is_floating_point], ids=str)
@pytest.mark.parametrize("unit", [False, True], ids=["none", "unit"])
@pytest.mark.parametrize("groups", [0, 1, 3, 768])
def test_rows_are_finished_as_the_core_does(
    storage: str, dtype: torch.dtype, unit: bool, groups: int
) -> None:
    x, mean, std = rows(storage), None, None
    if groups:
        mean, std = np.random.default_rng(groups).random((2, groups), np.float32) + np.float32(0.1)
    scale: Any = "unit" if unit else None
    labels = np.arange(3)
    dataset = ArrayDataset(x, labels, shape=(3, 16, 16), scale=scale, mean=mean, std=std, dtype=dtype)
    if dtype.itemsize <= x.itemsize:
        assert view_of(dataset).wire() is None
        return
    wire = wire_of(dataset)
    assert (wire.stored, wire.made, wire.shape) == (storage, NAMES[dtype], (3, 16, 16))
    assert (wire.scale, wire.channels) == ("divide" if unit else "cast", max(groups, 1))
    compared(dataset, [2, 0, 1, -1])


def test_one_mean_and_many_stds() -> None:
    std = np.array([1, 2, 3], np.float32)
    dataset = ArrayDataset(rows("uint8"), shape=(3, 256), mean=0.5, std=std, dtype=torch.float32)
    assert wire_of(dataset).channels == 3
    compared(dataset)
    same = ArrayDataset(rows("uint8"), shape=(3, 256), mean=[0.5] * 3, std=[2.0] * 3, dtype=torch.float32)
    assert wire_of(same).channels == 1
    compared(same)


@pytest.mark.parametrize(
    ("storage", "dtype"), [*itertools.combinations(["uint8", "int16", "int32", "int64"], 2)]
)
def test_integers_are_widened(storage: str, dtype: str) -> None:
    compared(ArrayDataset(rows(storage), dtype=getattr(torch, dtype)))


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (np.zeros((2, 3), np.float32), torch.float32),
        (np.zeros((2, 3), np.float32), torch.float64),
        (np.zeros((2, 3), np.float64), torch.float32),
        (np.zeros((2, 3), np.int64), torch.float32),
        (np.zeros((2, 3), np.uint8), torch.uint8),
        (np.zeros((2, 3), np.bool_), torch.bool),
        (np.zeros((2, 3), np.complex128), torch.complex128),
    ],
)
def test_rows_without_a_wire(x: Any, dtype: torch.dtype) -> None:
    assert view_of(ArrayDataset(x, dtype=dtype)).wire() is None


@pytest.mark.parametrize("options", [{}, {"one_hot": 3}, {"output": "tuple"}])
def test_tables_of_files(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "table.csv"
    lines = [f"{i % 3},{i},{255 - i},7" for i in range(40)]
    path.write_text("\n".join(["label,a,b,c", *lines]))
    dataset = TableDataset(path, label="label", scale="unit", mean=[0.1, 0.2, 0.3], std=0.5, **options)
    compared(dataset)
    half: Any = Subset(ConcatDataset([dataset, dataset]), [79, 3, 3, 41])
    compared(half)


def test_tables_that_differ_have_no_wire() -> None:
    def made(storage: str, **options: Any) -> Any:
        return ArrayDataset(rows(storage), **{"dtype": torch.float64, **options})

    compared(ConcatDataset([made("uint8"), made("uint8")]))
    for other in (made("int16"), made("uint8", scale="unit"), made("uint8", mean=1.0, std=2.0)):
        both: Any = ConcatDataset([made("uint8"), other])
        assert view_of(both).wire() is None


def test_a_wire_follows_the_users_memory() -> None:
    x = torch.from_numpy(rows("uint8"))
    dataset = ArrayDataset(x, dtype=torch.float32)
    wire = wire_of(dataset)
    assert wire_of(dataset) is wire
    x.data = x.flip(0)
    assert wire_of(dataset) is not wire
    compared(dataset)


# ------------------------------------------------------------------ the border


def test_results_are_for_bytes() -> None:
    wire = wire_of(ArrayDataset(rows("int16"), dtype=torch.float32))
    with pytest.raises(ValueError, match="not for int16"):
        wire.results()


@pytest.mark.parametrize(
    "wrong",
    [{"mean": [1.0]}, {"mean": [1.0], "std": [1.0]}, {"channels": 0}, {"address": 0}, {"dtype": "int8"}],
)
def test_codes_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    memory = np.zeros(2048, np.uint8)
    config: Any = {
        "scale": "cast",
        "mean": None,
        "std": None,
        "dtype": "float32",
        "channels": 2,
        "last": False,
    }
    with pytest.raises(errors.GofastError):
        operations.codes({**config, "address": memory.ctypes.data, **wrong})
    assert not memory.any()

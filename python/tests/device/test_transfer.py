"""What crosses to a device instead of pictures: finished there, it is the core's batch, bit for bit."""

from __future__ import annotations

import gc
import os
import random
from array import array
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

pytest.importorskip("torchvision")

from torchvision import transforms as v1
from torchvision.transforms import v2

from gofast import errors
from gofast._core import dataset_operations
from gofast._core.numbers import NAMES
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from gofast.images import ImageFolder
from image_data import make_folder, photograph
from picture_chains import KINDS, MEAN, STD, chain, write_pictures
from picture_files import saved
from wires import assert_wire_gives_the_batch, compared, fill, view_of, wire_of

pytestmark = pytest.mark.usefixtures("quietly")

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    write_pictures(root, 2 * len(KINDS), seed=11, sides=(17, 33, 64, 97, 128))
    return root


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
        wire = None if isinstance(view, Reason) else view.wire()
        if isinstance(view, Reason) or wire is None:
            without += 1
            continue
        indices = array("q", dice.choices(range(len(dataset)), k=12))
        try:
            records = view.new_draws(None).records(indices) if view.draws else None
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
    assert isinstance(view, Reason) or view.wire() is None


def test_what_python_finishes_has_no_wire(pictures: Path) -> None:
    rest = v1.Compose([v1.Resize((8, 8)), v1.ToTensor(), v1.Lambda(lambda x: x)])
    assert ImageFolder(pictures, rest)._here().view.wire() is None


def test_a_wire_is_made_once_and_freed(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[int] = []
    free = dataset_operations.free
    monkeypatch.setattr(
        dataset_operations, "free", lambda config: (freed.append(config["address"]), free(config))
    )
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
    # Where sizes matter it is drawn again for another picture: the record has not the boxes of those draws.
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

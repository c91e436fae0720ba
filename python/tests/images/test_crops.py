"""FiveCrop and TenCrop with what stacks their crops: torchvision's samples, and natively."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import stack
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import ToTensor, functional, v2

import gofast
from gofast._lazy.source import PixelSource, counts
from gofast._plan.stacked import transform_of_each
from image_data import make_folder
from same import difference

HALF = T.Normalize([0.5], [0.2])
CONVERT = ToTensor()
Stack = T.Lambda(lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops]))


def stack_def(crops: Any) -> Any:
    """The same with a name."""
    return torch.stack([T.PILToTensor()(c) for c in crops])


def local() -> Any:
    convert = T.ToTensor()
    return lambda crops: torch.stack([convert(crop) for crop in crops])


KNOWN: list[tuple[Any, str]] = [
    (lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops]), "ToTensor"),
    (lambda x: stack([ToTensor()(y) for y in x]), "ToTensor"),
    (lambda x: torch.stack([CONVERT(y) for y in x]), "ToTensor"),
    (lambda x: torch.stack([functional.to_tensor(y) for y in x]), "ToTensor"),
    (lambda x: torch.stack([functional.pil_to_tensor(y) for y in x]), "PILToTensor"),
    (lambda x: torch.stack([HALF(y) for y in x]), "Normalize"),
    (stack_def, "PILToTensor"),
]
OTHERS: list[Any] = [
    lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops], 1),
    lambda crops: torch.cat([T.ToTensor()(crop) for crop in crops]),
    lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops[1:]]),
    lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops if crop]),
    lambda crops: torch.stack([T.ToTensor()(crops) for crop in crops]),
    lambda crops: torch.stack([T.ToTensor()(crop) * 2 for crop in crops]),
    lambda crops: torch.stack([functional.hflip(crop) for crop in crops]),
    lambda crops: torch.stack([v2.ToTensor()(crop) for crop in crops]),
    lambda crops, more=1: torch.stack([T.ToTensor()(crop) for crop in crops]),
    local(),
    torch.stack,
    HALF,
]


def test_functions_that_are_known() -> None:
    for function, name in KNOWN:
        assert type(transform_of_each(function)).__name__ == name, function.__code__.co_names
    assert [transform_of_each(function) for function in OTHERS] == [None] * len(OTHERS)


def test_a_name_that_means_something_else_now(monkeypatch: pytest.MonkeyPatch) -> None:
    function = KNOWN[0][0]
    monkeypatch.setitem(globals(), "T", type("T", (), {"ToTensor": lambda: abs}))
    assert transform_of_each(function) is None
    monkeypatch.undo()
    monkeypatch.setattr(torch, "stack", lambda tensors: tensors[0])
    assert transform_of_each(function) is None


CHAINS: dict[str, list[Any]] = {
    "ten": [T.Resize(24), T.TenCrop(20), Stack],
    "vertical": [T.Resize(24), T.TenCrop((20, 17), vertical_flip=True), stack_def],
    "five": [T.Resize((30, 31)), T.FiveCrop(30), Stack, HALF, T.ConvertImageDtype(torch.float16)],
    "twice": [T.Resize(24), T.TenCrop(20), Stack, T.Lambda(KNOWN[5][0])],
    "grey": [T.Grayscale(), T.Resize(24), T.FiveCrop(8), KNOWN[2][0]],
    "random": [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.TenCrop(20), Stack],
    "behind": [T.Resize(24), T.TenCrop(20), Stack, T.Lambda(lambda x: x * 2)],
    "v2": [v2.Resize(24), v2.TenCrop(20), Stack],
}


@pytest.mark.parametrize("name", CHAINS)
def test_batches_are_torchvisions(name: str, tmp_path: Path) -> None:
    root, transform = make_folder(tmp_path, 23), T.Compose(CHAINS[name])
    made = []
    for dataset, loader in (
        (datasets.ImageFolder(root, transform), DataLoader),
        (gofast.ImageFolder(root, transform), DataLoader),
        (gofast.ImageFolder(root, transform), gofast.DataLoader),
    ):
        torch.manual_seed(3)
        batches = [tuple(batch) for batch in loader(dataset, batch_size=5)]
        made.append([batches, dataset[7], torch.get_rng_state()])
    assert difference(made[1], made[0]) == "" and difference(made[2], made[0]) == ""
    assert dataset._plan.native == (name != "behind")  # type: ignore[union-attr]


@pytest.mark.parametrize("change", ["a global", "inside it", "its code"])
def test_a_function_that_was_looked_into_may_change(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path, 3)

    def of(kind: Any) -> list[Any]:
        own = T.Lambda(lambda crops: torch.stack([ToTensor()(crop) for crop in crops]))
        after = T.Lambda(lambda crops: torch.stack([HALF(crop) for crop in crops]))
        dataset = kind(folder, T.Compose([T.Resize(24), T.FiveCrop(8), own, after]))
        before = dataset[0]
        with monkeypatch.context() as patch:
            if change == "a global":
                patch.setitem(globals(), "ToTensor", T.PILToTensor)
            elif change == "inside it":
                patch.setattr(HALF, "mean", [0.25])
            else:
                own.lambd.__code__ = (lambda crops: torch.ones(5, 3, 8, 8)).__code__
            try:
                return [before, dataset[0]]
            except TypeError as error:
                return [before, str(error)]

    assert difference(of(gofast.ImageFolder), of(datasets.ImageFolder)) == ""


inner = T.Compose([T.Grayscale(3), T.ToTensor()])
each_grey = lambda crops: torch.stack([inner(crop) for crop in crops])  # noqa: E731


END = T.Compose([T.PILToTensor(), T.ConvertImageDtype(torch.float32), HALF])
OWN: dict[str, Any] = {
    "a Compose": lambda crops: torch.stack([END(crop) for crop in crops]),
    "two steps": lambda crops: torch.stack([HALF(T.ToTensor()(crop)) for crop in crops]),
    "a tuple": lambda crops: [END(crop) for crop in crops[::-1]],
    "arrays": lambda crops: torch.stack([torch.from_numpy(np.array(crop)) for crop in crops]),
    "Pillow": lambda crops: torch.stack([END(crop.rotate(5).point(lambda v: v ^ 3)) for crop in crops]),
    "draws": lambda crops: torch.stack([END(T.RandomHorizontalFlip()(crop)) for crop in crops]),
    "some": lambda crops: END(crops[int(torch.randint(len(crops), ()))]),
}


@pytest.mark.daily
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("crops", [T.TenCrop(20), T.FiveCrop(24), v2.TenCrop((9, 20), True), v2.FiveCrop(8)])
@pytest.mark.parametrize(
    "first", [[T.Resize(32)], [T.Resize((30, 28))], [T.RandomResizedCrop(26)], [T.Pad(20)]]
)
def test_functions_of_ones_own(own: str, crops: Any, first: list[Any], tmp_path: Path) -> None:
    """Whatever they do: behind a native beginning in a folder, and behind a picture that somebody opens."""
    folder = make_folder(tmp_path, 8)
    transform = T.Compose([*first, crops, T.Lambda(OWN[own])])
    paths = sorted(folder.rglob("*.*"))

    def opened(opens: Any) -> list[Any]:
        torch.manual_seed(3)
        made = [transform(opens(path).convert("RGB")) for path in paths for _ in range(2)]
        return [*made, torch.get_rng_state()]

    def of(kind: Any) -> list[Any]:
        torch.manual_seed(3)
        made = [batch for _ in range(2) for batch in DataLoader(kind(folder, transform), batch_size=2)]
        return [*made, torch.get_rng_state()]

    assert difference(of(gofast.ImageFolder), of(datasets.ImageFolder)) == ""
    assert difference(opened(gofast.open), opened(Image.open)) == ""


def test_a_picture_is_made_once_for_its_crops(tmp_path: Path) -> None:
    """Its pixels are kept from the second crop on, whose own are theirs."""
    picture = Image.fromarray(np.random.default_rng(1).integers(0, 256, (50, 60, 3), np.uint8))
    picture.save(tmp_path / "a.png")
    lazy = gofast.open(tmp_path / "a.png").resize((40, 30))
    cut = [lazy.crop((i, 2 * i, i + 9, 2 * i + 7)) for i in range(5)]
    before = counts.native
    sources = [each._making.source for each in cut]
    assert isinstance(lazy._making.source, PixelSource) and lazy._making.source.size == (40, 30)
    # Small crops have pixels of their own: who keeps one does not keep the picture.
    assert [each.size for each in sources[1:]] == [(9, 7)] * 4
    assert lazy.crop((0, 0, 30, 20))._making.source is lazy._making.source
    assert [each.tobytes() for each in cut] == [
        picture.resize((40, 30)).crop((i, 2 * i, i + 9, 2 * i + 7)).tobytes() for i in range(5)
    ]
    assert counts.native == before + 5 and lazy.tobytes() == picture.resize((40, 30)).tobytes()


def test_a_large_picture_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (50, 60), (1, 2, 3)).save(tmp_path / "a.png")
    monkeypatch.setattr("gofast._lazy.source._MOST_KEPT", 4 * 40 * 30 - 1)
    lazy = gofast.open(tmp_path / "a.png").resize((40, 30))
    cut = [lazy.crop((i, i, i + 9, i + 7)) for i in range(3)]
    assert not any(isinstance(each._making.source, PixelSource) for each in (lazy, *cut))
    assert {each.tobytes() for each in cut} == {bytes((1, 2, 3)) * 63}


def test_what_is_not_native_says_so(tmp_path: Path) -> None:
    root = make_folder(tmp_path, 5)
    for chain, why in (
        ([T.Resize(24), T.TenCrop(20), OTHERS[0]], "your own code"),
        ([T.Resize(24), T.FiveCrop(20), Stack, T.RandomHorizontalFlip()], "of several crops"),
        ([T.Resize((20, 20)), T.ToTensor(), T.FiveCrop(9), Stack], "cuts crops of"),
        ([T.Resize(24), T.FiveCrop(20), T.Lambda(each_grey)], "makes several pictures of one"),
    ):
        dataset = gofast.ImageFolder(root, T.Compose(chain))
        assert why in str(gofast.explain(dataset))
    with pytest.raises(gofast.errors.OptionError, match="channels_last"):
        gofast.ImageFolder(root, T.Compose(CHAINS["ten"]), channels_last=True)


def test_pictures_that_are_too_small(tmp_path: Path) -> None:
    root = make_folder(tmp_path, 5)
    for front in ([], [T.RandomHorizontalFlip()]):
        transform = T.Compose([*front, T.Resize(19), T.TenCrop(20), Stack])
        for dataset in (datasets.ImageFolder(root, transform), gofast.ImageFolder(root, transform)):
            with pytest.raises(ValueError, match=r"Requested crop size \(20, 20\) is bigger than input size"):
                dataset[0]

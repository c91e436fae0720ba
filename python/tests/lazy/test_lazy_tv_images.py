"""tv_tensors.Image that wait for their batch, beside those that torchvision makes at once."""

from __future__ import annotations

import copy
import pickle
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision import transforms as T
from torchvision import tv_tensors
from torchvision.transforms import v2

import gofast
from gofast._images.lazy_samples import LazySample
from image_data import noise_files
from same import difference, outcome

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable"),
]

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIDE, N = 24, 6
G = v2.functional
TO_FLOAT = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
TO_BYTES = v2.Compose([v2.Resize((SIDE, SIDE)), v2.ToImage()])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return noise_files(tmp_path_factory.mktemp("pictures"), [(40 + i, 50) for i in range(N)])


def opened(path: Path, ours: bool) -> Any:
    return (gofast.open if ours else Image.open)(path).convert("RGB")


def image(path: Path, ours: bool = True, bytes_: bool = False) -> Any:
    picture = opened(path, ours)
    x = TO_BYTES(picture) if bytes_ else TO_FLOAT(picture.resize((SIDE, SIDE)))
    assert isinstance(x, LazySample) is ours, "it was made at once, or waits"
    return x


def wrapped(x: Any) -> Any:
    with tv_tensors.set_return_type("TVTensor"):
        return torch.stack([x, x]), x * 2, x.sub_(0.5)


def in_place(x: Any) -> Any:
    return G.normalize(x, MEAN, STD, inplace=True), x


LOOKS: dict[str, Callable[[Any], Any]] = {
    "type": lambda x: (
        isinstance(x, tv_tensors.Image),
        isinstance(x, torch.Tensor),
        isinstance(x, T.Compose),
    ),
    "shape": lambda x: (x.shape, x.dtype, x.ndim, x.device, x.stride(), x.requires_grad, len(x)),
    "add": lambda x: x + 1,
    "sub": lambda x: x - 0.5,
    "div": lambda x: x / 255,
    "sub in place": lambda x: x.sub_(0.25),
    "set in place": lambda x: x.__setitem__(np.s_[:, 1:4, 2:5], 0.5) or x,
    "clone": lambda x: x.clone(),
    "to": lambda x: x.to(torch.float64),
    "to the same": lambda x: x.to(torch.float32),
    "detach": lambda x: x.detach(),
    "as_subclass": lambda x: x.as_subclass(torch.Tensor),
    "wrap": lambda x: tv_tensors.wrap(torch.ones(3, 2, 2), like=x),
    "wraps": wrapped,
    "image": lambda x: tv_tensors.Image(x),
    "mask": lambda x: tv_tensors.Mask(x),
    "with a mask": lambda x: x + tv_tensors.Mask(torch.ones(SIDE, SIDE)),
    "stack": lambda x: torch.stack([x, x]),
    "stack with another": lambda x: torch.stack([x, torch.ones(3, SIDE, SIDE)]),
    "cat": lambda x: torch.cat([x, x]),
    "collate": lambda x: default_collate([(x, 1), (x, 2)]),
    "repr": repr,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "numpy": lambda x: np.asarray(x).copy(),
    "normalize": lambda x: G.normalize(x, MEAN, STD),
    "normalize by tensors": lambda x: G.normalize(x, torch.tensor(MEAN), torch.tensor(STD)),
    "normalize in place": in_place,
    "normalize by zero": lambda x: G.normalize(x, MEAN, [0.0, 1.0, 1.0]),
    "normalize twice": lambda x: G.normalize(G.normalize(x, MEAN, STD), MEAN, STD),
    "normalize of v1": lambda x: T.functional.normalize(x, MEAN, STD),
    "Normalize": v2.Normalize(MEAN, STD),
    "Normalize of v1": T.Normalize(MEAN, STD),
    "ToPureTensor": v2.ToPureTensor(),
    "ToDtype": v2.ToDtype(torch.float16, scale=True),
    "flip": lambda x: G.horizontal_flip(x),
    "resize": lambda x: G.resize(x, [12, 12]),
    "crop": lambda x: v2.CenterCrop(10)(x),
    "erase": lambda x: G.erase(x, 1, 2, 3, 4, torch.zeros(3, 1, 1)),
    "to_pil": lambda x: G.to_pil_image(x.clamp(0, 1) if x.is_floating_point() else x),
    "sizes": lambda x: (G.get_size(x), G.get_dimensions(x), G.get_num_channels(x)),
    "in a dict": lambda x: v2.Compose([v2.Normalize(MEAN, STD)])({"a": x, "b": 3}),
    "two": lambda x: v2.Normalize(MEAN, STD)(x, tv_tensors.Mask(torch.ones(SIDE, SIDE))),
    "boxes": lambda x: G.get_size(
        tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=x.shape[-2:])
    ),
}


@pytest.mark.parametrize("bytes_", [False, True])
@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_sees_what_torchvision_makes(look: str, bytes_: bool, files: list[Path]) -> None:
    mine, theirs = (image(files[0], ours, bytes_) for ours in (True, False))
    assert difference(outcome(LOOKS[look], mine), outcome(LOOKS[look], theirs)) == ""
    assert difference(mine, theirs) == ""
    assert type(mine) is tv_tensors.Image


def test_they_wait_for_their_batch(files: list[Path]) -> None:
    mine, theirs = ([v2.Normalize(MEAN, STD)(image(path, ours)) for path in files] for ours in (True, False))
    assert all(isinstance(x, LazySample) for x in mine)
    batches = [default_collate([(x, {"label": i}) for i, x in enumerate(rows)]) for rows in (mine, theirs)]
    assert difference(*batches) == ""
    assert all(isinstance(x, LazySample) for x in mine)
    assert difference(mine, theirs) == ""


def test_a_batch_of_some_that_were_looked_at(files: list[Path]) -> None:
    mine, theirs = ([image(path, ours) for path in files] for ours in (True, False))
    assert float(mine[1].sum()) == float(theirs[1].sum())
    assert difference(torch.stack(mine), torch.stack(theirs)) == ""


def test_a_class_of_ones_own_in_a_compose(files: list[Path]) -> None:
    """As lightly's: its own code stands before a Compose that makes the tensor."""

    class Own:
        def __call__(self, picture: Any) -> Any:
            return picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else picture

    class Convert:
        def __init__(self) -> None:
            self.transform = TO_FLOAT

        def __call__(self, picture: Any) -> Any:
            return self.transform(picture)

    steps = [v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), Own(), Convert(), v2.Normalize(MEAN, STD)]
    transform, batches, states = v2.Compose(steps), list[Any](), list[Any]()
    for ours in (True, False):
        torch.manual_seed(3)
        random.seed(3)
        rows = [transform(opened(path, ours)) for path in files * 3]
        assert all(isinstance(x, LazySample) is ours for x in rows)
        batches.append(torch.stack(rows))
        states.append((torch.get_rng_state(), random.getstate()))
    assert difference(*batches) == ""
    assert difference(*states) == ""


REFERENCES = v2.Compose(
    [
        v2.ToImage(),
        v2.RandomHorizontalFlip(0.5),
        v2.ToDtype(torch.float32, scale=True),
        v2.SanitizeBoundingBoxes(),
    ]
)


@pytest.mark.parametrize("steps", [[v2.ToPureTensor()], [v2.Normalize(MEAN, STD), v2.ToPureTensor()], []])
def test_pictures_with_boxes(steps: list[Any], files: list[Path]) -> None:
    """As torchvision's references for detection: pictures wait, boxes are torchvision's."""
    transform, results, states = v2.Compose([*REFERENCES.transforms, *steps]), list[Any](), list[Any]()
    for ours in (True, False):
        torch.manual_seed(5)
        rows = []
        for path in files * 3:
            picture = opened(path, ours)
            corners = [[1.0, 2.0, 30.0, 20.0], [3.0, 3.0, 3.0, 9.0]]
            boxes = tv_tensors.BoundingBoxes(corners, format="XYXY", canvas_size=picture.size[::-1])
            rows.append(transform(picture, {"boxes": boxes, "labels": torch.tensor([1, 2])}))
        assert all(isinstance(x, LazySample) is ours for x, _ in rows)
        results.append(rows)
        states.append(torch.get_rng_state())
    assert difference(*results) == ""
    assert difference(*states) == ""


ALIASES: dict[str, Callable[[Any], Any]] = {
    "as a tensor": lambda x: x.as_subclass(torch.Tensor),
    "pure": v2.ToPureTensor(),
    "an image of it": lambda x: tv_tensors.Image(x.as_subclass(torch.Tensor)),
    "wrapped": lambda x: tv_tensors.wrap(x.as_subclass(torch.Tensor), like=x),
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda x: x.sub_(0.25),
    "written": lambda x: x.__setitem__(np.s_[:, 1:4, 2:5], 0.5),
    "normalized": lambda x: T.functional.normalize(x, MEAN, STD, inplace=True),
    "through numpy": lambda x: np.asarray(x).fill(0.5),
    "not at all": lambda x: x + 1,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("first", [False, True])
def test_both_have_the_same_memory(first: bool, alias: str, change: str, files: list[Path]) -> None:
    """What is done to one is seen in the other, whichever was looked at first."""
    results = list[Any]()
    for ours in (True, False):
        x = image(files[0], ours)
        y = ALIASES[alias](x)
        assert isinstance(y, LazySample) is ours
        changed, other = (x, y) if first else (y, x)
        CHANGES[change](changed)
        batch = torch.stack([changed, changed]) if change == "not at all" else None
        results.append((x, y, x.data_ptr() == y.data_ptr(), batch))
        CHANGES["in place"](other)
        assert x.data_ptr() == y.data_ptr()
    assert difference(*results) == ""


def test_one_with_an_alias_that_is_referred_to_weakly(files: list[Path]) -> None:
    """Its numbers change; another shape has nowhere to be."""
    x = image(files[0]).as_subclass(torch.Tensor)
    y = x.as_subclass(tv_tensors.Image)
    reference = weakref.ref(x)
    x[0] = 3
    assert float(y[0].mean()) == 3.0 and type(y) is tv_tensors.Image
    assert x.data_ptr() == y.data_ptr() and reference() is x
    with pytest.raises(RuntimeError, match="weak reference"):
        x.unsqueeze_(0)


@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_batches_of_a_loader_have_torchvisions_type(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gofast._loader.stacking._LEAST_BYTES", 1)

    class Own(Dataset[Any]):
        def __len__(self) -> int:
            return N

        def __getitem__(self, index: int) -> Any:
            return TO_BYTES(Image.open(files[index]).convert("RGB"))

    for kind in ("Tensor", "TVTensor"):
        with tv_tensors.set_return_type(kind):
            ours, theirs = ([*loader(Own(), 2)] for loader in (gofast.DataLoader, DataLoader))
        assert [*map(type, ours)] == [*map(type, theirs)]
        assert difference(ours, theirs) == ""

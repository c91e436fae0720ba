"""ArrayDataset of pictures: what torchvision's transforms make of them, as torch's loader gives it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from picture_chains import chain
from same import difference, two_epochs

PIL1 = v1.Compose([v1.RandomCrop(16, padding=2), v1.RandomHorizontalFlip(), v1.ToTensor()])
PIL2 = v2.Compose([v2.RandomResizedCrop(20), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
BYTES = v2.Compose(
    [v2.RandomCrop(16, padding=2), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]
)


# Warnings what is refused on purpose.
pytestmark = pytest.mark.filterwarnings("ignore")


class Reference(Dataset[Any]):
    """What anybody writes with torch, Pillow and torchvision."""

    def __init__(self, images: Any, *rest: Any, transform: Any = None, pil: bool = True) -> None:
        self.images, self.rest, self.transform, self.pil = images, rest, transform, pil

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        image = Image.fromarray(self.images[index]) if self.pil else torch.as_tensor(self.images)[index]
        return self.transform(image), *(torch.as_tensor(values)[index] for values in self.rest)


def values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def check(ours: Any, theirs: Any, native: bool = True, strides: bool = True, **options: Any) -> None:
    found = resolve(ours)
    assert isinstance(found, Reason) is not native, found
    want = two_epochs(TorchDataLoader, theirs, **options)
    for kind in (gofast.DataLoader, TorchDataLoader):
        assert difference(two_epochs(kind, ours, **options), want, strides) == "", kind


def both(transform: Any, *arrays: Any, pil: bool = True) -> tuple[Any, Any]:
    return gofast.ArrayDataset(*arrays, transform=transform), Reference(*arrays, transform=transform, pil=pil)


@pytest.mark.daily(15)
@pytest.mark.parametrize("seed", range(40))
def test_random_chains_of_pil_images(seed: int) -> None:
    d = random.Random(seed)
    size = d.choice([(1, 1), (28, 28), (d.randint(1, 50), d.randint(1, 50))])
    images = values(11, *size, *d.choice([(), (3,), (3,)]), seed=seed)
    transform = chain(d, one_size=True)
    ours, theirs = both(transform, images, np.arange(11))
    converted = any("Tensor" in type(t).__name__ or "Image" in type(t).__name__ for t in transform.transforms)
    assert converted
    check(ours, theirs, native=not isinstance(resolve(ours), Reason))


def bytes_chain(d: random.Random) -> Any:
    steps = [
        v2.RandomCrop(d.randint(1, 20), padding=d.randint(0, 9), pad_if_needed=True),
        v2.RandomHorizontalFlip(d.random()),
        v2.Resize((d.randint(1, 40), d.randint(1, 40))),
        v2.RandomResizedCrop(d.randint(1, 40)),
        v2.ColorJitter(0.3, 0.4, 0.5),
        v2.RandomGrayscale(0.5),
        v2.RandomInvert(0.5),
        v2.TrivialAugmentWide(),
        v2.ToImage(),
    ]
    chosen = d.sample(steps, d.randint(0, 4))
    ends = [v2.ToDtype(torch.float32, scale=True), v2.ToDtype(torch.float16, scale=True), v2.ToPureTensor()]
    return v2.Compose([*chosen, *d.sample(ends, d.randint(1, 2))])


@pytest.mark.daily(20)
@pytest.mark.parametrize("seed", range(60))
def test_random_chains_of_tensors(seed: int) -> None:
    d = random.Random(seed)
    images = torch.from_numpy(values(11, d.choice([1, 3]), d.randint(1, 40), d.randint(1, 40), seed=seed))
    transform = bytes_chain(d)
    ours, theirs = both(transform, images, torch.arange(11), pil=False)
    check(ours, theirs, native=not isinstance(resolve(ours), Reason))


def test_tensors_are_native() -> None:
    for channels in (1, 3):
        check(*both(BYTES, torch.from_numpy(values(20, channels, 18, 19)), torch.arange(20), pil=False))


@pytest.mark.parametrize("transform", [PIL1, PIL2, v1.ToTensor()], ids=["v1", "v2", "alone"])
def test_arrays_behind_them(transform: Any) -> None:
    images = values(37, 18, 19, 3)
    check(*both(transform, images))
    check(*both(transform, images, np.arange(37)))
    check(*both(transform, values(37, 18, 19), torch.rand(37, 4), values(37, 2, 2), np.arange(37.0)))
    check(*both(transform, images[::2, ::-1, :, :].copy(), np.arange(19) > 3), num_workers=2)


def test_layouts() -> None:
    wide = values(20, 30, 31, 5)
    for images in (wide[..., 1:4], wide[::2, 3:25:2, ::3, :3], np.asfortranarray(wide[..., :3])):
        check(*both(PIL1, images, np.arange(len(images))))
    across = torch.from_numpy(wide[..., :3].copy()).permute(0, 3, 1, 2)
    check(*both(BYTES, across, torch.arange(20), pil=False), native=False)


def test_dicts_and_one_hot() -> None:
    images, labels = values(20, 18, 18, 3), np.arange(20) % 4
    ours = gofast.ArrayDataset(images, labels, transform=PIL1, output="dict", keys=("image", "y"), one_hot=4)
    assert not isinstance(resolve(ours), Reason)
    got = two_epochs(gofast.DataLoader, ours)
    assert difference(got, two_epochs(TorchDataLoader, ours)) == ""
    rows = two_epochs(TorchDataLoader, Reference(images, labels, transform=PIL1))
    for mine, theirs in zip(got, rows, strict=True):
        if isinstance(mine, dict):
            assert torch.equal(mine["image"], theirs[0]) and torch.equal(mine["y"].argmax(1), theirs[1])


def write(ours: Any, theirs: Any, i: int) -> None:
    for array in theirs.images, *theirs.rest:
        array[:] = array // 2 + i  # both have the same memory


def other_transform(ours: Any, theirs: Any, i: int) -> None:
    made = v1.Compose([v1.RandomCrop(16 + i), v1.ToTensor()])
    for dataset in (ours, theirs):
        dataset.transform = made


def own_transform(ours: Any, theirs: Any, i: int) -> None:
    for dataset in (ours, theirs):
        dataset.transform = v1.Compose([lambda image: image.rotate(9 * i), PIL1]) if i == 1 else PIL1


@pytest.mark.parametrize("change", [write, other_transform, own_transform])
@pytest.mark.parametrize("of_theirs", [False, True])
def test_changes_show_with_the_next_batch(change: Any, of_theirs: bool) -> None:
    seen = []
    for kind in (gofast.DataLoader, TorchDataLoader):
        ours, theirs = both(PIL1, values(37, 20, 20, 3), np.arange(37))
        data = theirs if kind is TorchDataLoader and of_theirs else ours
        seen.append(two_epochs(kind, data, lambda i, o=ours, t=theirs: change(o, t, i)))
    assert difference(seen[0], seen[1]) == ""


class Doubled(gofast.ArrayDataset):
    """A subclass with a method of its own."""

    def __getitem__(self, index: Any) -> Any:
        image, label = super().__getitem__(index)
        return image, 2 * label


def test_what_is_refused_is_as_it_was() -> None:
    images, labels = values(20, 18, 18, 3), np.arange(20)
    own = v1.Compose([v1.ToTensor(), lambda x: x + 1])
    check(*both(own, images, labels), native=False)
    ours = gofast.ArrayDataset(images, labels, transform=PIL1, target_transform=lambda label: label + 1)
    check(ours, Reference(images, labels + 1, transform=PIL1), native=False)
    assert "target_transform" in str(resolve(ours))  # type: ignore[union-attr]
    check(
        Doubled(images, labels, transform=PIL1), Reference(images, 2 * labels, transform=PIL1), native=False
    )
    # Any other callable is given tensors, and so are torchvision's of what is no picture.
    check(*both(lambda x: x[:2] * 2, images, labels, pil=False), native=False)
    scaled = v2.ToDtype(torch.float32, scale=True)
    check(*both(scaled, images, labels, pil=False), native=False)
    for odd in (values(20, 8, 8, 4), values(20, 2, 8, 8, 3), images.astype(np.int32), values(20, 7)):
        check(*both(PIL1, odd, labels, pil=False), native=False)
    small = v2.Compose([v2.Resize((6, 5)), v2.ToDtype(torch.float32, scale=True)])
    check(*both(small, torch.from_numpy(values(9, 3, 1, 1)), labels[:9], pil=False), native=False)


def test_explain() -> None:
    ours, _ = both(PIL1, values(20, 18, 18, 3), np.arange(20))
    told = str(gofast.explain(ours))
    assert "20 pictures, in memory" in told and "random crop" in told and "array 1" in told

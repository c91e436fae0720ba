"""torchvision's datasets that are lists of files, and subclasses of ImageFolder: their batches are torch's,
made natively.
"""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset
from torch.utils.data import DataLoader as TorchDataLoader
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.datasets import folder as folders
from torchvision.transforms import v2

import gofast
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from same import difference

OURS = gofast.DataLoader  # importing it is what lets `resolve` look for adapters
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
COUNT = 23
DRAWN = v1.Compose([v1.RandomResizedCrop(12), v1.RandomHorizontalFlip(), v1.ToTensor()])
DRAWN2 = v2.Compose([v2.RandomCrop(9), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for seed in range(COUNT):
        path = root / "abc"[seed % 3] / f"{seed:02}.{('png', 'jpg')[seed % 2]}"
        path.parent.mkdir(exist_ok=True)
        mode = "L" if seed == 4 else "RGB"
        pixels = np.random.default_rng(seed).integers(0, 256, (20 + seed, 29 - seed // 2, 3), np.uint8)
        PIL.Image.fromarray(pixels).convert(mode).save(path)
    return root


class Renamed(datasets.ImageFolder):
    """Other classes and samples than torchvision would find."""

    def __init__(self, root: Any, transform: Any = None, keep: int = COUNT) -> None:
        super().__init__(root, transform=transform)
        self.samples = [(path, 10 * label) for path, label in self.samples[:keep]]

    def find_classes(self, directory: Any) -> Any:
        names, _ = super().find_classes(directory)
        return names, {name: 7 - i for i, name in enumerate(names)}


class Bare(datasets.DatasetFolder):
    """Without torchvision's own __init__, as DeiT's INatDataset."""

    def __init__(self, root: Any, transform: Any = None) -> None:
        self.loader, self.transform, self.target_transform = folders.default_loader, transform, None
        self.samples = [(str(path), i) for i, path in enumerate(sorted(Path(root).rglob("*.*")))]


def listed(name: str) -> Callable[[Path, Any], Any]:
    """One of torchvision's classes as its own __init__ leaves it, of the files of a folder."""

    def made(root: Path, transform: Any = None) -> Any:
        kind = getattr(datasets, name)
        dataset = kind.__new__(kind)
        datasets.VisionDataset.__init__(dataset, root, transform=transform)
        paths = sorted(root.rglob("*.*"))
        labels = [i % 5 for i in range(len(paths))]
        dataset._image_files = dataset._images = paths
        dataset._labels, dataset._samples = labels, [*zip(map(str, paths), labels, strict=True)]
        dataset.loader, dataset._target_types = folders.default_loader, ["category"]
        return dataset

    return made


NAMES = (
    "Food101",
    "Flowers102",
    "DTD",
    "FGVCAircraft",
    "SUN397",
    "StanfordCars",
    "Imagenette",
    "RenderedSST2",
    "GTSRB",
    "OxfordIIITPet",
)
MAKERS: dict[str, Callable[[Path, Any], Any]] = {
    "ImageFolder": datasets.ImageFolder,
    "Renamed": Renamed,
    "Bare": Bare,
    **{name: listed(name) for name in NAMES},
}


def epochs(
    kind: Any, dataset: Any, workers: int = 0, change: Callable[[int], None] | None = None
) -> list[Any]:
    """Three epochs, and the state of torch's generator after each; the error where one comes."""
    torch.manual_seed(7)
    loader = kind(dataset, batch_size=4, shuffle=True, num_workers=workers)
    seen: list[Any] = []
    for epoch in range(3):
        try:
            seen += [list(batch) for batch in loader]
        except Exception as error:
            seen.append([base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"])
        seen.append(torch.get_rng_state() if workers == 0 else 0)
        if change is not None:
            change(epoch)
    return seen


def check(make: Callable[[], Any], workers: int = 0, native: bool = True, **options: Any) -> None:
    """Datasets that are made anew give what torch's loader gives of them."""
    resolved = resolve(make())
    assert isinstance(resolved, Reason) is not native, resolved
    theirs, ours = (epochs(kind, make(), workers, **options) for kind in (TorchDataLoader, OURS))
    assert difference(ours, theirs) == ""


@pytest.mark.parametrize("transform", [DRAWN, DRAWN2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", MAKERS)
def test_each_class(tree: Path, name: str, transform: Any) -> None:
    check(lambda: MAKERS[name](tree, transform))


@pytest.mark.parametrize("name", ["Renamed", "Food101"])
def test_workers_of_torchs(tree: Path, name: str) -> None:
    check(lambda: MAKERS[name](tree, DRAWN), workers=2)


def test_parts_of_several(tree: Path) -> None:
    def make(*more: Any) -> Any:
        parts = Renamed(tree, DRAWN, 9), Bare(tree, DRAWN), listed("DTD")(tree, DRAWN), *more
        return Subset(ConcatDataset(parts), [3, 40, 12, 9, 22, 3])

    check(make)
    paths = sorted(tree.rglob("*.*"))
    # gofast's datasets count changes, torchvision's are looked at. A mix of both is not native.
    check(lambda: make(gofast.ImageFiles(paths, [0] * COUNT, DRAWN)), native=False)


def _set(dataset: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(dataset, name, value)


CHANGES: dict[str, Callable[[Any], None]] = {
    "another transform": lambda d: _set(d, transform=v1.Compose([v1.Resize((5, 6)), v1.ToTensor()])),
    "inside the transform": lambda d: _set(d.transform.transforms[0], size=(7, 8)),
    "a transform of one's own": lambda d: _set(d, transform=lambda image: torch.tensor(image.size)),
    "target_transform": lambda d: _set(d, target_transform=lambda label: -label),
    "transforms": lambda d: _set(d, transforms=lambda image, label: (torch.zeros(2), label)),
    "inside transforms": lambda d: _set(
        d.transforms, transform=v1.Compose([v1.Resize((4, 9)), v1.ToTensor()])
    ),
    "other samples": lambda d: _set(d, samples=d.samples[5:], _samples=d._samples[3:]),
    "in the list": lambda d: [each.__setitem__(2, each[1]) for each in (d.samples, d._samples) if each],  # type: ignore[func-returns-value]
    "labels": lambda d: d._labels.__setitem__(1, 77),
    "labels of another type": lambda d: d._labels.__setitem__(1, 1.5),
    "a shorter list": lambda d: _set(d, samples=d.samples[:11], _labels=d._labels[:11]),
    "paths are no tuple's": lambda d: _set(d, samples=[*map(list, d.samples)]),
    "a file that is none": lambda d: _set(
        d, samples=[("nowhere.png", 1)], _image_files=["nowhere.png"] * COUNT
    ),
    "loader": lambda d: _set(d, loader=lambda path: PIL.Image.new("RGB", (30, 30), len(str(path)))),
    "nothing of it": lambda d: None,
    "a __getitems__": lambda d: _set(d, __getitems__=lambda indices: [(torch.zeros(1), i) for i in indices]),
    "not there": lambda d: [vars(d).pop(name) for name in ("transform", "transforms")],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["ImageFolder", "Food101", "OxfordIIITPet", "StanfordCars"])
def test_changes_after_an_epoch(tree: Path, name: str, change: str) -> None:
    """What is set shows as in torch, where it has an effect there; and goes back."""

    def run(kind: Any) -> Any:
        dataset = MAKERS[name](tree, v1.Compose([v1.RandomCrop(8), v1.ToTensor()]))
        dataset.__dict__.setdefault("samples", [])
        for other in ("_samples", "_labels", "_image_files"):
            dataset.__dict__.setdefault(other, [0, 0, 0, 0, 0])
        before = dict(vars(dataset))

        def at(epoch: int) -> None:
            if epoch == 0:
                CHANGES[change](dataset)
            else:
                vars(dataset).clear()
                vars(dataset).update(before)

        return epochs(kind, dataset, change=at)

    assert difference(run(OURS), run(TorchDataLoader)) == ""


@pytest.mark.parametrize("attribute", ["transform", "samples", "target_transform", "__class__", "of a class"])
def test_what_is_set_in_the_middle_of_an_epoch(tree: Path, attribute: str) -> None:
    def run(kind: Any) -> Any:
        own = type("Own", (Renamed,), {})
        dataset, seen = own(tree, v1.Compose([v1.CenterCrop(8), v1.ToTensor()])), []
        values = {
            "__class__": type("Other", (own,), {"__getitem__": lambda self, index: (torch.zeros(2), index)}),
            "transform": v1.Compose([v1.CenterCrop(5), v1.ToTensor()]),
            "samples": dataset.samples[::-1],
            "target_transform": lambda label: label + 1,
        }
        for i, batch in enumerate(kind(dataset, batch_size=4)):
            seen.append(list(batch))
            if i == 1 and attribute == "of a class":
                own.__getitem__ = lambda self, index: (torch.ones(3), index)  # type: ignore[attr-defined]
            elif i == 1:
                setattr(dataset, attribute, values[attribute])
        return seen

    assert difference(run(OURS), run(TorchDataLoader)) == ""


def test_the_targets_of_pets_in_the_middle_of_an_epoch(tree: Path) -> None:
    def run(kind: Any) -> Any:
        dataset, seen = listed("OxfordIIITPet")(tree, v1.Compose([v1.CenterCrop(8), v1.ToTensor()])), []
        dataset._bin_labels, dataset._target_types = [99] * COUNT, ["category"]
        for i, batch in enumerate(kind(dataset, batch_size=4)):
            seen.append(list(batch))
            if i == 1:
                dataset._target_types[0] = "binary-category"
        return seen

    assert difference(run(OURS), run(TorchDataLoader)) == ""


class Referring(datasets.ImageFolder):
    """Its transforms refer to it."""

    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform, self.own)
        self.transform.owner = self

    def own(self, label: int) -> int:
        return label + 1


@pytest.mark.parametrize("more", [[], [v1.Lambda(lambda x: x + 1)]])
def test_a_dataset_goes_with_its_loader(tree: Path, more: list[Any]) -> None:
    dataset = Referring(tree, v1.Compose([v1.CenterCrop(8), v1.ToTensor(), *more]))
    loader = OURS(dataset, batch_size=4)
    assert len([*loader]) == len([*loader]) == -(-COUNT // 4)
    gone = weakref.ref(dataset)
    del dataset, loader
    gc.collect()
    assert gone() is None


def test_an_empty_name_is_no_folder(tree: Path) -> None:
    def make() -> Any:
        dataset = Renamed(tree, DRAWN)
        dataset.samples[5] = "", 1
        return dataset

    check(make, native=False)


class Own(datasets.ImageFolder):
    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return image, -label


class Shorter(datasets.ImageFolder):
    def __len__(self) -> int:
        return 5


class Reading(datasets.ImageFolder):
    @property
    def loader(self) -> Any:
        return lambda path: PIL.Image.new("RGB", (40, 40), (9, 8, 7))

    @loader.setter
    def loader(self, loader: Any) -> None:
        pass


class Counting(datasets.ImageFolder):
    def __getattribute__(self, name: str) -> Any:
        return 3 * super().__getattribute__(name)[:2] if name == "samples" else super().__getattribute__(name)


class Equal(datasets.ImageFolder):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Whole(datasets.ImageFolder):
    def __getitems__(self, indices: list[int]) -> Any:
        return [(torch.zeros(2), -i) for i in indices]


@pytest.mark.parametrize(
    "kind", [Own, Shorter, Reading, Counting, Equal, Whole], ids=lambda kind: kind.__name__
)
def test_whatever_a_subclass_does_itself_is_torchs(tree: Path, kind: Any) -> None:
    check(lambda: kind(tree, DRAWN), native=False)


@pytest.mark.parametrize("types", ["binary-category", "segmentation", ["category", "binary-category"]])
def test_other_targets_of_pets(tree: Path, types: Any) -> None:
    def make() -> Any:
        dataset = MAKERS["OxfordIIITPet"](tree, DRAWN)
        dataset._target_types = [types] if isinstance(types, str) else types
        dataset._bin_labels, dataset._segs = [1] * COUNT, dataset._images
        return dataset

    check(make, native=False)


def test_a_joint_transform_is_torchs(tree: Path) -> None:
    def make() -> Any:
        dataset = MAKERS["OxfordIIITPet"](tree, None)
        dataset.transforms = lambda image, label: (DRAWN(image), label + 1)
        return dataset

    check(make, native=False)


def test_patched_functions_are_called(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = PIL.Image.open
    with monkeypatch.context() as patch:
        patch.setattr(PIL.Image, "open", lambda *args: own(*args).rotate(90))
        for name in ("ImageFolder", "GTSRB"):
            check(lambda name=name: MAKERS[name](tree, DRAWN), native=False)  # type: ignore[misc]
    with monkeypatch.context() as patch:
        patch.setattr(folders, "pil_loader", lambda path: own(path).convert("RGB").rotate(90))
        check(lambda: Renamed(tree, DRAWN), native=False)
    with monkeypatch.context() as patch:
        get = datasets.DatasetFolder.__getitem__
        patch.setattr(datasets.DatasetFolder, "__getitem__", lambda self, i: (get(self, i)[0], -1))
        check(lambda: Renamed(tree, DRAWN), native=False)
    check(lambda: Renamed(tree, DRAWN))


def test_paths_start_from_where_the_process_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(kind: Any) -> Any:
        monkeypatch.chdir(tree)
        dataset = datasets.ImageFolder(".", DRAWN)
        places = [tree / "a", tree, tree]
        return epochs(kind, dataset, change=lambda epoch: monkeypatch.chdir(places[epoch]))

    assert difference(run(OURS), run(TorchDataLoader)) == ""


@pytest.mark.parametrize("seed", range(30))
def test_random_lists(tree: Path, seed: int) -> None:
    """Lists name files in any order and number, damaged and missing ones too, with labels of many kinds."""
    d = random.Random(seed)
    paths = [*map(str, sorted(tree.rglob("*.*")))]
    (tree.parent / "bad.jpg").write_bytes(Path(paths[1]).read_bytes()[:400])
    if d.random() < 0.4:
        paths += [str(tree.parent / "bad.jpg"), str(tree / "missing.png"), str(tree)]
    chosen = d.choices(paths, k=d.randrange(1, 30))
    kind: Callable[[int], Any] = d.choice([int, int, np.int64, float, str, bool, lambda i: (1 << 40) + i])
    labels = [kind(d.randrange(9)) for _ in chosen]
    transform = v1.Compose([v1.RandomResizedCrop(d.randrange(1, 30)), v1.ToTensor()])

    def make() -> Any:
        dataset = MAKERS[random.Random(seed).choice([*MAKERS])](tree, transform)
        dataset.samples = dataset._samples = [*zip(chosen, labels, strict=True)]
        dataset._images = dataset._image_files = chosen
        dataset._labels = labels
        return dataset

    theirs, ours = (epochs(kind, make()) for kind in (TorchDataLoader, OURS))
    assert difference(ours, theirs) == ""


def test_explain_says_what_runs_where(tree: Path) -> None:
    native = gofast.explain(gofast.DataLoader(Renamed(tree, DRAWN)))
    assert ("Renamed", "C", "torchvision's list of files") in native.lines
    assert ("RandomResizedCrop", "C") in [line[:2] for line in native.lines]
    refused = gofast.explain(Renamed(tree, v1.ToTensor()))
    assert refused.lines[0][:2] == ("Renamed", "Python") and "no step before it" in refused.lines[0][2]
    torchs = gofast.explain(TorchDataLoader(Renamed(tree, DRAWN)))
    assert torchs.lines[0] == ("Renamed", "Python", "torchvision's: a gofast.DataLoader makes its batches")


def test_unmodified_scripts_gain(tree: Path) -> None:
    with gofast.install():
        loader = TorchDataLoader(Renamed(tree, DRAWN), batch_size=4)
        assert type(loader) is gofast.DataLoader and not isinstance(resolve(loader.dataset), Reason)

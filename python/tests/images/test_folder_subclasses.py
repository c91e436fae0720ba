"""Subclasses as people write them for torchvision's ImageFolder: the same class body over both bases."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, tv_tensors
from torchvision import transforms as T
from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader
from torchvision.transforms import v2

import fresh
import gofast
from gofast._loader.batch_source import BatchSource
from same import difference

DRAWING = T.Compose([T.RandomResizedCrop(9), T.ToTensor()])
BASES = (datasets.ImageFolder, gofast.ImageFolder)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for seed in range(9):
        path = root / ["ant", "bee", "cat"][seed % 3] / f"{seed}.png"
        path.parent.mkdir(exist_ok=True)
        pixels = np.random.default_rng(seed).integers(0, 256, (20 + seed, 24 - seed, 3), np.uint8)
        Image.fromarray(pixels).save(path)
    return root


def found(root: Path) -> list[tuple[str, int]]:
    return [(str(path), i % 5) for i, path in enumerate(sorted(root.rglob("*.png")))]


def without_init(base: Any) -> Any:
    """DeiT's INatDataset: sets what it needs by hand, and appends to samples."""

    class INat(base):
        def __init__(self, root: Path, transform: Any = None, loader: Any = default_loader) -> None:
            self.transform = transform
            self.loader = loader
            self.target_transform = None
            self.year = 2018
            self.samples: Any = []
            for path, label in found(root):
                self.samples.append((path, label))

    return INat


def samples_first(base: Any) -> Any:
    class SamplesFirst(base):
        def __init__(self, root: Path, transform: Any) -> None:
            self.samples: Any = []
            self.targets: Any = None
            super().__init__(root, transform)

    return SamplesFirst


def past_its_parent(base: Any) -> Any:
    """``super(ImageFolder, self)``: the arguments are DatasetFolder's."""

    class WithPaths(base):
        def __init__(self, root: Path, transform: Any) -> None:
            super(base, self).__init__(root, default_loader, IMG_EXTENSIONS, transform=transform)
            self.imgs = self.samples

        def __getitem__(self, index: int) -> Any:
            return (*super().__getitem__(index), self.imgs[index][0])

    return WithPaths


def own_names(base: Any) -> Any:
    """Attributes that are options of ours."""

    class Named(base):
        def __init__(self, root: Path, transform: Any) -> None:
            super().__init__(root, transform)
            self.rng = np.random.default_rng(0)
            self.seed, self.keys, self.dtype, self.index = "x", None, "float", 3
            self.channels_last = self.return_path = True

    return Named


def put_there(make: Callable[[list[tuple[str, int]]], Any], read: Callable[[Any, int], Any]) -> Any:
    """Something else in samples, and a ``__getitem__`` that reads it."""

    def body(base: Any) -> Any:
        class Own(base):
            def __init__(self, root: Path, transform: Any) -> None:
                super().__init__(root, transform)
                self.samples = make(found(root))

            def __getitem__(self, index: int) -> Any:
                path, label = read(self.samples, index)
                return self.transform(self.loader(path)), label

        return Own

    return body


def made_there(base: Any) -> Any:
    """An overridden make_dataset with entries of three parts."""

    class Made(base):
        @staticmethod
        def make_dataset(directory: Any, *_: Any, **__: Any) -> Any:
            return [(path, label, "more") for path, label in found(directory)]

        def __getitem__(self, index: int) -> Any:
            path, label, more = self.samples[index]
            return self.transform(self.loader(path)), label, more

    return Made


BODIES: dict[str, Callable[[Any], Any]] = {
    "without init": without_init,
    "samples first": samples_first,
    "past its parent": past_its_parent,
    "own names": own_names,
    "make_dataset": made_there,
    "three parts": put_there(lambda s: [(p, y, "x") for p, y in s], lambda s, i: s[i][:2]),
    "plain paths": put_there(lambda s: [p for p, _ in s], lambda s, i: (s[i], i)),
    "dicts": put_there(lambda s: [{"p": p, "y": y} for p, y in s], lambda s, i: s[i].values()),
    "a dict": put_there(lambda s: dict(enumerate(s)), lambda s, i: s[i]),
    "a frame": put_there(lambda s: pd.DataFrame(s), lambda s, i: (s.iloc[i, 0], int(s.iloc[i, 1]))),
    "an array": put_there(lambda s: np.array(s), lambda s, i: (str(s[i][0]), int(s[i][1]))),
    "a tuple": put_there(tuple, lambda s, i: s[i]),
}


def _named(name: str, base: Any) -> Any:
    """A class that a pickle finds in this module."""
    made = BODIES[name](base)
    made.__qualname__ = f"{made.__name__}_{name.replace(' ', '_')}_{base.__module__.split('.')[0]}"
    globals()[made.__qualname__] = made
    return made


CLASSES = {name: [_named(name, base) for base in BASES] for name in BODIES}


def batches(dataset: Any, workers: int) -> list[Any]:
    torch.manual_seed(3)
    return list(DataLoader(dataset, 4, shuffle=True, num_workers=workers))


@pytest.mark.parametrize("name", CLASSES)
def test_subclasses_give_torchvisions_samples(tree: Path, name: str) -> None:
    theirs, ours = (kind(tree, DRAWING) for kind in CLASSES[name])
    assert len(theirs) == len(ours) == 9
    assert type(theirs.samples) is type(ours.samples)
    for attribute in ("targets", "imgs", "classes", "transforms"):
        assert hasattr(ours, attribute) or not hasattr(theirs, attribute)
    if hasattr(theirs, "targets"):
        assert theirs.targets == ours.targets
    for workers in (0, 2):
        expected = batches(theirs, workers)
        assert difference(expected, batches(ours, workers), strides=False) == ""
        torch.manual_seed(3)
        assert (
            difference(
                expected, list(gofast.DataLoader(ours, 4, shuffle=True, num_workers=workers)), strides=False
            )
            == ""
        )
    expected = batches(theirs, 0)
    for clone in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), copy.copy(ours)):
        assert difference(expected, batches(clone, 0), strides=False) == ""
    assert "Number of datapoints: 9" in repr(ours)


def test_a_subclass_without_init_is_native(tree: Path) -> None:
    ours = CLASSES["without init"][1](tree, DRAWING)
    assert isinstance(ours._native_view(), BatchSource) and isinstance(ours, datasets.ImageFolder)
    del ours.samples[3:]
    assert len(ours) == 3 and len(batches(ours, 0)) == 1


def test_samples_that_torchvision_could_not_read_are_its_errors(tree: Path) -> None:
    wrong: list[Any] = [[("a", 1, 2)], [("a",)], [3], pd.DataFrame({"path": ["a"]})]
    for samples in wrong:
        raised = []
        for base in BASES:
            dataset = base(tree)
            dataset.samples = samples
            assert dataset.samples is samples
            with pytest.raises(Exception) as caught:
                dataset[0]
            raised.append((type(caught.value), str(caught.value)))
        assert raised[0] == raised[1]
    for base in BASES:
        dataset = base(tree)
        dataset.samples = None
        with pytest.raises(TypeError):
            len(dataset)


def test_explain_says_that_samples_are_something_else(tree: Path) -> None:
    dataset = gofast.ImageFolder(tree, DRAWING)
    dataset.samples = [(path, label, "more") for path, label in dataset.samples]
    said = gofast.explain(dataset)
    assert "samples are no (path, label) of files: one call a sample" in said
    assert "samples holds something else than (path, label)" in said


def test_labels_of_numpy_are_given_as_they_are(tree: Path) -> None:
    """And are the core's where default_collate makes int64 of them."""
    for kind in (np.int64, np.int32, np.uint8, np.bool_, float, lambda label: [label]):
        theirs, ours = (base(tree, T.Compose([T.Resize((9, 9)), T.ToTensor()])) for base in BASES)
        for dataset in (theirs, ours):
            dataset.samples = [(path, kind(label)) for path, label in dataset.samples]
        assert ours._native_labels == (kind is np.int64)
        for collate in (list, torch.utils.data.default_collate):
            a, b = (next(iter(DataLoader(d, 3, collate_fn=collate))) for d in (theirs, ours))
            assert type(a[0][1]) is type(b[0][1]) and str(a[0][1]) == str(b[0][1])
            assert str(a[1]) == str(b[1])


def test_our_class_is_torchvisions_too(tree: Path) -> None:
    dataset = gofast.ImageFolder(tree, DRAWING)
    for kind in (datasets.ImageFolder, datasets.DatasetFolder, datasets.VisionDataset):
        assert isinstance(dataset, kind) and issubclass(gofast.ImageFolder, kind)
    mro = type(dataset).mro()
    assert mro.index(datasets.ImageFolder) > mro.index(gofast.images.FolderDataset)


def test_a_wrapper_of_torchvision_accepts_it(tree: Path) -> None:
    transform = v2.Compose([v2.ToImage(), v2.RandomCrop(9, pad_if_needed=True)])
    made = []
    for base in BASES:
        wrapped = datasets.wrap_dataset_for_transforms_v2(base(tree, transform))
        assert wrapped.classes == ["ant", "bee", "cat"] and len(wrapped.samples) == 9
        assert type(wrapped[0][0]) is tv_tensors.Image and f"{len(wrapped)}" in repr(wrapped)
        made.append(batches(wrapped, 0) + batches(pickle.loads(pickle.dumps(wrapped)), 2))
    assert difference(*made, strides=False) == ""


@pytest.mark.daily(1)
@pytest.mark.parametrize("first", ["gofast", "torchvision"])
def test_torchvision_is_joined_whenever_it_is_imported_and_never_imported(tree: Path, first: str) -> None:
    lazy = "import torchvision\n" if first == "gofast" else ""
    early = "import torchvision\n" if first == "torchvision" else ""
    code = f"""{early}
import sys
from gofast import ImageFolder, ImageFiles
if not {bool(early)}:
    ImageFolder({str(tree)!r})
    assert "torchvision" not in sys.modules
{lazy}
from torchvision.datasets import ImageFolder as Theirs
assert isinstance(ImageFolder({str(tree)!r}), Theirs)
assert ImageFolder({str(tree)!r}).classes == Theirs({str(tree)!r}).classes
Both = type("Both", (ImageFolder, Theirs), {{}})
assert len(Both({str(tree)!r})) == 9
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ours_in_the_place_of_torchvisions(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that puts our class there must not make it its own base."""
    code = f"""
import torchvision.datasets.folder as folder
import gofast
folder.ImageFolder = gofast.ImageFolder
assert len(folder.ImageFolder({str(tree)!r})) == 9
"""
    fresh.run(["-c", code], check=True)


def test_class_names_are_made_when_somebody_asks(tree: Path) -> None:
    ours = gofast.ImageFolder(tree, DRAWING)
    next(iter(gofast.DataLoader(ours, 2)))
    assert not {"classes", "class_to_idx"} & vars(ours).keys()  # each rank of a host would have its own
    sent = pickle.loads(pickle.dumps(ours))
    theirs = datasets.ImageFolder(tree)
    ours.classes.append("more")  # as in torchvision, the one does not follow from the other
    assert ours.classes == [*theirs.classes, "more"] and ours.class_to_idx == theirs.class_to_idx
    assert (sent.classes, sent.class_to_idx) == (theirs.classes, theirs.class_to_idx)
    assert copy.deepcopy(ours).classes == ours.classes


def test_a_subclass_with_a_class_attribute_of_that_name(tree: Path) -> None:
    def made(base: Any) -> Any:
        return type("Named", (base,), {"classes": ["none"], "class_to_idx": None})(tree)

    theirs, ours = map(made, BASES)
    assert (ours.classes, ours.class_to_idx) == (theirs.classes, theirs.class_to_idx)

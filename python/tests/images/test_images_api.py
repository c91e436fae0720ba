"""ImageFolder and ImageFiles as a user of torchvision meets them, beside torchvision itself."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from gofast import errors
from gofast._core.reason import Reason
from gofast._images import file_index as image_files
from gofast._loader.batch_source import BatchSource

PLAIN = T.Compose([T.Resize((12, 10)), T.ToTensor()])
# A worker of these imports torch and torchvision first: seconds.
OTHER_METHODS = [pytest.param(method, marks=pytest.mark.full) for method in ("spawn", "forkserver")]
DRAWING = T.Compose([T.RandomResizedCrop(9), T.RandomHorizontalFlip(), T.ToTensor()])


def picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (20 + seed % 7, 24 + seed % 5, 3), np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes, nested folders, upper-case and foreign extensions, a name that is no ASCII."""
    root = tmp_path_factory.mktemp("tree")
    names = [
        "cat/b.png",
        "cat/a.JPG",
        "cat/sub/0.jpeg",
        "cat/sub.jpg",
        "dog/1.png",
        "dog/x/y/2.png",
        "eel/ä.jpg",
    ]
    for seed, name in enumerate(names):
        picture(root / name, seed)
    (root / "cat" / "notes.txt").write_text("no picture")
    (root / "lost.jpg").write_text("in no class")
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache


def both(root: Any, *args: Any, **options: Any) -> tuple[datasets.ImageFolder, gofast.ImageFolder]:
    return datasets.ImageFolder(root, *args, **options), gofast.ImageFolder(root, *args, **options)


def same(theirs: Any, ours: Any) -> None:
    """Samples, and batches of a shuffled loader."""
    assert len(theirs) == len(ours)
    batches = []
    for dataset in (theirs, ours):
        torch.manual_seed(5)
        one = [dataset[i] for i in range(len(dataset))]
        batches.append([*one, *DataLoader(dataset, 3, shuffle=True)])
    for a, b in zip(*batches, strict=True):
        assert len(a) == len(b)
        assert torch.equal(a[0], b[0])
        assert torch.equal(torch.as_tensor(a[1]), torch.as_tensor(b[1])) and type(a[1]) is type(b[1])


def raised(make: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:
        make()
    return caught.value


def agree(theirs: Callable[[], Any], ours: Callable[[], Any], kind: type[Exception]) -> None:
    a, b = raised(theirs), raised(ours)
    assert isinstance(a, kind) and isinstance(b, kind)
    assert str(a) == str(b)


ATTRIBUTES = ("classes", "class_to_idx", "samples", "imgs", "targets", "root", "extensions")


@pytest.mark.parametrize("spelling", ["absolute", "slash", "path", "relative", "dot", "home"])
def test_attributes_are_torchvisions(tree: Path, spelling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree.parent)
    monkeypatch.setenv("HOME", str(tree.parent))
    root = {
        "absolute": str(tree),
        "slash": f"{tree}/",
        "path": tree,
        "relative": tree.name,
        "dot": f"./{tree.name}//",
        "home": f"~/{tree.name}",
    }[spelling]
    a, b = both(root, PLAIN)
    for name in ATTRIBUTES:
        assert getattr(a, name) == getattr(b, name), name
        assert type(getattr(a, name)) is type(getattr(b, name)), name
    assert b.imgs is b.samples
    same(a, b)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transform": PLAIN},
        {"transform": T.ToTensor(), "target_transform": T.Lambda(str)},
        {"target_transform": T.Lambda(str)},
        {"transform": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])},
    ],
    ids=str,
)
def test_repr_is_torchvisions(tree: Path, options: dict[str, Any]) -> None:
    a, b = both(tree, **options)
    assert repr(a) == repr(b)
    assert repr(a.transforms) == repr(b.transforms)
    if b.transforms is not None:
        image = Image.new("RGB", (3, 3))
        assert str(a.transforms(image, 1)) == str(b.transforms(image, 1))


def test_repr_of_a_subclass(tree: Path) -> None:
    def more(base: Any) -> Any:
        return type("Birds", (base,), {"extra_repr": lambda _: "Split: x\nFold: 1", "_repr_indent": 2})(
            tree, PLAIN
        )

    assert repr(more(datasets.ImageFolder)) == repr(more(gofast.ImageFolder))


def test_folders_without_pictures_or_classes(tree: Path, tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg", 0)
    for root, kind in (
        (str(tmp_path / "none"), FileNotFoundError),
        (tmp_path, FileNotFoundError),
        (str(tmp_path), FileNotFoundError),
        (tree / "lost.jpg", NotADirectoryError),
    ):
        agree(*(lambda c=c, root=root: c(root) for c in (datasets.ImageFolder, gofast.ImageFolder)), kind)
        for options in ({}, {"classes": ["a"]}, {"is_valid_file": bool}):
            with pytest.raises(errors.GofastError) as caught:
                gofast.ImageFolder(root, **options)
            again = pickle.loads(pickle.dumps(caught.value))
            assert isinstance(again, kind) and (again.path, again.errno) == (
                os.fspath(root),
                caught.value.errno,
            )
            assert isinstance(again, errors.NotFoundError if kind is FileNotFoundError else errors.ReadError)


def test_empty_classes(tmp_path: Path) -> None:
    picture(tmp_path / "full" / "a.jpg", 0)
    for name in ("void", "blank"):
        (tmp_path / name).mkdir()
    (tmp_path / "void" / "x.txt").write_text("")
    kinds = (datasets.ImageFolder, gofast.ImageFolder)
    agree(*(lambda c=c: c(tmp_path) for c in kinds), FileNotFoundError)
    agree(
        *(lambda c=c: c(tmp_path, is_valid_file=lambda p: p.endswith(".jpg")) for c in kinds),
        FileNotFoundError,
    )
    a, b = both(tmp_path, PLAIN, allow_empty=True)
    assert (a.classes, a.samples, a.targets) == (b.classes, b.samples, b.targets)
    assert b.classes == ["blank", "full", "void"] and b.targets == [1]
    same(a, b)


def test_make_dataset_says_what_is_wrong(tree: Path) -> None:
    kinds = (datasets.ImageFolder, gofast.ImageFolder)
    classes = {"cat": 0}
    agree(*(lambda c=c: c.make_dataset(tree, classes) for c in kinds), ValueError)
    agree(*(lambda c=c: c.make_dataset(tree, classes, (".jpg",), bool) for c in kinds), ValueError)
    agree(*(lambda c=c: c.make_dataset(tree, {}, (".jpg",)) for c in kinds), ValueError)
    agree(*(lambda c=c: c.make_dataset(tree, None, (".jpg",)) for c in kinds), ValueError)
    agree(*(lambda c=c: c.make_dataset(tree, {"cow": 3, "ant": 4}, ".jpg") for c in kinds), FileNotFoundError)
    for options in ((".jpg",), (".png", ".jpeg")), ((".jpg"),):
        for extensions in options:
            a, b = (c.make_dataset(tree, classes, extensions) for c in kinds)
            assert a == b


def test_is_valid_file(tree: Path) -> None:
    asked: list[list[str]] = [[], []]

    def valid(seen: list[str]) -> Callable[[str], bool]:
        return lambda path: (
            seen.append(path) is None and not path.endswith("b.png") and not path.endswith("txt")
        )

    a = datasets.ImageFolder(tree, PLAIN, is_valid_file=valid(asked[0]))
    b = gofast.ImageFolder(tree, PLAIN, is_valid_file=valid(asked[1]))
    assert asked[0] == asked[1]
    for name in ATTRIBUTES:
        assert getattr(a, name) == getattr(b, name), name
    assert b.extensions is None
    same(a, b)


def subclass(base: Any, **methods: Any) -> Any:
    return type("Mine", (base,), methods)


def test_find_classes_overridden(tree: Path) -> None:
    def some(self: Any, directory: Any) -> tuple[list[str], dict[str, int]]:
        return ["eel", "cat"], {"eel": 7, "cat": 2}

    a, b = (subclass(c, find_classes=some)(tree, PLAIN) for c in (datasets.ImageFolder, gofast.ImageFolder))
    for name in ATTRIBUTES:
        assert getattr(a, name) == getattr(b, name), name
    same(a, b)


@pytest.mark.parametrize(
    "found", [{"cat/sub": 0}, {"cat": 1 << 40}, {"cat": 1.5}, {"cat": "felis"}, {}, {"cow": 0}], ids=str
)
def test_find_classes_that_only_python_understands(tree: Path, found: dict[str, Any]) -> None:
    made = {"find_classes": lambda self, directory: (list(found), found)}
    kinds = [subclass(c, **made) for c in (datasets.ImageFolder, gofast.ImageFolder)]
    if not found or "cow" in found:
        agree(*(lambda c=c: c(tree) for c in kinds), ValueError if not found else FileNotFoundError)
        return
    a, b = (c(tree, PLAIN) for c in kinds)
    assert a.samples == b.samples and a.targets == b.targets
    for x, y in zip(DataLoader(a, 2), DataLoader(b, 2), strict=True):
        assert torch.equal(x[0], y[0])
        assert (x[1] == y[1]).all() if isinstance(x[1], torch.Tensor) else x[1] == y[1]


def test_samples_that_are_no_files(tree: Path) -> None:
    def numbers(directory: Any, class_to_idx: Any, **_: Any) -> list[Any]:
        return [(i, i % 2) for i in range(6)]

    def paint(number: int) -> Image.Image:
        return Image.new("RGB", (4, 4), (number, 0, 0))

    a, b = (
        subclass(c, make_dataset=staticmethod(numbers))(tree, T.ToTensor(), loader=paint)
        for c in (datasets.ImageFolder, gofast.ImageFolder)
    )
    assert a.samples == b.samples
    same(a, b)
    same(a, copy.deepcopy(b))


def test_getitem_and_len_overridden(tree: Path) -> None:
    def twice(base: Any) -> Any:
        length = {"__len__": lambda self: 2 * len(self.samples)}
        item = {"__getitem__": lambda self, i: base.__getitem__(self, i % len(self.samples))}
        return subclass(base, **length, **item)(tree, DRAWING)

    same(twice(datasets.ImageFolder), twice(gofast.ImageFolder))


def test_loaders(tree: Path) -> None:
    seen: list[str] = []

    def grey(path: str) -> Image.Image:
        seen.append(path)
        return Image.open(path).convert("L")

    a, b = both(tree, PLAIN, None, grey)
    same(a, b)
    assert seen[: len(a)] == [path for path, _ in a.samples] and len(seen) == 4 * len(a)
    assert b.loader is grey
    for standard in (
        datasets.folder.default_loader,
        datasets.folder.pil_loader,
        None,
        gofast.images.default_loader,
    ):
        native = gofast.ImageFolder(tree, PLAIN, loader=standard)
        assert "resize" in str(native._plan.steps) and isinstance(native._native_view(), BatchSource)
        assert np.array_equal(
            native.loader(native.samples[0][0]), datasets.folder.pil_loader(a.samples[0][0])
        )
    a, b = both(tree, PLAIN)
    a.loader = b.loader = grey
    same(a, b)


def test_another_backend_of_torchvisions_is_a_loader(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = gofast.ImageFolder(tree, PLAIN, loader=datasets.folder.default_loader)
    assert isinstance(ours._native_view(), BatchSource)
    monkeypatch.setattr("torchvision._image_backend", "accimage")
    assert isinstance(ours._native_view(), Reason)


def test_transforms_assigned_later(tree: Path) -> None:
    a, b = both(tree)
    same_pictures = zip(a, (b[i] for i in range(len(b))), strict=False)
    assert all(np.array_equal(x[0], y[0]) and x[1] == y[1] for x, y in same_pictures)
    a.transform = b.transform = PLAIN
    same(a, b)
    a.transform = b.transform = DRAWING
    a.target_transform = b.target_transform = lambda label: label * 10
    same(a, b)
    assert repr(a) == repr(b)


def test_what_a_camera_says_reaches_the_users_code(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x112] = 6  # it lay on its side
    for name in ("a/1.jpg", "a/2.png", "a/3.webp", "a/4.tif", "b/5.jpg"):
        picture(tmp_path / name, 1)
        Image.open(tmp_path / name).save(tmp_path / name, exif=exif)
    a, b = both(tmp_path)
    ours = [b[i][0].info for i in range(len(b))]
    assert (
        ours == [x.info for x, _ in a] and sum("exif" in info for info in ours) == 4
    )  # Pillow drops a TIFF's
    for steps in ([], [T.CenterCrop((16, 20))], [T.ColorJitter(saturation=0.3)], [T.ColorJitter(0.3)]):
        a.transform = b.transform = T.Compose([*steps, ImageOps.exif_transpose, T.ToTensor()])
        assert [x.shape for x, _ in (b[i] for i in range(5))] == [x.shape for x, _ in a]


@pytest.mark.parametrize("rest", [[], [T.Lambda(lambda x: x + torch.rand(()))]], ids=["native", "rest"])
def test_labels_that_draw(tree: Path, rest: list[Any]) -> None:
    def noisy(label: int) -> float:
        return label + float(torch.rand(())) + (float(np.random.rand()) if rest else 0)

    transform = T.Compose([DRAWING, *rest, T.Lambda(lambda x: x * np.random.rand())][: None if rest else 1])
    made = []
    for dataset in both(tree, transform, noisy):
        torch.manual_seed(4)
        np.random.seed(4)
        made.append([*DataLoader(dataset, 3), *DataLoader(dataset, 4)])
    for x, y in zip(*made, strict=True):
        assert torch.equal(x[0], y[0]) and torch.equal(x[1], y[1])


# -- samples as a list ------------------------------------------------------------------


def assign(dataset: Any) -> None:
    dataset.samples = dataset.samples[1:4]


def relabel(dataset: Any) -> None:
    dataset.samples[3] = (dataset.samples[3][0], 11)


def mixed_labels(dataset: Any) -> None:
    dataset.samples[0] = (dataset.samples[0][0], 2.5)
    dataset.samples = [(path, float(label)) for path, label in dataset.samples]


def lists(dataset: Any) -> None:
    dataset.samples = [[path, label] for path, label in dataset.samples]


EDITS: list[Callable[[Any], Any]] = [
    assign,
    relabel,
    mixed_labels,
    lists,
    lambda dataset: dataset.samples.append(dataset.samples[0]),
    lambda dataset: dataset.samples.__delitem__(slice(0, 3)),
    lambda dataset: dataset.samples.reverse(),
    lambda dataset: dataset.imgs.pop(),
    lambda dataset: setattr(dataset, "samples", [(Path(p), t) for p, t in dataset.samples]),
]


def test_a_sample_without_label_is_torchvisions_error(tree: Path) -> None:
    said = []
    for dataset in both(tree, DRAWING):
        dataset.samples[0] = ("only a path",)  # type: ignore[assignment]
        for take in (lambda d: d[0], lambda d: next(iter(DataLoader(d, 2)))):
            with pytest.raises(ValueError) as caught:
                take(dataset)
            said.append((type(caught.value), str(caught.value)))
    assert said[:2] == said[2:]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("used", [False, True])
def test_edits_of_samples_are_followed(tree: Path, edit: Callable[[Any], Any], used: bool) -> None:
    a, b = both(tree, DRAWING)
    if used:
        same(a, b)
    for dataset in (a, b):
        edit(dataset)
    same(a, b)
    assert (a.samples, a.targets, a.imgs) == (b.samples, b.targets, b.imgs)
    joined = ConcatDataset([b, b])
    for loader in (gofast.DataLoader(joined, 100), DataLoader(joined, 100, num_workers=int(used))):
        assert next(iter(loader))[1].tolist() == 2 * [label for _, label in a.samples]
    for clone in (copy.copy(b), copy.deepcopy(b), pickle.loads(pickle.dumps(b))):
        same(a, clone)
        assert (a.samples, a.targets, a.imgs) == (clone.samples, clone.targets, clone.imgs)


def test_an_entry_changed_in_place(tree: Path) -> None:
    a, b = both(tree, PLAIN)
    for dataset in (a, b):
        lists(dataset)
    same(a, b)
    for dataset in (a, b):
        dataset.samples[2][1] = 40
    same(a, b)
    assert next(iter(gofast.DataLoader(b, len(b))))[1][2] == 40


def test_shallow_copies_share_the_list(tree: Path) -> None:
    a, b = both(tree, PLAIN)
    for dataset in (a, b):
        clone = copy.copy(dataset)
        clone.samples.pop()
        assert len(dataset) == len(clone)
        clone.samples = clone.samples[:2]
        assert len(dataset) > len(clone) == 2
        deep = copy.deepcopy(dataset)
        deep.samples.clear()
        assert len(dataset) > len(deep) == 0
    same(a, b)


def test_targets_change_nothing(tree: Path) -> None:
    a, b = both(tree, PLAIN)
    for dataset in (a, b):
        dataset.targets[0] = 99
        dataset.classes.append("more")
    same(a, b)
    assert a.targets == b.targets == pickle.loads(pickle.dumps(b)).targets
    a.targets = b.targets = [1]
    assert pickle.loads(pickle.dumps(b)).targets == [1]
    same(a, b)


# -- trees of datasets, workers, pickles --------------------------------------------------


def _attributes(dataset: Any) -> Any:
    return [getattr(dataset, name) for name in ATTRIBUTES], repr(dataset), dataset._files.path(0)


def _send_attributes(dataset: Any, sender: Any) -> None:
    sender.send(_attributes(dataset))


@pytest.mark.parametrize("method", ["forkserver", OTHER_METHODS[0]])
def test_a_process_is_handed_the_index(tree: Path, tmp_path: Path, method: str) -> None:
    root = tmp_path / "moved"
    shutil.copytree(tree, root)
    dataset = gofast.ImageFolder(root, PLAIN)
    expected = _attributes(dataset)
    root.rename(tmp_path / "away")
    context: Any = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(False)
    process = context.Process(target=_send_attributes, args=(dataset, sender))
    process.start()
    assert receiver.recv() == expected
    process.join()


def test_other_pickles_scan_again(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(tree, root)
    dataset = gofast.ImageFolder(root, PLAIN)
    kept = pickle.dumps(dataset)
    same(dataset, pickle.loads(kept))
    torch.save(dataset, tmp_path / "dataset.pt")
    same(dataset, torch.load(tmp_path / "dataset.pt", weights_only=False))
    picture(root / "dog" / "new.png", 9)
    with pytest.raises(errors.ChangedError, match="other files than when the dataset was pickled"):
        pickle.loads(kept)


class _Spawning:
    """What multiprocessing sets while it pickles for a process that is being spawned."""

    DupFd = int

    def __enter__(self) -> _Spawning:
        multiprocessing.context.set_spawning_popen(self)
        return self

    def __exit__(self, *_: Any) -> None:
        multiprocessing.context.set_spawning_popen(None)

    def duplicate_for_child(self, fd: int) -> int:
        return fd


def test_pickles_are_small(tmp_path: Path) -> None:
    for name in range(100):
        (tmp_path / "root" / f"class {name}").mkdir(parents=True)
        for i in range(1000):
            os.close(os.open(tmp_path / "root" / f"class {name}" / f"picture number {i}.jpg", os.O_CREAT))
    dataset = gofast.ImageFolder(tmp_path / "root", PLAIN)
    assert len(dataset.samples) == len(dataset.targets) == 100_000
    assert len(pickle.dumps(dataset)) < 100_000
    files = gofast.ImageFiles([path for path, _ in dataset.samples], dataset.targets, PLAIN)
    with _Spawning():
        assert len(pickle.dumps(dataset)) < 100_000
        dataset.samples = dataset.samples[:50_000]
        assert len(pickle.dumps(dataset)) < 100_000
        assert len(pickle.dumps(files)) < 100_000


# -- what gofast adds ----------------------------------------------------------------------


@pytest.mark.daily
@pytest.mark.parametrize("output", ["tuple", "dict"])
@pytest.mark.parametrize("extra", [("index",), ("path",), ("index", "path")])
@pytest.mark.parametrize(
    "transform", [PLAIN, DRAWING, T.Compose([T.Resize((8, 8)), T.ToTensor(), T.Lambda(lambda x: x)])]
)
def test_index_and_path(tree: Path, output: Any, extra: tuple[str, ...], transform: Any) -> None:
    options: dict[str, Any] = {"output": output, "keys": ("x", "y")}
    plain = gofast.ImageFolder(tree, transform, **options)
    options |= {f"return_{name}": True for name in extra}
    dataset = gofast.ImageFolder(tree, transform, **options)
    order = [4, 0, 2, 2, 6]
    made = []
    for one in (plain, dataset):
        torch.manual_seed(3)
        loaders = [DataLoader(one, sampler=order, batch_size=2, num_workers=n) for n in (0, 2)]
        loaders += [gofast.DataLoader(one, sampler=order, batch_size=2, num_workers=n) for n in (0, 2)]
        made.append([batch for loader in loaders for batch in loader])
    paths = [path for path, _ in dataset.samples]
    for position, (a, b) in enumerate(zip(*made, strict=True)):
        rows = order[position % 3 * 2 :][:2]
        values, more = (list(v.values()) if output == "dict" else v for v in (a, b))
        assert len(more) == 2 + len(extra)
        assert list(b) == ["x", "y", *extra] if output == "dict" else True
        assert torch.equal(values[0], more[0]) and torch.equal(values[1], more[1])
        if "index" in extra:
            assert more[2].dtype == torch.int64 and more[2].tolist() == rows
        if "path" in extra:
            assert more[-1] == (list if output == "dict" else tuple)(paths[i] for i in rows)
    row = dataset[-1]
    last = list(row.values()) if output == "dict" else list(row)
    assert last[2:] == [{"index": 6, "path": paths[6]}[name] for name in extra]


@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_a_subset_shorter_than_the_number_of_what_stands_in(tree: Path, tmp_path: Path, loader: Any) -> None:
    root = tmp_path / "damaged"
    shutil.copytree(tree, root)
    dataset = gofast.ImageFolder(root, T.Compose([T.RandomResizedCrop(8), T.ToTensor()]), on_error="replace")
    last = len(dataset) - 1
    Path(dataset.samples[last][0]).write_bytes(b"no picture")
    with pytest.warns(RuntimeWarning):
        images, _ = next(iter(loader(Subset(dataset, [last, 1]), 2)))
    assert images.shape == (2, 3, 8, 8) and list(dataset.bad_samples()) == [dataset.samples[last][0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("last", [False, True])
def test_dtypes_round_once(tree: Path, dtype: torch.dtype, last: bool) -> None:
    normalised = T.Compose([T.Resize((12, 10)), T.ToTensor(), T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4))])
    for transform in (normalised, T.Compose([normalised, T.Lambda(lambda x: x)])):
        a = datasets.ImageFolder(tree, transform)
        with warnings.catch_warnings():  # behind a Python step channels_last has no effect, and says so
            warnings.simplefilter("ignore", errors.GofastWarning)
            b = gofast.ImageFolder(tree, transform, dtype=dtype, channels_last=last)
        assert b[1][0].dtype == dtype and torch.equal(a[1][0].to(dtype), b[1][0])
        for x, y in zip(DataLoader(a, 3), DataLoader(b, 3), strict=True):
            assert torch.equal(x[0].to(dtype), y[0])


def test_dtype_of_what_is_no_float32(tree: Path) -> None:
    with pytest.raises(errors.OptionError, match="rounds float32 tensors"):
        gofast.ImageFolder(tree, T.Compose([T.Resize((8, 8)), T.PILToTensor()]), dtype=torch.float16)
    with pytest.raises(errors.OptionError, match="rounds float32 tensors"):
        gofast.ImageFolder(tree, dtype=torch.float16)[0]
    with pytest.raises(errors.OptionError, match="is not one of"):
        gofast.ImageFolder(tree, dtype=torch.int8)


def test_options_that_make_no_sense(tree: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"output": "list"},
        {"keys": ("a", "a")},
        {"keys": ("a", "index"), "return_index": True},
        {"rng": "numpy"},
        {"on_error": "ignore"},
    ]
    for options in wrong:
        with pytest.raises(errors.OptionError):
            gofast.ImageFolder(tree, **options)
    with pytest.raises(errors.OptionError, match=r'cannot leave a sample out.*"replace" \(by another'):
        gofast.ImageFolder(tree, on_error="skip")


# -- the index ------------------------------------------------------------------------------


def test_a_scan_is_kept(tree: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gofast.ImageFolder(tree)
    assert not list(own_cache.rglob("*.*")), "small folders are not worth a file"
    monkeypatch.setattr(image_files, "_KEPT_FROM", 1)
    first = gofast.ImageFolder(tree, PLAIN)
    kept = [path for path in own_cache.rglob("*") if path.is_file() and path.parent.name != "sizes"]
    assert len(kept) == 1 and kept[0].stat().st_size > 0
    same(first, gofast.ImageFolder(tree, PLAIN))
    at = tmp_path / "my.index"
    same(first, gofast.ImageFolder(tree, PLAIN, index=at))
    assert at.stat().st_size > 0
    nowhere = tmp_path / "no" / "folder"
    with pytest.raises(errors.ReadError) as caught:
        gofast.ImageFolder(tree, index=nowhere)
    assert str(nowhere) in str(caught.value)


def test_no_place_for_the_index(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(gofast.ImageFolder(tree)) == 7


def test_a_circle_of_links(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "1.png", 1)
    (tmp_path / "a" / "again").symlink_to("..", target_is_directory=True)
    a, b = both(tmp_path, PLAIN)
    assert a.samples == b.samples and len(b) > 10


def test_help_suffices() -> None:
    import inspect

    for kind in (gofast.ImageFolder, gofast.ImageFiles):
        text = (kind.__doc__ or "") + (gofast.ImageFolder.__doc__ or "")
        missing = [
            name
            for name in inspect.signature(kind).parameters
            if f"{name}:" not in text and f"{name}," not in text
        ]
        assert not missing


def test_our_huffman_decoder_fits_the_pinned_pillow(tree: Path) -> None:
    """Where it does not, pixels are the same and a decode takes half as long again: nobody would notice."""
    said = str(gofast.explain(gofast.ImageFolder(tree)))
    assert "Huffman codes by gofast" in said
    assert gofast.version()["jpeg"].endswith("Huffman codes by gofast")

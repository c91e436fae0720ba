"""gofast.preprocess and ArrayDataset.open beside the datasets that sets are made of."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset
from torchvision import transforms as T
from torchvision import tv_tensors
from torchvision.datasets import ImageFolder

import gofast
from forged import forged
from gofast import errors
from gofast._command.main import main
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from gofast._sets import set_files, writer
from gofast._tables import array_folder
from records import example, framed
from same import batches, difference, seeded

TYPES = ["uint8", "int16", "int64", "bool", "float16", "float32", "float64", "complex64"]


class Made(Dataset[Any]):
    """Samples that are made anew each time, and counted."""

    def __init__(self, count: int, make: Callable[[int], Any]) -> None:
        self.count, self.make, self.asked = count, make, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.count:
            raise IndexError(index)
        self.asked += 1
        return self.make(index)


def value(kind: str, dtype: str, shape: list[int], seed: int) -> Any:
    """Any value, the same each time."""
    r = np.random.default_rng(seed)
    if kind in ("int", "float", "bool"):
        return {"int": int(r.integers(-(1 << 63), (1 << 63) - 1)), "float": float(r.normal())}.get(
            kind, seed % 3 == 0
        )
    if kind == "scalar":
        return np.float32(r.normal())
    array = r.normal(size=shape) * 200
    array = (
        array.astype(np.int64).astype(dtype)
        if not dtype.startswith("complex")
        else (array + 1j).astype(dtype)
    )
    if kind == "array":
        return array
    tensor = torch.from_numpy(np.asarray(array))
    return (
        tensor.transpose(0, -1).contiguous().transpose(0, -1)
        if kind == "strided" and tensor.dim() > 1
        else tensor
    )


def maker(d: random.Random) -> Callable[[int], Any]:
    """A random kind of samples."""
    kinds = ["tensor", "tensor", "strided", "array", "int", "float", "bool", "scalar"]
    fields = [
        (d.choice(kinds), d.choice(TYPES), [d.randint(1, 5) for _ in range(d.randint(0, 3))])
        for _ in range(4)
    ]
    fields = fields[: d.randint(1, 4)]
    form = d.choice(["tuple", "dict", "bare"])
    names = d.sample(["image", "label", "x/y", "..", "Label", "mask", "\udc80é"], 4)

    def make(i: int) -> Any:
        made = [value(*field, i * 10 + n) for n, field in enumerate(fields)]
        return (
            made[0]
            if form == "bare"
            else tuple(made)
            if form == "tuple"
            else dict(zip(names, made, strict=False))
        )

    return make


def as_tensors(sample: Any) -> Any:
    """A sample as a set gives it: numbers are tensors."""
    if isinstance(sample, dict):
        return {name: as_tensors(one) for name, one in sample.items()}
    if isinstance(sample, (tuple, list)):
        return tuple(map(as_tensors, sample))
    return torch.utils.data.default_collate([sample])[0]


def in_order(ours: Any, theirs: Any) -> Any:
    """A dict with its keys in the other's order: a set has the largest value first."""
    return {name: ours[name] for name in theirs} | ours if isinstance(theirs, dict) else ours


def check(made: Any, of: Any, **options: Any) -> None:
    """Samples, and both loaders' batches, beside those of the dataset that the set was made of."""
    assert len(made) == len(of)
    for i in range(len(of)):
        assert difference(in_order(made[i], of[i]), as_tensors(of[i]), strides=False) == "", i
    options = {"batch_size": 5, "shuffle": True} | options
    want = batches(DataLoader(of, **options))
    for kind in (gofast.DataLoader, DataLoader):
        ours = [in_order(*both) for both in zip(batches(kind(made, **options)), want, strict=True)]
        assert difference(ours, want, strides=False) == "", kind


@pytest.mark.daily(15)
@pytest.mark.arrives("device")
@pytest.mark.parametrize("seed", range(30))
def test_random_samples(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    d = random.Random(seed)
    monkeypatch.setattr(writer, "_BLOCK", d.choice([1, 100, 5000]))
    monkeypatch.setattr(writer, "_OFTEN", d.choice([0, 1]))
    of = Made(d.randint(1, 40), maker(d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gofast.preprocess(of, tmp_path / "set", num_workers=d.choice([0, 0, 0, 2]))
    check(made, of)
    check(gofast.ArrayDataset.open(tmp_path / "set"), of, batch_size=d.randint(1, 9))
    gofast.verify(tmp_path / "set")
    for name in os.listdir(tmp_path / "set"):
        if name.endswith(".npy"):
            assert len(np.load(tmp_path / "set" / name, mmap_mode="r")) == len(of)


BEHIND = [
    T.RandomResizedCrop(20),
    T.RandomHorizontalFlip(),
    T.ToTensor(),
    T.Normalize((0.5,) * 3, (0.2,) * 3),
]


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    "front", [[T.Resize((32, 40))], [T.Resize(32), T.CenterCrop(30)], [T.Resize((9, 7)), T.Grayscale()]]
)
@pytest.mark.parametrize("library", [ImageFolder, gofast.ImageFolder])
def test_pictures_give_the_batches_of_the_whole_transform(
    library: Any, front: Any, folder: Path, tmp_path: Path
) -> None:
    behind = BEHIND[:-1] if isinstance(front[-1], T.Grayscale) else BEHIND
    small = library(str(folder), T.Compose(front))
    made = gofast.preprocess(small, tmp_path / "set")
    assert made.classes == small.classes and made.class_to_idx == small.class_to_idx
    for i in range(len(small)):
        picture, label = small[i]
        assert np.array_equal(made[i][0], np.asarray(picture)) and made[i][1] == label
    whole = ImageFolder(str(folder), T.Compose([*front, *behind]))
    native = T.Compose(behind)
    for transform, workers in itertools.product((native, lambda picture: native(picture)), (0, 2)):
        made.transform = transform
        want, *ours = (
            seeded(1, functools.partial(list, kind(of, 6, shuffle=True, num_workers=workers)))
            for kind, of in ((DataLoader, whole), (DataLoader, made), (gofast.DataLoader, made))
        )
        assert difference(ours, [want, want]) == ""
    made.transform = T.Compose(behind)
    assert not isinstance(resolve(made), Reason)


def test_views_and_other_datasets(folder: Path, tmp_path: Path) -> None:
    tensors = T.Compose([T.Resize((12, 12)), T.PILToTensor()])
    pictures = gofast.ImageFolder(folder, tensors)
    unlabelled = gofast.ImageFiles([path for path, _ in pictures.samples], transform=tensors)
    np.save(tmp_path / "table.npy", np.arange(60.0).reshape(12, 5))
    table = gofast.TableDataset(tmp_path / "table.npy", label=None)
    arrays = gofast.ArrayDataset(torch.rand(9, 3), torch.arange(9), scale=None, output="dict")
    (tmp_path / "a.tfrecord").write_bytes(framed(example({"x": [0.5, i], "y": [i]}) for i in range(9)))
    small = gofast.ImageFolder(folder, T.Resize((8, 8)))
    for number, of in enumerate(
        [
            Subset(pictures, [3, 1, 1, -2]),
            ConcatDataset([pictures, Subset(pictures, range(5))]),
            unlabelled,
            table,
            arrays,
            gofast.TFRecordDataset(tmp_path / "a.tfrecord"),
            gofast.ImageFolder(folder, tensors, output="dict", return_index=True),
        ]
    ):
        check(gofast.preprocess(of, tmp_path / str(number)), of)
    plain = [(i, torch.tensor(i)) for i in range(7)]
    assert gofast.preprocess(plain, tmp_path / "list")[3] == plain[3]  # type: ignore[arg-type]
    made = gofast.preprocess(ConcatDataset([small, Subset(small, [4, 2])]), tmp_path / "pil")
    assert np.array_equal(made[-1][0], np.asarray(small[2][0])) and made.classes == small.classes


def test_what_preprocess_and_save_and_an_in_memory_dataset_do(tmp_path: Path) -> None:
    of = Made(20, lambda i: (torch.full((3, 4, 4), i, dtype=torch.uint8), i % 3))
    made = gofast.preprocess(of, tmp_path / "train.set")
    torch.save(dict(zip(made.keys, made.tensors, strict=True)), tmp_path / "train.pt")
    loaded = torch.load(tmp_path / "train.pt")
    assert torch.equal(loaded["image"], torch.stack([of[i][0] for i in range(20)]))
    assert np.array_equal(np.load(tmp_path / "train.set" / "label.npy"), [i % 3 for i in range(20)])
    scaled = gofast.ArrayDataset.open(tmp_path / "train.set", scale="unit")
    assert torch.equal(scaled[7][0], of[7][0] / 255)


def test_a_pickle_of_a_set_that_was_made_anew(tmp_path: Path) -> None:
    of = Made(10, lambda i: (torch.full((2, 3), i), i))
    made = gofast.preprocess(of, tmp_path / "set")
    pickled = pickle.dumps(made)
    gofast.preprocess(Made(10, lambda i: (torch.full((2, 3), i + 1), i)), tmp_path / "set", overwrite=True)
    check(made, of)  # what was mapped stays
    with pytest.raises(errors.ChangedError):
        pickle.loads(pickled)


# -- what is refused -----------------------------------------------------------------


def test_samples_of_other_sizes_are_named(folder: Path, tmp_path: Path) -> None:
    of = gofast.ImageFolder(folder, T.Resize(12))
    sizes = [of[i][0].size for i in range(len(of))]
    first = next(i for i, size in enumerate(sizes) if size != sizes[0])
    with pytest.raises(
        errors.SchemaError,
        match=rf"sample {first} \(.*{os.path.basename(of.samples[first][0])}\).*Resize\(\(h, w\)\)",
    ):
        gofast.preprocess(of, tmp_path / "set")
    for odd in (
        lambda i: torch.zeros(2, dtype=torch.int8 if i == 5 else torch.int16),
        lambda i: {"a": 1} if i != 5 else {"b": 1},
        lambda i: (1, 2) if i != 5 else {"features": 1, "label": 2},
        lambda i: (1,) if i != 5 else 1,
    ):
        with pytest.raises(errors.SchemaError, match="sample 5: "):
            gofast.preprocess(Made(9, odd), tmp_path / "odd")
    with pytest.raises(errors.UnsupportedError, match=r"sample 5: 'label': a str"):
        gofast.preprocess(Made(9, lambda i: (1, "a" if i == 5 else 2)), tmp_path / "odd", overwrite=True)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda i: (1, "text"), "'1': a str"),
        (lambda i: torch.zeros(2, dtype=torch.bfloat16), "bfloat16"),
        (lambda i: torch.zeros(0), "array of float32"),
        (lambda i: 1 << 63, "64 bits"),
        (lambda i: (), "without values"),
        (lambda i: {1: 2}, "no str"),
        (lambda i: Image.new("CMYK", (4, 4)), "CMYK"),
        (lambda i: torch.zeros(2, device="meta"), "meta"),
        (lambda i: {"a": {"b": 1}}, "'a': a dict"),
        (lambda i: np.array(["a"]), "array of <U1"),
        (lambda i: np.ma.array([1.0, 2.0], mask=[0, 1]), "a MaskedArray"),
        (lambda i: (tv_tensors.Image(torch.ones(3, 4, 4)), tv_tensors.Mask(torch.ones(4, 4))), "'1': a Mask"),
        (lambda i: torch.ones(3).to(torch.float8_e4m3fn), "float8"),
        (lambda i: Image.new("RGB", (0, 4)), r"uint8 \[4, 0, 3\]"),
    ],
)
def test_values_that_are_not_kept(make: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(errors.UnsupportedError, match=said):
        gofast.preprocess(Made(3, make), tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_random_transforms_are_refused_by_name(folder: Path, tmp_path: Path) -> None:
    hidden = np.random.default_rng(0)
    for of, said in [
        (gofast.ImageFolder(folder, T.Compose([T.Resize((9, 9)), T.RandomCrop(8)])), "^RandomCrop draws"),
        (
            Subset(ImageFolder(str(folder), T.Compose([T.ColorJitter(0.5), T.Resize((9, 9))])), [0]),
            "^ColorJitter draws",
        ),
        (Made(3, lambda i: torch.rand(2)), "^making a sample draws"),
        (Made(3, lambda i: (random.random() < 2, 1)), "^making a sample draws"),
        (Made(3, lambda i: hidden.random()), "^making a sample draws"),
    ]:
        with pytest.raises(errors.OptionError, match=said):
            gofast.preprocess(of, tmp_path / "set")
        assert not (tmp_path / "set").exists()
    made = gofast.preprocess(Made(3, lambda i: torch.rand(2)), tmp_path / "set", allow_random=True)
    assert (
        difference(
            made[1],
            gofast.preprocess(Made(3, lambda i: torch.rand(2)), tmp_path / "set", allow_random=True)[1],
        )
        == ""
    )


def test_generators_of_a_dataset_are_found_when_samples_are_compared(tmp_path: Path) -> None:
    hidden, refused = random.Random(3), 0
    for number in range(20):
        of, path = Made(9, lambda i: torch.tensor([i, hidden.random() < 0.5])), tmp_path / str(number)
        try:
            gofast.preprocess(of, path)
        except errors.OptionError as error:
            refused += 1
            if "made again" in str(error):
                with pytest.raises(errors.NotFoundError, match="unfinished"):
                    gofast.ArrayDataset.open(path)
                of.asked = 0
                assert len(gofast.preprocess(of, path, allow_random=True)) == 9 and of.asked == 1
    assert refused >= 19  # one of 1000 escapes; two looks at the first sample would let half go


def test_samples_that_are_views_of_one_buffer(tmp_path: Path) -> None:
    buffer = torch.zeros(4)
    for workers in (0, 2):
        made = gofast.preprocess(Made(9, buffer.fill_), tmp_path / str(workers), num_workers=workers)
        assert made.tensors[0][:, 3].tolist() == [*range(9)]


class Own(OSError):
    """torch's loader cannot make it again of a text."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_of_the_dataset_are_its_own(workers: int, tmp_path: Path) -> None:
    def make(i: int) -> Any:
        if i == 7:
            raise Own(2, 3)
        return torch.tensor(i)

    with pytest.raises(Own):
        gofast.preprocess(Made(9, make), tmp_path / "set", num_workers=workers)


def test_a_sample_is_named_where_paths_are_others(tmp_path: Path) -> None:
    part = Made(3, lambda i: torch.ones(2 + (i == 2)))
    part.samples = [("a.mp4", 0)]  # type: ignore[attr-defined]  # of several samples each
    named = Made(3, part.make)
    named.samples = [(f"{i}.mp4", 0) for i in range(3)]  # type: ignore[attr-defined]
    for of, said in ((part, "sample 2: "), (Subset(ConcatDataset([part, named]), [0, -1]), r"1 \(2.mp4\)")):
        with pytest.raises(errors.SchemaError, match=said):
            gofast.preprocess(of, tmp_path / "set")


def test_generators_stay(folder: Path, tmp_path: Path) -> None:
    of = gofast.ImageFolder(folder, T.Resize((9, 9)))
    states = [seeded(1, lambda: gofast.preprocess(of, tmp_path / "set"))[1] for _ in range(2)]
    assert states == [seeded(1, lambda: None)[1]] * 2


class Endless(torch.utils.data.IterableDataset[int]):
    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        return iter(range(3))


def test_no_samples_and_no_length(tmp_path: Path) -> None:
    for of in (Made(0, int), [], iter([1]), Endless()):
        with pytest.raises(errors.OptionError, match="map-style"):
            gofast.preprocess(of, tmp_path / "set")  # type: ignore[arg-type]


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "0.npy").write_text("mine")
    for options in ({}, {"overwrite": True}):
        with pytest.raises(errors.OptionError, match=r"other files, such as 0\.npy"):
            gofast.preprocess(Made(3, torch.tensor), tmp_path, **options)
    assert os.listdir(tmp_path) == ["0.npy"] and (tmp_path / "0.npy").read_text() == "mine"
    with pytest.raises(errors.ReadError):
        gofast.preprocess(Made(3, torch.tensor), tmp_path / "0.npy")


class Seen(Subset[Any]):
    """All samples of a dataset, and what a transform makes of them."""

    def __init__(self, dataset: Any, transform: Any) -> None:
        super().__init__(dataset, range(len(dataset)))
        self.transform = transform

    def __getitem__(self, index: Any) -> Any:
        return self.transform(super().__getitem__(index)[0])

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[i] for i in indices]


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def test_another_dataset_is_refused(folder: Path, tmp_path: Path) -> None:
    def pictures(size: int) -> Any:
        return gofast.ImageFolder(folder, T.Compose([T.Resize((9, 9)), T.CenterCrop(size), T.CenterCrop(5)]))

    path = tmp_path / "set"
    gofast.preprocess(pictures(8), path)
    gofast.preprocess(pictures(8), path)
    with pytest.raises(
        errors.OptionError,
        match=r"its transform had CenterCrop.*8.* where the dataset's has CenterCrop.*7.*ArrayDataset.open\(",
    ):
        gofast.preprocess(pictures(7), path)
    some = pictures(8).samples[3][0]
    os.utime(some, ns=(1, 1))
    with pytest.raises(errors.OptionError, match="files are others now"):
        gofast.preprocess(pictures(8), path)
    gofast.preprocess(pictures(8), path, overwrite=True)
    with pytest.raises(errors.OptionError, match="it has 20 samples, and the dataset has 7"):
        gofast.preprocess(Subset(pictures(8), range(7)), path)
    for number, (kind, values) in enumerate(
        [
            (gofast.ArrayDataset, np.arange(1000.0)),
            (torch.utils.data.TensorDataset, torch.arange(1000)),
            (lambda x: gofast.TableDataset(saved(tmp_path / "x.npy", x), label=None), np.ones((1000, 2))),
        ]
    ):
        gofast.preprocess(kind(values), tmp_path / str(number))
        gofast.preprocess(kind(values), tmp_path / str(number))
        values[77] = 5
        with pytest.raises(errors.OptionError, match="holds in memory"):
            gofast.preprocess(kind(values), tmp_path / str(number))
    same = torch.utils.data.TensorDataset(torch.ones(4, 1, 8, 8))
    gofast.preprocess(Seen(same, T.CenterCrop(4)), tmp_path / "seen")
    with pytest.raises(errors.OptionError, match=r"had CenterCrop.* where the dataset's has Resize"):
        gofast.preprocess(Seen(same, T.Resize(4)), tmp_path / "seen")
    with pytest.raises(errors.OptionError, match=r"^RandomCrop draws"):
        gofast.preprocess(Seen(same, T.RandomCrop(8)), tmp_path / "drawn")
    for name, write, opened in (
        ("a.tfrecord", lambda x: framed(example({"x": [float(one)]}) for one in x), gofast.TFRecordDataset),
        (
            "a.bin",
            lambda x: np.asarray(x, np.uint16).tobytes(),
            lambda path: gofast.tokens.TokenDataset(path, 1),
        ),
    ):
        values = [*range(50)]
        for _ in range(2):
            (tmp_path / name).write_bytes(write(values))
            os.utime(tmp_path / name, ns=(1, values[3]))
            with contextlib.ExitStack() as refused:
                if values[3] != 3:
                    refused.enter_context(pytest.raises(errors.OptionError, match="files are others now"))
                gofast.preprocess(opened(tmp_path / name), tmp_path / f"{name}.set")
            values[3] = 7
    numbers = tmp_path / "numbers"
    gofast.preprocess(Made(50, torch.tensor), numbers)
    with pytest.raises(errors.OptionError, match="sample 7 has other values"):
        gofast.preprocess(Made(50, lambda i: torch.tensor(i + (i == 7))), numbers)


# -- going on ------------------------------------------------------------------------


class Broken(Made):
    """Its last samples fail, until it is mended."""

    error: BaseException | None = KeyboardInterrupt()

    def __getitem__(self, index: int) -> Any:
        if index >= 30 and self.error is not None:
            raise self.error
        return super().__getitem__(index)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("a bad file"), MemoryError()])
def test_it_goes_on_behind_what_is_written(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_BLOCK", 100)
    of, path = Broken(40, lambda i: (torch.full((5,), i), i)), tmp_path / "set"
    of.error = error
    monkeypatch.setattr("gofast._sets.samples_writer._BATCH", 48 * 6)
    with pytest.raises(type(error)):
        gofast.preprocess(of, path)
    with pytest.raises(errors.NotFoundError, match=r"unfinished: .*goes on there"):
        gofast.ArrayDataset.open(path)
    other = Broken(40, lambda i: (torch.full((5,), i + (i == 29)), i))
    with pytest.raises(errors.OptionError, match="another dataset: sample 29 has other values"):
        gofast.preprocess(other, path)
    with pytest.raises(errors.OptionError, match=r"another dataset: it has 40 samples, and .* has 41"):
        gofast.preprocess(Broken(41, of.make), path)
    of.error, of.asked = None, 0
    check(gofast.preprocess(of, path), Made(40, of.make))
    assert of.asked - 3 - 8 - 10 - 8 == 0  # looked at, compared, the rest, and compared
    gofast.verify(path)


def test_damaged_samples_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_BLOCK", 200)
    monkeypatch.setattr("gofast._sets.samples_writer._BATCH", 48)
    monkeypatch.setattr(writer, "_OFTEN", 0)
    for seed in range(30):
        d, path = random.Random(seed), tmp_path / str(seed)
        of = Broken(40, lambda i: (torch.full((5,), i), i))
        with pytest.raises(KeyboardInterrupt):
            gofast.preprocess(of, path)
        harmed = path / d.choice(["features.npy", "label.npy", array_folder.PART, array_folder.PART])
        content = bytearray(harmed.read_bytes())
        if d.random() < 0.5:
            content[d.randrange(content.find(b"\n") + 1, len(content))] ^= 1 << d.randrange(8)
        else:
            del content[d.randrange(content.find(b"\n") + 1, len(content)) :]
        harmed.write_bytes(content)
        of.error = None
        check(gofast.preprocess(of, path), of)
        gofast.verify(path)


def test_one_of_several_processes_makes_it(tmp_path: Path) -> None:
    of, path = Made(50, lambda i: (torch.full((5,), i), i)), tmp_path / "set"
    asked = multiprocessing.Value("i", 0)

    def make() -> None:
        gofast.preprocess(of, path)
        with asked:
            asked.value += of.asked

    processes = [multiprocessing.get_context("fork").Process(target=make) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    check(gofast.ArrayDataset.open(path), of)
    assert asked.value == 50 + 4 * 3 + 4 * 8  # made, looked at, compared
    assert sorted(os.listdir(path)) == ["arrays.jsonl", "features.npy", "label.npy"]


def test_overwriting_that_is_killed(tmp_path: Path) -> None:
    of, path = Made(50, lambda i: (torch.full((5,), i), i)), tmp_path / "set"
    other = Made(50, lambda i: {"a": i, "b": i, "c": i})

    def make(calls: int) -> None:
        def counted(do: Any, *args: Any) -> Any:
            nonlocal calls
            if calls == 0:
                os._exit(9)
            calls -= 1
            return do(*args)

        for name in ("unlink", "replace", "ftruncate", "pwrite", "fsync"):
            setattr(os, name, functools.partial(counted, getattr(os, name)))
        gofast.preprocess(other, path, overwrite=True)

    for calls in itertools.count():
        gofast.preprocess(of, path, overwrite=True)
        process = multiprocessing.get_context("fork").Process(target=make, args=(calls,))
        process.start()
        process.join()
        with contextlib.suppress(errors.NotFoundError):
            check(gofast.ArrayDataset.open(path), of if calls == 0 else other)
        if process.exitcode == 0:
            break
        assert process.exitcode == 9
    assert calls > 15 and sorted(os.listdir(path)) == ["a.npy", "arrays.jsonl", "b.npy", "c.npy"]


# -- a full disk ---------------------------------------------------------------------


def test_a_disk_without_room_is_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Made(1000, lambda i: torch.zeros(1000))
    found = os.statvfs(tmp_path)
    monkeypatch.setattr(
        os, "statvfs", lambda path: os.statvfs_result((found.f_bsize, 4096, *found[2:4], 100, *found[5:]))
    )
    with pytest.raises(errors.ReadError, match=r"takes 4.0 MB, and 409.6 kB are free"):
        gofast.preprocess(of, tmp_path / "set")
    assert os.listdir(tmp_path / "set") == []


def test_a_disk_that_becomes_full(tmp_path: Path) -> None:
    import resource

    of = Made(3000, lambda i: torch.full((1000,), float(i)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, before[1]))
    try:
        with pytest.raises(errors.ReadError, match=r"cannot write the set: .*same call goes on"):
            gofast.preprocess(of, tmp_path / "set")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    of.asked = 0
    made = gofast.preprocess(of, tmp_path / "set")
    assert of.asked < 2100 and torch.equal(made.tensors[0], torch.stack([of[i] for i in range(3000)]))


# -- hostile content -----------------------------------------------------------------


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "set"
    gofast.preprocess(Made(20, lambda i: (Image.new("RGB", (6, 5), (i, 2, 3)), i)), path)
    return path


def sealed(path: Path, told: Any, lines: bytes = b"") -> None:
    """A description of this content, with the right checksum."""
    body = json.dumps(told).encode() + b"\n" + lines
    path.write_bytes(body + array_folder.seal(body))


ODD = [
    None,
    -1,
    0,
    1,
    1 << 70,
    1.5,
    True,
    "",
    "../x",
    [],
    [1],
    {},
    {"a": 1},
    [[[]]],
    "bare",
    "object",
    "<V8",
    "float64",
    [1 << 40],
]


def test_a_forged_description_reads_nothing_that_is_not_there(whole: Path) -> None:
    (info, _), d = set_files.read(str(whole)), random.Random(4)
    told: Any = json.loads(info.line())
    refused = 0
    for _ in range(1500):
        sealed(whole / array_folder.WHOLE, forged(told, d, ODD))
        try:
            made = gofast.ArrayDataset.open(whole)
            assert len(made) == 20
            _ = [made[i] for i in range(20)], made.classes, repr(made), gofast.explain(made)
            gofast.verify(whole)
        except errors.GofastError:
            refused += 1
    assert refused > 800


def test_files_that_are_not_as_they_were_written(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = whole / "image.npy"
    assert main(["verify", str(whole)]) == 0
    content = path.read_bytes()
    for harmed in (content[:-1], content + b"x", b"", content[:40] + b"9" + content[41:]):
        path.write_bytes(harmed)
        with pytest.raises(errors.DamagedError, match=r"overwrite|again"):
            gofast.ArrayDataset.open(whole)
    path.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    gofast.ArrayDataset.open(whole)
    with pytest.raises(errors.DamagedError, match=r"image\.npy: a value of its rows 0 to 19 is"):
        gofast.verify(whole)
    assert main(["verify", str(whole)]) == 1 and "rows 0 to 19" in capsys.readouterr().out
    path.unlink()
    with pytest.raises(errors.NotFoundError):
        gofast.ArrayDataset.open(whole)
    path.mkdir()
    with pytest.raises(errors.ReadError):
        gofast.ArrayDataset.open(whole)


def test_forged_checksums(whole: Path) -> None:
    info, said = set_files.read(str(whole))
    (line,), told = said.lines, json.loads(info.line())
    sums: dict[str, Any] = json.loads(line)
    (stop, sha256), label = sums["image"], sums["label"]
    for odd in (
        *ODD,
        {"image": stop},
        {"image": [stop]},
        {"image": [stop, sha256, 1]},
        {"image": [stop + 1, sha256]},
        {"image": [[], sha256]},
        {"label": label},
        {"other": label, **sums},
    ):
        sealed(whole / array_folder.WHOLE, told, json.dumps(odd).encode() + b"\n")
        with pytest.raises(errors.DamagedError, match="from row 0 on are missing"):
            gofast.verify(whole)
    sealed(
        whole / array_folder.WHOLE, told, json.dumps({"image": [stop, "a"], "label": label}).encode() + b"\n"
    )
    with pytest.raises(errors.DamagedError, match="a value of its rows 0 to 19"):
        gofast.verify(whole)
    sealed(whole / array_folder.WHOLE, told, line + b"\n")
    gofast.verify(whole)


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"[" * 100_000 + b"\n[1]\n", b"\n\n", b"{}\n[1, 2]\n", b"\xff\n"]
)
def test_hostile_unfinished_sets(content: bytes, tmp_path: Path) -> None:
    (tmp_path / array_folder.PART).write_bytes(content)
    with pytest.raises(errors.NotFoundError, match="unfinished"):
        gofast.ArrayDataset.open(tmp_path)
    assert len(gofast.preprocess(Made(3, torch.tensor), tmp_path)) == 3


def test_a_pipe_in_the_place_of_an_unfinished_set(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / array_folder.PART)
    with pytest.raises(errors.NotFoundError, match="no set is there"):
        gofast.ArrayDataset.open(tmp_path)
    with pytest.raises(errors.ReadError, match="cannot write the set"):
        gofast.preprocess(Made(3, torch.tensor), tmp_path)


def test_what_is_no_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(errors.NotFoundError):
            gofast.ArrayDataset.open(path)
    with pytest.raises(errors.ReadError):
        gofast.ArrayDataset.open(tmp_path / "file")
    with pytest.raises(errors.NotFoundError, match=r"no file in the folder ends in .*; it holds file"):
        gofast.verify(tmp_path)


@pytest.mark.parametrize("transform", [None, T.Compose([T.RandomCrop(3), T.ToTensor()])])
def test_a_file_that_is_cut_is_an_error(transform: Any, whole: Path) -> None:
    made = gofast.ArrayDataset.open(whole, transform=transform)
    iterator = iter(gofast.DataLoader(made, batch_size=2))
    next(iterator)
    os.truncate(whole / "image.npy", 200)
    for broken in (
        lambda: made[3],
        lambda: [*gofast.DataLoader(made, batch_size=2)],
        lambda: [*DataLoader(made, batch_size=2)],
        lambda: made.tensors,
        lambda: next(iterator),
    ):
        with pytest.raises(errors.ChangedError, match=r"image\.npy was written to"):
            broken()

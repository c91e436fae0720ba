"""Every option of every public name takes numpy's and torch's numbers, truth values, texts, types and lists.

What they make equals what Python's own make, and nothing of numpy's stays where a repr, a pickle or a cache's
key would show it. A new option fails here until it has a case.
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset
from torchvision import transforms as T

import gofast
from gofast import errors
from mds import write_litdata, write_mds
from records import example, framed
from same import difference
from tars import write_tar

# What takes no number, truth value, text, type or list: data, objects and functions.
DATA = {"args", "arrays", "batch", "batch_sampler", "batch_transform", "collate_fn", "contents", "cls", "csv"}
DATA |= {"dataset", "dst", "generator", "is_valid_file", "labels", "lengths", "loader", "path", "paths"}
DATA |= {"multiprocessing_context", "pictures", "root", "sampler", "self", "source", "src", "step", "table"}
DATA |= {"state", "target_transform", "tokenizer", "transform", "what", "worker_init_fn"}
OVERRIDDEN = {"find_classes", "make_dataset", "of", "width", "blank"}  # torchvision's, and those of no user
NOT_OURS = {"open"}  # takes Pillow's arguments as Pillow does
ELSEWHERE = (
    "downloads.keep",
    "ray.Decode",
    "tokens.LengthGroupedSampler",
    "tokens.Text",
    "tokens.TokenDataset",
    "typing.Limits",
)

Made = Callable[..., Any]
ROWS = "label,a,b,c,when,colour\n0,1,2,3,2024-01-31,red\n2,4,5,,2024-02-01,blue\n1,7,8,9,2024-02-02,red\n"
CHOSEN: dict[str, Any] = {"columns": ["a", "b"]}
NUMBERS: list[dict[str, Any]] = [
    {"shape": 2},
    {"shape": (1, -1), "scale": None},
    {"scale": "unit"},
    {"mean": 0.5, "std": 0.25},
    {"mean": [0.5, 1.5], "std": [0.25, 2.0]},
    {"dtype": torch.float64},
    {"keys": ("x", "y"), "output": "dict"},
    {"output": "tuple"},
    {"one_hot": 3},
]
COLUMNS: list[dict[str, Any]] = [
    {"label": "label", "label_type": "int"},
    {"label": 0},
    {"label": ["label", "b"], "fill_value": 7.5, "columns": ["a", "c"]},
    {"fill_value": {"c": 7}, "columns": ["a", "c"]},
    {"columns": [1, 2], "header": True},
    {"columns": None, "exclude": ["when", "colour", "c"]},
    {"columns": None, "exclude": [3, 4, 5]},
    {"categories": {"colour": {"red": 3, "blue": 1.5}}, "columns": ["a", "colour"]},
    {"categories": {"colour": ["red", "blue"]}, "columns": ["a", "colour"]},
    {"dates": {"when": "D"}, "columns": ["a", "when"]},
    {"delimiter": ",", "skiprows": 0},
    {"decimal": ".", "thousands": None, "encoding": "latin-1"},
    {"threads": 1, "limits": {"memory": 1 << 30, "columns": 50}},
]
TABLES = [
    *COLUMNS,
    *NUMBERS,
    {"classes": [2, 1, 0]},
    {"classes": {0: 5, 1: 6, 2: 7}},
    {"missing_label": 7, "columns": ["a"]},
]
STREAM: list[dict[str, Any]] = [
    {"memory": 1 << 26, "shuffle": "block", "seed": 5},
    {"rank": 1, "world": 2, "even": "pad"},
]
IMAGES: list[dict[str, Any]] = [
    {"allow_empty": True, "max_bad": 2, "return_index": True, "return_path": False, "on_error": "zero"},
    {"output": "dict", "keys": ("x", "y"), "channels_last": True, "dtype": torch.float16},
    {"rng": "stateless", "seed": 7, "index": ""},
    {"cache": "memory", "cache_limit": 1 << 24},
]
ARRAYS = (np.arange(12, dtype=np.uint8).reshape(6, 2), np.arange(6) % 3)
RECORDS = "train.tfrecord"


@pytest.fixture(scope="module")
def place(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files of each kind."""
    import h5py

    made = tmp_path_factory.mktemp("files")
    (made / "t.csv").write_text(ROWS)
    (made / "unlabelled.csv").write_text(ROWS.replace("label", "x"))
    (made / "pictures").symlink_to(folder)
    images = sorted(folder.glob("*/*.jpg"))
    listed = "".join(f"{image.relative_to(folder)},{i}\n" for i, image in enumerate(images))
    (made / "labels.csv").write_text(f"file,number\n{listed}")
    examples = [example({"image": [image.read_bytes()], "number": [i]}) for i, image in enumerate(images)]
    (made / RECORDS).write_bytes(framed(examples))
    table = pa.table({"image": [image.read_bytes() for image in images], "label": [3] * len(images)})
    pq.write_table(table, made / "a.parquet")
    write_tar(made / "a.tar", [{"png": image.read_bytes(), "cls": b"3"} for image in images])
    samples = [{"image": image.read_bytes(), "class": 3} for image in images]
    write_mds(made / "mds", {"image": "png", "class": "int"}, [samples])
    leaf = {"type": None, "context": None, "children_spec": []}
    spec = {"type": "builtins.dict", "context": '["image"]', "children_spec": [leaf]}
    write_litdata(made / "lit", spec, ["bytes"], [[[sample["image"]] for sample in samples]])
    np.arange(50, dtype=np.uint16).tofile(made / "tokens.bin")
    with h5py.File(made / "t.h5", "w") as file:
        file["x"], file["y"] = ARRAYS
        file["z"] = ARRAYS[0][:, 1]
    gofast.preprocess(gofast.ArrayDataset(*ARRAYS), made / "t.set")
    return made


def loader(place: Path, **options: Any) -> Any:
    dataset = gofast.ArrayDataset(*ARRAYS)
    usual = {} if {"batch_sampler", "batch_size"} & {*options} else {"batch_size": 2}
    return gofast.DataLoader(dataset, generator=torch.Generator().manual_seed(1), **{**usual, **options})


def converted(place: Path, **options: Any) -> bytes:
    gofast.convert(place / "t.csv", place / "made.npz", **{**CHOSEN, **options})
    return (place / "made.npz").read_bytes()


def traced(place: Path, events: int) -> Any:
    return gofast.DataLoader(gofast.ArrayDataset(*ARRAYS)).trace(place / "trace.json", events)


def at_epoch(made: Any, epoch: int) -> Any:
    made.set_epoch(epoch)
    return made


def skipping(made: Any, steps: Any) -> Any:
    made.skip(steps)
    return made


def preprocessed(place: Path, **options: Any) -> Any:
    return gofast.preprocess(gofast.ArrayDataset(*ARRAYS), place / "t.set", **options)


def doctored(place: Path, seconds: float) -> str:
    with pytest.raises(errors.OptionError) as caught:  # a value of use would take as long
        gofast.doctor(gofast.DataLoader(gofast.ArrayDataset(*ARRAYS)), seconds=seconds)
    return str(caught.value)


def kept(place: Path, **options: Any) -> str:
    with gofast.install(**options):
        return ""


def downloads(place: Path, **options: Any) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOFAST_DOWNLOADS", "")
        patch.setenv("GOFAST_DOWNLOADS_LIMIT", "")
        gofast.downloads.keep(**options)
        return os.environ["GOFAST_DOWNLOADS"] + os.environ["GOFAST_DOWNLOADS_LIMIT"]


def table(place: Path, options: dict[str, Any]) -> Path:
    return place / ("unlabelled.csv" if "missing_label" in options else "t.csv")


def numbers(texts: list[str]) -> list[list[int]]:
    return [[len(text)] for text in texts]


def rows(place: Path) -> list[tuple[str, int]]:
    return [(str(path), i) for i, path in enumerate(sorted((place / "pictures").glob("*/*.jpg")))]


files = "number", {"transform": T.ToTensor()}
CASES: dict[str, tuple[Made, list[dict[str, Any]]]] = {
    "TableDataset": (
        lambda place, **options: gofast.TableDataset(table(place, options), **{**CHOSEN, **options}),
        [*TABLES, {"text": ["colour"]}, {"text": "colour"}, {"cache": "{place}/t.cache"}],
    ),
    "TableDataset.texts": (
        lambda place, column: gofast.TableDataset(place / "t.csv", text="colour", **CHOSEN).texts(column),
        [{"column": "colour"}],
    ),
    "TableDataset.text_lengths": (
        lambda place, column: gofast.TableDataset(
            place / "t.csv",
            text={"colour": gofast.tokens.Text(lambda texts: [[1] for _ in texts], pad_token_id=0)},
            **CHOSEN,
        ).text_lengths(column),
        [{"column": "colour"}],
    ),
    "IterableDataset.from_table": (
        lambda place, **options: gofast.IterableDataset.from_table(
            table(place, options), **{"memory": "64MB", **CHOSEN, **options}
        ),
        [*TABLES, *STREAM],
    ),
    "IterableDataset.from_table.set_epoch": (
        lambda place, epoch: at_epoch(
            gofast.IterableDataset.from_table(place / "t.csv", shuffle="block", seed=1, **CHOSEN), epoch
        ),
        [{"epoch": 3}],
    ),
    "convert": (converted, COLUMNS),
    "ArrayDataset": (lambda place, **options: gofast.ArrayDataset(*ARRAYS, **options), NUMBERS),
    "ArrayDataset.from_hdf5": (
        lambda place, features="x", labels="y", **options: gofast.ArrayDataset.from_hdf5(
            place / "t.h5", features, labels, **options
        ),
        [*NUMBERS, {"features": ["z", "z"]}, {"threads": 1, "limits": {"memory": 1 << 30}}],
    ),
    "IterableDataset.from_hdf5": (
        lambda place, features="x", labels="y", **options: gofast.IterableDataset.from_hdf5(
            place / "t.h5", features, labels, **options
        ),
        [*NUMBERS, *STREAM, {"features": ["z", "z"], "threads": 1}],
    ),
    "IterableDataset.from_hdf5.set_epoch": (
        lambda place, epoch: at_epoch(
            gofast.IterableDataset.from_hdf5(place / "t.h5", "x", "y", shuffle="block", seed=1), epoch
        ),
        [{"epoch": 3}],
    ),
    "ArrayDataset.open": (
        lambda place, **options: gofast.ArrayDataset.open(place / "t.set", **options),
        NUMBERS,
    ),
    "preprocess": (preprocessed, [{"num_workers": 0, "overwrite": True, "allow_random": False}]),
    "tokens.TokenDataset": (
        lambda place, block_size=8, **options: gofast.tokens.TokenDataset(
            place / "tokens.bin", block_size, **options
        ),
        [{"block_size": 4, "stride": 2, "offset": 4}, {"dtype": "uint8"}],
    ),
    "TFRecordDataset": (
        lambda place, **options: gofast.TFRecordDataset(place / RECORDS, **options),
        [
            {"description": ["number"], "index": "{place}/r.index"},
            {"description": {"number": "int"}, "compression_type": None},
        ],
    ),
    "TFRecordDataset.column": (
        lambda place, name: gofast.TFRecordDataset(place / RECORDS).column(name),
        [{"name": "number"}],
    ),
    "ImageFolder": (
        lambda place, **options: gofast.ImageFolder(place / "pictures", T.ToTensor(), **options),
        [*IMAGES, {"classes": ["class 2", "class 1", "class 0", "none"]}],
    ),
    "ImageFolder.set_epoch": (
        lambda place, epoch: at_epoch(gofast.ImageFolder(place / "pictures", rng="stateless"), epoch),
        [{"epoch": 3}],
    ),
    "ImageFiles": (
        lambda place, **options: (
            gofast.ImageFiles(place / "pictures", transform=T.ToTensor(), recursive=True, **options)
            if "recursive" not in options
            else gofast.ImageFiles(place / "pictures", transform=T.ToTensor(), **options)
        ),
        [
            *IMAGES[1:],
            {"recursive": True, "extensions": [".jpg"], "allow_empty": True, "max_bad": 2},
            {"recursive": True, "extensions": ".jpg", "return_index": True, "return_path": True},
            {"classes": None, "on_error": "zero"},
        ],
    ),
    "ImageFiles.from_csv": (
        lambda place, path="file", **options: gofast.ImageFiles.from_csv(
            place / "labels.csv", place / "pictures", path=path, **{"label": "number", **options}
        ),
        [
            {"path": "file", "label": "number", "suffix": "", "label_type": "int"},
            {"label": ["number"]},
            {"classes": list(range(20))},
        ],
    ),
    "ImageFiles.from_table": (
        lambda place, image="file", **options: gofast.ImageFiles.from_table(
            gofast.TableDataset(place / "labels.csv", text="file", label="number", columns=[]),
            image,
            place / "pictures",
            **options,
        ),
        [{"image": "file", "suffix": ""}, {"return_index": True}],
    ),
    "ImageFiles.from_bytes": (
        lambda place, **options: gofast.ImageFiles.from_bytes(
            [Path(path).read_bytes() for path, _ in rows(place)], **options
        ),
        [{"return_index": True, "max_bad": 1}],
    ),
    "ImageFiles.from_tar": (
        lambda place, **options: gofast.ImageFiles.from_tar(place / "a.tar", **{"label": "cls", **options}),
        [
            {"image": "jpg;png"},
            {"label": "cls", "image": "png"},
            {"label": ["cls"]},
            {"return_index": True, "seed": 3},
        ],
    ),
    "ImageFiles.from_litdata": (
        lambda place, **options: gofast.ImageFiles.from_litdata(place / "lit", **options),
        [{"image": "image", "label": None}, {"label": None, "return_index": True, "seed": 3}],
    ),
    "ImageFiles.from_mds": (
        lambda place, **options: gofast.ImageFiles.from_mds(place / "mds", **options),
        [{"image": "image", "label": "class"}, {"label": None, "return_index": True, "seed": 3}],
    ),
    "ImageFiles.from_parquet": (
        lambda place, **options: gofast.ImageFiles.from_parquet(place / "a.parquet", **options),
        [{"image": "image", "label": "label"}, {"classes": None, "label_type": "int", "seed": 3}],
    ),
    "TFRecordDataset.images": (
        lambda place, **options: gofast.TFRecordDataset(place / RECORDS).images(
            **{"label": "number", "image": "image", **options}
        ),
        [{"label": "number", "image": "image"}, {"return_index": True, "seed": 3, "max_bad": 1}],
    ),
    "ImageFiles.set_epoch": (
        lambda place, epoch: at_epoch(
            gofast.ImageFiles(place / "pictures", rng="stateless", recursive=True), epoch
        ),
        [{"epoch": 3}],
    ),
    "Decoder": (
        lambda place, **options: gofast.Decoder(T.ToTensor(), **options),
        [{"threads": 1, "device": "cpu", "on_error": "zero", "rng": None}],
    ),
    "ray.Decode": (
        lambda place, **options: gofast.ray.Decode(T.Compose([T.RandomCrop(8), T.PILToTensor()]), **options)(
            {"a": [rows(place)[0][0]], "b": [3]}
        ),
        [{"column": "a", "row_id": "b", "seed": 4, "threads": 1, "on_error": "zero", "output": "c"}],
    ),
    "IterableDataset": (
        lambda place, **options: gofast.IterableDataset(rows(place), T.ToTensor(), **options),
        [{"fields": [0, 1]}, {"fields": (0,), "on_error": "skip"}],
    ),
    "IterableDataset.set_epoch": (
        lambda place, epoch: at_epoch(gofast.IterableDataset(rows(place)), epoch),
        [{"epoch": 3}],
    ),
    "DataLoader": (
        loader,
        [
            {"batch_size": 2, "shuffle": True, "drop_last": True, "num_workers": 2, "prefetch_factor": 2},
            {"timeout": 3.0, "num_workers": 1, "persistent_workers": True, "pin_memory": False},
            {"in_order": True, "pin_memory_device": "", "threads": 1, "device": "cpu", "resident": False},
            {"num_workers": 0, "device": None, "resident": "auto"},
        ],
    ),
    "DataLoader.set_epoch": (
        lambda place, epoch: at_epoch(gofast.DataLoader(gofast.ArrayDataset(*ARRAYS)), epoch),
        [{"epoch": 3}],
    ),
    "DataLoader.skip": (
        lambda place, steps: skipping(gofast.DataLoader(gofast.ArrayDataset(*ARRAYS)), steps),
        [{"steps": [1, 3]}],
    ),
    "DataLoader.stats": (
        lambda place, **options: gofast.DataLoader(gofast.ArrayDataset(*ARRAYS)).stats(**options),
        [{"ranks": True}],
    ),
    "DataLoader.trace": (traced, [{"events": 100}]),
    "integrations.keep": (
        lambda place, **options: gofast.integrations.keep(
            torch.utils.data.DataLoader(gofast.ArrayDataset(*ARRAYS)), **options
        ),
        [{"threads": 1}],
    ),
    "prefetch": (
        lambda place, device=None, **options: gofast.prefetch(
            torch.utils.data.DataLoader(gofast.ArrayDataset(*ARRAYS)), device, **options
        ),
        [{"device": "cpu", "ahead": 1}],
    ),
    "tokens.LengthGroupedSampler": (
        lambda place, batch_size: gofast.tokens.LengthGroupedSampler(
            batch_size, lengths=[3, 1, 2], generator=torch.Generator().manual_seed(2)
        ),
        [{"batch_size": 2}],
    ),
    "Sampler": (
        lambda place, **options: gofast.Sampler(
            torch.utils.data.ConcatDataset([gofast.ArrayDataset(ARRAYS[0])] * 2), **options
        ),
        [
            {"num_replicas": 2, "rank": 1, "shuffle": True, "seed": 3, "drop_last": True, "order": "torch"},
            {"sharding": "contiguous", "batch_size": 2, "uneven": "exact", "weights": [2.0, 0.5]},
        ],
    ),
    "Sampler.set_epoch": (
        lambda place, epoch: at_epoch(gofast.Sampler(range(9), 1, 0), epoch),
        [{"epoch": 2}],
    ),
    "Sampler.state_dict": (lambda place: gofast.Sampler(range(9), 1, 0).state_dict(), []),
    "Sampler.load_state_dict": (lambda place: gofast.Sampler(range(9), 1, 0).load_state_dict({}), []),
    "typing.Limits": (
        lambda place, **options: gofast.typing.Limits(**options),
        [{"memory": 1 << 20, "columns": 2, "metadata": 3, "page": 4, "cell": 5}],
    ),
    "tokens.Text": (
        lambda place, **options: gofast.tokens.Text(str, **options),
        [
            {"padding": "max_length", "max_length": 4, "pad_to_multiple_of": 2, "padding_side": "left"},
            {"truncation": True, "pad_token_id": 0, "missing": "", "identity": "words"},
        ],
    ),
    "explain": (
        lambda place, **options: str(
            gofast.explain(loader(place, sampler=gofast.Sampler(range(6), 2, 0, seed=1)), **options)
        ),
        [{"epoch": 3, "step": 1, "rank": 1}],
    ),
    "doctor": (doctored, [{"seconds": 4000}, {"seconds": 0.25}]),
    "downloads.keep": (downloads, [{"cache_dir": "/tmp/downloads", "cache_limit": 1 << 24}]),
    "install": (kept, [{"cache": "memory", "cache_limit": 1 << 24}]),
}


# ------------------------------------------------------------------ every parameter has a case


def named(name: str) -> Any:
    """What gofast has under a name with dots."""
    return functools.reduce(getattr, name.split("."), gofast)


def public() -> Iterator[tuple[str, Any]]:
    """Every public function, constructor and method, by the name that the cases have for it."""
    yield "IterableDataset.from_table.set_epoch", gofast.typing.TableStream.set_epoch
    yield "IterableDataset.from_hdf5.set_epoch", gofast.typing.HDF5Stream.set_epoch
    for name in (*gofast.__all__, *ELSEWHERE):
        one = named(name)
        if name in NOT_OURS:
            continue
        if inspect.ismodule(one):
            yield from ((f"{name}.{n}", getattr(one, n)) for n in one.__all__ if n == "keep")
        elif inspect.isclass(one):
            yield name, one.__init__
            for found, method in inspect.getmembers(one, inspect.isroutine):
                ours = getattr(method, "__module__", "") or ""
                if not found.startswith("_") and found not in OVERRIDDEN and ours.startswith("gofast"):
                    yield f"{name}.{found}", method
        else:
            yield name, one


@pytest.mark.parametrize(
    ("name", "function"), [*public()], ids=lambda one: one if isinstance(one, str) else ""
)
def test_every_option_has_a_case(name: str, function: Any) -> None:
    wanted = {
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in DATA and parameter.kind is not parameter.VAR_KEYWORD
    }
    given = {option for case in CASES[name][1] for option in case} if wanted else set()
    assert wanted <= given, f"{name}: no case for {sorted(wanted - given)}"


# ------------------------------------------------------------------ what is the same as Python's own


def alike(value: Any) -> Iterator[Any]:
    """The same value as numpy, torch and pandas write it."""
    if isinstance(value, bool):
        yield from (np.bool_(value), torch.tensor(value), np.array(value))
    elif isinstance(value, int):
        yield from (np.int64(value), torch.tensor(value), np.array(value))
        if 0 <= value < 256:
            yield np.uint8(value)
    elif isinstance(value, float):
        yield from (np.float32(value), np.float64(value), torch.tensor(value), np.array(value))
    elif isinstance(value, str):
        yield np.str_(value)
    elif isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        yield from (name, str(value), np.dtype(name), np.dtype(name).type)
    elif isinstance(value, Mapping):
        yield {np.array([key])[0]: next(alike(one)) for key, one in value.items()}
    elif isinstance(value, (list, tuple)):
        yield from (tuple(value), [*value], [next(alike(one)) for one in value])
        yield from (np.array(value), pd.Index(value), pd.Series(value))
        if not isinstance(value[0], str):
            yield torch.tensor(value)


def plain_state(made: Any, seen: set[int]) -> list[str]:
    """Where a scalar of numpy's or a tensor without dimensions lies in an object."""
    if id(made) in seen:
        return []
    seen.add(id(made))
    if isinstance(made, np.generic) or (isinstance(made, torch.Tensor) and made.ndim == 0):
        return [repr(made)]
    if isinstance(made, Mapping):
        return [line for pair in made.items() for one in pair for line in plain_state(one, seen)]
    if isinstance(made, (list, tuple)):
        return [line for one in made for line in plain_state(one, seen)]
    if type(made).__module__.startswith("gofast"):
        return [
            f"{k}: {line}" for k, v in getattr(made, "__dict__", {}).items() for line in plain_state(v, seen)
        ]
    return []


def told(made: Any) -> list[Any]:
    """All that can be seen of a result."""
    if isinstance(made, (str, bytes, np.ndarray)):
        return [made]
    torch.manual_seed(0)
    said: list[Any] = [re.sub("0x[0-9a-f]+", "", repr(made))]
    shuffled = getattr(made, "shuffle", None)  # explain tries how well, which takes a second
    if isinstance(made, (Dataset, torch.utils.data.DataLoader)) and not shuffled:
        said.append(str(gofast.explain(made)))
    if isinstance(made, Dataset) and not isinstance(made, IterableDataset):
        said += [made[i] for i in (0, len(made) - 1)]
    elif hasattr(made, "__iter__"):
        said.append([*made])
    return [*said, *plain_state(made, set())]


@pytest.mark.filterwarnings("ignore::gofast.errors.GofastWarning")
@pytest.mark.parametrize("name", CASES)
def test_values_of_others_are_python_s_own(name: str, place: Path) -> None:
    make, cases = CASES[name]
    for case in cases:
        given = {k: v.format(place=place) if isinstance(v, str) else v for k, v in case.items()}
        wanted = told(make(place, **given))
        for option, value in given.items():
            for other in alike(value):
                got = told(make(place, **{**given, option: other}))
                differ = difference(got, wanted)
                assert not differ, f"{name}({option}={other!r}): {differ}"


# ------------------------------------------------------------------ what is a mistake


@pytest.mark.parametrize(
    "option",
    [
        {"one_hot": True},
        {"threads": np.True_},
        {"threads": torch.tensor(2.0)},
        {"missing_label": False},
        {"skiprows": None},
        {"skiprows": -1},
        {"columns": np.array([True, False, True])},  # a mask
        {"columns": pd.Series([True, False])},
        {"exclude": [True]},
        {"label": True},
        {"header": 0},  # the line that pandas takes names from
        {"shape": (True, 2)},
        {"dtype": ">f4"},
        {"dtype": None},
        {"dtype": pd.Float32Dtype()},
        {"path": b"t.csv"},
        {"limits": {"memory": "1GB"}},
    ],
    ids=str,
)
def test_what_only_looks_like_a_value_is_refused(option: dict[str, Any], place: Path) -> None:
    with pytest.raises(errors.OptionError, match=f"^{next(iter(option.get('limits', option)))}( is|=)"):
        gofast.TableDataset(**{"path": place / "t.csv", **CHOSEN, **option})


def test_paths_in_arrays_and_columns(place: Path) -> None:
    file = str(place / "t.csv")
    for paths in (np.array([file]), pd.Series([file]), pd.Index([file]), [np.str_(file)]):
        assert repr(gofast.TableDataset(paths, **CHOSEN)) == repr(gofast.TableDataset([file], **CHOSEN))
    tokens = str(place / "tokens.bin")
    for one in (np.array([tokens]), pd.Series([tokens]), np.str_(tokens)):
        assert repr(gofast.tokens.TokenDataset(one, 8)) == repr(gofast.tokens.TokenDataset(tokens, 8))


def test_a_cache_is_found_again_with_the_same_values_of_another_type(place: Path) -> None:
    cache, plain = place / "again.cache", {"columns": [1, 2], "skiprows": 0, "fill_value": 1.5}
    gofast.TableDataset(place / "t.csv", cache=cache, **plain)
    made = (cache / "arrays.jsonl").stat().st_ino
    gofast.TableDataset(
        place / "t.csv",
        cache=cache,
        columns=np.array([1, 2]),
        skiprows=np.int64(0),
        fill_value=torch.tensor(1.5),
    )
    assert (cache / "arrays.jsonl").stat().st_ino == made


def test_torchs_loader_with_a_numpy_number_of_workers(place: Path) -> None:
    dataset = gofast.ArrayDataset(*ARRAYS)
    loader = torch.utils.data.DataLoader(dataset, 2, num_workers=np.int64(1))
    assert len([*loader]) == 3


# ------------------------------------------------------------------ what help() names


def parts(name: str, function: Any) -> Iterator[str]:
    """The names of gofast's in a signature, and those that a docstring calls gofast's."""
    signature = inspect.signature(function)
    for one in (*(p.annotation for p in signature.parameters.values()), signature.return_annotation):
        words = re.sub(r"""(["']).*?\1""", "", str(one))  # of Literal
        yield from (f"gofast.typing.{word}" for word in re.findall(r"(?<![\w.])[A-Z]\w{2,}(?![\w.])", words))
    owner = named(".".join(name.split(".")[: 2 if name in ELSEWHERE else 1]))
    for text in (inspect.getdoc(owner) or "", inspect.getdoc(function) or ""):
        yield from re.findall(r"\bgofast(?:\.[A-Za-z_]\w*)+", text)
        for word in re.findall(r":(?:class|func|meth):`~?([\w.]+)`", text):
            yield word if word.startswith("gofast.") else f"{owner.__name__}.{word}"


def found(name: str) -> bool:
    first, *rest = name.split(".")
    one: Any = gofast if first == "gofast" else getattr(gofast, first, None)
    for word in rest:
        one = getattr(one, word, None)
    elsewhere = (builtins, typing, collections.abc, torch.utils.data, torch, gofast, gofast.tokens)
    last = rest[-1]
    return one is not None or any(hasattr(place, last) for place in elsewhere)


def test_names_in_help_are_importable() -> None:
    for name, function in (*public(), ("open", gofast.open)):
        assert not [one for one in parts(name, function) if not found(one)], name

"""What gofast has instead of a loader's dataset, found by looking at what it does; are the batches equal?"""

from __future__ import annotations

import math
import os
import random
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from .._loader.native_dataset import NativeDataset
from . import hdf5, opened, tables
from .apart import RefusalError
from .differences import difference, equal
from .loaders import estimated_bytes, innermost, is_native, like
from .stages import transforms_of

_LOOK = 0.5  # seconds in which samples are made, beyond those of the first batch
_BYTES = 64 << 20  # of them at most


@dataclass
class Plan:
    """A line to write, and what makes the dataset that it makes.

    Attributes:
        title: in words.
        code: the line.
        said: what came of comparing; or why it was not tried, if `fits` is not set.
        make: the name of the class in `gofast`; "" for install().
        given: its arguments.
    """

    title: str
    code: str
    make: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    said: str = ""
    fits: bool = True


def plan(loader: DataLoader[Any], pictures: bool) -> Plan | None:
    """The first of all plans whose batches are equal; else the first that says why it is none.

    Only ever called in a forked child: it makes datasets, and may put gofast in Pillow's place.

    Args:
        pictures: whether Pillow decodes pictures here.
    """
    own = hasattr(type(loader), "_native_view")
    if is_native(loader) or (own and isinstance(innermost(loader.dataset), NativeDataset)):
        return None  # gofast makes these batches, or a part of it runs in Python
    failed = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = _first(like(loader, num_workers=0))
        indices, more = _more(loader)
        for found in _plans(loader, pictures, indices):
            if found.fits:
                _compare(loader, found, first, indices, more)
            if found.fits:
                return found
            failed = failed or found
    return failed


def _compare(loader: DataLoader[Any], found: Plan, first: Any, indices: list[int], more: Any) -> None:
    """Notes in a plan whether it gives the first batch, and the samples of the indices, or why not."""
    dataset: Any = loader.dataset
    where = "the first batches"
    try:
        other = swapped(like(loader, num_workers=0), found)
        why = difference(first, _first(other))
        if indices and equal(why):
            why = difference(more, _collated(loader, _samples(other.dataset, indices))) or why
            where = f"{len(indices):,} of {len(dataset):,} samples"
    except Exception as error:
        why = str(error) or type(error).__name__
    found.fits = equal(why)
    but = f"are equal but for {why}" if why else "are equal"
    found.said = f"{where} were compared, and {but if found.fits else f'differ: {why}'}"


def _more(loader: DataLoader[Any]) -> tuple[list[int], Any]:
    """Indices from everywhere, and their samples as a batch; none where there are no samples by index."""
    dataset: Any = loader.dataset
    if isinstance(dataset, IterableDataset):
        return [], None
    samples, end = list[Any](), time.perf_counter() + _LOOK
    try:
        indices = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0)).tolist()
        for sample in _samples(dataset, indices):
            samples.append(sample)
            if time.perf_counter() > end or estimated_bytes(samples[0]) * len(samples) > _BYTES:
                break
        return indices[: len(samples)], _collated(loader, iter(samples))
    except Exception:  # samples that make no batch, or a dataset with indices of another kind
        return [], None


def _samples(dataset: Any, indices: list[int]) -> Iterator[Any]:
    """Samples for the same seeds, whichever are made before."""
    for index in indices:
        seed(index)
        yield dataset[index]


def _collated(loader: DataLoader[Any], samples: Iterator[Any]) -> Any:
    made = [*samples]
    seed(0)
    return loader.collate_fn(made)


def _plans(loader: DataLoader[Any], pictures: bool, indices: list[int]) -> Iterator[Plan]:
    dataset = innermost(loader.dataset)
    kind = type(dataset)
    if isinstance(dataset, NativeDataset):
        yield Plan("gofast.DataLoader", "loader = gofast.DataLoader(dataset, ...)", "same")
    elif kind is TensorDataset:
        yield _called("ArrayDataset", "*tensors", {})
    elif kind.__name__ == "ImageFolder" and kind.__module__ == "torchvision.datasets.folder":
        yield _called("ImageFolder", f"{_written(os.fspath(dataset.root))}{_callables(dataset)}", {})
    elif not isinstance(dataset, IterableDataset) and hasattr(dataset, "__dict__"):
        if not pictures:
            yield from _hdf5(dataset)
            yield from _tables(dataset)
        else:
            yield from _pictures(loader, indices)
    if pictures:
        yield Plan("gofast.install() before the script's imports", f"python -m gofast {_script()}")


def _called(name: str, words: str, given: dict[str, Any], **more: Any) -> Plan:
    code = f"dataset = gofast.{name}({words}); loader = gofast.DataLoader(dataset, ...)"
    return Plan(f"gofast.{name} and gofast.DataLoader", code, name, given, **more)


def _callables(folder: Any) -> str:
    """The arguments of torchvision's ImageFolder that are functions, by their names."""
    words = ", transform" if folder.transform is not None else ""
    for name in ("target_transform", "loader"):
        given = getattr(folder, name)
        if given is not None and getattr(given, "__name__", "") != "default_loader":
            said = getattr(given, "__name__", name)
            words += f", {name}={said if said.isidentifier() else name}"
    return words


def _written(value: Any) -> str:
    """A value as most would write it."""
    said = 'float("nan")' if isinstance(value, float) and math.isnan(value) else repr(value)
    return said if '"' in said or "\\" in said else said.replace("'", '"')


def _script() -> str:
    return os.path.basename(getattr(sys.modules["__main__"], "__file__", None) or "train.py")


def _hdf5(dataset: Any) -> Iterator[Plan]:
    """The datasets of an HDF5 file that its samples may be made of: comparing tells whether they are."""
    for path in opened.files(dataset, opened.HDF5):
        for options in hdf5.likely(dataset, path):
            given = {"path": path, **options}
            words = ", ".join(
                _written(value) if name in ("path", "features", "labels") else f"{name}={_written(value)}"
                for name, value in given.items()
            )
            for name, given["transform"] in transforms_of(dataset)[:1]:
                words += f", transform={name}"
            yield _called("HDF5Dataset", words, given)


def _tables(dataset: Any) -> Iterator[Plan]:
    for path in opened.files(dataset):
        try:
            options = tables.fitting(dataset, path)
        except (RefusalError, TypeError, ValueError) as error:
            yield _called("TableDataset", _written(path), {}, fits=False, said=str(error))
            continue
        if options is not None:
            words = "".join(f", {name}={_written(value)}" for name, value in options.items())
            yield _called("TableDataset", f"{_written(path)}{words}", {"path": path, **options})


class _Noting(Dataset[Any]):
    """A dataset, and which file each of its samples opens."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.found = inner, dict[int, tuple[str, tables.Parts]]()

    def __getitem__(self, index: int) -> Any:
        with opened.noted({}) as names:
            sample = self.inner[index]
        if len(names) != 1:
            raise RefusalError("a sample is not the picture of one file")
        self.found[int(index)] = next(iter(names)), tables.Parts(sample)
        return sample

    def __len__(self) -> int:
        return len(self.inner)


def _pictures(loader: DataLoader[Any], indices: list[int]) -> Iterator[Plan]:
    """Pictures of files: each sample opens one. Of those that are compared, labels are known."""
    dataset = innermost(loader.dataset)
    noting = _Noting(dataset)
    around = _inside(loader.dataset, noting)
    try:
        _first(like(loader, num_workers=0, dataset=around))
        for _ in _samples(around, indices):
            pass
    except Exception:
        return  # whatever it is, it is no dataset of picture files
    known = {at: (path, parts.label) for at, (path, parts) in noting.found.items()}
    _, first = next(iter(noting.found.values()))
    options = {option: value for option, value in first.options.items() if value != "tuple"}
    words = _files(dataset, known) + ", labels" * (first.label is not None)
    words += "".join(f", transform={name}" for name, _ in transforms_of(dataset)[:1])
    words += "".join(f", {option}={_written(value)}" for option, value in options.items())
    yield _called("ImageFiles", words, {"known": known, **options})


def _files(dataset: Any, known: dict[int, tuple[str, Any]]) -> str:
    """What gives the files' names, of the dataset's attributes."""
    held: dict[str, Any] = {
        name: value
        for name, value in vars(dataset).items()
        if isinstance(value, (list, tuple)) and len(value) == len(dataset)
    }
    roots = {name: value for name, value in vars(dataset).items() if isinstance(value, (str, os.PathLike))}

    def fit(names: Any, root: Any) -> bool:
        return all(
            isinstance(names[at], (str, os.PathLike))
            and os.path.abspath(os.path.join(root, names[at])) == os.path.abspath(path)
            for at, (path, _) in known.items()
        )

    for name, names in held.items():
        if fit(names, ""):
            return name
        for base, root in roots.items():
            if fit(names, root):
                return f"[os.path.join({base}, name) for name in {name}]"
    return "paths"


def swapped(loader: DataLoader[Any], plan: Plan) -> Any:
    """The loader with gofast. Only to be called in a forked child: it may put gofast in Pillow's place."""
    if not plan.make:
        from ..installed import install

        install()
        return like(loader)
    return over(like(loader), _inside(loader.dataset, _made(innermost(loader.dataset), plan)))


def _made(dataset: Any, plan: Plan) -> Any:
    from ..arrays import ArrayDataset
    from ..hdf5 import HDF5Dataset
    from ..images import ImageFiles, ImageFolder
    from ..table import TableDataset

    if plan.make == "same":
        return dataset
    if plan.make == "ArrayDataset":
        return ArrayDataset(*dataset.tensors)
    if plan.make == "ImageFolder":
        names = ("root", "transform", "target_transform", "loader")
        made = ImageFolder(**{name: getattr(dataset, name) for name in names})
        if list(made.samples) != list(dataset.samples):
            raise RefusalError("the folder has other files now than this dataset lists")
        return made
    if plan.make == "TableDataset":
        return TableDataset(**plan.given)
    if plan.make == "HDF5Dataset":
        return HDF5Dataset(**plan.given)
    options = {**plan.given}
    known: dict[int, Any] = options.pop("known")
    some = [*known.values()]
    paths, labels = zip(*(known.get(at, some[at % len(some)]) for at in range(len(dataset))), strict=True)
    transform = next((step for _, step in transforms_of(dataset)), None)
    return ImageFiles(paths, None if labels[0] is None else labels, transform, **options)


def _inside(dataset: Any, made: Any) -> Any:
    """The same Subsets of another dataset."""
    if isinstance(dataset, Subset):
        return Subset(_inside(dataset.dataset, made), dataset.indices)
    return made


def over(loader: DataLoader[Any], dataset: Any) -> Any:
    """A gofast.DataLoader with the arguments of a torch DataLoader, over this dataset."""
    from ..loader import DataLoader as Ours

    names: tuple[str, ...] = (
        "num_workers",
        "collate_fn",
        "pin_memory",
        "timeout",
        "worker_init_fn",
        "generator",
    )
    names += ("multiprocessing_context", "prefetch_factor", "persistent_workers")
    if loader.batch_sampler is not None and type(loader.batch_sampler) is not BatchSampler:
        names += ("batch_sampler",)
    else:
        names += ("batch_size", "drop_last", *(() if isinstance(dataset, IterableDataset) else ("sampler",)))
    arguments: dict[str, Any] = {name: getattr(loader, name) for name in names}
    return Ours(dataset, **arguments)


def seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def _first(loader: Any) -> Any:
    """Its first batch, for the same seeds."""
    seed(0)
    if loader.generator is not None:
        loader.generator.manual_seed(0)
    return next(iter(loader))

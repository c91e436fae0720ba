"""What gofast has instead of a loader's dataset, found by looking at what it does; are the batches equal?"""

from __future__ import annotations

import os
import random
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from .._loader.view import NativeDataset
from . import opened, tables
from .apart import RefusalError
from .loaders import innermost, is_native, like
from .stages import transforms_of

_LOOK = 0.5  # seconds in which samples are made to see which files they open
_SOME = 256  # samples at most


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
    if is_native(loader) or (_ours_already(loader) and isinstance(innermost(loader.dataset), NativeDataset)):
        return None  # gofast makes these batches, or a part of it runs in Python
    failed = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = _first(like(loader, num_workers=0))
        for found in _plans(loader, pictures):
            if found.fits:
                try:
                    why = difference(first, _first(swapped(like(loader, num_workers=0), found)))
                except Exception as error:
                    why = str(error) or type(error).__name__
                found.fits = not why or why.startswith("rounding")
                found.said = _compared(why) if found.fits else f"the first batches differ: {why}"
            if found.fits:
                return found
            failed = failed or found
    return failed


def _compared(why: str) -> str:
    equal = f"equal but for {why}" if why else "equal"
    return f"the first batches were compared, and are {equal}"


def _ours_already(loader: Any) -> bool:
    return hasattr(type(loader), "_native_view")


def _plans(loader: DataLoader[Any], pictures: bool) -> Iterator[Plan]:
    dataset = innermost(loader.dataset)
    kind = type(dataset)
    if isinstance(dataset, NativeDataset):
        yield Plan("gofast.DataLoader", "loader = gofast.DataLoader(dataset, ...)", "same")
    elif kind is TensorDataset:
        yield _called("ArrayDataset", "*tensors", {})
    elif kind.__name__ == "ImageFolder" and kind.__module__ == "torchvision.datasets.folder":
        yield _called("ImageFolder", f"{_written(os.fspath(dataset.root))}, transform", {})
    elif not isinstance(dataset, IterableDataset) and hasattr(dataset, "__dict__"):
        if not pictures:
            yield from _tables(dataset)
        else:
            yield from _pictures(loader)
    if pictures:
        yield Plan("gofast.install() before the script's imports", f"python -m gofast {_script()}")


def _called(name: str, words: str, given: dict[str, Any], **more: Any) -> Plan:
    code = f"dataset = gofast.{name}({words}); loader = gofast.DataLoader(dataset, ...)"
    return Plan(f"gofast.{name} and gofast.DataLoader", code, name, given, **more)


def _written(value: Any) -> str:
    """A value as most would write it."""
    said = repr(value)
    return said if '"' in said or "\\" in said else said.replace("'", '"')


def _script() -> str:
    return os.path.basename(getattr(sys.modules["__main__"], "__file__", None) or "train.py")


def _tables(dataset: Any) -> Iterator[Plan]:
    for path in opened.tables(dataset):
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


def _pictures(loader: DataLoader[Any]) -> Iterator[Plan]:
    """Pictures of files: each sample opens one. Of few samples, labels are known."""
    dataset = innermost(loader.dataset)
    noting, end = _Noting(dataset), time.perf_counter() + _LOOK
    try:
        batches = _batches(like(loader, num_workers=0, dataset=_inside(loader.dataset, noting)))
        for _ in batches:
            if len(noting.found) >= _SOME or time.perf_counter() > end:
                break
    except Exception:
        return  # whatever it is, it is no dataset of picture files
    known = {at: (path, parts.label) for at, (path, parts) in noting.found.items()}
    at, (path, first) = next(iter(noting.found.items()))
    options = {option: value for option, value in first.options.items() if value != "tuple"}
    held = next(
        (key for key, value in vars(dataset).items() if _holds(value, len(dataset), at, path)), "paths"
    )
    words = held + ", labels" * (first.label is not None)
    words += "".join(f", transform={name}" for name, _ in transforms_of(dataset)[:1])
    words += "".join(f", {option}={_written(value)}" for option, value in options.items())
    yield _called("ImageFiles", words, {"known": known, **options})


def _holds(value: Any, n: int, at: int, path: str) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == n and path.endswith(str(value[at]))


def swapped(loader: DataLoader[Any], plan: Plan) -> Any:
    """The loader with gofast. Only to be called in a forked child: it may put gofast in Pillow's place."""
    if not plan.make:
        from ..installed import install

        install()
        return like(loader)
    return over(like(loader), _inside(loader.dataset, _made(innermost(loader.dataset), plan)))


def _made(dataset: Any, plan: Plan) -> Any:
    from ..arrays import ArrayDataset
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


def _batches(loader: Any) -> Iterator[Any]:
    """Its batches, for the same seeds."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    if loader.generator is not None:
        loader.generator.manual_seed(0)
    return iter(loader)


def _first(loader: Any) -> Any:
    return next(_batches(loader))


def difference(one: Any, other: Any) -> str:
    """How two samples or batches differ; "" if they hold the same values. A list equals a tuple."""
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        if not (isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys()):
            return "they have other keys"
        return next((f"{key!r}: {why}" for key in one if (why := difference(one[key], other[key]))), "")
    if isinstance(one, (list, tuple)):
        if not isinstance(other, (list, tuple)) or len(one) != len(other):
            return "they have other parts"
        return next((why for pair in zip(one, other, strict=True) if (why := difference(*pair))), "")
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{other.dtype} {[*other.shape]} instead of {one.dtype} {[*one.shape]}"
        if torch.equal(one, other):
            return ""
        most = (one.double() - other.double()).abs().max().item()
        return f"{'rounding, ' if one.is_floating_point() and most < 1e-5 else ''}{most:.2g} at most"
    same = isinstance(other, type(one)) and (
        np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
    )
    return "" if same else "other values"

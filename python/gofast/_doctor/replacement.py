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
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from .._loader.native_dataset import NativeDataset
from . import hdf5_candidates, opened_files, tables
from .differences import difference, equal
from .isolation import RefusalError
from .loaders import estimated_bytes, innermost, is_native, like
from .rebuilt_transforms import built, is_known
from .sample_columns import Columns, used
from .scope import Scope
from .stages import transforms_of

_FEW = 24  # samples that are compared, from which on they are not called few
_MOST_TRANSFORMS = 3  # that are tried
_OURS = "gofast.DataLoader"
_BYTES = 64 << 20  # of them at most


@dataclass
class Replacement:
    """Lines to write, which run where the loader is used, and the loader that they make.

    Attributes:
        title: in words.
        code: the lines; or a command.
        said: what came of comparing; or why it was not tried, if `fits` is not set.
        runs: of the code, what makes the loader; "" for install().
        filled: what the reader must fill in, by name, as far as samples have shown it.
    """

    title: str
    code: str
    said: str = ""
    fits: bool = True
    runs: str = ""
    filled: dict[str, Any] = field(default_factory=dict)


def plan(loader: DataLoader[Any], pictures: bool, scope: Scope, seconds: float) -> Replacement | None:
    """The first of all plans whose batches are equal; else the first that says why it is none.

    Only ever called in a forked child: it makes datasets, and may put gofast in Pillow's place.

    Args:
        pictures: whether Pillow decodes pictures here.
        seconds: in which samples are made that are compared, beyond those of the first batch.
    """
    own = hasattr(type(loader), "_native_view")
    if is_native(loader) or (own and isinstance(innermost(loader.dataset), NativeDataset)):
        return None  # gofast makes these batches, or a part of it runs in Python
    failed = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = _first(like(loader, num_workers=0))
        indices, more = _more(loader, seconds)
        for found in _Plans(loader, scope).all_of(pictures, indices):
            if found.fits:
                _compare(loader, scope, found, first, indices, more)
            if found.fits:
                return found
            failed = failed or found
    return failed


def _compare(
    loader: DataLoader[Any], scope: Scope, found: Replacement, first: Any, indices: list[int], more: Any
) -> None:
    """Notes in a plan whether it gives the first batch, and the samples of the indices, or why not."""
    dataset: Any = loader.dataset
    where = "the first batches"
    try:
        other = like(swapped(loader, found, scope), num_workers=0)
        if (then := getattr(innermost(other.dataset), "samples", None)) is not None:
            now = getattr(innermost(dataset), "samples", then)
            if list(then) != list(now):
                raise RefusalError("the folder has other files now than this dataset lists")
        why = difference(first, _first(other))
        if indices and equal(why):
            if len(other.dataset) != len(dataset):
                raise RefusalError(f"{len(other.dataset):,} samples instead of {len(dataset):,}")
            why = difference(more, _collated(loader, _samples(other.dataset, indices))) or why
            few = len(indices) < min(_FEW, len(dataset))
            where = "only " * few + f"{len(indices):,} of {len(dataset):,} samples"
    except Exception as error:
        why = str(error) or type(error).__name__
    found.fits = equal(why)
    but = f"are equal but for {why}" if why else "are equal"
    found.said = f"{where} were compared, and {but if found.fits else f'differ: {why}'}"
    if found.fits and where.startswith("only"):
        found.said += ": more seconds= compare more"


def _more(loader: DataLoader[Any], seconds: float) -> tuple[list[int], Any]:
    """Indices from everywhere, and their samples as a batch; none where there are no samples by index."""
    dataset: Any = loader.dataset
    if isinstance(dataset, IterableDataset):
        return [], None
    samples, end = list[Any](), time.perf_counter() + seconds
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


class _Plans:
    """What may give the batches of a loader, as lines in the words of its script."""

    def __init__(self, loader: DataLoader[Any], scope: Scope) -> None:
        self._loader, self._scope, self._dataset = loader, scope, innermost(loader.dataset)
        self._said = scope.dataset(self._dataset, loader.dataset)

    def all_of(self, pictures: bool, indices: list[int]) -> Iterator[Replacement]:
        """Them, the best first."""
        dataset, kind = self._dataset, type(self._dataset)
        if isinstance(dataset, NativeDataset):
            line = self._scope.remade(
                self._loader, self._scope.dataset(self._loader.dataset, self._loader.dataset), _OURS
            )
            yield self._plan("gofast.DataLoader", [line])
        elif kind is TensorDataset:
            named = [self._scope.expression(tensor) for tensor in dataset.tensors]
            words = ", ".join(filter(None, named)) if all(named) else f"*{self._said}.tensors"
            yield self._called("ArrayDataset", words)
        elif kind.__name__ == "ImageFolder" and kind.__module__ == "torchvision.datasets.folder":
            yield self._called("ImageFolder", f"{_written(os.fspath(dataset.root))}{self._callables()}")
        elif not isinstance(dataset, IterableDataset) and hasattr(dataset, "__dict__"):
            if not pictures:
                yield from self._hdf5()
                yield from self._tables()
            else:
                yield from self._pictures(indices)
        if pictures:
            yield Replacement(
                "gofast.install() before the script's imports", f"python -m gofast {self._scope.command}"
            )

    def _called(
        self, name: str, words: str, filled: dict[str, tuple[str, Any]] | None = None, **more: Any
    ) -> Replacement:
        """A dataset of gofast's, inside the loader's own Subsets, and the loader over it."""
        made, outer = f"gofast.{name}({words})", self._loader.dataset
        while isinstance(outer, Subset):
            kind = self._scope.of_class(Subset)
            made, outer = (
                f"{kind}({made}, {self._scope.dataset(outer, self._loader.dataset)}.indices)",
                outer.dataset,
            )
        lines = [f"dataset = {made}", self._scope.remade(self._loader, "dataset", _OURS)]
        return self._plan(f"gofast.{name} and gofast.DataLoader", lines, filled, **more)

    def _plan(
        self, title: str, lines: list[str], filled: dict[str, tuple[str, Any]] | None = None, **more: Any
    ) -> Replacement:
        filled, runs = filled or {}, "\n".join(lines)
        first = [f"{name} = {line}" for name, (line, _) in filled.items()]
        code = "\n".join(
            [*fill_in(self._scope), *self._scope.imports("\n".join([*first, runs])), *first, runs]
        )
        return Replacement(
            title, code, runs=runs, filled={name: value for name, (_, value) in filled.items()}, **more
        )

    def _callables(self) -> str:
        """The arguments of torchvision's ImageFolder that are functions."""
        words, folder = "", self._dataset
        for name in ("transform", "target_transform", "loader"):
            given = getattr(folder, name)
            if given is not None and getattr(given, "__name__", "") != "default_loader":
                said = self._scope.expression(given) or f"{self._said}.{name}"
                words += f", {said}" if name == "transform" else f", {name}={said}"
        return words

    def _transforms(self) -> list[str]:
        """What may be the transform of pictures, the likeliest first; "" without any."""
        dataset = self._dataset
        held = {id(value): f"{self._said}.{name}" for name, value in transforms_of(dataset)}
        more = [*vars(dataset).items(), *used(dataset)]
        for name, value in more:
            if callable(value) and not isinstance(value, (type, FunctionType)) and id(value) not in held:
                held[id(value)] = f"{self._said}.{name}" if name in vars(dataset) else name
        values = {id(value): value for _, value in [*more, *transforms_of(dataset)]}
        found = [self._scope.expression(values[at]) or said for at, said in held.items()]
        for made in built(dataset, 0):
            if is_known(made.code, self._scope):
                found.append(made.code)
        return found[:_MOST_TRANSFORMS] or [""]

    def _hdf5(self) -> Iterator[Replacement]:
        """The datasets of an HDF5 file that its samples may be made of: comparing tells whether they are."""
        for path in opened_files.files(self._dataset, opened_files.HDF5):
            for options in hdf5_candidates.likely(self._dataset, path):
                given = {"path": path, **options}
                words = ", ".join(
                    _written(value) if name in ("path", "features", "labels") else f"{name}={_written(value)}"
                    for name, value in given.items()
                )
                for name, transform in transforms_of(self._dataset)[:1]:
                    words += f", transform={self._scope.expression(transform) or f'{self._said}.{name}'}"
                yield self._called("ArrayDataset.from_hdf5", words)

    def _tables(self) -> Iterator[Replacement]:
        for path in opened_files.files(self._dataset):
            try:
                options = tables.fitting(self._dataset, path)
            except (RefusalError, TypeError, ValueError) as error:
                yield self._called("TableDataset", _written(path), fits=False, said=str(error))
                continue
            if options is not None:
                words = "".join(f", {name}={_written(value)}" for name, value in options.items())
                yield self._called("TableDataset", f"{_written(path)}{words}")

    def _pictures(self, indices: list[int]) -> Iterator[Replacement]:
        """Pictures of files: each sample opens one. Labels are known of those that are compared."""
        dataset, noting = self._dataset, _Noting(self._dataset)
        around = _inside(self._loader.dataset, noting)
        try:
            _first(like(self._loader, num_workers=0, dataset=around))
            for _ in _samples(around, indices):
                pass
            transforms = self._transforms()
        except Exception:
            return  # whatever it is, it is no dataset of picture files
        known = {at: (path, parts.label) for at, (path, parts) in noting.found.items()}
        path, first = next(iter(noting.found.values()))
        labelled = first.label is not None
        options = {option: value for option, value in first.options.items() if value != "tuple"}
        more = "".join(f", {option}={_written(value)}" for option, value in options.items())
        columns = Columns(dataset, self._said, self._scope)
        filled: dict[str, tuple[str, Any]] = {}
        paths = columns.paths(known)
        some = [*known.values()]
        all_known = [known.get(at, some[at % len(some)]) for at in range(len(dataset))]
        if paths is None:
            fill = f"[...]  # fill in: the path of each sample's picture, such as {_written(path)}"
            filled["paths"], paths = (fill, [path for path, _ in all_known]), "paths"
        labels = [*columns.labels(known, paths)] if labelled else [""]
        root = os.path.dirname(os.path.dirname(path))
        for transform in transforms:
            given = f", transform={transform}" if transform else ""
            if labelled and not more and columns.are_folders(known):
                yield self._called("ImageFolder", f"{_written(root or '.')}{given}")
            for said in labels:
                yield self._called("ImageFiles", f"{paths}{', ' * bool(said)}{said}{given}{more}", filled)
        part = _written(next(iter(options["keys"][1:]), "")) if "keys" in options else "1"
        fill = f"[{self._said}[i][{part}] for i in range(len({self._said}))]"
        fill += "  # makes every sample once: fill in where they come from"
        filled = {**filled, "labels": (fill, [label for _, label in all_known])}
        for transform in transforms if labelled else ():
            given = f", transform={transform}" if transform else ""
            yield self._called("ImageFiles", f"{paths}, labels{given}{more}", filled)


def fill_in(scope: Scope) -> list[str]:
    """What a reader must do first where the loader has no name."""
    return [] if scope.named else ["# fill in: loader is the DataLoader of your loop"]


def _written(value: Any) -> str:
    """A value as most would write it."""
    said = 'float("nan")' if isinstance(value, float) and math.isnan(value) else repr(value)
    return said if '"' in said or "\\" in said else said.replace("'", '"')


class _Noting(Dataset[Any]):
    """A dataset, and which file each of its samples opens."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.found = inner, dict[int, tuple[str, tables.Parts]]()

    def __getitem__(self, index: int) -> Any:
        with opened_files.noted({}) as names:
            sample = self.inner[index]
        if len(names) != 1:
            raise RefusalError("a sample is not the picture of one file")
        self.found[int(index)] = next(iter(names)), tables.Parts(sample)
        return sample

    def __len__(self) -> int:
        return len(self.inner)


def swapped(loader: DataLoader[Any], plan: Replacement, scope: Scope) -> Any:
    """The loader with gofast, made by the very lines. Only to be called in a forked child."""
    if not plan.runs:
        from ..installed import install

        install()
        return like(loader)
    there = {name: sys.modules[name] for name in ("os", "torch", "gofast")}
    names = {**scope.names, **there, **plan.filled}
    exec(plan.runs, names)
    made = eval(scope.loader, names)
    size = {} if made.batch_size == loader.batch_size else {"batch_size": loader.batch_size}
    return like(made, num_workers=loader.num_workers, **size)


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

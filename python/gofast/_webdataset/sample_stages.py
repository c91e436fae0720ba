"""What stands between a shard's samples and a loader: each takes an iterator, and is one."""

from __future__ import annotations

import itertools
import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

import numpy as np
import torch

Handler = Callable[[Exception], Any]


def reraise_exception(exn: Exception) -> bool:
    """Raises it."""
    raise exn


def ignore_and_continue(exn: Exception) -> bool:
    """Goes on with the next sample or shard."""
    return True


def warn_and_continue(exn: Exception) -> bool:
    """Warns, and goes on."""
    warnings.warn(repr(exn), stacklevel=2)
    time.sleep(0.5)  # as webdataset: a line that can be read
    return True


def ignore_and_stop(exn: Exception) -> bool:
    """Ends the samples."""
    return False


def warn_and_stop(exn: Exception) -> bool:
    """Warns, and ends the samples."""
    warnings.warn(repr(exn), stacklevel=2)
    time.sleep(0.5)
    return False


class Stage:
    """A function of an iterator, with its other arguments: ``wds.shuffle(1000)``. It can be pickled."""

    def __init__(self, function: Callable[..., Any], *args: Any, **kw: Any) -> None:
        self.f, self.args, self.kw = function, args, kw

    def __call__(self, data: Iterable[Any]) -> Iterator[Any]:
        made: Iterator[Any] = self.f(data, *self.args, **self.kw)
        return made

    def __repr__(self) -> str:
        return f"<{getattr(self.f, '__name__', self.f)} {self.args} {self.kw}>"


class pipelinefilter:
    """A decorator: what a function returns, called without its first argument, is a stage."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.f = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kw: Any) -> Stage:
        return Stage(self.f, *args, **kw)


def _each(data: Iterable[Any], function: Callable[[Any], Any], handler: Handler) -> Iterator[tuple[Any, Any]]:
    """Samples, and what a function makes of them."""
    for sample in data:
        try:
            made = function(sample)
        except Exception as error:
            if handler(error):
                continue
            return
        yield sample, made


def mapped(
    data: Iterable[Any], f: Callable[[Any], Any], handler: Handler = reraise_exception
) -> Iterator[Any]:
    """What a function makes of each sample; None leaves it out."""
    for sample, made in _each(data, f, handler):
        if made is None:
            continue
        if isinstance(sample, dict) and isinstance(made, dict):
            made["__key__"] = sample.get("__key__")
        yield made


def selected(data: Iterable[Any], predicate: Callable[[Any], bool]) -> Iterator[Any]:
    """The samples that a function says True of."""
    return filter(predicate, data)


def map_dict_(
    data: Iterable[Any], handler: Handler = reraise_exception, **kw: Callable[[Any], Any]
) -> Iterator[Any]:
    """Samples whose values were made by functions, by name."""
    if not kw or not all(map(callable, kw.values())):
        raise TypeError("map_dict takes functions, by the names of values")

    def make(sample: Any) -> None:
        for name, function in kw.items():
            sample[name] = function(sample[name])

    return (sample for sample, _ in _each(data, make, handler))


def map_tuple_(data: Iterable[Any], *args: Any, handler: Handler = reraise_exception) -> Iterator[Any]:
    """Tuples whose first values were made by functions; None leaves one as it is."""
    if not all(function is None or callable(function) for function in args):
        raise TypeError("map_tuple takes functions, or None")

    def make(sample: Any) -> tuple[Any, ...]:
        values = list(sample)
        for i, function in enumerate(args[: len(values)]):
            if function is not None:
                values[i] = function(values[i])
        return tuple(values)

    return (made for _, made in _each(data, make, handler))


def getfirst(a: Any, keys: Any, default: Any = None, missing_is_error: bool = True) -> Any:
    """The value of the first key that is there; "jpg;png" are two."""
    names = keys.split(";") if isinstance(keys, str) else keys
    for name in names:
        if name in a:
            return a[name]
    if missing_is_error:
        raise ValueError(f"{a.get('__url__')}: {a.get('__key__')!r} has none of {names}, but {[*a]}")
    return default


def to_tuple_(
    data: Iterable[Any],
    *args: Any,
    handler: Handler = reraise_exception,
    missing_is_error: bool = True,
    none_is_error: bool | None = None,
) -> Iterator[Any]:
    """Tuples of the values that are named."""
    if len(args) == 1 and isinstance(args[0], str) and " " in args[0]:
        args = tuple(args[0].split())
    strict = missing_is_error if none_is_error is None else none_is_error

    def make(sample: Any) -> tuple[Any, ...]:
        made = tuple(getfirst(sample, name, missing_is_error=missing_is_error) for name in args)
        if strict and any(value is None for value in made):
            raise ValueError(f"to_tuple{args}: a value is None in {[*sample]}")
        return made

    return (made for _, made in _each(data, make, handler))


def renamed(
    data: Iterable[Any], handler: Handler = reraise_exception, keep: bool = True, **kw: Any
) -> Iterator[Any]:
    """Samples with other names: ``rename(image="jpg;png")``."""
    old = {name for names in kw.values() for name in (names.split(";") if isinstance(names, str) else names)}

    def make(sample: Any) -> Any:
        new = {name: getfirst(sample, names) for name, names in kw.items()}
        return {**{k: v for k, v in sample.items() if k not in old}, **new} if keep else new

    return (made for _, made in _each(data, make, handler))


def renamed_by_patterns(
    data: Iterable[Any],
    *args: tuple[str, str],
    keep_unselected: bool = False,
    must_match: bool = True,
    duplicate_is_error: bool = True,
    **kw: str,
) -> Iterator[Any]:
    """Samples with other names: ``rename_keys(("image", "*.jpg"), label="cls")``. The last match counts."""
    patterns = [*args, *kw.items()][::-1]
    for sample in data:
        made, found = dict[str, Any](), set[str]()
        for name, value in sample.items():
            base = name.rpartition("/")[2].lower()
            new, pattern = next((each for each in patterns if fnmatch(base, each[1])), (None, ""))
            found.add(pattern)
            if new is None:
                if keep_unselected:
                    made[name] = value
            elif new not in made:
                made[new] = value
            elif duplicate_is_error:
                raise ValueError(f"{sample.get('__key__')!r}: two of {[*sample]} are to be called {new!r}")
        if must_match and (missing := {pattern for _, pattern in patterns} - found):
            raise ValueError(f"{sample.get('__key__')!r}: none of {[*sample]} matches {sorted(missing)}")
        yield made


def extracted(
    data: Iterable[Any], *patterns: Any, duplicate_is_error: bool = True, ignore_missing: bool = False
) -> Iterator[Any]:
    """Tuples of the values whose names match: ``extract_keys("*.jpg;*.png", "*.cls")``."""
    for sample in data:
        made = []
        for pattern in patterns:
            some = pattern.split(";") if isinstance(pattern, str) else pattern
            found = [name for name in sample if any(fnmatch("." + name, p) or fnmatch(name, p) for p in some)]
            if (not found and not ignore_missing) or (len(found) > 1 and duplicate_is_error):
                raise ValueError(f"{sample.get('__key__')!r}: {found} of {[*sample]} match {pattern!r}")
            made += [sample[name] for name in found[:1]]
        yield tuple(made)


def logged(data: Iterable[Any], logfile: str | None = None) -> Iterator[Any]:
    """The samples, whose keys are put behind what a file has: a line each."""
    if not logfile:
        yield from data
        return
    with open(logfile, "a") as file:
        for i, sample in enumerate(data):
            words = [i, *(sample.get(name) for name in ("__worker__", "__rank__", "__key__"))]
            file.write("\t".join(map(str, words)) + "\n")
            file.flush()  # whole lines: other processes write, too
            yield sample


def associated(data: Iterable[Any], associator: Any) -> Iterator[Any]:
    """The samples with more values, which a dict or a function has of their keys."""
    for sample in data:
        key = sample["__key__"]
        sample.update(associator(key) if callable(associator) else associator.get(key, {}))
        yield sample


def default_collation_fn(
    samples: Sequence[Any], combine_tensors: bool = True, combine_scalars: bool = True
) -> Any:
    """webdataset's batch: numbers are a numpy array, tensors are stacked, other values are a list."""
    rows = [sample if isinstance(sample, dict) else dict(enumerate(sample)) for sample in samples]
    names = rows[0].keys()
    if any(row.keys() != names for row in rows):
        raise AssertionError("samples of one batch have different keys")
    made = {name: _combined([row[name] for row in rows], combine_tensors, combine_scalars) for name in names}
    return tuple(made.values()) if isinstance(samples[0], (list, tuple)) else made


def _combined(values: list[Any], tensors: bool, scalars: bool) -> Any:
    first = values[0]
    if isinstance(first, (int, float)):
        return np.array(values) if scalars else values
    if isinstance(first, (torch.Tensor, np.ndarray)):
        if not tensors:
            return values
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise AssertionError(f"values of one batch have different shapes: {shapes}")
        return torch.stack(values) if isinstance(first, torch.Tensor) else np.array(values)
    return values


def batched_(
    data: Iterable[Any],
    batchsize: int = 20,
    collation_fn: Any = default_collation_fn,
    partial: bool = True,
    begun: Any = None,
) -> Iterator[Any]:
    """Batches. With a full one, the next sample is pulled before it is collated, as in webdataset.

    Args:
        begun: is told that a batch is full, and that it was given.
    """
    batch: list[Any] = []
    for sample in data:
        if len(batch) >= batchsize:
            yield batch if collation_fn is None else collation_fn(batch)
            batch = []
            if begun is not None:
                begun.given()
        batch.append(sample)
        if begun is not None and len(batch) >= batchsize:
            begun.full()
    if batch and (partial or len(batch) == batchsize):
        yield batch if collation_fn is None else collation_fn(batch)


def unbatched_(data: Iterable[Any]) -> Iterator[Any]:
    """The samples of batches."""
    for batch in data:
        if isinstance(batch, dict):
            for values in zip(*batch.values(), strict=True):
                yield dict(zip(batch, values, strict=True))
        else:
            for i in range(len(batch[0])):
                yield tuple(values[i] for values in batch)


def unlisted_(data: Iterable[Any]) -> Iterator[Any]:
    """The samples of lists."""
    return itertools.chain.from_iterable(data)


def rsample_(data: Iterable[Any], p: float = 0.5) -> Iterator[Any]:
    """Each sample with a probability, by Python's generator."""
    return (sample for sample in data if random.uniform(0.0, 1.0) < p)


def check_empty(source: Iterable[Any]) -> Iterator[Any]:
    """Raises ValueError if there is no sample."""
    empty = True
    for sample in source:
        empty = False
        yield sample
    if empty:
        raise ValueError("no samples: are there fewer shards than workers? empty_check=False allows it")

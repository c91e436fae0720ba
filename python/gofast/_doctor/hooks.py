"""Puts the clock's hands where samples are read, decoded, transformed and collated.

Only ever in a forked child: nothing is taken back, and workers that are forked from it inherit everything.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import io
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torch.utils.data import ConcatDataset, Subset
from torch.utils.data._utils import fetch

from . import taken
from .between import Between
from .clock import Clock
from .records import Batch, Records

clock = Clock()
_SWITCH = 8e-6  # seconds that a switch of the clock takes, with the hook around it
_RECORD = 2e-4  # seconds of writing and reading a record
_COST = 0.01  # of a batch's time, at most
_SLOWEST = 16  # samples of a batch that are reported one by one
_TRANSFORMS = {"transform", "transforms", "augment", "augmentation", "aug", "preprocess", "tfm", "tfms"}
_DECODES = {"decode", "decompress"}


def put(dataset: Any, records: Records) -> None:
    """Puts all hooks in place, in this process and the workers that it will fork."""
    _fetching(records)
    _pictures()
    _files()
    _composes()
    _transforms(dataset, set())
    taken.everywhere(_swapped)


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose time is a stage's."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not clock.runs:
            return function(*args, **named)
        with clock.stage(name):
            return function(*args, **named)

    return call


_swapped: dict[int, taken.Swap] = {}  # by the id of the function that was there before


def _swap(module: Any, name: str, made: Callable[..., Any]) -> None:
    plain = getattr(module, name)
    setattr(module, name, made)
    _swapped[id(plain)] = plain, made


# -- batches -----------------------------------------------------------------------


def _fetching(records: Records) -> None:
    for kind, detailed in ((fetch._MapDatasetFetcher, _map), (fetch._IterableDatasetFetcher, _iterable)):
        kind.fetch = _of(detailed, kind.fetch, records)  # type: ignore[method-assign]


def _of(detailed: Callable[..., Any], plain: Callable[..., Any], records: Records) -> Callable[..., Any]:
    """A fetcher's `fetch` that times so many batches that this costs 1 % at most."""
    left = 0
    between = Between(clock.waited)

    def run(self: Any, index: Any) -> Any:
        nonlocal left
        begin = time.perf_counter()
        size = len(index) if isinstance(index, list) else 1
        if left > 0:
            left -= 1
            made = plain(self, index)
            between.add(size, time.perf_counter() - begin)
            if between.slow and between.seconds > _RECORD / _COST:  # there may be no later time to tell it
                records.put(between.take())
            return made
        clock.start()
        each: list[float] = []
        try:
            made = detailed(self, index, each)
        finally:
            clock.stop()
        took = time.perf_counter() - begin
        delay = sum(stage.delay for stage in clock.stages.values())
        record = _record(each, size, took, delay)
        if between.samples:
            records.put(between.take())
        records.put(record)
        between.learn(record)
        spent = ((clock.switches + len(each)) * _SWITCH + 2 * _RECORD) / _COST
        left = min(math.ceil(spent / max(took, 1e-9)) - 1, 1000)
        return made

    return run


def _record(each: list[float], size: int, took: float, delay: float) -> Batch:
    stages = {
        name[:60]: (round(stage.wall, 7), round(stage.cpu, 7), round(stage.delay, 7))
        for name, stage in sorted(clock.stages.items(), key=lambda item: -item[1].wall)[:16]
    }
    slowest = [round(seconds, 7) for seconds in sorted(each, reverse=True)[:_SLOWEST]]
    median = statistics.median(each) if each else 0.0
    return Batch(max(len(each), 1 if size < 1 else size), took, delay, stages, slowest, median, sum(each))


def _map(self: Any, index: Any, each: list[float]) -> Any:
    now = clock.ran
    if not self.auto_collation:
        with clock.stage("own"):
            begin = now()
            data = self.dataset[index]
            each.append(now() - begin)
    elif getattr(self.dataset, "__getitems__", None):
        with clock.stage("own"):
            data = self.dataset.__getitems__(index)
    else:
        data = []
        with clock.stage("own"):
            before = now()
            for one in index:
                data.append(self.dataset[one])
                after = now()
                each.append(after - before)
                before = after
    with clock.stage("collate"):
        return self.collate_fn(data)


def _iterable(self: Any, index: Any, each: list[float]) -> Any:
    if self.ended:
        raise StopIteration
    now = clock.ran
    data: Any = []
    with clock.stage("own"):
        if not self.auto_collation:
            data = next(self.dataset_iter)
        else:
            before = now()
            for _ in index:
                try:
                    data.append(next(self.dataset_iter))
                except StopIteration:
                    self.ended = True
                    break
                after = now()
                each.append(after - before)
                before = after
            if not data or (self.drop_last and len(data) < len(index)):
                raise StopIteration
    with clock.stage("collate"):
        return self.collate_fn(data)


# -- files and pictures ------------------------------------------------------------


class _TimedFile(io.FileIO):
    """A file whose reads are the stage "read"."""

    def readinto(self, buffer: Any) -> int:
        with clock.stage("read"):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with clock.stage("read"):
            return super().readall()

    def read(self, size: int | None = -1) -> bytes:
        with clock.stage("read"):
            return super().read(-1 if size is None else size)


def _files() -> None:
    plain = io.open

    @functools.wraps(plain)
    def open(file: Any, mode: str = "r", buffering: int = -1, *args: Any, **named: Any) -> Any:
        if not clock.runs or mode != "rb" or any(args) or named:
            return plain(file, mode, buffering, *args, **named)
        with clock.stage("read"):
            raw = _TimedFile(file, "rb")
        if buffering == 0:
            return raw
        return io.BufferedReader(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)

    _swap(io, "open", open)
    builtins.open = open
    for name in ("read", "pread", "readv", "preadv"):
        _swap(os, name, timed("read", getattr(os, name)))
    if "socket" in sys.modules:
        import socket

        class Timed(socket.socket):
            def recv(self, *args: Any) -> bytes:
                with clock.stage("read"):
                    return super().recv(*args)

            def recv_into(self, *args: Any, **named: Any) -> int:
                with clock.stage("read"):
                    return super().recv_into(*args, **named)

        socket.socket = Timed  # type: ignore[misc]


def _pictures() -> None:
    import PIL.Image
    import PIL.ImageFile

    _swap(PIL.Image, "open", timed("decode", PIL.Image.open))
    PIL.ImageFile.ImageFile.load = timed("decode", PIL.ImageFile.ImageFile.load)  # type: ignore[method-assign]
    for name, stage, functions in (
        ("torchvision.io", "decode", ("decode_image", "decode_jpeg", "decode_png", "read_image")),
        ("torchvision.io", "read", ("read_file",)),
        ("cv2", "decode", ("imread", "imdecode")),
        ("numpy", "read", ("fromfile",)),
    ):
        module = sys.modules.get(name)
        for function in functions:
            if hasattr(module, function):
                _swap(module, function, timed(stage, getattr(module, function)))


# -- transforms --------------------------------------------------------------------


def name_of(step: Any) -> str:
    """How the report names a step."""
    return str(getattr(step, "__name__", type(step).__name__))


class Timed:
    """A callable attribute of a dataset, timed; anything else that is asked of it is the callable's."""

    def __init__(self, inner: Any, stage: str) -> None:
        self.inner, self.stage = inner, stage

    def __call__(self, *args: Any, **named: Any) -> Any:
        with clock.stage(self.stage):
            return self.inner(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name in ("inner", "stage"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def _composes() -> None:
    """Compose's steps, one by one."""
    v1, v2 = sys.modules.get("torchvision.transforms"), sys.modules.get("torchvision.transforms.v2")
    for module, method in ((v1, "__call__"), (v2, "forward")):
        kind = getattr(module, "Compose", None)
        if kind is not None and not getattr(kind, "_gofast_timed", False):
            setattr(kind, method, _stepwise(getattr(kind, method)))
            kind._gofast_timed = True


def _stepwise(plain: Callable[..., Any]) -> Callable[..., Any]:
    late = sys.modules.get("gofast._late.picture")
    whole = getattr(late, "LateImage", ())

    @functools.wraps(plain)
    def call(self: Any, *inputs: Any) -> Any:
        if not clock.runs:
            return plain(self, *inputs)
        if any(isinstance(value, whole) for value in inputs):  # one native call does all steps
            with clock.stage("transform:Compose"):
                return plain(self, *inputs)
        single = len(inputs) == 1
        for step in self.transforms:
            with clock.stage(f"transform:{name_of(step)}"):
                made = step(*inputs)
            inputs = (made,) if single else made
        return inputs[0] if single else inputs

    return call


def _transforms(dataset: Any, seen: set[int]) -> None:
    """The callables that a dataset keeps as attributes, through Subset and ConcatDataset."""
    if id(dataset) in seen or not hasattr(dataset, "__dict__"):
        return None
    seen.add(id(dataset))
    if isinstance(dataset, Subset):
        return _transforms(dataset.dataset, seen)
    if isinstance(dataset, ConcatDataset):
        for part in dataset.datasets:
            _transforms(part, seen)
        return None
    if type(dataset).__module__.split(".")[0] == "gofast":
        return None  # it would compile its transform anew; gofast.explain tells of its steps
    _methods(type(dataset))
    for name, value in list(vars(dataset).items()):
        known = _words(name) & _TRANSFORMS or type(value).__name__ in ("function", "partial")
        if not known or not callable(value) or isinstance(value, type) or type(value).__name__ == "Compose":
            continue
        for inner in ("transform", "target_transform"):  # torchvision's StandardTransform
            held = getattr(value, "__dict__", {}).get(inner)
            if callable(held) and type(held).__name__ not in ("Compose", "Timed"):
                setattr(value, inner, Timed(held, f"transform:{name_of(held)}"))
        if type(value).__name__ == "StandardTransform":
            continue
        loads = any(word in name.lower() for word in ("load", "open", "read", "decode"))
        with suppress(Exception):  # a class may refuse it: its own code is one stage then
            setattr(dataset, name, Timed(value, "decode" if loads else f"transform:{name_of(value)}"))
    return None


def _words(name: str) -> set[str]:
    return set(name.lower().split("_"))


def _methods(kind: type) -> None:
    """The user's own methods whose names say what stage they are."""
    for owner in kind.__mro__:
        if owner.__module__.split(".")[0] in ("builtins", "typing", "torch", "torchvision", "gofast"):
            continue
        for name, value in list(vars(owner).items()):
            function = value.__func__ if isinstance(value, staticmethod) else value
            if not inspect.isfunction(function) or inspect.isgeneratorfunction(function):
                continue
            if _words(name) & _DECODES:
                made = timed(f"decode:{name}", function)
            elif _words(name) & _TRANSFORMS:
                made = timed(f"transform:{name}", function)
            else:
                continue
            setattr(owner, name, staticmethod(made) if function is not value else made)

"""The names by which a script reaches its loader and what that is made of: a line of them runs there."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any

from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    default_collate,
    default_convert,
)

from .stages import is_own

_PLAIN = (int, float, complex, str, bytes, bool, type(None))  # two of these may be one object by chance
_GIVEN = ("collate_fn", "worker_init_fn", "generator", "multiprocessing_context")  # by their names
_OURS = ("device", "threads", "resident")  # arguments of gofast.DataLoader alone


class Scope:
    """What names mean where a loader is used.

    Attributes:
        names: there, with what they stand for.
        loader: the expression that is the loader; "loader" where it has no name.
        named: whether it has one.

    Args:
        names: of the place, the nearest first.
        script: the command line's words behind ``python``.
    """

    def __init__(self, loader: Any, names: Mapping[str, Any], script: str = "") -> None:
        # An iterator that is kept would keep its workers.
        self.names = {name: held for name, held in names.items() if not hasattr(type(held), "__next__")}
        self._script = script or _script()
        found = self.expression(loader)
        self._batch_size = getattr(loader, "batch_size", None)  # those measured may be smaller
        self.named, self.loader = found is not None, found or "loader"
        if found is None:
            self.names["loader"] = loader

    @classmethod
    def around(cls, frame: FrameType | None, loader: Any, script: str = "") -> Scope:
        """The user's function, from this frame outwards, that knows most of the loader."""
        dataset, best = getattr(loader, "dataset", None), (-1, dict[str, Any]())
        while frame is not None:
            if is_own(frame.f_code):
                names = {
                    **frame.f_locals,
                    **{k: v for k, v in frame.f_globals.items() if k not in frame.f_locals},
                }
                held = {id(value) for value in _reached(names)}
                known = 2 * (id(dataset) in held) + (id(loader) in held)
                best = max(best, (known, names), key=lambda pair: pair[0])
            frame = frame.f_back
        return cls(loader, best[1], script)

    @property
    def command(self) -> str:
        """The script with its arguments, as behind ``python``."""
        return self._script

    def expression(self, value: Any) -> str | None:
        """What reaches exactly this object: a name, an attribute or a key of one; else None."""
        if isinstance(value, _PLAIN):
            return None
        for name, held in self.names.items():
            if held is value and _is_name(name):
                return name
        for name, held in self.names.items():
            if _is_name(name):
                for part, inner in _parts(held):
                    if inner is value:
                        return f"{name}{part}"
        return None

    def dataset(self, dataset: Any, outer: Any) -> str:
        """The expression of the loader's dataset, or of one that its Subsets have inside.

        Args:
            outer: the loader's.
        """
        said = self.expression(outer) or f"{self.loader}.dataset"
        while outer is not dataset and isinstance(outer, Subset):
            outer = outer.dataset
            said = self.expression(outer) or f"{said}.dataset"
        return said

    def module(self, name: str) -> bool:
        """Whether a name is that module there."""
        return self.names.get(name) is sys.modules.get(name, self)

    def imports(self, code: str) -> list[str]:
        """The imports that a line needs beside those of the script."""
        return [
            f"import {name}"
            for name in ("os", "torch", "gofast")
            if f"{name}." in code and not self.module(name)
        ]

    def knows(self, names: Iterable[str]) -> bool:
        """Whether all of these mean something there."""
        return all(name in self.names or hasattr(builtins, name) for name in names)

    def of_class(self, kind: type) -> str:
        """The expression of a class."""
        if kind.__module__.partition(".")[0] == "gofast":
            return f"gofast.{kind.__name__}"
        known = self.expression(kind)
        return known or (
            f"torch.utils.data.{kind.__name__}" if kind.__module__[:5] == "torch" else kind.__name__
        )

    def remade(self, loader: DataLoader[Any], dataset: str, kind: str = "", **changes: Any) -> str:
        """The line that makes the loader, with its own arguments and some that are changed.

        Args:
            dataset: the expression of its dataset.
            kind: of its class; "": that which it has.
            changes: arguments of DataLoader, as they are written.
        """
        words = {name: said for name, said in {**dict(self._arguments(loader)), **changes}.items() if said}
        given = ", ".join([dataset, *(f"{name}={said}" for name, said in words.items())])
        return f"{self.loader} = {kind or self.of_class(type(loader))}({given})"

    def _arguments(self, loader: Any) -> Iterator[tuple[str, str]]:
        """The arguments that are not DataLoader's defaults, as they are written."""
        own = loader.batch_sampler is not None and type(loader.batch_sampler) is not BatchSampler
        if own:
            yield "batch_sampler", self._held(loader, "batch_sampler")
        else:
            if self._batch_size != 1:
                yield "batch_size", repr(self._batch_size)
            order = loader.sampler
            if type(order) is RandomSampler and not order.replacement and order._num_samples is None:
                # Of another generator than the loader's, the order is the sampler's own.
                mine = order.generator in (None, loader.generator)
                yield ("shuffle", "True") if mine else ("sampler", self._held(loader, "sampler"))
            elif type(order) is not SequentialSampler and not isinstance(loader.dataset, IterableDataset):
                yield "sampler", self._held(loader, "sampler")
            if loader.drop_last:
                yield "drop_last", "True"
        for name in ("num_workers", "pin_memory", "timeout", "persistent_workers"):
            if getattr(loader, name):
                yield name, repr(getattr(loader, name))
        if loader.num_workers and loader.prefetch_factor not in (None, 2):
            yield "prefetch_factor", repr(loader.prefetch_factor)
        for name in (*_GIVEN, *_OURS):
            value = getattr(loader, name, None)
            if value is not None and value not in (default_collate, default_convert):
                yield name, repr(value) if isinstance(value, _PLAIN) else self._held(loader, name)

    def _held(self, loader: Any, name: str) -> str:
        return self.expression(getattr(loader, name)) or f"{self.loader}.{name}"


def _parts(held: Any) -> Iterator[tuple[str, Any]]:
    """What an object of the script's has, by attribute or key."""
    if isinstance(held, dict):
        yield from ((f"[{_quoted(key)}]", inner) for key, inner in [*held.items()] if isinstance(key, str))
    elif not isinstance(held, (ModuleType, type)) and not _is_library(type(held)):
        yield from ((f".{name}", inner) for name, inner in [*getattr(held, "__dict__", {}).items()])


def _is_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in (
        "torch",
        "torchvision",
        "gofast",
        "builtins",
        "numpy",
        "pandas",
    )


def _reached(names: Mapping[str, Any]) -> Iterator[Any]:
    for held in [*names.values()]:
        yield held
        yield from (inner for _, inner in _parts(held))


def _is_name(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _quoted(text: str) -> str:
    said = repr(text)
    return said if '"' in said or "\\" in said else said.replace("'", '"')


def _script() -> str:
    """The script's name with its arguments, as they were given."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return os.path.basename(file) if file else "train.py"

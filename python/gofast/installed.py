"""install: gofast under the names that a script imports from Pillow, torchvision and torch."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import sys
import threading
import warnings
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

import torch.utils.data
from torch.utils.data.dataloader import DataLoader as TorchDataLoader

from . import errors

__all__ = ["install", "uninstall"]

_lock = threading.RLock()
_replaced: list[tuple[ModuleType, str, Any, Any]] = []  # module, name, what was there, what is there now
_filter: Any = None  # of warnings
_depth = 0  # how often install was called, and not taken back
made: list[Any] = []  # the datasets and loaders that a script made through what is installed, the first ones
_MOST_MADE = 16


def install() -> Installed:
    """Replaces ``PIL.Image.open``, torchvision's ImageFolder and torch's DataLoader by gofast's.

    Until `uninstall`, ``PIL.Image.open`` gives late pictures (`gofast.open`),
    ``torchvision.datasets.ImageFolder`` is `gofast.ImageFolder`, and ``torch.utils.data.DataLoader`` is
    `gofast.DataLoader`. torchvision's other datasets, and all code that opens pictures through Pillow, gain
    without being named. Samples, batches and random draws stay what they were. ``python -m gofast train.py``
    does it for a script that is not changed.

    Not reached: what was imported by name before (``from torch.utils.data import DataLoader``), subclasses of
    DataLoader, which are torch's as before, and Pillow's own calls of its open. ``isinstance`` answers as it
    did, but for Pillow's classes of files: a late picture is no ``JpegImageFile`` and no ``ImageFile``. A
    file that was cut short raises where it did. One that is damaged in the middle raises when its pixels
    are asked for, which may be later than in Pillow. `gofast.errors.FallbackWarning` is silent meanwhile.

    Returns:
        A context manager, whose end is `uninstall`.

    Example:
        >>> with gofast.install():
        ...     train = torchvision.datasets.ImageFolder("photos/train", T.ToTensor())
        >>> isinstance(train, gofast.ImageFolder)
        True
    """
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _put_in_place()
    return Installed()


def uninstall() -> None:
    """Takes the last `install` back. With the first, everything is put back where it was.

    What was made meanwhile goes on as it is. Without an `install`, nothing happens.

    Example:
        >>> installed = gofast.install()
        >>> gofast.uninstall()
    """
    global _filter, _depth
    with _lock:
        _depth = max(_depth - 1, 0)
        if _depth > 0:
            return
        while _replaced:
            module, name, before, now = _replaced.pop()
            if getattr(module, name, None) is now:
                setattr(module, name, before)
        if _watcher in sys.meta_path:
            sys.meta_path.remove(_watcher)
        if _filter in warnings.filters:
            warnings.filters.remove(_filter)  # type: ignore[attr-defined]
        _filter = None
        composes = sys.modules.get("gofast._images.composes")
        if composes is not None:
            composes.leave()


class Installed:
    """What `install` returns: takes it back when a ``with`` statement is over."""

    def __enter__(self) -> Installed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        uninstall()


def _put_in_place() -> None:
    global _filter
    warnings.filterwarnings("ignore", category=errors.FallbackWarning)
    _filter = warnings.filters[0]
    import PIL.Image

    from ._images.composes import follow
    from ._late import opening

    @functools.wraps(opening.by_pillow)
    def open(fp: Any, mode: Any = "r", formats: Any = None) -> Any:
        if _depth == 0:  # whoever wrapped this one goes on calling it
            return opening.by_pillow(fp, mode, formats)
        if sys._getframe(1).f_globals.get("__name__", "").startswith("PIL."):
            return opening.by_pillow(fp, mode, formats)  # Pillow takes its own images apart
        follow()
        return opening.open_late(fp, mode, formats)

    if PIL.Image.open is opening.by_pillow:  # somebody else's stays
        _replace(PIL.Image, "open", open)
    for module in (torch.utils.data, torch.utils.data.dataloader):
        if module.DataLoader is TorchDataLoader:
            _replace(module, "DataLoader", _class("DataLoader"))
    sys.meta_path.insert(0, _watcher)
    if "torchvision.datasets" in sys.modules:
        _put_in_torchvision(sys.modules["torchvision.datasets"])


def _put_in_torchvision(datasets: ModuleType) -> None:
    folder = sys.modules["torchvision.datasets.folder"]
    own = folder.ImageFolder
    for module in (datasets, folder):
        if module.ImageFolder is own and own.__module__ == "torchvision.datasets.folder":
            _replace(module, "ImageFolder", _class("ImageFolder"))


def _replace(module: ModuleType, name: str, now: Any) -> None:
    _replaced.append((module, name, getattr(module, name), now))
    setattr(module, name, now)


# -- the classes


class _Stands(type):
    """A class that stands for another: whatever is one of that is one of this."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> Any:
        # A loader that somebody has changed is torch's, with all that it relies on.
        loader = globals().get("DataLoader")
        if loader is not None and loader in bases:
            plain = tuple(TorchDataLoader if base is loader else base for base in bases)
            return type(plain[0])(name, plain, body, **options)
        return super().__new__(cls, name, bases, body, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        original = vars(cls).get("_stands_for")
        return super().__instancecheck__(instance) if original is None else isinstance(instance, original)

    def __subclasscheck__(cls, kind: type) -> bool:
        original = vars(cls).get("_stands_for")
        return super().__subclasscheck__(kind) if original is None else issubclass(kind, original)


def _class(name: str) -> Any:
    """The class that replaces torch's DataLoader, or of torchvision's ImageFolder."""
    if name in globals():
        return globals()[name]
    if name == "DataLoader":
        from .loader import DataLoader as own

        original: type = TorchDataLoader
    else:
        from .images import ImageFolder as own  # type: ignore[assignment]

        original = sys.modules["torchvision.datasets.folder"].ImageFolder

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        own.__init__(self, *args, **options)
        if len(made) < _MOST_MADE:
            made.append(self)

    body = {
        "__init__": functools.wraps(own.__init__)(__init__),
        "__module__": __name__,
        "__doc__": own.__doc__,
        "_stands_for": original,
    }
    globals()[name] = _Stands(name, (own,), body)
    return globals()[name]


def __getattr__(name: str) -> Any:
    """For pickles: a worker process that was spawned may be the first to ask."""
    if name == "DataLoader" or (name == "ImageFolder" and "torchvision.datasets.folder" in sys.modules):
        return _class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# -- what is imported later


class _Watcher(importlib.abc.MetaPathFinder):
    """Looks when torchvision.datasets is imported, and then puts ImageFolder in place."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """See the base class."""
        if name != "torchvision.datasets" or self not in sys.meta_path:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next((s for f in others if (s := f.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            _then(spec.loader, _put_in_torchvision)
        return spec


def _then(loader: Any, after: Callable[[ModuleType], None]) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        if _watcher in sys.meta_path:
            after(module)

    loader.exec_module = exec_module


_watcher = _Watcher()

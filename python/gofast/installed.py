"""install: gofast under the names that a script imports from Pillow, torchvision and torch."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Callable
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from torch.utils.data.dataloader import DataLoader as TorchDataLoader

from . import errors, images, loader
from ._core.arguments import checked

__all__ = ["install", "uninstall"]

_lock = threading.RLock()
_replaced: list[tuple[Any, str, Any, Any]] = []  # of a module or class: name, what was there, what is now
_filter: Any = None  # of warnings
_depth = 0  # how often install was called, and not taken back
made: list[Any] = []  # the datasets and loaders that a script made through what is installed, the first ones
_MOST_MADE = 16


@checked
def install(
    *, cache: str | os.PathLike[str] | None = None, cache_limit: str | int | None = None
) -> Installed:
    """Makes ``PIL.Image.open``, torchvision's ImageFolder and torch's DataLoader give gofast's.

    This holds until `uninstall`. ``PIL.Image.open`` gives lazy images (`gofast.open`), and so does
    ``PIL.Image.fromarray`` of a coloured or grey array. ``torchvision.datasets.ImageFolder`` makes a
    `gofast.ImageFolder`, and ``torch.utils.data.DataLoader`` a `gofast.DataLoader`: subclasses of these.
    torchvision's other datasets, and all code that opens pictures through Pillow, gain without being named.
    Samples, batches and random draws stay what they were. ``python -m gofast train.py`` does it for a script
    that is not changed.

    It does not reach subclasses of DataLoader, subclasses of ImageFolder with a ``__getitem__`` of their own
    (which is called as before), and classes whose methods were patched. Nor does it reach ``PIL.Image.open``
    and ``fromarray`` where they were imported by name before, and Pillow's own calls of them. ``isinstance``
    answers as it did. A file that was cut short raises where it did. One that is damaged in the middle raises
    when its pixels are asked for, which may be later than in Pillow. `gofast.errors.FallbackWarning` is
    silent meanwhile.

    Args:
        cache: keeps what a Compose makes of a picture before it first draws, as ``cache=`` of
            `gofast.ImageFolder` does: ``"memory"``, or a folder. That holds for torchvision's datasets of
            files, and for each picture that a script opens and gives to a Compose. Forked workers share it;
            spawned ones open a folder themselves.
        cache_limit: bytes for each dataset, and for all pictures that a script opens.

    Returns:
        A context manager, whose end is `uninstall`.

    Raises:
        gofast.errors.OptionError: cache is no place, or cache_limit no number of bytes (a ValueError).

    Example:
        >>> with gofast.install():
        ...     train = torchvision.datasets.ImageFolder("photos/train", T.ToTensor())
        >>> isinstance(train, gofast.ImageFolder)
        True
    """
    global _depth
    with _lock:
        if cache is not None or cache_limit is not None:
            from ._images import path_cache

            path_cache.begin(cache, cache_limit)
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
        if (conversions := sys.modules.get("gofast._images.conversions")) is not None:
            vars(conversions)["installed"] = False
        while _replaced:
            holder, name, before, now = _replaced.pop()
            if getattr(holder, name, None) is now:
                setattr(holder, name, before)
        if _watcher in sys.meta_path:
            sys.meta_path.remove(_watcher)
        if _filter in warnings.filters:
            warnings.filters.remove(_filter)  # type: ignore[attr-defined]
        _filter = None
        composes = sys.modules.get("gofast._images.compose_calls")
        if composes is not None:
            composes.leave()
        if (path_cache := sys.modules.get("gofast._images.path_cache")) is not None:
            path_cache.end()


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

    from ._images import conversions, direct_readers, opening
    from ._images.compose_calls import follow
    from ._lazy import array_images, open_lazy

    conversions.installed = True
    direct_readers.follow()  # before a script imports them by name

    @functools.wraps(array_images.by_pillow)
    def fromarray(obj: Any, mode: Any = None) -> Any:
        caller = sys._getframe(1)
        lazy = None if opening.is_pillows(caller, here=False) else array_images.of_array(obj, mode, caller)
        if lazy is None:
            return array_images.by_pillow(obj, mode)
        follow()
        return lazy

    if PIL.Image.open in (open_lazy.by_pillow, opening.open):  # another's stays
        _replace(PIL.Image, "open", opening.open)
    if PIL.Image.fromarray is array_images.by_pillow:
        _replace(PIL.Image, "fromarray", fromarray)
    _take_over(TorchDataLoader, loader.DataLoader)
    sys.meta_path.insert(0, _watcher)
    if "torchvision.datasets" in sys.modules:
        _put_in_torchvision(sys.modules["torchvision.datasets"])


def _put_in_torchvision(datasets: ModuleType) -> None:
    def cached() -> dict[str, Any]:
        path_cache = sys.modules.get("gofast._images.path_cache")
        return {} if path_cache is None else path_cache.asked

    _take_over(sys.modules["torchvision.datasets.folder"].ImageFolder, images.ImageFolder, cached)


def _replace(holder: Any, name: str, now: Any) -> None:
    _replaced.append((holder, name, getattr(holder, name), now))
    setattr(holder, name, now)


def _take_over(theirs: type, ours: type, more: Callable[[], dict[str, Any]] = dict) -> None:
    """Makes a call of their class give an object of ours, a subclass of it.

    Their class stays where it is. So it can be derived from, annotated with, patched, compared and called by
    its methods' names as before, and an object of a subclass stays theirs.
    """
    init: Any = vars(theirs)["__init__"]

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        if _depth == 0 or type(self) is not theirs or _patched(theirs, ours):
            init(self, *args, **options)
            return
        self.__class__ = ours
        ours.__init__(self, *args, **{**more(), **options})  # type: ignore[misc]
        if len(made) < _MOST_MADE:
            made.append(self)

    _replace(theirs, "__init__", __init__)


def _patched(theirs: type, ours: type) -> bool:
    """Whether a method of their class, which ours would hide, comes from another module."""
    methods = {name: method for name, method in vars(theirs).items() if isinstance(method, FunctionType)}
    hidden = (method for name, method in methods.items() if getattr(ours, name) is not method)
    return any(m.__globals__["__name__"] != theirs.__module__ for m in hidden if m.__name__ != "__init__")


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

"""Functions of other packages that look whether they are given a lazy image, and else do what they did."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

Own = Callable[..., Any]


class Patches:
    """Functions and methods that are wrapped where they stand, once their modules are imported.

    Args:
        makers: for each "module:name" or "module:class.name", a function that makes the wrapper of what is
            there. A wrapper has ``__wrapped__``, as `functools.wraps` gives it. If another module of the same
            package defines the function, that module is named, too: "module:name:its module".
    """

    def __init__(self, makers: Mapping[str, Callable[[Own], Own]]) -> None:
        self._makers = makers
        self._wrapped: dict[str, tuple[Any, Own]] = {}
        self._seen = 0  # how many modules there were, when all that were there were whole
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        self._lock = threading.RLock()  # in a forked child: another thread may have held it

    def follow(self) -> bool:
        """Wraps what is imported by now. What somebody has replaced already stays as it is.

        Returns:
            Whether it has looked: more was imported.
        """
        modules = len(sys.modules)
        if modules == self._seen:
            return False
        with self._lock:
            self._seen = modules
            for place, maker in self._makers.items():
                module, path, defined = (*place.split(":"), "")[:3]
                *around, name = path.split(".")
                home = sys.modules.get(module)
                for each in around:
                    home = getattr(home, each, None)
                own = None if home is None or place in self._wrapped else vars(home).get(name)
                if module in sys.modules and own is None and place not in self._wrapped:
                    self._seen = 0  # it is being imported
                if own is not None and getattr(own, "__func__", own).__module__ == (defined or module):
                    self._wrapped[place] = home, own
                    setattr(home, name, maker(own))
        return True

    def leave(self) -> None:
        """Puts the functions back."""
        with self._lock:
            for place, (home, own) in self._wrapped.items():
                name = place.split(":")[1].rpartition(".")[2]
                if getattr(vars(home)[name], "__wrapped__", None) is own:
                    setattr(home, name, own)
            self._wrapped.clear()
            self._seen = 0


class Kernels:
    """Kernels of torchvision's v2 for some types, which are wrapped once it is imported.

    Args:
        module: where the functional is, and its kernel: behind "torchvision.transforms.v2.functional.".
        functional, kernel: their names.
        maker: makes the wrapper of a kernel.
    """

    def __init__(self, module: str, functional: str, kernel: str, maker: Callable[[Own], Own]) -> None:
        self._module, self._functional, self._kernel = _FUNCTIONAL + module, functional, kernel
        self._maker = maker
        self._own: dict[type, Own] = {}

    def _registered(self) -> dict[type, Own]:
        """By type; none where v2 is not imported, or does not say so."""
        home, v2 = sys.modules.get(_FUNCTIONAL + "_utils"), sys.modules.get(self._module)
        kernels = getattr(home, "_KERNEL_REGISTRY", {}).get(getattr(v2, self._functional, None), {})
        return kernels if isinstance(kernels, dict) else {}

    def follow(self) -> bool:
        """Puts these where torchvision's are. Whether there are any."""
        kernels = self._registered()
        for kind, own in kernels.items():
            if (own.__name__, own.__module__) == (self._kernel, self._module) and kind not in self._own:
                self._own[kind] = own
                kernels[kind] = self._maker(own)
        return bool(kernels)

    def leave(self) -> None:
        """Puts torchvision's back."""
        kernels = self._registered()
        for kind, own in self._own.items():
            if getattr(kernels.get(kind), "__wrapped__", None) is own:
                kernels[kind] = own
        self._own.clear()


_FUNCTIONAL = "torchvision.transforms.v2.functional."
_all: weakref.WeakSet[Patches] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for places in _all:
        places._renew()


os.register_at_fork(after_in_child=_after_fork_in_child)

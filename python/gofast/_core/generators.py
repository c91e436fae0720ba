"""The generators that everybody in a process draws from: torch's for the CPU, Python's and numpy's."""

from __future__ import annotations

import ctypes
import functools
import os
import random
import struct
import threading
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils.worker import _generate_state

from .numpy_state import NumpyState

_OWN = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
_taken = threading.RLock()


def _after_fork_in_child() -> None:
    global _taken
    _taken = threading.RLock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)


def taken() -> threading.RLock:
    """The lock for code that takes a generator's state and puts another there."""
    return _taken


def of_thread() -> torch.Generator:
    """What a transform draws from in this thread: the default generator, or that of one of torch's worker
    threads, which torch 2.15 knows of already.
    """
    own = None if _own is None else _own()
    return torch.default_generator if own is None else own


_own: Callable[[], torch.Generator | None] | None = getattr(torch, "thread_safe_generator", None)


class Generators:
    """The states of all three, as one value. It does not change; whoever draws makes another.

    Attributes:
        torch: of the CPU's default generator.
        python: of `random`.
        numpy: of `numpy.random`.
        refills: how often torch's has made new words since it was seeded, as the only number; None: nobody
            knows.
    """

    __slots__ = ("_brief", "numpy", "python", "refills", "torch")

    def __init__(
        self, torchs: torch.Tensor, python: Any, numpys: NumpyState, refills: array[int] | None = None
    ) -> None:
        self.torch, self.python, self.numpy, self.refills = torchs, python, numpys, refills
        self._brief: tuple[Generators, list[int]] | None = None  # what was told of torch's, and behind which

    @classmethod
    def now(cls) -> Generators:
        """Those of this process."""
        return cls(torch.get_rng_state(), random.getstate(), NumpyState.now())

    @classmethod
    def of_worker(cls, base_seed: int, worker: int) -> Generators:
        """Those of one of torch's worker processes, when it starts."""
        seeds: Any = _generate_state(base_seed, worker)  # type: ignore[no-untyped-call]
        numpys = np.random.RandomState(seeds).get_state(legacy=False)
        seed = base_seed + worker
        return cls(worker_state(seed), random.Random(seed).getstate(), NumpyState(numpys), array("q", [0]))

    @classmethod
    def of(cls, plain: dict[str, Any], first: Generators | None = None) -> Generators:
        """Those of which `plain` told, with the same argument."""
        words = plain["words"].numpy().tobytes() if "words" in plain else b""
        python = _python_of(plain["python"], words) if first is None or "python" in plain else first.python
        numpys = NumpyState.of(plain["numpy"], words) if first is None or "numpy" in plain else first.numpy
        told = plain["torch"]
        if first is None or isinstance(told, torch.Tensor):
            return cls(unpacked(told), python, numpys)
        return cls(_refilled(told, first.torch), python, numpys, array("q", told[:1]))

    def plain(self, first: Generators | None = None) -> dict[str, Any]:
        """The same as plain data, for any process and ``torch.load(weights_only=True)``.

        Args:
            first: what the generators were, which `of` is given too: states that are still the same are left
                out. Drawing from Python's and numpy's is rare.
        """
        brief = None
        if first is not None and self.refills is not None:
            if self._brief is not None and self._brief[0] is first:
                brief = [*self._brief[1]]
            elif brief := _brief(self.torch, self.refills[0], first.torch):
                self._brief = first, [*brief]
        plain: dict[str, Any] = {"torch": brief or packed(self.torch)}
        words = b""  # a tensor of each would take 300 bytes more in a file
        if first is None or (self.python is not first.python and self.python != first.python):
            version, numbers, gauss = self.python
            plain["python"], words = [version, gauss], struct.pack(f"={len(numbers)}I", *numbers)
        if first is None or not self.numpy.same(first.numpy):
            plain["numpy"], words = self.numpy.plain(), words + self.numpy.words
        if words:
            plain["words"] = torch.frombuffer(bytearray(words), dtype=torch.uint8)
        return plain

    @classmethod
    def plain_now(cls) -> dict[str, Any]:
        """What ``now().plain()`` tells, in half of its time: Python's 625 numbers are copied as they lie."""
        words = _python_words()
        if words is None:
            return cls.now().plain()
        inside: Any = random._inst
        numpys = NumpyState.now()
        return {
            "torch": packed(torch.get_rng_state()),
            "python": [inside.VERSION, inside.gauss_next],
            "numpy": numpys.plain(),
            "words": torch.frombuffer(bytearray(words + numpys.words), dtype=torch.uint8),
        }

    def copy(self) -> Generators:
        """The same, but its state of torch's may be drawn from in place."""
        refills = None if self.refills is None else self.refills[:]
        return Generators(self.torch.clone(), self.python, self.numpy, refills)

    def replaced(self, drawn: Generators, python: Any = None) -> Generators:
        """The same, but torch's state is that of others, and Python's this one if it is given."""
        python = python or self.python
        if python is drawn.python and self.numpy is drawn.numpy:
            return drawn
        return Generators(drawn.torch, python, self.numpy, drawn.refills)

    def counted(self) -> Generators:
        """The same; if torch's was just seeded, with its refills counted from here on."""
        if torch.equal(self.torch, worker_state(_head(self.torch)[0])):
            return Generators(self.torch, self.python, self.numpy, array("q", [0]))
        return self

    def same(self, other: Generators) -> bool:
        """Whether the next draws are the same."""
        return (
            torch.equal(self.torch, other.torch)
            and self.python == other.python
            and self.numpy.same(other.numpy)
        )

    def put(self, there: Generators | None = None) -> None:
        """Makes them those of this process.

        Args:
            there: what those are now; None: that is looked up.
        """
        self.numpy.put(None if there is None else there.numpy)
        random.setstate(self.python)
        torch.set_rng_state(self.torch)


# A state of torch's generator for the CPU: its head, 624 words of 32 bits, each in 64, and its tail.
_HEAD, _WORDS, _STATE, _TAIL = 24, 624, 5056, 40
# Where what is kept of it lies, in words of 32 bits.
_KEPT = np.r_[: _HEAD // 4, _HEAD // 4 : (_STATE - _TAIL) // 4 : 2, (_STATE - _TAIL) // 4 : _STATE // 4]
_NO_NORMAL = bytes(_TAIL)


def packed(state: torch.Tensor) -> torch.Tensor:
    """A state of torch's generator in half of its bytes; the state itself where it lies otherwise."""
    if not _is_as_known(state.numel()):
        return state
    return torch.from_numpy(state.numpy().view(np.uint32)[_KEPT].view(np.uint8))


@functools.cache
def _is_as_known(size: int) -> bool:
    """Whether this torch lays a state of so many bytes out like that."""
    if size != _STATE:
        return False
    state = torch.Generator().manual_seed(1).get_state()
    return state.numel() == size and not state.numpy()[_HEAD:-_TAIL].view(np.uint32)[1::2].any()


def unpacked(state: torch.Tensor) -> torch.Tensor:
    """What `packed` was given."""
    if state.numel() != 4 * len(_KEPT):
        return state
    made = np.zeros(_STATE // 4, np.uint32)
    made[_KEPT] = np.frombuffer(state.numpy().tobytes(), np.uint32)
    return torch.from_numpy(made.view(np.uint8))


_MOST_REFILLS = 1 << 17  # 0.3 s to make them again


# The head: the seed, words that are left, 1 if it was seeded, and the place of the next word.
_NUMBERS = struct.Struct("<qiiq")


def _head(state: torch.Tensor) -> tuple[int, int, int, int]:
    seed, left, seeded, following = _NUMBERS.unpack(ctypes.string_at(state.data_ptr(), _HEAD))
    return seed, left, seeded, following


def _brief(state: torch.Tensor, refills: int, first: torch.Tensor) -> list[int] | None:
    """A state of torch's generator that was seeded, and made new words so often since; None: it needs more.

    Args:
        first: a state with about the same seed.
    """
    if refills > _MOST_REFILLS or not _is_as_known(state.numel()):
        return None
    seed, left, seeded, following = _head(state)
    if seeded != 1 or ctypes.string_at(state.data_ptr() + _STATE - _TAIL, _TAIL) != _NO_NORMAL:
        return None
    return [refills, seed - _head(first)[0], left, following]


def _refilled(brief: list[int], first: torch.Tensor) -> torch.Tensor:
    """What `_brief` was given."""
    refills, seed, left, following = brief
    seed += _head(first)[0]
    generator = torch.Generator().manual_seed(seed)
    words = _WORDS * (refills - 1) + 1  # the first one makes new ones, as does each behind 624
    while words > 0:
        words -= torch.empty(min(words, _WORDS << 10), dtype=torch.int32).random_(generator=generator).numel()
    state = generator.get_state()
    _NUMBERS.pack_into(state.numpy().data, 0, seed, left, 1, following)
    return state


def _python_of(plain: Any, words: bytes) -> Any:
    version, gauss = plain
    return version, tuple(array("I", words[: 4 * (_WORDS + 1)])), gauss


_python_at: tuple[Any, int] = None, 0  # what `random` draws from, and where its words lie


def _python_words() -> bytes | None:
    """The words of `random`'s generator, as `random.getstate` has them; None: they lie elsewhere.

    CPython's generator is the place of the next word, an int32, and 624 words, behind the head of its object.
    """
    global _python_at
    inside = random._inst
    if inside is not _python_at[0]:
        _python_at = inside, address = inside, id(inside) + object.__basicsize__
        numbers = random.getstate()[1]
        if type(inside) is not random.Random or _python_bytes(address) != struct.pack("=625I", *numbers):
            _python_at = inside, 0
    return _python_bytes(_python_at[1]) if _python_at[1] else None


def _python_bytes(address: int) -> bytes:
    words = ctypes.string_at(address, 4 * (_WORDS + 1))
    return words[4:] + words[:4]


def worker_state(seed: int) -> torch.Tensor:
    """The state of torch's generator after `torch.manual_seed`."""
    return torch.Generator().manual_seed(seed).get_state()


class PythonWords:
    """A state of `random` that the core draws from, and goes on with.

    Attributes:
        words: of Python's generator, and behind them the place of the next one.
    """

    __slots__ = ("_before", "words")

    def __init__(self, state: Any) -> None:
        self._before = state
        self.words = array("I", state[1])

    @property
    def state(self) -> Any:
        """As `random.getstate` gives it."""
        return self._before[0], tuple(self.words), self._before[2]

    def put(self) -> None:
        """Makes it that of `random`."""
        random.setstate(self.state)

    def back(self) -> None:
        """Gives `random` the state that it was made of."""
        random.setstate(self._before)


_is_own: dict[type, bool] = {}  # of types that were seen: torch's metaclass makes isinstance take 1 us


def owned(owner: Any, depth: int = 3) -> list[Any]:
    """The generators that are attributes of a loader, of its samplers or of its dataset, each once."""
    found: dict[int, Any] = {}
    own = vars(owner) if hasattr(owner, "__dict__") else {}
    for value in own.values():
        kind = type(value)
        if kind not in _is_own:
            _is_own[kind] = issubclass(kind, _OWN)
        if _is_own[kind]:
            found[id(value)] = value
    for name in ("sampler", "batch_sampler", "dataset") if depth else ():
        if own.get(name) is not None:
            found |= {id(one): one for one in owned(own[name], depth - 1)}
    return [*found.values()]


def state_of(generator: Any) -> Any:
    """The state of a generator of torch's, numpy's or Python's kind."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random):
        return generator.getstate()
    return packed(generator.get_state()) if isinstance(generator, torch.Generator) else generator.get_state()


def put_state(generator: Any, state: Any) -> None:
    """Gives a generator a state that `state_of` told."""
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(unpacked(state) if isinstance(generator, torch.Generator) else state)

"""The state of numpy's global generator, which is read and written where it lies."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_BYTES = 2500  # 624 words, and the place of the next one


class NumpyState:
    """A state of numpy's generator.

    numpy itself takes 60 us to give its state, and as long to take one (2026-11). What it draws from are
    2,500 bytes, and the second number of a pair of normal ones, if only the first was taken. Where no such
    number waits, the bytes are all there is.

    Attributes:
        whole: as numpy gives it; None where the bytes are all.
        words: the bytes; empty where they cannot be reached.
    """

    __slots__ = ("whole", "words")

    def __init__(self, whole: Any) -> None:
        words = b""
        if whole["bit_generator"] == "MT19937":
            state = whole["state"]
            words = state["key"].tobytes() + int(state["pos"]).to_bytes(4, "little")
        self.words = words
        self.whole = whole if whole["has_gauss"] or not _address() else None

    @classmethod
    def now(cls) -> NumpyState:
        """What the generator has now."""
        global _last
        if _last is None or _last.whole is not None or _last.words != _words():
            _last = cls(np.random.get_state(legacy=False))
        return _last  # no second number can have come without a change of the bytes

    def put(self, there: NumpyState | None = None) -> None:
        """Gives the generator this state. `there` is what it has now; None: that is looked up."""
        global _last
        there = there or NumpyState.now()
        if self is there:
            return
        address = _address()
        if self.whole is None and there.whole is None and address:
            with np.random.mtrand._rand._bit_generator.lock:
                ctypes.memmove(address, self.words, len(self.words))
        else:
            np.random.set_state(self.told())
        _last = self

    def told(self) -> Any:
        """As numpy gives it."""
        if self.whole is not None:
            return self.whole
        key, pos = np.frombuffer(self.words[:-4], np.uint32), int.from_bytes(self.words[-4:], "little")
        inner = {"key": key, "pos": pos}
        return {"bit_generator": "MT19937", "state": inner, "has_gauss": 0, "gauss": 0.0}

    @classmethod
    def of(cls, plain: dict[str, Any], words: bytes) -> NumpyState:
        """What `plain` told; its words are the last ones."""
        if "state" in plain:
            return cls(plain)
        words = words[-_BYTES:]
        inner = {"key": np.frombuffer(words[:-4], np.uint32), "pos": int.from_bytes(words[-4:], "little")}
        return cls({"bit_generator": "MT19937", "state": inner, **plain})

    def plain(self) -> dict[str, Any]:
        """The same as plain data, but for the words; with arrays where it is not numpy's usual generator."""
        if not self.words:
            return dict(self.told())
        whole = self.whole or {"has_gauss": 0, "gauss": 0.0}
        return {"has_gauss": int(whole["has_gauss"]), "gauss": float(whole["gauss"])}

    def same(self, other: NumpyState) -> bool:
        """Whether the next draws are the same."""
        if self is other or self.words != other.words:
            return self is other
        return (self.whole is None and other.whole is None) or repr(self.told()) == repr(other.told())


_last: NumpyState | None = None  # what the generator had when it was looked at; mostly it still has it
_known: tuple[Any, int] = None, 0  # the bit generator that was looked at, and where its state lies


def _address() -> int:
    """Where the bytes lie; 0 where they are not as expected."""
    global _known
    bits: Any = np.random.mtrand._rand._bit_generator
    if bits is not _known[0]:
        _known = bits, _looked_for(bits)
    return _known[1]


def _looked_for(bits: Any) -> int:
    try:
        state, address = bits.state["state"], int(bits.ctypes.state_address)
        expected = state["key"].tobytes() + int(state["pos"]).to_bytes(4, "little")
        return (
            address if ctypes.string_at(address, len(expected)) == expected and len(expected) == _BYTES else 0
        )
    except (AttributeError, KeyError, TypeError):
        return 0  # not numpy's usual generator


def _words() -> bytes | None:
    address = _address()
    if not address:
        return None
    with np.random.mtrand._rand._bit_generator.lock:
        return ctypes.string_at(address, _BYTES)

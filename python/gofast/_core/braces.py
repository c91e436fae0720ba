"""Names of files as patterns have them: bash's braces (``train-{000..146}.tar``), and what is no shard."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .. import errors
from .shown_urls import shown

_NUMBERS = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?(\d+))?$")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?(\d+))?$")
_INDEX = ".index"
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def braces(pattern: str) -> list[str]:
    """What bash makes of ``{000..146}`` and ``{a,b}``, in its order, as the package braceexpand does.

    Raises:
        OptionError: a brace is not closed, or not opened.
    """
    return [re.sub(r"\\(.)", r"\1", made) for made in _expanded(pattern)]


def _expanded(pattern: str) -> Iterator[str]:
    items: list[list[str]] = []
    start = depth = 0
    for at, character in _unescaped(pattern):
        if character == "{":
            if depth == 0:
                items.append([pattern[start:at]])
                start = at
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                items.append(_choices(pattern[start + 1 : at]))
                start = at + 1
    if depth:
        raise errors.OptionError(f"{shown(pattern)!r}: the braces do not match")
    return map("".join, itertools.product(*items, [pattern[start:]]))


def _choices(inner: str) -> list[str]:
    if found := _NUMBERS.match(inner):
        first, last = int(found[1]), int(found[2])
        padded = any(re.match("-?0.", end) for end in found.group(1, 2))
        width = max(len(found[1]), len(found[2])) if padded else 0
        step = int(found[3] or 1) or 1
        numbers = range(first, last + 1, step) if first < last else range(first, last - 1, -step)
        return [f"{number:0{width}}" if width else str(number) for number in numbers]
    if found := _LETTERS.match(inner):
        first, last = _ALPHABET.index(found[1]), _ALPHABET.index(found[2])
        step = int(found[3] or 1) or 1
        if first < last:
            return list(_ALPHABET[first : last + 1 : step])
        return [_ALPHABET[i] for i in range(first, last - 1, -step)]
    commas, depth = [-1], 0
    for at, character in _unescaped(inner):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            commas.append(at)
    if len(commas) == 1:
        return ["{" + made + "}" for made in _expanded(inner)]
    parts = [inner[a + 1 : b] for a, b in itertools.pairwise([*commas, len(inner)])]
    return [made for part in parts for made in _expanded(part)]


def _unescaped(text: str) -> Iterator[tuple[int, str]]:
    """The characters that no backslash stands before, and their places."""
    for found in re.finditer(r"\\.|(.)", text, re.DOTALL):
        if found[1]:
            yield found.start(), found[1]


def index_name(shard: str) -> str:
    """Where the index of a tar shard lies, which `gofast shard` writes; of a path or a URL."""
    return shard + _INDEX


def is_meant(path: str, pattern: str) -> bool:
    """Whether a path that matches is no such index: a pattern means these only where it ends so."""
    return not path.endswith(index_name(".tar")) or pattern.endswith(_INDEX)

"""What users give as paths: files, patterns like the shell's, lists of these."""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .. import errors
from .arguments import several

Paths = str | Path | Iterable[str | Path]

_NUMBERS = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?(\d+))?$")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?(\d+))?$")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern, and not an existing path that looks like one."""
    return glob.has_magic(path) and not os.path.exists(path)


def matching(pattern: str) -> list[str]:
    """The files that match, sorted by path; ``**`` stands for any folders."""
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))


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
        raise errors.OptionError(f"{pattern!r}: the braces do not match")
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


def files_of(paths: Paths) -> list[str]:
    """The files of a path, a pattern or a list of them, as absolute paths. A pattern may have bash's braces.

    Raises:
        OptionError: these are no paths, or there is none.
        NotFoundError: no file matches a pattern.
    """
    if isinstance(paths, (bytes, dict, set, frozenset)):
        kind = type(paths).__name__
        raise errors.OptionError(f"paths is a {kind}: give a path, a pattern, or a list of them")
    made: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else several(paths):
        if not isinstance(path, (str, os.PathLike)):
            raise errors.OptionError(f"paths: {path!r:.80} is not a path")
        given = os.path.expanduser(os.fspath(path))
        for each in braces(given) if "{" in given and not os.path.exists(given) else [given]:
            found = matching(each) if is_pattern(each) else [each]
            if not found:
                raise errors.NotFoundError(f"{each}: no file matches the pattern").at(path=each)
            made += map(os.path.abspath, found)
    if not made:
        raise errors.OptionError("paths=[]: give at least one file")
    return made

"""Encodings of text files: the core reads UTF-8, and whatever has one byte for a character."""

from __future__ import annotations

import codecs
import functools

from .. import errors


@functools.cache
def _characters(name: str) -> tuple[int, ...]:
    """The character of each byte, -1 for none; empty where bytes are no characters."""
    found = []
    for byte in range(256):
        try:
            found.append(ord(bytes([byte]).decode(name)))
        except UnicodeDecodeError:
            found.append(-1)
        except TypeError:  # none, or several
            return ()
    # The first of two bytes together is no character alone.
    leading = [byte for byte, character in enumerate(found) if character < 0]
    return () if any(_is_pair(name, byte) for byte in leading) else tuple(found)


def _is_pair(name: str, leading: int) -> bool:
    for trailing in range(256):
        try:
            bytes([leading, trailing]).decode(name)
        except UnicodeDecodeError:
            continue
        return True
    return False


def upper_half(encoding: str) -> list[int] | None:
    """The characters of the bytes from 128 on, -1 for none; None for UTF-8.

    Raises OptionError for what is no encoding of single bytes, or has not ASCII's characters below 128.
    """
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise errors.OptionError(f"encoding={encoding!r} is not an encoding that Python knows") from None
    if name in ("utf-8", "utf-8-sig"):
        return None
    try:
        characters = _characters(name)
    except LookupError:  # of bytes to bytes, such as base64
        characters = ()
    if characters[:128] != tuple(range(128)):
        raise errors.OptionError(
            f"encoding={encoding!r}: gofast reads UTF-8 and encodings of one byte a character, such as "
            f'"latin-1": write the file as UTF-8, for example with iconv -f {name} -t utf-8'
        )
    return list(characters[128:])

"""What decides the ids of a column of texts, for the key of a cache that keeps them.

A cache with the ids of another tokenizer would be wrong in silence. So a tokenizer must say all that decides
its ids, or the user names it. A function's code says too little: it reads vocabularies that lie elsewhere.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from typing import Any

from .. import errors
from .texts import Text

# A fast tokenizer of transformers has a backend, which says its content itself, and what calls change.
_LEFT_OUT = ("_tokenizer", "deprecation_warnings")


def identities(options: Mapping[str, Text]) -> list[dict[str, Any]]:
    """What decides the texts and ids of each column, as JSON values.

    Raises:
        OptionError: a tokenizer cannot be told from others.
    """
    return [
        {
            "column": name,
            "missing": one.missing,
            "tokenizer": None if one.tokenizer is None else _identity(name, one),
            "options": [one.truncation, one.max_length, one.padding],
        }
        for name, one in options.items()
    ]


def _identity(name: str, option: Text) -> dict[str, Any]:
    try:
        told = _told(option.tokenizer)
    except Exception:  # of a part that only Python knows, or of another version
        told = None
    if told is None and option.identity is None:
        raise errors.OptionError(
            f"text={name!r} and cache=: nothing tells this tokenizer from another one, whose ids the cache "
            'may keep: give it a name, gofast.tokens.Text(tokenizer, identity="mine 1"), and another when it '
            "changes"
        )
    return {"name": option.identity, "told": told}


def _told(tokenizer: Any) -> Any:
    """What decides the ids of a tokenizer; None if that is not known."""
    if type(tokenizer) is functools.partial:
        inner = _told(tokenizer.func)
        given = json.dumps([tokenizer.args, tokenizer.keywords], sort_keys=True, allow_nan=False)
        return None if inner is None else [inner, given]
    kind = type(tokenizer)
    if not kind.__module__.startswith("transformers.") or not getattr(tokenizer, "is_fast", False):
        return None
    state = {key: value for key, value in vars(tokenizer).items() if key not in _LEFT_OUT}
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    backend["truncation"] = backend["padding"] = None  # each call sets them anew
    told = json.dumps([state, backend], sort_keys=True, default=_added_token)
    versions = [importlib.metadata.version(package) for package in ("transformers", "tokenizers")]
    return [f"{kind.__module__}.{kind.__qualname__}", hashlib.sha256(told.encode()).hexdigest(), *versions]


def _added_token(value: Any) -> str:
    """What JSON has no form of. Anything else, such as a function in the place of a method, is not known."""
    if type(value).__name__ != "AddedToken":
        raise TypeError
    return repr(value)

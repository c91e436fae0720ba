"""Where gofast keeps what it can make again, if the user names no place."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any


def user_cache() -> str:
    """The folder in the user's cache for that."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # as its specification says
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "gofast")


def own_index(kind: str, options: Any) -> str | None:
    """Where the index of a kind with such options is kept, or None where nothing can be kept."""
    folder = os.path.join(user_cache(), kind)
    name = hashlib.blake2b(json.dumps(options, sort_keys=True).encode(), digest_size=16).hexdigest()
    if not os.path.isabs(folder):  # there is no home: "~" would come to be where the process is
        return None
    try:
        folder.encode()  # the core is given text
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (OSError, UnicodeEncodeError):
        return None
    return os.path.join(folder, name) if os.access(folder, os.W_OK | os.X_OK) else None

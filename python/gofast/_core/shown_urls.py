"""What a URL is, and how errors and file names show it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+://", re.IGNORECASE)


def is_url(value: Any) -> bool:
    """Whether a value names a file on a server."""
    return isinstance(value, str) and _SCHEME.match(value) is not None


def shown(url: str) -> str:
    """A URL without what may be secret: a user, a signature. Other text stays."""
    if not is_url(url):
        return url
    scheme, _, rest = url.partition("://")
    try:
        parts = urlsplit(url)
        _ = parts.port  # which may be the beginning of a password
        rest = parts.netloc.rpartition("@")[2] + parts.path
    except ValueError:
        rest = re.split("[?#]", rest.rpartition("@")[2])[0]
    return f"{scheme}://{rest}"

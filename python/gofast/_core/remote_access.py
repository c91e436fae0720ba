"""Who is asked for a URL: a server of HTTP or S3 by the core, any other by the user's own fsspec."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from .. import errors
from .remote_operations import RemoteFile, S3Access
from .s3_access import s3_access
from .shown_urls import shown

NATIVE = ("http://", "https://", "s3://")


def remote_file(url: str) -> RemoteFile:
    """How the core reaches it.

    Raises:
        OptionError: it, or what the environment says of S3, makes no sense.
    """
    return remote_files([url])[0]


def remote_files(urls: Iterable[str]) -> list[RemoteFile]:
    """How the core reaches each. The environment is asked once for each server.

    Raises:
        OptionError: as of `remote_file`.
    """
    access: S3Access | None = None
    proxies: dict[tuple[str, str], str] = {}
    made: list[RemoteFile] = []
    for url in urls:
        s3 = url.startswith("s3:")
        if s3 and access is None:
            access = s3_access()
        mine: S3Access = access if s3 and access is not None else {}
        try:
            host = urlsplit(url).hostname
            asked = urlsplit(mine.get("endpoint") or url)
            _ = asked.scheme == "s3" or asked.port
        except ValueError:  # whose text may have a part of the password
            name = "the endpoint of S3" if s3 else shown(url)
            raise errors.OptionError(f"{name} is no URL") from None
        if not host:
            raise errors.OptionError(f"{shown(url)!r} is no URL: it names no {'bucket' if s3 else 'host'}")
        scheme = "https" if asked.scheme == "s3" else asked.scheme
        server = scheme, asked.netloc.rpartition("@")[2]
        if server not in proxies:
            proxies[server] = _proxy(*server)
        made.append({"url": url, "proxy": proxies[server], "s3": mine})
    return made


def _proxy(scheme: str, place: str) -> str:
    import urllib.request  # 20 ms, for who has URLs

    inside = urllib.request.proxy_bypass(place)  # type: ignore[attr-defined, unused-ignore]
    proxy = "" if inside else urllib.request.getproxies().get(scheme, "")
    return "http://" + proxy if proxy and "://" not in proxy else proxy


def normal(url: str) -> str:
    """The scheme in small letters; without a fragment, which is no server's."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    return f"{scheme}://{rest.partition('#')[0] if scheme in ('http', 'https') else rest}"


def beside(folder: str, name: str) -> str:
    """The URL of a file in the folder of a URL. What is behind "?" in one of HTTP stays at the end."""
    folder, query = normal(folder), ""
    if folder.startswith(("http://", "https://")):
        folder, mark, query = folder.partition("?")
        name, query = quote(os.fsencode(name)), mark + query
    return f"{folder.rstrip('/')}/{name}{query}"


@contextlib.contextmanager
def fsspec_of(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, and the file's name there. Its errors are ours."""
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]

        yield url_to_fs(url)
    except errors.GofastError:
        raise
    except Exception as error:
        kind: type[errors.GofastError] = errors.ReadError
        why = ""
        if isinstance(error, FileNotFoundError):
            kind, why = errors.NotFoundError, "no such file: "
        elif isinstance(error, (ImportError, ValueError)):  # no package for it, or nobody knows the protocol
            kind = errors.UnsupportedError
            why = "only http(s): and s3: are read without fsspec and its package for them: "
        name = shown(url)
        plain = name == url  # else its text may have the secret, and its traceback too
        said = f"{name}: {why}{error if plain else type(error).__name__}"
        raise kind(said).at(path=name) from (error if plain else None)

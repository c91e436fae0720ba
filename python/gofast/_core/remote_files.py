"""Files behind URLs: downloaded once for all processes of a host, and local files from there on.

The core asks servers of HTTP and S3, several at a time; any other scheme is the user's own fsspec's.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .. import errors
from .atomic_files import locked_now
from .braces import braces
from .download_cache import DownloadBudget, DownloadCache, file_name
from .operation import Begun
from .progress import Progress
from .remote_operations import RemoteFile, RemoteState, RemoteTarget, download, probe
from .s3_access import s3_access
from .units import many

_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+://")
_NATIVE = ("http://", "https://", "s3://")
_TOGETHER = 64  # files, of which each has two descriptors
_WAIT = 0.05  # seconds between looks at what another process downloads


def is_url(value: Any) -> bool:
    """Whether a value names a file on a server."""
    return isinstance(value, str) and _SCHEME.match(value) is not None


def local_files(value: Any) -> Any:
    """A path or a list of them, in which local files stand for URLs. A URL may have bash's braces.

    This process keeps the files from being removed, until it ends.

    Raises:
        GofastError: one cannot be downloaded.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not any(map(is_url, given)):
        return value
    spread = [each for one in given for each in (braces(one) if is_url(one) else [one])]
    for url in filter(is_url, spread):
        if "*" in url:
            raise errors.OptionError(f"{url}: no server lists its files: give braces, or a list of URLs")
    urls = [*dict.fromkeys(filter(is_url, spread))]
    downloads = Downloads(urls)
    made = dict(zip(urls, downloads.result(show=True), strict=True))
    downloads.keep()
    found = [made.get(one, one) if isinstance(one, str) else one for one in spread]
    return found[0] if isinstance(value, str) and len(found) == 1 else found


class _Wanted(NamedTuple):
    """A state of a file."""

    url: str
    file: RemoteFile | None  # None: fsspec brings it
    state: RemoteState
    name: str


class Downloads:
    """Files that are downloaded in the background.

    Raises:
        OptionError: a URL, or what the environment says of S3, makes no sense.
    """

    def __init__(self, urls: Iterable[str], budget: DownloadBudget | None = None) -> None:
        self._urls = list(urls)
        self._cache = DownloadCache(budget or DownloadBudget.of())
        self._native = {url: _remote(url) for url in self._urls if url.startswith(_NATIVE)}
        self._probe = probe.begin([*self._native.values()], None) if self._native else None
        self._wanted: list[_Wanted] | None = None
        self._mine: dict[str, tuple[_Wanted, int]] = {}  # locked parts, and their descriptors
        self._begun: Begun[None] | None = None
        self._failed: errors.GofastError | None = None
        self._pid = os.getpid()

    def start(self) -> None:
        """Begins to download, as far as there is room: the rest of it, and errors, wait for `result`."""
        try:
            self._begin()
        except errors.LimitError:
            pass  # until what is in use now is released
        except errors.GofastError as error:
            self._failed = error

    def result(self, show: bool = False) -> list[str]:
        """Waits for the files: their paths. They are there until `release`.

        Raises:
            NotFoundError: a server does not have the file.
            ChangedError: it has another one than when the download began.
            LimitError: the budget is too small beside what is in use.
            ReadError: it cannot be read, after several attempts; or not be written.
            UnsupportedError: nobody knows the scheme, or how long the file is.
        """
        try:
            while True:
                self._begin()
                if self._mine:
                    self._finish(f"downloading {many(len(self._missing()), 'file')}" if show else None)
                elif self._missing():
                    time.sleep(_WAIT)  # another process is at it; if that ends, it is ours
                else:
                    return [self._cache.path(wanted.name) for wanted in self._wanted or ()]
        except BaseException:
            self.release()
            raise

    def keep(self) -> None:
        """The files stay until this process ends."""
        self._wanted = []

    def release(self) -> None:
        """The files are no longer used here, and what is not downloaded is not wanted."""
        self._begun = None  # which stops it
        ours = self._pid == os.getpid()  # else of the process that we were forked from
        for wanted, fd in self._mine.values():
            if ours:
                _dropped(self._cache.path(wanted.name) + ".part", fd)
            else:
                os.close(fd)
        for wanted in self._wanted or () if ours else ():
            self._cache.release(wanted.name)
        self._mine, self._wanted = {}, []

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over() and hasattr(self, "_pid"):
            self.release()

    def _missing(self) -> list[_Wanted]:
        there = {wanted.name: wanted for wanted in self._wanted or ()}
        return [one for one in there.values() if not os.path.exists(self._cache.path(one.name))]

    def _begin(self) -> None:
        if self._failed is not None:
            raise self._failed
        if self._wanted is None:
            states = dict(zip(self._native, self._probe.result() if self._probe else (), strict=True))
            self._wanted = []
            for url in self._urls:
                wanted = _found(url, self._native.get(url), states.get(url))
                self._cache.claim(wanted.name)
                self._wanted.append(wanted)
            self._cache.check(
                self._urls[0], sum({one.name: one.state["size"] for one in self._wanted}.values())
            )
        if self._begun is not None or self._mine:
            return
        for wanted in self._missing():
            if len(self._mine) == _TOGETHER:
                break
            part = self._cache.path(wanted.name) + ".part"
            fd = locked_now(part)
            if fd is None:
                continue
            if os.path.exists(self._cache.path(wanted.name)):  # meanwhile
                _dropped(part, fd)
                continue
            try:
                self._cache.reserve(wanted.url, fd, wanted.state["size"])
            except BaseException:
                _dropped(part, fd)
                if not self._mine:
                    raise
                break  # some at least; the rest says why itself
            self._mine[wanted.name] = wanted, fd
        native = [self._target(one, one.file) for one, _ in self._mine.values() if one.file]
        if native:
            self._begun = download.begin(native, None)

    def _target(self, wanted: _Wanted, file: RemoteFile) -> RemoteTarget:
        path = self._cache.path(wanted.name)
        return {"file": file, "state": wanted.state, "part": path + ".part", "path": path}

    def _finish(self, label: str | None) -> None:
        if self._begun is not None:
            self._begun.result(label)
            self._begun = None
        others = [wanted for wanted, _ in self._mine.values() if wanted.file is None]
        with Progress(label if others else None) as bar:
            for i, wanted in enumerate(others):
                _get(wanted, self._cache.path(wanted.name))
                bar.update((i + 1) / len(others))
        for _, fd in self._mine.values():
            os.close(fd)
        self._mine = {}


def _dropped(part: str, fd: int) -> None:
    """Removes a part that is locked by a descriptor, unless it has got its name."""
    try:
        if os.path.samestat(os.fstat(fd), os.lstat(part)):
            os.unlink(part)
    except OSError:
        pass
    os.close(fd)


def _remote(url: str) -> RemoteFile:
    import urllib.request  # 20 ms, for who has URLs

    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise errors.OptionError(f"{url!r} is no URL: {error}") from None
    if not host:
        raise errors.OptionError(f"{url!r} is no URL: it names no {'bucket' if url[:2] == 's3' else 'host'}")
    access = s3_access() if parts.scheme == "s3" else {}
    asked = urlsplit(access["endpoint"]) if access.get("endpoint") else parts
    scheme = "https" if asked.scheme == "s3" else asked.scheme
    inside = urllib.request.proxy_bypass(asked.hostname or "")  # type: ignore[attr-defined, unused-ignore]
    proxy = "" if inside else urllib.request.getproxies().get(scheme, "")
    return {"url": url, "proxy": proxy, "s3": access}


def _found(url: str, file: RemoteFile | None, state: RemoteState | None) -> _Wanted:
    if file is not None and state is not None:
        return _Wanted(url, file, state, file_name(url, state["size"], state["tag"] or state["modified"]))
    with _fsspec(url) as (system, path):
        size = system.info(path)["size"]
        if size is None:
            raise errors.UnsupportedError(f"{url}: its length is not known: download it first")
        known: RemoteState = {"size": int(size), "tag": str(system.ukey(path)), "modified": "", "whole": True}
    return _Wanted(url, None, known, file_name(url, known["size"], known["tag"]))


def _get(wanted: _Wanted, path: str) -> None:
    with _fsspec(wanted.url) as (system, remote):
        system.get_file(remote, path + ".part")
    came = os.path.getsize(path + ".part")
    if came != wanted.state["size"]:
        said = f"{wanted.url}: {came} bytes came, and it had {wanted.state['size']}"
        raise errors.ChangedError(said).at(path=wanted.url)
    os.rename(path + ".part", path)


@contextlib.contextmanager
def _fsspec(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, and the file's name there. Its errors are ours."""
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]

        yield url_to_fs(url)
    except errors.GofastError:
        raise
    except FileNotFoundError as error:
        raise errors.NotFoundError(f"{url}: no such file: {error}").at(path=url) from error
    except (ImportError, ValueError) as error:  # no package for it; or a protocol that fsspec does not know
        said = f"{url}: only http(s): and s3: are read without fsspec and its package for them: {error}"
        raise errors.UnsupportedError(said).at(path=url) from error
    except Exception as error:
        raise errors.ReadError(f"{url}: {error}").at(path=url) from error

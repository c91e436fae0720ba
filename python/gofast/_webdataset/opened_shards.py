"""Shards, opened in their order; those on a server are downloaded ahead."""

from __future__ import annotations

import functools
import io
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple
from urllib.parse import urlparse
from urllib.request import url2pathname

from .. import errors
from .._core.download_cache import DownloadBudget
from .._core.remote_files import Downloads
from .._core.shown_urls import is_url
from .sample_stages import Handler, reraise_exception

_AHEAD, _MOST_AHEAD = 2, 16  # shards that are on their way while one is read
_BYTES_AHEAD = 64 << 20  # of more than the first two
_LINE = 64 << 20  # while more is to come of the shard that is read, the line has enough to do


class _Coming(NamedTuple):
    """A shard ({"url": ...}), and its download or why there is none; local ones have neither."""

    shard: dict[str, Any]
    download: Downloads | Exception | None

    @classmethod
    def of(cls, shard: Any, budget: DownloadBudget | None, epoch: float) -> _Coming:
        shard = shard if isinstance(shard, dict) else {"url": shard}
        if not is_url(shard["url"]):
            return cls(shard, None)
        try:
            return cls(shard, Downloads([shard["url"]], budget, epoch, read=True))
        except Exception as error:
            return cls(shard, error)

    @property
    def url(self) -> str:
        url: str = self.shard["url"]
        return url

    def start(self, wait: bool) -> bool:
        """Begins to download it, if there is room: whether there was. See `Downloads.start`."""
        return not isinstance(self.download, Downloads) or self.download.start(wait)

    def size(self) -> int:
        """Its bytes, where they are known."""
        return self.download.size if isinstance(self.download, Downloads) else 0

    def open(self, ahead: Callable[[int], bool]) -> IO[bytes]:
        """Its bytes: of a path, of ``file:``, of a URL, or what a command of ``pipe:`` writes."""
        if isinstance(self.download, Exception):
            raise self.download
        if self.download is not None:
            return _DownloadedShard(self.download, ahead)
        if urlparse(self.url).scheme in ("", "file"):
            return open(_path(self.url), "rb")
        if urlparse(self.url).scheme == "pipe":
            return _Pipe(self.url[5:])  # type: ignore[return-value]
        raise errors.UnsupportedError(f"{self.url}: give a path, a URL, or pipe: and a command of the shell")

    def drop(self) -> None:
        """Ends its download."""
        if isinstance(self.download, Downloads):
            self.download.release()


class _DownloadedShard(io.BufferedReader):
    """A shard's file, which may still come, and stays in the cache until this is closed."""

    def __init__(self, download: Downloads, ahead: Callable[[int], bool]) -> None:
        self._download = download
        super().__init__(download.open(ahead))

    def close(self) -> None:
        if not self.closed:
            self._download.used()
        super().close()
        self._download.release()


def url_opener(
    shards: Iterable[Any],
    handler: Handler = reraise_exception,
    local: bool = False,
    budget: DownloadBudget | None = None,
) -> Iterator[dict[str, Any]]:
    """Opens shards: ``{"url": ..., "stream": ...}``, and with ``local`` a path's ``"local_path"``."""
    coming: deque[_Coming] = deque()
    rest, ahead, epoch = iter(shards), _AHEAD, time.time()

    def ask() -> None:
        while len(coming) <= (ahead if coming and coming[-1].download is not None else 0):
            if (shard := next(rest, None)) is None:
                break
            coming.append(_Coming.of(shard, budget, epoch))

    def start(missing: int, size: int) -> bool:
        """Starts the next ones, unless that much is missing of this one that they would take its line."""
        if missing > _LINE:
            return False
        held = size
        for i, each in enumerate(coming, 1):
            if (i > _AHEAD and held > _BYTES_AHEAD) or not each.start(wait=i <= _AHEAD):
                break  # a later one would take the room of this
            held += each.size()
        return True

    ask()
    try:
        while coming:
            now = coming.popleft()
            now.start(wait=True)
            start(size := now.size(), size)
            ahead = max(_AHEAD, min(_MOST_AHEAD, _BYTES_AHEAD // max(1, size)))
            ask()  # servers say what the next ones are while this one comes
            url = now.url
            try:
                made = {**now.shard, "stream": now.open(functools.partial(start, size=size))}
            except Exception as error:
                if handler(error):
                    continue
                return
            if local and urlparse(url).scheme in ("", "file"):
                made["local_path"] = _path(url)
            yield made
    finally:
        for each in coming:
            each.drop()


def _path(url: str) -> str:
    """A path as it stands, which may have a "#" or "?" in it; of ``file:``, what it says."""
    parsed = urlparse(url)
    return url2pathname(parsed.path) if parsed.scheme else url


class _Pipe:
    """What a command writes. One that fails is an error at the end of what it wrote."""

    _FINE = (0, 128 + signal.SIGPIPE)  # a part of a pipeline that nobody reads to its end

    def __init__(self, command: str) -> None:
        self._command = command
        self._process = subprocess.Popen(
            command, shell=True, stdout=subprocess.PIPE, start_new_session=True
        )  # a session of its own: all of it can be ended

    def read(self, size: int = -1) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if not data and size and self._process.wait() not in self._FINE:
            code = self._process.returncode
            raise errors.ReadError(f"pipe:{self._command}: the command ended with {code}")
        return data

    def close(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()  # it ends by SIGPIPE
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

"""The indexes of shards on a server. Those beside tar shards are one file of the cache of downloads.

They come once. The file has them one behind the other, then JSON that says where each begins and what the
server said of its shard, and where that JSON begins, in 8 bytes. It is believed while the server says the
same of all shards.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Sequence
from typing import Any

from .. import errors
from .atomic_files import writing
from .braces import index_name
from .cache_folder import own_index
from .download_cache import DownloadCache, file_name
from .indexed_records import IndexedRecords
from .regular_files import regular_file
from .remote_operations import FetchedFiles, RemoteState
from .shard_index import indexes_at
from .tfrecord_index import RecordsOptions


def listed_index(url: str, state: RemoteState, asked: RecordsOptions) -> str | None:
    """Where the index is kept that was made of a shard of an index.json; None where nothing can be kept."""
    return own_index("tfrecord", [url, state, asked.features, asked.form, [*asked.leaves]])


class KeptIndexes:
    """Those of a list of shards."""

    def __init__(self, cache: DownloadCache, urls: Sequence[str]) -> None:
        self._cache, self._urls = cache, urls
        self._name = file_name(index_name(urls[0]), "indexes", *urls)
        self._path = cache.path(self._name)

    def there(self) -> bool:
        """Whether there are any, perhaps of other shards."""
        return os.path.isfile(self._path)

    def read(self, states: Sequence[RemoteState]) -> list[IndexedRecords] | None:
        """Those of shards of which the server says this, if it did so when they were kept."""
        try:
            with regular_file(self._path) as (fd, info):
                end = max(info.st_size - 8, 0)
                (begin,) = struct.unpack("q", os.pread(fd, 8, end))
                if not 0 <= begin <= end:
                    return None
                told: Any = json.loads(os.pread(fd, end - begin, begin))
                return indexes_at(fd, told["files"], self._urls, states) if told["states"] == states else None
        except (errors.GofastError, OSError, ValueError, LookupError, TypeError, struct.error):
            return None  # they come again

    def keep(self, found: FetchedFiles, states: Sequence[RemoteState]) -> None:
        """Keeps what has come, if there is room for it."""
        size = os.fstat(found["fd"]).st_size
        text = json.dumps({"states": states, "files": found["files"]}).encode() + struct.pack("q", size)
        part = self._path + ".part"
        with contextlib.ExitStack() as lock, contextlib.suppress(errors.LimitError, errors.ReadError):
            self._cache.claimed(self._name, lock)
            if (fd := self._cache.part(self._name, lock)) is None:
                return  # another process does it
            self._cache.reserve([(self._urls[0], fd, size + len(text))])
            with writing(part):
                done = 0
                while done < size:
                    done += os.sendfile(fd, found["fd"], done, size - done)
                os.pwrite(fd, text, size)
                os.fsync(fd)
                os.rename(part, self._path)

    def drop(self) -> None:
        """They are not of these shards."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

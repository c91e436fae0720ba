"""Shards in a bucket of S3: each is written here, uploaded, and says there which pictures it has."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from .. import errors
from .._core.atomic_files import replaced
from .._core.braces import index_name
from .._core.operation import Begun
from .._core.remote_access import remote_file
from .._core.remote_files import Downloads
from .._core.remote_listings import bucket_objects
from .._core.remote_operations import probe, upload
from .._core.shard_index import write_index
from .._core.temporary_folder import temporary_folder
from .._core.units import many
from .shard_plan import ShardNames

_TOGETHER = 4  # shards and indexes that are on their way, of which large ones have as many parts


class _Sent(NamedTuple):
    """A shard on its way: its object, its file here, what it says of itself."""

    path: str
    here: str
    features: str
    sending: Begun[None]


class BucketNames(ShardNames):
    """Names of shards in a bucket. Nobody is kept from writing there, but an object that is there stays."""

    def outside(self, root: str) -> None:
        """A bucket is."""

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing is locked. Shards lie in a folder of this machine until they are sent."""
        self._sent: deque[_Sent] = deque()
        with temporary_folder("gofast-shard-") as self._here:
            try:
                yield
            finally:
                self._sent.clear()  # which stops what is on its way behind an error

    def entries(self) -> dict[str, int]:
        """The objects whose keys begin as the shards' do, and their bytes."""
        found = bucket_objects(f"{self._folder}/{self._parts[0]}", flat=True)
        return {each["key"].rpartition("/")[2]: each["size"] for each in found}

    def is_whole(self, path: str, features: str) -> bool:
        """Whether an object says of itself that it is the shard."""
        return probe([remote_file(path)])[0]["told"] == _told(features)

    @contextlib.contextmanager
    def writing(self, path: str, features: str) -> Iterator[BinaryIO]:
        """A file of this machine, which becomes the object: in the background, or when this is called again.

        Raises:
            ChangedError: another one has its name, or that of one before it.
        """
        here = os.path.join(self._here, os.path.basename(path))
        with replaced(here) as file:
            yield file
        self._send(path, here, features)
        while len(self._sent) >= _TOGETHER:
            self._finish(None)

    def _send(self, path: str, here: str, features: str) -> None:
        sending = upload.begin({"file": remote_file(path), "path": here, "told": _told(features)}, None)
        self._sent.append(_Sent(path, here, features, sending))

    def index(self, path: str, here: str) -> None:
        """Begins to send it."""
        if self.has_indexes:
            name, tag = index_name(path), self.tag(path)
            own = os.path.join(self._here, os.path.basename(name))
            write_index(here, own, tag)
            self._send(name, own, tag)

    def is_indexed(self, path: str) -> bool:
        """Whether it is there.

        Raises:
            ChangedError: there is another one.
        """
        if not self.has_indexes:
            return True
        name = index_name(path)
        try:
            whole = self.is_whole(name, self.tag(path))
        except errors.NotFoundError:
            return False
        if not whole:
            raise errors.ChangedError(f"{name}: it is not the index of {path}: remove it").at(path=name)
        return True

    def tag(self, path: str) -> str:
        """Its ETag."""
        return probe([remote_file(path)])[0]["tag"]

    def settle(self) -> None:
        """Waits for all objects."""
        while self._sent:
            self._finish(f"uploading {many(len(self._sent), 'shard')}")

    def _finish(self, label: str | None) -> None:
        path, here, features, sending = self._sent.popleft()
        try:
            try:
                sending.result(label)
            except (errors.ChangedError, errors.NotFoundError):
                # It may have come, and the answer not: it is there, or its upload is not any more.
                whole = False
                with contextlib.suppress(errors.NotFoundError):
                    whole = self.is_whole(path, features)
                if not whole:
                    raise
            if path.endswith(self.suffix):
                self.index(path, here)
        finally:
            os.unlink(here)

    def reading(self, paths: list[str]) -> Iterator[str]:
        """The shards as files of this machine, each until the next one, which comes meanwhile."""
        following = Downloads(paths[:1])
        for after in [*paths[1:], None] if paths else []:
            now, following = following, Downloads([after] if after else [])
            path = now.result(show=True)[0]
            if after:
                following.start()
            yield path
            now.release()


def _told(features: str) -> str:
    return hashlib.blake2b(features.encode(), digest_size=16).hexdigest()

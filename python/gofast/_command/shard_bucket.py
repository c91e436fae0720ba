"""Shards in a bucket of S3: each is written here, uploaded, and says there which pictures it has."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from .. import errors
from .._core.atomic_files import replaced
from .._core.remote_access import remote_file
from .._core.remote_listings import bucket_objects
from .._core.remote_operations import probe, upload
from .._core.temporary_folder import temporary_folder
from .shard_plan import ShardNames


class BucketNames(ShardNames):
    """Names of shards in a bucket. Nobody is kept from writing there, but an object that is there stays."""

    def outside(self, root: str) -> None:
        """A bucket is."""

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing is locked."""
        yield

    def entries(self) -> dict[str, int]:
        """The objects whose keys begin as the shards' do, and their bytes."""
        found = bucket_objects(f"{self._folder}/{self._parts[0]}", flat=True)
        return {each["key"].rpartition("/")[2]: each["size"] for each in found}

    def is_whole(self, path: str, features: str) -> bool:
        """Whether an object says of itself that it is the shard."""
        return probe([remote_file(path)])[0]["told"] == _told(features)

    @contextlib.contextmanager
    def writing(self, path: str, features: str) -> Iterator[BinaryIO]:
        """A file of this machine, which becomes the object.

        Raises:
            ChangedError: another one has its name.
        """
        with temporary_folder("gofast-shard-") as folder:
            here = os.path.join(folder, os.path.basename(path))
            with replaced(here) as file:
                yield file
            try:
                upload({"file": remote_file(path), "path": here, "told": _told(features)})
            except (errors.ChangedError, errors.NotFoundError):
                # It may have come, and the answer not: it is there, or its upload is not any more.
                with contextlib.suppress(errors.NotFoundError):
                    if self.is_whole(path, features):
                        return
                raise


def _told(features: str) -> str:
    return hashlib.blake2b(features.encode(), digest_size=16).hexdigest()

"""The shards that an index.json of mosaicml-streaming lists."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from .. import errors
from .regular_files import regular_file

_MOST = 1 << 30  # bytes of an index


class MDSShard(NamedTuple):
    """A shard as the index has it: its path, its samples, its bytes."""

    path: str
    samples: int
    bytes: int


def mds_shards(path: str) -> list[MDSShard]:
    """The shards of a folder, or of its index.json.

    Raises:
        NotFoundError, ReadError: the index cannot be read.
        DamagedError: it is no index.
        UnsupportedError: a shard is of another format, or compressed and nowhere unpacked.
        LimitError: the index is too large.
    """
    if os.path.isdir(path):
        path = os.path.join(path, "index.json")
    with regular_file(path) as (fd, info), os.fdopen(os.dup(fd), "rb") as file:
        if info.st_size > _MOST:
            raise errors.LimitError(f"{path}: an index of {info.st_size} bytes").at(path=path)
        text = file.read(_MOST)
    try:
        found = json.loads(text)
        version, shards = found["version"], [_shard(path, shard) for shard in found["shards"]]
    except errors.GofastError:
        raise
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        said = f"{path}: not an index of MDS shards: {error!r:.200}"
        raise errors.DamagedError(said).at(path=path) from error
    if version != 2:
        raise errors.UnsupportedError(f"{path}: version {version!r:.40}; 2 is read").at(path=path)
    if not shards:
        raise errors.NotFoundError(f"{path}: it lists no shard").at(path=path)
    return shards


def _shard(index: str, told: Any) -> MDSShard:
    raw, form, compression = told["raw_data"], told["format"], told["compression"]
    name, size, samples = raw["basename"], raw["bytes"], told["samples"]
    if form != "mds":
        raise errors.UnsupportedError(f"{index}: shards of format {form!r:.40}; mds is read").at(path=index)
    if not isinstance(name, str) or type(size) is not int or type(samples) is not int:
        raise TypeError(f"a shard {name!r} of {size!r} bytes and {samples!r} samples")
    if os.path.isabs(name) or ".." in name.split("/") or "\0" in name:  # merged indexes have folders in them
        raise ValueError(f"a shard {name!r} that is not below the index")
    path = os.path.join(os.path.dirname(os.path.abspath(index)), name)
    if compression and not os.path.exists(path):
        said = f"the shard is compressed ({compression!r:.40}), and not unpacked beside it"
        raise errors.UnsupportedError(f"{path}: {said}").at(path=path)
    return MDSShard(path, samples, size)

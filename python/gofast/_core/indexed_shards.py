"""Tar shards on a server with an index beside each: the indexes are downloaded, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .. import errors
from .arguments import several
from .braces import braces, index_name
from .download_cache import DownloadBudget, DownloadCache
from .indexed_records import IndexedRecords
from .kept_indexes import KeptIndexes
from .operation import Begun
from .remote_access import NATIVE, normal, remote_file, remote_files
from .remote_listings import Known, look, url_files
from .remote_operations import FetchedFiles, RemoteState, fetch, probe
from .remote_shards import RemoteShards
from .shard_index import content_of, indexes_at, joined
from .shard_pieces import cut
from .shown_urls import is_url
from .tfrecord_index import RecordsOptions
from .warn import warn

_REFUSED = "the server says 403"  # as S3 does of what is not there, where nobody may list what is


def indexed_shards(paths: Any, features: Sequence[str], label: str) -> RemoteShards | None:
    """Tar files of URLs, or of patterns of these, with an index beside each; None where they are others.

    Indexes that are there and not the shards' are a warning.

    Raises:
        GofastError: as of `local_files`, of listings and of servers.
    """
    given: Any = [paths] if isinstance(paths, str) else several(paths)
    if not isinstance(given, (list, tuple)) or not given or not all(map(_may_be, given)):
        return None
    known: Known = {}
    urls: list[str] = []
    for pattern in given:
        for each in braces(pattern):
            matching = url_files(each)
            known |= matching
            urls += matching
    try:
        probe([remote_file(index_name(urls[0]))])
    except errors.NotFoundError:
        return None
    except errors.ReadError as error:
        if _REFUSED in str(error):
            return None
        raise  # the server may have it, and all shards are much to download instead
    budget = DownloadBudget.of()
    cache = DownloadCache(budget)
    kept = KeptIndexes(cache, urls)
    coming = None if kept.there() else fetch.begin(remote_files(map(index_name, urls)), None)
    look(known)
    states = [state for url in urls if (state := known[url])]
    if not all(state["tag"] or state["modified"] for state in states):
        return None  # nobody would see that it is another file when it comes again, or to another process
    try:
        parts = kept.read(states) or _fetched(coming, kept, urls, states)
        pieces = cut(parts, states, budget.limit, tars=True)
        made = joined(parts, features, pieces)
    except (errors.NotFoundError, errors.ReadError, errors.ChangedError, errors.DamagedError) as error:
        if isinstance(error, errors.ReadError) and _REFUSED not in str(error):
            raise
        said = "without the index of each shard all are downloaded first: gofast shard writes them"
        warn(f"{error}: {said}", once=f"indexes of {urls[0]}")
        return None
    if any(c["kind"] == ("byte" if c["name"] == label else "int") for c in made["columns"]):
        os.close(made["fd"])
        return None  # texts that are numbers, or the reverse: they lie in the shards
    options = RecordsOptions([], [*features], "", None, "tar", label)
    told, again = [*map(content_of, parts)], (indexed_shards, (urls, features, label))
    return RemoteShards(made["fd"], made, options, urls, states, told, budget, pieces, again)


def _fetched(
    coming: Begun[FetchedFiles] | None, kept: KeptIndexes, urls: Sequence[str], states: Sequence[RemoteState]
) -> list[IndexedRecords]:
    coming = coming or fetch.begin(remote_files(map(index_name, urls)), None)
    found = coming.result(f"downloading {len(urls)} indexes")
    try:
        parts = indexes_at(found["fd"], found["files"], urls, states)
        kept.keep(found, states)
        return parts
    finally:
        os.close(found["fd"])


def _may_be(given: Any) -> bool:
    return is_url(given) and normal(given).startswith(NATIVE) and "?" not in given and given[-1:] != "/"

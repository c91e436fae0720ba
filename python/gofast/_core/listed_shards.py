"""Shards on a server that an index.json lists: each comes once for its own index, and when it is needed.

An index.json says how many samples a shard has, and neither where they lie nor what their labels are. The
index that is made of a shard is kept in the user's cache, for this state of the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from .. import errors
from . import tfrecord_operations
from .download_cache import DownloadBudget
from .indexed_records import IndexedRecords
from .kept_indexes import listed_index
from .mds_shards import Shards
from .progress import Progress
from .remote_access import NATIVE, normal, remote_files
from .remote_files import Downloads
from .remote_operations import RemoteState, probe
from .remote_shards import RemoteShards
from .shard_index import content_of, joined, read_index
from .shard_pieces import cut
from .shown_urls import shown
from .tfrecord_index import RecordsOptions, TFRecordIndex
from .tfrecord_operations import ShardState
from .units import many

_MOST_AHEAD = 16  # shards that come while one is indexed
_BYTES_AHEAD = 64 << 20  # which need not be reached: two large ones are enough


def listed_shards(shards: Shards, features: Sequence[str]) -> RemoteShards | None:
    """Records of shards whose paths are URLs, by number.

    None where all must be here: they are unpacked into memory, fsspec brings them, or nobody would see that
    one is another file when it comes again.

    Raises:
        LimitError: one does not fit into the budget.
        GofastError: as of `Downloads.result` and of `TFRecordIndex.of_shards`.
    """
    urls, names = [*map(normal, shards.paths)], list(dict.fromkeys(features))
    if shards.compression or not urls[0].startswith(NATIVE) or any(";" in name for name in names):
        return None
    states = probe(remote_files(urls), f"looking at {many(len(urls), 'file')}")
    if not all(state["tag"] or state["modified"] for state in states):
        return None
    budget = DownloadBudget.of()
    asked = RecordsOptions([], names, "", None, shards.form, leaves=shards.leaves)
    parts = _indexes(urls, states, asked, budget)
    for url, part, samples in zip(urls, parts, shards.samples, strict=True):
        if part.count != samples:
            said = f"{shown(url)}: it has {many(part.count, 'sample')}, and index.json says {samples}"
            raise errors.DamagedError(said).at(path=shown(url))
    pieces = cut(parts, states, budget.limit, tars=False)
    made = joined(parts, names, pieces)
    told = [*map(content_of, parts)]
    again = listed_shards, (shards, names)
    return RemoteShards(made["fd"], made, asked, urls, states, told, budget, pieces, again)


def _indexes(
    urls: Sequence[str], states: Sequence[RemoteState], asked: RecordsOptions, budget: DownloadBudget
) -> list[IndexedRecords]:
    """The index of each shard: one that is kept, or made now."""
    kept = [listed_index(url, state, asked) or "" for url, state in zip(urls, states, strict=True)]
    sizes: list[ShardState] = [{"size": state["size"], "tag": state["tag"]} for state in states]
    parts: dict[int, IndexedRecords] = {}

    def index(number: int, path: str, kept: str) -> None:
        options = asked._replace(paths=[path])
        made = tfrecord_operations.index(options.request(kept, sizes[number]))
        parts[number] = TFRecordIndex(made["fd"], made, options)

    for number, path in enumerate(kept):
        with contextlib.suppress(errors.GofastError):  # not there, or damaged: it is made
            if path:
                parts[number] = read_index(path, sizes[number])
    missing = [number for number in range(len(urls)) if number not in parts]
    coming = [Downloads([urls[n]], budget, known={urls[n]: states[n]}) for n in missing]
    label = f"indexing {many(len(missing), 'shard')}" if missing else None
    with contextlib.ExitStack() as over, Progress(label) as bar:
        for download in coming:  # of an error, too, which may be kept with all of this
            over.callback(download.release)
        for done, (number, download) in enumerate(zip(missing, coming, strict=True), 1):
            (path,) = download.result()
            ahead = 0
            for place in range(done, min(done + _MOST_AHEAD, len(missing))):
                ahead += sizes[missing[place]]["size"]
                if not coming[place].start() or ahead > _BYTES_AHEAD:
                    break  # without room for one, a later one would take that of this
            try:
                index(number, path, kept[number])
            except (errors.ReadError, errors.LimitError, errors.OptionError) as error:
                if error.path is None or not error.path.startswith(kept[number] or "-"):
                    raise
                index(number, path, "")  # where gofast would keep it, nothing can be written
            download.release()
            bar.update(done / len(missing))
    return [parts[number] for number in range(len(urls))]

"""The shards that an index.json of mosaicml-streaming or litData lists."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from .. import errors
from .regular_files import regular_stream
from .remote_access import beside
from .remote_files import downloaded
from .shown_urls import is_url, shown
from .tfrecord_operations import Leaf

ShardsForm = Literal["mds", "litdata"]
ShardsCompression = Literal["", "suffix", "batch", "sample"]
_MOST = 1 << 30  # bytes of an index
_MOST_SHARD = (1 << 32) - 1  # bytes of a shard: its offsets have 32 bits
_PACKED = (".zstd", ".gz", ".bz2")  # as `streaming` calls compressed shards; ".br" and ".snappy" are not read
# What litData compresses together, and what that is called here.
_LEVELS: dict[str, ShardsCompression] = {"chunk": "suffix", "batch": "batch", "sample": "sample"}

_Listed = tuple[str, int, int]  # a name, samples, and unpacked bytes
_There = Callable[[str], bool]  # whether a file of this name lies beside the index


class Shards(NamedTuple):
    """Shards as the index has them.

    Attributes:
        paths, samples: of each; URLs, if the index is behind one.
        leaves: the columns of litData's; MDS shards say them themselves.
        compression: "": none is; "suffix": some are, as the ends of their names say; "batch", "sample": the
            samples of litData's are, some together or each by itself.
        unpacked: how many bytes each compressed one holds, and 0 for others; () where none is compressed.
    """

    form: ShardsForm
    paths: list[str]
    samples: list[int]
    leaves: list[Leaf]
    compression: ShardsCompression = ""
    unpacked: Sequence[int] = ()


class OtherIndexError(errors.DamagedError):
    """An index.json that lists no shards of either form."""


def shards_of(path: str, form: ShardsForm | None = None) -> Shards:
    """The shards of a folder, or of its index.json. Of a URL, only the index is downloaded.

    Args:
        form: None: the one that the index has.

    Raises:
        OtherIndexError: it has none.
        NotFoundError, ReadError: the index cannot be read.
        DamagedError: it is no index.
        UnsupportedError: a shard is of another format, encrypted, or compressed and nowhere unpacked.
        LimitError: the index is too large.
    """
    remote = is_url(path)
    if remote:
        folder = re.sub(r"^([^?]*)/index\.json(?=\?|$)", r"\1", path)
        url = beside(folder, "index.json")
        path, here = shown(url), downloaded({url: None})[url]
    else:
        path = here = os.path.join(path, "index.json") if os.path.isdir(path) else path
        folder = os.path.dirname(os.path.abspath(path))

    def there(name: str) -> bool:
        return not remote and os.path.exists(os.path.join(folder, name))

    with regular_stream(here) as (file, info):
        if info.st_size > _MOST:
            raise errors.LimitError(f"{path}: an index of {info.st_size} bytes").at(path=path)
        text = file.read(_MOST)
    try:
        told = json.loads(text)
        form = form or _form_of(told)
        listed, leaves, compression = (_mds(told, there), [], "") if form == "mds" else _litdata(told, there)
        if not all(type(name) is str and type(n) is type(size) is int for name, n, size in listed):
            raise TypeError("names, numbers of samples and of bytes")
        if any(
            os.path.isabs(name)
            or ".." in name.split("/")
            or b"\0" in os.fsencode(name)
            or (remote and "::" in name)  # fsspec would take it for a URL in a URL
            for name, *_ in listed
        ):
            raise ValueError("a shard that is not below the index")  # merged indexes have folders in them
    except NotImplementedError as error:
        raise errors.UnsupportedError(f"{path}: {error}").at(path=path) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        said = f"{path}: not an index of shards ({form}): {error!r:.200}"
        raise (errors.DamagedError if form else OtherIndexError)(said).at(path=path) from error
    if not listed:
        raise errors.NotFoundError(f"{path}: it lists no shard").at(path=path)
    paths = [beside(folder, name) if remote else os.path.join(folder, name) for name, *_ in listed]
    made = Shards(form, paths, [samples for _, samples, _ in listed], leaves, compression)
    unpacked = [size for *_, size in listed]
    return made._replace(compression="suffix", unpacked=unpacked) if any(unpacked) else made


def _form_of(told: Any) -> ShardsForm:
    if "shards" in told:
        return "mds"
    if {"chunks", "config"} <= {*told}:
        return "litdata"
    raise ValueError("neither shards nor chunks")


def _mds(told: Any, there: _There) -> list[_Listed]:
    if told["version"] != 2:
        raise NotImplementedError(f"version {told['version']!r:.40}; 2 is read")
    listed = []
    for shard in told["shards"]:
        if shard["format"] != "mds":
            raise NotImplementedError(f"shards of format {shard['format']!r:.40}; mds is read")
        name, size = shard["raw_data"]["basename"], 0
        if shard["compression"] and not there(name):
            packed = shard["zip_data"]["basename"]
            if not packed.endswith(_PACKED):
                said = (
                    f"the shard {name!r} is compressed ({shard['compression']!r:.40}), and not unpacked here"
                )
                raise NotImplementedError(f"{said}; {', '.join(_PACKED)} are read")
            name, size = packed, shard["raw_data"]["bytes"]
            if not 0 < size <= _MOST_SHARD:
                raise ValueError(f"a shard of {size!r:.40} bytes")
        elif name.endswith(_PACKED):
            raise ValueError(f"{name!r:.200} is to be a shard that is not compressed")
        listed.append((name, shard["samples"], size))
    return listed


def _litdata(told: Any, there: _There) -> tuple[list[_Listed], list[Leaf], ShardsCompression]:
    config = told["config"]
    for word in ("encryption", "ipc_compression"):
        if config.get(word):
            raise NotImplementedError(f"chunks have {word} {config[word]!r:.40}; those without are read")
    compression: ShardsCompression = ""
    if config.get("compression"):
        named, level = config["compression"].partition(":")[0], config.get("compression_level") or "chunk"
        if named != "zstd" or level not in _LEVELS:
            said = f"chunks have compression {config['compression']!r:.40}, {level!r:.40}"
            raise NotImplementedError(f"{said}; zstd of {', '.join(_LEVELS)} is read")
        compression = _LEVELS[level]
    if config.get("item_loader") not in (None, "PyTreeLoader"):
        raise NotImplementedError(f"chunks for the item loader {config['item_loader']!r:.40}")
    paths = _leaves(json.loads(config["data_spec"])[1], [])
    encodings = [str(encoding) for encoding in config["data_format"]]
    leaves: list[Leaf] = [
        {"name": ".".join(path), "path": path, "encoding": encoding}
        for path, encoding in zip(paths, encodings, strict=True)
    ]
    listed = []
    for chunk in told["chunks"]:
        name = chunk["filename"]
        if compression == "suffix":  # its own reader leaves chunks unpacked
            plain = name.replace(f".{config['compression']}", "")
            name = plain if there(plain) else name
        listed.append((name, chunk["chunk_size"], 0))
    packed = {chunk["filename"] for chunk in told["chunks"]}
    if compression == "suffix" and packed.isdisjoint(name for name, _, _ in listed):
        compression = ""  # all are unpacked: they are read where they lie
    return listed, leaves, compression


def _leaves(spec: Any, path: list[str]) -> list[list[str]]:
    """The leaves of torch's pytree: for each, the keys and positions that lead to it."""
    if spec["type"] is None:
        return [path]
    children = spec["children_spec"]
    named = spec["type"] in ("builtins.dict", "collections.OrderedDict")
    keys = json.loads(spec["context"]) if named else range(len(children))
    pairs = zip(keys, children, strict=True)
    return [leaf for key, child in pairs for leaf in _leaves(child, [*path, str(key)])]

"""The members of a shard, by Python's tarfile, as webdataset reads them; what it passes over is an error."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from typing import IO, Any, NamedTuple, NoReturn

from .. import errors
from .._core.download_cache import DownloadBudget
from .._core.shown_urls import shown
from .headers import Header, is_tar
from .opened_shards import url_opener
from .sample_stages import Handler, reraise_exception

Sample = dict[str, Any]
_TAIL = 1 << 16
# Bytes of a member of which the shard has fewer: it is compressed, or the member is sparse.
MOST_MADE = 1 << 30
_PLACE = "__place__"  # of a shard that is to be opened, and then of members: only where somebody asks


class SampleAt(NamedTuple):
    """The place of a sample.

    Attributes:
        shard: its number in the pass.
        sample: its number in the shard.
        offset: of its first header; -1: it is found by its number alone.
    """

    shard: int
    sample: int
    offset: int


def _zstd(file: IO[bytes]) -> Any:
    """Unpacks a stream of zstd, where tarfile does not."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        try:
            import pyarrow
        except ImportError:
            said = "the shard is compressed with zstd: this needs Python 3.14 or pyarrow"
            raise errors.UnsupportedError(said) from None
        return pyarrow.CompressedInputStream(file, "zstd")
    return zstd.ZstdFile(file)


class _Joined:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        if 0 <= size < len(head):
            self._head = head[size:]
            return head[:size]
        return head + self._rest.read(size if size < 0 else size - len(head))

    # pyarrow asks these of a file.
    closed = False

    def close(self) -> None:
        self._rest.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _opened(file: IO[bytes], kept: ExitStack) -> tuple[tarfile.TarFile, Any, bool]:
    """The archive in a stream, the stream itself where it is a file as it is, and whether it is packed."""
    head = file.read(512)
    unpack: Any = None
    if not is_tar(head):  # whose first member may be called like anything
        unpack = next((made for magic, made in _UNPACK.items() if head.startswith(magic)), None)
    seekable = getattr(file, "seekable", None)
    if unpack is None and seekable is not None and seekable():
        file.seek(0)
        return tarfile.open(fileobj=file, mode="r:", tarinfo=Header), file, False
    stream: Any = _Joined(head, file)
    if unpack is not None:  # all of it: tarfile ends behind the first part of a file of several
        stream = kept.enter_context(closing(unpack(stream)))
    return tarfile.open(fileobj=stream, mode="r|", tarinfo=Header), None, unpack is not None


_UNPACK: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x5d\0\0\x80": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstd,
}


def _refuse(error: Exception, offset: int) -> NoReturn:
    """Says what is wrong with an archive, where somebody who read it raised something.

    tarfile raises ValueError, OverflowError and others too for what headers say. gzip, bz2 and pyarrow raise
    an OSError without a number for what they cannot unpack.
    """
    if isinstance(error, (errors.DamagedError, errors.LimitError)) and error.offset is None:
        error.at(offset=offset)
    if isinstance(error, errors.GofastError) or (isinstance(error, OSError) and error.errno is not None):
        raise error
    if isinstance(error, RecursionError):
        raise errors.LimitError("too many headers stand before one member").at(offset=offset) from error
    raise errors.DamagedError(f"the archive ends early: {error}").at(offset=offset) from error


def tar_file_iterator(
    fileobj: IO[bytes],
    skip_meta: str | None = r"__[^/]*__($|/)",
    handler: Handler = reraise_exception,
    select_files: Callable[[str], bool] | None = None,
    rename_files: Callable[[str], str] | None = None,
    start: SampleAt | None = None,
) -> Iterator[Sample]:
    """The regular members of an archive, which may be compressed: ``{"fname": ..., "data": ...}``.

    Args:
        start: begins here, where that has an offset and the archive is a file that is not compressed; members
            have their places.
    """
    with ExitStack() as kept:
        try:
            tar, file, packed = _opened(fileobj, kept)
        except tarfile.ReadError as error:
            raise errors.DamagedError(f"no tar file: {error}").at(offset=0) from error
        except Exception as error:
            _refuse(error, 0)
        end, common = None if file is None else file.seek(0, os.SEEK_END), dict(tar.pax_headers)
        begun = start
        if start is not None and (file is None or start.offset < 0):
            begun = start._replace(sample=0)  # it is read from the beginning
        elif start is not None and start.offset:
            tar.firstmember, tar.offset = None, start.offset  # type: ignore[attr-defined]
        member: tarfile.TarInfo | None = None
        while True:
            try:
                if member is not None:
                    _skip(tar, end)
                member = tar.next()
            except Exception as error:
                _refuse(error, tar.offset)
            if member is None:
                break
            tar.members = []  # type: ignore[attr-defined]  # else it keeps all
            name = member.name
            if member.size < 0 or tar.offset <= member.offset:  # it would come again, for ever
                raise errors.DamagedError(f"{name:.200}: a size below 0").at(offset=member.offset)
            try:
                if not member.isreg() or (skip_meta is not None and re.match(skip_meta, name)):
                    continue
                if rename_files:
                    name = rename_files(name)
                if select_files is not None and not select_files(name):
                    continue
                if member.size > MOST_MADE and (packed or member.issparse()):
                    said = f"{name:.200}: {member.size} bytes, of at most {MOST_MADE}: unpack the shard"
                    raise errors.LimitError(said).at(offset=member.offset)
                try:
                    if file is None or member.issparse():
                        opened = tar.extractfile(member)
                        assert opened is not None
                        data = opened.read()
                    else:
                        file.seek(member.offset_data)
                        data = file.read(min(member.size, max(0, (end or 0) - member.offset_data)))
                except Exception as error:
                    _refuse(error, member.offset_data)
                if len(data) != member.size:
                    said = f"{name:.200}: the archive ends after {len(data)} of its {member.size} bytes"
                    raise errors.DamagedError(said).at(offset=member.offset_data)
                found: Sample = {"fname": name, "data": data}
                if begun is not None:  # a header for all that follow hides what is before it
                    known = file is not None and tar.pax_headers == common
                    found[_PLACE] = begun._replace(offset=member.offset if known else -1)
                yield found
            except Exception as error:
                if handler(error):
                    continue
                break
        if member is not None:  # a handler ended it
            return
        rest: Any = tar.fileobj if file is None else file
        if file is not None:
            file.seek(tar.offset)
        try:
            while data := rest.read(_TAIL):
                if data.strip(b"\0"):
                    said = "behind the end of the archive stands a broken header, or a second archive"
                    raise errors.DamagedError(said).at(offset=tar.offset)
        except Exception as error:
            _refuse(error, tar.offset)


def _skip(tar: tarfile.TarFile, end: int | None) -> None:
    """Goes on to a stream's next header, or sees that a file has one: tarfile would count to anywhere."""
    stream: Any = tar.fileobj
    while (left := tar.offset - (stream.tell() if end is None else end)) > 0:
        if end is not None or not stream.read(min(left, _TAIL)):
            raise errors.DamagedError(f"the archive ends {left} bytes before a member does")


def tar_file_expander(
    data: Iterable[Sample],
    handler: Handler = reraise_exception,
    select_files: Callable[[str], bool] | None = None,
    rename_files: Callable[[str], str] | None = None,
) -> Iterator[Sample]:
    """The members of opened shards, and ``{}`` behind each shard. An error has the shard in its text."""
    for source in data:
        url, local = source["url"], source.get("local_path")
        try:
            with closing(source["stream"]) as stream:
                for found in tar_file_iterator(
                    stream,
                    handler=_naming(handler, url),
                    select_files=select_files,
                    rename_files=rename_files,
                    start=source.get(_PLACE),
                ):
                    found["__url__"] = url
                    if local is not None:
                        found["__local_path__"] = local
                    yield found
            yield {}
        except Exception as error:
            if not handler(_named(error, url)):
                return
            if isinstance(error, errors.GofastError):  # where tarfile would have ended, or the download did
                yield {}


def _naming(handler: Handler, url: str) -> Handler:
    return lambda error: handler(_named(error, url))


def _named(error: Exception, url: str) -> Exception:
    """The error with its shard, and where in it."""
    url = shown(url)
    if getattr(error, "path", None) == url:  # it has them
        return error
    if isinstance(error, errors.GofastError):
        at = "" if error.offset is None else f"offset {error.offset}: "
        return type(error)(f"{url}: {at}{error}").at(path=url, offset=error.offset)
    error.args = (f"{error} @ {url}",)
    return error


def base_plus_ext(path: str) -> tuple[str, str] | tuple[None, None]:
    """The key, and behind the first dot of its last part the suffix.

    It is webdataset's pattern ``^((?:.*/|)[^.]+)[.]([^/]*)$``, which takes the square of a long name's time.
    """
    line = path.partition("\n")[0]
    begin = line.rfind("/") + 1
    dot = path.find(".", begin)
    if dot == begin > 0:  # "a/.jpg" has the key "a/" there
        begin = line.rfind("/", 0, begin - 1) + 1
        dot = path.find(".", begin)
    if dot <= begin or "/" in path[dot:]:
        return None, None
    return path[:dot], path[dot + 1 :]


def valid_sample(sample: Any) -> bool:
    """Whether it is a dict with something in it, and not marked ``__bad__``."""
    return isinstance(sample, dict) and len(sample) > 0 and not sample.get("__bad__", False)


def group_by_keys(
    data: Iterable[Sample],
    keys: Callable[[str], tuple[Any, Any]] = base_plus_ext,
    lcase: bool = True,
    suffixes: Any = None,
    handler: Handler = reraise_exception,
) -> Iterator[Sample]:
    """Neighbours with one key are a sample: ``{"__key__": ..., "__url__": ..., suffix: bytes, ...}``."""
    current: Sample | None = None
    for member in data:
        try:
            if member == {}:
                if valid_sample(current):
                    assert current is not None
                    yield current
                current = None
                continue
            name = member["fname"]
            key, suffix = keys(name)
            if key is None:
                continue
            if lcase:
                suffix = suffix.lower()
            if current is None or key != current["__key__"]:
                if current is not None and valid_sample(current):
                    yield current
                current = {"__key__": key, "__url__": member["__url__"]}
                if _PLACE in member:
                    current[_PLACE] = member[_PLACE]
            if suffix in current:
                url = shown(member["__url__"])
                said = f"{name:.200}: a sample has two members {suffix!r:.200}: {[*current]}"
                raise errors.DamagedError(f"{url}: {said}").at(path=url)
            if suffixes is None or suffix in suffixes:
                current[suffix] = member["data"]
            if member.get("__local_path__") is not None:
                current["__local_path__"] = member["__local_path__"]
        except Exception as error:
            if not handler(error):
                break
    if current is not None and valid_sample(current):
        yield current


def tarfile_samples(
    src: Iterable[Any],
    handler: Handler = reraise_exception,
    select_files: Callable[[str], bool] | None = None,
    rename_files: Callable[[str], str] | None = None,
    local: bool = False,
    budget: DownloadBudget | None = None,
) -> Iterator[Sample]:
    """The samples of shards."""
    shards = url_opener(src, handler, local, budget)
    members = tar_file_expander(shards, handler, select_files, rename_files)
    return group_by_keys(members, handler=handler)


def placed(samples: Iterable[Sample]) -> Iterator[tuple[SampleAt, Sample]]:
    """Samples of shards that have places, and their own ones."""
    before = SampleAt(-1, 0, 0)
    for sample in samples:
        at: SampleAt = sample.pop(_PLACE)
        number = at.sample if at.shard != before.shard else before.sample + 1
        before = SampleAt(at.shard, number, at.offset)
        yield before, sample


def shard_at(url: str, place: SampleAt) -> Sample:
    """A shard to be opened at a place, or at its beginning where it cannot be."""
    return {"url": url, _PLACE: place}

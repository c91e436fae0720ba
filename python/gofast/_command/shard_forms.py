"""The forms of shards: WebDataset's tar files, and Parquet as Hugging Face's hub has it."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from .. import errors
from .._core.regular_files import regular_stream
from ..image_files import ImageFiles
from .shard_plan import ShardPicture

_GROUP = 100_000_000  # bytes of pictures in a row group, as `datasets` has them
_CHUNKS = {"min_chunk_size": 256 << 10, "max_chunk_size": 1 << 20, "norm_level": 0}  # likewise, of pages
FEATURES = "__features__"  # a member that webdataset passes over: tar.go


class TarShards:
    """WebDataset's. A sample's key is the picture's number in ImageFolder's order.

    The first member says what the classes are called, as Parquet's metadata do.
    """

    @staticmethod
    def write(file: BinaryIO, features: str, pictures: Iterable[ShardPicture]) -> None:
        """Writes one shard."""
        _features(file, features)
        for picture in pictures:
            key, seconds = f"{picture.number:08}", picture.modified // 10**9
            suffix = picture.name[picture.name.rindex(".") :].lower()  # of ".jpg" too, as ImageFolder has it
            _member(file, key + suffix, picture.content, seconds)
            _member(file, f"{key}.cls", b"%d" % picture.label, seconds)
        file.write(bytes(2 * tarfile.BLOCKSIZE))

    @staticmethod
    def features(classes: Sequence[str], fingerprint: str) -> str:
        """What a shard says of itself."""
        return _told({"cls": _classes(classes)}, fingerprint)

    @staticmethod
    def is_whole(file: BinaryIO, features: str, samples: int) -> bool:
        """Whether a file says this of itself, and has members of so many bytes behind it."""
        begin = io.BytesIO()
        _features(begin, features)
        whole = begin.tell() + samples + 2 * tarfile.BLOCKSIZE
        return os.fstat(file.fileno()).st_size == whole and file.read(begin.tell()) == begin.getvalue()

    @staticmethod
    def read(paths: list[str]) -> ImageFiles:
        """The dataset of the shards."""
        return ImageFiles.from_tar(paths)


class ParquetShards:
    """Hugging Face's: a struct of bytes and path, and a ClassLabel. Needs pyarrow."""

    @staticmethod
    def write(file: BinaryIO, features: str, pictures: Iterable[ShardPicture]) -> None:
        """Writes one shard, a row group at a time."""
        pa, pq = _pyarrow()
        image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        schema = pa.schema({"image": image, "label": pa.int64()}, {"huggingface": features})
        options: dict[str, Any] = {
            "compression": {"image.bytes": "none", "image.path": "none", "label": "snappy"},
            "use_dictionary": ["label"],
            "column_encoding": {"image.bytes": "PLAIN", "image.path": "PLAIN"},
            "use_content_defined_chunking": _CHUNKS,
            "write_page_index": True,
        }
        with pq.ParquetWriter(file, schema, **options) as writer:
            for group in _groups(pictures):
                images = [{"bytes": p.content, "path": _text(p.name)} for p in group]
                columns = [pa.array(images, image), pa.array([p.label for p in group], pa.int64())]
                writer.write_batch(pa.record_batch(columns, schema), row_group_size=len(group))
            writer.add_key_value_metadata({"content_defined_chunking": json.dumps(_CHUNKS)})

    @staticmethod
    def features(classes: Sequence[str], fingerprint: str) -> str:
        """What a shard says of itself."""
        return _told({"image": {"_type": "Image"}, "label": _classes(classes)}, fingerprint)

    @staticmethod
    def is_whole(file: BinaryIO, features: str, samples: int) -> bool:
        """Whether a file says this of itself, at its end."""
        metadata = _pyarrow()[1].read_schema(file).metadata or {}
        return bool(metadata.get(b"huggingface") == features.encode())

    @staticmethod
    def read(paths: list[str]) -> ImageFiles:
        """The dataset of the shards."""
        return ImageFiles.from_parquet(paths)


Form = type[TarShards] | type[ParquetShards]


def form_of(suffix: str) -> Form:
    """The form that a name's ending says.

    Raises:
        OptionError: it says none.
        ImportError: pyarrow is needed.
    """
    if suffix == ".parquet":
        _pyarrow()
        return ParquetShards
    if suffix == ".tar":
        return TarShards
    raise errors.OptionError(f"a shard's name ends in .tar or .parquet, and this one in {suffix!r}")


def is_whole(form: Form, path: str, features: str, samples: int) -> bool:
    """Whether a shard is there that says this of itself; in a tar, its samples have so many bytes."""
    try:
        with regular_stream(path) as (file, _):
            return form.is_whole(file, features, samples)
    except (errors.GofastError, OSError, ValueError, LookupError, TypeError, RuntimeError):
        return False


def _features(file: BinaryIO, features: str) -> None:
    _member(file, FEATURES, features.encode(), 0)


def _member(file: BinaryIO, name: str, content: bytes, seconds: int) -> None:
    header = tarfile.TarInfo(name)
    header.size, header.mtime = len(content), seconds
    file.write(header.tobuf(tarfile.GNU_FORMAT))
    file.write(content)
    file.write(bytes(-len(content) % tarfile.BLOCKSIZE))


def _groups(pictures: Iterable[ShardPicture]) -> Iterator[list[ShardPicture]]:
    group: list[ShardPicture] = []
    held = 0
    for picture in pictures:
        if group and held + len(picture.content) > _GROUP:
            yield group
            group, held = [], 0
        group.append(picture)
        held += len(picture.content)
    if group:
        yield group


def _classes(names: Sequence[str]) -> dict[str, Any]:
    return {"names": list(names), "_type": "ClassLabel"}


def _told(features: dict[str, Any], fingerprint: str) -> str:
    return json.dumps({"info": {"features": features}, "fingerprint": fingerprint})


def _text(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")  # Parquet's texts are UTF-8


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("shards of Parquet need pyarrow: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet

"""The forms of shards: WebDataset's tar files, and Parquet as Hugging Face's hub has it."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from .. import errors
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
        _member(file, FEATURES, features.encode(), 0)
        for picture in pictures:
            key, seconds = f"{picture.number:08}", picture.modified // 10**9
            suffix = os.path.splitext(picture.name)[1].lower()
            _member(file, key + suffix, picture.content, seconds)
            _member(file, f"{key}.cls", b"%d" % picture.label, seconds)
        file.write(bytes(2 * tarfile.BLOCKSIZE))

    @staticmethod
    def features(classes: Sequence[str], fingerprint: str) -> str:
        """What a shard says of itself."""
        return _told({"cls": _classes(classes)}, fingerprint)

    @staticmethod
    def told(path: str) -> str:
        """What one that is there says of itself: "" for nothing."""
        with tarfile.open(path, "r:") as tar:
            first = tar.next()
            if first is None or first.name != FEATURES or (file := tar.extractfile(first)) is None:
                return ""
            return file.read(1 << 24).decode()

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
    def told(path: str) -> str:
        """What one that is there says of itself: "" for nothing."""
        metadata = _pyarrow()[1].read_schema(path).metadata or {}
        return bytes(metadata.get(b"huggingface", b"")).decode()

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


def fingerprint_of(form: Form, path: str) -> str | None:
    """The fingerprint of a shard that is there; None: it is none, or not whole."""
    try:
        found = json.loads(form.told(path))["fingerprint"]
    except (OSError, ValueError, LookupError, TypeError, RuntimeError, tarfile.TarError):
        return None
    return found if isinstance(found, str) else None


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

"""MDS shards and litData's chunks, written in plain Python, and MDS read: knows nothing of gofast."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WIDTHS = {
    "int": "q",
    "int64": "q",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
}
Columns = dict[str, str]  # name: encoding


def mds_bytes(columns: Columns, samples: Sequence[dict[str, Any]]) -> bytes:
    """A shard. Columns are sorted by name, as the package sorts them."""
    names = sorted(columns)
    forms = [WIDTHS.get(columns[name]) for name in names]
    sizes = [form and struct.calcsize("<" + form) for form in forms]
    told = {"column_names": names, "column_encodings": [columns[n] for n in names], "column_sizes": sizes}
    text = json.dumps({**told, "format": "mds", "compression": None}, sort_keys=True).encode()
    made = []
    for sample in samples:
        values = [
            struct.pack("<" + form, sample[name]) if form else sample[name]
            for name, form in zip(names, forms, strict=True)
        ]
        lengths = [len(value) for value, form in zip(values, forms, strict=True) if not form]
        made.append(struct.pack(f"<{len(lengths)}I", *lengths) + b"".join(values))
    offsets = [8 + 4 * len(made) + len(text)]
    for one in made:
        offsets.append(offsets[-1] + len(one))
    return struct.pack(f"<I{len(offsets)}I", len(made), *offsets) + text + b"".join(made)


def write_mds(folder: Path, columns: Columns, shards: Sequence[Sequence[dict[str, Any]]]) -> None:
    """A folder of shards, and its index."""
    folder.mkdir(exist_ok=True)
    listed = []
    for number, samples in enumerate(shards):
        data, name = mds_bytes(columns, samples), f"shard.{number:05}.mds"
        (folder / name).write_bytes(data)
        raw = {"basename": name, "bytes": len(data), "hashes": {}}
        shard = {"format": "mds", "compression": None, "samples": len(samples), "version": 2}
        listed.append({**shard, "raw_data": raw, "zip_data": None})
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": listed}))


def read_mds(data: bytes) -> list[dict[str, Any]] | None:
    """The samples of a shard; None: it is not whole. Columns are those that it says."""
    try:
        (count,) = struct.unpack_from("<I", data)
        if 8 + 4 * count > len(data):
            return None
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        told = json.loads(data[8 + 4 * count : offsets[0]])
        columns = [*zip(*(told[f"column_{key}"] for key in ("names", "encodings", "sizes")), strict=True)]
        if offsets[-1] != len(data) or len({name for name, _, _ in columns}) < len(columns):
            return None
        made = []
        for begin, end in itertools.pairwise(offsets):
            at = begin + 4 * sum(size is None for _, _, size in columns)
            lengths, sample = iter(struct.unpack(f"<{(at - begin) // 4}I", data[begin:at])), {}
            for name, encoding, size in columns:
                length = next(lengths) if size is None else size
                value = data[at : at + length]
                if (encoding in WIDTHS) != (size is not None) or at + length > end:
                    return None
                sample[name] = struct.unpack("<" + WIDTHS[encoding], value)[0] if size else value
                at += length
            if at != end:
                return None
            made.append(sample)
    except (struct.error, ValueError, KeyError, TypeError):
        return None
    return made


def pil_bytes(picture: Any) -> bytes:
    """A picture as both packages store one that Pillow has in memory."""
    mode = picture.mode.encode()
    return struct.pack("<III", *picture.size, len(mode)) + mode + bytes(picture.tobytes())


def lit_bytes(samples: Sequence[Sequence[bytes]]) -> bytes:
    """A chunk of leaves."""
    made = [b"".join([*(struct.pack("<I", len(leaf)) for leaf in leaves), *leaves]) for leaves in samples]
    offsets = [*itertools.accumulate(map(len, made), initial=8 + 4 * len(made))]
    return struct.pack(f"<I{len(offsets)}I", len(made), *offsets) + b"".join(made)


Pack = Callable[[bytes], bytes]


def lit_samples(data: bytes, pack: Pack) -> bytes:
    """A chunk with each sample packed by itself."""
    begin, ends, samples = _head(data)
    made = [pack(sample) for sample in samples]
    offsets = [*itertools.accumulate(map(len, made), initial=begin)]
    return struct.pack(f"<I{len(offsets)}I", len(ends), *offsets) + b"".join(made)


def lit_batches(data: bytes, pack: Pack, rows: int) -> bytes:
    """A chunk with so many samples packed together."""
    _, ends, samples = _head(data)
    plain = [b"".join(samples[i : i + rows]) for i in range(0, len(samples), rows)]
    made = [pack(one) for one in plain]
    at = 24 + 4 * (len(ends) + 1) + 24 * len(made)
    table = b""
    for number, (one, content) in enumerate(zip(made, plain, strict=True)):
        count = min(rows, len(samples) - number * rows)
        table += struct.pack("<IIQII", number * rows, count, at, len(one), len(content))
        at += len(one)
    head = struct.pack("<8sHHIII", b"LDFZ01\0\0", 1, 0, len(ends), rows, len(made))
    return head + struct.pack(f"<{len(ends) + 1}I", 0, *ends) + table + b"".join(made)


def read_litdata(data: bytes, leaves: int) -> list[list[bytes]] | None:
    """The leaves of the samples of a plain chunk; None: it is not whole."""
    try:
        (count,) = struct.unpack_from("<I", data)
        if 8 + 4 * count > len(data):
            return None
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        if offsets[0] != 8 + 4 * count or offsets[-1] != len(data):
            return None
        made = []
        for begin, end in itertools.pairwise(offsets):
            ends = [
                *itertools.accumulate(
                    struct.unpack_from(f"<{leaves}I", data, begin), initial=begin + 4 * leaves
                )
            ]
            if ends[-1] != end:
                return None
            made.append([data[a:b] for a, b in itertools.pairwise(ends)])
    except struct.error:
        return None
    return made


Unpack = Callable[[bytes, int], bytes]  # of so many bytes


def unpacked_batches(data: bytes, unpack: Unpack) -> bytes | None:
    """The plain chunk of one of `lit_batches`."""
    try:
        magic, version, _, count, rows, frames = struct.unpack_from("<8sHHIII", data)
        at = 24 + 4 * (count + 1)
        if (magic, version) != (b"LDFZ01\0\0", 1) or at + 24 * frames > len(data) or not rows:
            return None
        offsets = struct.unpack_from(f"<{count + 1}I", data, 24)
        samples = b""
        for number in range(frames):
            first, each, begin, length, plain = struct.unpack_from("<IIQII", data, at + 24 * number)
            if first != number * rows or begin + length > len(data) or plain > 1 << 20:
                return None
            part = unpack(data[begin : begin + length], plain)
            if len(part) != plain or plain != offsets[first + each] - offsets[first]:
                return None
            samples += part
    except (struct.error, IndexError):
        return None
    head = 8 + 4 * count
    if head + offsets[-1] >= 1 << 32:
        return None
    return struct.pack(f"<{count + 2}I", count, *(head + offset for offset in offsets)) + samples


def unpacked_samples(data: bytes, unpack: Callable[[bytes], bytes]) -> bytes | None:
    """The same of one of `lit_samples`."""
    try:
        (count,) = struct.unpack_from("<I", data)
        if 8 + 4 * count > len(data):
            return None
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
    except struct.error:
        return None
    made = [unpack(data[begin:end]) for begin, end in itertools.pairwise(offsets)]
    ends = itertools.accumulate(map(len, made), initial=8 + 4 * count)
    return struct.pack(f"<{count + 2}I", count, *ends) + b"".join(made)


def _head(data: bytes) -> tuple[int, list[int], list[bytes]]:
    """Where the samples of a plain chunk begin, where they end behind that, and they themselves."""
    (count,) = struct.unpack_from("<I", data)
    offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
    samples = [data[begin:end] for begin, end in itertools.pairwise(offsets)]
    return offsets[0], [offset - offsets[0] for offset in offsets[1:]], samples


def lit_rows(count: int, arrow: bytes) -> bytes:
    """A chunk with an Arrow file in the place of samples."""
    begin = 8 + 4 * count
    offsets = struct.pack(f"<{count + 2}I", count, *[begin] * (count + 1))
    return offsets + arrow + struct.pack("<I", len(arrow)) + b"LDARW01\0"


def write_litdata(folder: Path, spec: Any, forms: Sequence[str], chunks: Sequence[Any]) -> None:
    """A folder of chunks, and its index; spec is torch's pytree."""
    folder.mkdir(exist_ok=True)
    listed = []
    for number, samples in enumerate(chunks):
        (folder / f"chunk-0-{number}.bin").write_bytes(lit_bytes(samples))
        listed.append({"chunk_size": len(samples), "filename": f"chunk-0-{number}.bin", "dim": None})
    config = {"compression": None, "data_format": forms, "data_spec": json.dumps([1, spec])}
    told = {"chunks": listed, "config": {**config, "encryption": None, "item_loader": "PyTreeLoader"}}
    (folder / "index.json").write_text(json.dumps(told))

"""Changed shards of MDS and chunks of litData: what plain Python, pyarrow and Pillow see, or an error."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from PIL import Image

from gofast import errors
from gofast._core.tfrecord_index import RecordsOptions, TFRecordIndex
from mds import (
    lit_batches,
    lit_bytes,
    lit_rows,
    lit_samples,
    mds_bytes,
    pil_bytes,
    read_litdata,
    read_mds,
    unpacked_batches,
    unpacked_samples,
)
from mutations import SEEDS, bounded, changed

Form = Literal["mds", "plain", "chunk", "batch", "sample", "rows"]
Sample = tuple[bytes, int]  # a picture and its class
FORMS: dict[str, tuple[Form, ...]] = {
    "mds": ("mds",),
    "litdata": ("plain", "chunk", "batch", "sample", "rows"),
}
MODES = ("L", "RGB", "RGBA", "CMYK", "P")
ZSTD = pa.Codec("zstd")


def written(rng: random.Random, form: Form, pixels: bool) -> bytes:
    """A shard of a few samples."""
    count = rng.randint(form != "mds", 5)
    pictures = [rng.randbytes(rng.choice([0, 3, 70, 400])) for _ in range(count)]
    if pixels:
        sizes = [(rng.randint(1, 9), rng.randint(1, 9)) for _ in range(count)]
        pictures = [pil_bytes(Image.new(rng.choice(MODES), size, rng.randrange(200))) for size in sizes]
    rows = [(picture, rng.randrange(-9, 1 << 40)) for picture in pictures]
    if form == "mds":
        columns = {"image": "pil" if pixels else "jpeg", "class": "int", "zebra": "bytes"}
        return mds_bytes(columns, [{"image": one, "class": n, "zebra": b"z"} for one, n in rows])
    if form == "rows":
        table = pa.table({"image": pa.array(pictures, pa.binary()), "class": [n for _, n in rows]})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, 3)
        return lit_rows(count, sink.getvalue().to_pybytes())
    plain = lit_bytes([[one, struct.pack("<q", n)] for one, n in rows])
    match form:
        case "batch":
            return lit_batches(plain, packed, 2)
        case "sample":
            return lit_samples(plain, packed)
        case "chunk":
            return packed(plain)
    return plain


def packed(data: bytes) -> bytes:
    return bytes(ZSTD.compress(data, asbytes=True))


def unpacked(data: bytes) -> bytes:
    """All of a file of zstd."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        made: bytes = stream.read(1 << 20)
        return made


def read(data: bytes, form: Form) -> list[Any] | None:
    """The pictures and classes as they are stored; None: it is not whole."""
    plain: bytes | None = data
    try:
        match form:
            case "mds":
                found = read_mds(data)
                return None if found is None else [(one["image"], one["class"]) for one in found]
            case "rows":
                return rows_of(data)
            case "batch":
                plain = unpacked_batches(data, lambda one, size: ZSTD.decompress(one, size, asbytes=True))
            case "sample":
                plain = unpacked_samples(data, unpacked)
            case "chunk":
                plain = unpacked(data)
    except (OSError, ValueError, KeyError, MemoryError, struct.error, pa.ArrowException):
        return None
    samples = None if plain is None else read_litdata(plain, 2)
    if samples is None or any(len(number) != 8 for _, number in samples):
        return None
    return [(one, *struct.unpack("<q", number)) for one, number in samples]


def rows_of(data: bytes) -> list[Any] | None:
    """The same of a chunk with an Arrow file."""
    (length,) = struct.unpack_from("<I", data, len(data) - 12)
    table = pa.ipc.open_file(data[-12 - length : -12]).read_all()
    table.validate(full=True)
    pictures = [one.encode() if isinstance(one, str) else one for one in table["image"].to_pylist()]
    return [*zip(pictures, table["class"].to_pylist(), strict=True)]


def pixels_of(stored: bytes) -> tuple[tuple[int, int], bytes]:
    """A picture of `pil_bytes` as both packages read it, in RGB."""
    width, height, mode = struct.unpack_from("<III", stored)
    name, rows = stored[12 : 12 + mode].decode(), stored[12 + mode :]
    image = Image.frombytes(name, (width, height), rows).convert("RGB")
    return image.size, image.tobytes()


def ours(path: Path, form: Form, encoding: str) -> list[Sample]:
    """What gofast reads."""
    compression = {"batch": "batch", "sample": "sample", "chunk": "suffix"}.get(form, "")
    encodings = {"image": encoding, "class": "int"}
    leaves: list[Any] = [{"name": n, "path": [n], "encoding": form} for n, form in encodings.items()]
    asked = RecordsOptions([str(path)], ["image", "class"], compression, None, leaves=leaves)
    records = TFRecordIndex._made(asked._replace(form="mds" if form == "mds" else "litdata"))
    image, number = records.column("image"), records.column("class")
    return [(*records.contents(image, i), *number.of(i).tolist()) for i in range(records.count)]


def compare(name: str, seeds: range, folder: Path) -> tuple[int, int]:
    """How many files are read, and how many refused."""
    taken = refused = 0
    for seed in seeds:
        rng = random.Random(seed)
        form = FORMS[name][seed % len(FORMS[name])]
        pixels = form != "rows" and rng.random() < 0.4
        whole = data = written(rng, form, pixels)
        if seed // 5 % 8:
            data = changed(whole, rng, 48)
        path = folder / ("a.zstd.bin" if form == "chunk" else "a.bin")
        path.write_bytes(data)
        want = read(data, form)
        try:
            with bounded(seed):
                got = ours(path, form, "pil" if pixels else "jpeg")
        except errors.GofastError as error:
            assert error.path == str(path) or "image" in str(error), (seed, error)
            assert data is not whole, (seed, error)
            refused += 1
            continue
        taken += 1
        if want is None and form == "rows":  # pyarrow looks at more of a footer than is needed
            assert all(picture in data for picture, _ in got), seed
            continue
        assert want is not None and len(got) == len(want), seed
        for (picture, number), (stored, other) in zip(got, want, strict=True):
            assert number == other, seed
            if pixels:
                image = Image.open(io.BytesIO(picture)).convert("RGB")
                assert (image.size, image.tobytes()) == pixels_of(stored), seed
            else:
                assert picture == stored, seed
    return taken, refused


@SEEDS
@pytest.mark.parametrize("name", FORMS)
def test_changed_shards(name: str, seeds: range, tmp_path: Path) -> None:
    taken, refused = compare(name, seeds, tmp_path)
    assert taken > len(seeds) // 8 and refused > len(seeds) // 4, (taken, refused)

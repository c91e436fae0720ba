"""ImageFiles.from_mds and from_litdata: what was written, or an error that names file and offset."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import pickle
import resource
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from mds import (
    Pack,
    lit_batches,
    lit_bytes,
    lit_rows,
    lit_samples,
    mds_bytes,
    pil_bytes,
    write_litdata,
    write_mds,
)
from picture_files import contents, noise
from same import difference

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
COLUMNS = {"image": "jpeg", "class": "int", "name": "str", "zebra": "bytes"}
PICTURES = contents(13)


def samples(columns: dict[str, str] = COLUMNS) -> list[dict[str, Any]]:
    """Some for each encoding."""
    values: dict[str, Any] = {"jpeg": lambda i: PICTURES[i], "str": lambda i: f"ä{i}".encode()}
    values |= {"bytes": lambda i: b"z" * i, "png": lambda i: PICTURES[i]}
    return [
        {name: values.get(form, lambda i: 100 - i)(i) for name, form in columns.items()}
        for i in range(len(PICTURES))
    ]


def test_batches_are_those_of_pillow_and_torchvision(tmp_path: Path) -> None:
    write_mds(tmp_path, COLUMNS, [samples()[:5], [], samples()[5:]])
    dataset = gofast.ImageFiles.from_mds(tmp_path, transform=TRAIN)
    assert dataset.paths == [
        f"{tmp_path}/shard.0000{2 * (i > 4)}.mds[{i - 5 * (i > 4)}]" for i in range(len(PICTURES))
    ]
    torch.manual_seed(5)
    got = [*gofast.DataLoader(dataset, batch_size=4, shuffle=True), torch.get_rng_state()]
    torch.manual_seed(5)
    order = [*DataLoader(range(13), batch_size=None, shuffle=True)]  # type: ignore[arg-type]
    made = [(TRAIN(Image.open(io.BytesIO(PICTURES[i])).convert("RGB")), 100 - int(i)) for i in order]
    want = [*DataLoader(made, batch_size=4), torch.get_rng_state()]  # type: ignore[arg-type]
    assert difference(got[:-1], want[:-1]) == ""
    again = pickle.loads(pickle.dumps(dataset))
    assert again.targets == dataset.targets and again.paths == dataset.paths


@pytest.mark.parametrize(
    ("label", "want"),
    [
        ("name", [f"ä{i}" for i in range(13)]),
        ("class", [100 - i for i in range(13)]),
        (None, None),
    ],
)
def test_labels(tmp_path: Path, label: str | None, want: Any) -> None:
    write_mds(tmp_path, COLUMNS, [samples()])
    dataset = gofast.ImageFiles.from_mds(tmp_path / "index.json", label=label)
    assert (dataset.targets if label else None) == want
    assert [*dataset._listing.files.contents] == PICTURES  # type: ignore[misc]


@pytest.mark.parametrize("form", ["int", "int64", "int8", "int32", "uint8", "uint16", "uint32"])
def test_whole_numbers(tmp_path: Path, form: str) -> None:
    values = [0, 1, 127] + [-128, -1] * (form[0] == "i") + [255] * (form == "uint8")
    values += [{"int": -(1 << 62), "uint32": (1 << 32) - 1, "int32": -(1 << 31)}.get(form, 3)]
    rows = [{"a": value, "image": b"", "z": b"x"} for value in values]
    write_mds(tmp_path, {"image": "bytes", "a": form, "z": "pkl"}, [rows])
    assert gofast.ImageFiles.from_mds(tmp_path, label="a").targets == values


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    write_mds(tmp_path, COLUMNS, [samples()])
    shard, whole = tmp_path / "shard.00000.mds", mds_bytes(COLUMNS, samples())
    index = json.loads((tmp_path / "index.json").read_text())

    def refused(kind: type[errors.GofastError], said: str, **given: Any) -> errors.GofastError:
        with pytest.raises(kind, match=said) as error:
            gofast.ImageFiles.from_mds(tmp_path, **given)
        return error.value

    refused(errors.SchemaError, "no record has a feature 'x'; the first one has 'class', 'image'", label="x")
    refused(errors.SchemaError, "'int', and 'byte' is needed", image="class")
    refused(errors.SchemaError, "UnicodeDecodeError", label="image")
    refused(errors.OptionError, "names of columns", label=["class"])
    refused(errors.OptionError, "names of columns", image=5)
    first, last = (4 * (1 + at) for at in (0, 13))
    for at, value, said in (
        (0, (1 << 32) - 1, "4294967295 samples begin"),
        (0, 12, "what the columns are"),
        (first, len(whole) + 1, "the last one at"),
        (first + 8, 40, "sample 1 ends at 40"),
        (first + 8, len(whole) + 9, "sample 1 ends at"),
        (last, len(whole) - 1, "a column has|behind|ends"),
    ):
        shard.write_bytes(whole[:at] + struct.pack("<I", value) + whole[at + 4 :])
        error = refused(errors.DamagedError, said)
        assert error.path == str(shard) and error.offset is not None, said
    shard.write_bytes(whole + b"x")
    assert "1 bytes before the file does" in str(refused(errors.DamagedError, "last sample"))
    for old, new in ((b"[8, null", b"[4, null"), (b"[8, null", b"[0, null"), (b"[8, null", b"[null,8 ")):
        assert old in whole
        shard.write_bytes(whole.replace(old, new, 1))
        refused(errors.DamagedError, "values of|column has|behind")
    shard.write_bytes(whole.replace(b'"jpeg"', b'"pkl" ', 1))
    refused(errors.UnsupportedError, '"pkl"')
    shard.write_bytes(mds_bytes(COLUMNS, samples()[1:]))
    refused(errors.DamagedError, "it has 12 samples, and index.json says 13")
    shard.unlink()
    refused(errors.NotFoundError, "shard.00000.mds")
    for change, kind in (
        ({"format": "xsv"}, errors.UnsupportedError),
        ({"compression": "br:3", "zip_data": {"basename": "a.mds.br"}}, errors.UnsupportedError),
        ({"compression": "zstd:3"}, errors.DamagedError),
        ({"compression": "zstd:3", "zip_data": {"basename": "../a.mds.zstd"}}, errors.DamagedError),
        ({"raw_data": {"basename": "../a.mds", "bytes": 1}}, errors.DamagedError),
        ({"raw_data": {"basename": "/a.mds", "bytes": 1}}, errors.DamagedError),
        ({"raw_data": {"basename": "\ud800.mds", "bytes": 1}}, errors.DamagedError),
        ({"raw_data": None}, errors.DamagedError),
        ({"samples": "3"}, errors.DamagedError),
    ):
        told = {"version": 2, "shards": [{**index["shards"][0], **change}]}
        (tmp_path / "index.json").write_text(json.dumps(told))
        assert refused(kind, "shard|index").path is not None
    for text, kind in (
        ("{", errors.DamagedError), ("[" * 99_999, errors.DamagedError), ("3", errors.DamagedError),
        ('{"version": 3, "shards": []}', errors.UnsupportedError),
        ('{"version": 2, "shards": []}', errors.NotFoundError),
    ):  # fmt: skip
        (tmp_path / "index.json").write_text(text)
        assert refused(kind, "index").path == str(tmp_path / "index.json")
    with pytest.raises(errors.NotFoundError):
        gofast.ImageFiles.from_mds(tmp_path / "none")


@pytest.mark.parametrize("form", ["zstd", "gz", "bz2"])
def test_compressed_shards(tmp_path: Path, form: str) -> None:
    """One of them lies there unpacked as well."""
    write_mds(tmp_path, COLUMNS, [samples()[:5], samples()[5:9], samples()[9:]])
    told = json.loads((tmp_path / "index.json").read_text())
    for shard in told["shards"]:
        path = tmp_path / shard["raw_data"]["basename"]
        packed = path.with_name(f"{path.name}.{form}")
        packed.write_bytes(PACK[form](path.read_bytes()))
        shard |= {"compression": f"{form}:3", "zip_data": {"basename": packed.name}}
        if path.name != "shard.00001.mds":
            path.unlink()
    (tmp_path / "index.json").write_text(json.dumps(told))
    for label in ("class", "name"):
        dataset = gofast.ImageFiles.from_mds(tmp_path, label=label, transform=T.ToTensor())
        assert dataset.targets == [{"class": 100 - i, "name": f"ä{i}"}[label] for i in range(13)]
        assert [*dataset._listing.files.contents] == PICTURES  # type: ignore[misc]
    assert dataset.paths[0] == f"{tmp_path}/shard.00000.mds.{form}[0]"
    want = [T.ToTensor()(Image.open(io.BytesIO(picture)).convert("RGB")) for picture in PICTURES]
    for i in (0, 6, 12):
        assert torch.equal(dataset[i][0], want[i])
    path = tmp_path / f"shard.00002.mds.{form}"
    whole = path.read_bytes()
    for data in (whole[:-9], b"rubbish", PACK[form](b"rubbish")):
        path.write_bytes(data)
        with pytest.raises(errors.DamagedError) as error:
            gofast.ImageFiles.from_mds(tmp_path)
        assert error.value.path == str(path)


@pytest.mark.parametrize("form", ["zstd", "gz", "bz2"])
def test_a_shard_that_unpacks_to_more_than_its_index_says_is_not_unpacked(tmp_path: Path, form: str) -> None:
    """Of 16 GB, one block too many is made; where index.json says too much for the memory, nothing."""
    write_mds(tmp_path, COLUMNS, [samples()])
    told = json.loads((tmp_path / "index.json").read_text())
    (shard,) = told["shards"]
    path = tmp_path / f"shard.00000.mds.{form}"
    whole = (tmp_path / "shard.00000.mds").read_bytes()
    (tmp_path / "shard.00000.mds").unlink()
    with path.open("wb") as file:
        file.write(PACK[form](whole))
        part = PACK[form](bytes(64 << 20))
        file.writelines([part] * 256)
    shard |= {"compression": form, "zip_data": {"basename": path.name}}

    def refused(kind: type[errors.GofastError], said: str, *shards: dict[str, Any]) -> None:
        (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
        began, before = time.process_time(), peak()
        with pytest.raises(kind, match=said) as error:
            gofast.ImageFiles.from_mds(tmp_path)
        assert time.process_time() - began < 2  # all of it would take many seconds, and gigabytes
        assert peak() - before < 400 << 20
        assert error.value.path in (str(path), str(tmp_path / "index.json"))

    refused(errors.DamagedError, f"unpacks to more than {len(whole)} bytes", shard)
    large = {**shard, "raw_data": {**shard["raw_data"], "bytes": (1 << 32) - 1}}
    refused(errors.LimitError, "more memory than there is", *[large] * 5000)
    for size in (1 << 32, 0, -1, "7", None, True, 8.0):
        refused(errors.DamagedError, "index", {**shard, "raw_data": {**shard["raw_data"], "bytes": size}})
    path.write_bytes(PACK[form](whole))
    (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": [shard]}))
    assert gofast.ImageFiles.from_mds(tmp_path).targets == [100 - i for i in range(13)]


@pytest.mark.parametrize("form", ["mds", "plain", "chunk", "batch", "sample"])
def test_pictures_that_pillow_had_in_memory(tmp_path: Path, form: str) -> None:
    """Both packages give what Image.frombytes makes: those of a palette without it."""
    modes = ["RGB", "L", "RGBA", "CMYK", "P"]
    pictures = [noise(mode, size) for size in ((9, 7), (1, 1), (300, 2)) for mode in modes]
    stored = [pil_bytes(picture) for picture in pictures]
    made: Any = gofast.ImageFiles.from_litdata
    if form == "mds":
        made = gofast.ImageFiles.from_mds
        columns = {"class": "int", "image": "pil"}
        write_mds(tmp_path, columns, [[{"image": one, "class": i} for i, one in enumerate(stored)]])
    else:
        rows = [[one, struct.pack("<q", i)] for i, one in enumerate(stored)]
        spec, forms = node("dict", [LEAF] * 2, ["image", "class"]), ["pil", "int"]
        write_packed(tmp_path, form, [rows[:6], rows[6:]], spec, forms)
    images = [Image.frombytes(one.mode, one.size, one.tobytes()).convert("RGB") for one in pictures]
    want = [T.ToTensor()(image) for image in images]
    dataset = made(tmp_path, transform=T.ToTensor())
    assert dataset.targets == [*range(len(pictures))]
    for threads in (0, 1):
        got = [*gofast.DataLoader(dataset, batch_size=1, num_workers=threads)]
        assert all(torch.equal(one[0][0], other) for one, other in zip(got, want, strict=True))
    assert [Image.open(io.BytesIO(one)).size for one in dataset._listing.files.contents] == [
        image.size for image in images
    ]
    crops = T.Compose([T.RandomResizedCrop(4), T.ToTensor()])  # needs sizes, from the first bytes
    torch.manual_seed(1)
    cropped = [picture for picture, _ in made(tmp_path, transform=crops)]
    torch.manual_seed(1)
    assert torch.equal(torch.stack(cropped), torch.stack([crops(image) for image in images]))
    with pytest.raises(errors.SchemaError, match="holds pictures, and texts"):
        made(tmp_path, label="image")


def test_pictures_of_pillow_that_are_not_read(tmp_path: Path) -> None:
    whole = pil_bytes(noise("RGB", (5, 4)))
    for data, kind, said in (
        (
            pil_bytes(noise("LA", (5, 4))),
            errors.UnsupportedError,
            'mode "LA".*CMYK, L, P, RGB, RGBA are read',
        ),
        (pil_bytes(noise("I;16", (5, 4))), errors.UnsupportedError, 'mode "I;16"'),
        (whole[:8] + struct.pack("<I", 1 << 31) + whole[12:], errors.DamagedError, "has no mode"),
        (whole[:8] + struct.pack("<I", 0) + whole[12:], errors.DamagedError, "has no mode"),
        (whole[:11], errors.DamagedError, "a picture of 11 bytes has no mode"),
        (whole[:-1], errors.DamagedError, "5 x 4 pixels of mode RGB has 59 bytes"),
        (whole + b"x", errors.DamagedError, "has 61 bytes"),
        (struct.pack("<II", 0, 4) + whole[8:15], errors.DamagedError, "0 x 4 pixels"),
        (struct.pack("<II", 1 << 31, 1 << 31) + whole[8:], errors.DamagedError, "2147483648 x 2147483648"),
    ):
        write_mds(tmp_path, {"image": "pil"}, [[{"image": data}]])
        with pytest.raises(kind, match=said) as error:
            gofast.ImageFiles.from_mds(tmp_path, label=None)
        assert error.value.path == f"{tmp_path}/shard.00000.mds" and error.value.offset is not None


def peak() -> int:
    """The most memory that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _zstd(data: bytes) -> bytes:
    return bytes(pytest.importorskip("pyarrow").compress(data, "zstd", asbytes=True))


PACK: dict[str, Pack] = {"zstd": _zstd, "gz": gzip.compress, "bz2": bz2.compress}


LEAF: dict[str, Any] = {"type": None, "context": None, "children_spec": []}


def node(kind: str, children: list[Any], keys: list[str] | None = None) -> dict[str, Any]:
    return {"type": f"builtins.{kind}", "context": json.dumps(keys), "children_spec": children}


SPEC = node("dict", [LEAF, node("tuple", [LEAF, LEAF])], ["image", "more"])


def leaves(i: int) -> list[bytes]:
    return [PICTURES[i], struct.pack("<q", i - 3), f"ä{i}".encode()]


def of_leaves(root: Path) -> gofast.ImageFiles:
    """The dataset of chunks with 13 rows of `leaves`."""
    dataset = gofast.ImageFiles.from_litdata(root, label="more.0", transform=T.ToTensor())
    assert dataset.targets == [i - 3 for i in range(13)] and [*dataset._listing.files.contents] == PICTURES  # type: ignore[misc]
    assert gofast.ImageFiles.from_litdata(root, label="more.1").targets == [f"ä{i}" for i in range(13)]
    for (picture, _), content in zip(dataset, PICTURES, strict=True):
        assert torch.equal(picture, T.ToTensor()(Image.open(io.BytesIO(content)).convert("RGB")))
    again = pickle.loads(pickle.dumps(dataset))
    assert again.targets == dataset.targets and again.paths == dataset.paths
    return dataset


def test_chunks_of_litdata(tmp_path: Path) -> None:
    rows = [leaves(i) for i in range(13)]
    write_litdata(tmp_path, SPEC, ["jpeg", "int", "str"], [rows[:5], rows[5:]])
    dataset = of_leaves(tmp_path)
    ordered = {**node("dict", [LEAF, LEAF], ["image", "n"]), "type": "collections.OrderedDict"}
    write_litdata(tmp_path, ordered, ["jpeg", "int"], [[leaf[:2] for leaf in rows]])
    assert gofast.ImageFiles.from_litdata(tmp_path, label="n").targets == dataset.targets
    write_litdata(tmp_path, node("tuple", [LEAF, LEAF]), ["file:png", "tensor"], [[(PICTURES[0], b"x")]])
    assert [*gofast.ImageFiles.from_litdata(tmp_path, "0", None)._listing.files.contents] == PICTURES[:1]  # type: ignore[misc]
    with pytest.raises(errors.UnsupportedError, match='"tensor"'):
        gofast.ImageFiles.from_litdata(tmp_path, "0", "1")


def test_chunks_that_are_not_read(tmp_path: Path) -> None:
    rows, forms = [leaves(i) for i in range(3)], ["jpeg", "int", "str"]
    write_litdata(tmp_path, SPEC, forms, [rows])
    chunk, whole = tmp_path / "chunk-0-0.bin", lit_bytes(rows)
    index = json.loads((tmp_path / "index.json").read_text())

    def refused(kind: type[errors.GofastError], said: str) -> errors.GofastError:
        with pytest.raises(kind, match=said) as error:
            gofast.ImageFiles.from_litdata(tmp_path, label="more.0")
        return error.value

    for data, kind, said in (
        (whole + b"ARROW1LDARW01\0", errors.DamagedError, "is this a shard"),
        (b"LDFZ01\0\0" + whole, errors.DamagedError, "is this a shard"),
        (b"\xff" * 4 + whole[4:], errors.DamagedError, "4294967295 samples"),
        (b"\2" + whole[1:], errors.DamagedError, "4 bytes stand between"),
        (lit_bytes([[b"", b"1234", b""]]), errors.DamagedError, "a column has 4"),
        (lit_bytes([[b"", b"12345678"]]), errors.DamagedError, "sample 0"),
        (whole[:-1], errors.DamagedError, "sample 2 ends"),
        (lit_bytes(rows[1:]), errors.DamagedError, "it has 2 samples, and index.json says 3"),
    ):
        chunk.write_bytes(data)
        error = refused(kind, said)
        assert error.path == str(chunk) and (error.offset is not None or "index.json" in said)
    chunk.write_bytes(whole)
    for change, kind in (
        ({"compression": "lz4"}, errors.UnsupportedError), ({"encryption": {}}, None),
        ({"compression": "zstd", "compression_level": "all"}, errors.UnsupportedError),
        ({"ipc_compression": "zstd"}, errors.UnsupportedError),
        ({"encryption": {"a": 1}}, errors.UnsupportedError),
        ({"item_loader": "Other"}, errors.UnsupportedError),
        ({"data_format": ["jpeg", "int"]}, errors.DamagedError), ({"data_spec": None}, errors.DamagedError),
        ({"data_spec": "[1, 2]"}, errors.DamagedError), ({"data_spec": "[" * 99_999}, errors.DamagedError),
    ):  # fmt: skip
        told = {**index, "config": {**index["config"], **change}}
        (tmp_path / "index.json").write_text(json.dumps(told))
        if kind is None:
            assert len(gofast.ImageFiles.from_litdata(tmp_path, label=None)) == 3
        else:
            assert refused(kind, "index").path == str(tmp_path / "index.json")


# What litData compresses together, and a chunk of it.
LEVELS: dict[str, Callable[[bytes], bytes]] = {
    "chunk": _zstd,
    "batch": lambda data: lit_batches(data, _zstd, 3),
    "sample": lambda data: lit_samples(data, _zstd),
}


def write_packed(
    folder: Path,
    level: str,
    chunks: Sequence[Any],
    spec: Any = SPEC,
    forms: Sequence[str] = ("image:jpeg", "int", "str"),
) -> list[Path]:
    """Chunks that are compressed, unless they are plain, and their index."""
    write_litdata(folder, spec, [*forms], chunks)
    told = json.loads((folder / "index.json").read_text())
    if level == "plain":
        return [folder / chunk["filename"] for chunk in told["chunks"]]
    told["config"] |= {"compression": "zstd:4", "compression_level": None if level == "chunk" else level}
    paths = []
    for chunk in told["chunks"]:
        plain = folder / chunk["filename"]
        if level == "chunk":
            chunk["filename"] = chunk["filename"].replace(".bin", ".zstd:4.bin")
        paths.append(folder / chunk["filename"])
        paths[-1].write_bytes(LEVELS[level](plain.read_bytes()))
        if level == "chunk":
            plain.unlink()
    (folder / "index.json").write_text(json.dumps(told))
    return paths


@pytest.mark.parametrize("level", LEVELS)
def test_compressed_chunks(tmp_path: Path, level: str) -> None:
    rows = [leaves(i) for i in range(13)]
    write_packed(tmp_path, level, [rows[:6], rows[6:]])
    dataset = of_leaves(tmp_path)
    if level == "chunk":  # as litdata's reader leaves them
        first, plain = tmp_path / "chunk-0-0.zstd:4.bin", tmp_path / "chunk-0-0.bin"
        plain.write_bytes(
            bytes(pytest.importorskip("pyarrow").input_stream(first, compression="zstd").read())
        )
        first.unlink()
        dataset = gofast.ImageFiles.from_litdata(tmp_path, label="more.0")
        assert [*dataset._listing.files.contents] == PICTURES and dataset.paths[0] == f"{plain}[0]"  # type: ignore[misc]


def test_a_frame_that_holds_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    rows = [[b"p" * 99, struct.pack("<q", i), b"n"] for i in range(4)]
    bomb = PACK["zstd"](bytes(64 << 20)) * 64
    (path,) = write_packed(tmp_path, "batch", [rows])
    path.write_bytes(lit_batches(lit_bytes(rows), lambda _: bomb, 4))
    before = peak()
    with pytest.raises(errors.DamagedError, match="does not hold 480 bytes") as error:
        gofast.ImageFiles.from_litdata(tmp_path, label="more.0")
    assert error.value.path == str(path) and error.value.offset == 24 + 4 * 5 + 24
    assert peak() - before < 100 << 20


def arrow(names: Sequence[str], *columns: Any, **options: Any) -> bytes:
    """An Arrow file of two record batches."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table([*columns], names=[*names])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table.slice(0, 8))
        writer.write_table(table.slice(8))
    return bytes(sink.getvalue())


def test_rows_of_arrow(tmp_path: Path) -> None:
    """As litdata writes them by default where pictures are bytes: labels of numbers and of texts."""
    flat = node("dict", [LEAF] * 4, ["image", "class", "name", "weight"])
    write_litdata(tmp_path, flat, ["bytes", "int", "str", "float"], [[[b""] * 4] * 13])
    path, labels = tmp_path / "chunk-0-0.bin", [3 - i for i in range(13)]
    names = [f"ä{i}" for i in range(13)]
    told = ["image", "class", "name", "weight"]
    path.write_bytes(lit_rows(13, arrow(told, PICTURES, labels, names, [0.5] * 13)))
    dataset = gofast.ImageFiles.from_litdata(tmp_path, transform=T.ToTensor())
    assert dataset.targets == labels and [*dataset._listing.files.contents] == PICTURES  # type: ignore[misc]
    assert gofast.ImageFiles.from_litdata(tmp_path, label="name").targets == names
    batch = next(iter(gofast.DataLoader(dataset, batch_size=1)))[0][0]
    assert torch.equal(batch, T.ToTensor()(Image.open(io.BytesIO(PICTURES[0])).convert("RGB")))

    def refused(kind: type[errors.GofastError], said: str, data: bytes, **given: Any) -> None:
        path.write_bytes(data)
        with pytest.raises(kind, match=said) as error:
            gofast.ImageFiles.from_litdata(tmp_path, **given)
        assert str(path) in str(error.value)

    good = arrow(told, PICTURES, labels, names, [0.5] * 13)
    refused(errors.UnsupportedError, '"float"', lit_rows(13, good), label="weight")
    refused(errors.SchemaError, "no such column", lit_rows(13, arrow(["image"], PICTURES)))
    refused(errors.SchemaError, "as is said of it", lit_rows(13, arrow(told[:2], PICTURES, names)))
    refused(errors.MissingValueError, "class", lit_rows(13, arrow(told[:2], PICTURES, [None, *labels[1:]])))
    packed = arrow(told[:2], PICTURES, labels, compression="zstd")
    refused(errors.UnsupportedError, "compressed", lit_rows(13, packed))
    refused(errors.DamagedError, "more rows than 12", lit_rows(12, good))
    refused(errors.DamagedError, "has 13 rows", lit_rows(14, good))
    refused(errors.DamagedError, "no ARROW1 at the end", lit_rows(13, good[:-1]))
    write_litdata(tmp_path, SPEC, ["bytes", "int", "str"], [[leaves(i) for i in range(3)]])
    refused(errors.SchemaError, "no such column", lit_rows(3, arrow(["image"], PICTURES[:3])), label="more.0")
    lists = lit_rows(3, arrow(["image", "more"], PICTURES[:3], [[1, 2]] * 3))
    refused(errors.UnsupportedError, "a part of a list", lists, label="more.0")
    write_litdata(tmp_path, SPEC, ["bytes", "int", "str"], [[leaves(i) for i in range(3)]])
    plain = path.read_bytes()  # the reader of litdata takes the Arrow file, which has the same
    path.write_bytes(plain + lit_rows(0, arrow(["image"], PICTURES[:3]))[8:])
    assert gofast.ImageFiles.from_litdata(tmp_path, label="more.0").targets == [-3, -2, -1]


def test_leaves_within_leaves_of_rows(tmp_path: Path) -> None:
    """Dicts in dicts are structs in structs; each of these, and each leaf, may be missing in a row."""
    deep = node("dict", [LEAF, LEAF], ["name", "image"])
    spec = node("dict", [LEAF, node("dict", [LEAF, deep, LEAF], ["x", "deep", "class"])], ["first", "sample"])
    write_litdata(tmp_path, spec, ["str", "int", "str", "bytes", "int"], [[[b""] * 5] * 13])
    samples: list[Any] = [
        {"x": i, "deep": {"name": f"ä{i}", "image": PICTURES[i]}, "class": 3 - i} for i in range(13)
    ]
    path = tmp_path / "chunk-0-0.bin"
    path.write_bytes(lit_rows(13, arrow(["first", "sample"], ["a", None] * 6 + ["bc"], samples)))

    def read(label: str) -> gofast.ImageFiles:
        return gofast.ImageFiles.from_litdata(tmp_path, "sample.deep.image", label)

    assert [*read("sample.class")._listing.files.contents] == PICTURES  # type: ignore[misc]
    assert read("sample.class").targets == [3 - i for i in range(13)]
    assert read("sample.deep.name").targets == [f"ä{i}" for i in range(13)]
    for missing in (None, {**samples[5], "deep": None}, {**samples[5], "deep": {"name": "n", "image": None}}):
        told = arrow(["first", "sample"], ["a"] * 13, [*samples[:5], missing, *samples[6:]])
        path.write_bytes(lit_rows(13, told))
        with pytest.raises(errors.MissingValueError, match=r"bin\[5\]"):
            read("sample.x")

"""ImageFiles.from_parquet: the samples that pyarrow, Pillow and torchvision make of the same files."""

from __future__ import annotations

import io
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._core import engine
from image_data import photograph
from picture_files import contents
from same import difference

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
COUNT = 23


def pictures() -> list[bytes]:
    """Several formats: of BMP, which Pillow decodes, Snappy makes much less."""
    plain = io.BytesIO()
    photograph(1, 300, 200).quantize(4).save(plain, "BMP")
    return [plain.getvalue() if i % 6 == 5 else content for i, content in enumerate(contents(COUNT))]


PICTURES = pictures()
NAMES = {
    "huggingface": json.dumps({"info": {"features": {"label": {"names": ["b", "a"], "_type": "ClassLabel"}}}})
}


class Theirs(Dataset[Any]):
    """What a user writes."""

    def __getitem__(self, i: int) -> Any:
        return TRAIN(Image.open(io.BytesIO(PICTURES[i])).convert("RGB")), i % 2


def rows(kind: pa.DataType | None = None) -> pa.Table:
    """As the hub has them, or with a plain column of a type."""
    paths = [f"{i}.jpg" if i % 3 else None for i in range(COUNT)]
    hub = pa.StructArray.from_arrays([pa.array(paths), pa.array(PICTURES, pa.binary())], ["path", "bytes"])
    columns = {
        "caption": [f"text {i}" for i in range(COUNT)],
        "image": hub if kind is None else pa.array(PICTURES, kind),
        "label": pa.array([i % 2 for i in range(COUNT)]),
        "score": [i / 2 for i in range(COUNT)],
    }
    return pa.table(columns).replace_schema_metadata(NAMES)


def parquet(path: Path, table: pa.Table, **options: Any) -> None:
    pq.write_table(table, path, **options)


def arrow(path: Path, table: pa.Table, stream: bool = False) -> None:
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema) as out:
        out.write_table(table, max_chunksize=9)


WRITERS: dict[str, tuple[Any, pa.DataType | None, dict[str, Any]]] = {
    "as datasets": (parquet, None, {"compression": "none", "use_dictionary": False}),
    "as older datasets": (parquet, None, {"row_group_size": 10, "use_dictionary": ["caption"]}),
    "dictionary": (parquet, pa.binary(), {"row_group_size": 7}),
    "large": (parquet, pa.large_binary(), {"data_page_version": "2.0", "use_dictionary": False}),
    "small pages": (parquet, None, {"data_page_size": 10, "write_batch_size": 3, "compression": "none"}),
    "pages of Snappy": (parquet, pa.binary(), {"data_page_size": 9000, "write_batch_size": 2}),
    "lengths apart": (
        parquet,
        pa.binary(),
        {"use_dictionary": False, "column_encoding": {"image": "DELTA_LENGTH_BYTE_ARRAY"}},
    ),
    "arrow": (arrow, None, {}),
    "large arrow": (arrow, pa.large_binary(), {}),
    "arrow stream": (arrow, None, {"stream": True}),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_batches_are_those_of_pyarrow_and_torchvision(tmp_path: Path, writer: str) -> None:
    write, kind, options = WRITERS[writer]
    table, paths = rows(kind), [tmp_path / "0", tmp_path / "1"]
    write(paths[0], table[:10], **options)
    write(paths[1], table[10:], **options)
    dataset = gofast.ImageFiles.from_parquet(tmp_path / "*", transform=TRAIN)
    assert dataset.classes == ["b", "a"] and dataset.class_to_idx == {"b": 0, "a": 1}
    assert dataset.paths == [f"{paths[i >= 10]}[{i - 10 * (i >= 10)}]" for i in range(COUNT)]
    order: Any = [*range(COUNT)] * 2
    torch.manual_seed(5)
    want = [*DataLoader(Theirs(), 5, sampler=order), torch.get_rng_state()]
    torch.manual_seed(5)
    got = [*gofast.DataLoader(dataset, 5, sampler=order), torch.get_rng_state()]
    assert difference(got, want) == ""
    again = pickle.loads(pickle.dumps(dataset))
    assert again.targets == dataset.targets and again.paths == dataset.paths


def test_captions_stand_beside(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", rows())
    table = gofast.TableDataset(tmp_path / "a.parquet", columns=["score"], label="label", text="caption")
    dataset = gofast.ImageFiles.from_table(
        table, "image", transform=T.Compose([T.Resize((8, 8)), T.ToTensor()])
    )
    (batch,) = gofast.DataLoader(dataset, COUNT)
    assert batch["caption"] == [f"text {i}" for i in range(COUNT)] and batch["image"].shape == (
        COUNT,
        3,
        8,
        8,
    )
    assert batch["label"].tolist() == [i % 2 for i in range(COUNT)]
    with pytest.raises(errors.OptionError, match="columns of text"):
        gofast.ImageFiles.from_table(table, "score")


def test_labels_of_other_types(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", rows().append_column("big", pa.array([1 << 40] * COUNT)))
    made = {
        label: gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", label=label)
        for label in (None, "score", "caption", "big")
    }
    assert (
        isinstance(made[None][0], Image.Image) and made["score"][3][1] == 1.5 and made["big"][1][1] == 1 << 40
    )
    assert made["caption"].classes == sorted(f"text {i}" for i in range(COUNT))
    named = gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", label="caption", classes=made["caption"])
    assert named.targets == made["caption"].targets


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    read = gofast.ImageFiles.from_parquet
    nulls = rows().set_column(1, "image", pa.array([PICTURES[0], None] + [b""] * (COUNT - 2)))
    parquet(path, nulls)
    with pytest.raises(errors.MissingValueError, match=r"a.parquet\[1\]"):
        read(path)
    arrow(tmp_path / "a.arrow", nulls)
    with pytest.raises(errors.MissingValueError, match=r"a.arrow\[1\]"):
        read(tmp_path / "a.arrow")
    parquet(path, rows(), compression="zstd")
    with pytest.raises(errors.UnsupportedError, match=r'column "image".*zstd.*uncompressed, or with snappy'):
        read(path)
    with pytest.raises(errors.SchemaError, match=r"no such column; the file has.*caption.*image"):
        read(path, "picture")
    with pytest.raises(errors.SchemaError, match="neither binaries nor structs"):
        read(path, "label")
    (tmp_path / "a.csv").write_text("image,label\na.jpg,1\n")
    with pytest.raises(errors.FormatError, match="neither a Parquet nor an Arrow file"):
        read(tmp_path / "a.csv")
    parquet(path, rows())
    dataset = read(path, transform=TRAIN)
    parquet(path, rows()[:9])
    with pytest.raises(errors.ChangedError):
        dataset[0]


def test_parts_of_snappy() -> None:
    """Any bytes are unpacked or refused, and never read beyond."""
    draw, unpacked = random.Random(3), engine.capsule().unpacked
    plain = b"".join(PICTURES)[: 1 << 16]
    packed = pa.compress(plain, "snappy", asbytes=True)[3:]  # the length stands before
    for _ in range(300):
        skip = draw.randrange(len(plain))
        length = draw.randrange(len(plain) - skip + 1)
        assert unpacked(packed, skip, length) == plain[skip : skip + length]
    assert unpacked(packed, 1, len(plain)) is None
    for _ in range(2000):
        damaged = bytearray(packed[: draw.randrange(len(packed))])
        for _ in range(min(3, len(damaged))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        value = unpacked(bytes(damaged), 0, 1 << 16)
        assert value is None or len(value) == 1 << 16


def varint(n: int) -> bytes:
    made = b""
    while n > 127:
        made, n = made + bytes([n & 127 | 128]), n >> 7
    return made + bytes([n])


def number(step: int, value: int, kind: int = 5) -> bytes:
    """A field of Thrift, so many behind the last one."""
    return bytes([step << 4 | kind]) + varint(value << 1)


def parquet_of(count: int, plain: int, packed: bytes) -> bytes:
    """A file of one page of binaries, whose bytes somebody has packed."""
    sizes = number(1, 0) + number(1, plain) + number(1, len(packed))
    page = sizes + b"\x2c" + number(1, count) + number(1, 0) + number(1, 3) + number(1, 3) + b"\0\0"
    root = b"\x48\x06schema" + number(1, 1) + b"\0"
    leaf = number(1, 6) + number(2, 0) + b"\x18\x05image\0"
    kind = number(1, 6) + b"\x19\x15\x00" + b"\x19\x18\x05image" + number(1, 1) + number(1, count, 6)
    kind += number(1, len(page) + plain, 6) + number(1, len(page + packed), 6) + number(2, 4, 6) + b"\0"
    chunk = number(2, 4, 6) + b"\x1c" + kind + b"\0"
    group = b"\x19\x1c" + chunk + number(1, len(page + packed), 6) + number(1, count, 6) + b"\0"
    footer = number(1, 1) + b"\x19\x2c" + root + leaf + number(1, count, 6) + b"\x19\x1c" + group + b"\0"
    return b"PAR1" + page + packed + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def in_bytes(plain: bytes) -> bytes:
    """Snappy that no library writes: each byte alone."""
    return varint(len(plain)) + b"".join(b"\0" + plain[i : i + 1] for i in range(len(plain)))


def page_of(values: list[bytes]) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def test_any_snappy_is_read(tmp_path: Path) -> None:
    plain, path = page_of(PICTURES[:6]), tmp_path / "a.parquet"
    path.write_bytes(parquet_of(6, len(plain), in_bytes(plain)))
    assert pq.read_table(path)["image"].to_pylist() == PICTURES[:6]
    dataset = gofast.ImageFiles.from_parquet(path, label=None, transform=T.CenterCrop(8))
    for ours, content in zip(dataset, PICTURES[:6], strict=True):
        theirs = T.CenterCrop(8)(Image.open(io.BytesIO(content)).convert("RGB"))
        assert ours.tobytes() == theirs.tobytes()
    batches = gofast.DataLoader(dataset, 6, collate_fn=list)
    assert len(next(iter(batches))) == 6


def test_what_is_not_snappys_is_damage(tmp_path: Path) -> None:
    """S2, of the same decoder, repeats what Snappy cannot say: a copy of eight bytes, then of more."""
    first = random.Random(1).randbytes(5000)
    begin = page_of([first, bytes(80)])[:-80]
    packed = bytes([61 << 2]) + (len(begin) - 1).to_bytes(2, "little") + begin
    packed += bytes([2 | 7 << 2, 100, 0]) + bytes([1 | 5 << 2, 0, 64])
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet_of(2, len(begin) + 80, varint(len(begin) + 80) + packed))
    with pytest.raises(OSError, match=r"[Cc]orrupt"):
        pq.read_table(path)
    with pytest.raises(errors.DamagedError, match="elements lead back"):
        gofast.ImageFiles.from_parquet(path, label=None)


def test_an_empty_value_is_a_bad_picture(tmp_path: Path) -> None:
    large = io.BytesIO()
    Image.new("RGB", (900, 700), "red").save(large, "BMP")
    for values in ([large.getvalue(), b"", PICTURES[0]], [large.getvalue(), PICTURES[0], b""]):
        pq.write_table(pa.table({"image": values}), tmp_path / "a.parquet", use_dictionary=False)
        dataset = gofast.ImageFiles.from_parquet(
            tmp_path / "a.parquet", label=None, transform=T.CenterCrop(8), on_error="zero"
        )
        with pytest.warns(errors.BadSampleWarning, match="cannot identify"):
            assert [dataset[i].getbbox() is None for i in range(3)] == [not value for value in values]


def test_a_column_of_texts_has_no_pictures(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", rows())
    table = gofast.TableDataset(tmp_path / "a.parquet", columns=[], label="label")
    with pytest.raises(errors.OptionError, match="columns of text"):
        gofast.ImageFiles.from_table(table, "caption")
    with pytest.raises(errors.SchemaError, match="caption"):
        gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", "caption")
    for option in ({"root": "/"}, {"suffix": ".jpg"}, {"return_path": True}, {"loader": Image.open}):
        with pytest.raises(errors.OptionError, match="are for paths"):
            gofast.ImageFiles.from_table(table, "image", **option)


def test_files_that_changed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    values = [PICTURES[0]] * 4  # that lie at the same places in any order
    pq.write_table(pa.table({"image": values, "label": [0, 1, 2, 3]}), path, use_dictionary=False)
    pickled = pickle.dumps(gofast.ImageFiles.from_parquet(path))
    table = gofast.TableDataset(path, columns=[], label="label")
    pq.write_table(pa.table({"image": values, "label": [3, 2, 1, 0]}), path, use_dictionary=False)
    with pytest.raises(errors.ChangedError):
        pickle.loads(pickled)
    pq.write_table(pa.table({"image": values[:3], "label": [3, 2, 1]}), path, use_dictionary=False)
    with pytest.raises(errors.ChangedError, match="the table has 4 rows"):
        gofast.ImageFiles.from_table(table, "image")


def test_classes_of_other_files(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", rows())
    train = gofast.ImageFiles.from_parquet(tmp_path / "a.parquet")
    for classes in (train, ["b", "a"]):
        assert (
            gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", classes=classes).targets == train.targets
        )
    turned = gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", classes=["a", "other", "b"])
    assert turned.targets == [(2, 0)[number] for number in train.targets]
    assert turned.classes == ["a", "other", "b"]
    as_floats = gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", label_type="float")
    assert as_floats.classes is None and as_floats.targets == [float(number) for number in train.targets]
    with pytest.raises(errors.GofastError, match="classes"):  # which numbers have none
        gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", classes=["b", "a"], label_type="float")
    with pytest.raises(errors.UnknownLabelError, match="'b'"):
        gofast.ImageFiles.from_parquet(tmp_path / "a.parquet", classes=["a"])
    names = json.loads(NAMES["huggingface"])
    names["info"]["features"]["label"]["names"].reverse()
    parquet(tmp_path / "b.parquet", rows().replace_schema_metadata({"huggingface": json.dumps(names)}))
    with pytest.raises(errors.SchemaError, match="the classes are"):
        gofast.ImageFiles.from_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])

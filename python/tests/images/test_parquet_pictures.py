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
    with pytest.raises(errors.SchemaError, match="neither binaries nor structs"):
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

"""Chunks that the real litdata has written, beside its own reader: make test-integrations."""

from __future__ import annotations

import gc
import io
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import gofast
from picture_files import contents

if not os.environ.get("GOFAST_INTEGRATIONS"):
    pytest.skip("make test-integrations", allow_module_level=True)

from litdata import StreamingDataset
from litdata.streaming.serializers import ImageSerializer, JPEGSerializer
from litdata.streaming.writer import BinaryWriter

pytestmark = pytest.mark.filterwarnings("default", "ignore::ResourceWarning")
PICTURES = contents(40)


class StoredJPEG(JPEGSerializer):
    """The bytes as they are, which litdata's own reader would decode by other libraries than Pillow."""

    def deserialize(self, data: bytes) -> bytes:  # type: ignore[override]
        return bytes(data)


class StoredImage(ImageSerializer):
    """Likewise of a picture whose path was given."""

    def deserialize(self, data: bytes) -> bytes:
        return bytes(data)


def jpegs(folder: Path) -> list[Path]:
    """Files of the pictures that are JPEGs."""
    made = []
    for number, content in enumerate(PICTURES):
        if Image.open(io.BytesIO(content)).format == "JPEG":
            made.append(folder / f"{number}.jpg")
            made[-1].write_bytes(content)
    return made


@pytest.mark.parametrize("level", [None, "", "batch", "sample", "chunk"])
@pytest.mark.parametrize("kind", ["bytes", "picture", "path"])
def test_chunks_that_litdata_has_written(tmp_path: Path, kind: str, level: str | None) -> None:
    """Rows of Arrow where pictures are bytes; else samples: plain (None), or compressed ("": by default)."""
    paths, chunks = jpegs(tmp_path), tmp_path / "chunks"
    made = {"bytes": Path.read_bytes, "picture": Image.open, "path": str}[kind]
    options: dict[str, Any] = {"compression": None if level is None else "zstd"}
    if level:
        options["compression_level"] = level
        options |= {"compression_batch_size": 2} if level == "batch" else {}
    writer = BinaryWriter(str(chunks), chunk_size=5, **options)
    for number, path in enumerate(paths):
        writer[number] = {"image": made(path), "class": number - 3, "name": f"ä{number}"}
    writer.done()
    writer.merge()
    stored = {"jpeg": StoredJPEG(), "image": StoredImage()}
    theirs = StreamingDataset(str(chunks), serializers=stored)
    want = [theirs[i] for i in range(len(theirs))]
    del theirs
    gc.collect()  # of files that it leaves open
    assert len(want) == len(paths) > 5
    dataset = gofast.ImageFiles.from_litdata(chunks, transform=T.ToTensor())
    assert dataset.targets == [int(sample["class"]) for sample in want]
    assert gofast.ImageFiles.from_litdata(chunks, label="name").targets == [sample["name"] for sample in want]
    assert [*dataset._listing.files.contents] == [bytes(sample["image"]) for sample in want]  # type: ignore[misc]
    for (picture, _), sample in zip(dataset, want, strict=True):
        image = Image.open(io.BytesIO(bytes(sample["image"]))).convert("RGB")
        assert torch.equal(picture, T.ToTensor()(image))

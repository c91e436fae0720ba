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
from picture_files import contents, noise

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


def written(folder: Path, samples: list[Any], level: str | None) -> list[Any]:
    """What litdata reads of samples that it has written: plain (None), or compressed ("": by default)."""
    options: dict[str, Any] = {"compression": None if level is None else "zstd"}
    if level:
        options["compression_level"] = level
        options |= {"compression_batch_size": 2} if level == "batch" else {}
    writer = BinaryWriter(str(folder), chunk_size=5, **options)
    for number, sample in enumerate(samples):
        writer[number] = sample
    writer.done()
    writer.merge()
    theirs = StreamingDataset(str(folder), serializers={"jpeg": StoredJPEG(), "image": StoredImage()})
    found = [theirs[i] for i in range(len(theirs))]
    del theirs
    gc.collect()  # of files that it leaves open
    assert len(found) == len(samples) > 5
    return found


@pytest.mark.parametrize("level", [None, "", "batch", "sample", "chunk"])
@pytest.mark.parametrize("kind", ["bytes", "picture", "path"])
def test_chunks_that_litdata_has_written(tmp_path: Path, kind: str, level: str | None) -> None:
    """Rows of Arrow where pictures are bytes; else samples."""
    paths, chunks = jpegs(tmp_path), tmp_path / "chunks"
    made = {"bytes": Path.read_bytes, "picture": Image.open, "path": str}[kind]
    samples = [{"image": made(path), "class": n - 3, "name": f"ä{n}"} for n, path in enumerate(paths)]
    want = written(chunks, samples, level)
    dataset = gofast.ImageFiles.from_litdata(chunks, transform=T.ToTensor())
    assert dataset.targets == [int(sample["class"]) for sample in want]
    assert gofast.ImageFiles.from_litdata(chunks, label="name").targets == [sample["name"] for sample in want]
    assert [*dataset._listing.files.contents] == [bytes(sample["image"]) for sample in want]  # type: ignore[misc]
    for (picture, _), sample in zip(dataset, want, strict=True):
        image = Image.open(io.BytesIO(bytes(sample["image"]))).convert("RGB")
        assert torch.equal(picture, T.ToTensor()(image))


@pytest.mark.parametrize("level", [None, "", "sample"])
def test_pictures_that_pillow_had_in_memory(tmp_path: Path, level: str | None) -> None:
    images = [noise(mode, (9 + n, 5)) for n, mode in enumerate(("RGB", "L", "RGBA", "CMYK", "P") * 3)]
    want = written(tmp_path / "chunks", [{"image": one, "class": n} for n, one in enumerate(images)], level)
    dataset = gofast.ImageFiles.from_litdata(tmp_path / "chunks", transform=T.ToTensor())
    for (picture, label), sample in zip(dataset, want, strict=True):
        assert label == int(sample["class"])
        assert torch.equal(picture, T.ToTensor()(sample["image"].convert("RGB")))


@pytest.mark.parametrize("level", [None, "chunk", "sample"])
def test_dicts_within_dicts(tmp_path: Path, level: str | None) -> None:
    """Rows of Arrow, whatever is compressed. The dicts' keys are sorted by no one."""
    paths = jpegs(tmp_path)
    samples = [
        {"more": {"x": n, "deep": {"name": f"ä{n}", "image": path.read_bytes()}, "class": n - 3}, "z": "z"}
        for n, path in enumerate(paths)
    ]
    want = written(tmp_path / "chunks", samples, level)
    assert (next((tmp_path / "chunks").glob("*.bin"))).read_bytes().endswith(b"LDARW01\0")
    dataset = gofast.ImageFiles.from_litdata(tmp_path / "chunks", "more.deep.image", "more.class")
    assert dataset.targets == [sample["more"]["class"] for sample in want]
    pictures = dataset._listing.files.contents
    assert [*pictures] == [sample["more"]["deep"]["image"] for sample in want]  # type: ignore[misc]
    names = gofast.ImageFiles.from_litdata(tmp_path / "chunks", "more.deep.image", "more.deep.name")
    assert names.targets == [sample["more"]["deep"]["name"] for sample in want]

"""Samples that are ranges of an object: members of a tar, values in one buffer. Same batches as of files."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._core.memory import address_of
from gofast._images.picture_files import PictureFiles
from gofast.images import ImageFiles
from image_data import photograph
from picture_files import saved
from same import difference

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
COUNT = 12


class Packed:
    """Pictures in files of their own, in a tar, and the ranges of the tar's members."""

    def __init__(self, root: Path) -> None:
        kinds = ["JPEG", "PNG", "WEBP", "PPM"]
        self.paths = []
        for i in range(COUNT):
            path = root / f"{i}.bin"
            path.write_bytes(saved(photograph(i, 30 + i, 40 - i), kinds[i % 4]) or b"")
            self.paths.append(str(path))
        self.tar = str(root / "all.tar")
        with tarfile.open(self.tar, "w") as tar:
            for path in self.paths:
                tar.add(path, Path(path).name)
        with tarfile.open(self.tar) as tar:
            self.ranges = [(i, m.offset_data, m.size) for i, m in enumerate(tar)]

    def within(self, monkeypatch: pytest.MonkeyPatch, ranges: list[tuple[int, int, int]]) -> None:
        """From now on, samples are ranges of their objects."""
        self.extents = np.array(ranges, np.int64)  # gf_extent: the object's number fills one word
        whole = PictureFiles.addresses

        def addresses(files: PictureFiles, seed: int, labels: bool) -> Any:
            return whole(files, seed, labels) | {"extents": address_of(self.extents)}

        monkeypatch.setattr(PictureFiles, "addresses", addresses)

    def objects(self, kind: str) -> ImageFiles:
        """A dataset whose every object is the whole tar."""
        if kind == "tar":
            return ImageFiles([self.tar] * COUNT, transform=TRAIN)
        return ImageFiles.from_bytes([Path(self.tar).read_bytes()] * COUNT, transform=TRAIN)


def epoch(dataset: ImageFiles, how: str) -> list[Any]:
    """An epoch that engine threads make, the calling thread, or forked workers."""
    torch.manual_seed(1)
    if how == "engine":
        return list(gofast.DataLoader(dataset, 4, shuffle=True))
    workers = {"num_workers": 2, "multiprocessing_context": "fork"} if how == "workers" else {}
    return list(DataLoader(dataset, 4, shuffle=True, **workers))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["engine", "calling thread", "workers"])
@pytest.mark.parametrize("kind", ["tar", "memory"])
def test_ranges_make_the_batches_of_the_extracted_files(
    kind: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = Packed(tmp_path)
    want = epoch(ImageFiles(packed.paths, transform=TRAIN), how)
    packed.within(monkeypatch, packed.ranges)
    dataset = packed.objects(kind)
    assert not difference(epoch(dataset, how), want)
    assert dataset._listing.files.sizes.all(), "the size that a header told was not kept"


@pytest.mark.parametrize("kind", ["tar", "memory"])
def test_a_range_outside_its_object_is_an_error(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = Packed(tmp_path)
    size = Path(packed.tar).stat().st_size
    for offset, length in [(size - 10, 11), (size + 1, -1), (-1, 10)]:
        with monkeypatch.context() as patched:
            packed.within(patched, [(i, offset, length) for i in range(COUNT)])
            with pytest.raises((errors.GofastError, OSError)):
                packed.objects(kind)[0]

"""ImageFiles.from_bytes: the same as of these bytes in files, in every way that a sample is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast.images import ImageFiles
from picture_files import contents as pictures
from same import batches, difference

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
REST = T.Compose([T.Resize(24), T.RandomCrop(20), T.ElasticTransform(20.0, 0.0), T.ToTensor()])


def in_files(root: Path, contents: list[bytes]) -> list[str]:
    for i, content in enumerate(contents):
        (root / f"{i:03}.bin").write_bytes(content)
    return [str(root / f"{i:03}.bin") for i in range(len(contents))]


@pytest.mark.parametrize("transform", [TRAIN, REST], ids=["native", "rest"])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_batches_are_those_of_files(tmp_path: Path, loader: Any, workers: int, transform: Any) -> None:
    contents, labels = pictures(12), list(range(12))
    ours = ImageFiles.from_bytes(contents, labels, transform)
    theirs = ImageFiles(in_files(tmp_path, contents), labels, transform)
    made, expected = (
        batches(loader(d, batch_size=5, shuffle=True, num_workers=workers)) for d in (ours, theirs)
    )
    assert difference(made, expected) == ""
    assert ours._fallbacks == theirs._fallbacks == 4


def test_samples_are_those_of_files(tmp_path: Path) -> None:
    contents = pictures(12)
    ours, theirs = ImageFiles.from_bytes(contents), ImageFiles(in_files(tmp_path, contents))
    for i in range(len(contents)):
        assert ours[i].tobytes() == theirs[i].tobytes()
        assert ours[i].info == theirs[i].info


def test_nothing_is_copied() -> None:
    contents = pictures(12)
    dataset = ImageFiles.from_bytes(contents)
    assert all(a is b for a, b in zip(dataset._files.contents or (), contents, strict=True))
    address = int(dataset._files._starts[3])
    assert address == np.frombuffer(contents[3], np.uint8).__array_interface__["data"][0]


def test_columns_and_names() -> None:
    contents = pictures(3)
    table = pd.DataFrame({"image": contents, "label": [7, 8, 9]}, index=[4, 5, 6])
    dataset = ImageFiles.from_bytes(table["image"], table["label"], TRAIN, return_index=True)
    assert dataset.paths == ["bytes[0]", "bytes[1]", "bytes[2]"]
    assert dataset.samples == [("bytes[0]", 7), ("bytes[1]", 8), ("bytes[2]", 9)]
    assert [dataset[i][1:] for i in range(3)] == [(7, 0), (8, 1), (9, 2)]
    assert len(ImageFiles.from_bytes([])) == 0


def test_errors_name_the_index() -> None:
    contents = pictures(6)
    contents[2], contents[3], contents[4] = contents[0][:200], b"", b"no picture"
    dataset = ImageFiles.from_bytes(contents, transform=TRAIN)
    for i in (2, 3, 4):
        with pytest.raises(errors.BadImageError, match=rf"sample {i}: bytes\[{i}\]") as caught:
            dataset[i]
        assert caught.value.index == i
    assert list(dataset.bad_samples()) == ["bytes[2]", "bytes[3]", "bytes[4]"]


@pytest.mark.filterwarnings("ignore::gofast.errors.BadSampleWarning")
@pytest.mark.parametrize("policy", ["replace", "zero", lambda index, error: 0])
def test_policies(tmp_path: Path, policy: Any) -> None:
    contents = pictures(8)
    contents[5] = contents[5][:50]
    labels, transform = list(range(8)), T.Compose([T.Resize((9, 9)), T.ToTensor()])
    ours = ImageFiles.from_bytes(contents, labels, transform, on_error=policy)
    theirs = ImageFiles(in_files(tmp_path, contents), labels, transform, on_error=policy)
    assert difference(batches(DataLoader(ours, 4)), batches(DataLoader(theirs, 4))) == ""
    assert list(ours.bad_samples()) == ["bytes[5]"]


def test_what_makes_no_sense() -> None:
    contents: list[Any] = pictures(2)
    with pytest.raises(errors.OptionError, match=r"contents\[1\] is of bytearray"):
        ImageFiles.from_bytes([contents[0], bytearray(contents[1])])
    for options in ({"return_path": True}, {"loader": lambda path: path}):
        with pytest.raises(errors.OptionError, match="have no path"):
            ImageFiles.from_bytes(contents, **options)
    with pytest.raises(errors.OptionError):
        ImageFiles.from_bytes(contents, [1])
    dataset = ImageFiles.from_bytes(contents, [1, 2], TRAIN)
    with pytest.raises(errors.OptionError, match="cannot be changed"):
        dataset.samples = dataset.samples[:1]
    dataset.samples.pop()
    with pytest.raises(errors.OptionError, match="cannot be changed"):
        dataset[0]

"""TFRecordDataset.images: the batches that Pillow and torchvision make of the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast.images import ImageFiles
from picture_files import contents as pictures
from records import Value, example, framed
from same import batches, difference

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
REST = T.Compose([T.Resize(24), T.RandomCrop(20), T.ElasticTransform(20.0, 0.0), T.ToTensor()])
PYTHON = T.Compose(
    [lambda picture: picture.transpose(Image.Transpose.ROTATE_90), T.Resize((9, 7)), T.ToTensor()]
)
COUNT = 13


class Plain(Dataset[Any]):
    """What people write."""

    def __init__(self, contents: list[bytes], transform: Callable[[Any], Any]) -> None:
        self.contents, self.transform = contents, transform

    def __len__(self) -> int:
        return len(self.contents)

    def __getitem__(self, index: int) -> Any:
        picture = Image.open(io.BytesIO(self.contents[index])).convert("RGB")
        return self.transform(picture), 3 * index


def written(root: Path, contents: list[bytes], **more: list[Value]) -> list[str]:
    """Two files of records."""
    records = []
    for i, content in enumerate(contents):
        features: dict[str, Value] = {"image/encoded": [content], "image/class/label": [3 * i], "x": [0.5]}
        records.append(example(features | {name: values[i] for name, values in more.items()}))
    for name, part in (("a", records[:5]), ("b", records[5:])):
        (root / name).write_bytes(framed(part))
    return [str(root / "a"), str(root / "b")]


@pytest.mark.daily
@pytest.mark.parametrize("transform", [TRAIN, REST, PYTHON], ids=["native", "rest", "python"])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_batches_are_those_of_pillow_and_torchvision(
    tmp_path: Path, loader: Any, workers: int, transform: Any
) -> None:
    contents = pictures(COUNT)
    ours = gofast.TFRecordDataset(written(tmp_path, contents)).images(transform=transform)
    options = {"batch_size": 5, "shuffle": True, "num_workers": workers}
    made, expected = (
        batches(loader(ours, **options)),
        batches(DataLoader(Plain(contents, transform), **options)),
    )
    assert not difference(made, expected)


def test_samples_and_names(tmp_path: Path) -> None:
    contents = pictures(COUNT)
    paths = written(tmp_path, contents)
    dataset = gofast.TFRecordDataset(paths).images(return_index=True)
    image, label, index = dataset[7]
    assert (label, index, image.mode) == (21, 7, "RGB")
    assert image.tobytes() == Image.open(io.BytesIO(contents[7])).convert("RGB").tobytes()
    assert dataset.paths[4:6] == [f"{paths[0]}[4]", f"{paths[1]}[0]"]
    assert "13 records of TFRecord files" in str(gofast.explain(gofast.DataLoader(dataset)))
    assert dataset.targets == [3 * i for i in range(COUNT)]
    with pytest.raises(errors.OptionError, match="cannot be changed"):
        dataset.samples = []
    assert isinstance(gofast.TFRecordDataset(paths).images(None, TRAIN)[0], torch.Tensor)
    assert gofast.TFRecordDataset(paths).images(image="image/encoded", target_transform=str)[2][1] == "6"
    for wrong in ({"return_path": True}, {"loader": Image.open}):
        with pytest.raises(errors.OptionError):
            gofast.TFRecordDataset(paths).images(**wrong)  # type: ignore[arg-type]


def test_large_labels(tmp_path: Path) -> None:
    labels: list[Value] = [[i << 31] for i in range(COUNT)]
    paths = written(tmp_path, pictures(COUNT), big=labels)
    dataset = gofast.TFRecordDataset(paths).images("big", TRAIN)
    assert [dataset[i][1] for i in (0, 1, 12)] == [0, 1 << 31, 12 << 31]


def test_features_that_are_not_right(tmp_path: Path) -> None:
    contents = pictures(COUNT)
    several: list[Value] = [[1, 2] if i == 8 else [1] for i in range(COUNT)]
    paths = written(tmp_path, contents, several=several)
    for label, image, said in (
        ("no", "image/encoded", "no record has a feature 'no'"),
        ("x", "image/encoded", "'x' is of type 'float', and 'int' is needed"),
        ("several", "image/encoded", r"b\[3\]: the feature 'several' has 2 values, and one is needed"),
        ("several", "x", "'x' is of type 'float', and 'byte' is needed"),
    ):
        with pytest.raises(errors.SchemaError, match=said):
            gofast.TFRecordDataset(paths).images(label, image=image)
    Path(paths[1]).write_bytes(framed([example({"image/encoded": [contents[0]]})]))
    with pytest.raises(
        errors.MissingValueError, match=r"b\[0\]: the record has no feature 'image/class/label'"
    ):
        gofast.TFRecordDataset(paths).images()


@pytest.mark.filterwarnings("ignore::gofast.errors.BadSampleWarning")
def test_broken_pictures(tmp_path: Path) -> None:
    contents = pictures(COUNT)
    contents[6] = contents[0][:200]
    contents[7] = b""
    paths = written(tmp_path, contents)
    strict = gofast.TFRecordDataset(paths).images(transform=TRAIN)
    for sample, name in ((6, "b[1]"), (7, "b[2]")):
        with pytest.raises(errors.BadImageError) as refused:
            strict[sample]
        assert f"sample {sample}: {tmp_path}/{name}" in str(refused.value)
    replacing = gofast.TFRecordDataset(paths).images(transform=TRAIN, on_error="replace")
    assert len([*gofast.DataLoader(replacing, 5)]) == 3
    assert [*replacing.bad_samples()] == [f"{paths[1]}[1]", f"{paths[1]}[2]"]


@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_a_file_that_changes_is_an_error(tmp_path: Path, loader: Any) -> None:
    contents = pictures(COUNT)
    paths = written(tmp_path, contents)
    dataset = gofast.TFRecordDataset(paths).images(transform=T.Compose([T.Resize((16, 16)), T.ToTensor()]))
    written(tmp_path, contents[::-1])
    with pytest.raises(errors.ChangedError, match=r"a\[0\]: the file changed since it was opened; make the"):
        next(iter(loader(dataset, 4)))


@pytest.mark.daily
@pytest.mark.parametrize("transform", [TRAIN, REST, PYTHON], ids=["native", "rest", "python"])
@pytest.mark.parametrize("on_error, workers", [("raise", 0), ("replace", 0), ("replace", 2), ("zero", 0)])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_a_file_that_is_gone_or_changed_is_one_error(
    tmp_path: Path, loader: Any, on_error: Any, transform: Any, workers: int
) -> None:
    """In the middle of an epoch, whatever the policy for pictures that cannot be decoded."""
    contents = pictures(COUNT)
    for kind in (errors.NotFoundError, errors.ChangedError):
        paths = written(tmp_path, contents)
        dataset = gofast.TFRecordDataset(paths).images(transform=transform, on_error=on_error)
        batches = iter(loader(dataset, 2, num_workers=workers))
        next(batches)
        if kind is errors.NotFoundError:
            Path(paths[1]).unlink()
        else:
            Path(paths[1]).write_bytes(Path(paths[1]).read_bytes()[:-1])
        with pytest.raises(kind, match=r"sample 5: .*b\[0\]: "):
            dataset[5]
        # A worker that opened it just before it was unlinked sees another ctime.
        with pytest.raises((kind, errors.ChangedError), match=r"sample \d+: .*b\[\d\]: "):
            for _ in range(2):  # what was read ahead may be whole
                list(batches)
                batches = iter(loader(dataset, 2, num_workers=workers))
        with pytest.raises(kind):
            gofast.TFRecordDataset.__getitem__(_beside(dataset), 5)
        assert dataset.bad_samples() == {}


def _beside(pictures: ImageFiles) -> gofast.TFRecordDataset:
    """The same records, opened at the same time."""
    made = gofast.TFRecordDataset.__new__(gofast.TFRecordDataset)
    made.transform, made._all, made._records = None, True, pictures._listing.files._records  # type: ignore[attr-defined]
    return made

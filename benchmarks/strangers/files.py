"""Photographs and digits in the forms that public data sets have on disk, made once."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from PIL import Image

CLASSES = ("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow")
CORNERS = "".join(f"<{name}>{{}}</{name}>" for name in ("xmin", "ymin", "xmax", "ymax"))
OBJECT = f"<object><name>{{}}</name><bndbox>{CORNERS}</bndbox></object>"


class Files:
    """What a case reads.

    Args:
        folder: <class>/<picture>. All else is made of these pictures, and lies beside the folder.

    Attributes:
        pictures: their paths.
        classes: the number of each one's class.
        small: how many pictures the sets in memory have.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.pictures = sorted(Path(folder).glob("*/*"))
        names = {name: number for number, name in enumerate(sorted({p.parent.name for p in self.pictures}))}
        self.classes = [names[picture.parent.name] for picture in self.pictures]
        self.small = 20 * min(500, len(self.pictures))

    def batch(self, size: int) -> int:
        """The repository's batch, or half of what is there."""
        return min(size, len(self.pictures) // 2)

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        """A folder, whole or not at all."""
        made = Path(f"{self.folder}.{name}")
        if not made.exists():
            part = Path(f"{made}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.replace(made)
        return made

    def mnist(self, name: str = "MNIST") -> str:
        """The root of torchvision's MNIST, or of a set of its form."""

        def make(root: Path) -> None:
            raw = root / name / "raw"
            raw.mkdir(parents=True)
            rows = np.resize(digits(), (self.small, 785))
            labels, pixels = rows[:, 0], rows[:, 1:]
            sizes = (self.small).to_bytes(4, "big")
            side = (28).to_bytes(4, "big")
            for part in ("train", "t10k"):
                header = b"\0\0\x08\x03" + sizes + side + side
                (raw / f"{part}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
                (raw / f"{part}-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01" + sizes + labels.tobytes())

        return str(self._made(name.lower(), make))

    def cifar10(self) -> str:
        """The root of torchvision's CIFAR10. Its checksums are another file's: see `unchecked`."""

        def make(root: Path) -> None:
            base = root / "cifar-10-batches-py"
            base.mkdir()
            tiny = np.stack([self._tiny(path) for path in self.pictures[:500]])
            for number in range(6):
                part = np.roll(np.resize(tiny, (self.small // 5, 3072)), number, 1)
                name = f"data_batch_{number + 1}" if number < 5 else "test_batch"
                labels = [row % 10 for row in range(len(part))]
                (base / name).write_bytes(pickle.dumps({"data": part, "labels": labels}))
            (base / "batches.meta").write_bytes(pickle.dumps({"label_names": CLASSES}))

        return str(self._made("cifar10", make))

    @staticmethod
    def _tiny(path: Path) -> Any:
        with Image.open(path) as picture:
            tiny = np.asarray(picture.convert("RGB").resize((32, 32)))
        return tiny.transpose(2, 0, 1).ravel()

    @staticmethod
    @contextlib.contextmanager
    def unchecked() -> Iterator[None]:
        """torchvision's sets take files with other checksums meanwhile."""
        with mock.patch("torchvision.datasets.cifar.check_integrity", return_value=True):
            yield

    def pets(self) -> str:
        """The root of torchvision's OxfordIIITPet."""

        def make(root: Path) -> None:
            base = root / "oxford-iiit-pet"
            names = self._pictures(base / "images")
            masks(names, base / "images", base / "annotations" / "trimaps", lambda blobs: 1 + blobs % 3)
            lines = [f"{name} {n % 37 + 1} {n % 2 + 1} 1\n" for n, name in enumerate(names)]
            (base / "annotations" / "trainval.txt").write_text("".join(lines))

        return str(self._made("pets", make))

    def voc(self) -> str:
        """The root of torchvision's VOCSegmentation and VOCDetection."""

        def make(root: Path) -> None:
            base = root / "VOCdevkit" / "VOC2012"
            names = self._pictures(base / "JPEGImages")
            masks(names, base / "JPEGImages", base / "SegmentationClass", lambda blobs: blobs, palette=True)
            (base / "Annotations").mkdir()
            for name in names:
                found = boxes(base / "JPEGImages", name)
                objects = [OBJECT.format(CLASSES[kind], *corners) for kind, corners in found]
                text = f"<annotation><filename>{name}.jpg</filename>{''.join(objects)}</annotation>"
                (base / "Annotations" / f"{name}.xml").write_text(text)
            for what in ("Segmentation", "Main"):
                (base / "ImageSets" / what).mkdir(parents=True)
                (base / "ImageSets" / what / "train.txt").write_text("\n".join(names))

        return str(self._made("voc", make))

    def coco(self) -> tuple[str, str]:
        """COCO's pictures, and its file of annotations."""

        def make(root: Path) -> None:
            names = self._pictures(root / "train2017")
            images: list[Any] = []
            found: list[Any] = []
            for number, name in enumerate(names):
                with Image.open(root / "train2017" / f"{name}.jpg") as picture:
                    width, height = picture.size
                images.append({"id": number, "file_name": f"{name}.jpg", "width": width, "height": height})
                for kind, (left, top, right, bottom) in boxes(root / "train2017", name):
                    w, h = right - left, bottom - top
                    shape = [left, top, right, top, right, bottom, left + w // 2, bottom, left, top + h // 2]
                    found.append(
                        {
                            "id": len(found) + 1,
                            "image_id": number,
                            "category_id": kind + 1,
                            "bbox": [left, top, w, h],
                            "area": w * h,
                            "iscrowd": 0,
                            "segmentation": [shape],
                        }
                    )
            kinds = [{"id": n + 1, "name": name} for n, name in enumerate(CLASSES)]
            whole = {"images": images, "annotations": found, "categories": kinds}
            (root / "instances.json").write_text(json.dumps(whole))

        root = self._made("coco", make)
        return str(root / "train2017"), str(root / "instances.json")

    def carvana(self) -> tuple[str, str]:
        """Pictures of one size, and their masks."""

        def make(root: Path) -> None:
            (root / "imgs").mkdir()
            for number, path in enumerate(self.pictures):
                with Image.open(path) as picture:
                    picture.convert("RGB").resize((480, 320)).save(root / "imgs" / f"{number:05}.jpg")
            names = [f"{number:05}" for number in range(len(self.pictures))]
            masks(names, root / "imgs", root / "masks", lambda blobs: 255 * (blobs % 2))

        root = self._made("carvana", make)
        return str(root / "imgs"), str(root / "masks")

    def table(self, columns: int = 1) -> str:
        """A CSV of paths and labels: classes, or columns of 0 and 1."""
        numbers = np.asarray(self.classes)
        labels = (
            {f"label{c}": (numbers >> c) % 2 for c in range(columns)} if columns > 1 else {"label": numbers}
        )

        def make(root: Path) -> None:
            import pandas as pd  # as of digits: the kit's machine need not have it

            pd.DataFrame({"path": list(map(str, self.pictures)), **labels}).to_csv(
                root / "table.csv", index=False
            )

        return str(self._made(f"table{columns}", make) / "table.csv")

    def _pictures(self, folder: Path) -> list[str]:
        """Links to the pictures in one folder; their names there."""
        folder.mkdir(parents=True)
        names = [f"picture_{number:05}" for number in range(len(self.pictures))]
        for name, path in zip(names, self.pictures, strict=True):
            os.symlink(path.resolve(), folder / f"{name}.jpg")
        return names


def digits() -> npt.NDArray[np.uint8]:
    """Rows of a label and 784 pixels: MNIST under GOFAST_TEST_DATA, else the examples'."""
    import pandas as pd

    real = Path(os.environ.get("GOFAST_TEST_DATA", "nowhere")) / "mnist" / "test.parquet"
    ours = Path(__file__).parents[2] / "examples" / "data" / "digits.parquet"
    rows: npt.NDArray[np.uint8] = pd.read_parquet(real if real.exists() else ours).to_numpy(np.uint8)
    return rows


def masks(
    names: list[str],
    pictures: Path,
    folder: Path,
    numbers: Callable[[npt.NDArray[np.uint8]], Any],
    palette: bool = False,
) -> None:
    """A PNG of the size of each picture: blobs of 0 to 19, made classes by `numbers`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        with Image.open(pictures / f"{name}.jpg") as picture:
            blobs = np.asarray(picture.convert("L").resize((24, 24))) // 13
            mask = Image.fromarray(numbers(blobs).astype(np.uint8)).resize(
                picture.size, Image.Resampling.NEAREST
            )
        if palette:
            mask.putpalette(list(range(256)) * 3)
        mask.save(folder / f"{name}.png")


def boxes(pictures: Path, name: str) -> list[tuple[int, tuple[int, int, int, int]]]:
    """Some classes and boxes (left, top, right, bottom) in a picture."""
    with Image.open(pictures / f"{name}.jpg") as picture:
        width, height = picture.size
    found = []
    for number in range(1 + int(name[-1]) % 4):
        left, top = width * number // 8, height * number // 6
        found.append(((int(name[-2:]) + number) % 10, (left, top, left + width // 3, top + height // 3)))
    return found

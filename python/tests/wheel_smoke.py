"""What an installed wheel must do, on any Python: `python wheel_smoke.py` with gofast and torch installed.

A script and not a pytest module, because the machine that it stands for has neither pytest nor these sources.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import PIL
import torch
from PIL import Image
from torch.utils.data import DataLoader

import gofast
from gofast._core import codecs
from gofast._images import core_pictures, pillow
from gofast._images import file_index as image_files
from gofast._plan import compile

ROWS, FEATURES, BATCH = 1000, 16, 64
CONTEXTS = ("fork", "forkserver", "spawn")


def write_csv(path: Path) -> None:
    """Row i: label i % 10, pixel j = (i * 7 + j) % 256."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label", *(f"pixel{j}" for j in range(FEATURES))])
        rows.writerows([i % 10, *((i * 7 + j) % 256 for j in range(FEATURES))] for i in range(ROWS))


def check(name: str, loader: DataLoader, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Two epochs in order give exactly the expected tensors."""
    for _ in range(2):
        batches = list(loader)
        assert torch.equal(torch.cat([batch["image"] for batch in batches]), images), name
        assert torch.equal(torch.cat([batch["label"] for batch in batches]), labels), name
    print(f"  {name}: {len(batches)} batches as expected")


def noisy(height: int, width: int) -> Image.Image:
    """A picture whose every rounding shows."""
    return Image.fromarray(np.random.default_rng(height).integers(0, 256, (height, width, 3), dtype=np.uint8))


def write_pictures(root: Path) -> None:
    """Two classes; every format that is decoded natively, and one that is Pillow's."""
    for name in ("a", "b"):
        (root / name).mkdir()
    noisy(61, 83).save(root / "a" / "1.jpg", quality=90)
    noisy(64, 64).convert("L").save(root / "a" / "2.jpg", quality=75, progressive=True)
    noisy(50, 40).save(root / "a" / "3.png")
    noisy(33, 47).quantize(200).save(root / "b" / "4.png")
    noisy(45, 51).save(root / "b" / "5.webp", quality=80)
    noisy(40, 40).save(root / "b" / "6.bmp")


def corner(picture: Image.Image) -> torch.Tensor:
    """A user's own transform."""
    return torch.from_numpy(np.array(picture)[:32, :32]).permute(2, 0, 1)


def check_pictures(root: Path) -> None:
    """Pixels are Pillow's, by the JPEG library that came with it, in this process and in workers."""
    write_pictures(root)
    folder = gofast.ImageFolder(root, transform=corner)
    expected = [corner(Image.open(path).convert("RGB")) for path, _ in folder.samples]
    for workers, context in ((0, None), (2, "fork"), (2, "spawn")):
        loader = DataLoader(folder, batch_size=3, num_workers=workers, multiprocessing_context=context)
        batches = list(loader)
        assert torch.equal(torch.cat([images for images, _ in batches]), torch.stack(expected)), context
        assert torch.cat([labels for _, labels in batches]).tolist() == [0, 0, 0, 1, 1, 1]
    left = gofast.engine_stats()["pillow"]
    assert left == 1, f"{left} pictures were left to Pillow: only the BMP should be"
    library = gofast.version()["jpeg"]
    assert "pillow.libs" in library, f"libjpeg is not that of the Pillow wheel: {library or 'none was found'}"
    assert library.endswith("Huffman codes by gofast"), (
        f"only libjpeg's own decoder fits this Pillow: {library}"
    )
    print(f"  six pictures in four formats, num_workers=0 and 2: Pillow's pixels, by {library}")


def resize_steps(height: int, width: int) -> compile.Plan:
    """What compile makes of Resize and PILToTensor, for machines without torchvision."""
    resize = {"op": "resize", "size": [height, width], "max_size": None, "filter": "bilinear"}
    return compile.Plan(
        steps=[resize, {"op": "to_uint8"}],
        native_part=[],
        rest=[],
        hands_over="tensor",
        shown=False,
        dtype="uint8",
        channels=3,
        shape=[3, height, width],
        strides="chw",
        draws=False,
        draws_python=False,
        needs_size=False,
        rest_draws=False,
        report=[],
    )


def check_pass_order(root: Path) -> None:
    """Resized pixels are those of this Pillow, whose versions differ in which axis they resize first."""
    files = image_files.Files.listed([str(root / "a" / "1.jpg")], [0])
    for before, (height, width) in (((200, 90), (30, 80)), ((404, 4), (300, 3)), ((90, 200), (80, 30))):
        picture = noisy(*before)
        core = core_pictures.CorePictures(
            files, resize_steps(height, width), [3, height, width], False, 1 << 28
        )
        made = torch.zeros((3, height, width), dtype=torch.uint8)
        pillow.make_sample(core, picture, 0, made.data_ptr())
        wanted = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))
        assert np.array_equal(made.permute(1, 2, 0).numpy(), wanted), f"{before} to {height, width}"
    print(f"  resized as by Pillow {PIL.__version__}: pass order {codecs.pass_order()}")


def main() -> None:
    """Opens a table and a folder of pictures, and reads them through every kind of loader."""
    where = f"gofast {gofast.__version__} in {gofast.__path__[0]}"
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, {where}")
    for tool in ("go", "gcc", "cc"):
        assert shutil.which(tool) is None, (
            f"{tool} is on PATH, so this proves nothing about a machine without it"
        )
    rows, columns = torch.arange(ROWS), torch.arange(FEATURES)
    images = ((rows[:, None] * 7 + columns) % 256).to(torch.float32).div(255).reshape(ROWS, 1, 4, 4)
    labels = rows % 10
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_csv(path)
        table = gofast.TableDataset(path, shape=(1, 4, 4))
        assert len(table) == ROWS
        assert torch.equal(table[3]["image"], images[3])
        for workers in (0, 2):
            ours = gofast.DataLoader(table, batch_size=BATCH, num_workers=workers)
            check(f"gofast.DataLoader, num_workers={workers}", ours, images, labels)
        check("torch's, num_workers=0", DataLoader(table, batch_size=BATCH), images, labels)
        for context in CONTEXTS:
            loader = DataLoader(table, batch_size=BATCH, num_workers=2, multiprocessing_context=context)
            check(f"torch's, num_workers=2, {context}", loader, images, labels)
        try:
            gofast.TableDataset(os.path.join(folder, "absent.csv"))
        except gofast.errors.GofastError as error:
            print(f"  a missing file: {type(error).__name__}")
        else:
            raise AssertionError("a missing file raised nothing")
        pictures = Path(folder, "pictures")
        pictures.mkdir()
        check_pictures(pictures)
        check_pass_order(pictures)


if __name__ == "__main__":
    main()

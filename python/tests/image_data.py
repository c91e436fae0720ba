"""Folders of small generated pictures, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def photograph(seed: int, width: int, height: int) -> Image.Image:
    """A picture with edges, gradients and noise: what resizing and JPEG have to work for."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    waves = [np.sin(x / rng.uniform(3, 40) + y / rng.uniform(3, 40) + rng.uniform(0, 6)) for _ in range(3)]
    pixels = 128 + 90 * np.stack(waves, -1) + rng.normal(0, 12, (height, width, 3))
    pixels[height // 3 :, : width // 2] += 60
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def make_folder(root: Path, count: int = 47, classes: int = 3) -> Path:
    """A folder for each class; JPEGs of all subsamplings, grey and progressive ones, PNGs; sizes differ."""
    rng = np.random.default_rng(count)
    for i in range(count):
        folder = root / f"class {i % classes}"
        folder.mkdir(parents=True, exist_ok=True)
        width, height = (int(n) for n in rng.integers(20, 160, 2))
        picture = photograph(i, width, height)
        if i % 9 == 7:
            picture = picture.convert("L")
        if i % 7 == 5:
            picture.save(folder / f"{i:03}.png")
        else:
            picture.save(folder / f"{i:03}.jpg", quality=80, subsampling=i % 3, progressive=i % 5 == 4)
    return root


def save_folder(root: Path, pictures: Iterable[Image.Image]) -> Path:
    """One class of PNGs, which say what a picture may say of itself."""
    (root / "class").mkdir()
    for i, picture in enumerate(pictures):
        picture.save(root / "class" / f"{i:02}.png", dpi=(72, 72))
    return root


def noise_files(folder: Path, sizes: Iterable[tuple[int, int]], **options: Any) -> list[Path]:
    """JPEGs of noise, of these heights and widths; options: of Pillow's save."""
    numbers = np.random.default_rng(0)
    for i, (height, width) in enumerate(sizes):
        pixels = numbers.integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:02}.jpg", **options)
    return sorted(folder.iterdir())

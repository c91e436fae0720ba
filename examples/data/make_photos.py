"""Writes photos/, the 36 pictures that come with gofast: coasts, forests and towns that nobody has ever seen.

Usage: python make_photos.py   (needs numpy and pillow)

Every picture is drawn from its class and number alone: gradients, noise of several grain sizes, and shapes.
Sizes differ from picture to picture as photographs' do, and fine noise stands for a camera's.
Written by numpy 2.4.6 and Pillow 13.0.0; other versions may write other bytes of the same scenes.
"""

from __future__ import annotations

import pathlib

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

FOLDER = pathlib.Path(__file__).resolve().with_name("photos")
PICTURES = 12  # a class
QUALITY = 90
GRAIN = 4.0  # standard deviation of a camera's noise

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


def noise(random: Random, height: int, width: int, coarsest: int) -> Floats:
    """Values around 0, mostly within -1 to 1: each halving of the grain has half of the contrast."""
    total: Floats = np.zeros((height, width))
    grain, contrast = coarsest, 0.5
    while grain >= 2:
        cells = random.normal(size=(height // grain + 2, width // grain + 2)).astype(np.float32)
        layer = Image.fromarray(cells).resize((width, height), Image.Resampling.BICUBIC)
        total += contrast * np.asarray(layer)
        grain, contrast = grain // 2, contrast / 2
    return total


def fade(top: Floats, bottom: Floats, height: int, width: int) -> Floats:
    """[height, width, 3] from one colour to another."""
    share = np.linspace(0, 1, height)[:, None, None]
    faded: Floats = top * (1 - share) + bottom * share
    return np.repeat(faded, width, axis=1)


def colour(random: Random, *middle: int) -> Floats:
    """A colour near that one."""
    return np.array(middle) + random.normal(0, 14, 3)


def sky(random: Random, height: int, width: int) -> Floats:
    """From any hour of the day, with clouds."""
    hours = ((70, 120, 190), (120, 140, 160), (200, 130, 110), (40, 50, 90))
    scene = fade(colour(random, *hours[random.integers(4)]), colour(random, 200, 195, 185), height, width)
    clouds = np.clip(noise(random, height, width, 64) - 0.2, 0, 1)[..., None]
    return scene * (1 - clouds) + 235 * clouds


def coast(random: Random, height: int, width: int) -> Floats:
    """A sky with a low sun over water."""
    horizon = int(height * random.uniform(0.35, 0.6))
    scene = sky(random, height, width)
    row, column = np.mgrid[:height, :width]
    sun = random.integers(width), horizon - random.integers(10, 60)
    distance = np.hypot(column - sun[0], row - sun[1])
    scene += 120 * np.exp(-distance / 25)[..., None]
    sea = fade(colour(random, 110, 140, 150), colour(random, 25, 60, 80), height - horizon, width)
    waves = noise(random, height - horizon, max(width // 6, 8), 16)
    stretched = Image.fromarray(waves.astype(np.float32)).resize((width, height - horizon))
    sea += 28 * np.asarray(stretched)[..., None]
    sea += 60 * np.exp(-np.abs(column[horizon:] - sun[0]) / 30)[..., None]
    scene[horizon:] = sea
    return scene


def forest(random: Random, height: int, width: int) -> Floats:
    """Trunks before leaves, lit from above."""
    scene = fade(colour(random, 120, 150, 90), colour(random, 45, 60, 30), height, width)
    scene += 45 * noise(random, height, width, 32)[..., None]
    bark = 22 * noise(random, height, max(width // 4, 8), 16)
    for _ in range(random.integers(6, 12)):
        breadth = int(random.integers(8, 32))
        left = int(random.integers(0, width - breadth))
        light = np.sin(np.linspace(0.2, np.pi, breadth))[None, :, None]
        first = int(random.integers(0, max(1, bark.shape[1] - breadth)))
        texture = np.resize(bark[:, first : first + breadth], (height, breadth))
        scene[:, left : left + breadth] = colour(random, 85, 65, 50) * light + texture[..., None]
    return scene


def town(random: Random, height: int, width: int) -> Floats:
    """Houses with windows before a sky."""
    scene = sky(random, height, width)
    image = Image.fromarray(np.clip(scene, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    left = -int(random.integers(0, 30))
    while left < width:
        breadth, top = int(random.integers(40, 100)), int(height * random.uniform(0.15, 0.6))
        wall = tuple(int(c) for c in np.clip(colour(random, 140, 120, 105), 0, 255))
        draw.rectangle((left, top, left + breadth, height), fill=wall)
        lit = tuple(int(c) for c in np.clip(colour(random, 215, 190, 120), 0, 255))
        step = int(random.integers(14, 22))
        for y in range(top + 8, height - step, step):
            for x in range(left + 7, left + breadth - 10, step):
                pane = lit if random.random() < 0.4 else (50, 55, 70)
                draw.rectangle((x, y, x + step // 2, y + step * 2 // 3), fill=pane)
        left += breadth + int(random.integers(0, 12))
    drawn: Floats = np.asarray(image).astype(np.float64)
    return drawn + 14 * noise(random, height, width, 8)[..., None]


CLASSES = {"coast": coast, "forest": forest, "town": town}


def picture(name: str, number: int) -> Image.Image:
    """The scene of that class and number."""
    random = np.random.default_rng((sorted(CLASSES).index(name), number))
    width, height = int(random.integers(320, 501)), int(random.integers(240, 401))
    scene = CLASSES[name](random, height, width)
    scene += random.normal(0, GRAIN, scene.shape)
    return Image.fromarray(np.clip(scene, 0, 255).astype(np.uint8))


def main() -> None:
    """Writes them all."""
    size = 0
    for name in CLASSES:
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        for number in range(PICTURES):
            path = FOLDER / name / f"{name}{number:02}.jpg"
            picture(name, number).save(path, quality=QUALITY)
            size += path.stat().st_size
    print(f"{FOLDER.name}: {PICTURES * len(CLASSES)} pictures, {size} bytes")


if __name__ == "__main__":
    main()

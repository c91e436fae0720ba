"""Makes lossy.webp, a smooth picture with a little noise, and lossy.rgb, what Pillow sees in it."""

import pathlib
import random

from PIL import Image

here = pathlib.Path(__file__).parent
noise = random.Random(1)
pixels = bytes(
    value
    for y in range(22)
    for x in range(37)
    for value in (x * 6 + noise.randrange(9), y * 11, 255 - x * 3 - y * 5)
)
Image.frombytes("RGB", (37, 22), pixels).save(here / "lossy.webp", quality=60)
(here / "lossy.rgb").write_bytes(Image.open(here / "lossy.webp").convert("RGB").tobytes())

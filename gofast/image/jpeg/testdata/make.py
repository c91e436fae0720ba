"""Makes the pictures of this folder with Pillow, and golden.txt: what Pillow makes of them.

    python make.py

A line of golden.txt: name, width, height, and the CRC-32 of the pixels of convert("RGB").
"""

import io
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent

KINDS: dict[str, tuple[str, int, int, dict[str, object]]] = {
    "444": ("RGB", 67, 41, {"subsampling": 0}),
    "422": ("RGB", 150, 30, {"subsampling": 1}),
    "420": ("RGB", 131, 37, {"subsampling": 2}),
    "rgb": ("RGB", 70, 20, {"keep_rgb": True}),
    "progressive": ("RGB", 150, 45, {"progressive": True}),
    "restart": ("RGB", 150, 45, {"restart_marker_blocks": 3}),
    "grey": ("L", 131, 21, {}),
    "grey-progressive": ("L", 131, 21, {"progressive": True, "optimize": True}),
    "cmyk": ("CMYK", 90, 33, {}),
    "cmyk-420": ("CMYK", 90, 33, {"subsampling": 2}),
    "pixel": ("RGB", 1, 1, {}),
    "column": ("RGB", 1, 50, {"subsampling": 2}),
}


def picture(mode: str, width: int, height: int) -> Image.Image:
    """A small picture with edges and gradients in every band."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    y, x = np.mgrid[:height, :width]
    waves = [127 + 120 * np.sin(x / (5 + 3 * b) + b) * np.cos(y / (7 + b)) for b in range(bands)]
    pixels = np.stack(waves, -1).astype(np.uint8)
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels, mode)


def main() -> None:
    """Writes the golden pictures."""
    lines = []
    for name, (mode, width, height, options) in KINDS.items():
        out = io.BytesIO()
        picture(mode, width, height).save(out, "JPEG", quality=60, **options)
        (HERE / f"{name}.jpg").write_bytes(out.getvalue())
        shown = Image.open(out).convert("RGB").tobytes()
        lines.append(f"{name} {width} {height} {zlib.crc32(shown):08x}\n")
    (HERE / "golden.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()

"""Files of pictures, whole and broken, of every kind that Pillow can write."""

from __future__ import annotations

import io
import random
import struct
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from image_data import photograph

MODES = ("1", "L", "P", "PA", "LA", "La", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV")
MODES += ("I", "F", "I;16", "I;16B", "I;16L")
SIZES = ((17, 13), (1, 1), (8, 40))

# Kinds whose readers are the same for every kind of pixel, or slow: one mode is enough.
_PLAIN = {"PDF", "EPS", "SPIDER", "IM"}


def noise(mode: str, size: tuple[int, int]) -> Image.Image:
    """A picture of that mode: smooth on the left, noise on the right."""
    width, height = size
    rng = np.random.default_rng([*size])
    values = np.linspace(0, 255, width * height * 4).reshape(height, width, 4)
    values[:, width // 2 :] = rng.integers(0, 256, (height, width - width // 2, 4))
    if mode in ("I", "F", "I;16", "I;16B", "I;16L"):
        whole = Image.fromarray((values[..., 0] * 257).astype(np.int32))
        return whole if mode == "I" else whole.convert(mode)
    pixels = values.astype(np.uint8)
    if mode in ("RGBA", "RGBX", "CMYK"):
        return Image.frombytes(mode, size, pixels.tobytes())
    colour = Image.fromarray(np.ascontiguousarray(pixels[..., :3]))
    if mode == "LAB":
        return Image.frombytes(mode, size, colour.tobytes())
    if mode == "PA":
        return colour.convert("P").convert("PA")
    if mode in ("LA", "La", "RGBa"):
        whole = Image.frombytes("RGBA", size, pixels.tobytes())
        return whole.convert("RGBa") if mode == "RGBa" else whole.convert("LA").convert(mode)
    return colour.convert(mode)


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes | None:
    """The bytes of a file, or None where Pillow does not write such."""
    out = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # formats that Pillow means to drop
            picture.save(out, kind, **options)
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError, AttributeError, SystemError):
        return None
    return out.getvalue()


def pillows_kinds() -> Iterator[tuple[str, bytes]]:
    """A file for each format that Pillow writes, mode and size; then what options change. (name, bytes)."""
    Image.init()
    for kind in sorted(Image.SAVE):
        for mode in MODES:
            for size in SIZES[:1] if kind in _PLAIN else SIZES:
                data = saved(noise(mode, size), kind)
                if data is not None:
                    yield f"{kind}-{mode}-{size[0]}x{size[1]}".replace(";", ""), data
    for name, kind, mode, options in _OPTIONS:
        data = saved(noise(mode, (33, 20)), kind, **options)
        assert data is not None, name
        yield name, data
    yield "tiff-big", saved(noise("RGB", (33, 20)), "TIFF", big_tiff=True) or b""
    yield "jpeg-restart", _jpeg(restart_marker_blocks=2)
    yield "jpeg-exif-rotated", _jpeg(exif=turned())
    yield "stub-grib", b"GRIB" + bytes(3) + b"\x01" + bytes(32)
    yield "stub-hdf5", b"\x89HDF\r\n\x1a\n" + bytes(64)
    yield "wmf", _WMF


_FRAMES = {"save_all": True, "append_images": [noise("RGB", (33, 20)), noise("P", (33, 20))], "duration": 40}
_OPTIONS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("gif-animated", "GIF", "P", _FRAMES),
    ("gif-disposed", "GIF", "RGB", {**_FRAMES, "disposal": 2, "transparency": 0}),
    ("gif-transparent", "GIF", "P", {"transparency": 3}),
    ("gif-interlaced", "GIF", "L", {"interlace": 1}),
    ("apng", "PNG", "RGB", {**_FRAMES, "append_images": [noise("RGB", (33, 20))]}),
    (
        "apng-default",
        "PNG",
        "RGB",
        {**_FRAMES, "append_images": [noise("RGB", (33, 20))], "default_image": True},
    ),
    ("webp-animated", "WEBP", "RGBA", {**_FRAMES, "append_images": [noise("RGBA", (33, 20))]}),
    ("webp-lossless", "WEBP", "RGBA", {"lossless": True}),
    ("webp-exact", "WEBP", "RGBA", {"lossless": True, "exact": True}),
    ("avif-animated", "AVIF", "RGB", {**_FRAMES, "append_images": [noise("RGB", (33, 20))]}),
    ("tiff-pages", "TIFF", "RGB", {**_FRAMES, "append_images": [noise("L", (9, 9))]}),
    ("mpo", "MPO", "RGB", {"save_all": True, "append_images": [noise("RGB", (33, 20))]}),
    ("png-trns-L", "PNG", "L", {"transparency": 7}),
    ("png-trns-RGB", "PNG", "RGB", {"transparency": (7, 8, 9)}),
    ("png-trns-P", "PNG", "P", {"transparency": bytes(range(256))}),
    ("png-trns-1", "PNG", "1", {"transparency": 0}),
    ("png-bits-1", "PNG", "P", {"bits": 1}),
    ("png-bits-2", "PNG", "P", {"bits": 2}),
    ("png-bits-4", "PNG", "P", {"bits": 4}),
    ("jpeg-progressive", "JPEG", "RGB", {"progressive": True}),
    ("jpeg-progressive-L", "JPEG", "L", {"progressive": True}),
    ("jpeg-progressive-CMYK", "JPEG", "CMYK", {"progressive": True}),
    ("jpeg-444", "JPEG", "RGB", {"subsampling": 0}),
    ("jpeg-422", "JPEG", "RGB", {"subsampling": 1}),
    ("jpeg-keep-rgb", "JPEG", "RGB", {"keep_rgb": True}),
    ("jpeg-100", "JPEG", "RGB", {"quality": 100}),
    ("jpeg-1", "JPEG", "RGB", {"quality": 1}),
    ("tga-rle", "TGA", "RGBA", {"compression": "tga_rle"}),
    ("bmp-transparent", "BMP", "RGBA", {}),
    ("ico-png", "ICO", "RGBA", {"sizes": [(16, 16), (32, 20)]}),
    ("ico-bmp", "ICO", "RGBA", {"bitmap_format": "bmp", "sizes": [(16, 16)]}),
    ("jp2-tiled", "JPEG2000", "RGB", {"tile_size": (16, 16)}),
    ("j2k-layers", "JPEG2000", "L", {"no_jp2": True, "quality_layers": [20, 10]}),
    ("sgi-16", "SGI", "L", {"bpc": 2}),
    ("dds-dxt5", "DDS", "RGBA", {"pixel_format": "DXT5"}),
    ("dds-bc5", "DDS", "RGB", {"pixel_format": "BC5"}),
]
_OPTIONS += [
    (f"tiff-{compression}-{mode}", "TIFF", mode, {"compression": compression})
    for compression, mode in (
        *(("tiff_lzw", m) for m in ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "I;16", "F")),
        *(("tiff_adobe_deflate", m) for m in ("L", "RGB", "I;16")),
        *((c, "1") for c in ("group3", "group4", "tiff_ccitt", "packbits")),
        *((c, "RGB") for c in ("jpeg", "packbits", "zstd", "tiff_deflate")),
        ("jpeg", "L"),
        ("jpeg", "YCbCr"),
    )
]

_WMF = struct.pack("<IHhhhhHIH", 0x9AC6CDD7, 0, 0, 0, 100, 100, 72, 0, 0) + b"\x01\x00\x09\x00" + bytes(60)


def _jpeg(**options: Any) -> bytes:
    data = saved(noise("RGB", (33, 20)), "JPEG", **options)
    assert data is not None
    return data


def turned() -> Image.Exif:
    """Of a camera that lay on its side."""
    exif = Image.Exif()
    exif[0x112] = 6
    return exif


def broken(data: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Damaged versions of a file: cut, with bits flipped, with bytes overwritten, spliced. (name, bytes)."""
    rng = random.Random(seed)
    for i in range(count):
        at = rng.randrange(len(data)) if i % 2 else min(len(data) - 1, int(rng.expovariate(1 / 60)))
        kind = i % 5
        if kind == 0:
            yield f"cut{at}", data[:at]
        elif kind == 1:
            made = bytearray(data)
            made[at] ^= 1 << rng.randrange(8)
            yield f"flip{at}", bytes(made)
        elif kind == 2:
            value = rng.choice((0, 255, rng.randrange(256)))
            yield f"write{at}", data[:at] + bytes([value]) * rng.randrange(1, 5) + data[at + 1 :]
        elif kind == 3:
            other = rng.randrange(len(data))
            yield f"splice{at}-{other}", data[:at] + data[other:]
        else:
            yield f"tail{at}", data[:at] + rng.randbytes(len(data) - at)


def png_header(width: int, height: int, colour: int = 2) -> bytes:
    """A PNG that claims to be of that size and has one row."""
    made = b"\x89PNG\r\n\x1a\n"
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(100)))):
        made += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return made


def jpeg_header(width: int, height: int) -> bytes:
    """A JPEG of 33 x 20 that claims to be of another size."""
    data = bytearray(_jpeg())
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def webp_header(width: int, height: int) -> bytes:
    """An extended WebP that claims a canvas of that size."""
    canvas = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    chunk = b"VP8X" + struct.pack("<I", 10) + b"\x02\x00\x00\x00" + canvas
    body = b"WEBP" + chunk + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def contents(count: int = 7) -> list[bytes]:
    """Files of several kinds, of which Pillow decodes the last two."""
    kinds = ["JPEG", "PNG", "WEBP", "PPM", "GIF", "BMP"]
    made = [saved(photograph(i, 30 + i, 40 - i), kinds[i % len(kinds)]) for i in range(count)]
    return [data for data in made if data is not None]

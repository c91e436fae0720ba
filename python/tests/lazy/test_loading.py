"""`load` of a lazy image: it fails where Pillow's does, and what it returns is Pillow's PixelAccess."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageDraw
from torchvision import transforms as T

import gofast
from gofast._images import compose_calls
from gofast._lazy.access import LazyAccess
from gofast._lazy.open_lazy import by_pillow
from gofast._lazy.source import counts
from image_data import photograph
from same import difference

pytestmark = pytest.mark.usefixtures("quietly")


EXIF = Image.Exif()
EXIF[ExifTags.Base.Orientation] = 6  # and no resolution in the file: Pillow itself reads such a header


def jpeg(r: random.Random) -> bytes:
    width, height = r.randrange(1, 60), r.randrange(1, 60)
    image = photograph(r.randrange(9), width, height).convert(r.choice(["RGB", "RGB", "L"]))
    more: dict[str, Any] = r.choice(
        [{}, {"exif": EXIF}, {"restart_marker_blocks": r.randrange(1, 5)}, {"progressive": True}]
    )
    file = io.BytesIO()
    image.save(file, "JPEG", quality=r.randrange(20, 98), subsampling=r.randrange(3), **more)
    return file.getvalue()


def damaged(r: random.Random, data: bytes) -> bytes:
    """With bytes that are others, markers in the middle, and some that are missing."""
    made = bytearray(data)
    head = made.find(b"\xff\xda") + 14
    for _ in range(r.randrange(4)):
        at = r.randrange(2, len(made) if r.random() < 0.6 else min(head, len(made)))
        kind = r.randrange(5)
        if kind < 2:
            made[at] = r.choice([0, 255, r.randrange(256)])
        elif kind == 2:
            made[at:at] = bytes([0xFF, r.randrange(0xC0, 0xFF)])
        elif kind == 3:
            made[at : at + 2] = bytes([0xFF, r.randrange(256)])
        else:
            del made[at : at + r.randrange(1, 9)]
    return bytes(made)


def loaded(opened: Callable[..., Any], data: bytes) -> tuple[Any, Any]:
    """What comes of it at `load`, and afterwards."""
    try:
        image = opened(io.BytesIO(data))
        access = image.load()
    except Exception as error:
        return None, (type(error), str(error)[:30])
    return access, (image.tobytes(), access[0, 0], image.size, image.mode)


def test_what_fails_fails_there() -> None:
    r, lazy, failed = random.Random(4), 0, 0
    for _ in range(1500):
        data = damaged(r, jpeg(r))
        ours, outcome = loaded(gofast.open, data)
        theirs, wanted = loaded(by_pillow, data)
        assert outcome == wanted
        lazy += type(ours) is LazyAccess
        failed += theirs is None
    assert lazy > 400 and failed > 200


def test_a_header_that_pillow_reads_is_lazy_too() -> None:
    file = io.BytesIO()
    photograph(1, 20, 30).save(file, "JPEG", exif=EXIF)
    assert type(loaded(gofast.open, file.getvalue())[0]) is LazyAccess


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_other_formats_are_decoded(format: str) -> None:
    file = io.BytesIO()
    photograph(1, 20, 30).save(file, format)
    assert type(loaded(gofast.open, file.getvalue())[0]) is not LazyAccess


def colour(r: random.Random, image: Image.Image) -> Any:
    values = tuple(r.randrange(256) for _ in range(3))
    return values if image.mode == "RGB" else values[0]


def written(image: Image.Image, access: Any, r: random.Random) -> Any:
    access[0, 0] = colour(r, image)
    return access[0, 0]


STEPS: list[Callable[[Image.Image, Any, random.Random], Any]] = [
    lambda image, access, r: access[r.randrange(image.width), r.randrange(image.height)],
    written,
    lambda image, access, r: image.putpixel((0, 0), colour(r, image)),
    lambda image, access, r: image.getpixel((0, 0)),
    lambda image, access, r: image.paste(colour(r, image), (0, 0, 3, 2)),
    lambda image, access, r: image.thumbnail((5, 5)),
    lambda image, access, r: image.convert("L").tobytes(),
    lambda image, access, r: np.asarray(image.crop((0, 0, 1, 1))).tolist(),
    lambda image, access, r: image.copy().tobytes(),
    lambda image, access, r: ImageDraw.Draw(image).point((0, 0), colour(r, image)),
    lambda image, access, r: image.putalpha(9),
    lambda image, access, r: image.close(),
    lambda image, access, r: image.frombytes(bytes(len(image.tobytes()))),
    lambda image, access, r: image.getexif().get(1),
    lambda image, access, r: image.draft("L", (4, 4)) if hasattr(image, "draft") else None,
    lambda image, access, r: access[99, 99],
    lambda image, access, r: access.__delitem__((0, 0)),
]


def program(image: Image.Image, seed: int) -> list[Any]:
    r, seen, accesses = random.Random(seed), [], []
    for _ in range(r.randrange(2, 9)):
        try:
            if not accesses or r.random() < 0.3:
                accesses.append(image.load())
            seen.append(r.choice(STEPS)(image, r.choice(accesses), r))
        except Exception as error:
            seen.append((type(error), str(error)))
        seen.append([access[0, 0] for access in accesses] if r.random() < 0.3 else 0)
    return [*seen, *(access[0, 0] for access in accesses)]


def test_access_stays_with_its_pixels() -> None:
    r = random.Random(5)
    for seed in range(600):
        data, derived = jpeg(r), r.random() < 0.4
        images = [opened(io.BytesIO(data)) for opened in (gofast.open, by_pillow)]
        if derived:
            images = [image.resize((7, 9)) for image in images]
        assert difference(*(program(image, seed) for image in images)) == "", seed


def test_it_is_as_by_pillow() -> None:
    data = io.BytesIO()
    photograph(1, 30, 20).save(data, "JPEG")
    ours, theirs = gofast.open(data).load(), by_pillow(data).load()
    assert type(ours) is LazyAccess and isinstance(ours, type(theirs))
    for access in (ours, theirs):
        with pytest.raises(IndexError):
            access[30, 0]


def test_a_picture_that_was_loaded_is_still_lazy() -> None:
    data = io.BytesIO()
    photograph(1, 90, 70).save(data, "JPEG")
    transform = T.Compose([T.Resize((20, 24)), T.ToTensor()])
    want = transform(by_pillow(data).convert("RGB"))
    with gofast.install():
        before = compose_calls.counts["native"], counts.native
        image = Image.open(data)
        image.load()
        assert image.getexif().get(274) is None
        assert difference(transform(image.convert("RGB")), want) == ""
        assert (compose_calls.counts["native"], counts.native) == (before[0] + 1, before[1])

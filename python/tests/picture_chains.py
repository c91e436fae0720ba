"""Random chains of torchvision's transforms, and pictures of every kind to send through them."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

import gofast
from picture_files import turned

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


# -- pictures --------------------------------------------------------------------


def scene(width: int, height: int, seed: int) -> Image.Image:
    """Smooth colours, edges and noise: what a codec and a filter can go wrong with."""
    dice = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    waves = [
        127 + 120 * np.sin(x / dice.uniform(2, 90) + y / dice.uniform(2, 90) + dice.uniform(0, 6))
        for _ in range(3)
    ]
    values = np.stack(waves, axis=-1) + dice.normal(0, 12, (height, width, 3))
    values[height // 3 : height // 2, : width // 2] = dice.integers(0, 256, 3)
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def _palette(image: Image.Image, **options: Any) -> tuple[Image.Image, dict[str, Any]]:
    return image.quantize(60), options


# By the end of a file's name: of an RGB picture, the image to save and the options to save it with.
KINDS: dict[str, Any] = {
    "444.jpg": lambda im: (im, {"subsampling": 0, "quality": 92}),
    "exif.jpg": lambda im: (im, {"exif": turned(), "dpi": (72, 72), "comment": b"of a camera"}),
    "422.jpg": lambda im: (im, {"subsampling": 1, "quality": 80}),
    "420.jpg": lambda im: (im, {"subsampling": 2, "quality": 70}),
    "420-restart.jpg": lambda im: (im, {"subsampling": 2, "restart_marker_blocks": 3}),
    "420-progressive.jpg": lambda im: (im, {"subsampling": 2, "progressive": True}),
    "444-progressive.jpg": lambda im: (im, {"subsampling": 0, "progressive": True, "quality": 95}),
    "grey.jpg": lambda im: (im.convert("L"), {"quality": 85}),
    "grey-progressive.jpg": lambda im: (im.convert("L"), {"progressive": True}),
    "cmyk.jpg": lambda im: (im.convert("CMYK"), {"quality": 85}),
    "best.jpg": lambda im: (im, {"quality": 100, "optimize": True}),
    "worst.jpeg": lambda im: (im, {"quality": 5}),
    "1.png": lambda im: (im.convert("1"), {}),
    "L.png": lambda im: (im.convert("L"), {}),
    "LA.png": lambda im: (im.convert("LA"), {}),
    "I16.png": lambda im: (Image.fromarray(np.asarray(im.convert("L")).astype(np.uint16) * 3), {}),
    "P.png": lambda im: _palette(im),
    "P2.png": lambda im: (im.quantize(4), {"bits": 2}),
    "P-trns.png": lambda im: _palette(im, transparency=3),
    "RGB.png": lambda im: (im, {"exif": turned(), "dpi": (99, 99)}),
    "RGB-trns.png": lambda im: (im, {"transparency": (1, 2, 3)}),
    "RGBA.png": lambda im: (im.convert("RGBA"), {}),
    "lossy.webp": lambda im: (im, {"quality": 60, "exif": turned()}),
    "lossless.webp": lambda im: (im.convert("RGBA"), {"lossless": True}),
    "24.bmp": lambda im: (im, {}),
    "raw.tif": lambda im: (im, {}),
    "lzw.tiff": lambda im: (im, {"compression": "tiff_lzw"}),
    "P6.ppm": lambda im: (im, {}),
    "P5.pgm": lambda im: (im.convert("L"), {}),
    "png-in.jpg": lambda im: (im, {"format": "PNG"}),
    "jpeg-in.png": lambda im: (im, {"format": "JPEG"}),
}

SIDES = (1, 2, 3, 7, 8, 15, 16, 17, 33, 64, 97, 128, 201, 333, 500, 700)


def write_pictures(root: Path, count: int, seed: int, sides: tuple[int, ...] = SIDES) -> None:
    """Two classes; every kind in turn, of random sizes."""
    dice = random.Random(seed)
    kinds = list(KINDS)
    for i in range(count):
        kind = kinds[i % len(kinds)]
        image, options = KINDS[kind](scene(dice.choice(sides), dice.choice(sides), seed + i))
        folder = root / ("cat", "dog")[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        image.save(folder / f"{i:04}-{kind}", **options)


# -- chains ----------------------------------------------------------------------

FILTERS = list(InterpolationMode)


def quiet(make: Any, *arguments: Any, **options: Any) -> Any:
    """v2.ToTensor warns when it is made, and so do odd ranges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*arguments, **options)


def _sized(d: random.Random, most: int = 120) -> Any:
    return d.choice((d.randint(1, most), (d.randint(1, most), d.randint(1, most))))


def _span(d: random.Random, low: float, high: float) -> tuple[float, float]:
    a, b = sorted((d.uniform(low, high), d.uniform(low, high)))
    return a, b


def _resize(d: random.Random, m: Any) -> Any:
    size = d.randint(1, 90)
    if d.random() < 0.3:
        return m.Resize(size, d.choice(FILTERS), max_size=size + d.randint(1, 60))
    if m is v2 and d.random() < 0.1:
        return m.Resize(None, d.choice(FILTERS), max_size=d.randint(8, 100))
    return m.Resize(_sized(d), d.choice(FILTERS))


def _fill(d: random.Random) -> Any:
    return d.choice((0, d.randint(0, 255), tuple(d.randint(0, 255) for _ in range(3))))


def _padding(d: random.Random) -> Any:
    sides = d.choice((1, 2, 4))
    return d.randint(0, 9) if sides == 1 else tuple(d.randint(0, 20 * (sides - 1)) for _ in range(sides))


MODES = ("constant", "edge", "reflect", "symmetric")


def _random_crop(d: random.Random, m: Any) -> Any:
    padding = d.choice((None, None, _padding(d)))
    return m.RandomCrop(_sized(d, 60), padding, d.random() < 0.7, _fill(d), d.choice(MODES))


def _resized_crop(d: random.Random, m: Any) -> Any:
    options: dict[str, Any] = {"interpolation": d.choice(FILTERS)}
    if d.random() < 0.5:
        options["scale"] = _span(d, 0.01, 1.2)
        options["ratio"] = _span(d, 0.2, 5)
    return m.RandomResizedCrop(_sized(d), **options)


def _factor(d: random.Random) -> Any:
    return d.choice((0, d.uniform(0, 1), _span(d, 0, 3)))


def _jitter(d: random.Random, m: Any) -> Any:
    hue = d.choice((0, d.uniform(0, 0.5), _span(d, -0.5, 0.5)))
    return m.ColorJitter(_factor(d), _factor(d), _factor(d), hue)


def _apply(d: random.Random, m: Any) -> Any:
    inner = [picture_step(d, m) for _ in range(d.randint(1, 3))]
    return m.RandomApply(inner, d.choice((0.0, 0.3, 0.5, 0.8, 1.0)))


def _choice(d: random.Random, m: Any) -> Any:
    members = [
        m.Compose([picture_step(d, m) for _ in range(d.randint(1, 2))]) for _ in range(d.randint(1, 3))
    ]
    if d.random() < 0.5:
        return m.RandomOrder(members)
    return m.RandomChoice(members, d.choice((None, [d.random() for _ in members])))


def _chance(d: random.Random) -> float:
    return d.choice((0.0, 0.5, 0.5, 1.0, d.random()))


def picture_step(d: random.Random, m: Any) -> Any:
    """One step on a PIL image, of a module."""
    return d.choice(
        (
            *2 * (lambda: _resize(d, m), lambda: m.CenterCrop(_sized(d)), lambda: _resized_crop(d, m)),
            *2 * (lambda: m.RandomHorizontalFlip(_chance(d)), lambda: m.RandomVerticalFlip(_chance(d))),
            lambda: m.Pad(_padding(d), _fill(d), d.choice(MODES)),
            *2 * (lambda: _random_crop(d, m),),
            lambda: m.Grayscale(3),
            lambda: m.RandomGrayscale(_chance(d)),
            lambda: m.RandomSolarize(d.choice((0, 128, 255.5, d.uniform(0, 256))), _chance(d)),
            *2 * (lambda: _jitter(d, m),),
            lambda: _apply(d, m),
            lambda: _choice(d, m),
            *((lambda: _only_v2(d),) if m is v2 else ()),
        )
    )()


def _only_v2(d: random.Random) -> Any:
    low = d.randint(1, 40)
    return d.choice(
        (
            v2.RGB(),
            v2.RandomChannelPermutation(),
            v2.RandomPhotometricDistort(p=_chance(d)),
            v2.RandomZoomOut(_fill(d), (1.0, d.uniform(1, 3)), _chance(d)),
            v2.RandomResize(low, low + d.randint(1, 40), d.choice(FILTERS)),
            v2.RandomShortestSize([low, low + 9], d.choice((None, 60)), d.choice(FILTERS)),
            v2.ScaleJitter((low + 40, 70), (0.7, 1.6), d.choice(FILTERS)),
        )
    )


DTYPES = (torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.uint8)


def _conversion(d: random.Random, m: Any) -> list[Any]:
    if m is v1:
        return d.choice(
            (
                [v1.ToTensor()],
                [v1.PILToTensor()],
                [v1.PILToTensor(), v1.ConvertImageDtype(d.choice(DTYPES))],
                [v1.ToTensor(), v1.ConvertImageDtype(d.choice(DTYPES))],
            )
        )
    return d.choice(
        (
            [v2.ToImage()],
            [v2.PILToTensor()],
            [v2.ToImage(), v2.ToDtype(d.choice(DTYPES), scale=True)],
            [v2.ToImage(), v2.ToDtype(d.choice(DTYPES))],
            [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor()],
            [quiet(v2.ToTensor)],
            [v2.PILToTensor(), v2.ConvertImageDtype(d.choice(DTYPES))],
        )
    )


def _value(d: random.Random) -> Any:
    three = tuple(d.uniform(-3, 3) for _ in range(3))
    return d.choice((0, d.randint(0, 255), d.uniform(-3, 3), three, "random"))


def _erasing(d: random.Random, m: Any) -> Any:
    return m.RandomErasing(_chance(d), _span(d, 0.01, 0.9), _span(d, 0.3, 3.3), _value(d))


def tensor_step(d: random.Random, m: Any) -> Any:
    """One step on a tensor."""
    normal = d.choice(((MEAN, STD), ([0.5], [0.5]), ([120.0, 115.0, 100.0], [58.0, 57.0, 59.0])))
    return d.choice(
        (
            *2 * (lambda: m.Normalize(*normal), lambda: _erasing(d, m)),
            lambda: m.RandomHorizontalFlip(_chance(d)),
            lambda: m.RandomVerticalFlip(_chance(d)),
            lambda: m.ConvertImageDtype(d.choice(DTYPES)),
            lambda: m.RandomApply([tensor_step(d, m)], _chance(d)),
        )
    )()


# What Python must do, in a chain's middle: some draw, from torch's generator or Python's.
RESTS = (
    lambda d, m: m.Lambda(_as_it_is),
    lambda d, m: m.GaussianBlur(3),
    lambda d, m: m.RandomRotation(20),
    lambda d, m: m.RandAugment(),
    lambda d, m: m.TrivialAugmentWide(),
    lambda d, m: m.RandomChoice([m.RandomHorizontalFlip(), m.Lambda(_as_it_is)]),
    lambda d, m: m.RandomAffine(10, (0.1, 0.1)),
    lambda d, m: m.ElasticTransform(20.0, 0.0),
)


def _as_it_is(sample: Any) -> Any:
    return sample


def _bytes_step(d: random.Random) -> Any:
    """One step of v2 on a uint8 tensor that moves or resizes it."""
    filter, antialias = d.choice(FILTERS), d.random() < 0.9
    return d.choice(
        (
            lambda: v2.Resize(_sized(d), filter, antialias=antialias),
            lambda: v2.RandomResizedCrop(_sized(d), interpolation=filter, antialias=antialias),
            lambda: v2.CenterCrop(_sized(d)),
            lambda: v2.RandomCrop(_sized(d, 60), d.choice((None, _padding(d))), True, d.choice((0, 7))),
            lambda: v2.Pad(_padding(d), d.choice((0, 7)), d.choice(MODES[:2])),
            lambda: v2.RandomHorizontalFlip(_chance(d)),
            lambda: v2.RandomSolarize(d.choice((0, 128, 255, d.uniform(0, 255))), _chance(d)),
        )
    )()


def _bytes_colour(d: random.Random) -> Any:
    """One step of v2 on a uint8 tensor that computes with it."""
    return d.choice(
        (
            lambda: v2.TrivialAugmentWide(interpolation=d.choice(FILTERS[:2])),
            lambda: v2.RandAugment(),
            lambda: v2.ColorJitter(0.4, d.choice((0, 0.4)), 0.4, d.choice((0, 0.2))),
            lambda: v2.RandomGrayscale(_chance(d)),
            lambda: v2.RandomAffine(20, (0.1, 0.1), fill=d.choice((0, 99))),
            lambda: v2.RandomApply([v2.RandomAutocontrast(), v2.RandomEqualize(), v2.RandomInvert()]),
        )
    )()


def moves_tensors(chain: Any) -> bool:
    """Whether samples become tensors before they are moved: torch's strides then depend on their sizes."""
    return any(isinstance(step, (v2.ToImage, v2.PILToTensor)) for step in chain.transforms[:1])


def chain(d: random.Random, *, one_size: bool = False, rest: bool = False) -> Any:
    """A Compose of v1's or v2's transforms, now and then of both.

    Args:
        d: decides.
        one_size: the samples of all pictures have the same size.
        rest: with something that only Python can do.
    """
    if not rest and d.random() < 0.2:
        steps = [d.choice((v2.ToImage, v2.PILToTensor))(), *(_bytes_step(d) for _ in range(d.randint(1, 3)))]
        if one_size:
            sides = 8 * d.randint(1, 12), 4 * d.randint(1, 24)
            steps.append(v2.Resize(sides, d.choice(("bilinear", "bicubic"))))
            steps += [_bytes_colour(d) for _ in range(d.randint(0, 2))]
        steps.append(v2.ToDtype(d.choice(DTYPES), scale=True))
        return v2.Compose([*steps, *(tensor_step(d, v2) for _ in range(d.randint(0, 2)))])
    main = d.choice((v1, v2))

    def module() -> Any:
        return main if d.random() < 0.9 else d.choice((v1, v2))

    steps = [picture_step(d, module()) for _ in range(d.randint(0, 3))]
    if one_size:
        size = d.randint(1, 100), d.randint(1, 100)
        steps.append(
            d.choice(
                (
                    lambda m: m.RandomResizedCrop(size, interpolation=d.choice(FILTERS)),
                    lambda m: m.Resize(size, d.choice(FILTERS)),
                    lambda m: m.CenterCrop(size),
                    lambda m: m.RandomCrop(size, pad_if_needed=True),
                )
            )(module())
        )
        steps += [d.choice((_jitter, _flip, _grey))(d, module()) for _ in range(d.randint(0, 2))]
        steps += [_blur(d, module(), size)] if d.random() < 0.3 else []
    if rest:
        steps.append(d.choice(RESTS)(d, module()))
        steps += [picture_step(d, module()) for _ in range(d.randint(0, 1))] if not one_size else []
    if d.random() < 0.15:
        steps.append(module().Grayscale(1))
    if d.random() < 0.9 or one_size:
        steps += _conversion(d, module())
        steps += [tensor_step(d, module()) for _ in range(d.randint(0, 3))]
    return module().Compose(steps) if steps else v1.Compose([])


def _blur(d: random.Random, m: Any, size: tuple[int, int]) -> Any:
    height, width = (2 * d.randint(0, min(15, (side - 1) // 2)) + 1 for side in size)
    blur = m.GaussianBlur((width, height), d.choice(((0.1, 2.0), d.uniform(0.05, 5))))
    return d.choice((blur, m.RandomApply([blur], 0.5)))


def _flip(d: random.Random, m: Any) -> Any:
    return m.RandomHorizontalFlip(_chance(d))


def _grey(d: random.Random, m: Any) -> Any:
    return m.RandomGrayscale(_chance(d))


def any_affine(m: Any, d: random.Random, seen: Any, fill: Any, center: Any) -> Any:
    """A RandomAffine of v1 or v2 with any of the kinds of ranges."""
    return m.RandomAffine(
        d.choice((0, 30, (-100, 200))),
        d.choice((None, (0.3, 0.2), (0, 1))),
        d.choice((None, (0.5, 2))),
        d.choice((None, 20, (-10, 30), (-40, 40, 0, 50))),
        seen,
        fill,
        center,
    )


def check_loaders(folder: Path, transform: Any, workers: int) -> None:
    """An epoch of gofast's loader is that of torch's, to the bit, and leaves torch's generator the same."""
    batches = []
    for module, dataset in (
        (torch.utils.data, torchvision.datasets.ImageFolder),
        (gofast, gofast.ImageFolder),
    ):
        torch.manual_seed(5)
        data = dataset(folder, transform)
        loader = module.DataLoader(data, batch_size=3, shuffle=True, num_workers=workers)
        batches.append([x.clone() for x, _ in loader] + [torch.get_rng_state()])
    assert all(torch.equal(a, b) for a, b in zip(*batches, strict=True))


def certain(d: random.Random, m: Any) -> list[Any]:
    """Steps that draw nothing."""
    steps = [
        lambda: m.Resize(
            d.choice((d.randint(1, 90), (d.randint(1, 90), d.randint(1, 90)))),
            d.choice(list(InterpolationMode)),
        ),
        lambda: m.CenterCrop((d.randint(1, 120), d.randint(1, 120))),
        lambda: m.Pad(
            d.randint(0, 20), d.randint(0, 255), d.choice(("constant", "edge", "reflect", "symmetric"))
        ),
        lambda: m.Grayscale(3),
        lambda: m.RandomCrop((30, 40), pad_if_needed=True),
    ]
    return [d.choice(steps[:-1])() for _ in range(d.randint(0, 3))]

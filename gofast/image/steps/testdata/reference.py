"""What torchvision itself draws for a plan: its own transforms, run on pictures of a size but without pixels.

A plan is a list of steps as in the JSON that gofast's core reads.
`complete` adds what has nothing to do with draws.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import perspective
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import autoaugment, v2
from torchvision.transforms import functional as F
from torchvision.transforms.v2 import _auto_augment, _geometry

Step = dict[str, Any]
Picture = Any  # an Image.Image or a Tensor without pixels of their own

WORDS = {
    "random_crop": 2,
    "random_resized_crop": 4,
    "hflip": 1,
    "vflip": 1,
    "random_grayscale": 1,
    "color_jitter": 8,
    "random_solarize": 1,
    "gaussian_blur": 127,
    "random_erasing": 5,
    "random_posterize": 1,
    "random_autocontrast": 1,
    "random_equalize": 1,
    "random_sharpness": 1,
    "random_rotation": 1,
    "random_affine": 6,
    "random_perspective": 18,
    "trivial_augment": 3,
    "rand_augment": 3,
    "auto_augment": 6,
    "random_apply": 1,
}
ANGLES = ("random_rotation", "random_affine", "random_perspective")
FACTORS = ("brightness", "contrast", "saturation", "hue")


def complete(steps: list[Step], version: int) -> list[Step]:
    """The steps as a plan has them: with what their draws do not depend on."""
    out = []
    for step in steps:
        if step["op"] != "to_float":
            step = {"version": f"v{version}"} | step
        if step["op"] in ("pad", "random_crop"):
            step = {"mode": "constant", "fill": [0, 0, 0]} | step
        if step["op"] in ("resize", "random_resized_crop"):
            step = {"filter": "bilinear"} | step
        if step["op"] in AUGMENTS or step["op"] in ANGLES:
            step = step | {"fill": [0, 0, 0], "seen": "nearest"}
        if step["op"] in AUGMENTS:
            step["numbers"] = numbers(step["op"], version)
        if "ratio" in step:
            step["log_ratio"] = torch.log(torch.tensor(step["ratio"])).tolist()
        if "steps" in step:
            step["steps"] = complete(step["steps"], version)
        if "members" in step:
            step["members"] = [complete(member, version) for member in step["members"]]
        out.append(step)
    return out


# The operations by their numbers in augment.h, and the class of each kind of augmentation.
OPERATIONS = (
    *("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"),
    *("Brightness", "Color", "Contrast", "Sharpness", "Posterize", "Solarize"),
    *("AutoContrast", "Equalize", "Invert"),
)
AUGMENTS = {
    "trivial_augment": "TrivialAugmentWide",
    "rand_augment": "RandAugment",
    "auto_augment": "AutoAugment",
}
AUGMENTED = 100, 120  # height and width of the pictures that are augmented


def space_of(transform: Any, version: int, bins: int) -> dict[str, list[float]]:
    """The magnitudes of an augmentation's operations; 0 where they have none."""
    if version == 1:
        sizes = () if isinstance(transform, v1.TrivialAugmentWide) else (AUGMENTED,)
        made = {name: values for name, (values, _) in transform._augmentation_space(bins, *sizes).items()}
    else:
        made = {name: make(bins, *AUGMENTED) for name, (make, _) in transform._AUGMENTATION_SPACE.items()}
    space = {}
    for name, values in made.items():
        factor = 255.0 if version == 2 and name == "Solarize" else 1.0
        has = values is not None and values.ndim > 0
        space[name] = [factor * float(v) for v in values] if has else [0.0] * bins
    return space


def numbers(op: str, version: int) -> list[float]:
    """What lies behind an augmentation's step."""
    transform = getattr(v1 if version == 1 else v2, AUGMENTS[op])()
    if op == "auto_augment":
        space = space_of(transform, version, 10)
        policies = transform.policies if version == 1 else transform._policies
        parts = [part for policy in policies for part in policy]
        return [v for name, p, at in parts for v in (OPERATIONS.index(name), p, space[name][at or 0])]
    space = space_of(transform, version, 31)
    if op == "rand_augment":
        space = {name: values[9:10] for name, values in space.items()}
    return [v for name in OPERATIONS[:-1] for v in space[name]]


def operation_words(name: str, magnitude: float, version: int) -> list[int]:
    """An operation's words: its number and the bits of its magnitude."""
    if version == 2 and name == "Solarize":
        magnitude *= 255.0
    return [OPERATIONS.index(name), *struct.unpack("<2i", struct.pack("<d", magnitude))]


def blank(width: int, height: int) -> Image.Image:
    """An RGB picture without pixels."""
    picture = Image.Image()
    picture._size, picture._mode = (width, height), "RGB"
    return picture


def size_of(picture: Picture) -> tuple[int, int]:
    """Height and width."""
    if isinstance(picture, torch.Tensor):
        return picture.shape[-2], picture.shape[-1]
    return picture.height, picture.width


def like(picture: Picture, height: int, width: int) -> Picture:
    """A picture of another size, tensor or not as this one."""
    if isinstance(picture, torch.Tensor):
        return torch.empty(1).expand(3, height, width)
    return blank(width, height)


class Recorder:
    """Stands in for the operations on pixels: keeps their parameters, returns a picture of the right size."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[Any, ...]]] = []

    def call(self, name: str, picture: Picture, *args: Any, **kwargs: Any) -> Picture:
        """Stands in for one operation."""
        values = (*args, *kwargs.values())
        self.seen.append((name, values))
        height, width = size_of(picture)
        if name == "crop":
            return like(picture, values[2], values[3])
        if name == "resized_crop":
            return like(picture, *values[4])
        if name == "pad":
            left, top, right, bottom = _four(values[0])
            return like(picture, height + top + bottom, width + left + right)
        if name == "resize":
            options = {"max_size": values[2], "allow_size_none": True}
            size = F._compute_resized_output_size((height, width), values[0], **options)
            if 0 in size:
                Image.new("RGB", (1, 1)).resize(size)  # raises
            return like(picture, *size)
        if name == "center_crop":
            return like(picture, *values[0])
        return picture


def _four(padding: Any) -> tuple[int, int, int, int]:
    if isinstance(padding, int):
        return padding, padding, padding, padding
    if len(padding) == 2:
        return padding[0], padding[1], padding[0], padding[1]
    return tuple(padding)


RECORDER = Recorder()
GEOMETRY = "crop hflip vflip pad resize resized_crop center_crop"
V1_NAMES = [
    *GEOMETRY.split(),
    "erase",
    "rgb_to_grayscale",
    "solarize",
    "posterize",
    "autocontrast",
    "equalize",
    "adjust_sharpness",
    "rotate",
    "affine",
    "perspective",
    "gaussian_blur",
    *(f"adjust_{name}" for name in FACTORS),
]
V2_NAMES = {"horizontal_flip": "hflip", "vertical_flip": "vflip"}


def install() -> None:
    """From here on torchvision's transforms draw, but touch no pixel."""

    def stand_in(name: str) -> Callable[..., Picture]:
        return lambda picture, *args, **kwargs: RECORDER.call(name, picture, *args, **kwargs)

    for name in V1_NAMES:
        setattr(F, name, stand_in(name))

    def augmented(version: int) -> Callable[..., Picture]:
        def note(picture: Picture, name: str, magnitude: float, **rest: Any) -> Picture:
            RECORDER.seen.append(("augmented", tuple(operation_words(name, magnitude, version))))
            return picture

        return note

    # v2's class hands over coefficients alone: let them be what they are made of.
    _geometry._get_perspective_coeffs = lambda starts, ends: (starts, ends)
    autoaugment._apply_op = augmented(1)
    base = _auto_augment._AutoAugmentBase
    base._apply_image_or_video_transform = lambda self, *args, **kwargs: augmented(2)(*args, **kwargs)

    def call_kernel(
        self: v2.Transform, functional: Any, picture: Picture, *args: Any, **kwargs: Any
    ) -> Picture:
        name = functional.__name__
        return RECORDER.call(V2_NAMES.get(name, name), picture, *args, **kwargs)

    v2.Transform._call_kernel = call_kernel
    v2.RandomErasing._call_kernel = call_kernel


def bits(value: float) -> int:
    """A float32 as the int32 of its bits."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def words_of(op: str, seen: list[tuple[str, tuple[Any, ...]]]) -> list[int]:
    """A step's words, from what it did to the picture."""
    if op == "random_crop":
        crops = [values for name, values in seen if name == "crop"]
        return list(crops[0][:2]) if crops else [0, 0]
    if op == "random_resized_crop":
        return list(seen[0][1][:4])
    if WORDS.get(op) == 1 and op != "random_rotation":
        return [len(seen)]
    if op == "random_rotation":
        return [bits(seen[0][1][0])]
    if op == "random_affine":
        angle, move, scale, shear = seen[0][1][:4]
        return [bits(angle), *move, bits(scale), *map(bits, shear)]
    if op == "random_perspective":
        if not seen:
            return [0] * WORDS[op]
        values = seen[0][1]
        starts, ends = values[:2] if values[0] is not None else values[-1]
        corners = [value for corner in ends for value in corner]
        width, height = starts[2][0] + 1, starts[2][1] + 1
        return [width, height, *corners, *map(bits, perspective.coefficients(starts, ends))]
    if op in AUGMENTS:
        noted = [word for _, words in seen for word in words]
        return noted + [0] * (WORDS[op] - len(noted))
    if op == "gaussian_blur":
        kernel, (sigma, _) = seen[0][1]
        return [bits(sigma), *_weights(kernel[0], sigma), *_weights(kernel[1], sigma)]
    if op == "random_erasing":
        values = seen[0][1] if seen else (0, 0, 0, 0)
        # Without a box v1 erases the whole picture with itself, of three channels.
        return [0] * 5 if not seen or values[4].shape[0] == 3 else [1, *values[:4]]
    return []


def _weights(size: int, sigma: float) -> list[int]:
    """The weights of a blur, of doubles, as the core has them where nobody asks torch."""
    pdf = [math.exp(-0.5 * ((i - (size - 1) / 2) / sigma) ** 2) for i in range(size)]
    return [bits(p / sum(pdf)) for p in pdf] + [0] * (63 - size)


def _shear(step: Step) -> list[float] | None:
    return None if step["shear_x"] is None else step["shear_x"] + (step["shear_y"] or [])


def build(step: Step, version: int, base: int) -> tuple[Callable[[Picture, list[int]], Picture], int]:
    """A function that runs the step and writes its words at record[base:], and the first word behind it."""
    module: Any = v1 if version == 1 else v2
    op = step["op"]
    after = base + WORDS.get(op, 0)
    if op == "random_apply":
        return _build_apply(step, module, version, base, after)
    if op in ("random_choice", "random_order"):
        return _build_members(step, module, version, base)
    if op == "to_float":
        return lambda picture, record: torch.empty(1).expand(3, *size_of(picture)), after
    if op == "color_jitter":
        return _build_jitter(step, module, base), after
    make: dict[str, Callable[[], Any]] = {
        "resize": lambda: module.Resize(step["size"] or None, max_size=step["max_size"]),
        "center_crop": lambda: module.CenterCrop(step["size"]),
        "pad": lambda: module.Pad(step["padding"]),
        "random_crop": lambda: module.RandomCrop(step["size"], step["padding"], step["pad_if_needed"]),
        "random_resized_crop": lambda: module.RandomResizedCrop(step["size"], step["scale"], step["ratio"]),
        "hflip": lambda: module.RandomHorizontalFlip(step["p"]),
        "vflip": lambda: module.RandomVerticalFlip(step["p"]),
        "random_grayscale": lambda: module.RandomGrayscale(step["p"]),
        "random_solarize": lambda: module.RandomSolarize(step["threshold"], step["p"]),
        "random_posterize": lambda: module.RandomPosterize(step["bits"], step["p"]),
        "random_autocontrast": lambda: module.RandomAutocontrast(step["p"]),
        "random_equalize": lambda: module.RandomEqualize(step["p"]),
        "random_sharpness": lambda: module.RandomAdjustSharpness(step["factor"], step["p"]),
        "random_rotation": lambda: module.RandomRotation(step["degrees"]),
        "random_affine": lambda: module.RandomAffine(
            step["degrees"], step["translate"], step["scale"], _shear(step)
        ),
        "random_perspective": lambda: module.RandomPerspective(step["distortion"], step["p"]),
        "trivial_augment": module.TrivialAugmentWide,
        "rand_augment": lambda: module.RandAugment(1),
        "auto_augment": module.AutoAugment,
        "gaussian_blur": lambda: module.GaussianBlur(step["kernel"], step["sigma"]),
        "random_erasing": lambda: module.RandomErasing(step["p"], step["scale"], step["ratio"]),
    }
    transform = make[op]()

    def run(picture: Picture, record: list[int]) -> Picture:
        RECORDER.seen.clear()
        picture = transform(picture)
        record[base:after] = words_of(op, RECORDER.seen)
        return picture

    return run, after


def _build_jitter(step: Step, module: Any, base: int) -> Callable[[Picture, list[int]], Picture]:
    # Ranges are given whole, as a compiled plan has them; an unused factor is the one that does nothing.
    idle = {name: (1.0, 1.0) for name in FACTORS} | {"hue": (0.0, 0.0)}
    jitter = module.ColorJitter(*(tuple(step[name] or idle[name]) for name in FACTORS))
    which = {f"adjust_{name}": i for i, name in enumerate(FACTORS)}

    def run(picture: Picture, record: list[int]) -> Picture:
        RECORDER.seen.clear()
        drawn: list[Any] = []
        permutation = torch.randperm

        def keep(n: int) -> Any:
            drawn.append(permutation(n))
            return drawn[-1]

        torch.randperm = keep  # type: ignore[assignment]
        try:
            jitter(picture)
        finally:
            torch.randperm = permutation
        record[base : base + 4] = [i if step[FACTORS[i]] else -1 for i in drawn[0].tolist()]
        for name, values in RECORDER.seen:
            record[base + 4 + which[name]] = bits(values[0])
        order = [which[name] for name, _ in RECORDER.seen]
        assert order == [i for i in record[base : base + 4] if i >= 0]
        return picture

    return run


def _build_apply(
    step: Step, module: Any, version: int, base: int, after: int
) -> tuple[Callable[[Picture, list[int]], Picture], int]:
    children = []
    for child in step["steps"]:
        function, after = build(child, version, after)
        children.append(function)
    current: list[list[int]] = []

    def first(picture: Picture) -> Picture:
        current[-1][base] = 1
        return picture

    def bind(function: Callable[[Picture, list[int]], Picture]) -> Callable[[Picture], Picture]:
        return lambda picture: function(picture, current[-1])

    transform = module.RandomApply([first, *map(bind, children)], p=step["p"])

    def run(picture: Picture, record: list[int]) -> Picture:
        current.append(record)
        try:
            return transform(picture)
        finally:
            current.pop()

    return run, after


def _build_members(
    step: Step, module: Any, version: int, base: int
) -> tuple[Callable[[Picture, list[int]], Picture], int]:
    chooses = step["op"] == "random_choice"
    after = base + (1 if chooses else len(step["members"]))
    current: list[tuple[list[int], list[int]]] = []

    def bind(at: int, functions: list[Any]) -> Callable[[Picture], Picture]:
        def call(picture: Picture) -> Picture:
            record, happened = current[-1]
            record[base + len(happened)] = at
            happened.append(at)
            for function in functions:
                picture = function(picture, record)
            return picture

        return call

    members = []
    for at, steps in enumerate(step["members"]):
        functions = []
        for inner in steps:
            function, after = build(inner, version, after)
            functions.append(function)
        members.append(bind(at, functions))
    if not chooses:
        transform = module.RandomOrder(members)
    elif version == 1:  # they are sums
        sums = [0.0, *step["numbers"]]
        transform = module.RandomChoice(members, [b - a for a, b in pairwise(sums)])
    else:
        transform = module.RandomChoice(members, step["numbers"])

    def run(picture: Picture, record: list[int]) -> Picture:
        current.append((record, []))
        try:
            return transform(picture)
        finally:
            current.pop()

    return run, after


class Pipeline:
    """A plan as torchvision runs it."""

    def __init__(self, steps: list[Step], version: int) -> None:
        self.functions = []
        after = 0
        for step in steps:
            function, after = build(step, version, after)
            self.functions.append(function)
        self.words = after

    def draw(self, width: int, height: int) -> list[int]:
        """One record, from torch's global generator; raises what torchvision raises."""
        record = [0] * self.words
        picture: Picture = blank(width, height)
        for function in self.functions:
            picture = function(picture, record)
        return record

"""Writes golden.json, what torch 2.15 and torchvision 0.29 draw: ``python make_golden.py``.

Each case: a plan, a seed and how many draws come first, sizes, the records, and the state's SHA-256
behind them; or the ValueError that ends them. Those of torch's kernels without fused multiply-add come from a
second process.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import reference
from reference import Step

JITTER: Step = {
    "op": "color_jitter",
    "brightness": [0.6, 1.4],
    "contrast": [0.6, 1.4],
    "saturation": [0.2, 1.7],
    "hue": [-0.1, 0.1],
}
ONE_FACTOR: Step = JITTER | {"brightness": None, "saturation": None, "hue": None}
HFLIP: Step = {"op": "hflip", "p": 0.5}
GREY: Step = {"op": "random_grayscale", "p": 0.1}
TO_FLOAT: Step = {"op": "to_float", "how": "divide"}


def crop(size: list[int], padding: list[int] | None = None, pad_if_needed: bool = False) -> Step:
    """A random_crop."""
    return {"op": "random_crop", "size": size, "padding": padding, "pad_if_needed": pad_if_needed}


def resized(scale: tuple[float, float] = (0.08, 1.0), ratio: tuple[float, float] = (3 / 4, 4 / 3)) -> Step:
    """A random_resized_crop."""
    return {"op": "random_resized_crop", "size": [224, 192], "scale": list(scale), "ratio": list(ratio)}


def erasing(p: float = 0.5, scale: tuple[float, float] = (0.02, 0.33)) -> Step:
    """A random_erasing."""
    return {"op": "random_erasing", "p": p, "scale": list(scale), "ratio": [0.3, 3.3], "value": [0, 0, 0]}


def resize(size: list[int], max_size: int | None = None) -> Step:
    """A resize; an empty size asks for the longest side only."""
    return {"op": "resize", "size": size, "max_size": max_size}


def solarize(p: float) -> Step:
    """A random_solarize."""
    return {"op": "random_solarize", "p": p, "threshold": 128}


def apply(p: float, *steps: Step) -> Step:
    """A random_apply of steps."""
    return {"op": "random_apply", "p": p, "steps": list(steps)}


def choice(chances: list[float], *members: list[Step]) -> Step:
    """A random_choice of members."""
    return {"op": "random_choice", "numbers": chances, "members": list(members)}


def order(*members: list[Step]) -> Step:
    """A random_order of members."""
    return {"op": "random_order", "members": list(members)}


PLANS: list[list[Step]] = [
    [resized()],
    [resized((0.9, 1.0), (0.4, 0.5))],
    [resized((0.5, 2.0), (2.5, 4.0))],
    [crop([32, 24])],
    [crop([32, 32], [1, 2, 3, 4])],
    [crop([300, 200], [1, 0, 2, 0], True)],
    [HFLIP, {"op": "vflip", "p": 0.7}, GREY],
    [JITTER],
    [ONE_FACTOR, HFLIP],
    [TO_FLOAT, erasing()],
    [TO_FLOAT, erasing(1.0, (0.8, 1.0))],
    [apply(0.6, HFLIP, apply(0.3, JITTER, resize([100])), crop([20, 20])), resized()],
    [resize([256], 300), crop([224, 100], None, True), HFLIP],
    [
        {"op": "center_crop", "size": [100, 120]},
        {"op": "pad", "padding": [3, 4, 5, 6]},
        crop([50, 60]),
        resize([9, 8]),
    ],
    [resized(), HFLIP, JITTER, GREY, TO_FLOAT, erasing(0.25)],
    [solarize(0.4), apply(0.5, solarize(0.7)), HFLIP],
    [HFLIP, apply(0.6, {"op": "gaussian_blur", "kernel": [5, 3], "sigma": [0.4, 2.0]}), HFLIP],
]
TONES: list[Step] = [
    {"op": "random_posterize", "p": 0.3, "bits": 3},
    {"op": "random_autocontrast", "p": 0.7},
    {"op": "random_equalize", "p": 0.6},
    {"op": "random_sharpness", "p": 0.1, "factor": 2.0},
]
ROTATION: Step = {"op": "random_rotation", "degrees": [-30, 45]}
NONE: Step = dict.fromkeys(("translate", "scale", "shear_x", "shear_y"))
ANGLES: Step = {"op": "random_affine", "degrees": [-5, 9]} | NONE
SHIFT: Step = ANGLES | {"translate": [0.3, 0.1]}
AFFINE: Step = ANGLES | {"scale": [0.5, 1.5], "shear_x": [-9, 9], "shear_y": [0, 5]}
PERSPECTIVE: Step = {"op": "random_perspective", "p": 0.5}
AUGMENT: list[Step] = [{"op": op} for op in reference.AUGMENTS]
PLANS += [
    TONES,
    [SHIFT, HFLIP, AFFINE],
    [ROTATION, resize(list(reference.AUGMENTED)), *AUGMENT, *AUGMENT],
    [*AUGMENT[:1]] * 4,
    [PERSPECTIVE | {"distortion": 0.3}, HFLIP, apply(0.7, PERSPECTIVE | {"distortion": 0.9, "p": 1.0})],
]
CONTAINERS: list[list[Step]] = [
    [choice([0.5, 0.25, 0.125, 0.0, 0.125], [HFLIP], [JITTER, GREY], [], [HFLIP], [resize([30])]), resized()],
    [order([HFLIP, GREY], [resized()], [], [crop([20, 20], [9, 9, 9, 9], True)], [resize([64])]), HFLIP],
    [choice([1.0], [order([choice([0.5, 0.5], [HFLIP], [JITTER])], [apply(0.5, HFLIP)])]), HFLIP],
]
SUMMED = [  # v1's chances are summed up
    [choice([0.5, 0.75, 0.875, 0.875, 1.0], [HFLIP], [JITTER, GREY], [], [HFLIP], [resize([30])]), resized()],
    CONTAINERS[1],
    [choice([3.0], [order([choice([1.0, 1.5], [HFLIP], [JITTER])], [apply(0.5, HFLIP)])]), HFLIP],
]
PLAIN_PLANS = [PLANS[0], PLANS[7], PLANS[14]]


def sizes(rng: random.Random) -> list[tuple[int, int]]:
    """Ordinary pictures, then small, long and high ones."""
    usual = [(rng.randint(200, 640), rng.randint(200, 640)) for _ in range(4)]
    return [*usual, (32, 24), (24, 32), (rng.randint(24, 80), 40), (3, 1000), (1000, 30)]


def case(
    steps: list[Step], version: int, seed: int, burn: int, pictures: list[tuple[int, int]]
) -> dict[str, Any]:
    """What the pipeline draws for these pictures, behind the first draws of a seed."""
    pipeline = reference.Pipeline(steps, version)
    torch.manual_seed(seed)
    torch.rand(burn)
    random.seed(seed)
    random.getrandbits(32 * 620)  # so that a block of words ends soon
    python = random.getstate()[1]
    records: list[list[int]] = []
    error = ""
    for width, height in pictures:
        try:
            records.append(pipeline.draw(width, height))
        except ValueError as raised:
            error = str(raised)
            break
    state = hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()[:16]
    made = {
        "Steps": reference.complete(steps, version),
        "Words": pipeline.words,
        "Seed": seed & (1 << 64) - 1,
        "Burn": burn,
        "Sizes": pictures,
        "Records": records,
        "Error": error,
        "State": state,
    }
    if draws_python(steps, version):
        made |= {"Python": python, "PythonBehind": random.getstate()[1]}
    return made


def draws_python(steps: list[Step], version: int) -> bool:
    """Whether a plan has containers that draw from Python's random."""
    return version == 1 and any("members" in step for step in steps)


def cases(plans: list[list[Step]]) -> list[dict[str, Any]]:
    """Each plan under both versions."""
    reference.install()
    rng = random.Random(20)
    out = []
    for steps in plans:
        for version in (1, 2):
            seed = rng.choice([0, 42, -1, 2**40 + 7, 2**31 + 5])
            out.append(case(steps, version, seed, rng.randint(0, 700), sizes(rng)))
    return out


def main() -> None:
    """Writes the file, or its second part to the standard output."""
    if "--plain" in sys.argv:
        json.dump(cases(PLAIN_PLANS), sys.stdout)
        return
    environment = os.environ | {"ATEN_CPU_CAPABILITY": "default"}
    command = [sys.executable, __file__, "--plain"]
    plain = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    fused = cases(PLANS)
    fused.append(case([resize([], 300), HFLIP], 2, 3, 0, [(500, 400), (300, 700)]))
    # From 2^28 on randint draws twice.
    fused.append(case([crop([1, 1])], 1, 3, 0, [(1 << 28, (1 << 28) - 1), ((1 << 28) - 1, (1 << 30) + 5)]))
    # A probability that is no float32: v1 compares it as it is, v2 rounded to the number that is drawn.
    torch.manual_seed(3)
    close = math.nextafter(torch.rand(1).item(), 1)
    fused += [case([solarize(close)], version, 3, 0, [(9, 9)]) for version in (1, 2)]
    fused += [case(steps, 2, seed, 9, sizes(random.Random(seed))) for steps in CONTAINERS for seed in (1, 2)]
    fused += [case(steps, 1, seed, 9, sizes(random.Random(seed))) for steps in SUMMED for seed in (3, 4)]
    golden = {"Fused": fused, "Plain": json.loads(plain.stdout)}
    text = json.dumps(golden, separators=(",", ":"))
    Path(__file__).with_name("golden.json").write_text(text.replace('{"Steps"', '\n{"Steps"') + "\n")


if __name__ == "__main__":
    main()

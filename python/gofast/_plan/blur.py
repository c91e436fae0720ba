"""The native step of GaussianBlur, and whether torch's convolution is the one that it stands for."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from .._core.gaussian import MOST_KERNEL, weights
from .._core.reason import NotNative
from . import uint8
from . import values as read
from .arithmetic import ask, fused
from .state import State, Step, Translation
from .transforms import Family

_LEAST_SIGMA = 1e-6
_HOMES = {
    "v1": "torchvision.transforms._functional_tensor",
    "v2": "torchvision.transforms.v2.functional._misc",
}
_PLACES = 300  # pixels at which sums are compared


def gaussian_blur(t: Any, family: Family, state: State) -> list[Step]:
    uint8.only(state, "blurs")
    if state.channels != 3:  # torch takes another convolution for small kernels
        raise NotNative("blurs a picture of one channel")
    if state.size is None:
        raise NotNative("blurs pictures whose sizes differ")
    kernel = [read.whole(v, 1, "kernel_size") for v in read.listed(t.kernel_size, (2,), "kernel_size")]
    if any(size % 2 == 0 or size > MOST_KERNEL for size in kernel):
        raise read.unusual("kernel_size", t.kernel_size)
    if kernel[0] // 2 >= state.size[1] or kernel[1] // 2 >= state.size[0]:
        raise NotNative(f"kernel_size={t.kernel_size} does not fit the picture: torchvision raises")
    sigma = read.span(t.sigma, _LEAST_SIGMA, read.WIDEST, "sigma")
    read.refuse(ask(_obstacle, family, (kernel[0], kernel[1]), state.size))
    state.draw()
    if state.kind != "pil":
        state.strides, state.cut = "chw", False
    return [{"op": "gaussian_blur", "kernel": kernel, "sigma": sigma, "version": family}]


def _obstacle(family: Family, kernel: tuple[int, int], size: tuple[int, int]) -> str | None:
    """Why torch's blur is not the one that is imitated; None where it is."""
    make = getattr(sys.modules.get(_HOMES[family]), "_get_gaussian_kernel2d", None)
    if make is None:
        return "unknown version: its kernel is made elsewhere"
    generator = torch.Generator(device="cpu").manual_seed(1)
    picture = torch.randint(0, 256, (1, 3, *size), generator=generator, device="cpu").to(torch.float32)
    beside = [kernel[0] // 2, kernel[0] // 2, kernel[1] // 2, kernel[1] // 2]
    padded = torch.nn.functional.pad(picture, beside, mode="reflect")
    for sigma in (0.3, 0.15 * max(kernel) + 0.35):
        sigma = torch.tensor(sigma, dtype=torch.float32).item()  # as it is drawn
        products = make(list(kernel), [sigma, sigma], dtype=torch.float32, device=torch.device("cpu"))
        drawn = torch.tensor([sigma], dtype=torch.float32, device="cpu")
        of_x, of_y = (weights(side, drawn, family)[0] for side in kernel)
        blurred = torch.nn.functional.conv2d(padded, products.expand(3, 1, *products.shape), groups=3)
        if (products.dtype, blurred.dtype) != (torch.float32, torch.float32):
            return f"torch convolves in {blurred.dtype} here"
        if not torch.equal(products, of_y[:, None] * of_x):
            return "unknown version: its kernel has other weights"
        if not _are_fused_sums(padded[0].numpy(), products.numpy(), blurred[0].numpy()):
            return "torch's convolution sums in another order on this processor"
    return None


def _are_fused_sums(padded: Any, products: Any, blurred: Any) -> bool:
    """Whether sums are products that are added with one rounding each, row by row, from zero."""
    height, width = blurred.shape[1:]
    dice = np.random.default_rng(1)
    c, y, x = (dice.integers(0, n, _PLACES) for n in (3, height, width))
    x[:4], y[:4] = (0, width - 1, 0, width - 1), (0, 0, height - 1, height - 1)
    sums = np.zeros(_PLACES, np.float32)
    for (row, column), product in np.ndenumerate(products):
        sums = fused(padded[c, y + row, x + column], product, sums)
    return bool(np.array_equal(sums, blurred[c, y, x]))


NATIVE = {"GaussianBlur": Translation(gaussian_blur, ("kernel_size", "sigma"))}

"""Whether torch computes with uint8 tensors as gofast's kernels do: torch is asked, once for each size."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

from .._core.openmp import alone
from .transforms import Family

_ANGLES = (0.0857, -0.31, 0.52, 1.23, 2.9, -1.71, 0.777, -2.2)

# What torch._sample_dirichlet makes of these parameters from seed 7.
_DIRICHLET = (
    (1.0, [0.10430659353733063, 0.28938746452331543, 0.6063059568405151]),
    (0.5, [0.06126341596245766, 0.0641760379076004, 0.874560534954071]),
)


Found = TypeVar("Found")


@functools.cache
def _answer(look: Callable[..., Found], asked: tuple[Any, ...], settings: tuple[Any, ...]) -> Found:
    with alone(), torch.no_grad():
        return look(*asked)


def ask(look: Callable[..., Found], *asked: Any) -> Found:
    """What a look at torch finds, which is taken once under each of torch's settings."""
    found: Found = _answer(look, asked, settings())
    return found


def obstacle(family: Family, size: tuple[int, int], seen: str | None, mean: bool) -> str | None:
    """Why torch computes with pictures of this size otherwise than gofast; None where it does not.

    Args:
        seen: "nearest" or "bilinear" where pixels are sampled elsewhere.
        mean: the mean of all is taken.
    """
    return ask(_look, family, size, seen, mean)


def matrices(size: tuple[int, int]) -> str | None:
    """How torch multiplies the grid of a picture of this size by a matrix; None where that is not known.

    "plain": every product and sum rounds. "fused": y is multiplied and added at once, as MKL does on Intel's
    processors for all but small grids (MKL 2024.2, AVX-512, 2026-11).
    """
    return ask(_multiplies, size)


def settings() -> tuple[Any, ...]:
    """What torch may be told about how exactly it computes."""
    mkldnn: Any = torch.backends.mkldnn
    return (
        mkldnn.enabled,
        str(getattr(getattr(mkldnn, "conv", None), "fp32_precision", None)),
        torch.get_float32_matmul_precision(),
        torch.is_autocast_enabled("cpu"),
        torch.are_deterministic_algorithms_enabled(),
    )


def _look(family: Family, size: tuple[int, int], seen: str | None, mean: bool) -> str | None:
    generator = torch.Generator(device="cpu").manual_seed(1)
    # Laid out as pil_to_tensor does.
    bytes_ = torch.randint(0, 256, (1, *size, 3), generator=generator, dtype=torch.uint8, device="cpu")
    picture = bytes_.permute(0, 3, 1, 2)
    for what, is_so in (
        ("matrices", lambda: seen is None or matrices(size) is not None),
        ("samples", lambda: seen is None or _samples(picture, seen)),
        ("means", lambda: not mean or (_means(size) and _blends(picture, family))),
        ("convolutions", lambda: _convolves(picture)),
        ("sums", lambda: _adds(picture, family)),
    ):
        if not is_so():  # type: ignore[no-untyped-call]
            return f"torch's {what} round in another way here"
    return None


def draws_dirichlet() -> str | None:
    """Why torch's Dirichlet numbers are not those that the core draws; None where they are."""
    return None if ask(_draws_dirichlet) else "torch draws Dirichlet numbers in another way"


def _draws_dirichlet() -> bool:
    for alpha, parts in _DIRICHLET:
        generator = torch.Generator(device="cpu").manual_seed(7)
        if alpha != _DIRICHLET[0][0]:
            torch._sample_dirichlet(torch.full((1, 3), _DIRICHLET[0][0], device="cpu"), generator=generator)
        drawn = torch._sample_dirichlet(torch.full((1, 3), alpha, device="cpu"), generator=generator)
        if drawn[0].tolist() != parts:
            return False
    return True


def _base(size: tuple[int, int]) -> torch.Tensor:
    """The middles of pixels, from the middle of the picture."""
    height, width = size
    base = torch.ones(1, height, width, 3, dtype=torch.float32, device="cpu")
    base[..., 0] = torch.linspace(-width * 0.5 + 0.5, width * 0.5 + 0.5 - 1, steps=width, device="cpu")
    base[..., 1] = torch.linspace(-height * 0.5 + 0.5, height * 0.5 + 0.5 - 1, steps=height, device="cpu")[
        :, None
    ]
    return base


def _turned(size: tuple[int, int], angle: float = 0.0857) -> torch.Tensor:
    """A matrix that turns and moves."""
    sine, cosine = math.sin(angle), math.cos(angle)
    theta = torch.tensor([[cosine, -sine], [sine, cosine], [3.7, -2.3]], dtype=torch.float32, device="cpu")
    return theta[None] / torch.tensor([0.5 * size[1], 0.5 * size[0]], dtype=torch.float32, device="cpu")


def _multiplies(size: tuple[int, int]) -> str | None:
    """Several are tried: of one, all sums of a small grid may happen to be the same."""
    base = _base(size)
    height, width = size
    x = np.arange(width, dtype=np.float32) + np.float32(0.5 - 0.5 * width)
    y = np.arange(height, dtype=np.float32)[:, None] + np.float32(0.5 - 0.5 * height)
    y, left = y[..., None], ["plain", "fused"]
    for angle in _ANGLES:
        theta = _turned(size, angle)
        made = base.view(1, -1, 3).bmm(theta).view(height, width, 2).numpy()
        a, b, c = theta[0].numpy()
        product = x[:, None] * a
        if not np.array_equal(made, product + y * b + c):
            left.remove("plain")
        if not np.array_equal(made, fused(y, b, product) + c):
            left.remove("fused")
        if len(left) < 2:
            break
    return left[0] if left else None


def _samples(picture: torch.Tensor, seen: str) -> bool:
    height, width = picture.shape[-2:]
    grid = _base((height, width)).view(1, -1, 3).bmm(_turned((height, width))).view(1, height, width, 2)
    made = torch.nn.functional.grid_sample(
        picture.to(torch.float32), grid, mode=seen, padding_mode="zeros", align_corners=False
    )[0].numpy()
    place = grid[0].numpy()
    one, half = np.float32(1), np.float32(-0.5)
    x = fused(place[..., 0] + one, np.float32(0.5 * width), half)
    y = fused(place[..., 1] + one, np.float32(0.5 * height), half)
    if seen == "nearest":
        return bool(np.array_equal(made, _pixels(picture, np.rint(x), np.rint(y))))
    left, top = np.floor(x), np.floor(y)
    w, n = x - left, y - top
    e, s = one - w, one - n
    total = _pixels(picture, left, top) * (s * e)
    for dx, dy, weight in ((1, 0, s * w), (0, 1, n * e), (1, 1, n * w)):
        total = fused(_pixels(picture, left + dx, top + dy), weight, total)
    return bool(np.array_equal(made, total))


def _pixels(picture: torch.Tensor, x: Any, y: Any) -> Any:
    height, width = picture.shape[-2:]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    columns, rows = (np.where(inside, v, 0).astype(np.int64) for v in (x, y))
    return np.where(inside, picture[0].numpy()[:, rows, columns], 0).astype(np.float32)


def _means(size: tuple[int, int]) -> bool:
    """Sums of whole numbers below 2^24 are exact in any order, if they are float32's."""
    generator = torch.Generator(device="cpu").manual_seed(2)
    grey = torch.randint(200, 256, (1, 1, *size), generator=generator, dtype=torch.uint8, device="cpu")
    total, pixels = int(grey.sum()), grey.numel()
    if total > 1 << 24:
        return True
    mean = torch.mean(grey.to(torch.float32), dim=(-3, -2, -1)).item()
    return bool(mean == np.float32(total) / np.float32(pixels))


def _blends(picture: torch.Tensor, family: Family) -> bool:
    """v2's blend with a mean, in both orders of memory."""
    for mean, ratio in ((101.37, 1.3), (99.21, 0.73), (140.7, 1.81), (17.77, 0.19)):
        other = torch.full((1, 1, 1, 1), mean, dtype=torch.float32, device="cpu")
        for laid_out in (picture, picture.contiguous()):
            if family == "v2" and not _blends_at_once(laid_out, other, np.float32(mean), ratio):
                return False
    return True


def _blends_at_once(picture: torch.Tensor, other: torch.Tensor, plain: Any, ratio: float) -> bool:
    blended = picture.mul(ratio).add_(other, alpha=1.0 - ratio)[0].numpy()
    product = picture[0].numpy().astype(np.float32) * np.float32(ratio)
    return bool(np.array_equal(blended, fused(plain, np.float32(1.0 - ratio), product)))


def _convolves(picture: torch.Tensor) -> bool:
    """Sharpness's smoothed picture is never within a 26th of a half: float32 rounds it as integers do."""
    if min(picture.shape[-2:]) < 3:
        return True
    kernel = torch.full((3, 1, 3, 3), 1 / 13, dtype=torch.float32, device="cpu")
    kernel[:, :, 1, 1] = 5 / 13
    made = torch.nn.functional.conv2d(picture.to(torch.float32), kernel, groups=3).round()
    whole = picture.to(torch.int32)
    height, width = picture.shape[-2:]
    total = 4 * whole[..., 1:-1, 1:-1]
    for dy in range(3):
        for dx in range(3):
            total = total + whole[..., dy : height - 2 + dy, dx : width - 2 + dx]
    return made.dtype == torch.float32 and torch.equal(made.to(torch.int32), (total + 6) // 13)


def _adds(picture: torch.Tensor, family: Family) -> bool:
    """v1 rounds products and sums; torch's add with a factor, which v2 calls, rounds once."""
    r, g, b = (plane.numpy().astype(np.float32) for plane in picture[0].unbind(0))
    if family == "v1":
        red, green, blue = picture.unbind(dim=-3)
        made = 0.2989 * red + 0.587 * green + 0.114 * blue
        same = r * np.float32(0.2989) + g * np.float32(0.587) + b * np.float32(0.114)
        return bool(np.array_equal(made[0].numpy(), same))
    grey = fused(b, np.float32(0.114), fused(g, np.float32(0.587), r * np.float32(0.2989)))
    return all(_adds_at_once(laid_out, grey) for laid_out in (picture, picture.contiguous()))


def _adds_at_once(picture: torch.Tensor, grey: Any) -> bool:
    red, green, blue = picture.unbind(dim=-3)
    made = red.mul(0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114)
    if not np.array_equal(made[0].numpy(), grey):
        return False
    if not _blends_at_once(picture, made[:, None], grey, 1.3):
        return False
    if min(picture.shape[-2:]) < 3:
        return True
    sharp = picture.to(torch.float32, copy=True)
    inner = sharp[..., 1:-1, 1:-1]
    kernel = torch.full((3, 1, 3, 3), 1 / 13, dtype=torch.float32, device="cpu")
    smooth = torch.nn.functional.conv2d(sharp, kernel, groups=3).round_()
    before = inner[0].numpy().copy()
    same = fused(smooth[0].numpy() - before, np.float32(1.0 - 1.7), before)
    inner.add_(smooth.sub_(inner), alpha=1.0 - 1.7)
    return bool(np.array_equal(inner[0].numpy(), same))


def fused(x: Any, y: Any, addend: Any) -> Any:
    """x * y + addend, rounded once.

    The product is exact in double. The sum is made odd where it is not: rounding it again cannot go wrong.
    """
    product, wide = np.multiply(x, y, dtype=np.float64), np.asarray(addend, np.float64)
    total = product + wide
    back = total - product
    rest = (product - (total - back)) + (wide - back)
    bits = total.view(np.int64)
    up = (rest > 0) == (total > 0)
    odd = np.where((rest != 0) & (bits & 1 == 0), np.where(up, 1, -1), 0)
    return (bits + odd).view(np.float64).astype(np.float32)

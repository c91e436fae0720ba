"""The coefficients of a perspective, by torch's own least squares: their last bits are LAPACK's."""

from __future__ import annotations

import torch

from .picture_operations import TorchWords

_CORNERS, _COEFFICIENTS, _WORDS = 2, 10, 18  # where they begin in the step's words: perspective.c


def coefficients(sizes: torch.Tensor, corners: torch.Tensor) -> torch.Tensor:
    """What torchvision's _get_perspective_coeffs gives for each picture: float32 [n, 8].

    The equations are made for all at once, of whole numbers, and each is solved alone, as torchvision does.

    Args:
        sizes: width and height, int64 [n, 2].
        corners: where the corners of each lie, clockwise from the top left, int64 [n, 4, 2].
    """
    count = len(sizes)
    width, height = (sizes - 1).unbind(1)
    zero = torch.zeros_like(width)
    starts = torch.stack([zero, zero, width, zero, width, height, zero, height], 1)
    left = torch.zeros(count, 4, 2, 8, dtype=torch.int64, device="cpu")
    left[:, :, 0, :2] = left[:, :, 1, 3:5] = corners
    left[:, :, 0, 2] = left[:, :, 1, 5] = 1
    left[..., 6:] = -starts.view(count, 4, 2, 1) * corners[:, :, None]
    equations = zip(left.view(count, 8, 8).to(torch.float64), starts.to(torch.float64), strict=True)
    solved = [torch.linalg.lstsq(a, b, driver="gels").solution for a, b in equations]
    return torch.stack(solved).to(torch.float32)


def write(words: torch.Tensor, rows: torch.Tensor, step: TorchWords) -> None:
    """Writes the coefficients into these rows of records."""
    at = step["word"]
    drawn = words[rows, at : at + _COEFFICIENTS].to(torch.int64)
    made = coefficients(drawn[:, :_CORNERS], drawn[:, _CORNERS:].reshape(-1, 4, 2))
    words[rows, at + _COEFFICIENTS : at + _WORDS] = made.view(torch.int32)

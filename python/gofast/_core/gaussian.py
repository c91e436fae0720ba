"""The weights of a Gaussian blur, by torch's own arithmetic: its float exp is that of no other library."""

from __future__ import annotations

import math

import torch

from .picture_operations import TorchWords

MOST_KERNEL = 63  # pixel.h's GF_MOST_KERNEL


def weights(size: int, sigma: torch.Tensor, version: str) -> torch.Tensor:
    """The kernels of torchvision's _get_gaussian_kernel1d for each sigma, a float32 each: [sigmas, size].

    Torch computes a row of many as it computes one alone; a test says so.
    """
    if version == "v1":
        half = (size - 1) * 0.5
        x = torch.linspace(-half, half, steps=size, dtype=torch.float32, device="cpu")
        pdf = torch.exp(-0.5 * (x / sigma[:, None]).pow(2))
        return pdf / pdf.sum(dim=1, keepdim=True)
    most = (size - 1) / (2.0 * math.sqrt(2.0))
    x = torch.linspace(-most, most, steps=size, dtype=torch.float32, device="cpu")
    return torch.softmax(x.div(sigma[:, None]).pow(2).neg(), dim=1)


def write(words: torch.Tensor, rows: torch.Tensor, blur: TorchWords) -> None:
    """Writes the weights into these rows of records."""
    at = blur["word"]
    sigma = words[rows, at].view(torch.float32)
    made: dict[int, torch.Tensor] = {}
    for i, size in enumerate(blur["kernel"]):
        if size not in made:
            made[size] = weights(size, sigma, blur["version"]).view(torch.int32)
        start = at + 1 + i * MOST_KERNEL
        words[rows, start : start + size] = made[size]

"""What only torch can compute of a record, to the last bit."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import torch

from . import gaussian, perspective_coefficients
from .openmp import alone
from .picture_operations import TorchWords

_WRITE = {"gaussian_blur": gaussian.write, "random_perspective": perspective_coefficients.write}


def fill(records: array[int], record_words: int, found: Sequence[TorchWords]) -> None:
    """Writes torch's numbers over the core's own, in the records of samples to which the steps happen.

    Raises:
        torch.linalg.LinAlgError: as torchvision's own, where corners of a perspective lie on one line.
    """
    if not records:
        return
    words = torch.frombuffer(records, dtype=torch.int32).view(-1, record_words)
    with alone(), torch.no_grad():
        for of_step in found:
            rows = words[:, of_step["word"]].nonzero().flatten()
            if len(rows):
                _WRITE[of_step["op"]](words, rows, of_step)

"""What `torch.save` and `torch.load` make of a state, with nothing but plain data and tensors allowed."""

from __future__ import annotations

import io
from typing import Any

import torch


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    """The state as another process reads it."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    found: dict[str, Any] = torch.load(file, weights_only=True)
    return found

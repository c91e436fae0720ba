"""What a user says as ``device=``."""

from __future__ import annotations

import torch

from .. import errors


def wanted(device: torch.device | str | int | None) -> torch.device | None:
    """What a user says as ``device=``; None for the CPU.

    Raises:
        OptionError: it is no CUDA device.
    """
    if device is None:
        return None
    try:
        named = torch.device("cuda", device) if type(device) is int else torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise errors.OptionError(f"device={device!r}: {error}") from None
    if named.type == "cpu":
        return None
    if named.type != "cuda":
        raise errors.OptionError(f"device={device!r}: gofast moves batches to CUDA devices only")
    return named

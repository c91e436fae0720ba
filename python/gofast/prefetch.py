"""gofast.prefetch: any loader's batches on a device, moved ahead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._core.arguments import checked

if TYPE_CHECKING:
    import torch


@checked
def prefetch(loader: Iterable[Any], device: torch.device | str | int | None, *, ahead: int = 2) -> Any:
    """A loader whose batches arrive on a device: copied ahead, from pinned memory, on a stream of their own.

    For any loader or other iterable of batches, gofast's or not; a `gofast.DataLoader` does better itself,
    with its own ``device=``. A batch is a tensor, or any nesting of mappings, sequences, namedtuples and
    dataclasses of tensors; what else lies in it stays as it is. Nobody waits for a copy: torch's current
    stream does. Tensors of at most 64 KiB share one copy. Tensors that torch's DataLoader has pinned are
    copied as they lie, and any pinned ones with ``ahead=0``; others go through a pinned block of gofast's, so
    that the loader needs no ``pin_memory=True``, and may use its memory again at once.

    The loader is asked for batches earlier: whatever it draws, it draws ``ahead`` batches before it would
    otherwise. Its errors come in their turn.

    Args:
        loader: its length, its attributes and ``set_epoch`` are passed through.
        device: "cuda" is torch's current device at `iter`, "cuda:1" or 1 that one; None or "cpu" moves none.
        ahead: batches on their way, beside the one that is handed out.

    Raises:
        OptionError: device is no CUDA device, or ahead is negative.
        DeviceError: at `iter`, there is no such device; at `next`, the driver refused a call.

    Example:
        >>> for images, labels in gofast.prefetch(loader, "cuda"):  # doctest: +SKIP
        ...     loss = criterion(model(images), labels)
    """
    from ._device.device_option import wanted
    from ._device.prefetch import Prefetch

    return Prefetch(loader, wanted(device), ahead)

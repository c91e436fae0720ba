"""What torch does for a device: its streams, and the memory that batches arrive in.

That memory is torch's, so that running out of it, its accounting and `record_stream` are torch's too. Tests
put another side instead of this one, whose device is a stand-in for the CUDA driver.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import errors


class TorchDevice:
    """A CUDA device of torch's.

    Args:
        ordinal: of the device.
        stream: the handle of gofast's stream.
    """

    def __init__(self, ordinal: int, stream: int) -> None:
        self.device = torch.device("cuda", ordinal)
        self._ours = torch.cuda.ExternalStream(stream, device=self.device)  # type: ignore[no-untyped-call]

    def current(self) -> torch.cuda.Stream:
        """The stream that the user's work goes to now."""
        return torch.cuda.current_stream(self.device)

    def handle(self, stream: torch.cuda.Stream) -> int:
        """A stream as the driver knows it."""
        return stream.cuda_stream

    def empty(self, *wanted: tuple[Sequence[int], torch.dtype]) -> list[torch.Tensor]:
        """Tensors of these shapes and types, in memory that gofast's stream may write at once."""
        # Both take as long as two tensors: once for all of a batch. The device comes first, since leaving the
        # stream of another device than the current one would begin CUDA on that.
        with torch.cuda.device(self.device), torch.cuda.stream(self._ours):
            return [torch.empty(shape, dtype=dtype, device=self.device) for shape, dtype in wanted]

    def empty_as(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of another's shape, type and strides, likewise."""
        with torch.cuda.device(self.device), torch.cuda.stream(self._ours):
            return torch.empty_like(tensor, device=self.device)

    def empty_here(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Memory that the current stream may write at once."""
        return torch.empty(shape, dtype=dtype, device=self.device)

    def capturing(self) -> bool:
        """Whether the user captures a graph on the current stream."""
        return torch.cuda.is_current_stream_capturing()

    def mark(self, stream: torch.cuda.Stream) -> torch.cuda.Event:
        """An event behind all that a stream holds now."""
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record(stream)
        return event

    def used(self, tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
        """Says that a stream uses memory of `empty`'s: it is not given to others before that is over."""
        tensor.record_stream(stream)


def ordinal_of(device: torch.device) -> int:
    """The number of a CUDA device: of the current one, if it names none.

    Raises:
        DeviceError: there is no such device, with the reason.
        RuntimeError: torch's, in a process that was forked after CUDA had begun.
    """
    if not torch.cuda.is_available():
        raise errors.DeviceError(f"device={str(device)!r}: {_why_not()}")
    if torch.version.hip is not None:
        raise errors.DeviceError(
            f"device={str(device)!r}: this torch is for ROCm, and gofast knows only CUDA"
        )
    torch.cuda.init()  # type: ignore[no-untyped-call]  # after a fork this is torch's error
    # A device that is named needs no current one: to ask may begin a context there, each rank's on the first.
    ordinal = torch.cuda.current_device() if device.index is None else device.index
    if not 0 <= ordinal < torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise errors.DeviceError(f"device={str(device)!r}: torch shows {count} (see CUDA_VISIBLE_DEVICES)")
    return ordinal


def _why_not() -> str:
    if torch.version.cuda is None:
        return "this torch is built without CUDA: install a build with it, or leave device=None"
    return (
        f"torch (for CUDA {torch.version.cuda}) sees no GPU here: the driver is missing or too old, or "
        "CUDA_VISIBLE_DEVICES hides it. Leave device=None to stay on the CPU"
    )

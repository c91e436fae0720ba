"""A plan and the files that it is for, in C memory."""

from __future__ import annotations

from collections.abc import Sequence

from .._batches.view import free_with
from .._core import codecs, operations
from .._plan.compile import Plan
from .files import Files

MAX_FILE_BYTES = 1 << 30  # larger files are left to Pillow


class ImageProgram:
    """A plan and the files it is for, compiled into C memory of this process.

    Args:
        files: they outlive the program.
        plan: its native steps.
        shape: [C, H, W] of a tensor, or None: then samples are pictures, for Python to go on with.
        channels_last: the order of the tensor's memory.
        max_pixels: pictures with more are left to Pillow.
    """

    def __init__(
        self, files: Files, plan: Plan, shape: Sequence[int] | None, channels_last: bool, max_pixels: int
    ) -> None:
        codecs.load()
        output: operations.Output = {}
        if shape is not None:
            channels, height, width = shape
            output = {
                "channels": channels,
                "height": height,
                "width": width,
                "dtype": plan.dtype,
                "channels_last": channels_last,
            }
        self.files, self.plan, self.shape, self.channels_last = files, plan, shape, channels_last
        made = operations.image_program(
            {
                "plan": {"steps": plan.steps, "output": output},
                "files": files.addresses(),
                "pass_order": codecs.pass_order(),
                "max_pixels": max_pixels,
                "max_file_bytes": MAX_FILE_BYTES,
            }
        )
        self.address, self.record_words = made["address"], made["record_words"]
        free_with(self, operations.free_image_program, files)

"""Picture files and a plan, in C memory."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import codecs, picture_operations
from .._loader.core_dataset import CoreDataset
from .._plan.compile import Plan
from .picture_cache import HasPlace
from .picture_files import PictureFiles

MAX_FILE_BYTES = 1 << 30  # larger files are left to Pillow


class CorePictures(CoreDataset):
    """Picture files and what a plan makes of them, in C memory of this process.

    Args:
        files: they outlive the dataset.
        plan: its native steps.
        shape: [C, H, W] of a tensor, [crops, C, H, W] of several, or None: then samples are pictures, for
            Python to go on with.
        channels_last: the order of the tensor's memory.
        max_pixels: pictures with more are left to Pillow.
        labels: samples have one.
        seed: of draws that do not come from torch's generator.
        raw: a tensor's bytes, of which the plan's numbers are still to be made, and nothing is erased. The
            same is drawn for them.
        kept: where that lies which the plan's certain steps made before; None: they have none, or nowhere.
    """

    def __init__(
        self,
        files: PictureFiles,
        plan: Plan,
        shape: Sequence[int] | None,
        channels_last: bool,
        max_pixels: int,
        labels: bool = False,
        seed: int = 0,
        raw: bool = False,
        kept: HasPlace | None = None,
    ) -> None:
        codecs.load()
        output: picture_operations.Output = {}
        if shape is not None:
            channels, height, width = shape[-3:]
            output = {
                "crops": shape[0] if len(shape) > 3 else 0,
                "channels": channels,
                "height": height,
                "width": width,
                "dtype": plan.dtype,
                "channels_last": channels_last,
                "raw": raw,
            }
        self._max_pixels, self._labels, self._seed = max_pixels, labels, seed
        self._plan: picture_operations.PlanRequest = {
            "steps": plan.steps,
            "output": output,
            "any_size": not plan.needs_size,
        }
        self.files, self.plan, self.shape, self.channels_last = files, plan, shape, channels_last
        self._kept = kept
        addresses = files.addresses(seed, labels)
        if kept is not None:
            addresses["kept"] = kept.addresses()
        made = picture_operations.pictures(
            {
                "plan": self._plan,
                "files": addresses,
                "pass_order": codecs.pass_order(),
                "max_pixels": max_pixels,
                "max_file_bytes": MAX_FILE_BYTES,
            }
        )
        super().__init__(made, (files, kept))
        self.torch_words: Sequence[picture_operations.TorchWords] = []
        if plan.draws:
            self.torch_words = picture_operations.torch_words(self._plan)

    def makes_as(self, other: CorePictures) -> bool:
        """Whether both make the same of a picture."""
        return self._plan == other._plan

    def rest(self) -> picture_operations.Rest | None:
        """What is left to do to raw samples; None where there are none, or more is left than can be said."""
        return picture_operations.numbers(self._plan)

    def raw(self) -> CorePictures:
        """The same files as raw samples."""
        return CorePictures(
            self.files,
            self.plan,
            self.shape,
            self.channels_last,
            self._max_pixels,
            self._labels,
            self._seed,
            raw=True,
            kept=self._kept,
        )

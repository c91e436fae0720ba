"""ImageFolder: torchvision's, many times faster."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import errors
from ._bad_samples import OnError
from ._files import Files
from ._image_rows import ImageDataset
from ._rows import Output

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class ImageFolder(ImageDataset):
    """Pictures in a folder for each class: ``root/class/name.jpg``."""

    def __init__(
        self,
        root: str | Path,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        output: Output = "tuple",
        keys: tuple[str, str] = ("image", "label"),
        channels_last: bool = False,
        on_error: OnError = "raise",
        max_bad: int | None = None,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        files = Files.scan(
            {
                "kind": "classes",
                "root": os.path.join(os.getcwd(), os.fspath(self.root)),
                "extensions": list(IMG_EXTENSIONS),
            }
        )
        if files.count == 0:
            raise errors.NotFoundError(f"{root}: no pictures")
        self.classes = files.classes
        self.class_to_idx = {name: i for i, name in enumerate(files.classes)}
        super().__init__(
            files,
            transform,
            target_transform,
            loader,
            output=output,
            keys=keys,
            channels_last=channels_last,
            on_error=on_error,
            max_bad=max_bad,
        )

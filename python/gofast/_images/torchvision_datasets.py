"""The outside of torchvision's datasets: how they scan a folder, print themselves and read a picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import errors
from . import pillow
from .bad_image import both

MODULES = "torchvision.datasets."
IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def default_loader(path: str) -> Any:
    """Reads a picture like torchvision's loader of the same name: with Pillow, converted to RGB.

    Datasets with this loader, or with torchvision's own, decode natively instead, to the same pixels.

    Args:
        path: the path of the file.

    Returns:
        A ``PIL.Image.Image`` of mode RGB.

    Raises:
        OSError: Pillow cannot read the file.
    """
    return pillow.open_rgb(path)


def own_loader(loader: Callable[[str], Any] | None) -> Callable[[str], Any] | None:
    """The loader, or None if it does what the core does."""
    if loader is None or loader is default_loader:
        return None
    # A user who passes one of torchvision's loaders has imported torchvision.
    torchvision, folder = sys.modules.get("torchvision"), sys.modules.get("torchvision.datasets.folder")
    if folder is None or torchvision is None:
        return loader
    if loader is folder.pil_loader:
        return None
    if loader is folder.default_loader and torchvision.get_image_backend() == "PIL":
        return None
    return loader


def is_torchvisions(kind: type, method: str, module: str, name: str = "") -> bool:
    """Whether a class's method was written in a module of torchvision's, for that class if one is named."""
    found, home = getattr(kind, method), sys.modules.get(MODULES + module)
    own = home is not None and getattr(found, "__globals__", None) is vars(home)
    return own and (not name or found.__qualname__ == f"{name}.{method}")


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """The folders in this folder, sorted, and their numbers."""
    try:
        with os.scandir(directory) as entries:
            classes = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        ours = errors.NotFoundError if isinstance(error, FileNotFoundError) else errors.ReadError
        raise both(error, str(error), ours).at(path=os.fspath(directory)) from None
    if not classes:
        raise no_classes(directory)
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int],
    extensions: str | Sequence[str] | None,
    is_valid_file: Callable[[str], bool] | None,
    allow_empty: bool,
) -> list[tuple[str, int]]:
    """The samples of the classes, in torchvision's order: (path, number)."""
    if not class_to_idx:
        raise errors.OptionError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise errors.OptionError(
            "Both extensions and is_valid_file cannot be None or not None at the same time"
        )
    ends = extensions if isinstance(extensions, str) else tuple(extensions or ())
    directory = os.path.expanduser(directory)
    samples: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        before = len(samples)
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            for file in sorted(files):
                path = os.path.join(folder, file)
                if path.lower().endswith(ends) if is_valid_file is None else is_valid_file(path):
                    samples.append((path, class_to_idx[name]))
        if len(samples) == before:
            empty.append(name)
    if empty and not allow_empty:
        raise no_files(empty, extensions)
    return samples


def no_classes(directory: str | Path) -> errors.NotFoundError:
    """The error for a folder without classes, with torchvision's text."""
    said = f"Couldn't find any class folder in {directory}."
    return errors.NotFoundError(said).at(path=os.fspath(directory))


def no_files(classes: Sequence[str], extensions: str | Sequence[str] | None) -> errors.NotFoundError:
    """The error for classes without files, with torchvision's text."""
    text = f"Found no valid file for the classes {', '.join(sorted(classes))}. "
    if extensions is not None:
        named = extensions if isinstance(extensions, str) else ", ".join(extensions)
        text += f"Supported extensions are: {named}"
    return errors.NotFoundError(text)


class StandardTransform:
    """A transform of the picture and one of the label, called together.

    Attributes:
        transform, target_transform: the two transforms of the dataset.
    """

    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for head, transform in (
            ("Transform: ", self.transform),
            ("Target transform: ", self.target_transform),
        ):
            if transform is not None:
                first, *more = repr(transform).splitlines() or [""]
                lines += [head + first, *(" " * len(head) + line for line in more)]
        return "\n".join(lines)


def describe(name: str, count: int, root: object, extra: str, transforms: object, indent: int) -> str:
    """A dataset's repr, like torchvision's.

    Args:
        root: None gives no line.
        extra: the text of a subclass's extra_repr.
        transforms: None gives no lines.
    """
    body = [f"Number of datapoints: {count}"]
    if root is not None:
        body.append(f"Root location: {root}")
    body += extra.splitlines()
    if transforms is not None:
        body.append(repr(transforms))
    return "\n".join([f"Dataset {name}", *(" " * indent + line for line in body)])

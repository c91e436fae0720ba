"""The folder of pictures that is measured: real photographs, listed often enough that an epoch lasts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import CACHE

LINKS = 2_000  # pictures of an epoch: a second or more for the fastest


@dataclass(frozen=True)
class Folder:
    """A folder for each class, and the same with every picture linked `repeats` times."""

    name: str
    once: str
    path: str
    pictures: int
    repeats: int
    bytes: int  # of a picture, on average


def prepare(source: str | None, pictures: int, every: int = 1) -> Folder:
    """Finds the photographs, takes every n-th, and links them until there are so many. Without a source:
    ImageNet's, under GOFAST_TEST_DATA."""
    if source is None:
        real = os.environ.get("GOFAST_TEST_DATA")
        if real is None:
            raise SystemExit("set GOFAST_TEST_DATA to a folder with imagenet-500/, or give --folder=")
        source = os.path.join(real, "imagenet-500")
    root = Path(source).resolve()
    files = sorted(path for path in root.glob("*/*") if path.is_file())[::every]
    if not files:
        raise SystemExit(f"{source}: there is no <class>/<picture> in it")
    repeats = -(-pictures // len(files))
    linked = CACHE / f"{root.name}-{len(files)}x{repeats}"
    for path in files:
        folder = linked / path.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(repeats):
            link = folder / f"{path.stem}-{number}{path.suffix}"
            if not link.is_symlink():
                link.symlink_to(path)
    total = sum(len(path.read_bytes()) for path in files)  # into the page cache: no disk is compared
    return Folder(root.name, str(root), str(linked), len(files), repeats, total // len(files))

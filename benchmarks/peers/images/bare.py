"""The roofs: our own functions for a sample with nothing around them, and the decoder alone.

`bare/` is C that is compiled here. The bare pipeline calls the very functions that the engine's threads call,
in the same library; the decoder is gofast/image/jpeg with the user's libjpeg.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks import data
from benchmarks.peers.images.contract import BATCH, SHORT_SIDE, SIZE, TRAIN, Peer
from benchmarks.peers.images.gofast_ import dataset

ROOT = Path(__file__).resolve().parents[3]
BUFFERS = 3  # bare.h


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled roofs."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        raise ImportError("a C compiler is needed for the bare pipeline: set CC")
    folders = ("benchmarks/bare", "gofast/image/jpeg", "gofast/image/picture", "gofast/internal/meter")
    sources = [source for folder in folders for source in (ROOT / folder).glob("*.c")]
    made = data.CACHE / "bare.so"
    made.parent.mkdir(parents=True, exist_ok=True)
    part = made.with_name(f"bare-{os.getpid()}.so")
    options = ["-O3", "-std=gnu11", "-Wall", "-Wextra", "-ffp-contract=off", "-shared", "-fPIC", "-pthread"]
    options.append("-Wl,--no-undefined")
    subprocess.run([compiler, *options, "-o", str(part), *map(str, sources), "-ldl"], check=True)
    part.replace(made)
    bare = ctypes.CDLL(str(made))
    bare.bare_buffer.restype = ctypes.c_void_p
    bare.bare_fill.restype = bare.bare_decode.restype = ctypes.c_int64
    return bare


class Bare:
    """view->fill on threads; for train everything is drawn before, once an epoch."""

    def __init__(self, folder: str, kind: str, threads: int) -> None:
        self.kind, self.threads = kind, threads
        self.dataset = dataset(folder, kind)
        self.work = self.dataset._here()
        self.row_bytes = 4 * 3 * SIZE * SIZE
        self.buffer = library().bare_buffer(ctypes.c_int64(BUFFERS * BATCH * self.row_bytes))
        self.drawn: tuple[npt.NDArray[np.int64], array[int] | None] | None = None

    def draw(self) -> tuple[npt.NDArray[np.int64], array[int] | None]:
        """An epoch's order, and what is drawn for its samples; the same for every later epoch."""
        if self.drawn is None:
            count = len(self.dataset)
            order = torch.randperm(count) if self.kind == TRAIN else torch.arange(count)
            indices = order.numpy()
            self.drawn = indices, self.work.records(array("q", indices.tolist()))
        return self.drawn

    def __iter__(self) -> Iterator[int]:
        yield self.run(*self.draw())

    def run(self, indices: npt.NDArray[np.int64], records: array[int] | None) -> int:
        """Makes those samples."""
        failed = library().bare_fill(
            ctypes.c_void_p(self.work.view.core.address),
            ctypes.c_void_p(indices.ctypes.data),
            ctypes.c_void_p(records.buffer_info()[0] if records is not None else None),
            ctypes.c_int64(len(indices)),
            ctypes.c_int64(BATCH),
            ctypes.c_void_p(self.buffer),
            self.threads,
        )
        if failed:
            raise RuntimeError(f"the bare pipeline failed at {failed} of {len(indices)} samples")
        return len(indices)

    def first(self, count: int) -> torch.Tensor:
        """The first batches' pictures, for the check; no more than the buffers hold."""
        indices, records = self.draw()
        count = min(count, len(indices), BUFFERS * BATCH)
        self.run(indices[:count], records)
        values = (ctypes.c_float * (count * self.row_bytes // 4)).from_address(self.buffer)
        return torch.tensor(np.ctypeslib.as_array(values)).view(count, 3, SIZE, SIZE)


def central(width: int, height: int) -> tuple[int, int, int, int]:
    """The part of a picture that Resize and CenterCrop need: x, y, width, height."""
    scale = min(width, height) / SHORT_SIDE
    wide, high = (int(side * SHORT_SIDE / min(width, height)) for side in (width, height))
    reach = max(scale, 1.0)  # the bilinear filter's, on each side
    box = []
    for side, resized in ((width, wide), (height, high)):
        first = round((resized - SIZE) / 2)
        start = max(0, int(first * side / resized - reach))
        end = min(side, int((first + SIZE) * side / resized + reach) + 1)
        box.append((start, end - start))
    return box[0][0], box[1][0], box[0][1], box[1][1]


class Decode:
    """libjpeg alone: whole pictures, or what the crop needs of each."""

    def __init__(self, folder: str, kind: str, needed: bool) -> None:
        from gofast._core import codecs

        bare = Bare(folder, kind, 1)
        indices, records = bare.draw()
        files = bare.dataset._files
        self.paths = [os.fsencode(files.path(int(i))) for i in indices]
        keep = [n for n, path in enumerate(self.paths) if is_jpeg(path)]
        found = sorted(path for f in codecs.folders() for path in Path(f).glob("libjpeg-*.so.62*"))
        self.libjpeg = os.fsencode(found[-1]) if found else b""
        self.regions: npt.NDArray[np.int32] | None = None
        if needed:
            if kind == TRAIN:
                assert records is not None
                words = np.frombuffer(records, np.int32).reshape(len(indices), -1)
                boxes = words[:, [1, 0, 3, 2]]  # random_resized_crop's words: top, left, height, width
            else:
                bare.run(indices, records)  # finds out the sizes
                boxes = np.array([central(*files.sizes[i]) for i in indices], np.int32)
            self.regions = np.ascontiguousarray(boxes[keep], np.int32)
        self.c_paths = (ctypes.c_char_p * len(keep))(*(self.paths[n] for n in keep))

    def __iter__(self) -> Iterator[int]:
        failed = library().bare_decode(
            self.libjpeg or None,
            self.c_paths,
            ctypes.c_void_p(self.regions.ctypes.data if self.regions is not None else None),
            ctypes.c_int64(len(self.c_paths)),
            2,
        )
        if failed:
            raise RuntimeError(f"libjpeg failed at {failed} of {len(self.c_paths)} files (-1: not found)")
        yield len(self.c_paths)


def is_jpeg(path: bytes) -> bool:
    """By content, as all of gofast."""
    with open(path, "rb") as file:
        return file.read(3) == b"\xff\xd8\xff"


def filling(threads: int) -> Callable[[str, str], Any]:
    """The pipeline on so many threads."""
    return lambda folder, kind: Bare(folder, kind, threads)


FILL = {threads: Peer(filling(threads), exact=True, batches=False) for threads in (1, 2)}
DECODE = Peer(lambda folder, kind: Decode(folder, kind, needed=False), batches=False)
DECODE_NEEDED = Peer(lambda folder, kind: Decode(folder, kind, needed=True), batches=False)

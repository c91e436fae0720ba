"""The roof: our own function for a sample, with nothing around it. bare.c is compiled here, and calls the
very functions that the engine's threads call, in the same library.
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
from benchmarks.peers.images.contract import BATCH, SIZE, TRAIN, Peer
from benchmarks.peers.images.gofast_ import dataset

ROOT = Path(__file__).resolve().parents[3]
BUFFERS = 3  # bare.c


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled roofs."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        raise ImportError("a C compiler is needed for the bare pipeline: set CC")
    made = data.CACHE / "bare.so"
    made.parent.mkdir(parents=True, exist_ok=True)
    part = made.with_name(f"bare-{os.getpid()}.so")
    options = ["-O3", "-std=gnu11", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread", "-Wl,--no-undefined"]
    subprocess.run([compiler, *options, "-o", str(part), str(ROOT / "benchmarks" / "bare.c")], check=True)
    part.replace(made)
    bare = ctypes.CDLL(str(made))
    bare.bare_buffer.restype = ctypes.c_void_p
    bare.bare_fill.restype = ctypes.c_int64
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


def filling(threads: int) -> Callable[[str, str], Any]:
    """The pipeline on so many threads."""
    return lambda folder, kind: Bare(folder, kind, threads)


FILL = {threads: Peer(filling(threads), exact=True, batches=False) for threads in (1, 2)}

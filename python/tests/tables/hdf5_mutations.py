"""Damaged HDF5 files, run by test_hdf5_mutations.py in a process of its own: HDF5 itself ends on some.

`python hdf5_mutations.py FOLDER NUMBER...` damages a small file in a way that follows from each number. For
each it asks h5py before gofast: if the process ends there, it is h5py's doing.
"""

from __future__ import annotations

import contextlib
import faulthandler
import random
import signal
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import gofast

NAMES = ("plain", "packed", "summed", "holes", "small", "other")
SECONDS = 20


def write(path: Path, seed: int) -> None:
    """A small file with a dataset of each kind."""
    d, latest = np.random.default_rng(seed), "latest" if seed % 3 == 0 else "earliest"
    with h5py.File(path, "w", libver=latest, userblock_size=512 * (seed % 10 == 4)) as file:
        file["plain"] = d.integers(0, 255, (20, 6), np.uint8)
        file.create_dataset(
            "packed", data=d.integers(0, 9, (20, 6)), chunks=(8, 4), compression="gzip", shuffle=True
        )
        file.create_dataset("summed", data=d.normal(size=(20, 3)), chunks=(7, 3), fletcher32=True)
        file.create_dataset("holes", (20, 6), "<i2", chunks=(4, 5), compression="lzf", fillvalue=5)[
            3:9, 2
        ] = 7
        file.create_dataset("small", data=np.arange(20), chunks=(20,))
        file["other"] = np.arange(20, dtype=">i4")


def damaged(content: bytes, d: random.Random) -> bytes:
    """The same bytes but for a few; or fewer of them."""
    made = bytearray(content)
    for _ in range(d.choice([1, 1, 2, 5])):
        at, how = d.randrange(len(made)), d.randrange(5)
        if how == 0:
            made[at] ^= 1 << d.randrange(8)
        elif how == 1:
            made[at] = d.choice([0, 1, 127, 128, 255])
        elif how == 2:
            made[at : at + 8] = d.choice([0, 1, 1 << 16, 1 << 32, (1 << 63) - 1, (1 << 64) - 1]).to_bytes(
                8, "little"
            )
        elif how == 3:  # an address, a size, a number of something
            to = d.randrange(len(made))
            made[at : at + 8] = made[to : to + 8]
        else:
            made[at] = d.randrange(256)
    return bytes(made[: d.randrange(len(made))] if d.random() < 0.05 else made)


def by_h5py(path: Path, name: str) -> Any:
    """The array, or the error."""
    try:
        with h5py.File(path) as file:
            with contextlib.suppress(Exception):
                file.visititems(lambda name, one: None)
            found = file[name]
            where = found.id.get_create_plist()
            if where.get_layout() == h5py.h5d.CHUNKED:
                rows: list[Any] = []
                found.id.chunk_iter(lambda one: rows.append(one) or len(rows) > 10_000 or None)
            if found.size * found.dtype.itemsize > 1 << 26:
                return None
            made, again = np.zeros(found.shape, found.dtype), np.ones(found.shape, found.dtype)
            for one in (made, again) if found.size else ():
                found.read_direct(one)
            # Where nothing was written, and the file says nothing of it, h5py leaves what is in memory.
            return made if made.tobytes() == again.tobytes() or not found.size else None
    except Exception as error:
        return error


def _is_read(path: Path, name: str, want: Any) -> bool:
    """Whether h5py reads these values again."""
    got = by_h5py(path, name)
    return isinstance(got, np.ndarray) and got.astype(want.dtype).tobytes() == want.tobytes()


def main() -> None:
    faulthandler.enable()
    folder, numbers = Path(sys.argv[1]), map(int, sys.argv[2:])
    whole, path = folder / "whole.h5", folder / "damaged.h5"
    for number in numbers:
        d = random.Random(number)
        write(whole, number // 50)
        path.unlink(missing_ok=True)
        path.write_bytes(damaged(whole.read_bytes(), d))
        for name in NAMES:
            signal.alarm(SECONDS)
            print(number, name, "h5py", flush=True)
            want = by_h5py(path, name)
            print(number, name, "gofast", flush=True)
            try:
                got = np.asarray(gofast.ArrayDataset.from_hdf5(path, name, limits={"memory": 1 << 26})[:][0])
            except gofast.errors.GofastError as error:
                kind = type(error).__name__
                print(
                    number, name, "wrong" if kind == "InternalError" else "refused", kind, error, flush=True
                )
                continue
            if want is None:
                print(number, name, "unknown", flush=True)
            elif isinstance(want, np.ndarray):
                want = want.astype(want.dtype.newbyteorder("="))
                same = (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())
                # HDF5 may give what was in its memory, and the same once more by chance.
                known = same or all(_is_read(path, name, want) for _ in range(5))
                print(number, name, "same" if same else "wrong" if known else "unknown", flush=True)
            else:
                print(number, name, "wrong", repr(want)[:200], flush=True)


if __name__ == "__main__":
    main()

"""TokenDataset beside nanoGPT's ``get_batch``: numpy's memmap, ``astype(int64)`` and torch's collation."""

from __future__ import annotations

import copy
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

import gofast
from gofast import errors
from gofast._core.reason import Reason
from gofast._loader.native_dataset import resolve
from gofast.tokens import TokenDataset
from same import assert_same_loaders, difference

TYPES = ["uint8", "uint16", "uint32", "int8", "int16", "int32", "int64"]


class Windows(Dataset[Any]):
    """What people write."""

    def __init__(self, arrays: list[Any], block: int, stride: int) -> None:
        self.arrays, self.block = arrays, block
        self.at = [(a, i) for a, x in enumerate(arrays) for i in range(0, len(x) - block, stride)]

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Any:
        number, i = self.at[index]
        data, block = self.arrays[number], self.block
        x = torch.from_numpy((data[i : i + block]).astype(np.int64))
        y = torch.from_numpy((data[i + 1 : i + 1 + block]).astype(np.int64))
        return x, y


def tokens(d: random.Random, dtype: str, count: int) -> Any:
    """Any values of the type, with its ends."""
    made = np.frombuffer(d.randbytes(count * np.dtype(dtype).itemsize), dtype).copy()
    ends = np.iinfo(dtype)
    made[d.randrange(count)], made[d.randrange(count)] = ends.min, ends.max
    return made


def written(path: Path, array: Any, npy: bool = False, header: bytes = b"") -> Path:
    if npy:
        with open(path, "wb") as file:
            np.save(file, array)
    else:
        path.write_bytes(header + array.tobytes())
    return path


@pytest.mark.daily(30)
@pytest.mark.arrives("device")
@pytest.mark.parametrize("seed", range(40))
def test_random_files(seed: int, tmp_path: Path) -> None:
    d = random.Random(seed)
    dtype, block, npy = d.choice(TYPES), d.randint(1, 90), d.random() < 0.4
    stride = d.choice([1, block, d.randint(1, 200)])
    header = b"" if npy else bytes(d.choice([0, 0, 5, 1024]))
    arrays = [tokens(d, dtype, block + d.randint(1, 400)) for _ in range(d.randint(1, 3))]
    paths = [written(tmp_path / f"{i}.bin", a, npy, header) for i, a in enumerate(arrays)]
    told: dict[str, Any] = {} if npy or dtype == "uint16" else {"dtype": d.choice([dtype, np.dtype(dtype)])}
    ours = TokenDataset(
        d.choice([paths, str(tmp_path / "*.bin")]), block, stride=stride, offset=len(header), **told
    )
    there = [np.load(p) if npy else np.memmap(p, dtype, "r", offset=len(header)) for p in paths]
    theirs = Windows(there, block, stride)
    assert len(ours) == len(theirs) and not isinstance(resolve(ours), Reason)
    for i in {0, len(theirs) - 1, -1, d.randrange(len(theirs))}:
        assert difference(ours[i], theirs[i]) == ""
    assert_same_loaders(ours, theirs, batch_size=d.randint(1, 40), drop_last=d.random() < 0.3)


def test_batches_of_get_batch(tmp_path: Path) -> None:
    path = written(tmp_path / "train.bin", tokens(random.Random(1), "uint16", 5000))
    ours, data, block = TokenDataset(path, 64, stride=1), np.memmap(path, np.uint16, "r"), 64
    assert len(ours) == len(data) - block  # what nanoGPT draws from
    ix = torch.randint(len(data) - block, (12,))
    x = torch.stack([torch.from_numpy((data[i : i + block]).astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + block]).astype(np.int64)) for i in ix])
    (batch,) = gofast.DataLoader(Subset(ours, ix.tolist()), batch_size=12)
    assert difference(batch, [x, y]) == ""


def test_two_kinds_of_windows_do_not_mix(tmp_path: Path) -> None:
    path = written(tmp_path / "a.bin", tokens(random.Random(3), "uint16", 4000))
    mixed = ConcatDataset([TokenDataset(path, 50), TokenDataset(path, 51)])
    assert isinstance(resolve(mixed), Reason)


def test_copies_share_files_and_pickles_know_them(tmp_path: Path) -> None:
    array = tokens(random.Random(4), "uint16", 400)
    path = written(tmp_path / "a.bin", array)
    ours = TokenDataset(path, 30)
    assert copy.deepcopy(ours)._files[0] is ours._files[0]
    pickled = pickle.dumps(ours)
    written(path, array[:-1])
    with pytest.raises(errors.ChangedError, match="other tokens than when"):
        pickle.loads(pickled)


def test_what_is_said_of_it(tmp_path: Path) -> None:
    path = written(tmp_path / "a.bin", tokens(random.Random(4), "uint16", 400))
    ours = TokenDataset([path] * 5, 30, stride=4)
    assert repr(ours) == "TokenDataset(5 files: 465 samples of 30 tokens, stride=4)"
    assert (ours.block_size, ours.stride) == (30, 4)
    said = str(gofast.explain(ours))
    assert said.count("400 tokens of uint16, mapped where they lie in") == 3 and "2 more files" in said
    assert "Python" not in said
    with pytest.raises(AttributeError):
        ours.block_size = 3  # type: ignore[misc]


@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_a_file_that_is_written_to(loader: Any, tmp_path: Path) -> None:
    array = tokens(random.Random(5), "uint16", 4000)
    path = written(tmp_path / "a.bin", array)
    ours = TokenDataset(path, 50)
    batch = iter(loader(ours, batch_size=2))
    next(batch)
    with open(path, "r+b") as file:
        file.write(b"xx")
    os.utime(path, ns=(1, 1))  # some clocks count in steps
    with pytest.raises(errors.ChangedError, match="was written to since it was opened") as raised:
        list(batch)
    assert raised.value.path == str(path)
    with pytest.raises(errors.ChangedError):
        ours[0]


def test_a_file_that_is_replaced_stays_as_it_was(tmp_path: Path) -> None:
    array = tokens(random.Random(5), "uint16", 4000)
    path = written(tmp_path / "a.bin", array)
    ours = TokenDataset(path, 50)
    os.replace(written(tmp_path / "b.bin", array[::-1]), path)
    assert_same_loaders(ours, Windows([array], 50, 50))


def test_refused(tmp_path: Path) -> None:
    array = np.arange(100, dtype=np.uint16)
    path, odd, empty = written(tmp_path / "a.bin", array), tmp_path / "odd.bin", tmp_path / "empty.bin"
    odd.write_bytes(bytes(101))
    empty.write_bytes(b"")
    assert len(TokenDataset(path, 99)) == 1 and len(TokenDataset(odd, 99, dtype="uint8")) == 2 - 1
    for block in (0, -1, 1.5, "8", None, 1 << 31):
        with pytest.raises(errors.OptionError, match="block_size="):
            TokenDataset(path, block)  # type: ignore[arg-type]
    for option, value in (("stride", 0), ("offset", -1), ("stride", 2.0)):
        with pytest.raises(errors.OptionError, match=f"{option}="):
            TokenDataset(path, 8, **{option: value})  # type: ignore[arg-type]
    for dtype in ("uint64", "float32", ">u2", "tokens", bool, torch.uint64):
        with pytest.raises(errors.OptionError, match="dtype="):
            TokenDataset(path, 8, dtype=dtype)
    with pytest.raises(errors.SchemaError, match="100 tokens, and the first sample needs 101"):
        TokenDataset(path, 100)
    with pytest.raises(errors.SchemaError, match="0 tokens"):
        TokenDataset([path, empty], 8)
    with pytest.raises(errors.FormatError, match="101 bytes are no whole number of uint16"):
        TokenDataset(odd, 8)
    with pytest.raises(errors.FormatError, match="no whole number"):
        TokenDataset(path, 8, offset=1000)
    with pytest.raises(errors.NotFoundError):
        TokenDataset(tmp_path / "none.bin", 8)
    with pytest.raises(errors.NotFoundError, match="no file matches"):
        TokenDataset(str(tmp_path / "none*.bin"), 8)
    with pytest.raises(errors.ReadError, match="not a regular file"):
        TokenDataset(tmp_path, 8)
    with pytest.raises(errors.OptionError, match="is not a path"):
        TokenDataset(array, 8)  # type: ignore[arg-type]


def test_headers_of_llm_c_are_not_taken_for_tokens(tmp_path: Path) -> None:
    for magic, version, dtype in ((20240520, 1, "uint16"), (20240801, 7, "uint32")):
        array = tokens(random.Random(6), dtype, 300)
        header = np.zeros(256, np.int32)
        header[:3] = magic, version, len(array)
        path = written(tmp_path / "a.bin", array, header=header.tobytes())
        with pytest.raises(errors.FormatError, match=f'offset=1024, dtype="{dtype}"'):
            TokenDataset(path, 8)
        assert_same_loaders(TokenDataset(path, 8, offset=1024, dtype=dtype), Windows([array], 8, 8))
        path.write_bytes(path.read_bytes() + bytes(8))  # no header: its count is another
        assert len(TokenDataset(path, 8)) > 0


@pytest.mark.parametrize("length", [3, 9, 40, 127, 128, 200])
def test_npy_files_that_are_cut(length: int, tmp_path: Path) -> None:
    path = written(tmp_path / "a.npy", np.arange(300, dtype=np.uint16), npy=True)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises((errors.DamagedError, errors.FormatError)):  # without all of its magic it is none
        TokenDataset(path, 8)


def test_npy_files_of_other_things(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array in (np.zeros(99, np.float32), np.zeros(99, np.uint64), np.zeros(99, ">u2"), np.zeros(99, bool)):
        written(path, array, npy=True)
        with pytest.raises(errors.UnsupportedError, match="tokens of type"):
            TokenDataset(path, 8)
    written(path, np.zeros((9, 9), np.uint16), npy=True)
    with pytest.raises(errors.SchemaError, match="one long array"):
        TokenDataset(path, 8)
    written(path, np.zeros(99, np.uint16), npy=True)
    with pytest.raises(errors.SchemaError, match="was asked for"):
        TokenDataset(path, 8, dtype="uint32")
    with pytest.raises(errors.OptionError, match="drop offset="):
        TokenDataset(path, 8, offset=128)


def test_tokens_that_look_like_uint32_are_not_read_as_uint16(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "train.bin"
    for vocabulary in (50_257, 128_256, 1_000_000):
        rng.integers(0, vocabulary, 9000, np.uint32).tofile(path)
        with pytest.raises(errors.FormatError, match=r"uint32.*train\.bin|train\.bin.*uint32"):
            gofast.tokens.TokenDataset(path, 8)
        assert len(gofast.tokens.TokenDataset(path, 8, dtype="uint32")) == 1124
        assert len(gofast.tokens.TokenDataset(path, 8, dtype="uint16")) == 2249
    for vocabulary in (2, 65, 256, 50_257):  # of characters, bytes and words
        rng.integers(0, vocabulary, 9000, np.uint16).tofile(path)
        assert len(gofast.tokens.TokenDataset(path, 8)) == 1124
    np.zeros(9000, np.uint16).tofile(path)
    assert len(gofast.tokens.TokenDataset(path, 8)) == 1124

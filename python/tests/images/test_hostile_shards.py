"""Tar files that somebody made to hurt: the members that tarfile has, or an error with shard and offset."""

from __future__ import annotations

import gzip
import itertools
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gofast.webdataset as wds
from gofast import errors
from gofast._core.tfrecord_index import TFRecordIndex
from gofast._webdataset import decoding
from gofast._webdataset.members import base_plus_ext
from mutations import bounded
from tars import KEY, grouped, tar_bytes

SAMPLES = [{"jpg": bytes([i]) * 700, "cls": b"%d" % i} for i in range(3)]
WHOLE = tar_bytes(SAMPLES)  # samples of 2560 bytes, with headers at 0 and 1536
END = bytes(1024)
LONG = "n" * (1 << 16)


def header(name: str, size: int = 0, kind: bytes = b"0", link: str = "", more: bytes = b"") -> bytes:
    """A header with its checksum. A size that no digits say is in bytes."""
    told = b"%011o\0" % size if 0 <= size < 8**11 else bytes([0x80 | 0x7F * (size < 0)])
    if len(told) == 1:
        told += (size % (1 << 88)).to_bytes(11, "big")
    made = bytearray(512)
    for at, value in ((0, name.encode()), (100, b"0000644\0" + b"0000000\0" * 2), (124, told)):
        made[at : at + len(value)] = value
    made[136:148] = b"%011o\0" % 0
    made[148:157] = b" " * 8 + kind
    made[157 : 157 + len(link)] = link.encode()
    made[257:265] = b"ustar  \0"
    made[345 : 345 + len(more)] = more
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def pax(**records: str) -> bytes:
    """A header of pax records before a member."""
    text = b""
    for key, value in records.items():
        rest = f" {key}={value}\n".encode()
        length = len(rest) + len(str(len(rest) + 3))
        text += b"%d" % length + rest
    return pax_of(text)


def pax_of(text: bytes) -> bytes:
    return header("pax", len(text), b"x") + padded(text)


def sparse(real: int, stored: int = 0) -> bytes:
    """GNU's old form of a sparse member: 12 digits each, of parts (none), and of the size that it becomes."""
    told = b"%011o\0" % real if real < 8**11 else b"\x80" + real.to_bytes(11, "big")
    return header("00001.jpg", stored, b"S", more=bytes(41 + 96 + 1) + told)


def member(name: str, data: bytes) -> bytes:
    return header(name, len(data)) + padded(data)


def broken(at: int) -> bytes:
    made = bytearray(WHOLE)
    made[at] ^= 1
    return bytes(made)


def named(name: str) -> bytes:
    """A member with a name of GNU's long form."""
    text = name.encode() + b"\0"
    return header("././@LongLink", len(text), b"L") + padded(text) + member("short", b"1")


def linked(kind: bytes) -> bytes:
    """Members that are links to each other, in a circle."""
    a, b = header("00003.jpg", 0, kind, "00003.png"), header("00003.png", 0, kind, "00003.jpg")
    return WHOLE[:7680] + a + b + member("00004.jpg", b"4") + END


HUGE = 1 << 62
ONE = member("a.jpg", b"1")
SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.jpg"}
SPARSE["GNU.sparse.realsize"] = str(1 << 40)

# What a file has: the same as tarfile's members (None), or an error of both readers.
FILES: dict[str, tuple[Callable[[], bytes], type[errors.GofastError] | None]] = {
    "whole": (lambda: WHOLE, None),
    "a header broken in the middle": (lambda: broken(2560), errors.DamagedError),
    "cut in the last member": (lambda: WHOLE[:6000], errors.DamagedError),
    "cut in a header": (lambda: WHOLE[:2700], errors.DamagedError),
    "a name of 64 KiB, GNU": (lambda: tar_bytes(SAMPLES, tarfile.GNU_FORMAT, LONG), None),
    "a name of 64 KiB, pax": (lambda: tar_bytes(SAMPLES, tarfile.PAX_FORMAT, LONG), None),
    "a name of slashes": (lambda: named("/" * 500_000) + named("a." + "/a" * 500_000) + WHOLE, None),
    "a name of dots": (lambda: named("." * 500_000) + named("a" + "._" * 250_000) + WHOLE, None),
    "members of no bytes": (lambda: tar_bytes([{"jpg": b"", "cls": b"1"}] * 3), None),
    "hard links in a circle": (lambda: linked(b"1"), None),
    "symbolic links in a circle": (lambda: linked(b"2"), None),
    "a size below 0": (lambda: WHOLE[:2560] + header("00001.jpg", -512) + END, errors.DamagedError),
    "a size below 0, of no file": (lambda: header("z", -512, b"V") + WHOLE, errors.DamagedError),
    "a sparse member that leads back": (lambda: sparse(0, -512) + WHOLE, errors.DamagedError),
    "sizes beyond 63 bits": (lambda: b"".join(header(f"{i}.jpg", HUGE) for i in (1, 2)), errors.DamagedError),
    "a size of pax beyond 63 bits": (lambda: pax(size="9" * 30) + ONE + END, errors.DamagedError),
    "a size of pax below 0": (lambda: pax(size="-512") + ONE + END, errors.DamagedError),
    "much that nobody asked for": (lambda: header("__meta__", HUGE) + WHOLE, errors.DamagedError),
    "much of an unknown kind": (lambda: header("z", HUGE, b"V") + WHOLE, errors.DamagedError),
    "a long name without end": (lambda: header("l", HUGE, b"L") + WHOLE, errors.LimitError),
    "a long name of 1 GiB": (lambda: header("l", 1 << 30, b"L") + WHOLE, errors.LimitError),
    "a long name below 0": (lambda: header("l", -1024, b"L") + WHOLE, errors.LimitError),
    "pax records below 0": (lambda: header("l", -1024, b"x") + WHOLE, errors.LimitError),
    "a thousand headers": (lambda: pax(comment="c") * 1000 + WHOLE, errors.LimitError),
    "pax records of digits": (lambda: pax_of(b"1" * (1 << 20)) + WHOLE, errors.GofastError),
    "pax records in one another": (lambda: pax_of(b"5 ab\n" * 200_000 + b"=\n") + WHOLE, errors.DamagedError),
    "pax records that are none": (lambda: pax_of(b"9 path") + WHOLE, errors.DamagedError),
    "pax records without end": (lambda: pax_of(b"99 path=a.jpg\n") + WHOLE, errors.DamagedError),
    "a sparse member of terabytes": (lambda: sparse(1 << 40) + END, errors.GofastError),
    "a sparse member of terabytes, pax": (
        lambda: pax(**SPARSE) + member("GNUSparseFile.0/a.jpg", padded(b"0\n")) + END,
        errors.GofastError,
    ),
    "a sparse member without a map": (
        lambda: pax(**{"GNU.sparse.map": "x", "GNU.sparse.size": "1"}) + ONE + END,
        errors.GofastError,
    ),
    "nothing": (lambda: b"", errors.DamagedError),
    "no archive": (lambda: b"no archive" * 200, errors.DamagedError),
}  # fmt: skip


def by_index(path: Path) -> list[dict[str, bytes]]:
    """The samples that `from_tar` finds."""
    records = TFRecordIndex.of_tar(path, ["jpg", "cls"], "", False)
    columns = records.columns.items()
    found = [{name: records.contents(one, i) for name, one in columns} for i in range(records.count)]
    return [{name: content[0] for name, content in each.items() if content} for each in found]


def by_stages(path: Path) -> list[dict[str, bytes]]:
    """Those of gofast.webdataset."""
    samples = wds.WebDataset(str(path), shardshuffle=False, empty_check=False)
    return [{name: each[name] for name in ("jpg", "cls") if name in each} for each in samples]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_hostile_archives(name: str, packed: bool, tmp_path: Path) -> None:
    data, kind = FILES[name][0](), FILES[name][1]
    path = tmp_path / "a.tar"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    readers: list[Any] = [by_stages] if packed else [by_stages, by_index]
    for reader in readers:
        began = time.process_time()
        with bounded(name):
            if kind is None:
                theirs = grouped(WHOLE if name in SLOW else data)[0]
                want = [{k: v for k, v in one.items() if k in ("jpg", "cls")} for one in theirs]
                assert [one for one in reader(path) if one] == [one for one in want if one]
            else:
                with pytest.raises((kind, errors.LimitError) if packed else kind) as error:
                    reader(path)
                assert error.value.path == str(path) and error.value.offset is not None, error.value
                assert kind is not errors.GofastError or type(error.value) in _REFUSED
        assert time.process_time() - began < 3, name


SLOW = (
    "a name of slashes",
    "a name of dots",
)  # the pattern of the package, which the reference has, takes hours
_REFUSED = (errors.DamagedError, errors.LimitError, errors.UnsupportedError)


def test_a_packed_member_of_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    """Of 4 GiB in 4 MB, nothing is made."""
    path, part = tmp_path / "a.tar.gz", gzip.compress(bytes(64 << 20))
    with path.open("wb") as file:
        file.write(gzip.compress(header("a.jpg", 4 << 30)))
        file.writelines([part] * 64)
    with bounded(path), pytest.raises(errors.LimitError, match="unpack the shard") as error:
        list(wds.WebDataset(str(path), shardshuffle=False))
    assert error.value.path == str(path) and error.value.offset == 0


def test_a_member_that_is_packed_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(member("a.txt.gz", gzip.compress(bytes(5 << 20))) + END)
    pipeline = wds.WebDataset(str(path), shardshuffle=False).decode()
    assert len(next(iter(pipeline))["txt.gz"]) == 5 << 20
    monkeypatch.setattr(decoding, "MOST_MADE", 4 << 20)
    with pytest.raises(wds.DecodingError) as error:
        next(iter(pipeline))
    assert isinstance(error.value.__cause__, errors.LimitError)


def test_keys_are_those_of_the_pattern() -> None:
    """All names of 7 of these."""
    for letters in itertools.product("a./\n", repeat=7):
        found = KEY.match(name := "".join(letters))
        assert base_plus_ext(name) == ((found[1], found[2]) if found else (None, None)), name


def test_a_cycle_ends_with_any_handler(tmp_path: Path) -> None:
    """A handler that goes on would meet the same member for ever."""
    path, told = tmp_path / "a.tar", list[Exception]()
    path.write_bytes(WHOLE[:2560] + header("00001.png", -3072) + END)

    def handler(error: Exception) -> bool:
        told.append(error)
        return True

    samples = wds.WebDataset(str(path), shardshuffle=False, handler=handler)
    assert len(list(itertools.islice(samples, 9))) == 1 and "below 0" in str(told[0]) and len(told) == 1


def test_a_broken_stream_has_its_shard(tmp_path: Path) -> None:
    """What gzip and others raise has no type of ours, and no place."""
    whole = bytearray(gzip.compress(WHOLE))
    whole[-6] ^= 1  # of the checksum
    path = tmp_path / "a.tar.gz"
    path.write_bytes(whole)
    with pytest.raises(errors.DamagedError, match="CRC") as error:
        list(wds.WebDataset(str(path), shardshuffle=False))
    assert error.value.path == str(path) and error.value.offset is not None


def test_two_members_of_one_name_have_their_shard(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(member("a.jpg", b"1") + member("a.JPG", b"2") + END)
    for reader in (by_index, by_stages):
        with pytest.raises(
            errors.DamagedError, match="two members"
        ) as error:  # webdataset's is a ValueError too
            reader(path)
        assert error.value.path == str(path)

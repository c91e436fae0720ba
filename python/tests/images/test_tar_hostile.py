"""Changed tar files: the samples that tarfile sees, grouped as webdataset groups them, or an error."""

from __future__ import annotations

import io
import random
import tarfile
import warnings
from pathlib import Path

import pytest

from gofast import errors
from gofast._core.tfrecord_index import TFRecordIndex
from tars import grouped, tar_bytes

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
Members = list[dict[str, bytes]]


def whole(rng: random.Random) -> bytes:
    """A file of a random format, with long names, other kinds of members and headers for all members."""
    kind = rng.choice([*FORMATS.values()])
    stem = rng.choice(["", "ä", "d/", "a.b/c", "x" * 90 + "/y" * 8, "long" * 40 + "/", "__m__/"])
    samples = [
        {
            rng.choice(["jpg", "JPG", "jpg.gz"]): bytes([n]) * rng.choice([0, 1, 511, 512, 700]),
            "cls": b"%d" % n,
        }
        for n in range(rng.randint(1, 4))
    ]
    if kind == tarfile.USTAR_FORMAT:
        stem = stem.replace("long", "s")
    made = tar_bytes(samples, kind, stem)
    with tarfile.open(fileobj=(file := io.BytesIO(made)), mode="a", format=kind) as tar:
        for name in rng.sample(
            ["dir.jpg/", "__meta__", "z.jpg\n", "z.y/.jpg", "z/.jpg", "y..jpg", "y.", "none"], 3
        ):
            member = tarfile.TarInfo(name)
            member.type = rng.choice(
                [tarfile.REGTYPE, tarfile.CONTTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, b"V"]
            )
            if kind == tarfile.PAX_FORMAT:
                member.pax_headers = rng.choice(
                    [{}, {"comment": "x" * 600}, {"path": "p.jpg/"}, {"size": "3"}]
                )
            tar.addfile(member)
    return file.getvalue()


def changed(data: bytes, rng: random.Random) -> bytes:
    """The file with a few changes. Most headers keep a right checksum, so that what they say is read."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        block = 512 * rng.randrange(max(len(made) // 512, 1))
        at = block + rng.choice([rng.randrange(512), rng.randrange(100), rng.randrange(124, 136), 156, 482])
        match rng.randrange(9):
            case 0:
                del made[rng.randrange(len(made) + 1) :]
            case 1:
                made[block:block] = made[block : block + 512]
            case 2:
                del made[block : block + 512]
            case 3:
                made += rng.choice([data, bytes(512), bytes(700), b"x"])
            case 4:
                made[at : at + 1] = rng.choice([b"0", b"7", b"S", b"L", b"K", b"x", b"g", b"X", b"5", b"\0"])
            case 5:
                made[block + 156 : block + 157] = rng.choice([b"1", b"2", b"5", b"L", b"x", b"g", b"S", b"A"])
            case 6:
                sizes = [b"%011o\0" % rng.randrange(3000), b"\x80" + rng.randrange(3000).to_bytes(11, "big")]
                sizes += [b"\xff" * 12, b"-0000000002\0", b"777777777777", bytes(12), b" 7 " * 4]
                made[block + 124 : block + 136] = rng.choice([*sizes, b"\x80" + b"\xff" * 11])
            case _:
                made[at : at + 1] = rng.randbytes(1)
        if rng.random() < 0.9 and len(made) >= block + 512:
            made[block + 148 : block + 156] = b" " * 8
            made[block + 148 : block + 156] = b"%06o\0 " % sum(made[block : block + 512])
    return bytes(made)


def ours(path: Path, partial: bool) -> Members:
    """The samples of a file."""
    records = TFRecordIndex.of_tar(path, ["jpg", "cls"], "", partial)
    made: Members = []
    for record in range(records.count):
        each = {name: records.contents(column, record) for name, column in records.columns.items()}
        made.append({name: content[0] for name, content in each.items() if content})
    return made


def compare(seeds: range, path: Path) -> tuple[int, int]:
    """How many of the files are read, and how many are damaged."""
    read = damaged = 0
    for seed in seeds:
        rng = random.Random(seed)
        content = whole(rng)
        content = changed(content, rng) if seed % 8 else content
        path.write_bytes(content)
        theirs, ends = grouped(content)
        want = [{k: v for k, v in sample.items() if k in ("jpg", "cls")} for sample in theirs]
        try:
            got = ours(path, False)
        except errors.GofastError as error:
            assert error.path == str(path) and (error.offset is not None or "duplicate" in ends), (
                seed,
                error,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.GofastWarning)
                try:
                    got = ours(path, True)
                except errors.GofastError as other:
                    assert not isinstance(other, errors.DamagedError) or "Damaged" not in str(error), (
                        seed,
                        other,
                    )
                    continue
            damaged += 1
            assert got == want[: len(got)], seed
        else:
            read += 1
            assert got == want and not ends, (seed, ends)
    return read, damaged


def test_changed_files_have_tarfiles_samples_or_are_errors(tmp_path: Path) -> None:
    read, damaged = compare(range(600), tmp_path / "a.tar")
    assert read > 150 and damaged > 100, (read, damaged)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(1000, 5000), marks=pytest.mark.full),
        pytest.param(range(5000, 105_000), marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
    ids=len,
)
def test_many_changed_files(seeds: range, tmp_path: Path) -> None:
    compare(seeds, tmp_path / "a.tar")

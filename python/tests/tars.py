"""WebDataset's tar files, written and read by Python's tarfile: knows nothing of gofast."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")  # webdataset's
META = re.compile(r"__[^/]*__($|/)")  # likewise: names that it leaves out


def tar_bytes(
    samples: Sequence[Mapping[str, bytes]], kind: int = tarfile.GNU_FORMAT, stem: str = ""
) -> bytes:
    """A file of these samples, by suffix."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=kind) as tar:
        for i, sample in enumerate(samples):
            for suffix, content in sample.items():
                member = tarfile.TarInfo(f"{stem}{i:05}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def write_tar(
    path: Path, samples: Sequence[Mapping[str, bytes]], kind: int = tarfile.GNU_FORMAT, stem: str = ""
) -> None:
    """The same in a file of its own."""
    path.write_bytes(tar_bytes(samples, kind, stem))


def grouped(data: bytes) -> tuple[list[dict[str, bytes]], str]:
    """The samples of a file as webdataset groups them, and how reading ended but at the archive's end.

    tarfile ends without a word at a header that it cannot read: this says so too.
    """
    found: list[dict[str, bytes]] = []
    key, ends = None, ""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:  # "r|" reads until a huge member's end
            for number, member in enumerate(tar):
                if number == 1000:
                    return found, "a cycle: members of negative size"
                if not member.isreg() or META.match(member.name) or not (divided := KEY.match(member.name)):
                    continue
                if divided[1] != key:
                    found.append({})
                    key = divided[1]
                file, suffix = tar.extractfile(member), divided[2].lower()
                assert file is not None
                content = b"" if member.issparse() else file.read()
                if suffix in found[-1]:
                    return found, "duplicate"
                found[-1][suffix] = content
            rest = data[tar.offset :]
            if rest[:512].strip(b"\0") or len(rest[:512]) % 512 or rest.strip(b"\0"):
                ends = "something follows"
    except (tarfile.TarError, ValueError, OverflowError, RecursionError, IndexError) as error:
        ends = repr(error)
    return found, ends

"""Headers of tar files, by Python's tarfile, with bounds; what it passes over in silence is an error."""

from __future__ import annotations

import re
import tarfile
from typing import Any

from .. import errors

_MOST_HEADER = 1 << 20  # bytes of a long name, or of pax records, as of `from_tar`
_MOST_DIGITS = 1000  # side by side in pax records: tarfile took their square of time up to Python 3.12.5
_PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, *_PAX)


class Header(tarfile.TarInfo):
    """A header. Where tarfile would end a broken archive as if it were over, there is an error."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors_: str) -> Header:
        try:
            return super().frombuf(buf, encoding, errors_)
        except tarfile.HeaderError as error:
            if type(error).__name__ in ("EOFHeaderError", "EmptyHeaderError"):
                raise
            raise errors.DamagedError(f"a header of the tar file: {error}") from None

    def _proc_member(self, archive: Any) -> Any:
        """What the headers from this one on say: tarfile would read any number of bytes of them."""
        if self.type in _LONG and not 0 <= self.size <= _MOST_HEADER:
            said = f"a header of {self.size} bytes: a name has at most {_MOST_HEADER}"
            raise errors.LimitError(said)
        if self.type not in _PAX:
            return super()._proc_member(archive)  # type: ignore[misc]
        file = archive.fileobj
        records = file.read(-(-self.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE)
        _check_records(records, self.size)
        archive.fileobj = _Again(archive, records)
        try:
            return super()._proc_member(archive)  # type: ignore[misc]
        finally:
            archive.fileobj = file


class _Again:
    """An archive's file whose next bytes were read already."""

    def __init__(self, archive: Any, data: bytes) -> None:
        self._archive, self._file, self._data = archive, archive.fileobj, data

    def read(self, _: int) -> bytes:
        self._archive.fileobj = self._file
        return self._data


def _check_records(data: bytes, size: int) -> None:
    """Whether data are pax records, of so many bytes: what tarfile made of others depends on its version."""
    if re.search(rb"\d{%d}" % _MOST_DIGITS, data):
        raise errors.LimitError(f"pax records with {_MOST_DIGITS} digits side by side")
    at = 0
    while at < size:
        digits = data[at : at + 8].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        end = at + length
        if not len(digits) + 3 <= length <= size - at or data.find(b"=", at + len(digits) + 2, end) < 0:
            raise errors.DamagedError("broken pax records")
        if data[end - 1 : end] != b"\n":
            raise errors.DamagedError("broken pax records")
        at = end
    if data[size : size + 1].isdigit():
        raise errors.DamagedError("something stands behind the pax records")


def is_tar(head: bytes) -> bool:
    """Whether a file that begins so begins with a header."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.TarError:
        return False
    return True

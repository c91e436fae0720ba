"""Whether a file is still the same: gofast/source/stamp.go has the same in Go."""

from __future__ import annotations

import os
from typing import NamedTuple, TypedDict


class FileStamp(TypedDict):
    """The same as it crosses to Go and back."""

    Size: int
    MtimeNs: int
    CtimeNs: int
    ID: int


class Stamp(NamedTuple):
    """What any rewrite of a file changes. It says nothing on another machine, or of a copy."""

    size: int
    modified: int
    changed: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> Stamp:
        """The stamp of a file's state."""
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)

    @classmethod
    def crossed(cls, told: FileStamp) -> Stamp:
        """The stamp that Go told."""
        return cls(told["Size"], told["MtimeNs"], told["CtimeNs"], told["ID"])

    @property
    def content(self) -> tuple[int, int]:
        """What another name, or none, does not change, and what a careful copy keeps."""
        return self.size, self.modified

    def crossing(self) -> FileStamp:
        """The stamp for Go."""
        size, modified, changed, inode = self
        return {"Size": size, "MtimeNs": modified, "CtimeNs": changed, "ID": inode}

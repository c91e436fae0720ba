"""WebDataset's tar files, written by Python's tarfile: knows nothing of gofast."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_tar(
    path: Path, samples: Sequence[Mapping[str, bytes]], kind: int = tarfile.GNU_FORMAT, stem: str = ""
) -> None:
    """A file of these samples, by suffix."""
    with tarfile.open(path, "w", format=kind) as tar:
        for i, sample in enumerate(samples):
            for suffix, content in sample.items():
                member = tarfile.TarInfo(f"{stem}{i:05}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))

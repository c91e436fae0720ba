"""Pictures in Ray Data: files travel, and become batches where they are needed.

JPEGs in Ray's object store take a fifth of their pixels. So read files (``ray.data.read_binary_files``, or a
column of bytes in Parquet), and decode late: in the trainer by `Collate`, or in tasks by `Decode`. Nothing is
imported of Ray before `Collate` is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._ray_decode import Decode, seed_of

if TYPE_CHECKING:
    from ._ray_collate import Collate

__all__ = ["Collate", "Decode", "seed_of"]


def __getattr__(name: str) -> Any:
    if name == "Collate":
        from ._ray_collate import Collate

        return Collate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

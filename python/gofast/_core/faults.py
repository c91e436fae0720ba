"""What the core can say is wrong with a sample."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """The codes of gofast/internal/fault/fault.h."""

    NONE = 0
    READ = 1
    FORMAT = 2
    UNSUPPORTED = 3
    LIMIT = 4
    MEMORY = 5
    CHANGED = 6
    CROP = 7

"""Counts the changes that samples may depend on."""

from __future__ import annotations


class Changes:
    """How many times an attribute of any gofast dataset was set. One comparison shows that none was."""

    def __init__(self) -> None:
        self.count = 0


changes = Changes()

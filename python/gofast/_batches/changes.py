"""How often anything was changed that samples may depend on."""

from __future__ import annotations


class Changes:
    """How often an attribute of any dataset of ours was set: one comparison tells that none was."""

    def __init__(self) -> None:
        self.count = 0


changes = Changes()

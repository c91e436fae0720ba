"""What a user may say of a table's label. Needs no torch: it stands in the signature of `gofast.convert`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

Label = str | int | Sequence[str | int] | None


class DefaultLabel(str):
    """A default that differs from the same text given by the user."""


DEFAULT_LABEL: Final[str] = DefaultLabel("label")

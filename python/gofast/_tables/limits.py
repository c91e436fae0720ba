"""Limits on what an untrusted file may ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from .. import errors
from .._core.arguments import whole


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits on what an untrusted file may ask for. ``None`` means the default.

    Attributes:
        memory: maximum bytes that decoding and the decoded table hold at once;
            default half of what is available. With ``cache=`` the table itself
            lies in the cache's files and does not count.
        columns: maximum number of columns; default 65,536.
        metadata: maximum bytes of a header or footer; default 64 MiB.
        page: maximum bytes of a decompressed Parquet page; default 256 MiB.
        cell: maximum bytes of a text cell or CSV line; default 16 MiB.
    """

    memory: int | None = None
    columns: int | None = None
    metadata: int | None = None
    page: int | None = None
    cell: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                object.__setattr__(self, name, whole(1)(name, value))

    @classmethod
    def of(cls, limits: Limits | Mapping[str, int] | None) -> Limits:
        """The limits that a user gives as ``limits=``."""
        if limits is None or isinstance(limits, Limits):
            return limits or cls()
        try:
            return cls(**limits)
        except TypeError:
            names = ", ".join(field.name for field in dataclasses.fields(cls))
            said = f"limits={limits!r}: give gofast.typing.Limits, or a dict; the limits are {names}"
            raise errors.OptionError(said) from None

    def as_config(self) -> dict[str, int]:
        """The limits that are set."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

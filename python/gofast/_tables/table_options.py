"""The options of all datasets and streams of tables: which files, and how they are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from inspect import signature
from typing import Any

from .._core import engine
from .._core.arguments import OptionGroup
from .._core.numbers import DType, rounded_to, torch_dtype
from .._core.table_operations import Selection, Sources
from .._loader.classes import LabelType, numbered
from .codings import categorized, counted
from .column_options import Header, selection
from .features import Column, FillValue
from .label_option import DEFAULT_LABEL, Label
from .limits import Limits
from .sources import Path, given
from .texts import text_options


@dataclasses.dataclass(frozen=True)
class TableOptions(OptionGroup):
    """Checked, as far as that needs no file. :class:`gofast.TableDataset` explains each of them.

    Raises:
        OptionError: an option makes no sense.
    """

    path: Path | Iterable[Path]
    label: Label = DEFAULT_LABEL
    label_type: LabelType = "auto"
    classes: Any = None
    header: Header = "auto"
    columns: Sequence[str | int] | None = None
    exclude: Column | Sequence[Column] | None = None
    fill_value: FillValue = None
    categories: Any = None
    dates: Any = None
    text: Any = None
    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    skiprows: int = 0
    dtype: DType = "float32"
    cache: Path | None = None
    threads: int | None = None
    limits: Any = None

    def __post_init__(self) -> None:
        own = {
            "path": given(self.path),
            "classes": None if self.classes is None else numbered(self.classes),
            "categories": categorized(self.categories),
            "dates": counted(self.dates),
            "text": text_options(self.text),
            "dtype": torch_dtype(self.dtype),
            "limits": Limits.of(self.limits),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def selection(self) -> Selection:
        """What shapes the decoded table, in the form that the engine takes."""
        return selection(**{name: getattr(self, name) for name in _SELECTING})

    def sources(self, paths: list[str]) -> Sources:
        """The whole request for the engine, of these files."""
        return {
            "paths": paths,
            "texts": [{"column": name, "missing": one.missing} for name, one in self.text.items()],
            "rounds": rounded_to(self.dtype),
            "threads": engine.threads(self.threads),
            "limits": self.limits.as_config(),
            **self.selection(),
        }


_SELECTING = tuple(signature(selection).parameters)  # looked up once: it takes 0.1 ms

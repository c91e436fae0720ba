"""Types that signatures, and so ``help()``, name: for annotations of your own.

Example:
    >>> from gofast.typing import Label
    >>> def opened(path: str, label: Label) -> gofast.TableDataset:
    ...     return gofast.TableDataset(path, label=label)
"""

from __future__ import annotations

from ._core.numbers import DType
from ._core.patterns import Paths
from ._doctor.report import DoctorReport
from ._doctor.verdicts import Remedy, Verdict
from ._images.bad_samples import BadSample, OnError
from ._images.options import Rng
from ._lazy.lazy_image import LazyImage
from ._loader.batch_explanation import BatchExplanation
from ._loader.batch_source import Output, Parameters
from ._loader.batch_types import (
    DictForm,
    Function,
    Given,
    LabelTransform,
    Picture,
    ReturnPath,
    SampleOf,
    Samples,
    TargetTransform,
    Texts,
    Transform,
    TupleForm,
)
from ._loader.classes import Classes, LabelType
from ._loader.core_dataset import IntArray
from ._loader.explain import Explanation
from ._loader.length_grouped import HasLengths
from ._loader.order import Even
from ._loader.trace import Trace
from ._tables.array_memory import Array
from ._tables.codings import Categories, Dates, Unit
from ._tables.column_options import Header
from ._tables.features import Column, FillValue
from ._tables.label_option import Label
from ._tables.limits import Limits
from ._tables.scale import Scale
from ._tables.sources import Path
from ._tables.statistics import Numbers
from ._tables.texts import TextOption
from .installed import Installed
from .iterable import HDF5Stream, TableStream
from .table_pictures import TablePictures

__all__ = [
    "Array",
    "BadSample",
    "BatchExplanation",
    "Categories",
    "Classes",
    "Column",
    "DType",
    "Dates",
    "DictForm",
    "DoctorReport",
    "Even",
    "Explanation",
    "FillValue",
    "Function",
    "Given",
    "HDF5Stream",
    "HasLengths",
    "Header",
    "Installed",
    "IntArray",
    "Label",
    "LabelTransform",
    "LabelType",
    "LazyImage",
    "Limits",
    "Numbers",
    "OnError",
    "Output",
    "Parameters",
    "Path",
    "Paths",
    "Picture",
    "Remedy",
    "ReturnPath",
    "Rng",
    "SampleOf",
    "Samples",
    "Scale",
    "TablePictures",
    "TableStream",
    "TargetTransform",
    "TextOption",
    "Texts",
    "Trace",
    "Transform",
    "TupleForm",
    "Unit",
    "Verdict",
]

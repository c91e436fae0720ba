"""What type checkers know of samples and batches, from the options that a dataset and a loader are given.

A type parameter of the class holds what matters of an option, and an overload looks at it. So no signature
is written twice. What was not said where the object was made is not known: a plain ``DataLoader`` in an
annotation says nothing of its batches, which are Any then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, final

from torch import Tensor

from .batch_source import Output

AnyOptions = tuple[Output, Any, Any, Any]  # types of output, transform, target_transform and text
AnyFunction = Callable[[list[Any]], Any] | None

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # it knows defaults; torch needs it too

    # Of classes. The defaults are what a class says by itself, in an annotation or as a base: nothing.
    Options = TypeVar("Options", bound=tuple[object, Any, Any, Any], covariant=True, default=AnyOptions)
    Sample = TypeVar("Sample", default=Any)
    Collate = TypeVar("Collate", covariant=True, default=AnyFunction)
    Item = TypeVar("Item", covariant=True)

    # The types of one call of __init__, which finds what those of the class are.
    DictForm = TypeVar("DictForm", bound=Output, default=Literal["dict"])
    TupleForm = TypeVar("TupleForm", bound=Output, default=Literal["tuple"])
    Transform = TypeVar("Transform", bound=Callable[[Tensor], Any] | None, default=None)
    TargetTransform = TypeVar("TargetTransform", bound=Callable[[Tensor], Any] | None, default=None)
    Texts = TypeVar("Texts", bound=str | Sequence[str] | Mapping[str, Any] | None, default=None)
    Given = TypeVar("Given", default=Any)
    Function = TypeVar("Function", bound=AnyFunction, default=None)
    Made = TypeVar("Made")
else:  # what signatures name at run time: plain types
    from typing import TypeVar

    Options, Sample, Item = TypeVar("Options"), TypeVar("Sample"), TypeVar("Item")
    Collate = Sample  # a DataLoader has torch's one parameter
    DictForm = TupleForm = Output
    Transform = TargetTransform = Callable[[Tensor], Any] | None
    Texts = str | Sequence[str] | Mapping[str, Any] | None
    Given, Function, Made = Any, AnyFunction, Any


@final
class Unknown:
    """Any fits this type, and nothing else does."""


class Samples(Protocol[Item]):
    """What a DataLoader takes: torch's datasets, of whatever samples."""

    def __getitem__(self, index: Any, /) -> Item: ...


class Collating(Generic[Collate]):
    """Has the type of a loader's collate function as its parameter. Base class."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types):
            return super().__class_getitem__(types[0] if isinstance(types, tuple) else types)

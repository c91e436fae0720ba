"""What type checkers know of samples and batches, from the options that a dataset and a loader are given.

A type parameter of the class holds what matters of an option, and an overload looks at it. So no signature
is written twice. torch's Subset and random_split hand on only the type of a dataset's samples: there, that is
a `SampleOf` its options. What was not said where the object was made is not known: a plain ``DataLoader`` in
an annotation says nothing of its batches, which are Any then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, final, overload

from torch import Tensor

from .batch_source import Output

AnyOptions = tuple[Output, Any, Any, Any]  # types of output, transform, target_transform and text
AnyFunction = Callable[[list[Any]], Any] | None

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar  # it knows defaults; torch needs it too

    # Of classes. The defaults are what a class says by itself, in an annotation or as a base: nothing.
    Options = TypeVar("Options", bound=tuple[object, Any, Any, Any], covariant=True, default=AnyOptions)
    Sample = TypeVar("Sample", default=Any)
    Kind = TypeVar("Kind", covariant=True, default=Any)  # a SampleOf
    Source = TypeVar("Source", covariant=True, default=Any)
    Collate = TypeVar("Collate", covariant=True, default=AnyFunction)
    Item = TypeVar("Item", covariant=True)

    # The types of one call of __init__, which finds what those of the class are.
    DictForm = TypeVar("DictForm", bound=Output, default=Literal["dict"])
    TupleForm = TypeVar("TupleForm", bound=Output, default=Literal["tuple"])
    Transform = TypeVar("Transform", bound=Callable[[Tensor], Any] | None, default=None)
    TargetTransform = TypeVar("TargetTransform", bound=Callable[[Tensor], Any] | None, default=None)
    Texts = TypeVar("Texts", bound=str | Sequence[str] | Mapping[str, Any] | None, default=None)
    Picture = TypeVar("Picture", default=Any)
    LabelTransform = TypeVar("LabelTransform", bound=Callable[[Any], Any] | None, default=None)
    ReturnPath = TypeVar("ReturnPath", Literal[False], Literal[True], bool, default=Literal[False])
    Known = TypeVar("Known", covariant=True)
    Given = TypeVar("Given", bound="Samples[Any]", default=Any)
    Function = TypeVar("Function", bound=AnyFunction, default=None)
    Made = TypeVar("Made")
else:  # what signatures name at run time: plain types
    from typing import TypeVar

    Options, Sample, Item, Kind = map(TypeVar, ("Options", "Sample", "Item", "Kind"))
    Source = Collate = Sample  # a DataLoader has torch's one parameter
    DictForm = TupleForm = Output
    Transform = TargetTransform = Callable[[Tensor], Any] | None
    Texts = str | Sequence[str] | Mapping[str, Any] | None
    Picture, LabelTransform, ReturnPath = Any, Callable[[Any], Any] | None, bool
    Given, Function, Made = Any, AnyFunction, Any


@final
class Unknown:
    """Any fits this type, and nothing else does."""


class Samples(Protocol[Item]):
    """What a DataLoader takes: torch's datasets, of whatever samples."""

    def __getitem__(self, index: Any, /) -> Item: ...


if TYPE_CHECKING:
    ToNumber = Callable[[Any], Tensor | float] | None

    class Collating(Generic[Source, Collate]):
        """Has the types of a loader's dataset and of its collate function as its parameters. Base class."""

    class SampleOf(Any, Generic[Known]):  # type: ignore[misc]
        """A sample of a dataset with these options: Any to everybody but a gofast.DataLoader."""

    class Batches(Generic[Known]):
        """An iterator over the batches of a dataset with these options.

        Those of rows are a tuple of four, see `AnyOptions`. Those of pictures are three: types of output,
        of picture and target_transform, and of return_path.
        """

        def __iter__(self) -> Self: ...
        @overload
        def __next__(
            self: Batches[Unknown]
            | Batches[tuple[Unknown, object, object, object]]
            | Batches[tuple[object, Unknown, object, object]]
            | Batches[tuple[object, object, Unknown, object]]
            | Batches[tuple[object, object, object, Unknown]]
            | Batches[tuple[Unknown, object, object]],
        ) -> Any: ...
        @overload
        def __next__(
            self: Batches[tuple[Literal["tuple"], tuple[Unknown, object], object]]
            | Batches[tuple[Literal["tuple"], tuple[object, Unknown], object]]
            | Batches[tuple[Literal["tuple"], tuple[object, Callable[[Any], Unknown]], object]],
        ) -> list[Any]: ...
        @overload
        def __next__(
            self: Batches[tuple[Literal["dict"], tuple[Unknown, object], object]]
            | Batches[tuple[Literal["dict"], tuple[object, Unknown], object]]
            | Batches[tuple[Literal["dict"], tuple[object, Callable[[Any], Unknown]], object]],
        ) -> dict[str, Any]: ...
        @overload
        def __next__(
            self: Batches[tuple[Literal["tuple"], None, None, None]]
            | Batches[tuple[Literal["tuple"], tuple[Tensor, ToNumber], Literal[False]]],
        ) -> list[Tensor]: ...
        @overload
        def __next__(
            self: Batches[tuple[Literal["dict"], None, None, None]]
            | Batches[tuple[Literal["dict"], tuple[Tensor, ToNumber], Literal[False]]],
        ) -> dict[str, Tensor]: ...
        @overload
        def __next__(self: Batches[tuple[Literal["tuple"], object, object]]) -> list[Any]: ...
        @overload
        def __next__(self: Batches[tuple[Literal["dict"], object, object]]) -> dict[str, Any]: ...
        @overload
        def __next__(self) -> Any: ...
        def __next__(self) -> Any: ...

    class NamedFields(Protocol):
        """A NamedTuple, which torch collates to one."""

        def _asdict(self) -> dict[str, Any]: ...

else:

    class Collating(Generic[Collate]):
        def __class_getitem__(cls, types):
            return super().__class_getitem__(types[0] if isinstance(types, tuple) else types)

    class SampleOf:
        def __class_getitem__(cls, options):
            return Any

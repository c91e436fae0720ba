"""v2's Compose, called with a late picture and its target: the end of the picture is one native call.

From the conversion to a tensor on, torchvision's own transforms are called with a small picture in place of
the late one. Those that may stand there ask no picture for its size or its values. What they make of it says
what they would have made of the late one. Where the core makes something else of it, the late one is theirs.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from PIL import Image

from .._core import codecs, generators
from .._core.signals import by_handler
from .._late import chain as chains
from .._late.opened_image import LateMaking
from .._late.picture import LateImage
from .._late.source import SourceState
from .._loader.places import empty
from .._plan import transforms
from .._plan.compile import compile_chain
from .._plan.state import State
from . import draws
from .core_pictures import CorePictures
from .late_program import MOST_PIXELS
from .picture_files import BatchFiles
from .unchanged import Unchanged

_CONVERTERS = ("PILToTensor", "ToImage")
_FLIPS = ("RandomHorizontalFlip", "RandomVerticalFlip")
# Classes of v2 that do nothing to a picture or what the core does, and what their instances have.
_BLIND = {
    "PILToTensor": frozenset[str](),
    "ToImage": frozenset[str](),
    "ToPureTensor": frozenset[str](),
    "ToDtype": frozenset(["dtype", "scale"]),
    "ConvertImageDtype": frozenset(["dtype"]),
    "Normalize": frozenset(["mean", "std", "inplace"]),
    "RandomHorizontalFlip": frozenset(["p"]),
    "RandomVerticalFlip": frozenset(["p"]),
    "ClampBoundingBoxes": frozenset(["clamping_mode"]),
    "ConvertBoundingBoxFormat": frozenset(["format"]),
    "SanitizeBoundingBoxes": frozenset(["min_size", "min_area", "labels_getter", "_labels_getter"]),
}
# What may stand beside the picture. numpy's arrays are pictures to ToImage, and tv_tensors.Image to all.
_SIMPLE = (str, int, float, bool, type(None))
_TARGETS = ("BoundingBoxes", "KeyPoints", "Mask")
_OF_BOXES = ("ClampBoundingBoxes", "ConvertBoundingBoxFormat", "SanitizeBoundingBoxes")

_SIZE = _WIDTH, _HEIGHT = 3, 2
_PIXELS = bytes(value for grey in range(0, 180, 30) for value in (grey, grey + 31, grey + 75, 255))
_TURNS = (b"", chains.turn(0), chains.turn(1), chains.turn(0) + chains.turn(1))
_MOST_DEEP = 4  # containers in one another

Call = tuple[Any, ...]


class _Place(NamedTuple):
    """Where the late picture stands in what a Compose is called with.

    Attributes:
        around: the arguments, or the only one.
        key: of the picture in it.
        others: there are other PIL images.
    """

    around: Any
    key: Any
    others: bool

    def holding(self, value: Any, around: Any = None) -> Any:
        """The same with something else in its place."""
        around = self.around if around is None else around
        if type(around) is dict:
            return {**around, self.key: value}
        values = [*around]
        values[self.key] = value
        return type(around)(values)


def holds_late(inputs: Call) -> bool:
    """Whether there is a late picture among these, or in one of them."""
    for each in inputs:
        values = each.values() if type(each) is dict else each if type(each) in (tuple, list) else (each,)
        if any(type(value) is LateImage for value in values):
            return True
    return False


class _Program:
    """What the core makes numbers of one kind with.

    Attributes:
        kind: of its tensors.
    """

    def __init__(self, core: CorePictures, kind: type, last: bool) -> None:
        self._core, self.kind, self._last = core, kind, last
        self._dtype: torch.dtype = getattr(torch, core.plan.dtype)
        small = [self.made((_PIXELS + codecs.SLACK, *_SIZE, turn), _SIZE) for turn in _TURNS]
        self._small = [None if each is None else each.as_subclass(torch.Tensor) for each in small]
        pairs = itertools.combinations([each for each in self._small if each is not None], 2)
        if any(torch.equal(one, other) for one, other in pairs):  # numbers too coarse to tell a turn
            self._small = []

    def turn(self, small: torch.Tensor) -> bytes | None:
        """How torchvision has turned what it has made of the small picture; None: that is something else."""
        for turn, ours in zip(_TURNS, self._small):  # noqa: B905 - or none
            if ours is None or (small.stride(), small.dtype) != (ours.stride(), ours.dtype):
                continue
            if torch.equal(small, ours):
                return turn
        return None

    def made(self, picture: tuple[bytes, int, int, bytes], size: tuple[int, int]) -> torch.Tensor | None:
        """The pixels of a picture as numbers, with torchvision's strides; None where it must do it."""
        width, height = size
        if self._last or self.kind is not torch.Tensor:
            shape = (height, width, 3) if self._last else (3, height, width)
            made = torch.empty(shape, dtype=self._dtype, device="cpu")
        else:
            made = empty((3, height, width), self._dtype)  # as a batch will have it
        code, _ = codecs.capsule().make_numbers(picture, self._core.address, width, height, made.data_ptr())
        if code:
            return None
        made = made.permute(2, 0, 1) if self._last else made
        return made if self.kind is torch.Tensor else self.kind(made)


class WithTargets:
    """A Compose of v2 with all that it is called with.

    Args:
        compose: it has these members for as long as `is_of` says so.

    Attributes:
        ends: whether a picture may end natively.
    """

    def __init__(self, compose: Any) -> None:
        self._chain = transforms.sequence(compose.transforms) or []
        at = next((i for i, each in enumerate(self._chain) if _name(each) in _CONVERTERS), len(self._chain))
        end = at
        while end < len(self._chain) and _name(self._chain[end]):
            end += 1
        self._before: list[Any] = self._chain[:at]
        self._end: list[Any] = self._chain[at:end]
        self._rest: list[Any] = self._chain[end:]
        self.ends = bool(self._end)
        self._compile()

    def is_of(self, compose: Any) -> bool:
        """Whether the Compose still has the same members."""
        now = transforms.sequence(compose.transforms) or []
        return len(now) == len(self._chain) and all(map(operator.is_, now, self._chain))

    def __call__(self, inputs: Call) -> tuple[Any, bool]:
        """What the Compose makes of these, and whether the core has made the picture."""
        several = len(inputs) > 1
        inputs = _called(self._before, inputs, several)
        if not self._unchanged():  # perhaps by one of the first members
            self._compile()
        place = _place(inputs) if self._programs else None
        made = None if place is None else self._natively(place, several)
        inputs = _called(self._end, inputs, several) if made is None else made
        inputs = _called(self._rest, inputs, several)
        return inputs if several else inputs[0], made is not None

    def _natively(self, place: _Place, several: bool) -> Call | None:
        picture: LateImage = place.around[place.key]
        late = picture._look() if min(picture.size) > 1 else None
        if late is None:
            return None
        generator = generators.of_thread()
        before = generator.get_state() if self._draws else None
        try:
            made = self._made(place, several, late, picture.size)
        except Exception as error:  # torchvision raises it again, or what comes earlier
            if by_handler(error):
                raise
            made = None
        if made is None and before is not None:
            generator.set_state(before)
        return made

    def _made(self, place: _Place, several: bool, late: LateMaking, size: tuple[int, int]) -> Call | None:
        # Without other PIL images the conversion is the picture's only.
        small, end = (_small(), self._end) if place.others else (self._small, self._end[1:])
        holding = _renewed(place.holding(small))
        outputs = _called(end, holding if several else (holding,), several)
        around = outputs if several else outputs[0]
        if type(around) is not type(place.around):
            return None
        small = around[place.key]
        plain = small.as_subclass(torch.Tensor)
        for program in self._programs:
            turn = program.turn(plain) if type(small) is program.kind else None
            if turn is None:
                continue
            held, data = late.source.held()
            picture = None if held is None else (data, *held, late.chain + turn)
            made = None if picture is None else program.made(picture, size)
            if made is None:
                return None
            late.source.state = SourceState.NATIVE
            around = place.holding(made, around)
            return around if several else (around,)
        return None

    def _compile(self) -> None:
        """Finds out what the end makes of pictures."""
        from torchvision import tv_tensors

        self._unchanged = Unchanged(self._end)
        self._programs: list[_Program] = []
        names = [*map(_name, self._end)]
        if not self._end or not all(names) or transforms.environment() is not None:
            return
        self._draws = any(name in _FLIPS for name in names)
        self._small = self._end[0](_small())
        of_picture = [each for each in map(_resolved(), self._end) if each is not None]
        start = State(size=(_HEIGHT, _WIDTH))
        plan = compile_chain(of_picture, start, handed=True, drawn=draws.rounding() is not None)
        if plan.rest or plan.hands_over == "pil" or plan.draws or plan.shape is None:
            return
        kind = torch.Tensor if plan.hands_over == "tensor" else tv_tensors.Image
        for last in (False, True):
            core = CorePictures(BatchFiles(1, paths=False), plan, plan.shape, last, MOST_PIXELS)
            self._programs.append(_Program(core, kind, last))


@functools.cache
def _small() -> Image.Image:
    """A picture of two rows that looks another way when it is turned."""
    return Image.frombytes("RGB", _SIZE, _PIXELS, "raw", "RGBX")


def _place(inputs: Call) -> _Place | None:
    """Where the only late picture is; None where torchvision must be given it."""
    around = inputs if len(inputs) > 1 else inputs[0]
    if type(around) not in (tuple, list, dict):
        return None
    items = [*(around.items() if type(around) is dict else enumerate(around))]
    keys = [key for key, value in items if _is_picture(value)]
    if len(keys) != 1:
        return None
    at = [key for key, _ in items].index(keys[0])
    if not all(type(value) in _SIMPLE for _, value in items[:at]):
        return None  # of several pure tensors the first is transformed
    others = _pictures_in([value for _, value in items[at + 1 :]])
    return None if others is None else _Place(around, keys[0], others > 0)


def _is_picture(value: Any) -> bool:
    return type(value) is LateImage and value.mode == "RGB"


def _pictures_in(value: Any, deep: int = 0) -> int | None:
    """How many PIL images; None where there is anything that may be the picture to transform, or unknown."""
    kind = type(value)
    if (
        kind in _SIMPLE
        or kind is torch.Tensor
        or (kind.__name__ in _TARGETS and kind.__module__.startswith("torchvision.tv"))
    ):
        return 0
    if kind in (tuple, list, dict) and deep < _MOST_DEEP:
        count = 0
        for each in value.values() if kind is dict else value:
            inner = _pictures_in(each, deep + 1)
            if inner is None:
                return None
            count += inner
        return count
    return 1 if isinstance(value, Image.Image) and not _is_picture(value) else None


def _renewed(value: Any) -> Any:
    """The same values in other containers, as every transform of v2 gives them."""
    kind = type(value)
    if kind is dict:
        return {key: _renewed(each) for key, each in value.items()}
    return kind(map(_renewed, value)) if kind in (tuple, list) else value


def _name(transform: Any) -> str:
    """Of one that may be called with a small picture; "" of others."""
    known = transforms.identify(transform)
    if known is None or known.family != "v2" or transforms.tampered(transform) is not None:
        return ""
    has = _BLIND.get(known.name)
    if has is None or not transforms.attributes(transform) <= has:
        return ""
    asks = getattr(transform, "labels_getter", None)  # code of the user's, which is given the picture
    return known.name if asks in (None, "default") else ""


def _called(members: list[Callable[..., Any]], inputs: tuple[Any, ...], several: bool) -> tuple[Any, ...]:
    """As Compose calls them."""
    for transform in members:
        made = transform(*inputs)
        inputs = made if several else (made,)
    return inputs


def _resolved() -> Callable[[Any], Any]:
    """A function that says in turn what each member is to the picture; None: it does nothing, or was seen."""
    from torchvision import tv_tensors

    kind: type = torch.Tensor

    def of(transform: Any) -> Any:
        nonlocal kind
        name = _name(transform)
        if name in _FLIPS or name in _OF_BOXES:
            return None
        kind = {"ToImage": tv_tensors.Image, "ToPureTensor": torch.Tensor}.get(name, kind)
        if name != "ToDtype" or type(transform.dtype) is not dict:
            return transform
        dtype = transform.dtype.get(kind, transform.dtype.get("others"))
        return None if dtype is None else type(transform)(dtype, transform.scale)

    return of

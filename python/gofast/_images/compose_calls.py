"""torchvision's Compose and presets, called with a lazy image: the plan is run by one native call.

A user's own class may hold several Compose objects, one for each crop that it makes of a picture. No dataset
sees those. Once there are lazy images, Compose looks whether it is given one.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch

from .._core import reason
from .._core.reason import Reason, timed
from .._lazy import functions
from .._lazy.array_images import SMALL, LazyArrayImage, untouched
from .._lazy.lazy_image import LazyImage
from .._lazy.opened_image import LazyFactory
from .._lazy.patches import Patches
from .._lazy.source import PixelSource
from .._plan import transforms
from .._plan.compile import Plan, compile
from .._plan.content import content
from .._plan.state import State
from . import conversions, direct_readers, path_cache, picture_draws
from .lazy_program import LazyProgram
from .picture_programs import PictureProgram, RecordingProgram
from .plan_stamp import PlanStamp
from .recorded_parts import RecordedPart, in_parts
from .recorded_steps import can_be_recorded
from .suffix import SizedPrograms, Suffix, makes_tensors

counts = {"native": 0, "python": 0}


def _is_itself(compose: Any) -> bool:
    """Whether it is equal to nothing else, by which a plan is found again."""
    kind: Any = type(compose)
    return kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__


def _looking(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(self: Any, *inputs: Any, **named: Any) -> Any:
        if len(inputs) == 1 and not named and type(inputs[0]) in (LazyImage, LazyArrayImage):
            made = _natively(self, inputs[0], own)
            if made is not None:
                return made[0]
        return own(self, *inputs, **named)

    return call


_places = Patches(
    {
        "torchvision.transforms.transforms:Compose.__call__": _looking,
        "torchvision.transforms.v2._container:Compose.forward": _looking,
        "torchvision.transforms._presets:ImageClassification.forward": _looking,
    }
)


def follow() -> None:
    """Lets each Compose that is imported by now, and Pillow's functions, look for lazy images."""
    functions.follow()
    conversions.follow()
    _places.follow()
    direct_readers.follow()


def leave() -> None:
    """Puts their own functions back."""
    functions.leave()
    conversions.leave()
    _places.leave()
    direct_readers.leave()


class _Compiled:
    """A Compose as it was when it was compiled.

    Attributes:
        program: what it comes to natively; None where it begins in Python.
        begin: then: what the first of its members come to, where one of them gives all pictures one size.
        recording: the same, of a lazy image that is not made here.
        parts: then: what the others are; or, where none has, all members, if some are one call. Else None.
        ending: what calls the others, behind that or where the first tensor is a tv_tensors.Image; else None.
            Other tensors wait for what torch does to them, also where torchvision's own code runs
            (conversions.py).
        wraps: whether the first tensor is a tv_tensors.Image.
        sized: what makes tensors of pictures of any size, for those of arrays: these have few; else None.
        sizes: of other pictures, which somebody has cut or resized; no more than two are noted.
        steps: what its first members make of a picture of an array, to which `rest` is done; else None.
    """

    def __init__(self, compose: object, channels: int) -> None:
        self.stamp = PlanStamp(compose)
        self.program: LazyProgram | None = None
        self.begin: PictureProgram | None = None
        self.recording: RecordingProgram | None = None
        self.parts: list[Callable[[Any], Any]] | None = None
        self.ending: Suffix | None = None
        self.wraps = False
        self.sized: SizedPrograms | None = None
        self.sizes = set[tuple[int, int]]()
        self.steps: PictureProgram | None = None
        self.rest: Suffix | None = None
        start, drawn = State(refuses=True, channels=channels), picture_draws.rounding() is not None
        self.plan: Plan = compile(compose, handed=True, drawn=drawn, start=start)
        plan = self.plan
        if plan.native_part and makes_tensors(plan):
            self.program = LazyProgram(plan)
            return
        members: list[Any] = list(transforms.leaves(compose))
        if any(member is compose for member in members):
            return
        if plan.shape is None:
            self.sized = SizedPrograms(members, channels)
        if channels == 3:
            if plan.hands_over == "pil" and plan.channels == 3 and _gives_another(plan):
                self.steps = PictureProgram(plan)
                self.rest = Suffix(plan.rest, plan.reason) if plan.rest else None
            if plan.hands_over == "pil" and can_be_recorded(plan.steps):
                self.recording = RecordingProgram(plan)
            parts = in_parts(plan.rest if self.recording else members)
            if self.recording or any(isinstance(part, RecordedPart) for part in parts):
                self.parts = parts
            if plan.rest and plan.hands_over == "pil" and plan.shape is not None and plan.channels == 3:
                self.begin = PictureProgram(plan)
                members = plan.rest
            first = next(filter(transforms.converts, members), None)
            self.wraps = transforms.name(first) == "ToImage"
            if self.begin is not None or self.wraps:
                self.ending = Suffix(members, plan.reason)


def _gives_another(plan: Plan) -> bool:
    """Whether a plan never gives the picture itself, which a user may change, and saves more than it costs.

    One call costs 50 us. Pillow crops and flips a small picture in 20.
    """
    return any(
        step["op"] == "random_resized_crop"
        or (step["op"] == "random_crop" and any(step.get("padding") or ()))
        for step in plan.steps
    )


_compiled: weakref.WeakKeyDictionary[Any, _Compiled] = weakref.WeakKeyDictionary()
_compiled_grey: weakref.WeakKeyDictionary[Any, _Compiled] = weakref.WeakKeyDictionary()  # for mode L


class _PlansOfCopies:
    """Compose objects that are made again for every picture, by what they are made of.

    An object that was seen before has a stamp of its own. Here are plans of copies, which nobody changes.
    """

    def __init__(self) -> None:
        self._compiled: dict[tuple[Any, ...], tuple[_Compiled, Any] | Reason | None] = {}

    def find(self, compose: Any, channels: int) -> _Compiled | Reason | None:
        """The plan of an equal Compose; why it cannot be native; None of one that was not seen twice."""
        made_of = content(compose)
        if made_of is None or path_cache.current is not None:
            return None
        key, own = (channels, made_of[0]), made_of[1]
        found: Any = self._compiled.get(key, _NEW)
        if found is _NEW:
            if len(self._compiled) == _MOST_CONTENTS:
                self._compiled.clear()
            self._compiled[key] = None
            return None
        if isinstance(found, Reason):
            return found
        if found is None or not found[0].stamp.holds():
            if own:
                reason = self._compiled[key] = compile(compose, handed=True).reason
                return reason
            copied = copy.deepcopy(compose)
            found = self._compiled[key] = _Compiled(copied, channels), copied
        compiled: _Compiled = found[0]
        return compiled


_MOST_CONTENTS = 64
_MOST_SEARCHED = 256
_NEW: Any = object()
_plans_of_copies = _PlansOfCopies()


def _natively(compose: Any, image: LazyImage, own: Callable[..., Any]) -> tuple[Any] | None:
    """What the Compose makes of a lazy image; None where its own method must run for reasons that pass."""
    making = untouched(image)
    if making is None or not _is_itself(compose):
        return None
    known, channels = (_compiled, 3) if image.mode == "RGB" else (_compiled_grey, 1)
    compiled = known.get(compose)
    if compiled is None or not compiled.stamp.holds():
        found = _plans_of_copies.find(compose, channels)
        if isinstance(found, Reason):
            return _in_python(compose, image, own, found)
        if found is None and _refers_to_itself(compose):
            return _in_python(compose, image, own, _CIRCLE)
        compiled = found
        if compiled is None:
            compiled = known[compose] = _Compiled(compose, channels)
    if type(image) is LazyArrayImage:
        return _of_array(compiled, image, making) or _in_python(compose, image, own, compiled.plan.reason)
    program: LazyProgram | PictureProgram | None = compiled.program or compiled.begin
    by_record: Any = None if program is None else program.by_record(image.size, making)
    if by_record is not None:
        image._looked_through()
    elif not making.source.is_whole():
        return None
    if compiled.program is None:
        if compiled.ending is None or not (compiled.wraps or by_record):
            made = _of_its_size(compiled, image, making) or _recorded(compiled, image)
            return made or _in_python(compose, image, own, compiled.plan.reason)
        _note(compiled.plan.reason)
        if compiled.begin is None:
            return (compiled.ending(image),)
        image._look()
        begun = compiled.begin.picture(image, making, by_record)
        return None if begun is None else (compiled.ending(begun),)
    image._look()
    sample = by_record
    if sample is None:
        sample = compiled.program.later(image.size, making)
    if sample is None:
        return None
    return (_finished(sample, compiled.plan),)


_CIRCLE = Reason("its attributes lead back to it", "Compose", "python")


def _refers_to_itself(compose: object) -> bool:
    """Whether what it has leads back to it, as where it knows its dataset: what was compiled would keep both
    for ever. Long lists are not searched."""
    seen, found = set[int](), [*vars(compose).values()]
    while found and len(seen) < _MOST_SEARCHED:
        one = found.pop()
        if one is compose:
            return True
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, (list, tuple, dict)):
            found += [] if len(one) > _MOST_SEARCHED else one.values() if isinstance(one, dict) else one
        elif isinstance(one, MethodType):
            found.append(one.__self__)
        elif not isinstance(one, (type, FunctionType, ModuleType)):
            found += getattr(one, "__dict__", {}).values()
    return False


def _finished(sample: torch.Tensor, plan: Plan) -> Any:
    """What a plan's last transforms, which are not native, make of a sample."""
    counts["native"] += 1
    made: Any = sample
    if plan.rest:
        with timed(plan.reason):
            for transform in plan.rest:
                made = transform(made)
    return made


def _of_its_size(compiled: _Compiled, image: LazyImage, making: LazyFactory) -> tuple[Any] | None:
    """What it makes of a picture whose size it keeps, as of ten crops, if somebody cuts all to one size.

    Of pictures of many sizes it would make programs whose samples do not wait for each other.
    """
    a_file = not isinstance(making.source, PixelSource) and image.size == making.source.size
    if compiled.sized is None or a_file or len(compiled.sizes) > 1:
        return None
    compiled.sizes.add(image.size)
    found = compiled.sized.program(image.size) if len(compiled.sizes) == 1 else None
    if found is None:
        return None
    program, plan = found
    image._look()
    sample = program.later(image.size, making)
    return None if sample is None else (_finished(sample, plan),)


def _of_array(compiled: _Compiled, image: LazyArrayImage, making: LazyFactory) -> tuple[Any] | None:
    """What it makes of a picture of an array; None where its own method must run."""
    program, plan, size = compiled.program, compiled.plan, image.size
    if program is None and compiled.sized is not None:
        program, plan = compiled.sized.program(size) or (None, plan)
    if program is not None:
        small = size[0] * size[1] < SMALL
        sample = program.of(size, making) if small else program.later(size, making)
        return None if sample is None else (_finished(sample, plan),)
    begun = None if compiled.steps is None else compiled.steps.picture(image, making)
    if begun is None:
        if compiled.begin is not None or compiled.ending is None:
            return None
        _note(plan.reason)
        return (compiled.ending(image),)
    if compiled.rest is None:
        counts["native"] += 1
        return (begun,)
    _note(plan.reason)
    return (compiled.rest(begun),)


def _recorded(compiled: _Compiled, image: LazyImage) -> tuple[Any] | None:
    """What it makes where some of its steps are recorded at once, and the others as they are called."""
    if compiled.parts is None or type(image) is not LazyImage:
        return None
    begun: Any = image
    if compiled.recording is not None:
        making = image._look()
        begun = None if making is None else compiled.recording.picture(image, making)
        if begun is None:
            return None
    _note(compiled.plan.reason)
    with timed(compiled.plan.reason), conversions.inside():
        for part in compiled.parts:
            begun = part(begun)
    return (begun,)


def _in_python(compose: Any, image: LazyImage, own: Callable[..., Any], why: Reason) -> tuple[Any]:
    """What its own method makes. The steps that it calls are recorded, and tensors wait."""
    _note(why)
    with timed(why), conversions.inside():
        return (own(compose, image),)


def _note(why: Reason) -> None:
    counts["python"] += 1
    reason.process.note(why)

"""compile: splits a torchvision transform into native steps and a Python rest."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._core.reason import NotNative, Reason
from . import transforms
from .state import Kind, State, Step
from .translate import draws, looks_beside, translate
from .values import refuse

# Steps that leave a decoder what it needs not make, and those before which it may still be told so.
_CROPS = ("center_crop", "random_crop", "random_resized_crop")
_GEOMETRY = (*_CROPS, "resize", "hflip", "vflip")


@dataclasses.dataclass(frozen=True)
class Line:
    """What becomes of one transform.

    Attributes:
        name: its class or function.
        reason: why it runs in Python; None: it runs natively.
        note: what the native steps do, where they do not say it themselves.
        cost: what Python costs here, where that is worth a word.
        steps: the native ones.
    """

    name: str
    reason: Reason | None = None
    note: str = ""
    cost: str = ""
    steps: Sequence[Step] = ()

    @property
    def native(self) -> bool:
        """Whether it runs natively; in Python otherwise."""
        return self.reason is None

    @property
    def what(self) -> str:
        """The native step in words, or the reason for Python."""
        if self.reason is not None:
            return self.reason.text
        return self.note or describe(self.steps)  # made when asked for: plans are compiled for every batch


@dataclasses.dataclass(frozen=True)
class Plan:
    """A transform, split where Python must take over.

    ``rest`` called one after another on what the steps hand over is what the transform
    does: same values, type, strides and draws. With an empty rest, what is handed over is
    the sample itself.

    Attributes:
        steps: native steps, ready for JSON.
        native_part: the transforms that they stand for, in order.
        rest: what runs in Python behind them, in order.
        hands_over: "pil", "tensor", or "tv_image" for a ``tv_tensors.Image``.
        dtype: of what is handed over: uint8, float32, float16 or bfloat16.
        channels: 3, or 1: then a PIL image has the mode "L".
        shape: [C, H, W] of what is handed over, [crops, C, H, W] of several crops, or None where it differs
            between samples.
        strides: of a tensor handed over: "chw" is contiguous, "hwc" is the permuted view
            that PILToTensor and ToImage return, [1, 3 W, 3].
        shown: whether a PIL image handed over comes before the user's own code, which may look at its info.
        draws: whether the steps draw, from torch's generator as a rule.
        draws_python: whether they also draw from Python's random.
        needs_size: whether what they draw depends on the file's picture size.
        rest_draws: whether the rest draws; None where that cannot be known.
        report: one line a transform, in the user's order.
    """

    steps: list[Step]
    native_part: list[Callable[[Any], Any]]
    rest: list[Callable[[Any], Any]]
    hands_over: Kind
    dtype: str
    channels: int
    shape: list[int] | None
    strides: str
    shown: bool
    draws: bool
    draws_python: bool
    needs_size: bool
    rest_draws: bool | None
    report: list[Line]

    @property
    def native(self) -> bool:
        """Whether nothing is left to Python."""
        return not self.rest

    @functools.cached_property
    def reason(self) -> Reason:
        """Why samples are not finished natively, where they are not."""
        why = next((line.reason for line in self.report if line.reason is not None), None)
        if why is not None:
            return why
        pictures = "the samples are PIL images" if self.hands_over == "pil" else "its samples differ in size"
        return Reason(pictures, kind="python")

    @property
    def in_order(self) -> bool:
        """Whether steps and rest must take turns, sample by sample.

        Both may draw from torch's generator: a sample's steps must not draw before the
        rest of the sample before it has.
        """
        return self.draws and self.rest_draws is not False


def compile(
    transform: object, *, handed: bool = False, drawn: bool = True, start: State | None = None
) -> Plan:
    """Splits a transform into its longest native prefix and the rest.

    Args:
        transform: of torchvision, v1 or v2; a Compose or ``nn.Sequential`` of some, also
            nested; any callable; or None, which leaves the PIL image as it is.
        handed: end the prefix where Python can go on sample by sample: where it makes PIL images, or tensors
            that all have one size and torchvision's strides.
        drawn: whether steps may draw from torch's generator natively.
        start: what its pictures are; default PIL images of mode RGB, each of its own size.

    Returns:
        The plan, for a transform in its present state: attributes that are changed
        later, torch's default dtype and device, and global module hooks are not followed.

    Example:
        >>> compile(transforms.ToTensor()).steps
        [{'op': 'to_float', 'how': 'divide'}]
    """
    chain: list[Any] = [] if transform is None else list(transforms.leaves(transform))
    return compile_chain(chain, start or State(), handed, drawn)


def compile_chain(chain: list[Any], start: State, handed: bool, drawn: bool) -> Plan:
    """The same for transforms that are called one after another, on what is known to be in this state."""
    obstacle = transforms.environment()
    states, made, why = [start], [], ""  # the states before and behind each native transform
    for leaf in chain:
        try:
            refuse(obstacle)
            steps, after = translate(leaf, states[-1])
            if after.draws and not drawn:
                raise NotNative("this torch draws in a way that gofast does not know")
        except NotNative as reason:
            why = str(reason)
            break
        states.append(after)
        made.append(steps)
    while states[-1].is_tuple or (handed and not states[-1].exact):
        why = _why_not_handed(states.pop())
        made.pop()
    state, at = states[-1], len(made)
    steps = [step for group in made for step in group]
    rest = chain[at:]
    report = [
        Line(transforms.name(leaf), note=after.note, steps=group)
        for leaf, after, group in zip(chain, states[1:], made, strict=False)
    ]
    if rest:
        report += _python_lines(rest, why, state, steps)
    if any(step["op"] == "to_float" for step in steps):
        # It makes the tensor; only what does the same to a picture can stand between.
        steps = [step for step in steps if step["op"] != "to_uint8"]
    random = [draws(leaf) for leaf in rest]
    plan = Plan(
        steps=steps,
        native_part=chain[:at],
        rest=rest,
        hands_over=state.kind,
        dtype=state.dtype,
        channels=state.channels,
        shape=state.shape,
        strides=state.strides,
        shown=state.kind == "pil" and _shown(rest),
        draws=state.draws,
        draws_python=state.python,
        needs_size=state.needs_size or (state.draws and start.size is not None),
        rest_draws=True if True in random else None if None in random else False,
        report=report,
    )
    if plan.in_order and plan.rest:
        first = report[at]
        turns = f"{first.cost}; takes turns with the native draws"
        report[at] = dataclasses.replace(first, cost=turns)
    return plan


def _why_not_handed(state: State) -> str:
    """Why Python cannot go on sample by sample with what is there: not with every prefix that is native."""
    if state.is_tuple:
        return "makes several pictures of one"
    if state.size is None:
        return "no step before it gives all samples one size"
    return "torch's order of its tensor's memory depends on the picture's size or on draws"


def _shown(rest: Sequence[object]) -> bool:
    """Whether the user's own code gets the PIL image, or what torchvision's transforms make of it."""
    for leaf in rest:
        if looks_beside(leaf):
            return True
        if transforms.converts(leaf):
            return False
    return True  # the user of the dataset's


def _python_lines(rest: Sequence[object], reason: str, state: State, steps: list[Step]) -> list[Line]:
    """The lines of the rest: the first has the reason, others theirs where they have one."""
    names = [transforms.name(leaf) for leaf in rest]
    sample = {"pil": "PIL image", "tensor": "tensor", "tv_image": "tv_tensors.Image"}[state.kind]
    cost = f"one {sample} a sample"
    if not steps and state.kind == "pil":
        cost = "one lazy PIL image a sample"  # what it cuts and resizes first is done natively all the same
    elif state.kind == "pil" and not _cuts_first(steps):
        cost = f"decoded whole, {cost}"
    lines = [Line(names[0], Reason(reason, names[0], "python"), cost=cost)]
    for leaf, name in zip(rest[1:], names[1:], strict=True):
        own = "your own code" if transforms.identify(leaf) is None else f"comes after {names[0]}"
        again = "; native of a PIL image" if transforms.converts(leaf) else ""
        lines.append(Line(name, Reason(own + again, name, "python")))
    return lines


def _cuts_first(steps: Sequence[Step]) -> bool:
    """Whether a crop comes before any step that takes the whole picture, such as one that pads it."""
    for step in steps:
        if step["op"] not in _GEOMETRY or step.get("pad_if_needed") or any(step.get("padding") or ()):
            return False
        if step["op"] in _CROPS:
            return True
    return False


def describe(steps: Sequence[Step]) -> str:
    """Steps in words, for a report."""
    return "; ".join(_describe(step) for step in steps)


_UNSAID = ("op", "version", "log_ratio", "numbers", "tensor", "usual")


def _describe(step: Step) -> str:
    fields = [
        f"{name} {_told(name, value)}"
        for name, value in step.items()
        if name not in _UNSAID and value is not None and value is not False
    ]
    op = step["op"].replace("_", " ")
    return f"{op}: {', '.join(fields)}" if fields else op


def _told(name: str, value: Any) -> str:
    if name == "members":
        return " ".join(f"({describe(member) or 'nothing'})" for member in value)
    return describe(value) if name == "steps" else _value(value)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(v) for v in value)}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

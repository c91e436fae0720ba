"""Samples of lazy pictures whose values are made when somebody needs them: those of a batch by all threads.

What a Compose makes of a lazy picture in a user's own dataset is one sample after another, on the thread that
runs the user's code. A lazy sample is made later. torch.stack, which default_collate calls, makes all samples
of a batch side by side, on all of the engine's threads. Any other look at one makes it an ordinary tensor, in
place, and all others of its program that wait with it. What torch's arithmetic makes of one may wait too.
What it is made of is certain at the call: the draws, the file's bytes, and that they can be decoded.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import torch
from torch.utils import swap_tensors

from .._core.native import Picture
from .._lazy.source import Source
from .._loader.sample_memory import empty_batch, in_place
from .held_pictures import Held
from .pending_samples import Makes, Pending, flip_of, is_watched
from .pending_stacks import stack_later
from .written_boxes import WrittenBox, box_bytes, box_of, write_boxes

_MOST_BOXES = 8  # that are written to a sample later; more, or more memory than it takes, at once

# Where memory is asked for that is not there, torch says this. It would read at address 0 else.
_TOO_EARLY = (
    "gofast: the values of this tensor have not been made yet, and what reads them did not ask for them."
    " Call tensor.detach() first: it makes them"
)


def _refusal() -> Any:
    """What lets a storage say that; None: torch was built without CUDA."""
    return getattr(torch._C, "_set_storage_data_ptr_access_error_msg", None)


_refuse = _refusal()

_lock = threading.RLock()  # whoever makes a sample ordinary holds it


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)


class _AsTensor(torch._C._TensorMeta):
    """Tables by type, as default_collate's and v2's fill, find what they have for torch.Tensor."""

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is torch.Tensor

    def __hash__(cls) -> int:
        return hash(torch.Tensor)


class LazySample(torch.Tensor, metaclass=_AsTensor):
    """A tensor [C, H, W] without memory. Nothing can read past it.

    What Python calls comes to `__torch_function__`, where it becomes an ordinary tensor: the same object, by
    `torch.utils.swap_tensors`. What reaches it from within torch comes to `__torch_dispatch__`. What asks
    neither is given what it becomes (direct_readers.py), or gets an error where nobody knows it.
    """

    waits = True
    kinds: ClassVar[dict[type, type[LazySample]]] = {}  # by the class that one stands for
    _pending: Pending

    def as_subclass(self, cls: Any) -> Any:
        """Torch asks nobody: the view that it makes would keep this from becoming ordinary.

        Both wait for the same memory instead.
        """
        kind = LazySample.kinds.get(cls)
        made = None if kind is None else _shared(self, kind)
        return _ordinary(self).as_subclass(cls) if made is None else made

    def set_(self, *given: Any, **named: Any) -> Any:
        """Torch asks nobody here, either: what is made beside this would be another tensor, and this not."""
        made = _ordinary(self).set_(*given, **named)
        _each(self, _unchanged)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What it becomes is pickled, also where it cannot become that."""
        return _ordinary(self).__reduce_ex__(protocol)  # type: ignore[no-untyped-call]

    @staticmethod
    def together(
        samples: Sequence[torch.Tensor], batch: Callable[[list[torch.Tensor]], torch.Tensor | None]
    ) -> torch.Tensor | None:
        """The batch that the samples' memory is, each made in its own; None where it is none.

        Whoever looks at one meanwhile, on another thread, waits: it would be made elsewhere.
        """
        with _lock:
            memory = LazySample._places(samples)
            made = None if memory is None else batch(memory)
            if made is not None:
                LazySample._lay(samples)
            return made

    @staticmethod
    def _places(samples: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
        """Their memory, if each has any."""
        found = list[torch.Tensor]()
        for one in samples:
            pending = one._pending if isinstance(one, LazySample) else None
            place = one if pending is None else pending.value if pending.place is None else pending.place
            if place is None:
                return None
            found.append(place)
        return found

    @staticmethod
    def _lay(samples: Sequence[torch.Tensor]) -> None:
        """Makes each that waits, at its place."""
        each = [one._pending for one in samples if isinstance(one, LazySample)]
        Held.decode(one.held for one in each)
        for program in {one.program for one in each}:
            Pending.make_at_places([one for one in each if one.program is program])

    @classmethod
    def _as_seen(cls, value: torch.Tensor) -> torch.Tensor:
        """What it becomes."""
        return value

    @classmethod
    def stacks_plainly(cls) -> bool:
        """Whether torch.stack of such samples gives an ordinary tensor."""
        return True

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _KNOWN:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if func is torch.stack and not is_watched():
            made = _stacked(*args, **kwargs)
            if made is not None:
                return made
        elif cls is LazySample and (do := _ARITHMETIC.get(func)) and not kwargs and len(args) < 3:
            made = calculated(*do, *args)
            if made is not None:
                return made
        elif func is torch.Tensor.__setitem__ and not kwargs and _written(*args):
            return None
        elif func is torch.Tensor.requires_grad_ and not kwargs and args[1:] == (False,):
            return args[0]
        given = args, kwargs
        args, kwargs = _each(args, _ordinary), _each(kwargs, _ordinary)
        # What lies where nobody looks for tensors, or cannot be swapped, goes on to __torch_dispatch__.
        with torch._C.DisableTorchFunctionSubclass() if _holds(args, kwargs) else nullcontext():
            made = func(*args, **kwargs)
        _each(given, _unchanged)
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*_each(args, _value), **_each(kwargs or {}, _value))


def _each(value: Any, do: Callable[[LazySample], Any]) -> Any:
    """The same with something else in place of each lazy sample."""
    kind = type(value)
    if kind is LazySample or issubclass(kind, LazySample):
        return do(value)
    if kind is dict:
        return {key: _each(one, do) for key, one in value.items()}
    return kind([_each(one, do) for one in value]) if kind in (list, tuple) else value


LazySample.__name__ = LazySample.__qualname__ = "Tensor"  # messages of Python's name a class
LazySample.__module__ = "torch"
LazySample.kinds[torch.Tensor] = LazySample


def _value(sample: LazySample) -> torch.Tensor:
    """What it is, in a tensor beside it."""
    with _lock:
        return sample._pending.make()


def _unchanged(sample: LazySample) -> None:
    """One that cannot become ordinary has a value beside it, whose numbers alone may change.

    Raises:
        RuntimeError: something else of it was changed.
    """
    value = sample._pending.value
    same = value is None or (value.shape, value.stride(), value.dtype, value.requires_grad) == (
        sample.shape,
        sample.stride(),
        sample.dtype,
        False,
    )
    if not same:
        raise RuntimeError(
            "gofast: a tensor to which something has a weak reference was changed in its shape, type or"
            " gradient before anybody had read it. Read it before it is referred to"
        )


def _holds(*values: Any) -> bool:
    """Whether a lazy sample is left."""
    found: list[Any] = []
    for value in values:
        _each(value, found.append)
    return bool(found)


def _ordinary(sample: LazySample) -> torch.Tensor:
    """The sample, which is an ordinary tensor from now on; or its value, if something refers to it weakly."""
    with _lock:
        if not isinstance(sample, LazySample):  # another thread was faster
            return sample
        pending = sample._pending
        value, own = pending.make(), vars(sample).copy()
        alias = value.as_subclass(torch.Tensor) if pending.shared else value
        del own["_pending"]
        try:
            with torch._C.DisableTorchFunctionSubclass():
                swap_tensors(sample, sample._as_seen(alias))  # type: ignore[no-untyped-call]
        except RuntimeError:
            seen = sample._as_seen(value)
            if not pending.shared:
                pending.value = seen  # what becomes of it is seen
            return seen
        if not pending.shared:
            pending.value = None  # no reference circle
        vars(sample).update(own)
        return sample


def ordinary(value: Any) -> Any:
    """The same with what each lazy sample becomes in its place."""
    return _each(value, _ordinary)


def _waiting(sample: Any) -> Pending | None:
    """What a lazy sample will be made of; None of another tensor."""
    return vars(sample).get("_pending") if isinstance(sample, LazySample) else None


def _stacked(
    tensors: Any = None, dim: Any = 0, *, out: torch.Tensor | None = None, **more: Any
) -> torch.Tensor | None:
    """What torch.stack gives of lazy samples of one program, and of ordinary tensors like them; else None."""
    if more or dim != 0 or type(tensors) not in (list, tuple) or len(tensors) < 2:
        return None
    waiting = [*map(_waiting, tensors)]
    programs = {one.program for one in waiting if one is not None}
    if len(programs) != 1 or not all(
        kind.stacks_plainly() for kind in map(type, tensors) if issubclass(kind, LazySample)
    ):
        return None
    program, each = programs.pop(), tensors[0].shape
    for tensor, pending in zip(tensors, waiting, strict=True):
        if tensor.shape != each if pending is not None else not _is_plain(tensor, each, program.dtype):
            return None
    shape = torch.Size((len(tensors), *each))
    if out is None:
        row = in_place(shape, program.dtype)
        if row is None:
            out = _expected(program, waiting)
            out = empty_batch(shape, program.dtype) if out is None else out
        else:
            if (later := _row_later(program, waiting, row)) is not None:
                return later
            out = row
    elif not _is_plain(out, shape, program.dtype) or not out.is_contiguous():
        return None
    program.stacked, program.next = True, None
    start, step = out.data_ptr(), out.nbytes // len(tensors)
    kept = dict[int, Pending]()
    boxes = dict[int, tuple[WrittenBox, ...]]()
    with _lock:
        Held.decode(one.held for one in waiting if one is not None)
        left, seen = dict[int, Pending](), set[Pending]()
        for i, one in enumerate(map(_waiting, tensors)):
            if one is not None and (one.is_left() or one in seen):
                left[i] = one
            elif one is not None and one.making is not None:
                seen.add(one)
        Pending.make_all(program, [*left.values()], [out[i] for i in left], waiting)
        for i, (tensor, pending) in enumerate(zip(tensors, waiting, strict=True)):
            if pending is None or not isinstance(tensor, LazySample):  # another thread may have looked at it
                out[i].copy_(tensor)
                continue
            if pending.value is not None or (pending.row is None and pending.end()):
                value: Any = pending.value
                out[i].copy_(value)
                continue
            if pending.ended():
                place: Any = pending.give_up()
                if place.data_ptr() != start + i * step:
                    out[i].copy_(place)
            boxes[i] = pending.boxes
            if pending.used:  # somebody keeps it, as a dataset does that makes each sample once
                kept[i] = pending
            pending.used = True
    for i, written in boxes.items():
        if written:
            write_boxes(out[i], written)
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    with _lock:
        for i, pending in kept.items():
            if pending.value is None:
                strides = program.strides_of(pending.picture)
                with torch.inference_mode(False):
                    value = torch.empty_strided(each, strides, dtype=program.dtype, device="cpu")
                pending.keep(value.copy_(out[i]))
    return out


def _row_later(program: Makes, waiting: Sequence[Pending | None], place: torch.Tensor) -> LazySample | None:
    """A stack that is a row of a batch waits as a sample does."""
    with _lock:
        program.expected.forget()
        parts = [one for one in waiting if one is not None and one.waits() and not one.boxes]
        pending = stack_later(parts, place) if len(parts) == len(waiting) else None
    return None if pending is None else _sample(pending)


def _expected(program: Makes, waiting: Sequence[Pending | None]) -> torch.Tensor | None:
    """The batch of these samples, if they were begun there; and what is expected next."""
    with _lock:
        known = [one for one in waiting if one is not None]
        here = all(one.making is None or one.making.is_here() for one in known)
        rows = [None if one is None else one.row for one in waiting]
        made = program.expected.take(rows) if here else None
        if len(known) == len(waiting):
            program.expected.learn([one.number for one in known], program.shape_of(known[0].picture))
    return None if torch.is_inference_mode_enabled() else made


def _is_plain(tensor: Any, shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    return (
        type(tensor) is torch.Tensor
        and tensor.shape == shape
        and tensor.dtype is dtype
        and tensor.is_cpu
        and tensor.layout is torch.strided
        and not tensor.requires_grad
    )


def calculated(do: str, in_place: bool, sample: Any, by: Any = None) -> torch.Tensor | None:
    """What torch's arithmetic makes of a lazy sample, lazily; None where it must be done."""
    pending = _waiting(sample)
    if pending is None or torch.is_inference_mode_enabled():
        return None
    program = pending.program.then(do, by)
    if program is None or pending.boxes:
        return None
    if in_place and (pending.shared or program.dtype is not pending.program.dtype):
        return None
    with _lock:
        if not isinstance(sample, LazySample) or sample._pending is not pending or not pending.may_become():
            return None  # another thread was faster
        if program is pending.program and do not in ("copied", "flipped"):
            return sample
        if not in_place:
            pending.used = True
            turn = flip_of(by) if do == "flipped" else None
            return _sample(pending.then(program, turn), type(sample))
        sample._pending = pending.then(program)
        Pending.begin(program)
        sample._pending.begin_at_once()
    return sample


def _shared(sample: LazySample, kind: type[LazySample]) -> LazySample | None:
    """The same as another class, which has the same memory; None where it is no lazy sample any more."""
    with _lock:
        if not isinstance(sample, LazySample) or torch.is_inference_mode_enabled():
            return None
        pending = sample._pending
        pending.shared = True
        return _tensor(pending, kind)


def _written(sample: Any, index: Any, by: Any) -> bool:
    """Whether `sample[index] = by` waits, too."""
    pending = _waiting(sample)
    if pending is None or torch.is_inference_mode_enabled():
        return False
    box = box_of(sample.shape, sample.dtype, index, by)
    if box is None:
        return False
    with _lock:
        if not isinstance(sample, LazySample) or sample._pending is not pending or not pending.may_become():
            return False
        boxes = (*pending.boxes, box)
        if len(boxes) > _MOST_BOXES or box_bytes(boxes) > sample.nbytes:
            return False
        pending.boxes = boxes
    return True


_ARITHMETIC: dict[Any, tuple[str, bool]] = {
    torch.Tensor.to: ("cast", False),
    torch.Tensor.float: ("floated", False),
    torch.Tensor.clone: ("copied", False),
    torch.clone: ("copied", False),
    torch.Tensor.flip: ("flipped", False),
    torch.flip: ("flipped", False),
    torch.Tensor.mul: ("multiplied", False),
    torch.Tensor.mul_: ("multiplied", True),
    torch.Tensor.div: ("divided", False),
    torch.div: ("divided", False),
    torch.Tensor.div_: ("divided", True),
    torch.Tensor.sub: ("reduced", False),
    torch.sub: ("reduced", False),
    torch.Tensor.sub_: ("reduced", True),
}

_ATTRIBUTES = """shape dtype device ndim layout is_cuda is_cpu is_sparse is_quantized is_meta
    is_nested requires_grad is_leaf grad grad_fn nbytes itemsize"""
_METHODS = """size dim ndimension numel nelement stride is_contiguous is_floating_point is_complex
    element_size storage_offset get_device is_neg is_conj __len__ __hash__"""


def _known() -> frozenset[Any]:
    """What is answered without the values."""
    kind = torch.Tensor
    found = [getattr(kind, name).__get__ for name in _ATTRIBUTES.split()]
    found += [getattr(kind, name) for name in _METHODS.split()]
    return frozenset([*found, torch.numel, torch.is_floating_point, torch.is_complex])


_KNOWN = _known()


def lazy_sample(
    program: Makes,
    picture: Picture,
    record: array[int] | None,
    again: Source | None = None,
    kind: type[LazySample] = LazySample,
) -> LazySample:
    """A sample that waits; again: see Held."""
    with _lock:
        pending = Pending(program, Held.of(picture, again), picture[3:], record)
        pending.place = in_place(program.shape_of(picture), program.dtype)
    return _sample(pending, kind)


def _sample(pending: Pending, kind: type[LazySample] = LazySample) -> LazySample:
    sample = _tensor(pending, kind)
    with _lock:
        Pending.begin(pending.program)
        pending.begin_at_once()
    return sample


def _tensor(pending: Pending, kind: type[LazySample]) -> LazySample:
    make: Any = torch.Tensor._make_wrapper_subclass
    program, picture = pending.program, pending.picture
    shape, strides = program.shape_of(picture), program.strides_of(picture)
    sample: LazySample = make(kind, shape, strides=strides, dtype=program.dtype, device="cpu")
    if _refuse is None:
        torch._C._set_throw_on_mutable_data_ptr(sample)  # in torch's words, and only to what might write
    else:
        with torch._C.DisableTorchFunctionSubclass():
            _refuse(sample.untyped_storage()._cdata, _TOO_EARLY)
    sample._pending = pending
    return sample

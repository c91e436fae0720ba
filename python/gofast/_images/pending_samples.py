"""What a sample that waits will be made of: its program, its draws, and its file or pixels."""

from __future__ import annotations

import contextlib
import weakref
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

from .. import errors
from .._core.native import Picture
from .._core.processor_time import Spent
from .._lazy.chain import turn
from .._loader.sample_memory import in_place
from .expected_batches import ExpectedBatches, Row
from .held_pictures import Held, Making
from .written_boxes import WrittenBox, write_boxes

_BEGUN = 4  # samples that wait, beside the latest: so many are begun together. One by one, they take 5 % more
_FEW = 8  # samples, or fewer, of which the first is looked at. Unless all are begun, threads sleep meanwhile
_MOST_STEPS = 4  # from a sample to what is looked at in the end
_MOST_MISSED = 4  # samples of a program that were begun at once and then became something else


_tracing, _trace = torch._C._get_tracing_state, torch._C._set_tracing_state  # type: ignore[attr-defined]


def is_watched() -> bool:
    """Whether torch.func transforms what is done, or torch.jit or a mode, as torch.export's, writes it down:
    each tensor that is made is theirs."""
    return (
        torch._C._functorch.peek_interpreter_stack() is not None
        or _tracing() is not None
        or torch._C._len_torch_dispatch_stack() > 0
    )


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """What is done within is no part of that."""
    tracing = _tracing()
    _trace(None)
    try:
        with temporarily_clear_interpreter_stack(), _disable_current_modes():
            yield
    finally:
        _trace(tracing)


class Makes:
    """What makes samples: LazyProgram, and of stacks, PendingStack.

    Attributes:
        waiting: samples that it was asked for, the latest ones.
        dtype: of a sample.
        together: how many were made with others; alone: one by one.
        stacked: torch.stack was given them. It makes those that nobody has begun at their place in the batch.
        fresh: a batch was made, and none was begun since. The threads sleep.
        since: how many were made, or wait, since somebody looked at one.
        group: how many wait for the first look at one, beside the latest.
        few: so few wait for that look that each is begun at once.
        missed: how many became something else after they were begun.
        next: what makes what the latest one became, with its own; None: none became anything else.
        expected: batches of them that somebody will stack.
    """

    waiting: deque[weakref.ref[Pending]]
    dtype: torch.dtype
    expected: ExpectedBatches
    next: Makes | None = None
    together = alone = since = group = missed = 0
    stacked = fresh = few = False

    def has_helpers(self) -> bool:
        """Whether several samples take less time together."""
        return False

    def is_begun_later(self) -> bool:
        """Whether few of its samples wait for a look, and not as they are: nobody can begin them yet."""
        last, steps = self, 0
        while last.next is not None and steps < _MOST_STEPS:
            last, steps = last.next, steps + 1
        return last is not self and last.few and not last.stacked and self.has_helpers()

    def shape_of(self, picture: Picture) -> tuple[int, ...]:
        """[C, H, W] of a picture's sample."""
        raise NotImplementedError

    def strides_of(self, picture: Picture) -> tuple[int, ...]:
        """Its strides where it is made alone. In a batch, rows follow one another."""
        raise NotImplementedError

    def memory(self, picture: Picture) -> torch.Tensor:
        """Of one that is made alone, with those strides."""
        return torch.empty(self.shape_of(picture), dtype=self.dtype, device="cpu")

    def by_itself(self, value: torch.Tensor) -> torch.Tensor:
        """One that may have been made in a batch, as one that is made alone."""
        return value

    def finish(self, picture: Picture, record: array[int] | None) -> torch.Tensor:
        """One."""
        return self.finish_each([picture], [record])[0]

    def finish_each(
        self, pictures: list[Picture], records: Sequence[array[int] | None]
    ) -> Sequence[torch.Tensor]:
        """Some, each in memory of its own."""
        made = [self.memory(picture) for picture in pictures]
        self.finish_all(pictures, records, array("q", [one.data_ptr() for one in made]), alone=True)
        return made

    def finish_all(
        self,
        pictures: list[Picture],
        records: Sequence[array[int] | None],
        places: array[int],
        alone: bool = False,
    ) -> None:
        """Some, each at its address: in a batch, or laid out as one that is made alone."""
        raise NotImplementedError

    def begin(
        self,
        pictures: list[Picture],
        records: Sequence[array[int] | None],
        places: Sequence[torch.Tensor],
        alone: bool = False,
    ) -> Making | None:
        """The same, each in its memory, while Python goes on; None: nobody is there to do it."""
        raise NotImplementedError

    def then(self, do: str, by: Any) -> Makes | None:
        """What makes of its pictures what torch's arithmetic makes of its samples; None: nothing does."""
        return None


_FLIPS = {-1: 0, 2: 0, -2: 1, 1: 1}  # by the dimension: FLIP_LEFT_RIGHT and FLIP_TOP_BOTTOM


def flip_of(dims: Any) -> int | None:
    """Pillow's method that does what torch.flip does to a sample; None: none does."""
    (dim,) = dims if type(dims) in (tuple, list) and len(dims) == 1 else (dims,)
    return _FLIPS.get(dim) if type(dim) is int else None


def failed() -> errors.EngineError:
    """Of a picture that was known to be one: memory is short, or the file was changed under our hands."""
    return errors.EngineError("a picture that waited for its batch could not be made: is memory short?")


class Pending:
    """What a lazy sample will be made of.

    Attributes:
        program, record: see LazyProgram.
        held, recorded: the picture: its data, and what is done to that first.
        value: the sample, once it was made beside its tensor.
        boxes: what is written to it once it is made.
        place: its memory in the batch that its thread makes, or of its own; None: nobody has given it any.
        number: among its program's samples.
        row: its place is that of an expected batch.
        making: who makes it now, there.
        used: it was made as part of a batch, or another sample was made of it: no other waits for it.
        shared: several tensors are it, of different classes.
    """

    __slots__ = (
        "__weakref__", "boxes", "held", "making", "number", "place", "program", "record", "recorded", "row",
        "shared", "used", "value",
    )  # fmt: skip

    def __init__(
        self, program: Makes, held: Held | None, recorded: tuple[Any, ...], record: array[int] | None
    ) -> None:
        self.program, self.held, self.recorded, self.record = program, held, recorded, record
        self.value: torch.Tensor | None = None
        self.boxes: tuple[WrittenBox, ...] = ()
        self.used = self.shared = False
        self.place: torch.Tensor | None = None
        self.making: Making | None = None
        self.row: Row | None = None
        self.number = program.expected.number()
        program.waiting.append(weakref.ref(self))
        program.since += 1

    @property
    def picture(self) -> Picture:
        """Of which it is made."""
        held = self.held
        data: Any = (b"", 0, 0) if held is None else (held.data, *held.size)
        return (*data, *self.recorded)

    @staticmethod
    def begin(program: Makes) -> None:
        """Has the engine's threads make those that wait. The latest one may yet become something else, but
        its picture is decoded."""
        waiting = program.waiting
        if not waiting or not program.has_helpers():  # another thread may have taken them all
            return
        if (made := waiting[-1]()) is not None and made.held is not None and made.held.whole:
            Held.begin([made.held])
        if program.fresh:
            waiting.extend(weakref.ref(one) for one in Pending._taken(waiting))
        together = 1 if program.fresh else min(_BEGUN, program.group)
        if len(waiting) < 2 or len(waiting) % (together + 1):
            return
        program.fresh = False
        latest = waiting.pop()
        each = Pending._taken(waiting)
        try:
            Pending._begin(program, each)
        except BaseException:
            for one in each:  # what was to lie in a batch, or alone, must not be begun with others
                one.give_up()
            raise
        finally:
            waiting.extend(weakref.ref(one) for one in each if one.making is None)
            waiting.append(latest)

    def begin_at_once(self) -> None:
        """Has a thread make it where so few wait for a look: the latest would wait in vain."""
        program = self.program
        wanted = program.few and program.missed < _MOST_MISSED and not program.stacked
        if not (wanted and program.has_helpers() and self.waits()):
            return
        try:
            Pending._begin(program, [self])
        except BaseException:
            self.give_up()
            raise

    @staticmethod
    def _taken(waiting: deque[weakref.ref[Pending]]) -> list[Pending]:
        """Those that wait still. They are not there any more."""
        each = [*waiting]
        waiting.clear()
        return [one for ref in each if (one := ref()) is not None and one.waits()]

    @staticmethod
    def _begin(program: Makes, each: list[Pending]) -> None:
        """Those of these that have a place in a batch; if nobody stacks any, in memory of their own."""
        some = [one for one in each if one.has_batch()]
        own = not some and not program.stacked
        if own:
            some = [one for one in each if one.has_own()]
        places = [one.place for one in some if one.place is not None]
        making = program.begin([one.picture for one in some], [one.record for one in some], places, own)
        for one in some:
            one.making = making
            if making is None and (own or one.row is not None):
                one.give_up()

    def waits(self) -> bool:
        """Whether somebody waits for it whom nobody has made it for, or begun to."""
        return self.is_open() and not self.used

    def _is_shared(self) -> bool:
        """Whether its picture is decoded once, for all of its samples, and is not there yet."""
        return self.held is not None and not self.held.end(now=True)

    def has_batch(self) -> bool:
        """Whether it has a place in a batch, which it is given if one is expected."""
        if self._is_shared():
            return False
        if self.place is None:
            program = self.program
            self.row = program.expected.row(self.number, program.shape_of(self.picture), program.dtype)
            if self.row is not None:
                batch, i = self.row
                self.place = batch.memory[i]
        return self.place is not None

    def has_own(self) -> bool:
        """Whether it has memory of its own, which it is given."""
        if not self._is_shared():
            self.place = self.program.memory(self.picture)
        return self.place is not None

    def give_up(self) -> torch.Tensor | None:
        """Its memory, if it was to be made there alone or for an expected batch: it is not any more."""
        place, row = self.place, self.row
        self.place = self.making = self.row = None
        if row is not None:
            row[0].given -= 1
        return place

    def is_open(self) -> bool:
        """Whether something else may still become of it."""
        return self.value is None and self.making is None

    def may_become(self) -> bool:
        """The same; one that was begun too early for that counts."""
        if self.making is not None:
            self.program.missed += 1
        return self.is_open()

    def is_left(self) -> bool:
        """Whether it must be made: nobody has, and nobody of this process does."""
        return self.value is None and (self.making is None or not self.making.is_here())

    def then(self, program: Makes, flip: int | None = None) -> Pending:
        """What another program makes of the same, in its place if it fits; of the picture flipped first."""
        recorded = self.recorded
        if program is not self.program:
            self.program.next = program
        if flip is not None:
            chain, *size = recorded
            recorded = chain + turn(flip), *size
        made = Pending(program, self.held, recorded, self.record)
        if program.dtype is self.program.dtype:
            made.place, self.place = self.place, None
        else:
            made.place = in_place(program.shape_of(made.picture), program.dtype)
        return made

    @staticmethod
    @Spent.picture
    def make_all(
        program: Makes,
        left: Sequence[Pending],
        places: Sequence[torch.Tensor],
        all_: Sequence[Pending | None],
    ) -> None:
        """Makes those of a batch that are left, at these places, and waits for the others.

        The latest come first: threads have begun with the first, and nobody waits for one while another could
        be made.
        """
        pictures, records = [one.picture for one in left], [one.record for one in left]
        making = program.begin(pictures, records, places) if program.has_helpers() else None
        program.fresh = True
        if making is None:
            program.finish_all(pictures, records, array("q", [place.data_ptr() for place in places]))
        elif making.end():
            raise failed()
        for one in reversed(all_):
            if one is not None and one.making is not None and one.making.is_here():
                one.making.end()

    @staticmethod
    def make_at_places(each: Sequence[Pending]) -> None:
        """Those of one program that have a place, and no value yet."""
        left = {one: one.place for one in each if one.place is not None and one.is_left()}
        Pending.make_all(each[0].program, [*left], [*left.values()], each)
        for one in each:
            if one in left:
                one.keep(left[one])
            else:
                one.end()

    def ended(self) -> bool:
        """Waits, if somebody makes it: whether it lies at its place then.

        Raises:
            EngineError: it could not be made.
        """
        making = self.making
        if making is None:
            return False
        if not making.is_here():
            self.give_up()  # a parent's
            return False
        if making.end():
            self.give_up()
            raise failed()
        return True

    def end(self) -> bool:
        """Whether it was made meanwhile; then it is there now. Errors are those of `ended`."""
        if not self.ended():
            return False
        of_batch, place = self.row is not None, self.give_up()
        assert place is not None
        self.keep(place.clone() if of_batch else place)
        return True

    def make(self) -> torch.Tensor:
        """The sample, in memory of its own. Others that wait are made with it, or while threads make it."""
        self._looked()
        with (
            torch.inference_mode(False),
            unwatched() if is_watched() else nullcontext(),
        ):  # as somebody else's sample, it is made as always
            if self.value is None:
                if self.making is not None and self.making.is_here():
                    self._make([])
                if not self.end():
                    self._make([self])
            assert self.value is not None
            self.value = self.program.by_itself(self.value)
        return self.value

    def _looked(self) -> None:
        """Learns how many wait for a look: of two, one is begun before anybody looks."""
        program = self.program
        program.next = None  # its samples are looked at as they are
        if program.since:
            program.few = 2 <= program.since <= _FEW  # one alone is looked at before anybody could begin it
            program.group, program.since = max(1, program.since - 1), 0

    def _make(self, group: list[Pending]) -> None:
        """Makes these, and others that wait."""
        program = self.program
        if not self.used and program.has_helpers():
            group = [*group, *self._others()]
        if not group:
            return
        Held.decode(one.held for one in group)
        if group == [self]:
            program.alone += 1
            self.keep(program.finish(self.picture, self.record))
            return
        made = program.finish_each([one.picture for one in group], [one.record for one in group])
        for one, value in zip(group, made, strict=True):
            one.keep(value)

    def _others(self) -> list[Pending]:
        """Those that somebody holds and nobody has looked at."""
        return [one for one in Pending._taken(self.program.waiting) if one is not self]

    def keep(self, value: torch.Tensor) -> None:
        """It was made. Its picture is not needed any more."""
        write_boxes(value, self.boxes)
        self.value, self.held, self.boxes, self.place = value, None, (), None

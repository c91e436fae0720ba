"""A worker's batch on its way to the loader's process, in slots that both have; small tensors in the pickle.

torch makes a file of each storage, fills it page by page, hands its descriptor through a socket and maps it:
0.3 ms, and more for a large one. Here a storage is one copy into memory that is used again.
What the worker's code still holds is torch's to send: both processes have the same memory then.
"""

from __future__ import annotations

import ctypes
import io
import pickle
import sys
from collections.abc import Callable, Iterable
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeAlias

import torch

from .batch_memory import BatchMemory

_SMALL_BYTES = 64 << 10  # of a storage that crosses in the pickle
_MOST_INSIDE = 4096  # of a container that is looked into
_ATOMS = frozenset([int, float, bool, str, bytes, type(None), torch.Size, torch.dtype])
_CONTAINERS: tuple[tuple[type, Callable[[Any], int], Callable[[Any], Iterable[Any]]], ...] = (
    (dict, dict.__len__, dict.values),
    (list, list.__len__, list.__iter__),
    (tuple, tuple.__len__, tuple.__iter__),
)
_Place: TypeAlias = "bytes | torch.Tensor"


class Parcel:
    """A batch, pickled as torch does, but for some storages.

    Args:
        places: by a storage's identity: its bytes, or a tensor of them that crosses as a ticket.
    """

    def __init__(self, batch: Any, places: dict[int, _Place]) -> None:
        self._batch, self._places = batch, places

    def __reduce__(self) -> tuple[Any, ...]:  # on the thread of the worker's queue, as torch's own pickling
        room = io.BytesIO()
        _Sender(room, self._places).dump(self._batch)
        return pickle.loads, (room.getvalue(),)


class _Sender(ForkingPickler):
    def __init__(self, room: io.BytesIO, places: dict[int, _Place]) -> None:
        super().__init__(room)
        self._places = places

    def reducer_override(self, value: Any) -> Any:
        if waits(value):  # ForkingPickler takes it for what it stands for
            return value.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
        if type(value) is torch.UntypedStorage:
            place = self._places.get(value._cdata)
            if place is not None:
                return _storage, (place,)
        return NotImplemented


def _storage(place: _Place) -> torch.UntypedStorage:
    """In the loader's process."""
    if isinstance(place, bytes):
        place = torch.frombuffer(bytearray(place), dtype=torch.uint8)
    return place.untyped_storage()


def parcel(made: list[Any], rows: Any, memory: BatchMemory) -> Any:
    """What a worker sends in place of a batch.

    Args:
        made: the batch alone.
        rows: a list of which it was made, that nobody keeps; or None.
        memory: of the worker.
    """
    laid = memory.laid.copy()
    memory.laid.clear()
    places: dict[int, _Place] = {}
    owners = Owners(made)
    if owners.held and rows is not None:
        del owners  # it refers to them, too
        owners = Owners(made, rows)
    for number in owners.storages.keys() & laid.keys():  # it lies in a slot already
        places[number] = laid[number][1].crossing(owners.storages[number].nbytes())
    for storage in owners.free():
        if storage._cdata not in places and storage.nbytes() and not storage.is_shared():
            try:
                places[storage._cdata] = _copied(storage, memory)
            except (OSError, MemoryError):
                break  # torch needs less for one batch
    return Parcel(made[0], places) if places or owners.waits else made[0]


def _copied(storage: torch.UntypedStorage, memory: BatchMemory) -> _Place:
    bytes_ = storage.nbytes()
    if bytes_ <= _SMALL_BYTES:
        return ctypes.string_at(storage.data_ptr(), bytes_)
    # Of few sizes, so that there are few rings. Pages that nobody writes are not there.
    place = memory.take(1 << (bytes_ - 1).bit_length()).crossing(bytes_)
    place.copy_(torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage))
    return place


class Owners:
    """Who refers to the tensors of a batch.

    Args:
        roots: lists, which are not asked for themselves.

    Attributes:
        counts: by identity: references to what is in them, from elsewhere and from here.
        held: what has more than from here.
        storages: of the tensors that are known, by identity.
        waits: whether a lazy sample is left.
    """

    def __init__(self, *roots: list[Any]) -> None:
        self._seen, self._inside = list[Any](), dict[int, int]()  # references from within, by identity
        self.waits = False
        waiting: list[Iterable[Any]] = [*roots]
        while waiting:
            for value in waiting.pop():
                if type(value) in _ATOMS:
                    continue
                times = self._inside[id(value)] = self._inside.get(id(value), 0) + 1
                if times == 1:
                    if waits(value):
                        value.data_ptr()  # an ordinary tensor from now on, if nothing refers to it weakly
                        self.waits = self.waits or waits(value)
                    self._seen.append(value)
                    waiting.append(_parts(value))
        value = None
        with torch._C.DisableTorchFunctionSubclass():
            tensors = [one for one in self._seen if _is_known(one)]
            bases = {id(base): base for base in (one._base for one in tensors) if base is not None}
            of_tensors = {id(one): one.untyped_storage() for one in (*tensors, *bases.values())}
        self._of_tensors = of_tensors
        self.storages = {one._cdata: one for one in of_tensors.values()}
        del tensors
        usual = {**dict.fromkeys(self._inside, _SEEN), **dict.fromkeys(bases, _BASE)}
        self._seen += [bases.pop(number) for number in [*bases] if number not in self._inside]
        del bases
        self.counts = {id(one): sys.getrefcount(one) - self._inside.get(id(one), 0) for one in self._seen}
        self.held = {number for number, count in self.counts.items() if count > usual[number]}

    def free(self) -> list[torch.UntypedStorage]:
        """Those of them that nothing else refers to."""
        held, waiting = set(self.held), [_parts(one) for one in self._seen if id(one) in self.held]
        while waiting:  # what is in a container that is held is held as well
            for value in waiting.pop():
                if id(value) not in held:
                    held.add(id(value))
                    waiting.append(_parts(value))
        count, kept = dict.fromkeys(self.storages, 0), set[int]()
        for number, storage in self._of_tensors.items():
            count[storage._cdata] += 1
            if number in held:
                kept.add(storage._cdata)
        storage = None
        uses = torch._C._storage_Use_Count
        return [
            self.storages[number]
            for number, tensors in count.items()
            if number not in kept
            and uses(number) == tensors + 1
            and sys.getrefcount(self.storages[number]) == tensors + _STORAGE
        ]


def _parts(value: Any) -> Iterable[Any]:
    """What lies in a container, without a call of its class's own methods."""
    for kind, length, parts in _CONTAINERS:
        if isinstance(value, kind):
            return parts(value) if length(value) < _MOST_INSIDE else ()
    return ()


def waits(value: Any) -> bool:
    """Whether it is a lazy sample: torch.stack makes those of a batch."""
    return isinstance(value, torch.Tensor) and getattr(type(value), "waits", False)


def _is_known(value: Any) -> bool:
    """Whether it is a tensor in memory, of torch's class or torchvision's."""
    kind = type(value)
    if kind is not torch.Tensor and (
        waits(value) or not kind.__module__.startswith("torchvision.tv_tensors")
    ):
        return False
    return (
        isinstance(value, torch.Tensor)
        and value.is_cpu
        and value.layout is torch.strided
        and not value.is_nested
    )


def _usual_counts() -> tuple[int, int, int]:
    """References that are Python's, torch's and ours: to a thing, to the base of a view, and to a storage."""
    with torch.inference_mode(False):  # in which a view has no base
        owners = Owners([torch.zeros(2, device="cpu").view(2, 1)])
    seen, base = owners.counts.values()
    (number,) = owners.storages
    return seen, base, sys.getrefcount(owners.storages[number]) - 2  # those of both tensors


_SEEN = _BASE = _STORAGE = 0
_SEEN, _BASE, _STORAGE = _usual_counts()

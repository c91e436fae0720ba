"""What the native library is to Python: two modules, as mypy sees them.

Native is for control and long work: Go, a microsecond a call. Capsule is for what happens once or twice a
batch: plain C, 0.05 us a call, which a forked child may go on using. Addresses are numbers: of C memory, or
of the caller's own buffers, which must outlive the call, or the ticket that it starts.
"""

from __future__ import annotations

import ctypes
from typing import Any, NewType, Protocol, TypeVar

Ring = NewType("Ring", object)  # slots of batch memory; they outlive it
Making = NewType("Making", object)  # samples that the crew makes meanwhile; dropped, it ends
Pages = NewType("Pages", object)  # private memory, and what owns it
Block = NewType("Block", object)  # a slot in which tensors lie side by side; they outlive it
# Pixels, width, height, or a file and zeros; what was recorded; then the width and height of the sample.
Picture = tuple[bytes, int, int, bytes] | tuple[bytes, int, int, bytes, int, int]

S = TypeVar("S", bound=ctypes.Structure)


def _struct(kind: type[S]) -> type[S]:
    """A struct of C's, with fields of eight bytes. Whoever makes one keeps it for as long as C may look."""
    kind._fields_ = [(name, ctypes.c_int64) for name in kind.__annotations__]
    return kind


@_struct
class Request(ctypes.Structure):
    """A ticket's request: gf_request of engine/crew.h."""

    __slots__ = ()
    ticket: int  # while there is one
    indices: int
    records: int
    rows: int
    batch_rows: int
    slots: int
    labels: int
    silent: int


@_struct
class DrawRequest(ctypes.Structure):
    """What is drawn for a batch: gf_draw_request of capsule/images.c."""

    __slots__ = ()
    indices: int
    n: int
    sizes: int
    records: int
    state: int
    python: int
    flags: int
    done: int
    asked: int
    answers: int
    answered: int
    tally: int
    epoch: int
    refills: int


@_struct
class CutMixShape(ctypes.Structure):
    """A batch, and a box in bytes and rows: gf_cutmix_shape of image/pixel/mixing.h."""

    __slots__ = ()
    samples: int
    planes: int
    height: int
    row_bytes: int
    left: int
    top: int
    right: int
    bottom: int


@_struct
class Ragged(ctypes.Structure):
    """Rows of different lengths, and the batch that they become: gf_ragged of table/gather/ragged.h."""

    __slots__ = ()
    values: int
    ends: int
    size: int
    rows: int
    n: int
    places: int
    width: int
    blank: int
    left: int
    out: int


class Native(Protocol):
    """Package pybind, as gopy makes it: strings are JSON. Its errors are for `errors.from_native`."""

    def pybind_Call(self, operation: str, config: str, /) -> str:
        """Does control work; modules `*_operations` have the names."""

    def pybind_Begin(self, id: int, operation: str, config: str, /) -> int:
        """Starts long work under a new number."""

    def pybind_Poll(self, id: int, ms: int, /) -> float:
        """Waits at most so long: the part that is done, 1 when all is."""

    def pybind_Result(self, id: int, /) -> str:
        """Waits for it, and forgets it."""

    def pybind_Abort(self, id: int, /) -> int:
        """Has it end soon."""


class Capsule(Protocol):
    """Package pybind/capsule, whose C files say what each function promises. More than six arguments are a
    struct, which is handed over by its address."""

    def ring(self, slot_bytes: int, count: int, fd: int, /) -> Ring:
        """Slots; where fd is not -1, in that shared memory."""

    def reserve(self, ring: Ring, view: int, rows: int, batch_rows: int, out: int, tally: int, /) -> bool:
        """Takes a slot for every batch; False where the ring has too few. What is done for them is counted in
        a loader's tally, if that is not 0."""

    def lend(self, slots: int, count: int, places: int, /) -> None:
        """Has batches made in other memory, whose addresses lie at places."""

    def fill(self, view: int, indices: int, records: int, from_: int, slot: int, labels: int, /) -> int:
        """Makes the rest of a batch on this thread, which counts as a wait: -1, or the position of a bad
        index."""

    def submit(self, crew: int, view: int, threads: int, request: int, /) -> bool | None:
        """Starts a request's ticket: False when the engine is closed, None when a slot is gone."""

    def wait(self, request: int, slot: int, milliseconds: int, /) -> bool:
        """Helps, and waits for the slot, or for all where that is 0; whether it is settled."""

    def cancel(self, request: int, /) -> None:
        """Drops a request's ticket: nothing writes for it any more."""

    def take(self, place: int, how: int, /) -> Any:
        """The batch of a slot, for `from_dlpack`; None where there is none yet, False where it failed."""

    def move(self, places: int, count: int, to: int, /) -> bool:
        """Gives slots to other places, or back to their ring where to is 0; whether there were any."""

    def hand_over(self, slot: int, /) -> int:
        """One more reference, for another process; the slot's number."""

    def adopt(self, ring: Ring, number: int, code: int, bits: int, /, *shape: int) -> Any:
        """The batch that another process handed over."""

    def block(self, ring: Ring, /) -> tuple[Block, int] | None:
        """Takes a slot to lay tensors in, and its address; None where the ring has none."""

    def piece(self, block: Block, offset: int, code: int, bits: int, /, *shape: int) -> Any:
        """A tensor from that byte of the block on, for `from_dlpack`."""

    def held(self, block: Block, /) -> int:
        """How many of its tensors are alive: of a tensor, its storage counts."""

    def pages(self, address: int, size: int, /) -> Pages:
        """What owns mapped memory: it is unmapped with it."""

    def share(self, pages: Pages, fd: int, /) -> None:
        """Lets a file have their bytes, and stand in their place. OSError: it cannot, and nothing is lost."""

    def pin(self, ring: Ring, device: int, /) -> str:
        """Pins a ring's memory: "", or why not."""

    def send(self, device: int, place: int, mended: int, job: int, /) -> int | bool | None:
        """Starts a job on the slot that lies at a place, or on none: the number of its move. Like take, None
        where there is none yet, False where it failed. Without a job, only looks."""

    def receive(self, device: int, number: int, stream: int, /) -> None:
        """Lets a stream wait for a move."""

    def launch(self, device: int, function: int, making: int, stream: int, /) -> None:
        """Puts a kernel on a stream."""

    def sent(self, device: int, number: int, /) -> bool:
        """Whether a move is done: its host memory is free."""

    def draw(self, view: int, crew: int, most: int, request: int, /) -> tuple[int, int, float, str]:
        """Finds sizes of pictures and draws their records: code, samples done, what to ask, and words."""

    def faults(self, slot: int, /) -> tuple[int, int, list[tuple[int, int, int, str]]]:
        """What failed in a batch: where its samples lie, the bad index, and (position, code, offset, words)
        of each sample that could not be made."""

    def make_sample(self, picture: Picture, view: int, record: int, place: int, /) -> tuple[int, str]:
        """Makes a sample of a picture: fault and words."""

    def make_samples(
        self, pictures: list[Picture], view: int, records: int, places: int, crew: int, most: int, /
    ) -> int:
        """Makes a sample of each picture at its place, with most threads of a crew: 0, or a fault."""

    def begin_samples(
        self, pictures: list[Picture], view: int, records: int, places: int, crew: int, most: int, /
    ) -> Making | None:
        """Begins what `make_samples` does, on the crew's threads. It must end before the places do. None: the
        crew takes no work."""

    def end_samples(self, making: Making, now: int, /) -> int | None:
        """0, or a fault. Not now: helps, and waits for all. Now: None where one is not made yet."""

    def begin_rows(
        self, pictures: list[Picture], pass_order: int, max_pixels: int, crew: int, most: int, /
    ) -> tuple[Making, list[bytes]]:
        """Begins the pixels of each picture, RGBX, with most threads of a crew; without one they are made.
        They say their sizes. What `end_samples` takes, before which nobody reads them; and them."""

    def kept_place(self, name: bytes, keys: int, count: int, /) -> int:
        """Where a name's record is noted in a table of keys; -1 where there is no room."""

    def jpeg_header(self, data: bytes, length: int, /) -> tuple[int, int, int, int, int] | None:
        """Width, height, components, where the header ends, and whether Pillow reads Exif data there at once.
        The data begin a file of that length. None where only Pillow can read it."""

    def jpeg_is_certain(self, data: bytes, scan: int, max_pixels: int, /) -> bool:
        """Whether a decoder makes a picture of a JPEG whose scan begins there, however damaged."""

    def png_header(self, data: bytes, /) -> tuple[int, int, int, int, int, int, int] | None:
        """Width, height, depth, colour, the palette's place and bytes, and where the header ends, of a whole
        and plain file. None where Pillow must read it."""

    def same_items(self, dicts: list[dict[Any, Any]], held: list[tuple[object, ...]], /) -> bool:
        """Whether each dict has the objects of its tuple: a key, its value, the next key, and so on."""

    def make_pixels(
        self, picture: Picture, width: int, height: int, channels: int, pass_order: int, max_pixels: int, /
    ) -> bytes | tuple[int, str]:
        """The pixels of the same; or fault and words."""

    def pad(self, request: int, /) -> None:
        """Fills the batch of a Ragged."""

    def strings(self, data: int, ends: int, rows: int, n: int, /) -> list[str]:
        """Texts, from their bytes."""

    def unpacked(self, data: bytes, skip: int, length: int, /) -> bytes | None:
        """`length` bytes of what Snappy's elements hold, behind the first `skip`; None if they are broken."""

    def picture_file(self, data: bytes, /) -> bytes | None:
        """The file of a picture that has no file format; None if it is no picture of Pillow's."""

    def shuffle(self, values: int, n: int, state: int, /) -> None:
        """Shuffles int64 values as numpy's Generator of a new PCG64 does: state has four halves of it."""

    def permute(self, places: int, count: int, n: int, key: int, /) -> None:
        """Replaces int64 places of 0..n-1 by what the permutation of a key of 8 words has there."""

    def free_picture(self, place: int, /) -> None:
        """Frees the picture that was made there, if there is one."""

    def mixup(self, batch: int, mixed: int, samples: int, values: int, part: float, rest: float, /) -> None:
        """Mixes every sample, of so many float32 values, with the one before it."""

    def cutmix(self, batch: int, mixed: int, shape: int, /) -> None:
        """Copies a batch, with a box of every sample from the one before it."""

"""Who owns batch memory, and until when: held views, interrupts at every step, threads, workers."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from array import array
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader
from torch.utils.dlpack import from_dlpack

import gofast
from gofast._core import engine
from gofast._loader import worker_ring as shared_batches

ROWS, WIDTH = 512, 16
X = torch.arange(ROWS * WIDTH, dtype=torch.float32).reshape(ROWS, WIDTH)
Y = torch.arange(ROWS)


def dataset(**options: Any) -> gofast.ArrayDataset:
    return gofast.ArrayDataset(X, Y, **options)


def check_epoch(loader: Any) -> None:
    batches = list(loader)
    assert torch.equal(torch.cat([images for images, _ in batches]), X)
    assert torch.equal(torch.cat([labels for _, labels in batches]), Y)


def status(name: str) -> int:
    """A number of /proc/self/status: Threads, or VmRSS in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name + ":")))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def without_feeders() -> None:
    """Waits for what torch does not: threads of closed queues, which close a pipe at their end."""
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":
            thread.join(30)


def mapped_rings() -> int:
    return Path("/proc/self/maps").read_text().count("gofast-ring")


LEFT_ALONE = {
    "rows": lambda: gofast.DataLoader(dataset(), 64),
    "workers": lambda: gofast.DataLoader(dataset(), 64, num_workers=2),
    "torch's loader": lambda: DataLoader(dataset(), 64),
    "a generator's rows": lambda: gofast.IterableDataset([(torch.zeros(3, 8, 8).numpy(), 0)]),
    "prefetch": lambda: gofast.prefetch(DataLoader(dataset(), 64), "cuda"),
    "on a device": lambda: gofast.DataLoader(dataset(), 64, device="cuda"),
}


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize("kind", LEFT_ALONE)
def test_an_epochs_end_keeps_no_frame(kind: str) -> None:
    """One that waits for the garbage collector keeps its callers': models, pinned memory that ends a forked
    worker, and workers that Python's end waits for."""

    class Thing:
        pass

    def epoch() -> weakref.ref[Thing]:
        thing, batches = Thing(), iter(loader)
        with pytest.raises(StopIteration):
            while True:
                next(batches)
        return weakref.ref(thing)

    loader = LEFT_ALONE[kind]()
    epoch()
    gc.collect()
    gc.disable()
    try:
        assert epoch()() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- one slot


class Slots:
    """A private ring, and what the border does with it."""

    def __init__(self, count: int) -> None:
        self.dataset = dataset()
        self.view = self.dataset._view()
        self.capsule = engine.capsule()
        self.ring = self.capsule.ring(self.view.row_bytes * 4, count, -1)

    def fill(self) -> array[int]:
        """A filled batch of rows 0..3: the place that owns it, empty when the ring is full."""
        place, rows = array("q", [0]), array("q", [0, 1, 2, 3])
        at = place.buffer_info()[0]
        if self.capsule.reserve(self.ring, self.view.core.address, 4, 4, at, 0):
            labels = self.view.new_labels(4)
            assert labels is not None
            self.capsule.fill(
                self.view.core.address, rows.buffer_info()[0], 0, 0, place[0], labels.data_ptr()
            )
        return place

    def free(self) -> int:
        """How many slots are free."""
        places = []
        while (place := self.fill())[0]:
            places.append(place)
        for place in places:
            self.capsule.move(place.buffer_info()[0], 1, 0)
        return len(places)


def test_capsule_that_nobody_consumes_frees_its_slot() -> None:
    slots = Slots(3)
    for _ in range(10):
        place = slots.fill()
        capsule = slots.capsule.take(place.buffer_info()[0], 0)
        assert place[0] == 0, "the capsule owns the slot"
        assert slots.free() == 2
        del capsule
        assert slots.free() == 3


def test_slot_is_taken_and_released_once() -> None:
    slots = Slots(3)
    place = slots.fill()
    at = place.buffer_info()[0]
    tensor = from_dlpack(slots.capsule.take(at, 0))
    assert slots.capsule.take(at, 0) is None
    slots.capsule.move(at, 1, 0)  # of a slot that was taken: nothing
    assert slots.free() == 2
    view = tensor[1:].t()[3]
    del tensor
    assert slots.free() == 2
    assert torch.equal(view, X[1:4, 3])
    del view
    assert slots.free() == 3
    place = slots.fill()
    slots.capsule.move(place.buffer_info()[0], 1, 0)
    slots.capsule.move(place.buffer_info()[0], 1, 0)
    assert slots.free() == 3


def test_ring_outlives_its_owner() -> None:
    slots = Slots(2)
    place = slots.fill()
    tensor = from_dlpack(slots.capsule.take(place.buffer_info()[0], 0))
    del slots.ring
    assert torch.equal(tensor, X[:4])
    del tensor  # unmaps it


def test_a_taken_slot_is_no_other_tensors_memory() -> None:
    seen = set()
    held = []
    for images, _ in gofast.DataLoader(dataset(), batch_size=4):
        assert images.data_ptr() % 64 == 0
        assert images.data_ptr() not in seen, "a held batch is overwritten"
        seen.add(images.data_ptr())
        held.append(images)
    assert torch.equal(torch.cat(held), X)


def test_dropped_batches_are_reused() -> None:
    loader = gofast.DataLoader(dataset(), batch_size=4)
    addresses = {images.data_ptr() for _ in range(20) for images, _ in loader}
    assert len(addresses) < 400  # of 2560 batches; half an epoch of batches this small is in flight at once


# ---------------------------------------------------------------- many threads


def test_batches_die_on_other_threads() -> None:
    """The deleter needs no lock of Python's: here it runs on threads that never called us."""
    loader = gofast.DataLoader(dataset(), batch_size=4)
    for _ in range(5):
        shelves: list[list[torch.Tensor]] = [[] for _ in range(4)]
        threads = [threading.Thread(target=shelf.clear) for shelf in shelves]
        for i, (images, labels) in enumerate(loader):
            assert torch.equal(images, X[4 * i : 4 * i + 4]) and torch.equal(labels, Y[4 * i : 4 * i + 4])
            shelves[i % 4].append(images)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


# ---------------------------------------------------------------- what ends early


def test_iterator_dropped_in_the_middle() -> None:
    loader = gofast.DataLoader(dataset(), batch_size=8)
    for stop in range(12):
        iterator = iter(loader)
        for _ in range(stop):
            next(iterator)
        del iterator
    check_epoch(loader)


def test_view_and_stream_in_one_cycle() -> None:
    """The collector tells a view of its end before the stream that has work in flight on it."""

    class Trainer:
        pass

    for _ in range(20):
        trainer = Trainer()
        trainer.me = trainer  # type: ignore[attr-defined]
        x = torch.rand(20_000, 64)
        trainer.batches = iter(gofast.DataLoader(gofast.ArrayDataset(x), batch_size=2000))  # type: ignore[attr-defined]
        next(trainer.batches)  # type: ignore[attr-defined]
        del trainer, x
        gc.collect()
    check_epoch(gofast.DataLoader(dataset(), batch_size=8))


def test_exception_in_the_loop() -> None:
    loader = gofast.DataLoader(dataset(), batch_size=8)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            for images, _labels in loader:
                assert torch.equal(images, X[:8])
                raise ZeroDivisionError
        check_epoch(loader)


def interrupt_at(step: int, work: Callable[[], object]) -> bool:
    """KeyboardInterrupt at a step (an instruction) of our Python code; False when work was done before."""
    ours = os.path.dirname(gofast.__file__)
    left = step

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(ours):
            return None
        frame.f_trace_opcodes = True
        # Instructions without a line are the interpreter's own: no signal comes there, and CPython 3.11 keeps
        # what is raised at the beginning of a handler for good, with the iterator of its frames.
        if event == "opcode" and frame.f_lineno is not None:
            if left == 0:
                left = -1
                raise KeyboardInterrupt
            left -= 1
        return trace

    sys.settrace(trace)
    try:
        work()
        return left == -1
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # some interrupts come in a finalizer
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", ["gofast", "torch", "large"])
def test_interrupt_at_every_step(kind: str, stride: int) -> None:
    """Ctrl-C may come between any two steps of Python. Nothing is freed twice or written later, and the
    next epoch is whole. Batches that are held all the while keep their values."""
    rows = dataset()
    if kind == "large":  # shared with the engine's threads
        big = torch.arange(1024 * 1024, dtype=torch.float32).reshape(1024, 1024)
        rows = gofast.ArrayDataset(big, torch.arange(1024))
        loader: Any = DataLoader(rows, batch_size=512)
        expected = big
    else:
        make = gofast.DataLoader if kind == "gofast" else DataLoader
        loader = make(rows, batch_size=64)
        expected = X
    held = [images for images, _ in loader]
    labels_held: list[torch.Tensor] = []

    def epoch() -> None:
        labels_held.clear()
        for images, labels in loader:
            labels_held.append(labels)
            images.fill_(-1)

    def look() -> None:
        gc.collect()
        fresh = list(loader)
        assert torch.equal(torch.cat([images for images, _ in fresh]), expected)
        assert torch.equal(torch.cat([labels for _, labels in fresh]), torch.arange(len(expected)))
        assert torch.equal(torch.cat(held), expected)

    step, tried = 0, 0
    while interrupt_at(step, epoch):
        tried += 1
        if tried % 10 == 0:
            look()
        step += stride if step < 400 else 7 * stride  # all of the first batch or two, then some of the others
        assert step < 20_000
    assert tried > 100 / stride
    look()


# ---------------------------------------------------------------- workers come and go


def test_fresh_workers_leave_nothing() -> None:
    """Their rings are unmapped once the loader has shut them down; no descriptor or process stays."""
    loader = DataLoader(dataset(), batch_size=64, num_workers=2, multiprocessing_context="fork")
    check_epoch(loader)
    without_feeders()
    before = descriptors(), status("Threads")
    for _ in range(15):
        check_epoch(loader)
    without_feeders()
    assert mapped_rings() == 0
    assert descriptors() <= before[0]  # fewer, when an earlier test's workers are gone
    assert status("Threads") <= before[1]
    assert not multiprocessing.active_children()


def test_batches_outlive_their_workers() -> None:
    loader = DataLoader(dataset(), batch_size=64, num_workers=2, multiprocessing_context="fork")
    batches = list(loader)
    del loader
    gc.collect()
    assert not multiprocessing.active_children()
    assert mapped_rings() > 0
    assert torch.equal(torch.cat([images for images, _ in batches]), X)
    part = batches[3][0][5:9]
    del batches
    assert torch.equal(part, X[3 * 64 + 5 : 3 * 64 + 9])
    del part
    assert mapped_rings() == 0


def test_worker_needs_few_slots() -> None:
    """A consumer that drops its batches lets the workers reuse them, for any number of epochs."""
    loader = DataLoader(
        dataset(), batch_size=8, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    for _ in range(10):
        check_epoch(loader)  # holds all 64 batches of an epoch
    assert 2 <= mapped_rings() <= 2 * 3  # 16 slots, then 32 more where an epoch is held
    del loader
    gc.collect()
    assert mapped_rings() == 0


def test_torchs_transport_where_the_ring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:
        raise PermissionError("memfd_create")

    monkeypatch.setattr(os, "memfd_create", refuse)
    assert not shared_batches.can_share()
    check_epoch(DataLoader(dataset(), batch_size=64, num_workers=2, multiprocessing_context="fork"))
    assert mapped_rings() == 0


ORPHANS = """
import os, signal, sys, torch, gofast
from torch.utils.data import DataLoader
ds = gofast.ArrayDataset(torch.zeros(4000, 8), torch.arange(4000))
ds[:8]
torch.utils.data._utils.worker.MP_STATUS_CHECK_INTERVAL = 0.5  # how often workers look for their parent
iterator = iter(DataLoader(ds, batch_size=8, num_workers=2, multiprocessing_context="fork"))
held = [next(iterator) for _ in range(3)]
print(*(worker.pid for worker in iterator._workers), flush=True)
signal.pause()
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_workers_die_with_their_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2 and all(map(alive, workers))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(alive, workers))


# ---------------------------------------------------------------- long ones


def quiet_memory() -> int:
    """Resident memory in kB, after what can be given back was."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return status("VmRSS")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_fresh_workers_do_not_grow_memory() -> None:
    loader = DataLoader(dataset(), batch_size=64, num_workers=2, multiprocessing_context="fork")
    for _ in range(20):
        check_epoch(loader)
    before = quiet_memory()
    for _ in range(200):
        check_epoch(loader)
    assert quiet_memory() - before < 2048  # 200 epochs: 10 kB an epoch would show
    assert mapped_rings() == 0


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [0, 2])
def test_held_and_dropped_epochs_do_not_grow_memory(workers: int) -> None:
    """Of a loader that starts no process: rings grow while batches are held, and give it back."""
    loader = gofast.DataLoader(dataset(), batch_size=8, num_workers=workers)
    rows: list[torch.Tensor] = []

    def epochs(count: int) -> None:
        for k in range(count):
            batches = iter(loader)
            part = [next(batches)[0] for _ in range(k % 64)]
            del batches
            rows.append(part[-1][3:5] if part else X[3:5])
            assert torch.equal(rows[-1], X[8 * max(k % 64 - 1, 0) + 3 :][:2])
            check_epoch(loader)  # holds a whole one
            del rows[:-4]  # a view holds its batch

    epochs(200)
    before = quiet_memory(), descriptors(), status("Threads")
    epochs(2000)
    assert quiet_memory() - before[0] < 2048  # a batch of 512 bytes, lost in each epoch, is 1000
    assert (descriptors(), status("Threads")) == before[1:]


def test_an_iterator_that_the_garbage_collector_finds_leaves_no_stream_of_freed_rows() -> None:
    """It frees the joined rows first, and runs the iterator's `__del__` then."""
    part = gofast.ArrayDataset(torch.arange(40.0).reshape(40, 1), output="dict", keys=("x", "y"))
    loader = gofast.DataLoader(ConcatDataset([part, part]), 4, num_workers=2)
    for _ in range(20):
        batches = iter(loader)
        next(batches)
        circle: list[Any] = [batches]
        circle.append(circle)
        del batches, circle
        gc.collect()
        rows = torch.cat([batch["x"] for batch in loader]).flatten()
        assert torch.equal(rows, torch.arange(40.0).repeat(2))

"""A decoded table's memory: private, until a process is spawned that needs it too."""

from __future__ import annotations

import errno
import gc
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import gofast
from gofast._core import descriptors, engine
from gofast._core.memory import DecodedMemory, MappedMemory

ROWS, WIDTH = 3000, 16
VALUES = np.arange(ROWS * WIDTH, dtype=np.int32).reshape(ROWS, WIDTH)


@pytest.fixture
def table(tmp_path: Path) -> gofast.TableDataset[Any, Any]:
    path = tmp_path / "table.npz"
    np.savez(path, features=VALUES, label=np.arange(ROWS))
    return gofast.TableDataset(path)


def lines(address: int) -> list[str]:
    """Of /proc/self/maps: of the mapping that holds an address."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            found.append(line)
    return found


def memory(table: gofast.TableDataset[Any, Any]) -> DecodedMemory:
    found = table._memory
    assert isinstance(found, DecodedMemory)
    return found


def check(table: gofast.TableDataset[Any, Any]) -> None:
    batch = table[:]
    assert torch.equal(batch["features"], torch.from_numpy(VALUES).float())
    assert torch.equal(batch["label"], torch.arange(ROWS))


def test_it_is_private_and_read_only(table: gofast.TableDataset[Any, Any]) -> None:
    held = memory(table)
    assert [line.split()[1] for line in lines(held.features_address)] == ["r--p"]
    assert not held.features.flags.writeable and not held.labels.flags.writeable


def test_it_goes_with_the_last_array(table: gofast.TableDataset[Any, Any]) -> None:
    address, array = memory(table).features_address, memory(table).features
    table.__dict__.clear()
    gc.collect()
    assert np.array_equal(array, VALUES) and lines(address)
    del array
    gc.collect()
    assert not any("r--p" in line and line.endswith(" 0 ") for line in lines(address))


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_spawned_workers_share_it(table: gofast.TableDataset[Any, Any], method: str) -> None:
    held = memory(table)
    before = held.features_address
    loader = DataLoader(table, batch_size=500, num_workers=2, multiprocessing_context=method)
    for _ in range(2):
        got = torch.cat([batch["features"] for batch in loader])
        assert torch.equal(got, torch.from_numpy(VALUES).float())
    (line,) = lines(held.features_address)
    assert held.features_address == before and line.split()[1] == "r--s" and "memfd:gofast-table" in line
    check(table)


def test_forked_workers_leave_it_private(table: gofast.TableDataset[Any, Any]) -> None:
    for batch in DataLoader(table, batch_size=500, num_workers=2, multiprocessing_context="fork"):
        assert len(batch["label"]) == 500
    assert [line.split()[1] for line in lines(memory(table).features_address)] == ["r--p"]


def test_readers_see_no_difference(table: gofast.TableDataset[Any, Any]) -> None:
    """One thread reads while others share it, several at once."""
    held, over, wrong = memory(table), threading.Event(), list[int]()

    def read() -> None:
        while not over.is_set():
            if not np.array_equal(held.features, VALUES):
                wrong.append(1)

    def share() -> None:
        fd = os.memfd_create("test")
        engine.capsule().share(held._pages, fd)
        os.close(fd)

    reader = threading.Thread(target=read)
    reader.start()
    sharing = [threading.Thread(target=share) for _ in range(8)]
    for thread in sharing:
        thread.start()
    for thread in sharing:
        thread.join()
    over.set()
    reader.join()
    assert not wrong
    check(table)


def test_what_is_handed_over_cannot_be_written(table: gofast.TableDataset[Any, Any]) -> None:
    held = memory(table)
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    engine.capsule().share(held._pages, fd)
    descriptors.seal(fd)
    for act in (lambda: os.pwrite(fd, b"x", 0), lambda: os.ftruncate(fd, 1)):
        with pytest.raises(PermissionError):
            act()
    made = MappedMemory(fd, held.layout)
    assert np.array_equal(made.features, VALUES) and np.array_equal(made.labels, held.labels)


def test_memory_that_cannot_be_shared_stays(table: gofast.TableDataset[Any, Any]) -> None:
    held = memory(table)
    read_only = os.open("/dev/null", os.O_RDONLY)
    with pytest.raises(OSError) as caught:
        engine.capsule().share(held._pages, read_only)
    os.close(read_only)
    assert caught.value.errno == errno.EBADF
    check(table)
    for batch in DataLoader(table, batch_size=ROWS, num_workers=1, multiprocessing_context="forkserver"):
        assert torch.equal(batch["features"], torch.from_numpy(VALUES).float())

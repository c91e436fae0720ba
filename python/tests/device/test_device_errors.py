"""Calls of the driver that fail, memory or a compiler that is missing, and a device that is lost."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch

import gofast
from device_cases import BATCH, OUT_OF_MEMORY, ROWS, WAYS, all_same, make, opened, same, wanted
from gofast import errors
from gofast._core import device_operations
from gofast._device import device as devices
from standin import SOURCES, StandIn

CALLS = re.findall(r'CALL\(\w+, "(\w+)"', (SOURCES.parents[1] / "driver.h").read_text())

# What gives something back: where it fails, that is not given back.
ENDINGS = ("Release", "PopCurrent", "Free", "Unregister", "Destroy", "Unload")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> gofast.TableDataset:
    return opened(tmp_path_factory.mktemp("table"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS)
def test_every_call_that_fails_once(
    standin: StandIn, table: gofast.TableDataset, call: str, way: str
) -> None:
    """Either the batches are right, or there is a typed error; and then all is well."""
    loader = make(way, table)
    want = wanted(table)
    standin.may_leak = any(word in call for word in ENDINGS)
    for nth in (1, 2, 5):
        standin.fail(call, nth)
        came, failed = [], 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.GofastWarning)  # of memory that cannot be pinned
            try:
                batches = iter(loader)
            except errors.DeviceError as error:
                assert call.removesuffix("_v2") in str(error) or call == "cuGetErrorName"
                batches = iter(loader)
            for _ in range(2 * len(want)):
                try:
                    came.append(next(batches))
                except StopIteration:
                    break
                except (errors.DeviceError, OUT_OF_MEMORY):
                    failed += 1
        assert failed <= 1 and len(came) + failed >= len(want), (nth, len(came), failed)
        seen = [standin.seen(batch) for batch in came]
        places = [next((i for i, b in enumerate(want) if same(a, b)), -1) for a in seen]
        assert places == sorted(set(places)) and -1 not in places, (nth, places)
        standin.c.standin_heal()
    standin.c.standin_advance_all()
    assert all_same(standin, loader, table)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [0, 2])
def test_no_memory_for_a_batch(
    standin: StandIn, table: gofast.TableDataset, way: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch comes when it is asked for again."""
    from standin import StandInSide

    real, want = StandInSide._empty, wanted(table)
    count, fails = 0, -1

    def empty(self: Any, *of: Any) -> torch.Tensor:
        nonlocal count
        count += 1
        if count == fails:
            raise OUT_OF_MEMORY("no memory, for a test")
        return real(self, *of)

    loader = make(way, table)
    next(iter(loader))
    monkeypatch.setattr(StandInSide, "_empty", empty)
    for nth in range(1, 15):
        fails = nth
        count, came, failed = 0, [], 0
        batches = iter(loader)
        while True:
            try:
                came.append(next(batches))
            except StopIteration:
                break
            except OUT_OF_MEMORY:
                failed += 1
        assert failed <= 1
        assert [same(standin.seen(a), b) for a, b in zip(came, want, strict=True)] == [True] * len(want)


@pytest.mark.filterwarnings("default::gofast.errors.GofastWarning")
@pytest.mark.parametrize("limit", ["nothing", "staging"])
def test_memory_that_cannot_be_pinned(standin: StandIn, table: gofast.TableDataset, limit: str) -> None:
    standin.c.standin_pin_limit(1 if limit == "nothing" else 64 << 20)
    with pytest.warns(errors.GofastWarning, match="batch memory cannot be pinned") as said:
        for _ in range(3):
            loader = gofast.DataLoader(table, BATCH, device="cuda", resident=False)
            assert all_same(standin, loader, table)
    assert len(said) == 1
    stats = devices.all_opened()[0].stats()
    assert stats["pinned_bytes"] == 0
    if limit == "nothing":
        assert stats["staged_bytes"] == 0 and stats["pageable_bytes"] == stats["bytes"] > 0
    else:
        # The first upload makes the staging block, before any batch memory could be pinned.
        assert stats["pageable_bytes"] == 0 and stats["staged_bytes"] == stats["bytes"] > 0


def test_without_a_compiler_finished_samples_are_copied(
    standin: StandIn, table: gofast.TableDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's own library of NVRTC cannot be hidden: torch has loaded it."""

    def kernel(_: Any) -> int:
        raise errors.UnsupportedError("no kernel can be compiled")

    monkeypatch.setattr(device_operations, "kernel", kernel)
    with pytest.warns(errors.GofastWarning, match="no kernel can be compiled.*copied") as said:
        for resident in (False, "auto"):
            loader = gofast.DataLoader(table, BATCH, device="cuda", resident=resident)
            assert all_same(standin, loader, table)
            assert "finished samples are copied" in str(gofast.explain(loader))
    assert len(said) == 1
    with pytest.raises(errors.DeviceError, match="resident=True: no kernel can be compiled"):
        iter(gofast.DataLoader(table, BATCH, device="cuda", resident=True))


@pytest.mark.parametrize("way", WAYS)
def test_a_device_that_is_lost(standin: StandIn, table: gofast.TableDataset, way: str) -> None:
    loader = make(way, table)
    batches = iter(loader)
    standin.seen(next(batches))
    standin.c.standin_lose(0)
    with pytest.raises(errors.DeviceError, match="ILLEGAL_ADDRESS"):
        for _ in range(ROWS):
            next(batches)
    with pytest.raises((errors.DeviceError, OUT_OF_MEMORY)):
        list(loader)
    del batches
    cpu = gofast.DataLoader(table, BATCH)
    assert all(same(a, b) for a, b in zip(cpu, wanted(table), strict=True))

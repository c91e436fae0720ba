"""What a loader for a GPU is asked for, and says where there is none: devices, resident, no driver."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import gofast
from device_cases import BATCH, all_same, opened, run, same, wanted
from gofast import errors
from gofast._device import device as devices
from gofast._device import torch_device
from standin import StandIn


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> gofast.TableDataset:
    return opened(tmp_path_factory.mktemp("table"))


@pytest.mark.parametrize("device", ["banana", "cuda:x", "meta", -1, 1.5, True, "", []])
def test_what_is_no_cuda_device(table: gofast.TableDataset, device: Any) -> None:
    with pytest.raises(errors.OptionError, match="device="):
        gofast.DataLoader(table, device=device)
    with pytest.raises(errors.OptionError, match="device="):
        gofast.prefetch([], device)


def test_other_options_that_make_no_sense(table: gofast.TableDataset) -> None:
    for resident in ("always", 1, 0, None, 0.5):
        with pytest.raises(errors.OptionError, match="resident="):
            gofast.DataLoader(table, resident=resident)  # type: ignore[arg-type]
    for ahead in (-1, True, 1.0, None):
        with pytest.raises(errors.OptionError, match="ahead="):
            gofast.prefetch([], "cuda", ahead=ahead)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu")])
def test_the_cpu_opens_no_device(table: gofast.TableDataset, device: Any) -> None:
    for loader in (
        gofast.DataLoader(table, BATCH, device=device),
        gofast.prefetch(gofast.DataLoader(table, BATCH), device),
    ):
        assert all(same(a, b) for a, b in zip(loader, wanted(table), strict=True))
    assert not devices._devices


def test_a_device_that_is_not_there(standin: StandIn, table: gofast.TableDataset) -> None:
    loader = gofast.DataLoader(table, device="cuda:7")
    with pytest.raises(errors.DeviceError):
        iter(loader)
    standin.visible = 8  # torch may be wrong
    with pytest.raises(errors.DeviceError, match="there is no device 7: the driver shows 1"):
        iter(loader)


@pytest.mark.parametrize("number", [1, "cuda:1"])
def test_another_device_than_the_current_one(
    standin: StandIn, table: gofast.TableDataset, number: Any
) -> None:
    standin.c.standin_devices(2)
    standin.visible, standin.place = 2, 1
    for resident in (True, False):
        loader = gofast.DataLoader(table, BATCH, device=number, resident=resident)
        assert all_same(standin, loader, table)
    assert [device.ordinal for device in devices.all_opened()] == [1]


def test_a_device_that_is_named_begins_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank with device=local_rank would have a context on the first one."""
    asked: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "init", lambda: asked.append("init"))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: asked.append("current") or 0)  # type: ignore[func-returns-value]
    assert torch_device.ordinal_of(torch.device("cuda:1")) == 1 and asked == ["init"]
    assert torch_device.ordinal_of(torch.device("cuda")) == 0 and asked[-1] == "current"
    with pytest.raises(errors.DeviceError, match="torch shows 2"):
        torch_device.ordinal_of(torch.device("cuda:2"))


def test_ranks_share_what_may_be_pinned(
    standin: StandIn, table: gofast.TableDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = gofast.DataLoader(table, BATCH, device="cuda", resident=False)
    for ranks, pinned in ((8, False), (1, True)):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(ranks))
        monkeypatch.setattr(devices, "_memory", lambda: 40 << 10)
        assert all_same(standin, loader, table)
        assert (devices.all_opened()[0].stats()["pinned_bytes"] > 0) == pinned


def test_resident_where_nothing_can_be(standin: StandIn, table: gofast.TableDataset) -> None:
    both = torch.utils.data.ConcatDataset([table, table])
    for dataset in (both, gofast.ArrayDataset(torch.zeros(4, 2))):
        with pytest.raises(errors.OptionError, match="not rows of one table"):
            iter(gofast.DataLoader(dataset, device="cuda", resident=True))
        assert len(list(gofast.DataLoader(dataset, device="cuda"))) == len(dataset)
    standin.c.standin_memory(500, 1 << 20)
    with pytest.raises(errors.DeviceError, match=r"the table takes 1.0 kB, and cuda:0 .* has no room"):
        iter(gofast.DataLoader(table, device="cuda", resident=True))


def test_a_table_that_takes_more_than_a_quarter_is_not_kept(
    standin: StandIn, table: gofast.TableDataset
) -> None:
    standin.c.standin_memory(3999, 1 << 20)
    loader = gofast.DataLoader(table, 2, device="cuda")
    next(iter(loader))
    assert not devices.all_opened()[0].tables.get(table._memory)


# -- without a driver


NO_DRIVER = """
import re, sys, torch, gofast
maps = lambda: re.findall(r"libcuda\\.so|libnvrtc[-.]", open("/proc/self/maps").read())
loaded = maps()
array = gofast.ArrayDataset(torch.zeros(4, 2))
assert len(list(gofast.DataLoader(array))) == 4 and maps() == loaded, maps()
for loader in (gofast.DataLoader(array, device="cuda"), gofast.prefetch([], "cuda")):
    try: iter(loader)
    except gofast.errors.DeviceError as error: print(error)
    else: raise AssertionError
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_an_error_says_what_is_missing() -> None:
    done = run(NO_DRIVER)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 2
    for line in said:
        assert line.startswith("device='cuda': ") and re.search("sees no GPU here|built without CUDA", line)


@pytest.mark.full
def test_importing_gofast_loads_nothing_of_cuda() -> None:
    code = """
{}
mapped = (line.split()[-1] for line in open('/proc/self/maps'))
print(sorted(set(path for path in mapped if 'libcuda.so' in path or 'nvrtc' in path)))
"""
    ours = "import gofast; gofast.DataLoader, gofast.TableDataset"  # they bring torch
    assert run(code.format(ours)).stdout == run(code.format("import torch")).stdout != ""

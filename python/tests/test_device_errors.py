"""What can go wrong between a loader and a GPU: no driver, failing calls, no memory, forks, Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gofast
from gofast import errors
from gofast._core import operations
from gofast._device import device as devices
from standin import LATE, ON_SIGHT, SOURCES, StandIn

CALLS = re.findall(r'CALL\(\w+, "(\w+)"', (SOURCES.parents[1] / "driver.h").read_text())
ROWS, BATCH = 50, 8
OUT_OF_MEMORY = torch.cuda.OutOfMemoryError

# What gives something back: where it fails, that is not given back.
ENDINGS = ("Release", "PopCurrent", "Free", "Unregister", "Destroy", "Unload")

WAYS: dict[str, dict[str, Any]] = {
    "resident": {"resident": True},
    "by kernel": {"resident": False},
    "ahead": {"resident": False, "num_workers": 2},
    "prefetched": {},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "t.npz"
    rng = np.random.default_rng(0)
    np.savez(path, features=rng.integers(0, 256, (ROWS, 12), np.uint8), label=np.arange(ROWS))
    return path


@pytest.fixture(scope="module")
def table(path: Path) -> gofast.TableDataset:
    return gofast.TableDataset(path, mean=[0.5], std=[0.25], scale="unit")


def make(way: str, table: gofast.TableDataset) -> Any:
    if way == "prefetched":
        return gofast.prefetch(torch.utils.data.DataLoader(table, BATCH), "cuda")
    return gofast.DataLoader(table, BATCH, device="cuda", **WAYS[way])


def wanted(table: gofast.TableDataset) -> list[dict[str, torch.Tensor]]:
    return list(torch.utils.data.DataLoader(table, BATCH))


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(a[key].dtype == b[key].dtype and torch.equal(a[key], b[key]) for key in b)


def all_same(standin: StandIn, loader: Any, table: gofast.TableDataset) -> bool:
    held = list(loader)
    pairs = zip(held, wanted(table), strict=True)
    return all(same(standin.seen(batch), want) for batch, want in pairs)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


# -- what is said


@pytest.mark.parametrize("device", ["banana", "cuda:x", "meta", -1, 1.5, True, "", []])
def test_what_is_no_cuda_device(table: gofast.TableDataset, device: Any) -> None:
    with pytest.raises(errors.OptionError, match="device="):
        gofast.DataLoader(table, device=device)
    with pytest.raises(errors.OptionError, match="device="):
        gofast.prefetch([], device)


@pytest.mark.parametrize("resident", ["always", 1, 0, None, 0.5])
def test_what_is_no_choice_of_resident(table: gofast.TableDataset, resident: Any) -> None:
    with pytest.raises(errors.OptionError, match="resident="):
        gofast.DataLoader(table, resident=resident)


@pytest.mark.parametrize("ahead", [-1, True, 1.0, None])
def test_what_is_no_number_of_batches(ahead: Any) -> None:
    with pytest.raises(errors.OptionError, match="ahead="):
        gofast.prefetch([], "cuda", ahead=ahead)


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


def test_resident_where_nothing_can_be(standin: StandIn, table: gofast.TableDataset) -> None:
    both = torch.utils.data.ConcatDataset([table, table])
    for dataset in (both, gofast.ArrayDataset(torch.zeros(4, 2))):
        with pytest.raises(errors.OptionError, match="not rows of one table"):
            iter(gofast.DataLoader(dataset, device="cuda", resident=True))
        assert len(list(gofast.DataLoader(dataset, device="cuda"))) == len(dataset)
    standin.c.standin_memory(500, 1 << 20)
    with pytest.raises(errors.DeviceError, match=r"the table takes 1,000 bytes, and cuda:0 .* has no room"):
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


def test_importing_gofast_loads_nothing_of_cuda() -> None:
    code = """
import {}
mapped = (line.split()[-1] for line in open('/proc/self/maps'))
print(sorted(set(path for path in mapped if 'libcuda.so' in path or 'nvrtc' in path)))
"""
    assert run(code.format("gofast")).stdout == run(code.format("torch")).stdout != ""


# -- calls that fail


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS)
def test_every_call_that_fails_once(
    standin: StandIn, table: gofast.TableDataset, call: str, way: str
) -> None:
    """Either the batches are right, or there is a typed error; and then all is well."""
    loader = make(way, table)
    want = wanted(table)
    standin.may_leak = any(word in call for word in ENDINGS)
    if call in ("cuModuleLoadData", "cuModuleGetFunction"):
        standin.mode = ON_SIGHT  # torch's operations take the kernel's place, and they are done at once here
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


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own library of NVRTC cannot be hidden: torch has loaded it."""

    def kernel(_: Any) -> int:
        raise errors.UnsupportedError("no kernel can be compiled")

    monkeypatch.setattr(operations, "kernel", kernel)


@pytest.mark.usefixtures("no_compiler")
def test_a_missing_compiler_is_said_once(standin: StandIn, table: gofast.TableDataset) -> None:
    standin.mode = ON_SIGHT
    with pytest.warns(errors.GofastWarning, match="no kernel can be compiled.*torch's operations") as said:
        for resident in (True, False, "auto"):
            list(gofast.DataLoader(table, BATCH, device="cuda", resident=resident))
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore:.*no kernel can be compiled")
@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64])
@pytest.mark.parametrize("arithmetic", ["none", "unit", "channels", "one_hot"])
def test_without_a_compiler_torch_makes_the_same(
    standin: StandIn, tmp_path: Path, resident: bool, dtype: torch.dtype, arithmetic: str
) -> None:
    standin.mode = ON_SIGHT  # torch's operations on this device are done at once
    options: dict[str, Any] = {"scale": None}
    if arithmetic == "unit":
        options = {"scale": "unit"}
    if arithmetic == "channels":
        options = {"scale": "unit", "mean": [0.5, 0.4, 0.3], "std": [0.25, 0.1, 3.0]}
    if arithmetic == "one_hot":
        options = {"scale": None, "one_hot": ROWS}
    if dtype is torch.int64 and arithmetic in ("unit", "channels"):
        pytest.skip("an error of the dataset")
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "t.npz", features=rng.integers(0, 256, (ROWS, 48), np.uint8), label=np.arange(ROWS))
    ds = gofast.TableDataset(tmp_path / "t.npz", shape=(3, 4, 4), dtype=dtype, **options)
    loader = gofast.DataLoader(ds, BATCH, device="cuda", resident=resident)
    assert all_same(standin, loader, ds)


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


# -- forks, signals, threads, the end


@pytest.mark.parametrize("way", WAYS)
def test_a_forked_child_gets_an_error_and_the_parent_goes_on(
    standin: StandIn, table: gofast.TableDataset, way: str
) -> None:
    loader = make(way, table)
    batches = iter(loader)
    first = next(batches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of processes with threads
        pid = os.fork()
    if not pid:
        signal.alarm(20)
        code = 1
        try:
            try:
                next(batches)
            except errors.GofastError:
                code = 2
            del batches, loader
            try:
                list(make(way, table))
            except errors.GofastError:
                code += 1
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    came = [standin.seen(batch) for batch in [first, *batches]]
    assert all(same(a, b) for a, b in zip(came, wanted(table), strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_interrupts_at_any_line(standin: StandIn, table: gofast.TableDataset, way: str) -> None:
    """Ctrl-C loses no batch in silence, and gives none twice: a batch that is lost is an error."""
    want = wanted(table)
    loader = make(way, table)
    list(loader)
    for nth in range(0, 250, 3):
        left, hit = nth, False

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal left, hit
            if "gofast/_device" not in frame.f_code.co_filename:
                return None
            if event == "line" and not hit:
                left -= 1
                if left < 0:
                    hit = True
                    raise KeyboardInterrupt
            return trace

        batches = iter(loader)
        came: list[Any] = []
        for _ in range(len(want) + 3):
            sys.settrace(trace)
            try:
                batch = next(batches)
            except KeyboardInterrupt:
                sys.settrace(None)
                came.append("interrupted")
            except errors.CanceledError:
                sys.settrace(None)
                came.append("lost")
            except StopIteration:
                sys.settrace(None)
                break
            else:
                sys.settrace(None)
                came.append(standin.seen(batch))
        batches_ = [entry for entry in came if isinstance(entry, dict)]
        places = [next((i for i, b in enumerate(want) if same(a, b)), -1) for a in batches_]
        assert -1 not in places and places == sorted(set(places)), (nth, places)
        missing = len(want) - len(places)
        assert missing <= came.count("lost") + (way == "prefetched"), (nth, places, came.count("lost"))
    assert all_same(standin, loader, table)


@pytest.mark.parametrize("way", WAYS)
def test_a_loader_that_is_closed_while_a_thread_takes(
    standin: StandIn, table: gofast.TableDataset, way: str
) -> None:
    if way == "prefetched":
        pytest.skip("torch's own loader has no close")
    want = wanted(table)
    for _ in range(40):
        loader = make(way, table)
        batches = iter(loader)
        came: list[Any] = []
        wrong: list[BaseException] = []

        def take(batches: Iterator[Any] = batches, came: Any = came, wrong: Any = wrong) -> None:
            try:
                came.extend(batches)
            except errors.CanceledError:
                pass
            except BaseException as error:
                wrong.append(error)

        thread = threading.Thread(target=take)
        thread.start()
        loader.close()
        thread.join()
        assert not wrong
        assert all(same(standin.seen(a), b) for a, b in zip(came, want, strict=False))
        assert all_same(standin, loader, table)


def test_threads_share_an_iterator(standin: StandIn, table: gofast.TableDataset) -> None:
    want = wanted(table)
    for way in ("resident", "by kernel", "ahead"):
        came: list[Any] = []
        batches = iter(make(way, table))
        threads = [threading.Thread(target=came.extend, args=(batches,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        labels = sorted(standin.look(batch["label"]).tolist() for batch in came)
        assert labels == [batch["label"].tolist() for batch in want]


END = """
import pathlib, sys
sys.path.insert(0, {folder!r})
import pytest, gofast, standin, torch
patch = pytest.MonkeyPatch()
opened = standin.opened(pathlib.Path({library!r}), patch, pathlib.Path({cache!r}))
s = next(opened)
s.mode = standin.MANUAL
ds = gofast.TableDataset({table!r})
held = []
for resident in (True, False):
    loader = gofast.DataLoader(ds, 8, device="cuda", resident=resident, num_workers=2)
    batches = iter(loader)
    held += [next(batches), next(batches), batches, loader]
moved = iter(gofast.prefetch(torch.utils.data.DataLoader(ds, 8), "cuda"))
held.append(next(moved))
assert s.c.standin_pending()
print("end")
"""


def test_the_end_with_copies_under_way(standin: StandIn, path: Path, tmp_path: Path) -> None:
    folder = str(Path(__file__).parent)
    code = END.format(folder=folder, library=str(standin.library), cache=str(tmp_path), table=str(path))
    for ending in ("", "raise SystemExit(3)"):
        done = run(code + ending)
        assert done.stdout == "end\n", done.stderr
        assert done.returncode == (3 if ending else 0), done


# -- no thread waits


@pytest.mark.parametrize("way", WAYS)
def test_nobody_waits_for_the_device(standin: StandIn, table: gofast.TableDataset, way: str) -> None:
    loader = make(way, table)
    for _ in range(5):
        for batch in loader:
            assert batch["label"].numel()
    assert standin.c.standin_syncs() == 0
    assert standin.calls("cuMemcpyDtoHAsync_v2") == 0
    assert standin.mode == LATE and standin.c.standin_pending() > 0
    assert standin.violations() == ""

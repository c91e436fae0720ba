"""How loaders for a GPU end: forks, Ctrl-C, threads, the interpreter. And nobody waits for the device."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import gofast
from device_cases import WAYS, all_same, make, opened, run, same, wanted, write
from gofast import errors
from in_threads import in_threads
from standin import LATE, StandIn


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> gofast.TableDataset:
    return opened(tmp_path_factory.mktemp("table"))


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
def test_while_another_thread_captures_a_graph(
    standin: StandIn, table: gofast.TableDataset, way: str
) -> None:
    """The stand-in minds what a capture forbids to every thread, also torch's cudaMalloc."""
    standin.c.standin_capture(1)
    try:
        assert all_same(standin, make(way, table), table)
    finally:
        standin.c.standin_capture(0)


@pytest.mark.parametrize("way", WAYS)
def test_torchs_default_stream(standin: StandIn, table: gofast.TableDataset, way: str) -> None:
    """Its handle is 0, and most programs have no other."""
    standin.streams[0] = 0
    assert all_same(standin, make(way, table), table)


@pytest.mark.parametrize("way", WAYS)
def test_batches_made_ahead_in_inference_mode_can_be_trained_with(
    standin: StandIn, table: gofast.TableDataset, way: str
) -> None:
    batches = iter(make(way, table))
    with torch.inference_mode():
        next(batches)
    weight = torch.ones(12, requires_grad=True)
    for batch in batches:
        (batch["features"] * weight).sum().backward()
    assert weight.grad is not None


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
        in_threads(*(functools.partial(came.extend, batches) for _ in range(3)))
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


def test_the_end_with_copies_under_way(standin: StandIn, tmp_path: Path) -> None:
    folder = str(Path(__file__).parents[1])
    code = END.format(
        folder=folder, library=str(standin.library), cache=str(tmp_path), table=str(write(tmp_path))
    )
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


@pytest.mark.parametrize("way", WAYS)
def test_what_waits_inside_of_the_driver_is_asked_once(
    standin: StandIn, table: gofast.TableDataset, way: str
) -> None:
    """Pinning, loading code and allocating wait for all that a device does."""
    loader, asked = make(way, table), []
    for _ in range(4):
        for batch in loader:
            assert batch["label"].numel()
            standin.c.standin_advance_all()
        names = ("cuMemHostAlloc", "cuMemHostRegister_v2", "cuModuleLoadData", "cuMemAlloc_v2")
        asked.append([standin.calls(name) for name in names])
    assert asked[0] == asked[-1] and max(asked[0]) == 1

"""What many tests share: a stand-in for a GPU, tests that are repeated with it, some of many parameters."""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from PIL import ImageCms

# What a shell runs in the background ignores Ctrl-C, and so would all that tests send it to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each worker of a fork server would import them itself, which takes seconds, and gofast it still does.
multiprocessing.set_forkserver_preload(["torch", "torchvision"])

# Torch waits so long, else 5 s, for each worker of an iterator that only the collector finds, as behind an
# error that a test keeps: the queue that would tell the worker is gone by then.
torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL = 0.5

# Pillow converts LAB by a profile made for each picture, which holds the second it was made in: two equal
# pictures, one made before that second's end and one after it, had unequal `info`.
ImageCms.createProfile = functools.cache(ImageCms.createProfile)  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> None:
    """Draws are a test's own: they do not depend on the tests before it."""
    seed = zlib.crc32(request.node.nodeid.encode())
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Without threads of torch's for small tensors: busy processors make those ten times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def quietly(one_thread: None) -> Iterator[None]:
    """Without torchvision's and Pillow's warnings of odd parameters and odd files, and on one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def samples_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of lazy images wait for their batch, where a process has one thread too."""
    from gofast._core import engine
    from gofast._images import conversions, held_pictures, lazy_program, pending_samples

    monkeypatch.setattr(held_pictures.Held, "expected", 0)
    monkeypatch.setattr(held_pictures.Held, "missed", 0)
    monkeypatch.setattr(engine, "helpers", lambda: (engine.crew(), 2))
    monkeypatch.setattr(lazy_program, "_PATIENCE", 1 << 30)
    monkeypatch.setattr(conversions, "_conversions", {})  # they learn, and know a few normalizations
    monkeypatch.setattr(pending_samples, "_FEW", 0)  # so does a Compose of several tests


@pytest.fixture
def begun_at_once(samples_wait: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a few wait for a look, each is begun."""
    monkeypatch.setattr("gofast._images.pending_samples._FEW", 8)


@pytest.fixture
def follows(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a module names as FOLLOWED stands for torchvision's own functions."""
    places = request.module.FOLLOWED
    places.leave()
    assert places.follow()
    yield
    places.leave()


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Twenty pictures of three classes, or PICTURES of them, where a module says so."""
    from image_data import make_folder

    return make_folder(tmp_path_factory.mktemp("pictures"), getattr(request.module, "PICTURES", 20))


@pytest.fixture(scope="session")
def standin_library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """GOFAST_STANDIN names one that is built already: benchmarks/gpu/kit.py."""
    import standin

    if built := os.environ.get("GOFAST_STANDIN"):
        return pathlib.Path(built)
    if shutil.which("gcc") is None:
        pytest.skip("gcc builds the stand-in for a GPU, and is not here")
    base = tmp_path_factory.getbasetemp()
    return standin.build(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture
def standin(
    standin_library: pathlib.Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Any]:
    """A GPU for this test, on which nothing may be wrong or left at the end."""
    import standin

    yield from standin.opened(standin_library, monkeypatch, tmp_path_factory.getbasetemp() / "kernels")


@pytest.fixture
def arrives(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the batches of this test's loaders arrive."""
    if request.param == "cpu":
        return
    from standin import everywhere

    resident = "auto" if request.param == "device" else False
    everywhere(request.getfixturevalue("standin"), monkeypatch, resident)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeats what is marked `arrives("device")` or `arrives("copied")`: without a device, and with one."""
    marker = metafunc.definition.get_closest_marker("arrives")
    if marker is not None:
        metafunc.fixturenames.insert(0, "arrives")
        metafunc.parametrize("arrives", ["cpu", *marker.args], indirect=True)


@pytest.hookimpl(tryfirst=True)  # before what is marked is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves all but some parameters of what is marked `daily` to `make test-full`."""
    tests = collections.defaultdict[str, list[pytest.Function]](list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("daily"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, each in tests.items():
        for item in set(each) - set(everyday(name, each)):
            item.add_marker(pytest.mark.full)


def everyday(name: str, each: list[pytest.Function]) -> list[pytest.Function]:
    """So many of a test, or as few as meet all pairs of values; the same in all processes."""
    (marker,) = each[0].iter_markers("daily")
    left = random.Random(name).sample(each, len(each))
    if marker.args:
        return left[: marker.args[0]]
    values = {item: [(name, id(value)) for name, value in item.callspec.params.items()] for item in each}
    pairs = {item: set(itertools.combinations(of, 2)) for item, of in values.items()}
    chosen = []
    while any(pairs.values()):
        chosen.append(max(left, key=lambda item: len(pairs[item])))
        met = pairs[chosen[-1]]
        pairs = {item: of - met for item, of in pairs.items()}
    return chosen


def pytest_collection_finish() -> None:
    """The collector passes over what was imported, half a million objects: 0.1 s and more each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # or some libraries take what is left for a leak

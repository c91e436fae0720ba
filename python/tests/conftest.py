"""What many tests share: a stand-in for a GPU, the loaders' tests that are repeated with it, a quick gc."""

from __future__ import annotations

import gc
import multiprocessing
import pathlib
import shutil
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader as TorchDataLoader

# Tests whose loaders are given device="cuda" too, and what they say as resident=. An array, which can be
# written to, and pictures are never resident.
REPEATED: dict[str, tuple[Any, ...]] = {
    "test_arithmetic": ("auto", False),
    "test_array_options": ("auto",),
    "test_array_types": ("auto",),
    "test_arrays": ("auto",),
    "test_batch_rows": ("auto",),
    "test_categories": ("auto",),
    "test_changes": ("auto", False),
    "test_classes": ("auto",),
    "test_images_loader": (False,),
    "test_images_parity": (False,),
    "test_images_rest": (False,),
    "test_images_hostile": (False,),
    "test_indices": ("auto", False),
    "test_labels": ("auto", False),
    "test_loader": ("auto",),
    "test_loader_order": ("auto",),
    "test_picture_labels": (False,),
    "test_replaced_pictures": (False,),
    "test_scale": ("auto", False),
    "test_table": ("auto", False),
    "test_threads": ("auto",),
}


# Each worker of a fork server would import them itself, which takes seconds, and gofast it still does.
multiprocessing.set_forkserver_preload(["torch", "torchvision"])


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


@pytest.fixture(scope="session")
def standin_library(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> pathlib.Path:
    import standin

    if shutil.which("gcc") is None:
        pytest.skip("gcc builds the stand-in for a GPU, and is not here")
    base = tmp_path_factory.getbasetemp()
    return standin.build(base if worker_id == "master" else base.parent)


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
    repeated = REPEATED.get(metafunc.module.__name__)
    if repeated is None:
        return
    metafunc.fixturenames.insert(0, "arrives")
    names = ["cpu", *("device" if resident == "auto" else "copied" for resident in repeated)]
    metafunc.parametrize("arrives", names, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drops repetitions of what makes no loader of gofast's."""
    items[:] = [item for item in items if _makes_a_difference(item)]


def pytest_collection_finish() -> None:
    """The collector passes over what was imported, half a million objects: 0.1 s and more each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # or some libraries take what is left for a leak


def _makes_a_difference(item: Any) -> bool:
    given = getattr(item, "callspec", None)
    if given is None or given.params.get("arrives", "cpu") == "cpu":
        return True
    if given.params.get("numbers") == "fake":
        return False
    for value in given.params.values():
        if value is TorchDataLoader or isinstance(value, Iterator):  # the first run has used an iterator up
            return False
    return _makes_loaders(item.function, set())


def _makes_loaders(function: Any, seen: set[Any]) -> bool:
    """Whether a function, or one of its module's that it calls, names a DataLoader."""
    pending: list[types.CodeType] = [function.__code__]
    while pending:
        code = pending.pop()
        if code in seen:
            continue
        seen.add(code)
        pending += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        if "DataLoader" in (*code.co_names, *code.co_freevars):
            return True
        for name in code.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType) and _makes_loaders(called, seen):
                return True
    return False

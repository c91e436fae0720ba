"""The GPU path on a real GPU: `make test-gpu`. test_device_*.py run it on a stand-in for the CUDA driver."""

from __future__ import annotations

import gc
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast import errors
from gofast._device import run_ahead
from gofast._device.device_batcher import AHEAD
from gofast._loader import pinning

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
BATCHES = 10_000


def digits(folder: pathlib.Path, rows: int = 4000) -> pathlib.Path:
    path = folder / "digits.npz"
    rng = np.random.default_rng(0)
    features = rng.integers(0, 256, (rows, 784), np.uint8)
    np.savez(path, features=features, label=rng.integers(0, 10, rows))
    return path


@pytest.fixture
def photos(tmp_path: pathlib.Path) -> pathlib.Path:
    rng = np.random.default_rng(1)
    for i in range(64):
        folder = tmp_path / "photos" / str(i % 4)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (90 + i, 120, 3), np.uint8)).save(folder / f"{i}.jpg")
    return tmp_path / "photos"


def assert_equal(on_gpu: Any, on_cpu: Any) -> None:
    values = (
        zip(on_gpu.values(), on_cpu.values(), strict=True)
        if isinstance(on_cpu, dict)
        else zip(on_gpu, on_cpu, strict=True)
    )
    for there, here in values:
        assert there.is_cuda
        assert (there.dtype, there.shape, there.stride()) == (here.dtype, here.shape, here.stride())
        ours, theirs = (values.contiguous().view(torch.uint8) for values in (there.cpu(), here))
        assert torch.equal(ours, theirs)


def assert_same_epochs(make: Callable[..., Any], epochs: int = 2, **options: Any) -> None:
    torch.manual_seed(0)
    expected = [list(loader) for loader in [make(device=None)] for _ in range(epochs)]
    torch.manual_seed(0)
    loader = make(device="cuda", **options)
    for batches in expected:
        for there, here in zip(loader, batches, strict=True):
            assert_equal(there, here)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("resident", [False, True])
@pytest.mark.parametrize("workers", [0, 4])
def test_tables(tmp_path: pathlib.Path, dtype: torch.dtype, resident: bool, workers: int) -> None:
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28), mean=[0.13], std=[0.31], dtype=dtype)

    def make(device: Any, **options: Any) -> Any:
        return gofast.DataLoader(table, 100, shuffle=True, num_workers=workers, device=device, **options)

    assert_same_epochs(make, resident=resident)


@pytest.mark.parametrize("stored", [np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
def test_tables_of_all_types(tmp_path: pathlib.Path, stored: Any, dtype: torch.dtype) -> None:
    values = np.random.default_rng(2).normal(0, 3000, (300, 33)).astype(stored)
    if values.dtype.kind == "f":
        values[::7, ::5] = 1e-40 if stored is np.float32 else 1e-310
    path = tmp_path / "table.npz"
    np.savez(path, features=values, label=np.arange(300.0))
    for numbers in ({}, {"mean": 3.5, "std": 7.25}):
        table = gofast.TableDataset(path, scale=None, dtype=dtype, label_type="float", **numbers)

        def make(device: Any, table: Any = table, **options: Any) -> Any:
            return gofast.DataLoader(table, 64, shuffle=True, device=device, **options)

        for resident in (False, True):
            assert_same_epochs(make, resident=resident)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("last", [False, True])
def test_pictures(photos: pathlib.Path, dtype: torch.dtype, last: bool) -> None:
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(64),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            v2.RandomErasing(p=0.5, value=0.25),
        ]
    )
    folder = gofast.ImageFolder(photos, transform, dtype=dtype, channels_last=last)

    def make(device: Any) -> Any:
        return gofast.DataLoader(folder, 16, shuffle=True, num_workers=4, device=device)

    assert_same_epochs(make)


@pytest.mark.parametrize("workers", [0, 4])
def test_pictures_in_memory(workers: int) -> None:
    dataset = datasets.CIFAR10.__new__(datasets.CIFAR10)
    numbers = [v1.ToTensor(), v1.Normalize([0.49, 0.48, 0.44], [0.2, 0.2, 0.2])]
    steps = [v1.RandomCrop(32, 4), v1.RandomHorizontalFlip(), *numbers]
    datasets.VisionDataset.__init__(dataset, "nowhere", transform=v1.Compose(steps))
    rng = np.random.default_rng(3)
    dataset.data = rng.integers(0, 256, (500, 32, 32, 3), np.uint8)
    dataset.targets = rng.integers(0, 10, 500).tolist()

    def make(device: Any) -> Any:
        return gofast.DataLoader(dataset, 64, shuffle=True, num_workers=workers, device=device)

    assert_same_epochs(make)


def test_decoder(photos: pathlib.Path) -> None:
    files = [path.read_bytes() for path in sorted(photos.rglob("*.jpg"))]
    transform = v1.Compose([v1.Resize(64), v1.CenterCrop(48), v1.ToTensor()])
    here, there = gofast.Decoder(transform)(files), gofast.Decoder(transform, device="cuda")(files)
    assert there.is_cuda and torch.equal(there.cpu(), here)


def test_a_program_that_runs_ahead_holds_a_bounded_part_of_the_memory() -> None:
    values = torch.rand(512, 3, 224, 224)
    batch, rows = 64, gofast.ArrayDataset(values, torch.arange(512))
    loader = gofast.DataLoader(rows, batch, num_workers=4, device="cuda")
    busy = torch.randn(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    for _ in range(6):
        for images, _ in loader:
            for _ in range(20):
                torch.mm(busy, busy)
            images.sum()
    some = (run_ahead.FEWEST + AHEAD + 4) * batch * values[0].nbytes + 4 * busy.nbytes
    assert torch.cuda.max_memory_reserved() - before < run_ahead.MOST_BYTES + some  # 1.2 GB, of 1.8


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_batches_of_a_small_ring(tmp_path: pathlib.Path, dtype: torch.dtype) -> None:
    """The slots of a batch are used again while earlier copies are under way: a busy GPU makes these late."""
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28), dtype=dtype)
    device = gofast.DataLoader(table, 40, num_workers=2, device="cuda", resident=False)
    busy = torch.randn(2048, 2048, device="cuda")
    seen = 0
    expected = [batch["image"].cuda() for batch in gofast.DataLoader(table, 40)]
    while seen < BATCHES:
        same: list[torch.Tensor] = []
        for batch in device:
            torch.mm(busy, busy)  # what the GPU does meanwhile
            same.append((batch["image"] == expected[len(same)]).all())
        assert torch.stack(same).all()
        seen += len(same)


def test_no_compiler(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gofast._device import device as devices

    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28), mean=[0.1], std=[0.3])
    opened = devices.opened(torch.device("cuda"))
    monkeypatch.setattr(opened, "_kernels", {})
    monkeypatch.setattr(opened, "without_kernels", "a test has none")

    def make(device: Any, **options: Any) -> Any:
        return gofast.DataLoader(table, 100, shuffle=True, device=device, **options)

    for resident in (False, "auto"):
        assert_same_epochs(make, resident=resident)


@pytest.mark.parametrize("kind", [gofast.DataLoader, torch.utils.data.DataLoader])
def test_pin_memory_copies_nothing(
    tmp_path: pathlib.Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.cuda.init()
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28))
    made: list[int] = []

    def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        made.append((memory := torch.empty(shape, dtype=dtype, pin_memory=True)).data_ptr())
        return memory

    monkeypatch.setattr(pinning, "empty", empty)
    for batch, same in zip(kind(table, 100, pin_memory=True), gofast.DataLoader(table, 100), strict=True):
        assert batch["image"].is_pinned()
        assert batch["label"].is_pinned()
        assert batch["image"].data_ptr() in made
        assert torch.equal(batch["image"], same["image"])


def test_a_pinned_batch_that_is_dropped_before_its_copy(tmp_path: pathlib.Path) -> None:
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28))
    expected = [batch["image"].cuda() for batch in gofast.DataLoader(table, 100)]
    busy = torch.randn(4096, 4096, device="cuda")
    for kind in (gofast.DataLoader, torch.utils.data.DataLoader):
        arrived = []
        for batch in kind(table, 100, pin_memory=True):
            for _ in range(5):
                torch.mm(busy, busy)  # the copy waits behind this, and the batch is gone by then
            arrived.append(batch.pop("image").to("cuda", non_blocking=True))
            del batch
        for there, same in zip(arrived, expected, strict=True):
            assert torch.equal(there, same)


def test_while_another_thread_captures_a_graph(tmp_path: pathlib.Path) -> None:
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28))
    expected = list(gofast.DataLoader(table, 10))
    arrived: list[Any] = []
    thread = threading.Thread(
        target=lambda: arrived.extend(gofast.DataLoader(table, 10, device="cuda", resident=False))
    )
    x = torch.zeros(10, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        thread.start()
        for _ in range(1000):
            x += 1
        thread.join()
    graph.replay()
    assert x.tolist() == [1000.0] * 10
    for there, here in zip(arrived, expected, strict=True):
        assert_equal(there, here)


def test_a_batch_inside_a_capture_is_refused(tmp_path: pathlib.Path) -> None:
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28))
    x = torch.zeros(1, device="cuda")
    for resident in (False, True):
        batches = iter(gofast.DataLoader(table, 100, device="cuda", resident=resident))
        next(batches)
        with pytest.raises(errors.DeviceError, match="CUDA graph"), torch.cuda.graph(torch.cuda.CUDAGraph()):
            x += 1  # torch warns of an empty graph
            next(batches)


def test_other_streams(tmp_path: pathlib.Path) -> None:
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28))
    expected = list(gofast.DataLoader(table, 100))
    for resident in (False, True):
        with torch.cuda.stream(torch.cuda.Stream()):
            batches = list(gofast.DataLoader(table, 100, device="cuda", resident=resident))
            for there, here in zip(batches, expected, strict=True):
                assert_equal(there, here)


def test_prefetch_of_torchs_loader() -> None:
    gc.collect()  # torch ends a forked worker that finds an earlier test's event or pinned memory
    rows = torch.arange(1000.0).view(100, 10)
    dataset = torch.utils.data.TensorDataset(rows, torch.arange(100))
    for pinned in (False, True):
        loader = torch.utils.data.DataLoader(dataset, 7, num_workers=2, pin_memory=pinned)
        for there, here in zip(gofast.prefetch(loader, "cuda"), loader, strict=True):
            assert_equal(there, here)


def test_a_device_that_is_not_there(tmp_path: pathlib.Path) -> None:
    table = gofast.TableDataset(digits(tmp_path))
    with pytest.raises(errors.DeviceError, match="CUDA_VISIBLE_DEVICES"):
        iter(gofast.DataLoader(table, device="cuda:99"))


def test_out_of_memory_leaves_the_loader_usable(tmp_path: pathlib.Path) -> None:
    table = gofast.TableDataset(digits(tmp_path), shape=(1, 28, 28))
    batches = iter(gofast.DataLoader(table, 4000, device="cuda", resident=False))
    torch.cuda.set_per_process_memory_fraction(1e-9)
    try:
        torch.cuda.empty_cache()
        with pytest.raises(torch.OutOfMemoryError):
            next(batches)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert len(next(batches)["label"]) == 4000

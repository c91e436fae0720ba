"""Pictures that arrive on a device as bytes: erased boxes, damaged files, what stands in, channels last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import gofast
from gofast._device import device as devices
from image_data import make_folder
from same import difference
from standin import ON_SIGHT, StandIn

COUNT = 26
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some files are cut off: Pillow reads no more of them either."""
    root = make_folder(tmp_path_factory.mktemp("pictures"), COUNT)
    for path in sorted(root.rglob("*.jpg"))[::5]:
        path.write_bytes(path.read_bytes()[:-400])
    sorted(root.rglob("*.png"))[0].write_bytes(b"no picture")
    return root


def transform(erasings: int, dtype: torch.dtype = torch.float32) -> Any:
    boxes = [v2.RandomErasing(0.8, value=[0.25 * i, 1.0, -2.5]) for i in range(erasings)]
    steps = [
        v2.RandomResizedCrop((24, 20)),
        v2.RandomHorizontalFlip(),
        v2.ToImage(),
        v2.ToDtype(dtype, scale=True),
    ]
    return v2.Compose([*steps, v2.Normalize(MEAN, STD), *boxes])


def grey(_index: int, _error: Exception) -> Image.Image:
    return Image.new("L", (90, 70), 128)


@pytest.mark.filterwarnings("ignore::gofast.errors.BadSampleWarning")
@pytest.mark.parametrize(("kernels", "erasings"), [(True, 0), (True, 1), (True, 2), (False, 1)])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("last", [False, True])
def test_damaged_files_and_what_stands_in(
    standin: StandIn,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernels: bool,
    workers: int,
    erasings: int,
    last: bool,
) -> None:
    standin.mode = ON_SIGHT  # a sample that is made apart is put in its place by torch
    if not kernels:
        monkeypatch.setattr(devices.Device, "kernel", lambda *_: None)
    ds = gofast.ImageFolder(
        folder,
        transform(erasings),
        on_error=grey if erasings else "replace",
        channels_last=last,
        return_index=True,
        return_path=True,
    )
    options: dict[str, Any] = {"batch_size": 5, "shuffle": True, "num_workers": workers}
    torch.manual_seed(3)
    want = [list(gofast.DataLoader(ds, **options)) for _ in range(2)]
    state = torch.get_rng_state()
    torch.manual_seed(3)
    loader = gofast.DataLoader(ds, device="cuda", **options)
    for epoch in want:
        got = [standin.seen(batch) for batch in loader]
        for ours, theirs in zip(got, epoch, strict=True):
            assert not difference(ours, theirs)
    assert torch.equal(torch.get_rng_state(), state)
    # Bytes crossed, and float32 of the few that were made apart.
    few = devices.all_opened()[0].stats()["bytes"] < 0.75 * (2 * COUNT * 3 * 24 * 20 * 4)
    assert few == kernels

"""All 2^24 colours, through what mixes channels: as torchvision does it with Pillow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

from gofast import ImageFiles

pytestmark = pytest.mark.full  # each takes seconds


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A picture that has each colour once."""
    every = np.arange(1 << 24, dtype=np.uint32).reshape(4096, 4096)
    path = tmp_path_factory.mktemp("colours") / "all.ppm"
    Image.fromarray(np.stack([every >> 16, every >> 8 & 255, every & 255], -1).astype(np.uint8)).save(path)
    return path


@pytest.mark.parametrize(
    "step",
    [
        v2.Grayscale(3),
        v2.ColorJitter(saturation=(0.3, 0.3)),
        v2.ColorJitter(saturation=(1.7, 1.7)),
        v2.ColorJitter(hue=(0.1, 0.1)),
        v2.ColorJitter(hue=(-0.5, -0.5)),
    ],
    ids=str,
)
def test_all_colours(colours: Path, step: Any) -> None:
    transform = v2.Compose([step, v2.ToImage()])
    with Image.open(colours) as picture:
        wanted = transform(picture)
    made = ImageFiles([str(colours)], transform=transform)[0]
    assert torch.equal(made[0] if isinstance(made, tuple) else made, wanted)

"""Ray Data with gofast: files travel through Ray's store, not pixels, and torchvision's transform runs in Go.

    pip install "ray[data]"; python examples/ray_data.py [FOLDER]

`Decode` makes pictures in tasks, on any host. `Collate` makes them in the process that trains. Draws follow
from the seed and each row, so that both make the same, in any order and with any number of tasks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ray
import torch
from torchvision import transforms as T

import gofast

PHOTOS = Path(__file__).parent / "data" / "photos"
TRANSFORM = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.PILToTensor()])


def main(folder: str = str(PHOTOS)) -> dict[str, torch.Tensor]:
    """Makes the pictures of a folder in both ways. Returns them by their paths."""
    files = ray.data.read_binary_files(folder, include_paths=True)

    decode = gofast.ray.Decode(TRANSFORM, row_id="path", seed=1)
    rows = files.map_batches(decode, batch_format="pyarrow", batch_size=16).take_all()
    made = {row["path"]: torch.tensor(row["image"]) for row in rows}

    collate = gofast.ray.Collate(TRANSFORM, row_id="path", seed=1)
    for batch in files.iter_torch_batches(batch_size=16, collate_fn=collate):
        for path, picture in zip(batch["path"], batch["image"], strict=True):
            assert torch.equal(picture, made[path])
    return made


if __name__ == "__main__":
    print(f"{len(main(*sys.argv[1:]))} pictures, the same from tasks and from the trainer's own threads")

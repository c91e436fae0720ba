"""Pictures through Ray Data on two CPUs: Pillow and torchvision in tasks, beside gofast.ray, in turns.

    .venv-integrations/bin/python -m benchmarks.ray_data FOLDER [PICTURES] [ROUNDS]

The pictures of the folder are repeated. A round takes Ray's start-up of tasks with it; 12,000 pictures and
more show the rate. `reading` is Ray's own, without any decoding: the roof of all others.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from PIL import Image
from torchvision import transforms as T

import gofast

BATCH = 64
CROP = [T.Resize(256), T.CenterCrop(224)]
FLOATS = T.Compose([*CROP, T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
BYTES = T.Compose([*CROP, T.PILToTensor()])


def pillow(batch: dict[str, Any]) -> dict[str, Any]:
    """What people write."""
    torch.set_num_threads(1)
    made = (FLOATS(Image.open(io.BytesIO(one)).convert("RGB")) for one in batch["bytes"])
    return {"image": np.stack([image.numpy() for image in made])}


def decoded(files: Any, transform: Any) -> Iterable[Any]:
    """In tasks, natively."""
    images = files.map_batches(gofast.ray.Decode(transform), batch_format="pyarrow", batch_size=BATCH)
    batches: Iterable[Any] = images.iter_torch_batches(batch_size=BATCH)
    return batches


WAYS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "reading": lambda files: files.iter_batches(batch_size=BATCH, batch_format="pyarrow"),
    "Pillow": lambda files: files.map_batches(pillow, batch_size=BATCH).iter_torch_batches(batch_size=BATCH),
    "Decode": lambda files: decoded(files, FLOATS),
    "Decode, uint8": lambda files: decoded(files, BYTES),
    "Collate": lambda files: files.iter_torch_batches(
        batch_size=BATCH, collate_fn=gofast.ray.Collate(FLOATS)
    ),
}


def main(folder: str, count: int = 12_000, rounds: int = 3) -> None:
    """Prints pictures a second, the median of all rounds."""
    paths = sorted(str(path) for path in Path(folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    ray.init(num_cpus=2, logging_level="ERROR", include_dashboard=False, log_to_driver=False)
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, batches in WAYS.items():
            began = time.perf_counter()
            for _batch in batches(ray.data.read_binary_files([*islice(cycle(paths), count)])):
                pass
            rates[way].append(count / (time.perf_counter() - began))
    for way, taken in rates.items():
        rate = statistics.median(taken)
        print(f"{way:14} {rate:7.0f} pictures/s, {rate / statistics.median(rates['Pillow']):.2f} of Pillow's")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

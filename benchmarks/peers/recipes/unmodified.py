"""A training script's input as torchvision's users write it. It knows nothing of gofast.

Args: folder, num_workers, epochs. The last line that it prints is JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

import torch
from torchvision import datasets, transforms


def main() -> None:
    """Some epochs; the first is not timed."""
    folder, workers, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if not workers:
        torch.set_num_threads(1)
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(folder, transform),
        batch_size=64,
        shuffle=True,
        num_workers=workers,
        persistent_workers=workers > 0,
    )
    torch.manual_seed(7)
    seconds, count, digests = 0.0, 0, []
    for epoch in range(epochs):
        started = time.perf_counter()
        for batch, (images, labels) in enumerate(loader):
            if epoch == 0 and batch < 2:
                both = images.numpy().tobytes() + labels.numpy().tobytes()
                digests.append(hashlib.sha256(both).hexdigest())
            if epoch:
                count += len(images)
        if epoch:
            seconds += time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "pictures": count, "digests": digests}))


if __name__ == "__main__":
    main()

"""Ray Train with a gofast.DataLoader: workers decode on their own CPUs, and a failed run goes on.

    pip install "ray[train]"; python examples/ray_train.py [FOLDER] [WORKERS]

The loader is given to nobody: `prepare_data_loader` would build torch's own around the dataset. With
rng="stateless", a run that comes back with more or fewer workers goes on with the same samples and pixels.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from ray import train
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn
from torchvision import transforms as T

import gofast

PHOTOS = Path(__file__).parent / "data" / "photos"
TRANSFORM = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])
BATCH = 16  # of all workers


def loop(config: dict[str, Any]) -> None:
    """What each worker runs."""
    context = train.get_context()
    rank, world = context.get_world_rank(), context.get_world_size()
    data = gofast.ImageFolder(config["folder"], TRANSFORM, rng="stateless")
    sampler = gofast.Sampler(data, world, rank, seed=1)
    loader = gofast.DataLoader(data, BATCH // world, sampler=sampler)
    model = prepare_model(nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, len(data.class_to_idx))))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    first, kept = 0, train.get_checkpoint()
    if kept is not None:
        with kept.as_directory() as place:
            state = torch.load(Path(place, "state.pt"), weights_only=True)
        first = state["epoch"]
        loader.load_state_dict(state["loader"])
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    for epoch in range(first, config["epochs"]):
        loader.set_epoch(epoch)
        for pictures, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(pictures), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        state = {
            "epoch": epoch + 1,
            "loader": loader.state_dict(),  # it may be asked behind any batch
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        with tempfile.TemporaryDirectory() as place:
            torch.save(state, Path(place, "state.pt"))
            checkpoint = Checkpoint.from_directory(place) if rank == 0 else None
            train.report({"epoch": epoch, "loss": loss.item()}, checkpoint=checkpoint)


def main(folder: str, workers: int) -> Any:
    """Trains two epochs. Returns what Ray says of them."""
    trainer = TorchTrainer(
        loop,
        train_loop_config={"folder": folder, "epochs": 2},
        scaling_config=ScalingConfig(num_workers=workers),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(failure_config=FailureConfig(max_failures=3)),
    )
    return trainer.fit()


if __name__ == "__main__":
    given = dict(zip(("folder", "workers"), sys.argv[1:], strict=False))
    print(main(given.get("folder", str(PHOTOS)), int(given.get("workers", 2))).metrics)

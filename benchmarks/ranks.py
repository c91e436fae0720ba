"""Ranks and resuming, beside torch's DataLoader and torchdata's, in turns.

    .venv-integrations/bin/python -m benchmarks.ranks ddp FOLDER [ROUNDS]
    .venv-integrations/bin/python -m benchmarks.ranks ray-train FOLDER [ROUNDS]
    .venv-integrations/bin/python -m benchmarks.ranks resume FOLDER [ROUNDS]

`ddp`: two ranks (gloo) train on the pictures of a folder, each four times. `ray-train`: so do two workers of
Ray Train, where torch's loader goes through `prepare_data_loader`, as on Ray's pages. `resume`: a process
loads the state of batch 10,000, and takes the next one; imports do not count. The batches are single
pictures, so that 10,000 come soon.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torchvision
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, DistributedSampler
from torchvision import transforms as T

import gofast

TRANSFORM = T.Compose(
    [
        T.RandomResizedCrop(224),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)
SMALL = T.Compose([T.RandomResizedCrop(32), T.ToTensor()])
FOLDERS: dict[str, Callable[..., Dataset[Any]]] = {
    "torch": torchvision.datasets.ImageFolder,
    "gofast": gofast.ImageFolder,
}
mp: Any = torch.multiprocessing
AT = 10_000  # batches before the state


def rank(number: int, way: str, folder: str, port: int, place: str) -> None:
    """Trains an epoch, and writes how long it took."""
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(number), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2"
    )
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    data = pictures(way, folder)
    kind: Any = DataLoader if way == "torch" else gofast.DataLoader
    epoch(kind(data, 25, sampler=DistributedSampler(data), num_workers=1), Path(place, f"{number}"))
    torch.distributed.destroy_process_group()


def pictures(way: str, folder: str) -> Any:
    """All of them, four times."""
    return ConcatDataset([FOLDERS[way](folder, TRANSFORM)] * 4)


def epoch(loader: Any, said: Path) -> None:
    """Trains an epoch in a process group, and writes how long it took."""
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.AvgPool2d(32), nn.Flatten(), nn.Linear(3 * 49, 10))
    )
    torch.distributed.barrier()
    began = time.perf_counter()
    for batch, _ in loader:
        model(batch).square().mean().backward()
    torch.distributed.barrier()
    said.write_text(str(time.perf_counter() - began))


def train(way: str, folder: str, place: str) -> float:
    """Seconds of an epoch, with two ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(rank, (way, folder, port, place), nprocs=2)
    return float(Path(place, "0").read_text())


def ray_worker(asked: dict[str, str]) -> None:
    """What a worker of Ray Train runs."""
    from ray import train
    from ray.train.torch import prepare_data_loader

    torch.set_num_threads(1)
    way, data = asked["way"], pictures(asked["way"], asked["folder"])
    loader: Any
    if way == "torch":
        loader = prepare_data_loader(DataLoader(data, 25, shuffle=True, num_workers=1))
    else:
        loader = gofast.DataLoader(data, 25, sampler=DistributedSampler(data), num_workers=1)
    epoch(loader, Path(asked["place"], str(train.get_context().get_world_rank())))


def ray_train(way: str, folder: str, place: str) -> float:
    """Seconds of an epoch, with two workers of Ray Train."""
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    if not ray.is_initialized():
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    TorchTrainer(
        ray_worker,
        train_loop_config={"way": way, "folder": folder, "place": place},
        scaling_config=ScalingConfig(num_workers=2),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=place),
    ).fit()
    return float(Path(place, "0").read_text())


def loader_of(way: str, folder: str) -> Any:
    """Single pictures in a shuffled order, of two workers."""
    data: Any = FOLDERS[way](folder, SMALL)
    many: Any = ConcatDataset([data] * (AT // len(data) + 2))
    if way == "torch":
        from torchdata.stateful_dataloader import StatefulDataLoader

        return StatefulDataLoader(many, 1, shuffle=True, num_workers=2)
    return gofast.DataLoader(many, 1, shuffle=True, num_workers=2)


def save(_: int, way: str, folder: str, place: str) -> None:
    """Writes the state behind the batch."""
    torch.set_num_threads(1)
    loader = loader_of(way, folder)
    for number, _batch in enumerate(loader, 1):
        if number == AT:
            torch.save(loader.state_dict(), Path(place, way))
            break


def resume(_: int, way: str, folder: str, place: str) -> None:
    """Writes how long the next batch took."""
    torch.set_num_threads(1)
    state = torch.load(Path(place, way), weights_only=False)
    loader = loader_of(way, folder)
    began = time.perf_counter()
    loader.load_state_dict(state)
    next(iter(loader))
    Path(place, "seconds").write_text(str(time.perf_counter() - began))


def resumed(way: str, folder: str, place: str) -> float:
    """Seconds from a state to its next batch, in a new process."""
    if not Path(place, way).exists():
        mp.spawn(save, (way, folder, place), nprocs=1)
    mp.spawn(resume, (way, folder, place), nprocs=1)
    return float(Path(place, "seconds").read_text())


def main(what: str, folder: str, rounds: int = 3) -> None:
    """Prints the median seconds of both ways, and the ratio of each round."""
    import tempfile

    act = {"ddp": train, "ray-train": ray_train, "resume": resumed}[what]
    seconds: dict[str, list[float]] = {"torch": [], "gofast": []}
    with tempfile.TemporaryDirectory() as place:
        for _ in range(rounds):
            for way, found in seconds.items():
                found.append(act(way, folder, place))
    ratios = [torchs / ours for torchs, ours in zip(*seconds.values(), strict=True)]
    for way, found in seconds.items():
        print(f"{way}: {statistics.median(found):.4f} s")
    print(f"ratio: {statistics.median(ratios):.1f} ({', '.join(f'{one:.1f}' for one in ratios)})")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))

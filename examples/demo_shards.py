"""A folder of photographs, sharded into a bucket and trained on from there: with the folder's batches.

`make demo-shards` runs it, with a server of S3 on this machine (moto). The photographs are those of
GOFAST_TEST_DATA, if it is set, and else the demo's own.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as in demo.py

import boto3
import torch
from demo_images import PHOTOS, TRAIN, small_cnn
from demo_training import Pipeline, Training
from moto.server import ThreadedMotoServer

import gofast
from gofast._command.main import main as command

BATCH, STEPS = 32, 12


def loader(dataset: Any) -> Any:
    """gofast's, shuffled by torch's generator."""
    return gofast.DataLoader(dataset, batch_size=BATCH, shuffle=True)


def run(line: str) -> None:
    """One command of gofast's, as a user types it."""
    print(f"$ {line}", flush=True)
    if status := command(line.split()[1:]):
        raise SystemExit(status)


def compare(ways: list[Pipeline], classes: int) -> None:
    """Trains some steps on each, and compares every batch and every loss."""

    def model() -> torch.nn.Module:
        return torch.nn.Sequential(small_cnn(), torch.nn.Linear(3, classes))

    seen: list[list[Any]] = []
    for way in ways:
        started = time.perf_counter()
        training = Training(way, model)
        torch.manual_seed(0)
        batches = [batch for batch, _ in zip(training.loader, range(STEPS), strict=False)]
        for pictures, labels in batches:
            training.step(pictures, labels)
        seen.append([*batches, training.losses])
        spent = time.perf_counter() - started
        print(
            f"{way.name}: {len(batches)} steps, loss {training.losses[-1]:.4f}, {spent:.1f} s with opening",
            flush=True,
        )
    for want, got in zip(seen[0], seen[-1], strict=True):
        if not all(
            torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(want, got, strict=True)
        ):
            raise SystemExit("the batches or losses differ between the folder and the bucket")


def main() -> None:
    data = os.environ.get("GOFAST_TEST_DATA")
    photos = Path(data, "imagenet-500") if data else PHOTOS
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else each request is a line
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ[name] = "demo"
    os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
    print(f"a server of S3: AWS_ENDPOINT_URL={os.environ['AWS_ENDPOINT_URL']}")
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="photos")
    try:
        with tempfile.TemporaryDirectory(prefix="gofast-demo-") as kept:
            gofast.downloads.keep(kept, "1GB")
            run(f"gofast shard {photos} s3://photos/train-{{:06d}}.tar --size {'16MB' if data else '1MB'}")
            run(f"gofast shard {photos} s3://photos/train-{{:06d}}.tar --size {'16MB' if data else '1MB'}")
            bucket = "s3://photos/train-*.tar"
            folder = gofast.ImageFolder(photos)
            ways = [
                Pipeline(str(photos), lambda: gofast.ImageFolder(photos, TRAIN), loader, before=True),
                Pipeline(bucket, lambda: gofast.ImageFiles.from_tar(bucket, transform=TRAIN), loader),
            ]
            compare(ways, len(folder.classes))
            shards = gofast.ImageFiles.from_tar(bucket)
            if shards.classes != folder.classes or shards.targets != folder.targets:
                raise SystemExit("the classes or labels differ between the folder and the bucket")
        print(f"{len(folder)} photographs: batches, losses and classes of the bucket are those of the folder")
    finally:
        server.stop()


if __name__ == "__main__":
    main()

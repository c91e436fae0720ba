"""Small trainings, one for each framework: what a rank runs. It logs its batches, and saves after each step.

A rank kills itself at once, behind the step that it is told, as the kernel or a scheduler would.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torchvision import transforms as T

import gofast

SIZE = 8
TRANSFORM = T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToTensor()])
EPOCHS = 2
BATCH = 8  # of all ranks


class Run(NamedTuple):
    """What is asked of the ranks.

    Attributes:
        pictures: the folder of these; each class has one.
        place: for logs and checkpoints.
        world, workers: ranks, and workers of each.
        rng: of the dataset.
        stop: the step behind which the ranks are killed, counted from 1 over all epochs; None: they run to
            the end. With a half, it is behind the end of the epoch, when the next one has not begun.
        resume: go on from the last checkpoint.
    """

    pictures: str
    place: str
    world: int
    workers: int
    rng: str
    stop: float | None
    resume: bool


class Model(nn.Module):
    """Takes pictures; draws, as dropout would."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3 * SIZE * SIZE, 2)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """The loss."""
        logits = self.layer(pixel_values.flatten(1))
        return {"loss": logits.square().mean() + 0 * labels.sum(), "logits": logits}


def rank() -> int:
    """This one."""
    return int(os.environ["RANK"])


class Log:
    """The steps of a rank, one line each."""

    def __init__(self, run: Run) -> None:
        self.run, self.step, self.epoch = run, 0, 0
        self._file = (Path(run.place) / f"log.{rank()}").open("a")

    def add(self, pixels: torch.Tensor, labels: torch.Tensor) -> None:
        """A batch came; what its loop draws is logged too."""
        self.step += 1
        hashes = [hashlib.md5(one.numpy().tobytes()).hexdigest()[:8] for one in pixels]
        samples = [*zip(labels.tolist(), hashes, strict=True)]
        draws = torch.rand(1).item()
        line = {"epoch": self.epoch, "step": self.step, "samples": samples, "draws": draws}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def stop(self, half: float = 0.0) -> None:
        """Ends this process if it is to be killed now."""
        if self.run.stop == self.step + half:
            if self.run.world > 1:
                torch.distributed.barrier()  # each has saved
            os.kill(os.getpid(), signal.SIGKILL)


def data_of(run: Run) -> Any:
    """Pictures as dicts."""
    return gofast.ImageFolder(
        run.pictures, TRANSFORM, rng=run.rng, output="dict", keys=("pixel_values", "labels")
    )


def write(path: Path, value: Any) -> None:
    """A checkpoint is whole, or is not there."""
    torch.save(value, path.with_suffix(".part"))
    path.with_suffix(".part").rename(path)


def read(place: Path, suffix: str) -> Any:
    """This rank's checkpoint; a rank that had none takes that of rank 0."""
    path = place / f"{rank()}{suffix}"
    return torch.load(path if path.exists() else place / f"0{suffix}", weights_only=True)


def loop(run: Run, save: Callable[[Any], None], load: Callable[[], Any]) -> None:
    """DistributedDataParallel with a gofast.Sampler, or torch's."""
    torch.manual_seed(5 + rank())
    torch.distributed.init_process_group("gloo")
    data, log = data_of(run), Log(run)
    kind: Any = torch.utils.data.DistributedSampler if run.rng == "torch" else gofast.Sampler
    sampler = kind(data, run.world, rank(), seed=3)
    loader = gofast.DataLoader(data, BATCH // run.world, sampler=sampler, num_workers=run.workers)
    model = nn.parallel.DistributedDataParallel(Model())
    if run.resume:
        state = load()
        loader.load_state_dict(state["loader"])
        log.epoch, log.step = state["epoch"], state["step"]
    for epoch in range(log.epoch, EPOCHS):
        log.epoch = epoch
        loader.set_epoch(epoch)
        for batch in loader:
            log.add(batch["pixel_values"], batch["labels"])
            model(**batch)["loss"].backward()
            save({"loader": loader.state_dict(), "epoch": epoch, "step": log.step})
            log.stop()
        save({"loader": loader.state_dict(), "epoch": epoch + 1, "step": log.step})
        log.stop(0.5)
    torch.distributed.destroy_process_group()


def ddp(run: Run) -> None:
    """Each rank has a file."""
    place = Path(run.place)

    def save(state: Any) -> None:
        write(place / f"{rank()}.pt", state)

    loop(run, save, lambda: read(place, ".pt"))


def checkpoint(run: Run) -> None:
    """torch.distributed.checkpoint, which keeps one value for each key: a rank's has its number in it."""
    import torch.distributed.checkpoint as dcp

    place = Path(run.place)
    numbers = iter(range(10_000))

    def save(state: Any) -> None:
        folder, packed = place / f"{next(numbers):04}-{os.getppid()}-{run.resume}", io.BytesIO()
        torch.save(state, packed)
        dcp.save({f"rank {rank()}": packed.getvalue()}, checkpoint_id=str(folder))
        if not rank():
            mark(place, folder.name)

    def load() -> Any:
        folder = str(place / (place / "latest").read_text())
        known = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
        key = f"rank {rank()}" if f"rank {rank()}" in known else "rank 0"
        state = {key: b""}
        dcp.load(state, checkpoint_id=folder)
        return torch.load(io.BytesIO(state[key]), weights_only=True)

    loop(run, save, load)


def mark(place: Path, latest: str) -> None:
    """A folder is whole: it is the one to go on from."""
    (place / "latest.part").write_text(latest)
    (place / "latest.part").rename(place / "latest")


class Slow(torch.utils.data.Dataset[Any]):
    """Rank 1's host has a slow disk."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        time.sleep(0.02 * rank())
        return index


def waits(run: Run) -> None:
    """Writes what ranks tell of each other."""
    torch.distributed.init_process_group("gloo")
    loader = gofast.DataLoader(Slow(), 2)
    assert len([*loader]) == 4
    (Path(run.place) / f"waits.{rank()}").write_text(json.dumps(loader.stats(ranks=True)["ranks"]))
    torch.distributed.destroy_process_group()


def accelerate(run: Run) -> None:
    """Accelerate divides the batches, and saves one state for all ranks."""
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration, set_seed

    set_seed(5)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    data, log = data_of(run), Log(run)
    torch.manual_seed(5)
    theirs = torch.utils.data.DataLoader(data, BATCH // run.world, shuffle=True, num_workers=run.workers)
    model, prepared = accelerator.prepare(Model(), theirs)
    loader = gofast.integrations.keep(prepared)
    torch.manual_seed(5 + rank())
    place = Path(run.place)
    if run.resume:
        folder = place / (place / "latest").read_text()
        accelerator.load_state(str(folder))
        log.step = int((folder / "step").read_text())
        log.epoch = log.step // len(loader)  # behind the last batch, Accelerate says that the epoch is over

    def save(name: str) -> None:
        folder = place / name
        accelerator.save_state(str(folder))
        accelerator.wait_for_everyone()
        if not rank():
            (folder / "step").write_text(str(log.step))
            mark(place, folder.name)
        accelerator.wait_for_everyone()

    for epoch in range(log.epoch, EPOCHS):
        log.epoch = epoch
        loader.set_epoch(epoch)
        for batch in loader:
            log.add(batch["pixel_values"], batch["labels"])
            accelerator.backward(model(**batch)["loss"])
            save(f"{log.step}")
            log.stop()
        save(f"{log.step} epoch")
        log.stop(0.5)
    accelerator.end_training()


def lightning(run: Run) -> None:
    """Lightning saves what rank 0 tells."""
    import lightning as L
    from lightning.fabric.plugins.environments import TorchElasticEnvironment

    L.seed_everything(5 + rank(), verbose=False)
    data, log, place = data_of(run), Log(run), Path(run.place)

    class Module(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def training_step(self, batch: Any, at: int) -> Any:
            log.epoch = self.current_epoch
            log.add(batch["pixel_values"], batch["labels"])
            return self.model(**batch)["loss"]

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

        def on_train_batch_end(self, *_: Any) -> None:
            self._save()
            log.stop()

        def on_train_epoch_end(self) -> None:
            self._save()
            log.stop(0.5)

        def _save(self) -> None:
            part = place / f"{log.step}-{os.getppid()}.part"
            self.trainer.save_checkpoint(part)
            if not rank():
                part.rename(place / "last.ckpt")
                (place / "step").write_text(str(log.step))
            self.trainer.strategy.barrier()

    kind: Any = torch.utils.data.DistributedSampler if run.rng == "torch" else gofast.Sampler
    sampler = kind(data, run.world, rank(), seed=3)
    loader = gofast.DataLoader(data, BATCH // run.world, sampler=sampler, num_workers=run.workers)
    if run.resume:
        log.step = int((place / "step").read_text())
    trainer = L.Trainer(
        accelerator="cpu",
        devices=run.world,
        strategy="ddp",
        plugins=[TorchElasticEnvironment()],
        max_epochs=EPOCHS,
        default_root_dir=run.place,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Module(), loader, ckpt_path=str(place / "last.ckpt") if run.resume else None)


def trainer(run: Run) -> None:
    """transformers' Trainer, with its own checkpoints."""
    import transformers

    data, log = data_of(run), Log(run)

    class Logged(Model):
        def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            log.add(pixel_values, labels)
            return super().forward(pixel_values, labels)

    class Killed(transformers.TrainerCallback):
        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            log.epoch = int(state.epoch or 0)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if run.world > 1:
                torch.distributed.barrier()
            log.stop()

        def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            log.stop(0.5)

    class Trainer(gofast.integrations.TrainerMixin, transformers.Trainer):
        pass

    arguments = transformers.TrainingArguments(
        output_dir=run.place,
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=BATCH // run.world,
        dataloader_num_workers=run.workers,
        save_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=5,
        log_level="error",
    )
    if run.resume:
        latest = transformers.trainer_utils.get_last_checkpoint(run.place)
        log.step = int(latest.rsplit("-", 1)[1])
    made = Trainer(Logged(), arguments, train_dataset=data, callbacks=[Killed()])
    made.remove_callback(transformers.PrinterCallback)
    torch.manual_seed(5 + rank())
    made.train(resume_from_checkpoint=run.resume or None)

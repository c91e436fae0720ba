"""Accelerate and transformers beside gofast.integrations. `make test-integrations` brings the packages."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, default_collate

import gofast
from gofast import errors
from gofast.integrations import TrainerMixin, keep

# Packages warn of each other and of the machine: not our matter.
pytestmark = pytest.mark.filterwarnings("default", "error::gofast.errors.GofastWarning")


def package(name: str) -> ModuleType:
    """A framework; where it must be there, its absence is a failure."""
    if os.environ.get("GOFAST_INTEGRATIONS"):
        return __import__(name)
    module: ModuleType = pytest.importorskip(name, reason=f"{name} is not here: make test-integrations")
    return module


def rows(count: int = 100) -> gofast.ArrayDataset:
    features = np.random.default_rng(0).normal(size=(count, 8)).astype(np.float32)
    labels = np.arange(count) % 3
    for array in (features, labels):  # what can be written to is not read ahead, and not counted
        array.flags.writeable = False
    return gofast.ArrayDataset(features, labels, output="dict", keys=("pixel_values", "labels"))


def rows_made() -> int:
    return int(gofast.engine_stats().get("rows", 0))


def test_a_loader_of_torch_becomes_ours() -> None:
    theirs = DataLoader(rows(), batch_size=16, num_workers=2, drop_last=True, generator=torch.Generator())
    ours = keep(theirs, threads=1)
    assert type(ours) is gofast.DataLoader
    assert (ours.threads, ours.num_workers, ours.prefetch_factor) == (1, 2, 2)
    assert ours.batch_sampler is theirs.batch_sampler and ours.generator is theirs.generator
    assert keep(ours) is ours
    assert type(keep(DataLoader(rows(), batch_size=None))) is gofast.DataLoader


@pytest.mark.parametrize("other", [[1, 2], object(), None])
def test_what_is_no_loader_is_refused(other: object) -> None:
    with pytest.raises(errors.OptionError, match=r"keep takes what accelerator.prepare returned"):
        keep(other)


def test_a_subclass_of_torchs_loader_is_refused() -> None:
    class Own(DataLoader[Any]):
        pass

    with pytest.raises(errors.OptionError, match=r"not .*Own"):
        keep(Own(rows()))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("seedable", [False, True])
def test_accelerate_keeps_batches_and_generators(workers: int, seedable: bool) -> None:
    accelerate = package("accelerate")
    config = accelerate.utils.DataLoaderConfiguration(use_seedable_sampler=seedable)

    def epochs(wrap: Callable[[Any], Any]) -> tuple[list[Any], torch.Tensor]:
        torch.manual_seed(0)
        loader = gofast.DataLoader(rows(), batch_size=16, shuffle=True, num_workers=workers)
        prepared = wrap(accelerate.Accelerator(cpu=True, dataloader_config=config).prepare(loader))
        return [batch for _ in range(2) for batch in prepared], torch.get_rng_state()

    theirs, after_theirs = epochs(lambda loader: loader)
    before = rows_made()
    ours, after_ours = epochs(keep)
    assert rows_made() == before + 200  # the engine made them
    assert len(ours) == len(theirs) == 14
    for a, b in zip(ours, theirs, strict=True):
        assert a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)
    assert torch.equal(after_ours, after_theirs)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("shuffle", [False, True])
def test_torchdatas_loader_becomes_ours(shuffle: bool, workers: int) -> None:
    stateful = package("torchdata.stateful_dataloader").stateful_dataloader.StatefulDataLoader
    made = []
    for wrap in (keep, lambda loader: loader):
        torch.manual_seed(3)
        loader = wrap(stateful(rows(), batch_size=16, shuffle=shuffle, num_workers=workers))
        made.append([batch["labels"].tolist() for batch in loader])
    assert made[0] == made[1]
    assert type(keep(stateful(rows()))) is gofast.DataLoader


def test_asking_accelerate_for_a_state_starts_nothing() -> None:
    accelerate = package("accelerate")
    prepared = accelerate.Accelerator(cpu=True).prepare(DataLoader(rows(), batch_size=16, shuffle=True))
    loader = keep(prepared)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert loader.state_dict()["place"] == "before" and loader.use_stateful_dataloader
    assert torch.equal(torch.get_rng_state(), before)
    assert pickle.loads(pickle.dumps(loader)).state_dict()["place"] == "before"


@pytest.mark.parametrize("kind", [gofast.Sampler, torch.utils.data.DistributedSampler])
def test_what_is_divided_twice_is_refused(kind: Any) -> None:
    shard = package("accelerate").data_loader.BatchSamplerShard

    def prepared(replicas: int, processes: int) -> DataLoader[Any]:
        batches = BatchSampler(kind(rows(), replicas, 0), 5, False)
        return DataLoader(rows(), batch_sampler=shard(batches, processes, 0))

    with pytest.raises(errors.OptionError, match="divides the samples among 2 ranks, and Accelerate"):
        keep(prepared(2, 2))
    assert len(list(keep(prepared(1, 2)))) == len(list(keep(prepared(2, 1)))) == 10


def test_accelerates_own_class_stays() -> None:
    accelerate = package("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    prepared = accelerator.prepare(DataLoader(rows(), batch_size=16))
    assert keep(prepared) is prepared
    assert type(prepared) is accelerate.data_loader.DataLoaderShard
    assert isinstance(prepared, gofast.DataLoader) and len(prepared) == 7
    rest = keep(accelerator.skip_first_batches(prepared, 5))
    assert [len(batch["labels"]) for batch in rest] == [16, 4]


class Model(nn.Module):
    """Takes what a vision model of transformers takes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor | None = None) -> dict[str, Any]:
        """Logits, and the loss where there are labels."""
        logits = self.layer(pixel_values)
        made = {"logits": logits}
        return made if labels is None else {"loss": nn.functional.cross_entropy(logits, labels), **made}


class Plain(Dataset[Any]):
    """The same rows by Python alone."""

    def __init__(self) -> None:
        self.rows = rows()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return dict(self.rows[index])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("remove", [True, False])
def test_the_trainer_trains_alike_and_natively(workers: int, remove: bool, tmp_path: Path) -> None:
    transformers = package("transformers")

    class Trainer(TrainerMixin, transformers.Trainer):  # type: ignore[misc, name-defined]
        pass

    def train(kind: Any, dataset: Any) -> tuple[list[float], torch.Tensor]:
        torch.manual_seed(0)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=16,
            num_train_epochs=2,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
            dataloader_num_workers=workers,
            remove_unused_columns=remove,
        )
        trainer = kind(Model(), arguments, train_dataset=dataset, eval_dataset=dataset)
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        losses.append(trainer.evaluate()["eval_loss"])
        return losses, trainer.predict(dataset).predictions

    losses, predictions = train(transformers.Trainer, Plain())
    before = rows_made()
    ours, same = train(Trainer, rows())
    assert rows_made() == before + 400  # two epochs, the evaluation and the prediction
    assert ours == losses and len(losses) == 15
    assert np.array_equal(same, predictions)


def test_a_collator_that_does_more_is_kept(tmp_path: Path) -> None:
    transformers = package("transformers")
    named = gofast.ArrayDataset(
        np.zeros((4, 8), np.float32), np.arange(4), output="dict", keys=("pixel_values", "label")
    )
    keys = []
    for dataset in (named, rows(4)):
        loader = DataLoader(dataset, batch_size=4, collate_fn=transformers.default_data_collator)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gofast._core.warn.warn", lambda *_, **__: None)
            kept = keep(loader)
            keys.append((list(next(iter(kept))), kept.collate_fn is default_collate))
    # transformers calls "label" "labels": torch's collate would not.
    assert keys == [(["labels", "pixel_values"], False), (["pixel_values", "labels"], True)]

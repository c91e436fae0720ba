"""Keeps gofast.DataLoader when a framework makes its own torch DataLoader around the dataset.

Lightning and plain DistributedDataParallel scripts do not need this module: they use the loader that they
are given. Accelerate's ``prepare`` and the Trainer of transformers take a loader apart and build torch's
again. This module puts the engine back into what they built:

    loader = gofast.integrations.keep(accelerator.prepare(loader))

    class Trainer(gofast.integrations.TrainerMixin, transformers.Trainer):
        pass

Nothing is patched, and neither package is imported here. `StreamingSampler` is the order of
mosaicml-streaming, whose shards :meth:`gofast.ImageFiles.from_mds` reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import default_collate
from torch.utils.data.distributed import DistributedSampler

from ._core.arguments import checked
from ._core.reason import Reason
from ._loader.batch_source import BatchSource
from ._loader.native_dataset import resolve
from ._loader.order import samplers_in
from ._loader.streaming_order import StreamingSampler
from .errors import OptionError
from .loader import DataLoader

__all__ = ["StreamingSampler", "TrainerMixin", "keep"]

L = TypeVar("L")

_STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader.StatefulDataLoader"

# The arguments of a loader of any torch >= 2.4, except its dataset and those that give its order.
_SETTINGS = (
    "num_workers",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
    "prefetch_factor",
    "persistent_workers",
    "pin_memory_device",
    "in_order",
)


@checked
def keep(loader: L, *, threads: int | None = None) -> L:
    """Replaces the torch DataLoader that a framework built by gofast.DataLoader.

    Batches, their order and the generators stay as they were. If the engine cannot make the batches,
    gofast.DataLoader does what torch's would, and says so.

    Args:
        loader: what ``accelerator.prepare``, ``prepare_data_loader`` or ``skip_first_batches`` returned: the
            same object comes back, with another loader inside. Or a torch DataLoader, or torchdata's
            StatefulDataLoader: a new gofast.DataLoader with its arguments comes back.
        threads: as for :class:`gofast.DataLoader`; default: the loader's ``num_workers``.

    Accelerate's ``save_state`` and ``load_state`` save and load where the loader stands.

    Raises:
        OptionError: loader is neither. Or its samples are divided among the ranks twice: by a
            DistributedSampler, and by Accelerate or the Trainer again.

    Example:
        >>> model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        >>> loader = gofast.integrations.keep(loader)
    """
    inside = getattr(loader, "__dict__", {})  # Accelerate's loaders claim the class of the loader inside
    if "base_dataloader" in inside:
        ours = inside["base_dataloader"] = _rebuilt(inside["base_dataloader"], threads)
        if "synchronized_generator" in inside:  # not a dispatcher, which takes the batches of all ranks
            ours._ahead_by_one = ours._state_of_all = True
            inside["use_stateful_dataloader"] = True  # save_state and load_state ask for it
            inside["dl_state_dict"] = ours.state_dict()
        return loader
    made: Any = _rebuilt(loader, threads)
    return made  # type: ignore[no-any-return]


def _rebuilt(loader: object, threads: int | None) -> DataLoader[Any]:
    """The loader as a gofast.DataLoader."""
    kind = type(loader)
    if kind is DataLoader and (threads is None or threads == loader.threads):  # type: ignore[attr-defined]
        return loader  # type: ignore[return-value]
    stateful = f"{kind.__module__}.{kind.__qualname__}" == _STATEFUL
    if kind not in (TorchDataLoader, DataLoader) and not stateful:
        raise OptionError(
            f"keep takes what accelerator.prepare returned, or a torch DataLoader, not {kind.__module__}."
            f"{kind.__qualname__}"
        )
    assert isinstance(loader, TorchDataLoader)
    _check_divided_once(loader.batch_sampler)
    _give_generator(loader.batch_sampler)
    view = resolve(loader.dataset)
    settings = {name: getattr(loader, name) for name in _SETTINGS if hasattr(loader, name)}
    if not loader.num_workers:
        settings["prefetch_factor"] = None
    order: dict[str, Any] = {"batch_sampler": loader.batch_sampler}
    if loader.batch_sampler is None:  # without automatic batching
        order = {"batch_size": None, "sampler": loader.sampler}
    return DataLoader(
        loader.dataset,
        collate_fn=_simplest(loader.collate_fn, view),
        threads=threads,
        **order,
        **settings,
    )


def _give_generator(batch_sampler: Any) -> None:
    """Accelerate's sampler makes its generator at its first use. A state says what generators there are."""
    for sampler in samplers_in(batch_sampler):
        if type(sampler).__name__ == "SeedableRandomSampler" and sampler.generator is None:
            sampler.generator = torch.Generator()


def _check_divided_once(batch_sampler: Any) -> None:
    """Refuses what would leave most samples out on every rank."""
    samplers = [*samplers_in(batch_sampler)]  # Accelerate's, around the user's
    outer = max((getattr(one, "num_processes", 1) for one in samplers), default=1)
    for sampler in samplers:
        if outer > 1 and isinstance(sampler, DistributedSampler) and sampler.num_replicas > 1:
            raise OptionError(
                f"{type(sampler).__name__} divides the samples among {sampler.num_replicas} ranks, and "
                f"Accelerate divides its batches among {outer} again: each rank would get a part of its "
                "part. Give it num_replicas=1, rank=0, or no sampler; or do not prepare the loader"
            )


def _simplest(collate_fn: Callable[[Any], Any], view: BatchSource | Reason) -> Callable[[Any], Any]:
    """default_collate instead of transformers' collator, if both give the same.

    The collator of transformers stacks tensors as torch's does. It renames a key "label" or "label_ids" to
    "labels", and its wrapper drops keys that the model does not take.
    """
    if isinstance(view, Reason) or view.output != "dict":
        return collate_fn
    keys: Iterable[str] = view.keys
    collator: Any = collate_fn
    if type(collator).__name__ == "RemoveColumnsCollator":
        if not set(keys) <= set(collator.signature_columns):
            return collate_fn
        collator = collator.data_collator
    name = getattr(collator, "__name__", type(collator).__name__)
    known = collator is default_collate or name in ("default_data_collator", "DefaultDataCollator")
    same = not view.has_more and not {"label", "label_ids"} & set(keys)
    return default_collate if known and same else collate_fn


class TrainerMixin:
    """Makes transformers' Trainer, or a subclass, keep gofast.DataLoader. Name it before the Trainer.

    The dataset must give dicts whose keys are the model's arguments. Then the Trainer's default collator
    does what torch's does, and the engine makes whole batches. Any other collator gets the rows as before.

    A checkpoint has the state of each rank's loader in it. ``train(resume_from_checkpoint=...)`` goes on with
    the same samples, drawn as if nothing had happened. Where a rank's state is missing, or the global batch
    has another size, the Trainer skips batches as without gofast: samples are the same, and draws are not.

    Example:
        >>> class Trainer(gofast.integrations.TrainerMixin, transformers.Trainer):
        ...     pass
        >>> train = gofast.ImageFolder("train", transform, output="dict", keys=("pixel_values", "labels"))
        >>> Trainer(model, args, train_dataset=train).train()
    """

    _rest: Any = None  # the rest of the epoch that was resumed

    def get_train_dataloader(self) -> Any:
        """The Trainer's loader of training batches, with our engine."""
        loader = keep(super().get_train_dataloader())  # type: ignore[misc]
        if _is_resumable(loader):
            loader.base_dataloader._state_of_all = False  # each rank has a file of its own
        return loader

    def get_eval_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        """The Trainer's loader of evaluation batches, with our engine."""
        return keep(super().get_eval_dataloader(*args, **kwargs))  # type: ignore[misc]

    def get_test_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        """The Trainer's loader of test batches, with our engine."""
        return keep(super().get_test_dataloader(*args, **kwargs))  # type: ignore[misc]

    # The Trainer has no public hook for what a checkpoint holds, nor for where an epoch goes on.

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)  # type: ignore[misc]
        ours: Any = self
        loader = ours.callback_handler.train_dataloader
        if _is_resumable(loader):
            torch.save(loader.state_dict(), _loader_state(output_dir, ours.args.process_index))

    def _load_rng_state(self, checkpoint: Any) -> None:
        if self._rest is None:  # else they were loaded before its first batch was drawn
            super()._load_rng_state(checkpoint)  # type: ignore[misc]

    def _run_epoch(self, **kwargs: Any) -> None:
        loader, place = kwargs["train_dataloader"], kwargs["resume_from_checkpoint"]
        steps: int = kwargs["steps_trained_in_current_epoch"]
        state = None
        if place is not None and kwargs["epoch"] == kwargs["epochs_trained"] and _is_resumable(loader):
            state = self._state_of(place, steps)
        if state is not None:
            super()._load_rng_state(place)  # type: ignore[misc]
            loader.load_state_dict(state)
            loader.set_epoch(kwargs["epoch"])
            self._rest = iter(loader) if steps else None
        try:
            super()._run_epoch(**kwargs)  # type: ignore[misc]
        finally:
            self._rest = None

    def _state_of(self, checkpoint: str, steps: int) -> dict[str, Any] | None:
        """What a checkpoint holds of the loader, if the Trainer counts batches as it does."""
        ours: Any = self
        file = _loader_state(checkpoint, ours.args.process_index)
        if ours.args.ignore_data_skip or not os.path.isfile(file):
            return None
        state: dict[str, Any] = torch.load(file, weights_only=True)
        given = state["epoch"]["given"] if state["place"] == "inside" else 0
        return state if given == steps else None

    def get_batch_samples(self, epoch_iterator: Any, *args: Any, **kwargs: Any) -> Any:
        """The Trainer's next batches; those of an epoch that was resumed, if it was."""
        rest = epoch_iterator if self._rest is None else self._rest
        return super().get_batch_samples(rest, *args, **kwargs)  # type: ignore[misc]


def _is_resumable(loader: Any) -> bool:
    """Whether it is Accelerate's, and `keep` has wired its state."""
    return getattr(getattr(loader, "base_dataloader", None), "_ahead_by_one", False)


def _loader_state(checkpoint: str, rank: int) -> str:
    """The file of a checkpoint that has the state of a rank's loader."""
    return os.path.join(checkpoint, f"gofast_loader_{rank}.pth")

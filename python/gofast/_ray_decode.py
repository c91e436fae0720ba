"""What Ray Data's map_batches calls with each batch. It imports no Ray."""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from .decoder import Decoder, _files


class Decode:
    """A function for ``Dataset.map_batches``: a column of picture files becomes a column of samples.

    Samples are those of torchvision's transforms under ``Image.open(...).convert("RGB")``, to the last bit.
    Give ``batch_format="pyarrow"``: the files are read where Ray keeps them. A uint8 transform, which ends
    with ``PILToTensor()``, moves a quarter of a float's bytes through Ray's store. The other columns stay.

    Ray runs tasks in any order, in any process. So that random draws are the same whenever a row is made,
    name a column that tells rows apart: each picture's draws follow from `seed` and its value there.

    Args:
        transform: as in :class:`gofast.Decoder`.
        column: the column with the files: bytes, or paths.
        output: the column with the samples; numpy [n, ...], or objects where their shapes differ.
        row_id: a column of numbers or texts, such as ``"path"`` of ``read_binary_files(include_paths=True)``.
            None: draws come from torch's generator in whichever process runs.
        seed: of the draws; give another for each epoch.
        threads: most threads of a task; None: as many as Ray has given it CPUs.
        on_error: as in :class:`gofast.Decoder`.

    Raises:
        gofast.errors.OptionError: an option makes no sense, or a batch has no such column.
        gofast.errors.BadImageError: a picture cannot be read; ``index`` is its row in the batch.

    Example:
        >>> files = ray.data.read_binary_files("photos", include_paths=True)  # doctest: +SKIP
        >>> decode = gofast.ray.Decode(T.Compose([T.RandomResizedCrop(224), T.PILToTensor()]), row_id="path")
        >>> images = files.map_batches(decode, batch_format="pyarrow", batch_size=64)  # doctest: +SKIP
    """

    @checked
    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        *,
        column: str = "bytes",
        output: str = "image",
        row_id: str | None = None,
        seed: int = 0,
        threads: int | None = None,
        on_error: Literal["raise", "zero"] | Callable[[int, Exception], Any] = "raise",
    ) -> None:
        self.transform, self.column, self.output = transform, column, output
        self.row_id, self.seed, self.threads, self.on_error = row_id, seed, threads, on_error
        self._decoder: Decoder | None = None
        Decoder(transform, threads=threads, on_error=on_error)  # refuses what makes no sense now

    def __call__(self, batch: Any) -> dict[str, Any]:
        """Decodes a batch.

        Args:
            batch: a pyarrow.Table, or a dict of arrays.

        Returns:
            The columns as numpy arrays, without `column` and with `output`.
        """
        columns = columns_of(batch)
        made = self._samples(columns)
        rest = {name: as_numpy(column) for name, column in columns.items() if name != self.column}
        return {**rest, self.output: made.numpy() if isinstance(made, torch.Tensor) else _ragged(made)}

    def _samples(self, columns: Mapping[str, Any]) -> Any:
        for name in filter(None, (self.column, self.row_id)):
            if name not in columns:
                raise errors.OptionError(f"the batch has no column {name!r}: it has {[*columns]}")
        if self._decoder is None:
            self._decoder = self._new_decoder()
        files = _files(columns[self.column])
        if self.row_id is None:
            return self._decoder._decoded(files)
        ids = columns[self.row_id]
        ids = ids.to_pylist() if hasattr(ids, "to_pylist") else np.asarray(ids).tolist()
        return self._decoder._decoded(files, [seed_of(self.seed, one) for one in ids])

    def _new_decoder(self) -> Decoder:
        """That of this process: Ray unpickles the function for each task, and fresh memory is slow."""
        options: dict[str, Any] = {
            "transform": self.transform,
            "threads": _cpus() if self.threads is None else self.threads,
            "on_error": self.on_error,
        }
        pickling: Any = sys.modules.get("ray.cloudpickle", pickle)  # Ray's takes lambdas too
        try:
            packed = pickling.dumps(options)
        except Exception:  # what cannot be pickled was made here
            return Decoder(**options)
        return _decoder_of(packed)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_decoder": None}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name[0] != "_")
        return f"gofast.ray.{type(self).__name__}({given})"


def seed_of(seed: int, row_id: int | str) -> int:
    """What a row's picture is drawn with: a function of both, the same on every machine and in every run.

    ``torch.manual_seed`` of it makes torchvision draw the same.

    Example:
        >>> gofast.ray.seed_of(0, "photos/1.jpg") == gofast.ray.seed_of(1, "photos/1.jpg")
        False
    """
    digest = hashlib.blake2b(f"{seed} {row_id}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@functools.lru_cache(maxsize=8)
def _decoder_of(packed: bytes) -> Decoder:
    return Decoder(**pickle.loads(packed))


def _cpus() -> int | None:
    """The CPUs that Ray gave this task; None outside of Ray."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    try:
        assigned = ray.get_runtime_context().get_assigned_resources().get("CPU")
    except AssertionError:  # the driver, to which Ray assigns nothing
        return None
    return None if assigned is None else max(int(assigned), 1)


def columns_of(batch: Any) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        return dict(batch)
    names = getattr(batch, "column_names", None)
    if names is None:
        raise errors.OptionError(
            f'a batch of {type(batch).__name__}: give batch_format="pyarrow", or "numpy", to map_batches'
        )
    return {name: batch.column(name) for name in names}


def as_numpy(column: Any) -> Any:
    return column.to_numpy() if hasattr(column, "to_pylist") else column


def _ragged(samples: Sequence[Any]) -> np.ndarray[Any, Any]:
    made = np.empty(len(samples), object)
    for i, sample in enumerate(samples):
        made[i] = sample.numpy() if isinstance(sample, torch.Tensor) else sample
    return made

"""What iter_torch_batches calls with each batch. Apart: it imports Ray."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from ray.data.collate_fn import ArrowBatchCollateFn

from ._ray_decode import Decode, as_numpy, columns_of


class Collate(Decode, ArrowBatchCollateFn):  # type: ignore[misc]
    """A ``collate_fn`` for ``iter_torch_batches``: files arrive in the trainer, which decodes them.

    Only files travel through Ray's store, and the decoding runs on the threads of the training process while
    its step runs. Ray pins the batch, or moves it to the device, as it does with its own batches.

    Args:
        transform: as in :class:`Decode`, and so are all others.

    Returns:
        From each call, a dict: `output` is a tensor [n, ...], or a list of them; columns of numbers are
        tensors [n], and all others are lists.

    Example:
        >>> collate = gofast.ray.Collate(transform, output="image")  # doctest: +SKIP
        >>> for batch in shard.iter_torch_batches(batch_size=64, collate_fn=collate):  # doctest: +SKIP
        ...     model(batch["image"])
    """

    def __call__(self, batch: Any) -> dict[str, Any]:
        """Decodes a batch; see the class."""
        columns = columns_of(batch)
        made = self._samples(columns)
        rest = {name: _tensor(as_numpy(column)) for name, column in columns.items() if name != self.column}
        return {**rest, self.output: made}


def _tensor(values: Any) -> Any:
    """Numbers as a tensor of their own, and all others as a list."""
    array = np.asarray(values)
    return torch.from_numpy(array.copy()) if array.dtype.kind in "biuf" else array.tolist()

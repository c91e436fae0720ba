"""HDF5Dataset: rows and pictures of an HDF5 file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from . import errors
from ._core.arguments import checked, several
from ._core.numbers import DType
from ._loader.typed import Options, TargetTransform, Transform, TupleForm
from ._tables.file_arrays import FileArray
from ._tables.hdf5 import open_arrays
from ._tables.limits import Limits
from ._tables.scale import Scale
from ._tables.sources import Path
from ._tables.statistics import Numbers
from .mapped import MappedDataset


class HDF5Dataset(MappedDataset[Options]):
    """Map-style dataset over datasets of an HDF5 file, which h5py opens and gofast reads.

    Samples and batches equal those of a Dataset whose ``__getitem__`` reads ``file[features][i]`` and
    ``file[labels][i]`` with h5py. It works with any sampler, and in forked and spawned workers, which need
    no h5py: none of its locks is held, and a file that was opened before a fork does no harm.

    - A contiguous dataset is mapped where it lies in the file: it may be larger than memory. Replace or
      remove the file at any time. One that is written to gives a ChangedError; one that is cut while it is in
      use may end the process (SIGBUS).
    - A chunked dataset, plain or packed by gzip, lzf, shuffle or fletcher32, is decoded once, by all
      threads, into memory that processes share. It must fit: ``limits={"memory": ...}``. Of one that does
      not, :func:`gofast.convert` writes a file without chunks, and :class:`gofast.HDF5Stream` decodes the
      chunks of some rows at a time.
    - What only h5py can read (virtual and external datasets, other filters, another order of bytes) it reads
      once, into such memory. ``print(gofast.explain(ds))`` says so.

    Args:
        path: the file.
        features: name of the dataset with the features [n, ...], such as ``"train/x"``; or names of several
            columns [n] of one type, which make a matrix [n, columns].
        labels: likewise, of the same length; ``None`` for samples without labels.
        shape: of one sample's features; default their own. See :class:`gofast.ArrayDataset` for this and the
            following.
        scale: ``"unit"`` gives float32(x) / 255.
        mean: with ``std``, (x - mean) / std in float32; numbers or ``"auto"``.
        std: see ``mean``.
        dtype: type of the features in a sample; default their own.
        keys: names of features and labels in a ``"dict"`` sample.
        output: ``"tuple"`` or ``"dict"`` samples.
        one_hot: number of classes: the labels become float32 [classes].
        transform: called with each sample's features. One of torchvision's that makes tensors of PIL images
            is given what ``PIL.Image.fromarray`` makes of uint8 [n, height, width] or
            [n, height, width, 3]. Of such pictures, and of uint8 [n, channels, height, width] as tensors, a
            :class:`gofast.DataLoader` makes batches natively.
        target_transform: called with each sample's label.
        batch_transform: called with each batch's features [n, *shape].
        threads: threads for decoding; default all that the process may use.
        limits: :class:`gofast.Limits`, or a dict of its fields; only ``memory`` counts.

    Raises:
        gofast.errors.NotFoundError: there is no such file.
        gofast.errors.SchemaError: there is no such dataset, or the datasets do not fit together.
        gofast.errors.UnsupportedError: a dataset holds no numbers; or h5py is not installed.
        gofast.errors.DamagedError: what the file says of itself is wrong, or a chunk's checksum is; the text
            names dataset and chunk.
        gofast.errors.LimitError: what must be decoded does not fit into memory.
        gofast.errors.ChangedError: the file was written to since.
        gofast.errors.GofastError: the errors of an ArrayDataset.

    Example:
        >>> train = gofast.HDF5Dataset("train.h5", "images", "labels", transform=ToTensor())
        >>> train[0][0].shape, train[0][1]
        (torch.Size([3, 32, 32]), tensor(6, dtype=torch.uint8))
        >>> loader = gofast.DataLoader(train, batch_size=256, shuffle=True)
    """

    @checked
    def __init__(
        self: HDF5Dataset[tuple[TupleForm, Transform, TargetTransform, None]],
        path: Path,
        features: str | Sequence[str],
        labels: str | Sequence[str] | None = None,
        *,
        shape: Sequence[int] | int | None = None,
        scale: Scale = None,
        mean: Numbers = None,
        std: Numbers = None,
        dtype: DType | None = None,
        keys: tuple[str, ...] | None = None,
        output: TupleForm = "tuple",  # type: ignore[assignment]
        one_hot: int | None = None,
        transform: Transform = None,  # type: ignore[assignment]
        target_transform: TargetTransform = None,  # type: ignore[assignment]
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
        threads: int | None = None,
        limits: Limits | Mapping[str, int] | None = None,
    ) -> None:
        self._asked: dict[str, Any] = {
            **asked(path, features, labels),
            "threads": threads,
            "limits": Limits.of(limits).as_config(),
        }
        super().__init__(
            shape=shape,
            scale=scale,
            mean=mean,
            std=std,
            dtype=dtype,
            keys=keys,
            output=output,
            one_hot=one_hot,
            transform=transform,
            target_transform=target_transform,
            batch_transform=batch_transform,
        )

    def _opened(self) -> list[FileArray]:
        return open_arrays(**self._asked)

    def __repr__(self) -> str:
        return f"HDF5Dataset({self._asked['path']!r}: {super().__repr__().partition('(')[2]}"


def asked(path: Path, features: str | Sequence[str], labels: str | Sequence[str] | None) -> dict[str, Any]:
    """What is to be opened, checked."""
    if not isinstance(path, (str, os.PathLike)):
        raise errors.OptionError(
            f"path={path!r:.80} is not a path: give one file; ConcatDataset joins several datasets"
        )
    wanted = [_wanted("features", features)]
    if labels is not None:
        wanted.append(_wanted("labels", labels))
    return {"path": os.fspath(path), "wanted": wanted}


def _wanted(option: str, given: Any) -> str | tuple[str, ...]:
    given = several(given)
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise errors.OptionError(f"{option}={given!r:.80}: give a dataset's name, or names of columns")
    return given if isinstance(given, str) else tuple(names)

"""ArrayDataset: rows of numpy or torch arrays that are in memory already."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from ._core.arguments import checked
from ._core.numbers import DType
from ._core.reason import Reason
from ._loader.batch_source import BatchSource, Line, Output, SampleForm
from ._loader.batch_types import Kind, Options, SampleOf, TargetTransform, Transform, TupleForm
from ._loader.core_dataset import CoreDataset, IntArray
from ._loader.extra_columns import ArrayColumns
from ._loader.native_dataset import NativeDataset, overridden
from ._loader.transfer_format import StoredTable
from ._plan import transforms
from ._sets.set_origin import SetOrigin
from ._tables.array_memory import ROWS, Array, ArrayMemory, Field
from ._tables.array_rows import ArrayRows
from ._tables.hdf5_origin import HDF5Origin, asked
from ._tables.limits import Limits
from ._tables.origin import Origin
from ._tables.rows import RowDataset
from ._tables.sample_options import SampleOptions
from ._tables.scale import Scale
from ._tables.sources import Path
from ._tables.statistics import Numbers


class ArrayDataset(ArrayRows[Options, Kind]):
    """Map-style dataset over arrays, as ``torch.utils.data.TensorDataset``.

    Without options, samples and batches equal TensorDataset's in values, types, shapes and
    aliasing. A sample is a view of the arrays, nothing is copied before a batch is made,
    and a change of an array shows in the next sample. ``print(gofast.explain(ds))``
    shows which arrays are gathered in C and which by torch.

    Args:
        *arrays: features [n, ...], then labels [n, ...], then anything else [n, ...] that
            belongs to them: tensors of any type, or numpy arrays of the types that
            ``torch.from_numpy`` takes. Samples never require grad, even if their tensor
            does. Samples of a read-only array are copies.
        dtype: type of the features in a sample; default their own. Another type, and scale,
            mean and std, need features of type uint8, int16, int32, int64, float32 or float64
            on the CPU. An integer type must hold all values of the features' type.
        keys: names of the arrays in a ``"dict"`` sample, one for each array.
        target_transform: for the second array.
        one_hot: number of classes in the second array: its integers become float32 [classes].
        shape: of one sample's features; default their own. See :class:`gofast.TableDataset` for this and
            the following.
        scale: ``"unit"`` gives float32(x) / 255; ``None`` leaves the features as they are.
        mean: with ``std``, (x - mean) / std in float32; numbers or ``"auto"``.
        std: see ``mean``.
        output: ``"tuple"`` or ``"dict"`` samples.
        transform: called with each sample's features. One of torchvision's that makes tensors of PIL
            images (``ToTensor``, ``PILToTensor``, ``ToImage``) is given what ``PIL.Image.fromarray`` makes
            of a numpy array of uint8 [n, height, width] or [n, height, width, 3], as torchvision's own
            datasets do. A :class:`gofast.DataLoader` makes batches of such pictures, and of tensors of uint8
            [n, channels, height, width], natively where all of the transform is native.
        batch_transform: called with each batch's features [n, *shape], in Python.

    Raises:
        gofast.errors.GofastError: for arrays that do not fit together, or that torch
            cannot read without a copy, such as ``x[::-1]``.

    Example:
        >>> ds = gofast.ArrayDataset(np.zeros((10, 3), np.float32), np.arange(10))
        >>> ds[3]
        (tensor([0., 0., 0.]), tensor(3))
    """

    made_of: dict[str, Any]
    made_with: dict[str, str]

    @checked
    def __init__(
        self: ArrayDataset[
            tuple[TupleForm, Transform, TargetTransform, None],
            SampleOf[tuple[TupleForm, Transform, TargetTransform, None]],
        ],
        *arrays: Array,
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
    ) -> None:
        self._hold(ArrayMemory(arrays), SampleOptions.of(locals()))

    @classmethod
    @checked
    def from_hdf5(
        cls,
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
    ) -> ArrayDataset[
        tuple[TupleForm, Transform, TargetTransform, None],
        SampleOf[tuple[TupleForm, Transform, TargetTransform, None]],
    ]:
        """Datasets of an HDF5 file, which h5py opens and gofast reads.

        Samples and batches equal those of a Dataset whose ``__getitem__`` reads ``file[features][i]`` and
        ``file[labels][i]`` with h5py. It works with any sampler, and in forked and spawned workers, which
        need no h5py: none of its locks is held, and a file that was opened before a fork does no harm.

        - A contiguous dataset is mapped where it lies in the file: it may be larger than memory. Replace or
          remove the file at any time. One that is written to gives a ChangedError; one that is cut while it
          is in use may end the process (SIGBUS).
        - A chunked dataset, plain or packed by gzip, lzf, shuffle or fletcher32, is decoded once, by all
          threads, into memory that processes share. It must fit: ``limits={"memory": ...}``. If it does not,
          :func:`gofast.convert` writes it to a file without chunks, or
          :meth:`gofast.IterableDataset.from_hdf5` decodes the chunks of some rows at a time.
        - h5py itself reads what only it can read (virtual and external datasets, other filters, another order
          of bytes), once, into such memory. ``print(gofast.explain(ds))`` says so.

        Args:
            path: the file.
            features: name of the dataset with the features [n, ...], such as ``"train/x"``; or names of
                several columns [n] of one type, which make a matrix [n, columns].
            labels: likewise, of the same length; ``None`` for samples without labels.
            transform: as in the constructor, and so are all others that are not named here. Pictures are
                datasets of uint8 [n, height, width] or [n, height, width, 3].
            threads: threads for decoding; default all that the process may use.
            limits: a dict, or :class:`gofast.typing.Limits`; only ``memory`` counts.

        Raises:
            gofast.errors.NotFoundError: there is no such file.
            gofast.errors.SchemaError: there is no such dataset, or the datasets do not fit together.
            gofast.errors.UnsupportedError: a dataset holds no numbers; or h5py is not installed.
            gofast.errors.DamagedError: what the file says of itself is wrong, or a chunk's checksum is; the
                text names dataset and chunk.
            gofast.errors.LimitError: what must be decoded does not fit into memory.
            gofast.errors.ChangedError: the file was written to since.

        Example:
            >>> train = gofast.ArrayDataset.from_hdf5("train.h5", "images", "labels", transform=ToTensor())
            >>> train[0][0].shape, train[0][1]
            (torch.Size([3, 32, 32]), tensor(6, dtype=torch.uint8))
            >>> loader = gofast.DataLoader(train, batch_size=256, shuffle=True)
        """
        options = SampleOptions.of(locals())
        origin = HDF5Origin(asked(path, features, labels, threads), limits=limits)
        return cls._of(origin.memory(), options, origin)

    @classmethod
    @partial(checked, urls=True)
    def open(
        cls,
        path: Path,
        *,
        shape: Sequence[int] | int | None = None,
        scale: Scale = None,
        mean: Numbers = None,
        std: Numbers = None,
        dtype: DType | None = None,
        keys: tuple[str, ...] | None = None,
        output: Output | None = None,
        one_hot: int | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> ArrayDataset[Any]:
        """What :func:`gofast.preprocess` wrote, in a millisecond: nothing is read before it is asked for.

        Samples have the values, types and shapes of the samples that were written. A number is a tensor
        without dimensions; batches are the same. It works with any loader and sampler, in Subsets and in
        forked and spawned workers; processes share one copy in the page cache. A :class:`gofast.DataLoader`
        makes batches natively, with a native transform too.

        If samples' first values were PIL images, a transform is given PIL images again, with the same pixels
        and nothing else: not what EXIF says, so ``ImageOps.exif_transpose`` goes into the dataset. Without
        one, they are uint8 tensors [h, w, 3], or [h, w].

        Args:
            path: the folder. That of a URL, ``"s3://bucket/photos.set"``, is downloaded first, all of it,
                into the cache of downloads, and stays there until the process ends. A signature (``?...``)
                of HTTP must be one for all its files.
            transform: called with each sample's first value; of a dict, the largest one.
            target_transform: called with the second one, the label.
            keys: as in the constructor, and so are all others; the default of this and of ``output`` is what
                was written.

        Attributes:
            classes: the names of the classes, if the dataset that the set was made of had some; and
                class_to_idx.
            made_of: what the set was made of: a dict of types, transforms and checksums.
            made_with: versions: of gofast, torchvision, Pillow, libjpeg.

        Raises:
            gofast.errors.NotFoundError: there is no set, or an unfinished one; the text says how to go on.
            gofast.errors.DamagedError: what the set says of itself is wrong, or a file has another size.
                :func:`gofast.verify` compares all values with their checksums.
            gofast.errors.LimitError: what is behind a URL is more than the downloads' limit.
            gofast.errors.ChangedError: a file changed on the server while it came; at indexing, a file was
                written to or cut since. One that is cut while a batch is in the making may end the process
                (SIGBUS); files of a set are for reading only.

        Example:
            >>> dataset = gofast.ImageFolder("photos/train", T.Resize((256, 256)))
            >>> whole = gofast.preprocess(dataset, "photos.set")
            >>> augment = T.Compose([T.RandomCrop(224), T.ToTensor()])
            >>> train = gofast.ArrayDataset.open("photos.set", transform=augment)
            >>> loader = gofast.DataLoader(train, batch_size=64, shuffle=True)
            >>> train[0][0].shape
            torch.Size([3, 224, 224])
        """
        given = {name: one for name, one in SampleOptions.among(locals()).items() if one is not None}
        origin = SetOrigin(path)
        options = SampleOptions(**{"keys": origin.keys, "output": origin.output, **given})
        made = cls.__new__(cls)
        made._bare = origin.bare and output != "dict"
        made.made_of, made.made_with = origin.info.made_of, origin.info.made_with
        made._hold(origin.memory(), options, origin)
        return made

    @classmethod
    def _of(
        cls, memory: ArrayMemory, options: SampleOptions, origin: Origin | None = None
    ) -> ArrayDataset[Any]:
        made = cls.__new__(cls)
        made._hold(memory, options, origin)
        return made

    def __repr__(self) -> str:
        arrays = ", ".join(
            f"{field!r} {'in C' if self._is_in_c(i) else 'by torch'}"
            for i, field in enumerate(self._memory.fields)
        )
        origin = self._origin
        opened = f".{origin.constructor}({origin.path!r}: " if origin.arrays else "("
        return f"ArrayDataset{opened}{len(self)} rows of {arrays}; samples: shape {self.shape}, {self.dtype})"

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The arrays as tensors over the same memory, like the attribute of TensorDataset.

        Nobody may write to those of a file: the process would end.
        """
        for field in self._memory.fields:
            field.check()
        return tuple(f.tensor for f in self._memory.fields)

    @property
    def targets(self) -> torch.Tensor:
        """The second array itself, or a copy of a file's; -1 for every row if there is none."""
        fields = self._memory.fields
        if len(fields) < 2:
            return super().targets
        return fields[1][:] if self._origin.arrays else fields[1].tensor

    def _shown(self, row: int, features: Any = None) -> Any:
        field = self._memory.fields[0]
        if self._has_images():
            from PIL import Image

            return Image.fromarray(np.asarray(field.given)[row])
        return field[row] if features is None else features

    def _has_images(self) -> bool:
        """Whether its transform is given PIL images."""
        from ._images.array_pictures import become_images

        if self._origin.pictures is not None:
            return self._origin.pictures and self.transform is not None and self._is_as_given
        return self._is_as_given and become_images(self._memory.fields[0].given, self.transform)

    @property
    def _is_as_given(self) -> bool:
        """Whether nothing is done to features before the transform."""
        return self._is_plain and self.shape == self._memory.fields[0].shape

    def _made_by(self) -> NativeDataset:
        """Its pictures, where one of torchvision's transforms is given them."""
        known = self._is_as_given and self.batch_transform is None and not self._memory.by_rows
        if not known or transforms.identify(self.transform) is None or overridden(self, RowDataset):
            return self
        if self._stand_in is None:
            from ._images.array_pictures import ArrayPictures

            self._stand_in = ArrayPictures(self)
        return self._stand_in

    def _native_view(self) -> BatchSource | Reason:
        view = super()._native_view()
        if isinstance(view, Reason) or (self._is_native and not self._memory.by_rows):
            return view
        fields = self._memory.fields
        worst = next((i for i, field in enumerate(fields) if field.way == ROWS), 0)
        why = fields[worst].reason
        if why is None:
            return Reason("Python code has a say in its samples")
        return dataclasses.replace(why, step=f"array {worst}")

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> BatchSource:
        return self._with_columns(BatchSource(parts, index_map, self._form()), 1 + self._label_is_native)

    def _with_columns(self, view: BatchSource, first: int) -> BatchSource:
        """A batch source with the arrays that torch gathers, from the first of them on."""
        width = len(self._memory.fields) - first
        return view.carry([ArrayColumns(view.datasets, view.starts, first, width)])

    def _form(self) -> SampleForm:
        form = super()._form()._replace(alone=self._bare, opaque=self._is_opaque)
        return form if self._label_is_native else form._replace(label_dtype=None, label_shape=())

    def _sample_signature(self) -> tuple[Any, ...]:
        rest = [(f.tensor.dtype, f.shape) for f in self._memory.fields[1 + self._label_is_native :]]
        return (*super()._sample_signature(), "arrays", self._numbers.type, self.one_hot, *rest)

    def _places(self) -> object:
        return self._memory.places()

    @property
    def _mapped(self) -> Sequence[Field]:
        return [field for field in self._memory.fields if field.mapped]

    def _stored_table(self, core: CoreDataset) -> StoredTable | None:
        return None

    def _is_as_torch(self) -> bool:
        return (
            self._output == "tuple"
            and not self._bare
            and self._is_plain
            and self.one_hot is None
            and self.shape == self._memory.fields[0].shape
            and self.transform is None
            and self.target_transform is None
            and self.batch_transform is None
        )

    def _indexed(self, index: Any) -> tuple[torch.Tensor, ...]:
        if type(index) is int:
            self._checked(index)
        return tuple(field[index] for field in self._memory.fields)

    def _view(self) -> BatchSource:
        if self._is_native:
            return super()._view()
        if self._shell is None:
            self._shell = self._with_columns(BatchSource([self], None, self._form(), cores=()), 1)
        return self._shell

    def _row(self, values: Sequence[Any]) -> Any:
        return values[0] if self._bare else super()._row(values)

    def _explained(self) -> list[Line]:
        return [*self._origin.explained(), *super()._explained()]

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__() | {"_shell": None, "_stand_in": None, "_compiled_at": []}
        if self._origin.arrays:
            del state["_memory"]  # the origin brings it along
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._origin.arrays:
            self._memory = self._origin.memory()

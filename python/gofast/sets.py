"""preprocess and open_set: the finished samples of a dataset, kept on disk and mapped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.data import Dataset

from . import errors
from ._core.arguments import checked
from ._core.units import many
from ._loader.view import Line
from ._sets import files, making
from ._sets.fields import BARE, DICT
from ._tables import array_folder
from ._tables.file_arrays import FileArray
from ._tables.sources import Path
from .mapped import MappedDataset


class PreprocessedDataset(MappedDataset):
    """What :func:`gofast.open_set` gives: an :class:`gofast.ArrayDataset` over a set's files.

    Attributes:
        classes: the names of the classes, if the dataset that the set was made of had some; and class_to_idx.
        made_of: what the set was made of: a dict of types, transforms and checksums.
        made_with: versions: of gofast, torchvision, Pillow, libjpeg.
    """

    @checked
    def __init__(self, path: Path, **options: Any) -> None:
        self._asked = {"path": os.path.abspath(os.fspath(path))}
        info, said = files.read(self._asked["path"])
        self._info, self._seal = info, said.seal
        self.made_of, self.made_with = info.made_of, info.made_with
        self._bare = info.form == BARE and options.get("output") != "dict"
        keys, output = tuple(field.name for field in info.fields), "dict" if info.form == DICT else "tuple"
        super().__init__(**{"keys": keys, "output": output} | options)

    def _opened(self) -> list[FileArray]:
        path = self._asked["path"]
        said = files.read(path)[1]
        if said.seal != self._seal:
            raise errors.ChangedError(f"{path} holds another set than when it was pickled").at(path=path)
        return array_folder.open_arrays(said)

    def _resolve_labels(self, label: object) -> None:
        super()._resolve_labels(label)
        self.classes = self._info.classes
        if self.classes is not None:
            self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _has_images(self) -> bool:
        return self._info.fields[0].picture and self.transform is not None and self._is_as_given

    def _row(self, values: Sequence[Any]) -> Any:
        return values[0] if self._bare else super()._row(values)

    def _is_as_torch(self) -> bool:
        return not self._bare and super()._is_as_torch()

    def _explained(self) -> list[Line]:
        kind = str(self.made_of.get("type")).rpartition(".")[2]
        versions = ", ".join(f"{name} {version}" for name, version in self.made_with.items())
        return [
            ("set", "", f"{many(len(self), 'sample')} of a {kind}; made with {versions}"),
            *super()._explained(),
        ]

    def __repr__(self) -> str:
        return f"PreprocessedDataset({self._asked['path']!r}: {super().__repr__().partition('(')[2]}"


@checked
def open_set(
    path: Path,
    *,
    transform: Callable[[Any], Any] | None = None,
    target_transform: Callable[[Any], Any] | None = None,
    **options: Any,
) -> PreprocessedDataset:
    """Opens what :func:`gofast.preprocess` wrote, in a millisecond: nothing is read before it is asked for.

    Samples have the values, types and shapes of the samples that were written. A number is a tensor
    without dimensions, as :class:`gofast.ArrayDataset` gives it; batches are the same. It works with any
    loader and sampler, in Subsets and in forked and spawned workers; processes share one copy in the page
    cache. A :class:`gofast.DataLoader` makes batches natively, with a native transform too.

    If samples' first values were PIL images, a transform is given PIL images again, with the same pixels and
    nothing else: not what EXIF says, so ``ImageOps.exif_transpose`` goes into the dataset. Without one, they
    are uint8 tensors [h, w, 3], or [h, w].

    Args:
        path: the folder.
        transform: called with each sample's first value; of a dict, the largest one.
        target_transform: called with the second one, the label.
        options: the others of :class:`gofast.ArrayDataset`, such as ``scale="unit"``, ``output`` or ``keys``.

    Raises:
        gofast.errors.NotFoundError: there is no set, or an unfinished one; the text says how to go on.
        gofast.errors.DamagedError: what the set says of itself is wrong, or a file has another size.
            :func:`gofast.verify` compares all values with their checksums.
        gofast.errors.ChangedError: at indexing, a file was written to or cut since. One that is cut while a
            batch is in the making may end the process (SIGBUS); files of a set are for reading only.

    Example:
        >>> dataset = gofast.ImageFolder("photos/train", T.Resize((256, 256)))
        >>> whole = gofast.preprocess(dataset, "photos.set")
        >>> train = gofast.open_set("photos.set", transform=T.Compose([T.RandomCrop(224), T.ToTensor()]))
        >>> loader = gofast.DataLoader(train, batch_size=64, shuffle=True)
        >>> train[0][0].shape
        torch.Size([3, 224, 224])
    """
    return PreprocessedDataset(path, transform=transform, target_transform=target_transform, **options)


@checked
def preprocess(
    dataset: Dataset[Any],
    path: Path,
    *,
    num_workers: int = 0,
    overwrite: bool = False,
    allow_random: bool = False,
) -> PreprocessedDataset:
    """Writes the finished samples of a dataset into a folder, and opens it: see :func:`gofast.open_set`.

    The samples are made once, and every later epoch reads them. So a transform that is the same each time,
    such as ``Resize((256, 256))``, goes into the dataset, and what is random behind it, into
    ``open_set(path, transform=)``. End the first with a PIL image (no ToTensor): that takes a quarter of the
    floats' room, and the pixels of every batch are those of the whole transform.

    A call whose set is there already opens it, so a script may begin with it. After Ctrl-C or a kill, the
    same call goes on behind the samples that are written and whose checksums are right. Processes that call
    it at once wait for the first. A dataset is the same if its type, length, transforms (by their repr), the
    paths, sizes and times of its pictures and shards, the values that gofast's, torch's and torchvision's own
    datasets hold, the versions of torchvision, Pillow and libjpeg, and eight of its samples are the same;
    what else decides samples must not change. At the end, eight samples are made once more: others are an
    error.

    The folder has a ``.npy`` file for each value of a sample, such as ``image.npy`` and ``label.npy``, for
    ``numpy.load``, and a description, ``arrays.jsonl``. All samples have one size and type.
    ``torch.save(dict(zip(train.keys, train.tensors)), "train.pt")`` writes them for ``torch.load``.

    Args:
        dataset: a map-style dataset of gofast's, torchvision's or your own, or a Subset or ConcatDataset. Its
            samples are tensors, arrays, numbers and pictures, alone, in a tuple or in a dict.
        path: the folder, a new or empty one.
        num_workers: processes that make samples, where those are not made natively.
        overwrite: make a set that is there, or was begun, anew. Of calls at once, such as those of ranks, one
            does so: the others wait, and open what it made.
        allow_random: keep one draw of a random transform for ever, instead of an error.

    Raises:
        gofast.errors.OptionError: the transform is random, or samples are others when they are made again;
            the folder holds another set, or other files.
        gofast.errors.SchemaError: a sample has another size or type than the first; the text names it.
        gofast.errors.UnsupportedError: a sample holds something else, such as a text, or a tensor of a class
            of its own, such as a Mask, which a set would drop.
        gofast.errors.ReadError: the set cannot be written, or the disk has no room for it; nothing is lost.
        gofast.errors.DamagedError: the set that is there is damaged.

    The errors of the dataset itself are raised as they are.

    Example:
        >>> small = gofast.ImageFolder("photos/train", T.Resize((64, 64)))
        >>> train = gofast.preprocess(small, "small.set")
        >>> train.transform = T.Compose([T.RandomHorizontalFlip(), T.ToTensor()])
        >>> train
        PreprocessedDataset('...small.set': ... rows of uint8 [64, 64, 3] in C, int64 [] in C; samples: ...)
    """
    return making.write(dataset, os.fspath(path), num_workers, overwrite, allow_random, PreprocessedDataset)

"""preprocess: the finished samples of a dataset, written to disk; ArrayDataset.open maps them."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from torch.utils.data import Dataset

from . import errors
from ._core.arguments import checked
from ._core.shown_urls import is_url, shown
from ._sets import samples_writer
from ._tables.sources import Path
from .arrays import ArrayDataset


@partial(checked, urls=True)
def preprocess(
    dataset: Dataset[Any],
    path: Path,
    *,
    num_workers: int = 0,
    overwrite: bool = False,
    allow_random: bool = False,
) -> ArrayDataset[Any]:
    """Writes the finished samples of a dataset into a folder, and opens it by ``ArrayDataset.open``.

    The samples are made once, and every later epoch reads them. So a transform that is the same each time,
    such as ``Resize((256, 256))``, goes into the dataset, and what is random behind it, into
    ``ArrayDataset.open(path, transform=)``. End the first with a PIL image (no ToTensor): that takes a
    quarter of the floats' room, and the pixels of every batch are those of the whole transform.

    A call whose set is there already opens it, so a script may begin with it. After Ctrl-C or a kill, the
    same call goes on behind the samples that are written and whose checksums are right. Processes that call
    it at once wait for the first. Two datasets are the same if they agree in all of this: type, length and
    transforms (by their repr); paths, sizes and times of pictures and shards; the values that gofast's,
    torch's and torchvision's own datasets hold; the versions of torchvision, Pillow and libjpeg; and eight
    samples. Nothing else that decides samples may change. At the end, eight samples are made once more, and
    it is an error if they differ.

    The folder has a ``.npy`` file for each value of a sample, such as ``image.npy`` and ``label.npy``, for
    ``numpy.load``, and a description, ``arrays.jsonl``. All samples have one size and type.
    ``torch.save(dict(zip(train.keys, train.tensors)), "train.pt")`` writes them for ``torch.load``.

    Args:
        dataset: a map-style dataset of gofast's, torchvision's or your own, or a Subset or ConcatDataset. Its
            samples are tensors, arrays, numbers and pictures, alone, in a tuple or in a dict.
        path: the folder, a new or empty one on this machine. ``ArrayDataset.open`` opens a copy on a server.
        num_workers: processes that make samples, where those are not made natively.
        overwrite: make a set that is there, or was begun, anew. Where several processes call at once, as
            ranks do, one makes it; the others wait, and open it.
        allow_random: keep one draw of a random transform for ever, instead of an error.

    Raises:
        gofast.errors.OptionError: the transform is random, or samples are others when they are made again;
            the folder holds another set, or other files; path is a URL.
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
        ArrayDataset.open('...small.set': ... rows of uint8 [64, 64, 3] in C, int64 [] in C; samples: ...)
    """
    folder = os.fspath(path)
    if is_url(folder):
        raise errors.OptionError(
            f"path={shown(folder)!r} is a URL: write the set into a folder here, and copy that there, such "
            "as by aws s3 sync; gofast.ArrayDataset.open(URL) opens it"
        )
    return samples_writer.write(dataset, folder, num_workers, overwrite, allow_random, ArrayDataset.open)

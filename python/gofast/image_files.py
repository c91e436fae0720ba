"""ImageFiles: pictures in one folder, or from a list of files, with labels or without."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from ._core.numbers import DType
from ._core.patterns import Paths, is_pattern
from ._core.picture_operations import Scan
from ._core.tfrecord_index import TFRecordIndex
from ._images.bad_samples import OnError, known_policy
from ._images.file_index import Files
from ._images.listing import Listing
from ._images.matched_labels import matched, numbers
from ._images.options import PictureOptions, Rng
from ._images.paths import Pictures, held, listed, matching
from ._images.record_files import listing_beside, listing_of, listing_of_shards, listing_of_tar
from ._images.torchvision_datasets import IMG_EXTENSIONS, default_loader
from ._images.vision_dataset import VisionDataset
from ._loader.batch_source import Output
from ._loader.classes import Classes, LabelType, in_order, numbered

if TYPE_CHECKING:
    from .table import TableDataset
    from .table_pictures import TablePictures

Self = TypeVar("Self", bound="ImageFiles")


class ImageFiles(VisionDataset):
    """Pictures in one folder, or from a list of paths, with labels or without.

    It replaces a short custom Dataset that opens files with PIL, and runs natively. Transforms, batches,
    draws and all options that are not named here are as in :class:`gofast.ImageFolder`.

    Args:
        paths: a folder, a pattern such as ``"photos/*.jpg"``, or an iterable of paths of files, such as a
            column of a table. The pictures of a folder or a pattern are sorted by path; a list keeps its
            order. A pattern takes files of any extension. The URL of a folder ends with a slash.
        labels: one label for each picture, or None: no labels. There are two ways to give them.
            By name: a mapping, or a pandas Series whose index holds names. A name is a path as it is given,
            a path within the folder, or a file's name alone if only one path ends with it. Each picture must
            have one label. Labels of other files are ignored, with one warning.
            In the order of the pictures: any other sequence, array, tensor [n, ...] or column. A pandas
            Series without names works only with a list of paths, and its index must be that of the paths or
            0, 1, 2 and so on. Whole numbers are int64 in a batch, and Python's ints in a sample. Any other
            label, such as a row of a tensor, is given as it is. A Categorical gives its values, not its
            codes.
        classes: names in order, a mapping from name to number, or a dataset with ``class_to_idx``. Labels
            are then names, and samples have their numbers. Give validation data the classes of the training
            data.
        transform: called with a PIL image of mode RGB.
        target_transform: called with the label.
        loader: called with a path (a str), returns what transform takes.
        recursive: also take pictures from folders within the folder.
        extensions: take only names from a folder that end in one of these, in any case; None: all.
        allow_empty: a folder without a picture is not an error.
        output: ``"tuple"`` samples are (picture, label), or the picture alone without labels. ``"dict"``
            samples are {"image": picture, "label": label}, or {"image": picture}.

    Attributes:
        root: the folder, or None.
        paths (list[str]): a copy of the paths.
        samples (list[tuple[str, Any]]): paths and labels (None without). Assigning it, or changing the
            list in place, changes the dataset.
        targets (list): the labels, or None. Changing them changes nothing else.
        classes (list[str]): names in the order of their numbers. None without ``classes=``.
        class_to_idx (dict[str, int]): their numbers, or None likewise.

    Raises:
        gofast.errors.NotFoundError: no such folder, or no picture in it (a FileNotFoundError).
        gofast.errors.OptionError: labels do not match the pictures, or another option makes no sense
            (a ValueError).
        gofast.errors.UnknownLabelError: a label is not one of the classes (a ValueError).
        gofast.errors.GofastError: at indexing, as in :class:`gofast.ImageFolder`.

    Example:
        >>> from torchvision import transforms as T
        >>> resize = T.Compose([T.Resize((256, 256)), T.ToTensor()])
        >>> gofast.ImageFiles("photos/train/coast", transform=resize)[0].shape
        torch.Size([3, 256, 256])
        >>> faces = gofast.ImageFiles(["a.jpg", "b.jpg"], [0.5, 2.0], resize)
        >>> faces[1][1]
        2.0
    """

    @checked
    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        labels: Iterable[Any] | Mapping[Any, Any] | torch.Tensor | np.ndarray[Any, Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] | None = default_loader,
        *,
        classes: Classes | None = None,
        recursive: bool = False,
        extensions: str | Sequence[str] | None = IMG_EXTENSIONS,
        allow_empty: bool = False,
        output: Output = "tuple",
        keys: tuple[str, str] = ("image", "label"),
        channels_last: bool = False,
        dtype: DType | None = None,
        on_error: OnError = "raise",
        max_bad: int | None = None,
        return_index: bool = False,
        return_path: bool = False,
        index: str | Path | None = None,
        rng: Rng = "torch",
        seed: int = 0,
        cache: str | Path | None = None,
        cache_limit: str | int | None = None,
    ) -> None:
        kept = None if index is None else os.fspath(index)
        self._labelled = labels is not None
        self.class_to_idx = None if classes is None else numbered(classes)
        self.classes = None if self.class_to_idx is None else in_order(self.class_to_idx)
        if self.class_to_idx is not None and not self._labelled:
            raise errors.OptionError("classes= numbers the labels: give labels too")
        self.root: str | None = None
        self.extensions: tuple[str, ...] | None = None
        if isinstance(paths, (str, os.PathLike)):
            given = os.path.expanduser(os.fspath(paths))
            pictures = matching(given) if is_pattern(given) else None
        else:
            given, pictures = "", listed(paths)
        if pictures is None:
            self.root = given
            if extensions is not None:
                ends = (extensions,) if isinstance(extensions, str) else extensions
                self.extensions = tuple(end.lower() for end in ends)
            listing = self._scan(given, recursive, kept)
            if len(listing) == 0 and not allow_empty:
                raise _no_pictures(given, self.extensions)
            if labels is not None:
                pictures = Pictures(listing.paths(), listing.files.names())
                listing = listing.labelled(self._numbered(labels, pictures))
        else:
            values = None if labels is None else self._numbered(labels, pictures)
            listing = Listing.of_paths(pictures.paths, values, pictures.contents)
        picture_options = PictureOptions.among(locals())
        self._show(listing, transform, target_transform, loader, **picture_options)

    @classmethod
    @checked
    def from_csv(
        cls: type[Self],
        csv: str | Path,
        root: str | Path = "",
        *,
        path: str = "filename",
        label: str | Sequence[str] | None = "label",
        suffix: str = "",
        classes: Classes | None = None,
        label_type: LabelType = "auto",
        **options: Any,
    ) -> Self:
        """The pictures that a labels file lists, one in each row, in its order.

        Args:
            csv: a text table whose first line names the columns, separated by commas, tabs, semicolons, bars
                or spaces. It is read as :class:`gofast.TableDataset` reads it.
            root: the folder that the files' names are relative to.
            path: the column of these names.
            label: the column of the labels; None: there are none. Several columns of numbers, such as zeros
                and ones, are a float32 vector each sample, and ``classes`` are their names.
            suffix: an ending to add to each name, such as ``".jpg"``.
            classes: as in :class:`gofast.ImageFiles`.
            label_type: ``"int"``, ``"float"``, ``"text"``, or ``"auto"``: the type of the first row's label.
                A label that does not fit is an error. True and False are 1 and 0. Text without ``classes=``
                is numbered in sorted order. A file with other texts would get other numbers: give it the
                first dataset as ``classes=``.
            options: those of :class:`gofast.ImageFiles`.

        Raises:
            gofast.errors.NotFoundError: no such labels file, or no such picture in its first row.
            gofast.errors.SchemaError: no such column.
            gofast.errors.MissingValueError: an empty cell.
            gofast.errors.DamagedError: a row with too few or too many cells.
            gofast.errors.BadValueError, gofast.errors.UnknownLabelError: a label that does not fit. These
                errors all name the line.

        Example:
            >>> columns = {"path": "filename", "label": "place"}
            >>> train = gofast.ImageFiles.from_csv("labels.csv", "photos/train", **columns)
            >>> train.classes
            ['coast', 'forest', 'town']
            >>> val = gofast.ImageFiles.from_csv("labels.csv", "photos/val", **columns, classes=train)
        """
        from .table_pictures import labels_file

        if classes is not None and not isinstance(label, str):
            raise errors.OptionError("classes= numbers the labels of one column: give label= too")
        if label is not None and not isinstance(label, str) and (not label or len(set(label)) < len(label)):
            raise errors.OptionError(f"label={label!r}: give a column, or several different ones")
        paths, labels, numbers = labels_file(csv, root, path, label, suffix, classes, label_type)
        made = cls(paths, labels, **options)
        made.root = os.fspath(root) or None
        made.class_to_idx = numbers
        made.classes = None if made.class_to_idx is None else in_order(made.class_to_idx)
        return made

    @classmethod
    @checked
    def from_table(
        cls,
        table: TableDataset,
        image: str,
        root: str | Path = "",
        transform: Callable[[Any], Any] | None = None,
        *,
        suffix: str = "",
        **options: Any,
    ) -> TablePictures:
        """Pictures whose paths are a column of a table, each with the other values of its row: in one dict.

        A sample is ``{"image": picture, **table[i]}``, and so is a batch. Features, label, and texts, which
        may be tokenized, are made natively beside the pictures.

        Args:
            table: with the column in its ``text=``.
            image: the column; or one of pictures in its Parquet or Arrow files, as of :meth:`from_parquet`.
            root: the folder that the paths are relative to.
            transform: called with a PIL image of mode RGB.
            suffix: an ending to add to each path, such as ``".jpg"``.
            options: those of :class:`gofast.ImageFiles` from ``loader`` on, but for ``output``, which is
                ``"dict"``, and ``classes``; ``keys=("image", "label")`` names the picture first.

        Raises:
            gofast.errors.OptionError: the table has no such column of text, or its rows are made in Python;
                or two values would have the same name.

        Example:
            >>> table = gofast.TableDataset("labels.csv", text="filename", label="place")
            >>> train = gofast.ImageFiles.from_table(table, "filename", "photos/train", T.ToTensor())
            >>> list(train[0])
            ['image', 'label', 'filename']
        """
        from .table_pictures import TablePictures

        return TablePictures(table, image, root, transform, suffix=suffix, **options)

    @classmethod
    @checked
    def from_bytes(
        cls: type[Self],
        contents: Iterable[bytes],
        labels: Iterable[Any] | torch.Tensor | np.ndarray[Any, Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Self:
        """Pictures whose files are already in memory, such as a column of a Parquet file.

        Nothing is copied: the dataset holds the objects. Errors, ``paths`` and ``samples`` call them
        ``bytes[0]``, ``bytes[1]`` and so on. Forked workers share them; in a pickle, as for a spawned worker,
        they travel along.

        Args:
            contents: the bytes of whole files, one a picture.
            labels: one a picture, in their order, or None: no labels.
            transform: called with a PIL image of mode RGB.
            options: those of :class:`gofast.ImageFiles`, but for loader and return_path: there is no path.

        Raises:
            gofast.errors.OptionError: one is not bytes, or an option makes no sense.

        Example:
            >>> table = pandas.read_parquet("pictures.parquet")
            >>> train = gofast.ImageFiles.from_bytes(table["image"], table["label"], T.ToTensor())
            >>> image, label = train[0]
        """
        if options.get("return_path") or "loader" in options:
            raise errors.OptionError("pictures in memory have no path, for loader= and return_path=")
        pictures: Any = held(contents)  # goes through `listed` as it is
        return cls(pictures, labels, transform, **options)

    @classmethod
    @partial(checked, urls=True)
    def from_tar(
        cls: type[Self],
        paths: Paths,
        image: str = "jpg;jpeg;png;ppm;bmp;pgm;tif;tiff;webp",
        label: str | Sequence[str] | None = "cls",
        transform: Callable[[Any], Any] | None = None,
        *,
        target_transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Self:
        """The pictures of WebDataset's tar files, in their order: (picture, label).

        As in webdataset, neighbours whose names are equal up to the first dot are a sample, and what is
        behind that dot is the suffix, in lower case. Errors and ``paths`` call samples ``file[0]``,
        ``file[1]`` and so on.

        Args:
            paths: of files, a pattern such as ``"train-*.tar"`` or ``"train-{000..146}.tar"``, or a list of
                these. Those that are compressed (gzip, zstd, bzip2) are unpacked at once, into the folder of
                :func:`gofast.downloads.keep`, once for all processes, and stay there within its limit. Those
                on a server that have the indexes of ``gofast shard`` beside them are downloaded when a sample
                of theirs is needed, others at once.
            image: the suffixes of pictures. Each sample must have one; of several, the first counts.
            label: a suffix, or None: no labels. ``"txt"`` and its kin are text, ``"json"`` is what json makes
                of it, and ``"json:a.b"`` one value in it. Any other is a whole number. A list of suffixes
                gives tuples. Shards of ``gofast shard`` also say what the classes are called: ``classes``.
            transform: called with a PIL image of mode RGB.
            target_transform: called with the label.
            options: as of :meth:`gofast.TFRecordDataset.images`. With any ``on_error`` but ``"raise"``, a
                damaged file is a warning, and its samples before the damage are taken, unless it is
                compressed.

        Raises:
            gofast.errors.DamagedError: a file is not whole, or a sample has two members of one suffix, or
                something stands behind an archive's end, which webdataset would not read.
            gofast.errors.UnsupportedError: a member is sparse.
            gofast.errors.SchemaError: no sample has the suffix, or a label is not what its suffix says.
            gofast.errors.MissingValueError: a sample has no picture, or no label.
            gofast.errors.ChangedError, gofast.errors.LimitError: at indexing, a shard on a server is not that
                of its index, or the shards of a batch do not fit into the downloads' limit; and when it is
                opened, compressed files unpack to more than that.
            gofast.errors.NotFoundError, gofast.errors.OptionError: as of ``images``.

        Example:
            >>> train = gofast.ImageFiles.from_tar("train-*.tar", transform=T.ToTensor())
            >>> image, label = train[0]
        """
        partial = known_policy(options.get("on_error", "raise")) != "raise"
        listing, names = listing_of_tar(paths, image, label, partial)
        made = cls._of_records(listing, label is not None, transform, target_transform, options)
        if names is not None:
            made.classes, made.class_to_idx = names, {name: number for number, name in enumerate(names)}
        return made

    @classmethod
    @checked
    def from_mds(
        cls: type[Self],
        root: str | Path,
        image: str = "image",
        label: str | None = "class",
        transform: Callable[[Any], Any] | None = None,
        *,
        target_transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Self:
        """The pictures of mosaicml-streaming's MDS shards, in their order: (picture, label).

        The package `streaming` is not needed. Pictures are read where they lie in the shards. Errors and
        ``paths`` call samples ``file[0]``, ``file[1]`` and so on.

        Args:
            root: a folder with shards, or its ``index.json``, on this machine or behind a URL. Each shard of
                a URL is downloaded once when this is called, for its labels and places, which are kept in
                the user's cache; from then on, and in the next run at once, when a sample of it is needed,
                in pieces if half of the downloads' limit does not hold all.
                Compressed ones (zstd, gz, bz2) are unpacked into memory, unless they lie unpacked in a local
                folder. These, and what fsspec brings, are all downloaded first, and must fit into the limit.
            image: the column of pictures: encoded as ``jpeg``, ``png`` or ``bytes``, or as ``pil`` of mode L,
                RGB, RGBA, CMYK or P.
            label: one of whole numbers (``int``, ``int8`` to ``int64``, ``uint8`` to ``uint32``), or of texts
                (``str``); None: there are none.
            transform: called with a PIL image of mode RGB, which `streaming` would not make of a grey one.
            target_transform: called with the label.
            options: as of :meth:`gofast.TFRecordDataset.images`.

        Raises:
            gofast.errors.DamagedError: a shard or the index is not what it says; or a shard is not below the
                index.
            gofast.errors.UnsupportedError: a shard is compressed by Brotli or Snappy, or a column
                encoded otherwise.
            gofast.errors.LimitError: compressed shards hold more than a quarter of the memory; also at
                indexing, a shard, or the pieces of a batch, do not fit into the downloads' limit.
            gofast.errors.ChangedError: also at indexing, a shard changed on the server.
            gofast.errors.SchemaError: no such column, or a text that is not UTF-8.
            gofast.errors.MissingValueError: some shards lack a column.
            gofast.errors.NotFoundError, gofast.errors.OptionError: as of ``images``.

        Example:
            >>> train = gofast.ImageFiles.from_mds("shards", label="label", transform=T.ToTensor())
            >>> image, label = train[0]
        """
        listing = listing_of_shards(root, "mds", image, label)
        return cls._of_records(listing, label is not None, transform, target_transform, options)

    @classmethod
    @checked
    def from_litdata(
        cls: type[Self],
        root: str | Path,
        image: str = "image",
        label: str | None = "class",
        transform: Callable[[Any], Any] | None = None,
        *,
        target_transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> Self:
        """The pictures of litData's chunks, in their order: (picture, label).

        The package `litdata` is not needed. All is as of :meth:`from_mds`, but for what is named here.

        Args:
            root: a folder with chunks, or its ``index.json``. Chunks, or their samples, that
                are compressed (zstd) are unpacked into memory.
            image: the name of the pictures, which are JPEG, bytes, files, or ``pil`` as in MDS: a key of the
                samples that were optimized, such as ``"image"``; of tuples the position, ``"0"``. Dots stand
                between keys within keys.
            label: likewise of the labels, an int or a str; None: there are none.
            transform: called with a PIL image of mode RGB.
            target_transform: called with the label.
            options: as of :meth:`gofast.TFRecordDataset.images`.

        Raises:
            gofast.errors.UnsupportedError: chunks are encrypted, or of another kind than `litdata`'s
                ``optimize`` writes; or their rows of Arrow are compressed, or have the value in a list.
            gofast.errors.GofastError: as of :meth:`from_mds`.

        Example:
            >>> train = gofast.ImageFiles.from_litdata("chunks", transform=T.ToTensor())  # doctest: +SKIP
        """
        listing = listing_of_shards(root, "litdata", image, label)
        return cls._of_records(listing, label is not None, transform, target_transform, options)

    @classmethod
    @checked
    def from_parquet(
        cls: type[Self],
        paths: Paths,
        image: str = "image",
        label: str | None = "label",
        transform: Callable[[Any], Any] | None = None,
        *,
        target_transform: Callable[[Any], Any] | None = None,
        classes: Classes | None = None,
        label_type: LabelType = "auto",
        **options: Any,
    ) -> Self:
        """The pictures of Parquet or Arrow files, as Hugging Face's hub has them: (picture, label).

        The package `datasets` is not needed. Pictures are read where they lie in the files, one without the
        others: uncompressed, or in Snappy. The files are read once to find them; of 64 MB and more, that is
        kept in the user's cache until a file changes. Errors and ``paths`` call samples ``file[0]``,
        ``file[1]`` and so on. :meth:`from_table` gives captions and other columns too.

        Pictures are as the other constructors have them: mode RGB, and not turned by their EXIF tag, as
        `datasets` would.

        Args:
            paths: of files, or a pattern. Arrow's are files or streams, such as `datasets` caches.
            image: the column of pictures: binaries, or structs with a part "bytes" of these.
            label: the column of labels, or None: there are none. Names of a ClassLabel become ``classes``.
            transform: called with a PIL image of mode RGB.
            target_transform: called with the label.
            classes: as of :meth:`from_csv`; the names of a ClassLabel are found among them.
            label_type: as of :meth:`from_csv`.
            options: as of :meth:`gofast.TFRecordDataset.images`.

        Raises:
            gofast.errors.FormatError: a file is neither Parquet nor Arrow.
            gofast.errors.SchemaError: no such column, or one of other values; files with other class names.
            gofast.errors.UnknownLabelError: a label is none of ``classes``.
            gofast.errors.MissingValueError: a picture or label is null. A path instead of bytes counts as
                null.
            gofast.errors.UnsupportedError: pictures are compressed otherwise.
            gofast.errors.DamagedError: a page or buffer is not what the file says.
            gofast.errors.NotFoundError, gofast.errors.OptionError: as of ``images``.

        Example:
            >>> train = gofast.ImageFiles.from_parquet("train-*.parquet", transform=T.ToTensor())
            >>> image, label = train[0]
            >>> train.classes[label]
            'coast'
        """
        from .table_pictures import labels_beside

        records = TFRecordIndex.of_table(paths, image)
        if label is None:
            return cls._of_records(
                listing_of(records, image, None), False, transform, target_transform, options
            )
        labels, names, class_to_idx = labels_beside(records, label, classes, label_type)
        listing = listing_beside(records, image, labels)
        made = cls._of_records(listing, True, transform, target_transform, options)
        made.classes, made.class_to_idx = names, class_to_idx
        return made

    @classmethod
    def _of_records(
        cls: type[Self],
        listing: Listing,
        labelled: bool,
        transform: Callable[[Any], Any] | None,
        target_transform: Callable[[Any], Any] | None,
        options: dict[str, Any],
    ) -> Self:
        """Pictures of records: of the methods above, and of :meth:`gofast.TFRecordDataset.images`."""
        if options.get("return_path") or "loader" in options:
            raise errors.OptionError("pictures of records have no path, for loader= and return_path=")
        made = cls.__new__(cls)
        made._labelled = labelled
        made.root = made.extensions = made.classes = made.class_to_idx = None
        made._show(listing, transform, target_transform, None, **options)
        return made

    def _numbered(self, labels: Any, pictures: Pictures) -> list[Any]:
        """The label of each picture, or the number of its class if there are classes."""
        values = matched(labels, pictures)
        return values if self.class_to_idx is None else numbers(values, self.class_to_idx, pictures.paths)

    def _scan(self, root: str, recursive: bool, index: str | None) -> Listing:
        if os.path.isfile(root):
            raise errors.OptionError(
                f"{root!r} is a file, not a folder: give a list of files; ImageFiles.from_csv reads a table"
            )
        options: Scan = {
            "kind": "tree" if recursive else "flat",
            "root": os.path.join(os.getcwd(), root),
            "extensions": None if self.extensions is None else list(self.extensions),
        }
        return Listing(Files.scan(options, index), os.path.join(root, ""), has_labels=False)

    @property
    def _has_labels(self) -> bool:
        return self._labelled

    @property
    def paths(self) -> list[str]:
        """The paths of the pictures: a copy."""
        return self._listing.paths()


def _no_pictures(root: str, extensions: Sequence[str] | None) -> errors.NotFoundError:
    what = "no file" if extensions is None else f"no file that ends with {', '.join(extensions)}"
    folders = sum(entry.is_dir() for entry in os.scandir(root))
    if folders:
        what += (
            f"; it has {folders} folders: if they are classes, take gofast.ImageFolder, else recursive=True"
        )
    return errors.NotFoundError(f"{root}: {what}").at(path=root)

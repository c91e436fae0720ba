"""ImageFolder, and the other public names for pictures: torchvision's batches, many times faster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._core.arguments import checked
from ._core.numbers import DType
from ._images.bad_samples import OnError
from ._images.class_folders import FolderDataset
from ._images.options import PictureOptions, Rng
from ._images.torchvision_datasets import IMG_EXTENSIONS, default_loader
from ._loader.batch_types import Kind, LabelTransform, Picture, ReturnPath, SampleOf, TupleForm
from ._loader.classes import Classes
from .image_files import ImageFiles

__all__ = ["IMG_EXTENSIONS", "ImageFiles", "ImageFolder", "default_loader"]


class ImageFolder(FolderDataset[Kind]):
    """torchvision's ImageFolder: pictures in a folder for each class, ``root/class/.../name.jpg``.

    Samples, batches and random draws equal torchvision's to the last bit, for the same
    ``torch.manual_seed``. It works with ``torch.utils.data.DataLoader``, and with
    :class:`gofast.DataLoader`, which also makes batches ahead of time. `gofast.explain` shows which
    transforms run natively; the others run in Python, after a native decode.

    Args:
        root: the folder of the classes; or its URL, ``s3://bucket/train`` or one of fsspec's schemes.
        transform: called with a PIL image of mode RGB; a torchvision transform (v1 or v2), or any callable.
        target_transform: called with the class number.
        loader: called with a path, returns what transform takes. torchvision's ``default_loader`` and
            ``pil_loader`` count as the default, which decodes natively.
        is_valid_file: called with each path instead of a look at its extension; Python then does the scan.
        allow_empty: classes without a picture are not an error.
        classes: numbers of the classes: names in order, a mapping from name to number, or a dataset with
            ``class_to_idx``. A class may have no folder; a folder that is not a class is an error. Default:
            the folders that exist are numbered, as torchvision does. If "val" then lacks a folder of
            "train", all later classes get other numbers: give it ``classes=train``.
        output: ``"tuple"`` samples, or ``"dict"``.
        keys: names of picture and label in a ``"dict"`` sample.
        channels_last: pictures lie in memory as [H, W, C] (shape and values stay): torch's channels_last.
        dtype: ``torch.float16``, ``bfloat16`` or ``float32``: the float32 picture is rounded once. Default:
            the type that the transform makes.
        on_error: what to do with pictures that neither gofast nor Pillow can read: ``"raise"``;
            ``"replace"`` by another sample, the same every time; ``"zero"``; or a callable of
            (index, error). See :meth:`bad_samples`.
        max_bad: more bad files than this raise, whatever on_error says; None: any number.
        return_index: a sample also has its index, an int, as its last value, or last before the path;
            ``"index"`` in a dict.
        return_path: a sample also has its path, a str, as its last value; ``"path"`` in a dict.
        index: the file that keeps the scan: a path, or ``""`` for none. Default: 10,000 pictures and more
            are kept in ``$XDG_CACHE_HOME/gofast`` (``~/.cache/gofast``), if that can be written. Later
            starts only look at the times of the folders.
        rng: ``"torch"`` draws as torchvision would; ``"stateless"`` draws depend on seed, epoch and index
            alone.
        seed: the seed of ``"stateless"`` draws.
        cache: keeps what the transform's steps before its first draw make of each picture, such as a
            ``Resize``, and later epochs go on from that: ``"memory"``, or a folder, which later runs find.
            Before a random crop, that is the picture: a JPEG's coefficients, 1.43 times its file's bytes.
            Samples stay the same to the last bit; a file that changes is decoded anew.
        cache_limit: bytes that are kept at most, such as ``"20GB"``: what is in stays. Default: half of the
            memory that is free, or nine tenths of the disk.

    Attributes:
        classes (list[str]): sorted, or as they were given.
        class_to_idx (dict[str, int]): their numbers.
        samples (list[tuple[str, int]]): paths and class numbers; made at the first access. Assigning it, or
            changing the list in place, changes the dataset.
        imgs: the same list.
        targets (list[int]): class numbers. Changing them changes nothing else, as in torchvision.
        root (str): as in torchvision; so are ``extensions`` and ``transforms``.
        transform: may be assigned at any time; so may ``target_transform`` and ``loader``.

    Raises:
        gofast.errors.NotFoundError: no such folder, no class in it, or a class without a picture (a
            FileNotFoundError). The text is torchvision's.
        gofast.errors.ReadError: the folder is a file, or not to be read (torchvision's error too).
        gofast.errors.OptionError: an option makes no sense (a ValueError).
        gofast.errors.UnknownLabelError: a folder is not one of ``classes=`` (a ValueError).
        gofast.errors.ChangedError: at unpickling: the folder has other pictures now. At indexing: a file
            changes again and again while it is read. A file that was replaced is read as it is now.
        gofast.errors.BadImageError: at indexing: Pillow cannot read the file either (an OSError).
        gofast.errors.RowIndexError: at indexing: there is no such sample (an IndexError).

    Shapes and dtypes are those of the transform: ``ToTensor`` makes float32 [3, H, W] in 0 to 1. Labels are
    ints, int64 [n] in a batch. Without a transform a sample is a PIL image.

    A pickle for a worker process is small: it passes descriptors. Any other pickle scans the folder again
    when it is loaded. Subclasses may override ``find_classes``, ``make_dataset``, ``__getitem__``,
    ``__len__`` and ``extra_repr`` with the same effect as in torchvision. They may call ``__init__`` late or
    never, and put anything in ``samples``. Once torchvision is imported, this is a subclass of its
    ImageFolder.

    Example:
        >>> from torchvision import transforms as T
        >>> train = gofast.ImageFolder("photos/train", T.Compose([T.RandomResizedCrop(224), T.ToTensor()]))
        >>> image, label = train[0]
        >>> image.shape, image.dtype, train.classes[label]
        (torch.Size([3, 224, 224]), torch.float32, 'coast')
        >>> loader = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True)
    """

    @checked
    def __init__(
        self: ImageFolder[SampleOf[tuple[TupleForm, tuple[Picture, LabelTransform], ReturnPath]]],
        root: str | Path,
        transform: Callable[[Any], Picture] | None = None,
        target_transform: LabelTransform = None,  # type: ignore[assignment]
        loader: Callable[[str], Any] | None = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        classes: Classes | None = None,
        output: TupleForm = "tuple",  # type: ignore[assignment]
        keys: tuple[str, str] = ("image", "label"),
        channels_last: bool = False,
        dtype: DType | None = None,
        on_error: OnError = "raise",
        max_bad: int | None = None,
        return_index: bool = False,
        return_path: ReturnPath = False,  # type: ignore[assignment]
        index: str | Path | None = None,
        rng: Rng = "torch",
        seed: int = 0,
        cache: str | Path | None = None,
        cache_limit: str | int | None = None,
    ) -> None:
        picture_options = PictureOptions.among(locals())
        _join_torchvision()
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform,
            target_transform,
            is_valid_file,
            allow_empty,
            index=index,
            classes=classes,
            **picture_options,
        )

    def __init_subclass__(cls, **options: Any) -> None:
        """Looks for torchvision here too, since not every subclass calls ``__init__``."""
        _join_torchvision()
        super().__init_subclass__(**options)


def _join_torchvision() -> None:
    """Makes ImageFolder a subclass of torchvision's too, once that is imported: other code checks for it.

    Only the name of torchvision's class is used. It is not imported here, since that takes a second.
    """
    theirs = getattr(sys.modules.get("torchvision.datasets.folder"), "ImageFolder", None)
    if theirs is None or issubclass(ImageFolder, theirs) or issubclass(theirs, ImageFolder):
        return
    try:
        ImageFolder.__bases__ = (FolderDataset, theirs)
    except TypeError:  # a subclass of both lists its bases in an order that does not allow it
        return


_join_torchvision()

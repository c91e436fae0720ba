"""Decoder: batches of pictures from bytes or paths that somebody hands over."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

from . import errors
from ._core.arguments import checked
from ._device.device_option import wanted
from ._images.bad_samples import BadSamples
from ._images.decoder_batches import DecoderBatch, IdleDecoderBatches, file_of
from ._images.paths import column_names, in_order, is_table
from ._loader.batch_source import check_callable


class Decoder:
    """Decodes pictures and transforms them, a batch at a call, natively and in parallel.

    For pictures that come from elsewhere than a folder: a column of a table, ``datasets.with_transform``, Ray
    Data's and Spark's ``map_batches`` and ``mapInPandas``, WebDataset's ``map``, and servers. Samples are
    those of torchvision's transforms under ``Image.open(...).convert("RGB")``, to the last bit, drawn in the
    order of the batch. Threads may share a Decoder: their calls run side by side, without the GIL. It may be
    pickled, and used in forked and spawned processes.

    Args:
        transform: as in :class:`gofast.ImageFolder`. None: decoded pictures, uint8 [3, H, W].
        threads: most threads that work on one call; None: all of the engine's.
        on_error: what becomes of a picture that cannot be read. ``"raise"``: an error that names it.
            ``"zero"``: a sample of zeros. A callable of (its place in the batch, error) returns a PIL image
            or another place in the batch, or raises.
        rng: what is drawn comes from this generator; None: from torch's default one, as torchvision draws.
        device: where batches arrive, such as "cuda"; None: on the CPU.

    Raises:
        gofast.errors.OptionError: an option makes no sense.

    Example:
        >>> from torchvision import transforms as T
        >>> decode = gofast.Decoder(T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor()]))
        >>> decode(["a.jpg", "b.jpg"]).shape
        torch.Size([2, 3, 224, 224])
        >>> table = pyarrow.parquet.read_table("pictures.parquet")  # doctest: +SKIP
        >>> images = decode(table["image"])  # doctest: +SKIP
    """

    @checked
    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        *,
        threads: int | None = None,
        on_error: Literal["raise", "zero"] | Callable[[int, Exception], Any] = "raise",
        rng: torch.Generator | None = None,
        device: torch.device | str | int | None = None,
    ) -> None:
        check_callable(transform=transform)
        if on_error not in ("raise", "zero") and not callable(on_error):
            raise errors.OptionError(f'on_error={on_error!r} is not "raise", "zero" or a callable')
        if rng is not None and (not isinstance(rng, torch.Generator) or rng.device.type != "cpu"):
            raise errors.OptionError(f"rng={rng!r} is not a torch.Generator of the CPU")
        self.transform = transform
        self._threads, self._rng, self._device = threads, rng, wanted(device)
        self._bad = BadSamples(on_error, None, kept=False)
        self._lanes, self._seeded = IdleDecoderBatches(), IdleDecoderBatches()

    def __call__(self, pictures: Any) -> Any:
        """Decodes a batch, or one picture.

        Args:
            pictures: a list, an array, or a column of pyarrow, pandas or polars, of whole files: bytes and
                what has the buffer protocol, paths, or the dicts {"bytes": ..., "path": ...} of Hugging
                Face's ``Image(decode=False)``. A single picture gives a single sample.

        Returns:
            A tensor [N, C, H, W] if all samples have one shape, as they do behind a crop or a resize to one
            size; else the list of samples.

        Raises:
            gofast.errors.OptionError: some are no pictures, or bytes and paths are mixed.
            gofast.errors.BadImageError: one cannot be read; ``index`` is its place in the batch. It is also
                an error of the class that Pillow raises.
        """
        alone = isinstance(pictures, (str, bytes, bytearray, memoryview, os.PathLike, dict))
        files = _files([pictures] if alone else pictures)
        if self._device is None:
            made = self._decoded(files)
        else:
            from ._device.device import opened
            from ._device.mover import move

            device = opened(self._device)
            device.check_capture()
            made = move(device, self._decoded(files))
        return made[0] if alone else made

    def _decoded(self, files: Sequence[Any], seeds: Sequence[int] | None = None) -> Any:
        """A batch.

        Args:
            seeds: each picture's draws are those of a generator with its seed.
        """
        paths = bool(files) and isinstance(files[0], str)
        lanes = self._lanes if seeds is None else self._seeded
        lane = lanes.take(len(files), paths)
        if lane is None:
            room = 1 << max(len(files) - 1, 0).bit_length()
            rng = self._rng if seeds is None else torch.Generator()  # threads have their own
            lane = DecoderBatch(self.transform, room, paths, self._bad, self._threads, rng)
        lane.transform = self.transform
        try:
            return lane.make(files) if seeds is None else lane.make_seeded(files, seeds)
        finally:
            lanes.put(lane)

    def __repr__(self) -> str:
        options: dict[str, Any] = {"threads": self._threads, "rng": self._rng, "device": self._device}
        if self._bad.on_error != "raise":
            options["on_error"] = self._bad.on_error
        said = [f"{name}={value!r}" for name, value in options.items() if value is not None]
        return f"Decoder({', '.join([repr(self.transform), *said])})"


def _files(pictures: Any) -> list[Any]:
    """Each picture as a path (str), or as bytes or a uint8 array of a file's bytes.

    Raises:
        OptionError: some are no pictures, or bytes and paths are mixed.
    """
    made = [_file(i, picture) for i, picture in enumerate(_listed(pictures))]
    if len({isinstance(file, str) for file in made}) > 1:
        raise errors.OptionError("bytes and paths are mixed: decode them in two calls")
    return made


def _listed(pictures: Any) -> list[Any]:
    if not hasattr(pictures, "__iter__") and not hasattr(pictures, "__getitem__"):
        kind = type(pictures).__name__
        raise errors.OptionError(f"{kind} is no kind of pictures: give bytes, a path, or a list of them")
    if is_table(pictures):
        raise errors.OptionError(f"this is a table of the columns {column_names(pictures)}: give one of them")
    if hasattr(pictures, "to_pylist"):  # pyarrow: its scalars lend their bytes, and nothing is copied
        return list(pictures)
    return in_order(pictures)


def _file(place: int, picture: Any) -> Any:
    file = file_of(picture)
    if file is None:
        raise errors.OptionError(
            f"pictures[{place}] is of {type(picture).__name__}: give a file's bytes, or its path"
        )
    return file

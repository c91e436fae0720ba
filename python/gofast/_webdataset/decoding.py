"""Bytes of members to values, by their suffix: pictures are lazy images."""

from __future__ import annotations

import functools
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

import numpy as np
import torch

from .. import errors, lazy
from .members import MOST_MADE

_NAMES = """
    apng blp bmp bufr bw cur dcx dds dib emf eps fit fits flc fli ftc ftu gbr gif grib h5 hdf icb
    icns ico iim im j2c j2k jfif jp2 jpc jpe jpeg jpf jpg jpx mpeg mpg msp pbm pcd pcx pgm png pnm
    ppm ps psd pxr ras rgb rgba sgi tga tif tiff vda vst webp wmf xbm xpm
"""
IMAGE_EXTENSIONS = frozenset(_NAMES.split())
_KINDS = {"torch": "torchrgb", "pil": "pilrgb"}
_SPEC = re.compile(r"(torch|pil|)(l|rgba|rgb)(8?)$")


class Continue:
    """What a handler returns to have the next one look at other bytes under another name."""

    def __init__(self, key: str, data: Any) -> None:
        self.key, self.data = key, data


class DecodingError(Exception):
    """A member cannot be decoded."""

    def __init__(self, url: Any = None, key: Any = None, k: Any = None, sample: Any = None) -> None:
        super().__init__(f"{url}: the member {k!r} of {key!r} cannot be decoded")
        self.url, self.key, self.k, self.sample = url, key, k, sample

    def __reduce__(self) -> tuple[Any, ...]:
        return DecodingError, (self.url, self.key, self.k, None)


class ImageHandler:
    """Makes a picture: "pil" (lazy), "rgb" (numpy, floats to 1), "rgb8", "torchrgb"; "l", "rgba" likewise."""

    def __init__(self, imagespec: str, extensions: Iterable[str] = IMAGE_EXTENSIONS) -> None:
        found = _SPEC.match(_KINDS.get(imagespec, imagespec))
        if found is None or (found[1] == "pil" and found[3]):
            raise ValueError(f"Unknown imagespec: {imagespec}")
        self.imagespec, self.extensions = imagespec, frozenset(extensions)
        self._kind, self._mode, self._bytes = found[1], found[2].upper(), bool(found[3])

    def __call__(self, key: str, data: Any) -> Any:
        """The picture; None for what is none."""
        if key.rpartition(".")[2].lower() not in self.extensions:
            return None
        image = lazy.open(io.BytesIO(data))
        image.load()  # raises here, as webdataset's; what is certainly whole is not decoded yet
        image = image.convert(self._mode)
        if self._kind == "pil":
            return image
        pixels = np.asarray(image)
        if not self._bytes:
            pixels = pixels.astype(np.float32) / 255.0
        if self._kind == "torch":
            return torch.from_numpy((pixels.transpose(2, 0, 1) if pixels.ndim == 3 else pixels).copy())
        return pixels


def imagehandler(imagespec: str, extensions: Iterable[str] = IMAGE_EXTENSIONS) -> ImageHandler:
    """An :class:`ImageHandler`."""
    return ImageHandler(imagespec, extensions)


def gzfilter(key: str, data: bytes) -> Continue | None:
    """Unpacks what ends in ``.gz``."""
    if not key.endswith(".gz"):
        return None
    made = bytearray()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while part := file.read(1 << 20):
            made += part
            if len(made) > MOST_MADE:
                raise errors.LimitError(f"{key:.200}: at most {MOST_MADE} bytes are unpacked")
    return Continue(key[:-3], bytes(made))


def torch_loads(data: bytes) -> Any:
    """What torch has saved. Only weights: other pickles may run any code."""
    return torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")


def _unpickled(data: bytes) -> Any:
    raise errors.UnsupportedError(
        "a pickle may run any code: to allow it, give decode() "
        "wds.handle_extension('pyd pkl pickle', pickle.loads)"
    )


def _tenbin(data: bytes) -> Any:
    raise errors.UnsupportedError("tensors of webdataset's own format: give decode() a handler for them")


def _msgpack(data: bytes) -> Any:
    import msgpack  # type: ignore[import-not-found]

    return msgpack.unpackb(data)


def _cbor(data: bytes) -> Any:
    import cbor  # type: ignore[import-not-found]

    return cbor.loads(data)


def _npy(data: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(data))


def _npz(data: bytes) -> Any:
    return dict(np.load(io.BytesIO(data)))


_DECODERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(["txt", "text", "transcript"], bytes.decode),
    **dict.fromkeys(["cls", "cls2", "index", "inx", "id"], int),
    **dict.fromkeys(["json", "jsn"], json.loads),
    **dict.fromkeys(["pkl", "pickle", "pyd"], _unpickled),
    **dict.fromkeys(["ten", "tb"], _tenbin),
    "pth": torch_loads,
    **dict.fromkeys(["mp", "msg"], _msgpack),
    "npy": _npy,
    "npz": _npz,
    "cbor": _cbor,
}


def basichandlers(key: str, data: bytes) -> Any:
    """Texts, numbers, JSON, numpy's files and so on, by the last part of the name."""
    decode = _DECODERS.get(key.rpartition(".")[2])
    return None if decode is None else decode(data)


def handle_extension(extensions: str, f: Callable[[bytes], Any]) -> Callable[[str, bytes], Any]:
    """A handler for names that end so: ``"jpg jpeg"``, or ``"seg.jpg"``."""
    return functools.partial(
        _by_extension, f=f, ends=[each.split(".") for each in extensions.lower().split()]
    )


def _by_extension(key: str, data: bytes, f: Callable[[bytes], Any], ends: Sequence[list[str]]) -> Any:
    parts = key.lower().split(".")
    return f(data) if any(parts[-len(end) :] == end for end in ends) else None


class SampleDecoder:
    """Decodes a sample's members: of each, the first handler that returns something (``wds.Decoder``)."""

    def __init__(
        self,
        handlers: Sequence[Any],
        pre: Any = None,
        post: Any = None,
        only: Any = None,
        partial: bool = False,
    ) -> None:
        self.only = None if only is None else set(only.split() if isinstance(only, str) else only)
        self.handlers = [*([gzfilter] if pre is None else pre), *handlers]
        self.handlers += [basichandlers] if post is None else post
        if not all(map(callable, self.handlers)):
            raise AssertionError(f"one of {self.handlers} is no handler")
        self.partial = partial

    def decode1(self, key: str, data: Any) -> Any:
        """One member."""
        key = "." + key
        for handler in self.handlers:
            result = handler(key, data)
            if isinstance(result, Continue):
                key, data = result.key, result.data
            elif result is not None:
                return result
        return data

    def __call__(self, sample: dict[str, Any]) -> dict[str, Any]:
        """All members."""
        made: dict[str, Any] = {}
        for name, value in sample.items():
            try:
                if name.startswith("__"):
                    made[name] = value.decode() if isinstance(value, bytes) else value
                elif self.only is not None and name not in self.only:
                    made[name] = value
                elif isinstance(value, bytes):
                    made[name] = self.decode1(name, value)
                elif self.partial:
                    made[name] = value
                else:
                    raise TypeError(
                        f"{name!r} is {type(value).__name__}, and not bytes: partial=True allows it"
                    )
            except Exception as error:
                raise DecodingError(sample.get("__url__"), sample.get("__key__"), name, sample) from error
        return made


def decoded_by_patterns(
    data: Iterable[Any], *args: tuple[str, Any], must_decode: bool = True, defaults: Any = None, **kw: Any
) -> Iterator[Any]:
    """Samples whose members functions of a stream decoded: ``xdecode(("*.cls", f), json=g)``.

    The last that matches counts, False leaves a member as it is. By default there are bin, txt and pyd.
    """
    decoders = [*(_STREAMS if defaults is None else defaults), *args]
    decoders = [*decoders, *(("*." + name, decoder) for name, decoder in kw.items())][::-1]
    for sample in data:
        made = {}
        for name, value in sample.items():
            base = name.rpartition("/")[2].lower()
            if not name.startswith("__") and not base.startswith("__"):
                found = (f for p, f in decoders if fnmatch(base, p) or fnmatch("." + base, p))
                if (decoder := next(found, None)) is None and must_decode:
                    raise ValueError(f"{sample.get('__key__')!r}: no decoder for {name!r}")
                if decoder is not None and decoder is not False:
                    value = decoder(io.BytesIO(value) if isinstance(value, bytes) else value)
            made[name] = value
        yield made


_STREAMS: list[tuple[str, Any]] = [
    ("*.bin", lambda stream: stream.read()),
    ("*.txt", lambda stream: stream.read().decode("utf-8")),
    ("*.pyd", lambda stream: _unpickled(stream.read())),
]

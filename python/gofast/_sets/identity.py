"""What a set is made of, and whether a dataset is still that."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, IterableDataset, Subset

from .. import errors
from .._about import __version__
from .._core.generators import Generators
from .._core.remote_shards import RemoteShards
from .._core.stamp import Stamp
from .._core.tfrecord_index import TFRecordIndex
from .._images.image_dataset import ImageDataset
from .._loader.native_dataset import locate
from .._plan import transforms
from .._plan.translate import draws
from .._tables import array_folder
from .._tables.array_memory import ArrayMemory
from .._tables.rows import RowDataset
from .._tables.token_files import TokenFile
from . import set_files
from .set_fields import SetField, array_of, fields_of, rows
from .set_files import SetInfo

_COMPARED = 8  # samples, before anything of a set that is there is used
_DECISIVE = ("torchvision", "Pillow", "libjpeg")  # their versions may decide pixels
_VIEWS = (Subset, ConcatDataset)
_TRANSFORMS = ("transform", "target_transform", "batch_transform", "transforms")


def looked_at(dataset: Any, allow_random: bool) -> SetInfo:
    """The set that is to be made of a dataset, of which some samples are made."""
    known = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
    if not known or isinstance(dataset, IterableDataset) or len(dataset) == 0:
        raise errors.OptionError(f"{type(dataset).__name__}: give a map-style dataset that has samples")
    form, fields = fields_of(dataset[0])
    if not allow_random:
        _refuse_random(dataset, form, fields)
    names = [getattr(part, "classes", None) for part in _parts(dataset) if not isinstance(part, _VIEWS)]
    same = isinstance(names[0], (list, tuple)) and all(names[0] == other for other in names)
    classes = [*names[0]] if same and {*map(type, names[0] or ())} == {str} else None  # type: ignore[misc]
    return SetInfo(len(dataset), form, fields, classes, _described(dataset), _versions())


def _refuse_random(dataset: Any, form: str, fields: Sequence[SetField]) -> None:
    """Refuses what draws, by name where torchvision's transforms do, else by what two looks show."""
    chains = [getattr(part, name, None) for part in _parts(dataset) for name in _TRANSFORMS]
    steps = (step for chain in chains for step in transforms.leaves(chain) if draws(step))
    if (step := next(steps, None)) is None:
        before = Generators.now()
        looks = [[array.tobytes() for array in rows(form, fields, dataset[0])] for _ in range(2)]
        if looks[0] == looks[1] and before.same(Generators.now()):
            return
    who = "making a sample" if step is None else transforms.name(step)
    raise errors.OptionError(
        f"{who} draws random numbers, and a set keeps one draw for ever: give random steps to "
        "gofast.ArrayDataset.open(path, transform=...), or allow_random=True"
    )


def _parts(dataset: Any) -> Iterator[Any]:
    """A dataset, and those that it is a view of."""
    yield dataset
    inner = [dataset.dataset] if isinstance(dataset, Subset) else getattr(dataset, "datasets", ())
    for part in inner if isinstance(dataset, _VIEWS) else ():
        yield from _parts(part)


def _described(dataset: Any) -> dict[str, Any]:
    """What samples follow from, as far as a dataset tells it."""
    kind = type(dataset)
    made: dict[str, Any] = {"type": f"{kind.__module__}.{kind.__qualname__}", "samples": len(dataset)}
    for name in _TRANSFORMS:
        if (chain := getattr(dataset, name, None)) is not None:
            made[name] = re.sub(r" at 0x[0-9a-f]+", "", repr(chain))
    if isinstance(dataset, Subset):
        return made | {"indices": _digest(map(str, dataset.indices)), "of": _described(dataset.dataset)}
    if isinstance(dataset, ConcatDataset):
        return made | {"of": {str(i): _described(part) for i, part in enumerate(dataset.datasets)}}
    pairs = itertools.chain(_pairs(dataset), ((path, None) for path in _shards(dataset)))
    return made | {"files": _digest(_stamped(*pair) for pair in pairs), "values": _digest(_values(dataset))}


def _values(dataset: Any) -> Iterator[str]:
    """Checksums of what a dataset holds in memory: rows of gofast's, arrays of torch's and torchvision's."""
    held = [getattr(dataset, "__dict__", {}).get(name) for name in ("data", "targets", "labels", "tensors")]
    if isinstance(dataset, RowDataset):
        held = [dataset._memory.features, dataset.targets]
        if isinstance(dataset._memory, ArrayMemory):
            held = [field.tensor for field in dataset._memory.fields]
    for value in itertools.chain(*(one if isinstance(one, tuple) else (one,) for one in held)):
        if isinstance(value, list) and {*map(type, value)} <= {int, float, str}:
            yield _digest(map(str, value))
        elif isinstance(value, (torch.Tensor, np.ndarray)):
            with contextlib.suppress(errors.UnsupportedError):
                _, array = array_of("", value)
                yield hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()


def _pairs(dataset: Any) -> Iterable[tuple[Any, Any]]:
    """The paths and labels of samples, where a dataset lists them as gofast's or torchvision's do."""
    if isinstance(dataset, ImageDataset):
        listing = dataset._listing
        return ((path, listing.label(i)) for i, path in enumerate(listing.paths()))
    listed: Any = getattr(dataset, "samples", None)
    first = listed[0] if isinstance(listed, list) and listed else None
    return listed if isinstance(first, tuple) and len(first) == 2 and isinstance(first[0], str) else []


def _shards(dataset: Any) -> list[str]:
    """The files that samples lie in, where these are many in one: of records, or of tokens."""
    holder = dataset._listing.files if isinstance(dataset, ImageDataset) else dataset
    records, mapped = getattr(holder, "_records", None), getattr(dataset, "_files", None)
    if isinstance(records, RemoteShards):
        return [*records.told]
    if isinstance(records, TFRecordIndex):
        return [*(records.asked.packed or records.asked.paths)]
    return [one.path for one in mapped if isinstance(one, TokenFile)] if isinstance(mapped, list) else []


def _stamped(path: Any, label: Any) -> str:
    try:
        size, modified = Stamp.of(os.stat(path)).content  # a set may be made of a copy
    except (OSError, TypeError, ValueError):  # a picture in memory
        return f"{path} {label}"
    return f"{path} {label} {size} {modified}"


def _digest(lines: Iterable[str]) -> str:
    made = hashlib.sha256()
    for line in lines:
        made.update(line.encode(errors="surrogatepass") + b"\0")
    return made.hexdigest()


def _versions() -> dict[str, str]:
    made = {"gofast": __version__, "torch": str(torch.__version__)}
    for name in ("torchvision", "Pillow"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            made[name] = importlib.metadata.version(name)
    if "Pillow" in made:
        from PIL import features

        made["libjpeg"] = str(features.version_feature("libjpeg_turbo") or features.version_codec("jpg"))
    return made


def check(folder: str, there: SetInfo, info: SetInfo) -> None:
    """Refuses a set that was made of another dataset."""
    old, new = (
        {**one.told(), "made_with": {name: one.made_with.get(name) for name in _DECISIVE}}
        for one in (there, info)
    )
    if (what := _first_difference(old, new)) is not None:
        raise _of_another(folder, what)


def check_samples(dataset: Any, folder: str, info: SetInfo, done: int) -> None:
    """Refuses it by its samples, of those that are written: a dataset does not tell all."""
    if (other := _first_other(dataset, folder, info, done)) is not None:
        raise _of_another(folder, f"sample {other} has other values now")


def check_again(dataset: Any, folder: str, info: SetInfo) -> None:
    """Refuses a dataset whose samples, all written just now, are others when they are made again."""
    if (other := _first_other(dataset, folder, info, info.samples)) is not None:
        raise errors.OptionError(
            f"sample {other} has other values when it is made again, so something draws random numbers, or "
            "changes what it was given: allow_random=True keeps what is written"
        )


def _first_other(dataset: Any, folder: str, info: SetInfo, done: int) -> int | None:
    for i in sorted({i * (done - 1) // (_COMPARED - 1) for i in range(_COMPARED)}):
        made = [array.tobytes() for array in rows(info.form, info.fields, dataset[i])]
        if made != set_files.values_of(folder, info, i):
            return i
    return None


def _of_another(folder: str, what: str) -> errors.OptionError:
    whole = (
        f"; gofast.ArrayDataset.open({folder!r}) uses it as it is" if array_folder.is_whole(folder) else ""
    )
    return errors.OptionError(
        f"{folder} holds samples of another dataset: {what}. Give another path, or overwrite=True to make it "
        f"anew{whole}"
    )


def _first_difference(old: Any, new: Any, name: str = "") -> str | None:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None if old == new else _in_words(name, old, new)
    found = (_first_difference(old.get(key), new.get(key), key) for key in {**old, **new})
    return next((one for one in found if one is not None), None)


_WORDS = {
    "samples": "it has {old} samples, and the dataset has {new}",
    "type": "it was made of {old}, and this is {new}",
    "files": "the dataset's files are others now: paths, labels, sizes or times have changed",
    "values": "what the dataset holds in memory, such as labels, is another now",
    "indices": "the Subset has other indices",
    "classes": "its classes are {old}, and the dataset's are {new}",
    "form": "its samples are {old}, and the dataset's are {new}",
    "fields": "its samples are of {old}, and the dataset's of {new}",
    "gofast": "its format is {old}, and this gofast writes {new}",
}


def _in_words(name: str, old: Any, new: Any) -> str:
    if name == "fields":
        old, new = (
            ", ".join(f"{one['name']!r}: {SetField(**one)}" for one in fields) for fields in (old, new)
        )
    elif name in _DECISIVE:
        return f"it was made with {name} {old or 'missing'}, and here is {new or 'none'}"
    elif name in _TRANSFORMS:
        steps = (one.splitlines() if one else ["none"] for one in (old, new))
        lines = itertools.zip_longest(*steps, fillvalue="nothing more")
        there, here = next((a.strip(), b.strip()) for a, b in lines if a != b)
        return f"its {name} had {there:.200} where the dataset's has {here:.200}"
    words = _WORDS.get(name, f"its {name} was {{old}}, and is {{new}}")
    return words.format(old=old, new=new)


def place(dataset: Any, index: int) -> str:
    """The path of a sample's picture in brackets, if there is one."""
    (leaf, _, rows), *_ = (found for found in locate(dataset, np.array([index])) if len(found[1]))
    pairs = [*_pairs(leaf)]
    return f" ({pairs[rows[0]][0]})" if len(pairs) == len(leaf) else ""

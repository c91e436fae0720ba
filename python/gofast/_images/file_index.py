"""The picture files of a dataset: an index that the core made, mapped, and what is found out about them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np

from .. import errors
from .._core import engine, entry_points, picture_operations
from .._core.cache_folder import own_index
from .._core.descriptors import OwnedDescriptors
from .._core.memory import address_of
from .._core.picture_operations import IndexSchema, Scan
from .cache_option import Budget, opened
from .picture_cache import Names, PictureCache
from .picture_files import PictureFiles
from .shared_sizes import HEAD, SharedSizes

Scanned = tuple[Scan, "str | None"]  # the arguments of Files.scan

UNLABELLED = -1

# Smaller folders are scanned faster than anybody notices: their indexes are not worth a file each.
_KEPT_FROM = 10_000


class Files(PictureFiles):
    """An index of picture files: paths and class numbers, in the order of the samples.

    Copies in one process share it. A process that is being spawned is handed its descriptors; in any other
    pickle are the options of the scan, which is made again.

    What is found out about them is shared between the processes that were forked or spawned from this one;
    the sizes of a large folder's pictures are shared by all of the host (``shared_sizes.py``).

    Attributes:
        root: stands before every path.
        class_names: in order, each with a zero behind it; none where the folder has no classes.
        empty_classes: those without a sample.
    """

    _shared: SharedSizes | None = None

    def __init__(
        self,
        fd: int,
        schema: IndexSchema,
        sizes_fd: int | None = None,
        scanned: Scanned | None = None,
        contents: Sequence[bytes] | None = None,
        kept: Mapping[str, PictureCache] | None = None,
        shared_sizes: SharedSizes | None = None,
    ) -> None:
        self._fd, self._schema, self.contents = fd, schema, contents
        self._begin_to_keep(kept)
        self._owned = OwnedDescriptors(fd)
        self._scanned = scanned  # the arguments of scan, where it was one
        self.count: int = schema["count"]
        self.root: str = schema["root"]
        self.class_names: str = schema["class_names"]
        self.empty_classes: list[str] = schema["empty_classes"] or []
        self._bytes = mmap.mmap(fd, schema["size"], mmap.MAP_SHARED, mmap.PROT_READ)
        self.offsets = np.frombuffer(self._bytes, np.uint64, self.count + 1, schema["path_offsets_offset"])
        self.targets = np.frombuffer(self._bytes, np.int32, self.count, schema["sample_classes_offset"])
        self._paths: int = schema["paths_offset"]
        size = self.found_bytes(self.count)
        self._sizes_fd = self._owned.hold(shared(size) if sizes_fd is None else sizes_fd)
        self._find_in(mmap.mmap(self._sizes_fd, size), self.count)
        self._shared = shared_sizes
        if sizes_fd is None and scanned is not None and self.count >= _KEPT_FROM:
            self._shared = SharedSizes.of(scanned[0], self._bytes[:HEAD], self.count)
        if self._shared is not None:
            self.sizes = self._shared.sizes
        if contents is not None:
            self._make_room(self.count)
            self._hold(contents)
        for held in (kept or {}).values():
            held.find_by(self.all_names())

    def remember(self, sample: int, size: tuple[int, int]) -> None:
        """Notes the size of a picture."""
        if self._shared is None:
            super().remember(sample, size)
        else:
            self._shared.write(sample, size)

    def addresses(self, seed: int, labels: bool) -> picture_operations.FilesRequest:
        """Where the arrays lie, for the core."""
        made = super().addresses(seed, labels)
        if self._shared is not None:
            made["mapped"] = address_of(self._shared.file)
        return made

    def _begin_to_keep(self, handed: Mapping[str, PictureCache] | None) -> None:
        """Begins without records, or with those of the process that has spawned this one."""
        self._handed = handed
        self._kept: weakref.WeakValueDictionary[str, PictureCache] = weakref.WeakValueDictionary(handed or {})

    def keep(self, budget: Budget, certain: list[dict[str, Any]]) -> PictureCache:
        """The records of what these steps make of the files: the same ones as long as anybody has them."""
        what = json.dumps([budget, certain])
        kept = self._kept.get(what)
        if kept is None:
            kept = self._kept[what] = opened(budget, certain, self.count, self.all_names)
        return kept

    def all_names(self) -> Names:
        """All names, by which records of them are found again."""
        at = self._on_disk()
        return Names(self.root, self.count, at["paths"], at["offsets"], self._bytes)

    @classmethod
    def scan(cls, options: Scan, index: str | None = None) -> Files:
        """Scans folders in parallel, or maps what an earlier scan kept, if nothing changed.

        Args:
            options: those of ``gofast/source/folder``.
            index: the path where the scan is kept; None: in the user's cache folder, if that can be written
                and the folder is not small.

        Raises:
            NotFoundError, ReadError: the folder, or the index that was asked for.
            UnsupportedError: the scan cannot be done as Python would do it; see ``gofast/source/folder``.
        """
        if index is not None:
            return cls._scan(options, index, (options, index))
        own = own_index("folders", options)
        if own is not None:
            try:
                files = cls._scan(options, own, (options, None))
            except (errors.ReadError, errors.LimitError) as error:
                if error.path is None or not error.path.startswith(own):
                    raise
            else:
                if files.count < _KEPT_FROM:
                    with contextlib.suppress(FileNotFoundError):  # another process scans too
                        os.unlink(own)  # its descriptor stays
                return files
        return cls._scan(options, "", (options, None))

    @classmethod
    def _scan(cls, options: Scan, index: str, scanned: Scanned) -> Files:
        config: picture_operations.Index = {"threads": engine.threads(), "index": index, **options}
        made = picture_operations.index(config, f"scanning {options['root']}")
        return cls(made["fd"], made, None, scanned)

    @classmethod
    def listed(
        cls,
        paths: Sequence[str],
        targets: Iterable[int] | None,
        root: str | None = None,
        contents: Sequence[bytes] | None = None,
    ) -> Files:
        """Files that are given, in their order.

        Args:
            targets: int32 numbers; None: UNLABELLED, all of them.
            root: stands before every path. None: paths that are not absolute start from where we are now.
            contents: of each file; None: they are read from disk.
        """
        if root is None:
            here = os.path.join(os.getcwd(), "")
            from_here = sum(not path.startswith("/") for path in paths)
            if 0 < from_here < len(paths):
                paths, from_here = [os.path.join(here, path) for path in paths], 0
            root = here if from_here else ""
        config: picture_operations.Index = {
            "kind": "list",
            "index": "",
            "root": root,
            "paths": list(paths),
            "labels": None if targets is None else list(targets),
            "threads": engine.threads(),
        }
        made = picture_operations.index(config, f"listing {len(paths)} files")
        return cls(made["fd"], made, contents=contents)

    def name(self, sample: int) -> str:
        """The path of a sample's file, from the root on."""
        start, end = self._paths + int(self.offsets[sample]), self._paths + int(self.offsets[sample + 1]) - 1
        return os.fsdecode(self._bytes[start:end])

    def names_of(self, samples: Sequence[int]) -> list[str]:
        """Those of several samples."""
        rows = np.asarray(samples, np.int64)
        starts, ends = (self.offsets[rows + behind].astype(np.int64) + self._paths for behind in (0, 1))
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return os.fsdecode(b"".join([self._bytes[start:end] for start, end in spans])).split("\0")[:-1]

    def names(self) -> list[str]:
        """All of them."""
        return os.fsdecode(self._path_bytes()).split("\0")[:-1]

    def path(self, sample: int) -> str:
        """The whole path of a sample's file."""
        return self.root + self.name(sample)

    def _on_disk(self) -> picture_operations.FileReader:
        base = np.frombuffer(self._bytes, np.uint8).__array_interface__["data"][0]
        paths, offsets = base + self._paths, address_of(self.offsets)
        return {"root": self.root, "paths": paths, "offsets": offsets, "stamps": 0}

    def _path_bytes(self) -> bytes:
        return self._bytes[self._paths : self._paths + int(self.offsets[-1])]

    def _digest(self) -> str:
        digest = hashlib.blake2b(self._path_bytes(), digest_size=16)
        digest.update(self.targets.tobytes())
        return digest.hexdigest()

    def __copy__(self) -> Files:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Files:
        return self  # only the core writes to it

    def __reduce__(self) -> tuple[Any, ...]:
        if get_spawning_popen() is not None:
            return _handed, (
                DupFd(self._fd),
                DupFd(self._sizes_fd),
                self._schema,
                self._scanned,
                self.contents,
                dict(self._kept),
                None if self._shared is None else DupFd(self._shared.fd),
                entry_points.shared.handed(),
            )
        if self._scanned is not None:
            return _scanned_again, (*self._scanned, self._digest())
        labels = None if (self.targets == UNLABELLED).all() else zlib.compress(self.targets.tobytes())
        return _listed_again, (self.root, zlib.compress(self._path_bytes()), labels, self.contents)


def _handed(
    fd: Any,
    sizes: Any,
    schema: IndexSchema,
    scanned: Scanned | None,
    contents: Sequence[bytes] | None,
    kept: Mapping[str, PictureCache],
    shared_sizes: Any,
    marked: Any,
) -> Files:
    entry_points.shared.take_over(marked)
    mapped = None if shared_sizes is None else SharedSizes(shared_sizes.detach(), schema["count"])
    return Files(fd.detach(), schema, sizes.detach(), scanned, contents, kept, mapped)


def _scanned_again(options: Scan, index: str | None, digest: str) -> Files:
    files = Files.scan(options, index)
    if files._digest() != digest:
        said = f"{options['root']}: other files than when the dataset was pickled"
        raise errors.ChangedError(said).at(path=options["root"])
    return files


def _listed_again(
    root: str, names: bytes, targets: bytes | None, contents: Sequence[bytes] | None = None
) -> Files:
    labels = None if targets is None else np.frombuffer(zlib.decompress(targets), np.int32).tolist()
    return Files.listed(os.fsdecode(zlib.decompress(names)).split("\0")[:-1], labels, root, contents)


def shared(size: int) -> int:
    """The descriptor of zeros that processes share."""
    fd = os.memfd_create("gofast-sizes", os.MFD_CLOEXEC)
    os.truncate(fd, size)
    return fd

"""Which pictures of a folder of classes stand in which shard: a function of the files and the options."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from .. import errors
from .._core.atomic_files import locked_now, replaced, writing
from .._core.braces import index_name
from .._core.permutation import Permutation
from .._core.progress import Progress
from .._core.regular_files import regular_file, regular_stream
from .._core.shard_index import write_index
from .._core.stamp import Stamp
from .._core.units import exact, many
from ..images import ImageFolder

_MOST = 1 << 30  # bytes of a picture: it is held in memory, and a value of Parquet has less than twice that
_FIXED = 4 << 10  # of a shard's own, beside the names of the classes
_EACH = 3 * 512  # of a sample's own in a tar: two headers and the label; in Parquet it is less
_NUMBER = re.compile(r"\{(?::(?:0[0-9]{0,2})?d)?\}")  # a format that gives each number another text of digits


class ShardPicture(NamedTuple):
    """A picture that stands in a shard.

    Attributes:
        number: in the order of ImageFolder.
        name: within the folder.
        label: the number of its class.
        modified: in nanoseconds, as of a Stamp.
        content: the bytes of its file.
    """

    number: int
    name: str
    label: int
    modified: int
    content: bytes


class ShardPlan:
    """The shards that a folder becomes.

    Args:
        root: the folder.
        most: bytes of a shard. One picture that is larger is a shard.
        seed: of a shuffle; None: the order of ImageFolder.
        skip: leave out files that cannot be opened; else that is an error.

    Attributes:
        order: the pictures' numbers, as they stand in the shards.
        shards: (first, behind the last) of that order.
        skipped: the errors of what was left out.
        total: bytes of the pictures.
    """

    def __init__(self, root: str, most: int, seed: int | None, skip: bool) -> None:
        self._folder = ImageFolder(root)
        self.classes: list[str] = self._folder.classes
        self.labels = self._folder._listing.files.targets
        self._stamps = np.zeros((len(self.labels), 2), np.int64)
        self.skipped: list[errors.GofastError] = []
        order = np.arange(len(self.labels))
        there = np.ones(len(order), bool)
        with Progress(f"looking at {many(len(order), 'picture')}") as progress:
            for number in range(len(order)):
                try:
                    self._stamps[number] = self._stamp(number)
                except errors.GofastError as error:
                    if not skip:
                        raise
                    self.skipped.append(error)
                    there[number] = False
                progress.update(number / len(order))
        if seed is not None:
            order = Permutation(len(order), seed).at(order)
        self.order = order[there[order]]
        sizes = self._stamps[self.order, 0]
        self.total = int(sizes.sum())
        self._ends = ends = np.cumsum((sizes + 511) // 512 * 512 + _EACH)
        self.shards: list[tuple[int, int]] = []
        first, room = 0, most - _FIXED - len(json.dumps(self.classes))
        while first < len(ends):
            begin = int(ends[first - 1]) if first else 0
            behind = max(first + 1, int(np.searchsorted(ends, begin + room, "right")))
            self.shards.append((first, behind))
            first = behind

    def _stamp(self, number: int) -> tuple[int, int]:
        path = self.path(number)
        with regular_file(path) as (_, info):
            if info.st_size > _MOST:
                raise errors.LimitError(f"{path}: {exact(info.st_size)} are no picture").at(path=path)
            return Stamp.of(info).content

    def path(self, number: int) -> str:
        """The file of a picture."""
        return str(self._folder._listing.path(number))

    def name(self, number: int) -> str:
        """The same within the folder."""
        return self.path(number).removeprefix(os.path.join(self._folder.root, ""))

    def fingerprint(self, shard: int) -> str:
        """What decides a shard's bytes, the content of its files by their stamps: sizes, and when written."""
        told = hashlib.blake2b(repr(self.classes).encode(), digest_size=16)
        for number in self._numbers(shard):
            picture = number, self.name(number), int(self.labels[number]), *self._stamps[number].tolist()
            told.update(repr(picture).encode())
        return told.hexdigest()

    def bytes_of(self, shard: int) -> int:
        """Those of its pictures."""
        first, behind = self.shards[shard]
        return int(self._stamps[self.order[first:behind], 0].sum())

    def samples_in_tar(self, shard: int) -> int:
        """The bytes that its samples have in a tar."""
        first, behind = self.shards[shard]
        return int(self._ends[behind - 1] - (self._ends[first - 1] if first else 0))

    def pictures(self, shard: int) -> Iterator[ShardPicture]:
        """The pictures of a shard.

        Raises:
            NotFoundError, ReadError: a file cannot be read any more.
            ChangedError: it is not what it was when the plan was made.
        """
        for number in self._numbers(shard):
            modified = int(self._stamps[number, 1])
            label = int(self.labels[number])
            yield ShardPicture(number, self.name(number), label, modified, self.content(number))

    def content(self, number: int) -> bytes:
        """The bytes of a picture's file; raises as `pictures`."""
        path, size = self.path(number), int(self._stamps[number, 0])
        try:
            with regular_stream(path) as (file, _):
                content = file.read(size + 1)
                same = Stamp.of(os.fstat(file.fileno())).content == tuple(self._stamps[number].tolist())
        except errors.GofastError:
            raise
        except OSError as error:
            raise errors.ReadError(f"{path}: {error.strerror}").at(path=path) from error
        if not same or len(content) != size:
            raise errors.ChangedError(f"{path}: the file changed while shards were made").at(path=path)
        return content

    def _numbers(self, shard: int) -> list[int]:
        first, behind = self.shards[shard]
        numbers: list[int] = self.order[first:behind].tolist()
        return numbers


class ShardNames:
    """The names of shards.

    Args:
        pattern: a path whose last part has a place for the shard's number, ``{}`` or ``{:06d}``, and, if
            there is a second one, for how many shards there are.

    Raises:
        OptionError: it has none, or other braces.
    """

    def __init__(self, pattern: str) -> None:
        self._folder, self._last = os.path.split(os.path.expanduser(pattern))
        self._parts = _NUMBER.split(self._last)
        if len(self._parts) not in (2, 3) or re.search("[{}]", "".join(self._parts)):
            said = "needs a place for the shard's number in its last part, {} or such as train-{:06d}.tar"
            raise errors.OptionError(f"{pattern}: the name {said}")
        self.suffix = Path(self._last).suffix
        self.has_indexes = self.suffix == ".tar"

    def outside(self, root: str) -> None:
        """Refuses a folder of shards that lies in that of the pictures, where it would be a class."""
        inner, outer = os.path.realpath(self._folder), os.path.realpath(os.path.expanduser(root))
        if os.path.commonpath((inner, outer)) == outer:
            raise errors.OptionError(f"{inner} lies in {root}, where it would be a class: give another DST")

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Makes the folder, in which nobody else writes shards of such names until the block ends.

        Raises:
            ReadError: somebody does, or the system refuses to write there.
        """
        lock = os.path.join(self._folder, f".{'{}'.join(self._parts)}.lock")
        with writing(lock, "shards"):
            os.makedirs(self._folder or ".", exist_ok=True)
            fd = locked_now(lock)
        if fd is None:
            said = f"{lock}: another gofast shard writes there: wait for its end"
            raise errors.ReadError(said).at(path=lock)
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(lock)
            os.close(fd)

    def of(self, count: int) -> list[str]:
        """The paths of so many shards."""
        return [os.path.join(self._folder, self._last.format(number, count)) for number in range(count)]

    @contextlib.contextmanager
    def writing(self, path: str, features: str) -> Iterator[BinaryIO]:
        """A shard's file, which has its name when the block has ended."""
        with replaced(path) as file:
            yield file
        self.index(path, path)

    def index(self, path: str, here: str) -> None:
        """Writes the index of a shard beside it, of its file here, unless it is there."""
        if self.has_indexes:
            write_index(here, index_name(path))

    def is_indexed(self, path: str) -> bool:
        """Whether nothing needs to be read to know that its index is there."""
        return not self.has_indexes

    def tag(self, path: str) -> str:
        """What a shard's index says of it, beside its size."""
        return ""

    def settle(self) -> None:
        """Shards have their names already."""

    def reading(self, paths: list[str]) -> Iterator[str]:
        """The shards, one after the other."""
        yield from paths

    def entries(self) -> dict[str, int]:
        """What is there, and how many bytes."""
        with os.scandir(self._folder or ".") as every:
            return {entry.name: entry.stat(follow_symlinks=False).st_size for entry in every}

    def shards(self) -> dict[str, int]:
        """What is there and would be read as a shard, and how many bytes."""
        name = re.compile(r"\d+".join(map(re.escape, self._parts)))
        there = self.entries()
        return {entry: there[entry] for entry in sorted(there) if name.fullmatch(entry)}

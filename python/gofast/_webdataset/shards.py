"""Lists of shards, and which of them a rank and a worker read."""

from __future__ import annotations

import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from torch import distributed
from torch.utils.data import IterableDataset, get_worker_info

from .. import errors
from .._core.braces import braces
from .._core.patterns import is_pattern, matching
from .._core.remote_listings import url_files
from .._core.shown_urls import is_url
from .shuffling import AnySeed

Shard = dict[str, Any]  # {"url": ...}


def worker_info(group: Any = None) -> tuple[int, int, int, int]:
    """(rank, world, worker, workers), as webdataset finds them."""
    rank, world, worker, workers = 0, 1, 0, 1
    environment = os.environ
    if "RANK" in environment and "WORLD_SIZE" in environment:
        rank, world = int(environment["RANK"]), int(environment["WORLD_SIZE"])
    elif distributed.is_available() and distributed.is_initialized():
        rank, world = distributed.get_rank(group), distributed.get_world_size(group)
    if "WORKER" in environment and "NUM_WORKERS" in environment:
        worker, workers = int(environment["WORKER"]), int(environment["NUM_WORKERS"])
    elif (info := get_worker_info()) is not None:
        worker, workers = info.id, info.num_workers
    return rank, world, worker, workers


def split_by_node(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """Every rank's own shards: each world-th one."""
    rank, world, _, _ = worker_info(group)
    yield from islice(src, rank, None, world)


def single_node_only(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """Raises ValueError where there are several ranks."""
    if worker_info(group)[1] > 1:
        raise ValueError("there are several ranks: say nodesplitter=wds.split_by_node, or another one")
    yield from src


def split_by_worker(src: Iterable[Any]) -> Iterator[Any]:
    """Every worker's own shards: each n-th one of n workers."""
    _, _, worker, workers = worker_info()
    yield from islice(src, worker, None, workers)


def expand_urls(urls: str) -> list[str]:
    """The shards of a string: ``::`` joins lists, ``${X}`` is WDS_X, then braces, then patterns of files.

    webdataset knows no patterns: it would look for a file of that name.
    """
    found: list[str] = []
    for url in urls.split("::"):
        for _ in range(10):
            before, url = url, re.sub(r"\$\{(\w+)\}", _variable, url)
            if before == url:
                break
        for each in braces(url):
            if is_url(each):
                found += url_files(each)
                continue
            files = matching(each) if is_pattern(each) and not _SCHEME.match(each) else [each]
            if not files:
                raise errors.NotFoundError(f"{each}: no file matches the pattern").at(path=each)
            found += files
    return found


_SCHEME = re.compile(r"\w+:")


def _variable(found: re.Match[str]) -> str:
    name = "WDS_" + found[1]
    if name not in os.environ:
        raise errors.OptionError(f"${{{found[1]}}} in urls: the environment has no {name}")
    return os.environ[name]


def _listed(urls: str | Iterable[str]) -> list[str]:
    made = expand_urls(urls) if isinstance(urls, str) else list(urls)
    if not made or not all(isinstance(url, str) for url in made):
        raise errors.OptionError(f"urls={urls!r:.200}: give at least one shard, each a string")
    return made


class SimpleShardList(IterableDataset[Shard]):
    """Shards in their order, or shuffled by a seed."""

    def __init__(self, urls: str | Iterable[str], seed: Any = None) -> None:
        super().__init__()
        self.urls, self.seed = _listed(urls), time.time() if seed is True else seed

    def __len__(self) -> int:
        """How many."""
        return len(self.urls)

    def generator(self) -> random.Random | None:
        """What the next pass draws from."""
        return None if self.seed is None else random.Random(self.seed)

    def drawn(self, rng: random.Random | None) -> Iterator[Shard]:
        """The shards of one pass."""
        urls = self.urls.copy()
        if rng is not None:
            rng.shuffle(urls)
        for url in urls:
            yield {"url": url}

    def __iter__(self) -> Iterator[Shard]:
        return self.drawn(self.generator())


def make_seed(*args: Any) -> int:
    """webdataset's seed of several values: 31 bits."""
    seed = 0
    for arg in args:
        seed = (seed * 31 + hash(arg)) & 0x7FFFFFFF
    return seed


class ResampledShards(IterableDataset[Shard]):
    """Shards drawn with replacement, for ever. With ``deterministic`` the seed, worker and epoch decide."""

    def __init__(
        self,
        urls: str | Iterable[str],
        nshards: int = sys.maxsize,
        seed: Any = 0,
        worker_seed: Callable[[], int] | None = None,
        deterministic: bool = False,
    ) -> None:
        super().__init__()
        self.urls, self.nshards, self.seed, self.deterministic = _listed(urls), nshards, seed, deterministic
        self.worker_seed, self.epoch = worker_seed or _worker_seed, -1

    def generator(self) -> random.Random:
        """What the next pass draws from."""
        self.epoch += 1
        parts: list[Any] = [self.worker_seed(), self.epoch, self.seed]
        if not self.deterministic:
            parts += [AnySeed.next(), *((os.urandom(4),) if get_worker_info() is None else ())]
        return random.Random(make_seed(*parts))

    def drawn(self, rng: random.Random) -> Iterator[Shard]:
        """The shards of one pass."""
        for _ in range(self.nshards):
            yield {"url": self.urls[rng.randint(0, len(self.urls) - 1)]}

    def __iter__(self) -> Iterator[Shard]:
        return self.drawn(self.generator())


def _worker_seed() -> int:
    rank, _, worker, _ = worker_info()
    return rank * 1000 + worker

"""StreamingSampler: the order in which mosaicml-streaming's StreamingDataset gives samples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch.utils.data import Sampler

from .. import errors
from .._core.arguments import whole
from .._core.mds_shards import shards_of
from .ranks import ranks_here, ranks_of

if TYPE_CHECKING:
    import numpy.typing as npt

Span = tuple[int, int]
_ALGORITHMS = ("py1e", "py1s", "naive", None)


class StreamingSampler(Sampler[int]):
    """The samples of MDS shards in the order of `streaming`'s ``StreamingDataset``, without that package.

    Each rank gets what `streaming` gives it, in its DataLoader's order: some samples come twice where ranks
    do not divide their number. Call `set_epoch` before each epoch; `streaming` counts from 0.

    Args:
        shards: a folder with shards, or its ``index.json``, on this machine or behind a URL; or the numbers
            of samples of all shards.
        shuffle_algo: "py1e", which is streaming's default, "py1s" or "naive"; None: ``shuffle=False``.
        shuffle_seed, num_canonical_nodes, shuffle_block_size: as of StreamingDataset, with its defaults.
        num_replicas, rank: of :class:`gofast.Sampler`; None: those of torch.distributed.
        ranks_per_node: None: LOCAL_WORLD_SIZE, or all are on one.

    Raises:
        gofast.errors.OptionError: an argument is none of these, or nodes do not divide each other.
        gofast.errors.NotFoundError, gofast.errors.DamagedError: as of :meth:`gofast.ImageFiles.from_mds`.

    Example:
        >>> order = gofast.integrations.StreamingSampler([4, 4], shuffle_seed=1)
        >>> order.set_epoch(2)
        >>> sorted(order)
        [0, 1, 2, 3, 4, 5, 6, 7]
    """

    def __init__(
        self,
        shards: str | os.PathLike[str] | Sequence[int],
        *,
        shuffle_algo: Literal["py1e", "py1s", "naive"] | None = "py1e",
        shuffle_seed: int = 9176,
        num_canonical_nodes: int | None = None,
        shuffle_block_size: int | None = None,
        num_replicas: int | None = None,
        rank: int | None = None,
        ranks_per_node: int | None = None,
    ) -> None:
        if shuffle_algo not in _ALGORITHMS:
            raise errors.OptionError(f"shuffle_algo={shuffle_algo!r}: give one of {_ALGORITHMS}")
        if isinstance(shards, (str, os.PathLike)):
            shards = shards_of(os.path.expanduser(os.fspath(shards)), "mds").samples
        self.sizes = [whole(0)("shards", size) for size in shards]
        self.sizes = [size for size in self.sizes if size]
        if not self.sizes:
            raise errors.OptionError("shards= has no samples")
        world, self.rank = ranks_here() if num_replicas is rank is None else ranks_of(num_replicas, rank)
        self.ranks_per_node = whole(1)(
            "ranks_per_node", ranks_per_node or int(os.environ.get("LOCAL_WORLD_SIZE", world))
        )
        self.nodes, odd = divmod(world, self.ranks_per_node)
        usual = self.nodes * (64 if shuffle_algo == "py1s" else 1)
        self.canonical = whole(1)("num_canonical_nodes", num_canonical_nodes or usual)
        if odd or max(self.canonical, self.nodes) % min(self.canonical, self.nodes or 1):
            raise errors.OptionError(
                f"{world} ranks, {self.ranks_per_node} on a node, and {self.canonical} canonical nodes do "
                "not divide each other"
            )
        if sum(self.sizes) < max(self.canonical, world) + self.canonical:
            raise errors.OptionError(f"{sum(self.sizes)} samples are too few for so many ranks or nodes")
        self.shuffle_algo, self.seed, self.epoch = shuffle_algo, whole(0)("shuffle_seed", shuffle_seed), 0
        block = shuffle_block_size or max(4_000_000 // self.canonical, 1 << 18)
        self.block = whole(2)("shuffle_block_size", block)

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch comes next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._places())

    def __iter__(self) -> Iterator[int]:
        places = self._places()
        return iter((places if self.shuffle_algo is None else self._shuffled()[places]).tolist())

    def _places(self) -> npt.NDArray[np.int64]:
        """This rank's places in the order of all samples (`streaming.base.partition`)."""
        count, canonical, nodes = sum(self.sizes), self.canonical, self.nodes
        most, ratio = -(-count // canonical), max(1, nodes // canonical)
        padding = -most % ratio
        begins = np.arange(canonical + 1) * count // canonical
        rows = begins[:-1, None] + np.arange(most + padding)
        rows[:, most - 1] -= np.diff(begins) < most  # a short row has its last one twice
        if padding:
            end = most - ratio + 1
            rows[:, most:] = rows[:, end - padding : end]
        own = rows.T.reshape(-1, nodes).T  # each node's
        if missing := -own.shape[1] % self.ranks_per_node:
            end = own.shape[1] - self.ranks_per_node + 1
            own = np.concatenate([own, own[:, end - missing : end]], 1)
        node, within = divmod(self.rank, self.ranks_per_node)
        places: npt.NDArray[np.int64] = own[node, within :: self.ranks_per_node]
        return places

    def _shuffled(self) -> npt.NDArray[np.int64]:
        """The samples of all ranks in this epoch's order (`streaming.base.shuffle`)."""
        count, rng = sum(self.sizes), np.random.default_rng(self.seed + self.epoch)
        if self.shuffle_algo == "naive":
            return rng.permutation(count)
        ends = np.cumsum(self.sizes).tolist()
        spans: list[Any] = [*zip([0, *ends], ends, strict=False)]
        np.random.default_rng(self.seed).shuffle(spans)
        nodes = [*self._divided(spans, count)]
        for node in nodes:
            rng.shuffle(node)  # a list: its draws are others than an array's
        return np.concatenate([self._of_node(node, rng) for node in nodes])

    def _divided(self, spans: list[Span], count: int) -> Iterator[list[Span]]:
        """The spans of each canonical node."""
        rest, so_far = spans[::-1], 0
        for node in range(self.canonical):
            made, end = list[Span](), count * (node + 1) // self.canonical
            while rest and so_far < end:
                first, last = rest.pop()
                if (middle := first + end - so_far) < last:
                    rest.append((middle, last))
                    last = middle
                made.append((first, last))
                so_far += last - first
            yield made

    def _of_node(self, spans: list[Span], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        parts = []
        for first, last in spans:
            parts.append(np.arange(first, last))
            rng.shuffle(parts[-1])
        samples = np.concatenate(parts)
        if self.shuffle_algo == "py1s":
            return samples
        places, begin = np.arange(len(samples), dtype=np.float64), 0
        for part in parts:  # py1e: each is spread over about a block
            size = len(part)
            block = rng.integers(int(0.75 * self.block), int(1.25 * self.block))
            reach = max((block - size) / 2, 0)
            low, high = max(-reach, -begin), min(reach, len(samples) - begin - size)
            places[begin : begin + size] += rng.uniform(low, high, size)
            begin += size
        return samples[np.argsort(places)]

"""webdataset's names: ``import gofast.webdataset as wds`` instead of ``import webdataset as wds``.

The same samples in the same order, and the same shuffles for the same seeds, without the package. Pictures of
``decode("pil")`` are lazy images (:func:`gofast.open`): a Compose behind it runs natively, and ``batched``
makes the pictures of a batch on all threads. Any other function gets them as PIL images.

What the package loses in silence goes to ``handler``: a broken header within a shard, and what stands behind
an archive's end. ``reraise_exception``, the default, raises it with shard and offset. Pickles are not
unpickled, and ``.pth`` files give weights only, unless ``decode`` is given a handler for them.

For shards on this machine, :meth:`gofast.ImageFiles.from_tar` is faster, and has a length and any order.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from . import errors
from ._core.download_cache import DownloadBudget
from ._loader.order import Even, dealt
from ._webdataset import sample_stages as stages
from ._webdataset import shuffling
from ._webdataset.decoding import (
    Continue,
    DecodingError,
    ImageHandler,
    SampleDecoder,
    basichandlers,
    decoded_by_patterns,
    gzfilter,
    handle_extension,
    imagehandler,
    torch_loads,
)
from ._webdataset.members import (
    base_plus_ext,
    group_by_keys,
    tar_file_expander,
    tar_file_iterator,
    tarfile_samples,
    valid_sample,
)
from ._webdataset.opened_shards import url_opener
from ._webdataset.pipeline import DataPipeline, FluidPipeline, source_of
from ._webdataset.sample_stages import (
    Handler,
    Stage,
    check_empty,
    default_collation_fn,
    getfirst,
    ignore_and_continue,
    ignore_and_stop,
    pipelinefilter,
    reraise_exception,
    warn_and_continue,
    warn_and_stop,
)
from ._webdataset.shards import (
    ResampledShards,
    SimpleShardList,
    expand_urls,
    single_node_only,
    split_by_node,
    split_by_worker,
    worker_info,
)
from .loader import DataLoader

__all__ = [
    "Continue",
    "DataPipeline",
    "Decoder",
    "DecodingError",
    "FluidWrapper",
    "ImageHandler",
    "ResampledShards",
    "SimpleShardList",
    "WebDataset",
    "WebLoader",
    "associate",
    "base_plus_ext",
    "basichandlers",
    "batched",
    "check_empty",
    "decode",
    "default_collation_fn",
    "detshuffle",
    "expand_urls",
    "extract_keys",
    "getfirst",
    "group_by_keys",
    "gzfilter",
    "handle_extension",
    "ignore_and_continue",
    "ignore_and_stop",
    "imagehandler",
    "log_keys",
    "map",
    "map_dict",
    "map_tuple",
    "pipelinefilter",
    "rename",
    "rename_keys",
    "reraise_exception",
    "rsample",
    "select",
    "shuffle",
    "single_node_only",
    "slice",
    "split_by_node",
    "split_by_worker",
    "tar_file_expander",
    "tar_file_iterator",
    "tarfile_samples",
    "tarfile_to_samples",
    "to_tuple",
    "torch_loads",
    "unbatched",
    "url_opener",
    "valid_sample",
    "warn_and_continue",
    "warn_and_stop",
    "xdecode",
]

Decoder = SampleDecoder

associate = pipelinefilter(stages.associated)
batched = pipelinefilter(stages.batched_)
detshuffle = shuffling.detshuffle
extract_keys = pipelinefilter(stages.extracted)
log_keys = pipelinefilter(stages.logged)
map = pipelinefilter(stages.mapped)
map_dict = pipelinefilter(stages.map_dict_)
map_tuple = pipelinefilter(stages.map_tuple_)
rename = pipelinefilter(stages.renamed)
rename_keys = pipelinefilter(stages.renamed_by_patterns)
rsample = pipelinefilter(stages.rsample_)
select = pipelinefilter(stages.selected)
shuffle = shuffling.Shuffling
slice = pipelinefilter(islice)
tarfile_to_samples = pipelinefilter(tarfile_samples)
to_tuple = pipelinefilter(stages.to_tuple_)
unbatched = pipelinefilter(stages.unbatched_)
xdecode = pipelinefilter(decoded_by_patterns)


def decode(*args: Any, handler: Handler = reraise_exception, **kw: Any) -> Stage:
    """A stage that decodes members by their suffix; see :meth:`WebDataset.decode`."""
    handlers = [ImageHandler(each) if isinstance(each, str) else each for each in args]
    return Stage(stages.mapped, SampleDecoder(handlers, **kw), handler=handler)


def _own(samples: Iterable[Any], even: Even) -> Iterator[Any]:
    """The samples of this rank, and of these this worker's."""
    rank, world, worker, workers = worker_info()
    return islice(dealt(samples, rank, world, even), worker, None, workers)


class WebDataset(FluidPipeline):
    """The samples of tar shards, as dicts: ``{"__key__": ..., "__url__": ..., "jpg": ..., "cls": ...}``.

    Args:
        urls: a list of shards, or a string: braces (``"train-{000..146}.tar"``), ``::`` between several, and
            patterns of files. Shards are paths, URLs, or ``pipe:`` and a command. They may be compressed by
            gzip, bzip2, xz or zstd. Those behind URLs are downloaded, the next ones while one is read.
        handler: called with an error: True goes on, False ends, and it may raise.
        resampled: shards drawn with replacement, for ever.
        shardshuffle: shards in another order, by a buffer of so many; False: in theirs.
        cache_size: so many bytes of downloads at most are kept, and each worker needs a shard of them; -1: as
            :func:`gofast.downloads.keep` says.
        cache_dir: the folder of downloads; None: WDS_CACHE, or as :func:`gofast.downloads.keep` says.
        detshuffle: another order in each epoch, from the seed on.
        nodesplitter: which shards a rank reads; by default, several ranks are an error.
        workersplitter: which shards a worker reads.
        select_files: called with the name of a member; False leaves it out.
        rename_files: called with it before that; gives another name.
        empty_check: no sample at all is an error.
        seed: of the shards' order; None: WDS_SEED, or a random one.
        even: samples are dealt out to ranks and their workers, in place of shards: each comes once, also of
            fewer shards than workers. Each process reads all shards, and decodes its own samples. What cannot
            be dealt out evenly to ranks is left out (``"drop"``), the first samples come again (``"pad"``),
            or that is an error (``"error"``). None: shards are dealt out, as the splitters say.

    Raises:
        gofast.errors.OptionError: ``even=`` with splitters, ``resampled=`` or an order without ``seed=``.
        ValueError: these are no shards; or, while iterating, there is no sample, or a sample has two members
            of one suffix.
        gofast.errors.DamagedError: while iterating, a shard is broken.
        gofast.errors.ReadError, gofast.errors.LimitError: while iterating, a shard cannot be downloaded, or
            the downloads in use leave it no room.

    Example:
        >>> import gofast.webdataset as wds
        >>> train = wds.WebDataset("train-{0..0}.tar", shardshuffle=100).shuffle(1000).decode("pil")
        >>> train = train.to_tuple("jpg;png", "cls").map_tuple(T.ToTensor(), None).batched(16)
        >>> for images, labels in wds.WebLoader(train, batch_size=None):
        ...     labels
        tensor([1])
    """

    def __init__(
        self,
        urls: Any,
        handler: Handler = reraise_exception,
        mode: str | None = None,
        resampled: bool = False,
        repeat: bool = False,
        shardshuffle: int | bool | None = None,
        cache_size: int = -1,
        cache_dir: str | None = None,
        detshuffle: bool = False,
        nodesplitter: Any = single_node_only,
        workersplitter: Any = split_by_worker,
        select_files: Any = None,
        rename_files: Any = None,
        empty_check: bool = True,
        verbose: bool = False,
        seed: Any = None,
        even: Even | None = None,
    ) -> None:
        super().__init__()
        drawn = resampled or mode == "resampled"
        if even is not None:
            if even not in ("drop", "pad", "error"):
                raise errors.OptionError(f'even={even!r}: give "drop", "pad" or "error"')
            if drawn or nodesplitter is not single_node_only or workersplitter is not split_by_worker:
                raise errors.OptionError("even= deals out samples: give no splitters, and no resampled=")
            if shardshuffle and seed is None and "WDS_SEED" not in os.environ:
                raise errors.OptionError("even= needs one order of shards in all processes: give seed=")
            nodesplitter = workersplitter = None
        if drawn and shardshuffle not in (False, None):
            warnings.warn("shardshuffle= has no meaning with resampled=True", stacklevel=2)
        if shardshuffle is True:
            shardshuffle = 100
        cache_dir = cache_dir or os.environ.get("WDS_CACHE")
        limit = int(os.environ.get("WDS_CACHE_SIZE", -1)) if cache_size < 0 else cache_size
        budget = (
            DownloadBudget.of(cache_dir, limit if limit > 0 else None) if cache_dir or limit > 0 else None
        )
        if seed is None:  # webdataset draws it even where WDS_SEED is used
            other = random.randint(0, 1000000)
            seed = os.environ.get("WDS_SEED", other)
        self.seed = seed
        self.append(source_of(urls, ResampledShards if drawn else SimpleShardList))
        for split in (nodesplitter, workersplitter):
            if split:
                self.append(split)
        if shardshuffle is not None:
            if detshuffle:
                self.append(shuffling.detshuffle(int(shardshuffle), seed=seed))
            else:
                self.append(shuffle(int(shardshuffle), seed=seed))
        self.append(tarfile_to_samples(handler, select_files, rename_files, True, budget))
        if empty_check:
            self.append(check_empty)
        if even is not None:
            self.append(Stage(_own, even))


class FluidWrapper(FluidPipeline):
    """Any source of samples, with a method for each stage."""

    def __init__(self, initial: Any) -> None:
        super().__init__(initial)


class WebLoader(FluidPipeline):
    """A :class:`gofast.DataLoader` with methods: ``WebLoader(...).unbatched().shuffle(99)``."""

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(DataLoader(*args, **kw))

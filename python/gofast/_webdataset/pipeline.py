"""Stages one after another: a dataset whose samples are what comes out of the last one."""

from __future__ import annotations

import copy
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Any, TypeVar

from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import IterableDataset

from . import sample_stages as stages
from .decoding import ImageHandler, SampleDecoder, decoded_by_patterns
from .places import PipelineRun, PlacedPass, begin_stages, begun_stages
from .sample_stages import Handler, Stage, reraise_exception
from .shuffling import Shuffling

Pipeline = TypeVar("Pipeline", bound="DataPipeline")


class DataPipeline(IterableDataset[Any]):
    """A source and stages: ``DataPipeline(wds.SimpleShardList(urls), wds.split_by_worker, ...)``.

    A stage is a function of an iterator. The source is an iterable, a loader, or a function without any.
    """

    _latest: Callable[[], PipelineRun | None] = staticmethod(lambda: None)

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self.pipeline: list[Any] = []
        self.repetitions, self.nsamples = 1, -1
        for stage in args:
            if stage is not None:
                self.pipeline += stage if isinstance(stage, list) else [stage]

    def invoke(self, f: Any, *args: Any) -> Iterator[Any]:
        """What a stage makes of what comes before it."""
        if not args and isinstance(f, (IterableDataset, TorchDataLoader, list)):
            return iter(f)
        run = getattr(f, "run", f)
        if not callable(run):
            raise ValueError(f"{f!r} is no stage: give a function of an iterator")
        made: Iterator[Any] = run(*args)
        return made

    def iterator1(self) -> Iterator[Any]:
        """One pass over the source."""
        return iter(self._pass())

    def _pass(self, state: dict[str, Any] | None = None) -> PlacedPass:
        return PlacedPass(self.pipeline, self.invoke, state)

    def iterator(self) -> Iterator[Any]:
        """As many passes as were asked for; an empty one ends them."""
        return PipelineRun(self._pass, self.repetitions)

    def __iter__(self) -> Iterator[Any]:
        most = self.nsamples if self.repetitions != 1 and self.nsamples > 0 else None
        made = PipelineRun(self._pass, self.repetitions, most, self.__dict__.pop("_from", None))
        self._latest = weakref.ref(made)
        return made

    def _place(self) -> dict[str, Any] | None:
        """Where the latest iterator stands, in a worker process. The loader asks for it behind each batch."""
        latest = self._latest()
        return None if latest is None else latest.place()

    def _begin_at(self, state: dict[str, Any] | None, begun: dict[int, dict[str, Any]]) -> None:
        """The next iterator goes on from there; None: it begins as one of which `_begun` told."""
        begin_stages(self.pipeline, begun)
        self._from = state

    def _begun(self, inside: bool = False) -> dict[int, dict[str, Any]]:
        """With what stages begin, in the process whose user asks for a state, of the inside of an epoch."""
        if inside:
            self._pass().warn()
        return begun_stages(self.pipeline)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_latest", "_from")}

    def __bool__(self) -> bool:
        return True

    def stage(self, i: int) -> Any:
        """A stage."""
        return self.pipeline[i]

    def append(self, f: Any) -> None:
        """Adds a stage to this one."""
        self.pipeline.append(f)

    def compose(self: Pipeline, *args: Any) -> Pipeline:
        """A copy with more stages."""
        made = copy.copy(self)
        made.pipeline = [*self.pipeline, *args]
        return made

    def with_length(self: Pipeline, n: int, silent: bool = False) -> Pipeline:
        """Gives it a length, which changes nothing else."""
        if not silent:
            warnings.warn(
                "with_length() changes what len() says, and not how many samples come", stacklevel=2
            )
        self.__class__ = _with_length(type(self))
        self.size: int = n
        return self

    def with_epoch(self: Pipeline, nsamples: int = -1, nbatches: int = -1) -> Pipeline:
        """Repeats the source for ever, and ends after so many samples: in each worker that has this."""
        self.repetitions, self.nsamples = sys.maxsize, max(nsamples, nbatches)
        return self

    def repeat(self: Pipeline, nepochs: int = -1, nbatches: int = -1) -> Pipeline:
        """So many passes, or for ever, and at most so many samples."""
        self.repetitions, self.nsamples = nepochs if nepochs > 0 else sys.maxsize, nbatches
        return self

    def close(self) -> None:
        """Closes the stages that can be closed."""
        for stage in self.pipeline:
            if hasattr(stage, "close"):
                stage.close()
        self.pipeline = []

    def __enter__(self: Pipeline) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_sized: dict[type, type] = {}


def _with_length(kind: type) -> Any:
    """The class with a ``__len__``; torch asks classes, not objects."""
    if issubclass(kind, Sized):
        return kind
    if kind not in _sized:
        members = {"__len__": lambda self: self.size, "__reduce_ex__": _reduced, "_plain": kind}
        _sized[kind] = type(kind.__name__, (kind,), members)
    return _sized[kind]


def _reduced(self: Any, protocol: int) -> Any:
    return _again, (self._plain, self.__getstate__())


def _again(kind: type, state: dict[str, Any]) -> Any:
    made = object.__new__(_with_length(kind))
    made.__dict__.update(state)
    return made


class FluidPipeline(DataPipeline):
    """A pipeline with a method for each stage, each of which returns a copy with that stage."""

    def shuffle(self: Pipeline, size: int, **kw: Any) -> Pipeline:
        """Samples in another order, by a buffer of so many; ``initial=``, ``rng=``, ``seed=``."""
        return self if size < 1 else self.compose(Shuffling(size, **kw))

    def decode(
        self: Pipeline,
        *args: Any,
        pre: Any = None,
        post: Any = None,
        only: Any = None,
        partial: bool = False,
        handler: Handler = reraise_exception,
    ) -> Pipeline:
        """Members decoded by their suffix; pictures as "pil", "rgb", "rgb8", "torchrgb" and so on say."""
        handlers = [ImageHandler(each) if isinstance(each, str) else each for each in args]
        decoder = SampleDecoder(handlers, pre, post, only, partial)
        return self.compose(Stage(stages.mapped, decoder, handler=handler))

    def map(self: Pipeline, f: Callable[[Any], Any], handler: Handler = reraise_exception) -> Pipeline:
        """What a function makes of each sample; None leaves it out."""
        return self.compose(Stage(stages.mapped, f, handler=handler))

    def map_dict(self: Pipeline, handler: Handler = reraise_exception, **kw: Any) -> Pipeline:
        """Functions of values, by name."""
        return self.compose(Stage(stages.map_dict_, handler=handler, **kw))

    def map_tuple(self: Pipeline, *args: Any, handler: Handler = reraise_exception) -> Pipeline:
        """Functions of values, by place."""
        return self.compose(Stage(stages.map_tuple_, *args, handler=handler))

    def to_tuple(self: Pipeline, *args: Any, **kw: Any) -> Pipeline:
        """Tuples of values: ``to_tuple("jpg;png", "cls")``."""
        return self.compose(Stage(stages.to_tuple_, *args, **kw))

    def rename(self: Pipeline, **kw: Any) -> Pipeline:
        """Other names: ``rename(image="jpg;png")``."""
        return self.compose(Stage(stages.renamed, **kw))

    def rename_keys(self: Pipeline, *args: Any, **kw: Any) -> Pipeline:
        """Other names, by patterns: ``rename_keys(image="*.jpg", keep_unselected=True)``."""
        return self.compose(Stage(stages.renamed_by_patterns, *args, **kw))

    def extract_keys(self: Pipeline, *args: Any, **kw: Any) -> Pipeline:
        """Tuples of values, by patterns: ``extract_keys("*.jpg;*.png", "*.cls")``."""
        return self.compose(Stage(stages.extracted, *args, **kw))

    def xdecode(self: Pipeline, *args: Any, **kw: Any) -> Pipeline:
        """Members decoded by functions of a stream: ``xdecode(("*.cls", f), json=json.load)``."""
        return self.compose(Stage(decoded_by_patterns, *args, **kw))

    def log_keys(self: Pipeline, logfile: str | None = None) -> Pipeline:
        """The samples' keys are put behind what a file has, a line each."""
        return self.compose(Stage(stages.logged, logfile))

    def select(self: Pipeline, predicate: Callable[[Any], bool]) -> Pipeline:
        """The samples that a function says True of."""
        return self.compose(Stage(stages.selected, predicate))

    def slice(self: Pipeline, *args: Any) -> Pipeline:
        """Some of the samples, as itertools.islice."""
        return self.compose(Stage(islice, *args))

    def rsample(self: Pipeline, p: float = 0.5) -> Pipeline:
        """Each sample with a probability."""
        return self.compose(Stage(stages.rsample_, p))

    def batched(
        self: Pipeline, batchsize: int, collation_fn: Any = stages.default_collation_fn, partial: bool = True
    ) -> Pipeline:
        """Batches; the last may be short."""
        return self.compose(Stage(stages.batched_, batchsize, collation_fn=collation_fn, partial=partial))

    def listed(self: Pipeline, batchsize: int, partial: bool = True) -> Pipeline:
        """Lists of samples; partial is ignored, as webdataset ignores it."""
        return self.compose(Stage(stages.batched_, batchsize, collation_fn=None))

    def unbatched(self: Pipeline) -> Pipeline:
        """The samples of batches."""
        return self.compose(Stage(stages.unbatched_))

    def unlisted(self: Pipeline) -> Pipeline:
        """The samples of lists."""
        return self.compose(Stage(stages.unlisted_))


def source_of(urls: Any, made: Callable[[Any], Iterable[Any]]) -> Iterable[Any]:
    """The list of shards."""
    if isinstance(urls, dict) or (isinstance(urls, str) and urls.endswith((".yaml", ".yml", ".json", "/"))):
        raise ValueError(f"urls={urls!r:.200}: give shards, a pattern or a list; specifications are not read")
    return made(urls)

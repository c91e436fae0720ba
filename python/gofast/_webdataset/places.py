"""Where a pass over a pipeline stands, as places in shards, and how another one begins there.

Samples that are still as a shard has them have a place. A shuffle behind the shards keeps its content as
places, and what comes behind holds no sample between two that it gives, but for one that `batched` has pulled
already. Any other stage runs again: what it gave before is dropped.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from .. import errors
from .._core.generators import Generators
from .._core.shown_urls import shown
from .._core.warn import warn
from . import sample_stages as stages
from .decoding import decoded_by_patterns
from .members import SampleAt, placed, shard_at, tarfile_samples
from .sample_stages import Stage
from .shards import ResampledShards, SimpleShardList
from .shuffling import AnySeed, Shuffling, detshuffle

_DRAWING = (Shuffling, detshuffle, SimpleShardList, ResampledShards)
_URLS = 64  # of shards that are kept, at least, before those are looked for that nobody needs
_HOLD_NOTHING = {
    stages.mapped,
    stages.map_dict_,
    stages.map_tuple_,
    stages.to_tuple_,
    stages.renamed,
    stages.renamed_by_patterns,
    stages.extracted,
    stages.selected,
    stages.associated,
    stages.rsample_,
    decoded_by_patterns,
}


class PlacedPass:
    """One pass over stages.

    Args:
        stages: of a pipeline.
        invoke: runs a stage that is none of those known here.
        state: of an equal pass, to go on from there.
    """

    def __init__(
        self, stages: Sequence[Any], invoke: Callable[..., Iterator[Any]], state: dict[str, Any] | None = None
    ) -> None:
        self._stages, self._invoke, self._from = stages, invoke, state
        self._tar = next((i for i, f in enumerate(stages) if _is(f, tarfile_samples)), 0)
        self._end = self._tar + 1  # of the stages whose samples have places
        while self._end < len(stages) and _keeps_places(stages[self._end]):
            self._end += 1
        self.why = self._refusal()
        self._begun, self._seeds = begun_stages(stages), AnySeed.given
        self._drawn: dict[int, tuple[Any, Any]] = {}  # of stages that draw: the generator, its state before
        self._held: dict[int, list[Any]] = {}
        self._urls: dict[int, str] = {}  # of the shards that `state` needs, and of some more
        self._at = SampleAt(0, 0, 0)  # of the sample that was read last
        # What `batched` pulled behind a full batch, and the generators before that.
        self._ahead: list[SampleAt] | None = None
        self._before: dict[str, Any] | None = None

    def _refusal(self) -> str | None:
        """Why samples have no places here; None: they have."""
        if not self._tar:
            return "it reads no shards"
        batches = 0
        for stage in self._stages[self._end :]:
            batches += _is(stage, stages.batched_)
            if batches > 1 or not (
                isinstance(stage, Stage) and (stage.f in _HOLD_NOTHING or stage.f is stages.batched_)
            ):
                return f"{stage!r:.200} may hold samples"
        drawing = [f.rng for f in self._stages if isinstance(f, Shuffling) and f.rng is not None]
        return "stages share a generator" if len({*map(id, drawing)}) < len(drawing) else None

    def warn(self) -> None:
        """Warns where samples have no places."""
        if self.why is not None:
            said = f"{self.why}: what this pipeline has given is made again, and dropped, where it goes on"
            warn(said, once="webdataset: places")

    def __iter__(self) -> Iterator[Any]:
        state = self._from
        data: Any = None
        if state is not None:
            self.begin(state)
            self._begun, self._seeds = state["stages"], state["seeds"]
        for number, stage in enumerate(self._stages):
            if type(stage) in _DRAWING:
                data = self._draw(number, stage, data)
            elif self.why is None and number == self._tar:
                data = self._read(stage, data)
            elif self.why is None and _is(stage, stages.batched_):
                data = stage.f(data, *stage.args, **stage.kw, begun=self)
            elif not (state is not None and stage is stages.check_empty):  # there were some
                data = self._invoke(stage) if data is None else self._invoke(stage, data)
            if self.why is None and number == self._end - 1:
                data = self._leaving(data)
        if data is not None:
            yield from data

    def _draw(self, number: int, stage: Any, data: Any) -> Iterator[Any]:
        rng, state = stage.generator(), self._from
        if rng is not None:
            if state is not None and number in state["drawn"]:
                rng.setstate(state["drawn"][number])
            self._drawn[number] = rng, rng.getstate()
        held = () if data is None else (self._held.setdefault(number, []),)
        made: Iterator[Any] = stage.drawn(*(() if data is None else (data,)), rng, *held)
        return made

    def _read(self, stage: Stage, shards: Any) -> Iterator[tuple[SampleAt, Any]]:
        """The samples of shards, with their places."""
        state = self._from
        if state is None:
            return self._placed(stage, self._numbered(shards, SampleAt(0, 0, 0)))
        self._at = at = SampleAt(*state["at"])
        rest = iter(shards)
        last: Any = None
        for number, last in enumerate(islice(rest, at.shard + 1)):
            if number in state["urls"]:
                self._urls[number] = _url_of(last)
        if self._urls != state["urls"]:
            raise errors.UnsupportedError("the state is of other shards, or they come in another order")
        self._held = {number: self._found(stage, _places(held)) for number, held in state["held"].items()}
        self._pending = [sample for _, sample in self._found(stage, _places(state["ahead"]))]
        going_on = self._placed(stage, self._numbered([last], at))
        return chain(
            (found for found in going_on if found[0].sample > at.sample),
            self._placed(stage, self._numbered(rest, SampleAt(at.shard + 1, 0, 0))),
        )

    def _numbered(self, shards: Iterable[Any], first: SampleAt) -> Iterator[Any]:
        most = _URLS
        for number, shard in enumerate(shards, first.shard):
            if len(self._urls) >= most:  # shards may come for ever
                used = self._used()
                self._urls = {n: url for n, url in self._urls.items() if n in used or n > self._at.shard}
                most = 2 * len(self._urls) + _URLS
            self._urls[number] = url = _url_of(shard)
            yield shard_at(url, first if number == first.shard else SampleAt(number, 0, 0))

    def _placed(self, stage: Stage, shards: Iterable[Any]) -> Iterator[tuple[SampleAt, Any]]:
        for at, sample in placed(stage(shards)):
            self._at = at
            yield at, sample

    def _found(self, stage: Stage, places: list[SampleAt]) -> list[tuple[SampleAt, Any]]:
        """The samples at these places, in their order."""
        found: dict[SampleAt, Any] = {}
        for shard in sorted({at.shard for at in places}):
            wanted = {at for at in places if at.shard == shard}
            starts = [SampleAt(shard, 0, 0)] if any(at.offset < 0 for at in wanted) else sorted(wanted)
            for start in starts:
                for at, sample in placed(stage([shard_at(self._urls[shard], start)])):
                    if at in wanted:
                        found[at] = sample
                    if len(starts) > 1 or wanted <= found.keys():
                        break
        if len(found) < len({*places}):
            where = next(at for at in places if at not in found)
            url = shown(self._urls[where.shard])
            raise errors.UnsupportedError(f"{url}: the shard has changed: sample {where.sample} is gone").at(
                path=url
            )
        return [(at, found[at]) for at in places]

    def _leaving(self, data: Iterator[tuple[SampleAt, Any]]) -> Iterator[Any]:
        """Samples that leave the stages in which they have places."""
        state = self._from
        if state is not None:
            now = Generators.now() if state["then"] is None else Generators.of(state["then"])
            if state["before"] is not None:
                Generators.of(state["before"]).put()
            yield from self._pending
            now.put()
            if self._before is not None:
                self._before = now.plain()
        for at, sample in data:
            if self._ahead is not None:
                self._ahead.append(at)
            yield sample

    def full(self) -> None:
        """A batch is full: what is pulled now belongs to the next one."""
        self._ahead, self._before = [], Generators.plain_now()

    def given(self) -> None:
        """It was given."""
        self._ahead = self._before = None

    def state(self) -> dict[str, Any]:
        """What an equal pass goes on from, behind what was given last; or begins anew from, as this one."""
        begun = {"stages": self._begun, "seeds": self._seeds}
        if self.why is not None:
            return {**begun, "drawn": {i: before for i, (_, before) in self._drawn.items()}}
        held, ahead = self._held_places(), self._ahead or []
        return {
            **begun,
            "drawn": {i: rng.getstate() if i > self._tar else s for i, (rng, s) in self._drawn.items()},
            "at": [*self._at],
            "urls": {number: self._urls[number] for number in self._used()},
            "held": {i: [n for at in some for n in at] for i, some in held.items()},
            "ahead": [n for at in ahead for n in at],
            "before": self._before if ahead else None,
        }

    def _held_places(self) -> dict[int, list[SampleAt]]:
        return {i: [at for at, _ in some] for i, some in self._held.items() if i > self._tar}

    def _used(self) -> set[int]:
        """The shards of samples that were read and not given, and of the last one."""
        held = self._held_places().values()
        return {at.shard for some in (*held, self._ahead or [], [self._at]) for at in some}

    def next(self) -> dict[str, Any]:
        """From what the pass behind this one begins, if this one gives nothing more."""
        return {"stages": begun_stages(self._stages), "seeds": AnySeed.given}

    def begin(self, told: dict[str, Any]) -> None:
        """What begins now, begins from what `next` told."""
        begin_stages(self._stages, told["stages"])
        AnySeed.given = told["seeds"]


class PipelineRun:
    """An iterator over the passes of a pipeline, which tells its place.

    Args:
        made: makes a pass, which begins anew or from a state.
        repetitions: passes.
        most: samples; None: any number.
    """

    def __init__(
        self,
        made: Callable[[dict[str, Any] | None], PlacedPass],
        repetitions: int,
        most: int | None = None,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._made, self._repetitions, self._most = made, repetitions, most
        self._from: dict[str, Any] = state or {}
        self._now: PlacedPass | None = None
        self._number = self._given = self._first = 0  # the pass, samples, and those before the pass
        self._begun: dict[str, Any] | None = None  # the generators at its beginning
        # A cycle would keep a dropped one's shard open, and its download, until Python looks for cycles.
        self._samples = PipelineRun._all(weakref.proxy(self))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._samples)

    def close(self) -> None:
        """Ends it."""
        self._samples.close()

    def _all(self) -> Generator[Any]:
        state = self._from
        self._number, self._given = state.get("number", 0), state.get("given", 0)
        self._first, going_on = state.get("first", 0), state.get("pass")
        then = None if state.get("then") is None else Generators.of(state["then"])
        dropped, left_out = 0, state.get("drop", 0)  # what runs again; what comes again, and was not told of
        if going_on is not None and (begun := state["begun"]) is not None:  # it runs again
            dropped, then = self._given - self._first, then or Generators.now()
            Generators.of(begun).put()
        elif going_on is not None:
            going_on = {**going_on, "then": state["then"]}
        if (following := state.get("next")) is not None:  # this one is over
            self._made(None).begin(following)
            if then is not None:
                then.put()
        while not self._is_over():
            self._now, empty = self._made(going_on), going_on is None
            self._begun = None if self._now.why is None else Generators.plain_now()
            for sample in self._now:
                empty = False
                if dropped:
                    dropped -= 1
                    if not dropped and then is not None:
                        then.put()
                    continue
                self._given += 1
                if left_out:
                    left_out -= 1
                else:
                    yield sample
                if self._given == self._most:
                    return
            if empty:
                return
            self._number, self._first, going_on = self._number + 1, self._given, None

    def _is_over(self) -> bool:
        return self._number >= self._repetitions or self._given == self._most

    def state_dict(self) -> dict[str, Any]:
        """Where it stands: behind what was given last."""
        if self._now is not None:
            self._now.warn()
        return self.place()

    def place(self) -> dict[str, Any]:
        """The same, where nobody is told of it."""
        now = self._now
        if now is None:
            return self._from
        places = {"number": self._number, "given": self._given, "first": self._first}
        if self._is_over():
            return {**places, "next": now.next(), "then": None}
        return {**places, "pass": now.state(), "begun": self._begun, "then": None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """It goes on from there."""
        self._from = state


def begun_stages(stages: Sequence[Any]) -> dict[int, dict[str, Any]]:
    """From what the stages that draw will begin their next pass, by number."""
    told: dict[int, dict[str, Any]] = {}
    for number, stage in enumerate(stages):
        if type(stage) in _DRAWING:
            told[number] = {name: value for name, value in vars(stage).items() if name in ("seed", "epoch")}
            rng = getattr(stage, "rng", None)
            told[number]["rng"] = None if rng is None else rng.getstate()
    return told


def begin_stages(stages: Sequence[Any], told: dict[int, dict[str, Any]]) -> None:
    """They will begin from the same, in another process too."""
    for number, values in told.items():
        vars(stages[number]).update({name: value for name, value in values.items() if name != "rng"})
        if values["rng"] is not None:
            stages[number].rng.setstate(values["rng"])


def _is(stage: Any, function: Callable[..., Any]) -> bool:
    return isinstance(stage, Stage) and stage.f is function


def _keeps_places(stage: Any) -> bool:
    return stage is stages.check_empty or type(stage) in (Shuffling, detshuffle)


def _url_of(shard: Any) -> str:
    url: str = shard["url"] if isinstance(shard, dict) else shard
    return url


def _places(numbers: list[int]) -> list[SampleAt]:
    return [SampleAt(*numbers[i : i + 3]) for i in range(0, len(numbers), 3)]

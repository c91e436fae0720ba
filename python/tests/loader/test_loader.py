"""gofast.DataLoader's own behaviour, over a fake stream: what it submits, cancels and falls back to.

That its batches and generators are torch's is `test_loader_order.py`'s subject.
"""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    Subset,
    default_collate,
)

from fake_stream import ROW_BYTES, Log, Numbers, install
from gofast import errors
from gofast._core import engine, warn
from gofast._loader import in_flight, iterator_stream
from gofast._loader import iterator as native_iterator
from gofast._loader.batcher import Batcher
from gofast.loader import DataLoader, NativeIterator

BOTH = pytest.mark.parametrize("workers", [0, 2])


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    return install(monkeypatch)


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(os, "fork", refuse)


def values(batches: Any) -> list[list[int]]:
    return [batch["x"].tolist() for batch in batches]


def test_signature_is_torchs() -> None:
    ours = inspect.signature(DataLoader.__init__).parameters
    torchs = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
    assert list(torchs) == [name for name in ours if name in torchs]
    for name, parameter in torchs.items():
        assert (ours[name].kind, ours[name].default) == (parameter.kind, parameter.default), name
    assert ours["threads"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.usefixtures("log")
def test_attributes_are_torchs() -> None:
    """Trainers read them, and rebuild a loader from them."""
    dataset = Numbers(10)
    options: dict[str, Any] = {"batch_size": 4, "num_workers": 2, "drop_last": True}
    ours = vars(DataLoader(dataset, **options))
    torchs = vars(torch.utils.data.DataLoader(dataset, **options))
    names = {name for name in torchs if not name.startswith("_")}
    assert {name for name in ours if not name.startswith("_")} - names == {"device", "resident", "threads"}
    for name in names - {"sampler", "batch_sampler"}:
        assert ours[name] == torchs[name], name
    assert type(ours["batch_sampler"]) is BatchSampler


@pytest.mark.usefixtures("log")
def test_rebuilding_from_signature_and_attributes() -> None:
    """What Lightning does to put a DistributedSampler in."""
    first = DataLoader(Numbers(10), batch_size=3, shuffle=True, num_workers=1, threads=2)
    names = set(inspect.signature(type(first).__init__).parameters) & set(vars(first))
    options = {name: getattr(first, name) for name in names - {"batch_sampler", "sampler"}}
    again = type(first)(**options, sampler=DistributedSampler(first.dataset, 2, 0))  # type: ignore[arg-type]
    assert again.threads == 2 and again.num_workers == 1
    assert len(values(again)) == len(again) == 2


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"shuffle": True, "sampler": SequentialSampler(range(3))},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "spoon"},
    ],
)
def test_arguments_are_validated_by_torch(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as torchs:
        torch.utils.data.DataLoader(Numbers(3), **options)
    with pytest.raises(ValueError) as ours:
        DataLoader(Numbers(3), **options)
    assert str(ours.value) == str(torchs.value)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_bad_threads(threads: Any) -> None:
    with pytest.raises(errors.OptionError, match="threads"):
        DataLoader(Numbers(3), threads=threads)


@pytest.mark.parametrize(
    ("options", "threads"),
    [
        ({}, 16),
        ({"num_workers": 99}, 16),
        ({"num_workers": 3}, 3),
        ({"threads": 2}, 2),
        ({"num_workers": 3, "threads": 1}, 1),
    ],
)
def test_threads(log: Log, options: dict[str, Any], threads: int) -> None:
    list(DataLoader(Numbers(9), **options))
    assert [stream.threads for stream in log.streams] == [threads]


@pytest.mark.usefixtures("no_processes")
@BOTH
def test_no_process_is_started_and_none_is_warned_of(log: Log, workers: int) -> None:
    made = DataLoader(Numbers(4), 2, num_workers=100 * workers, timeout=5 * workers)
    assert values(made) == [[0, 1], [2, 3]]
    assert log.opened == 1


def double(batch: list[Any]) -> Any:
    return default_collate(batch + batch)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_size": None}, [0, 1, 2]),
        ({"num_workers": 1, "worker_init_fn": print}, [[0, 1], [2]]),
    ],
)
def test_what_runs_on_torchs_machinery(log: Log, options: dict[str, Any], expected: Any) -> None:
    made = DataLoader(Numbers(3), **{"batch_size": 2, **options})
    iterator = iter(made)
    assert not isinstance(iterator, NativeIterator)
    assert values(iterator) == expected
    assert log.opened == 0


def test_foreign_datasets_run_on_torchs_machinery(log: Log) -> None:
    class Squares(Numbers):
        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            return {"x": torch.tensor(index * index)}

    assert values(DataLoader(Squares(4), 3)) == [[0, 1, 4], [9]]
    assert log.opened == 0


@BOTH
def test_an_own_collate_function_gets_rows(log: Log, workers: int) -> None:
    assert values(DataLoader(Numbers(3), 2, collate_fn=double, num_workers=workers)) == [[0, 1, 0, 1], [2, 2]]
    assert log.opened == 1


def test_default_collate_may_be_named(log: Log) -> None:
    made = DataLoader(Numbers(3), 2, collate_fn=default_collate, worker_init_fn=print)
    assert values(made) == [[0, 1], [2]]
    assert log.opened == 1


@BOTH
@pytest.mark.parametrize("drop_last", [False, True])
def test_len(log: Log, workers: int, drop_last: bool) -> None:
    made = DataLoader(Numbers(10), 4, num_workers=workers, drop_last=drop_last)
    assert len(made) == len(values(made)) == (2 if drop_last else 3)


@BOTH
def test_empty_dataset(log: Log, workers: int) -> None:
    assert values(DataLoader(Numbers(0), 4, num_workers=workers)) == []
    assert log.opened == 0


@BOTH
def test_errors_come_with_their_batch(log: Log, workers: int) -> None:
    made = DataLoader(Numbers(10), sampler=range(14), batch_size=3, num_workers=workers)
    for _ in range(2):
        iterator = iter(made)
        assert values(next(iterator) for _ in range(3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        for index in (10, 12):
            with pytest.raises(IndexError, match=f"index {index} "):
                next(iterator)
        with pytest.raises(StopIteration):
            next(iterator)
        assert log.in_flight == 0


@BOTH
@pytest.mark.parametrize("shuffle", [False, True])
def test_an_interrupted_batch_comes_again(log: Log, workers: int, shuffle: bool) -> None:
    sampler = RandomSampler(Numbers(12), True, generator=torch.Generator()) if shuffle else range(12)
    made = DataLoader(Numbers(12), sampler=sampler, batch_size=2, num_workers=workers)
    seen = []
    iterator = iter(made)
    for i in range(6):
        if i % 2:
            log.streams[-1].interrupt = KeyboardInterrupt
            with pytest.raises(KeyboardInterrupt):
                next(iterator)
        seen.append(next(iterator))
    with pytest.raises(StopIteration):
        next(iterator)
    if not shuffle:
        assert values(seen) == [[i, i + 1] for i in range(0, 12, 2)]


# -- how far ahead ----------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 3, 8, 40])
@BOTH
def test_bytes_ahead_are_bounded(log: Log, batch_size: int, workers: int) -> None:
    for _ in DataLoader(Numbers(200), batch_size, shuffle=True, num_workers=workers):
        pass
    assert log.most_in_flight > 1
    largest_flight = max(in_flight.FLIGHT_BYTES, batch_size * ROW_BYTES)
    assert log.most_in_flight * batch_size * ROW_BYTES <= in_flight.FLIGHTS_AHEAD * largest_flight


def test_pulled_lists_are_bounded_too(log: Log) -> None:
    lists = [[i] * 100 for i in range(30)]
    made = DataLoader(Numbers(30), batch_sampler=lists, num_workers=5, prefetch_factor=4)
    assert values(made) == lists
    assert log.most_in_flight == in_flight.FLIGHTS_AHEAD
    small = DataLoader(Numbers(30), batch_sampler=[[i] for i in range(30)], num_workers=5, prefetch_factor=4)
    assert len(values(small)) == 30
    assert log.most_in_flight == 20, "lists that are pulled are worked on, where they are small"


def test_unknown_samplers_run_one_batch_at_a_time(log: Log) -> None:
    values(DataLoader(Numbers(12), 2, sampler=list(range(12))))
    assert (log.most_in_flight, log.submitted) == (1, 6)


def test_small_batches_share_flights(log: Log) -> None:
    values(DataLoader(Numbers(800), 1))
    assert log.submitted <= 3 + 800 // (in_flight.FLIGHT_BYTES // ROW_BYTES)


def test_the_first_flight_is_one_batch(log: Log) -> None:
    iterator = iter(DataLoader(Numbers(100), 1, num_workers=1))
    assert [ticket.batches for ticket in log.streams[0].live] == [1, 2, 4, 8]
    del iterator


# -- lives ------------------------------------------------------------------------


@BOTH
def test_break_cancels_at_once(log: Log, workers: int) -> None:
    made = DataLoader(Numbers(100), 2, num_workers=workers)
    gc.disable()
    try:
        for _ in made:
            assert log.in_flight > 0
            break
        assert log.in_flight == 0
    finally:
        gc.enable()
    assert len(values(made)) == 50


@BOTH
def test_the_end_leaves_nothing_in_flight_and_the_stream_to_the_next_epoch(log: Log, workers: int) -> None:
    made = DataLoader(Numbers(20), 2, num_workers=workers)
    for _ in range(3):
        assert len(values(made)) == 10
        assert log.in_flight == 0
    assert log.opened == 1


def test_a_dataset_that_changed_gets_a_new_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a Subset are its user's to change between two epochs."""
    gofast = pytest.importorskip("gofast")
    subset = Subset(gofast.ArrayDataset(torch.arange(10.0).reshape(10, 1)), [1, 2, 3])
    made = gofast.DataLoader(subset, 2, num_workers=1)  # without, writable rows are made on the spot
    opened = []
    real = iterator_stream.IteratorStream._new_batcher

    def new_batcher(self: iterator_stream.IteratorStream, before: Any) -> Batcher:
        opened.append(real(self, before))
        return opened[-1]

    monkeypatch.setattr(iterator_stream.IteratorStream, "_new_batcher", new_batcher)

    def epoch() -> list[float]:
        return torch.cat([features for (features,) in made]).flatten().tolist()

    assert epoch() == epoch() == [1, 2, 3]
    assert len(opened) == 1
    subset.indices[1] = 7
    assert epoch() == [1, 7, 3]
    assert len(opened) == 2


def test_iterators_at_the_same_time_have_streams_of_their_own(log: Log) -> None:
    made = DataLoader(Numbers(6), 2)
    pairs = list(zip(made, made, strict=True))
    assert len(pairs) == 3 and log.opened == 2


def test_persistent_workers_have_one_iterator(log: Log) -> None:
    made = DataLoader(Numbers(60), 2, num_workers=1, persistent_workers=True)
    first = iter(made)
    next(first)
    second = iter(made)
    assert first is second
    assert len(values(second)) == 30
    with pytest.raises(StopIteration):
        next(first)
    assert len(values(made)) == 30 and log.opened == 1


@BOTH
@pytest.mark.parametrize("persistent", [False, True])
def test_close(log: Log, workers: int, persistent: bool) -> None:
    persistent = persistent and workers > 0
    with DataLoader(Numbers(60), 2, num_workers=workers, persistent_workers=persistent) as made:
        iterator = iter(made)
        next(iterator)
        assert log.in_flight > 0
    assert log.in_flight == 0
    with pytest.raises(StopIteration):
        next(iterator)
    made.close()
    assert len(values(made)) == 30


def test_close_frees_the_stream(log: Log) -> None:
    made = DataLoader(Numbers(6), 2)
    values(made)
    stream = weakref.ref(log.streams.pop())
    assert stream() is not None
    made.close()
    assert stream() is None


@BOTH
def test_a_dropped_loader_is_freed_at_once(log: Log, workers: int) -> None:
    made = DataLoader(Numbers(60), 2, num_workers=workers, persistent_workers=workers > 0)
    iterator = iter(made)
    next(iterator)
    gone = weakref.ref(iterator)
    gc.disable()
    try:
        del made, iterator
        assert gone() is None and log.in_flight == 0
    finally:
        gc.enable()


@pytest.mark.usefixtures("log")
def test_fewer_threads_than_asked_for_are_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warn, "_said", set())
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(engine, "threads", lambda requested=None: requested or 1)
    assert values(DataLoader(Numbers(2), 2, num_workers=2)) == [[0, 1]]
    made = DataLoader(Numbers(2), 2, threads=2)
    with pytest.warns(errors.GofastWarning, match=r"has 1 in.*ranks on this host \(2.*threads=1"):
        values(made)
    assert values(made) == [[0, 1]]


@pytest.mark.parametrize(
    ("said", "ranks"),
    [
        ({}, 1),
        ({"LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "8"}, 4),
        (
            {"LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "NODE_RANK": "0"},
            2,
        ),  # Lightning
        (
            {"LOCAL_RANK": "1", "WORLD_SIZE": "8", "MASTER_ADDR": "10.1.2.3", "NODE_RANK": "0"},
            1,
        ),  # several hosts
        (
            {"RANK": "0", "WORLD_SIZE": "8", "MASTER_ADDR": "localhost"},
            1,
        ),  # Kubeflow: the others are elsewhere
        ({"LOCAL_WORLD_SIZE": "two"}, 1),
        ({"SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_NTASKS": "8"}, 4),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_SIZE": "8"}, 2),
        ({"MPI_LOCALNRANKS": "8", "LOCAL_WORLD_SIZE": "2"}, 2),
        pytest.param({"LOCAL_WORLD_SIZE": "9" * 400}, int("9" * 400), id="400 digits"),
    ],
)
def test_ranks_of_one_host_share_its_cores(
    said: dict[str, str], ranks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOCAL_WORLD_SIZE", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", *engine._LAUNCHERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16))
    monkeypatch.setattr(engine, "_quota", lambda: None)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert (engine.ranks(), engine.threads()) == (ranks, max(16 // ranks, 1))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)  # it is bound to its share
    bound = not {*said}.isdisjoint(engine._LAUNCHERS) and "LOCAL_WORLD_SIZE" not in said
    assert engine.ranks() == (1 if bound else ranks)


def test_iterators_do_not_pickle(log: Log) -> None:
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(DataLoader(Numbers(3))))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.usefixtures("log")
def test_loaders_pickle_and_copy(duplicate: Any) -> None:
    made = DataLoader(Numbers(6), 4, num_workers=1, persistent_workers=True, threads=3)
    running = iter(made)
    next(running)
    again = duplicate(made)
    assert again.threads == 3 and again.batch_size == 4
    assert vars(again).keys() == vars(made).keys()
    assert values(again) == values(made) == [[0, 1, 2, 3], [4, 5]]
    with pytest.raises(ValueError, match="should not be set after"):
        again.batch_size = 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_leaves_the_parents_stream_alone(log: Log) -> None:
    """The engine behind it does not exist there: closing the iterator must not call it."""
    made = DataLoader(Numbers(60), 2)
    values(made)
    iterator = iter(made)
    next(iterator)
    before = log.opened
    pid = os.fork()
    if pid == 0:
        log.streams[-1].close = lambda: os._exit(1)  # type: ignore[method-assign]
        del iterator
        gc.collect()
        next(iter(made))
        os._exit(0 if log.opened == before + 1 else 2)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(values(iterator)) == 29


# -- what is passed on -------------------------------------------------------------


class Told(Numbers):
    """Notes the epochs that it is told; a sampler and a dataset."""

    def __init__(self) -> None:
        super().__init__(4)
        self.epochs: list[int] = []

    def set_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)

    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


@pytest.mark.usefixtures("log")
def test_set_epoch_reaches_each_part_once() -> None:
    sampler, inner, dataset = Told(), Told(), Told()
    DataLoader(Numbers(4), 2, sampler=sampler).set_epoch(3)  # type: ignore[arg-type]
    DataLoader(Numbers(4), batch_sampler=BatchSampler(inner, 2, False)).set_epoch(4)  # type: ignore[arg-type]
    DataLoader(dataset, 2).set_epoch(5)
    assert (sampler.epochs, inner.epochs, dataset.epochs) == ([3], [4], [5])


@BOTH
def test_pin_memory_goes_through_torch(log: Log, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    devices = []

    def pin(batch: Any, device: Any) -> Any:
        devices.append(device)
        return {"x": -batch["x"]}

    monkeypatch.setattr(native_iterator, "_pin_memory", pin)
    assert values(DataLoader(Numbers(3), 2, num_workers=workers, pin_memory=True)) == [[0, -1], [-2]]
    assert devices == ["cuda", "cuda"]


def test_pin_memory_without_an_accelerator_warns_as_torch(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert values(DataLoader(Numbers(2), 2, pin_memory=True)) == [[0, 1]]


def test_the_profiler_sees_the_batches(log: Log) -> None:
    with torch.autograd.profiler.profile(use_kineto=False) as profile:
        values(DataLoader(Numbers(6), 2))
    named = [event for event in profile.function_events if event.name.startswith("enumerate(DataLoader)")]
    assert len(named) == 4  # three batches, and the end


def test_prefetch_factor_zero_is_refused(log: Log) -> None:
    """As torch does, and with its type of error."""
    with pytest.raises(AssertionError, match="prefetch_factor"):
        iter(DataLoader(Numbers(3), num_workers=1, prefetch_factor=0))


@BOTH
def test_what_others_call_on_torchs_iterators(log: Log, workers: int) -> None:
    """Lightning and many scripts shut workers down through the iterator."""
    iterator: Any = iter(DataLoader(Numbers(60), 2, num_workers=workers))
    next(iterator)
    assert len(iterator) == 30 and iterator._num_yielded == 1
    assert iterator._workers == [] and iterator._dataset_fetcher.dataset is iterator._dataset
    iterator._shutdown_workers()
    assert log.in_flight == 0
    with pytest.raises(StopIteration):
        next(iterator)
    iterator._shutdown_workers()

"""text= together with cache=: texts and ids that are kept, and the tokenizers that they are kept for."""

from __future__ import annotations

import functools
import importlib.metadata
import multiprocessing
import os
import pickle
import random
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader, default_collate

import gofast
from gofast import TableDataset, errors
from gofast.tokens import Text
from test_cached_tables import stamp
from test_text import FORMS, Save, Tokenizer, assert_same, frame_of, ids_of, padding_options, write


@pytest.fixture
def save(tmp_path: Path) -> Save:
    return lambda name, frame: write(tmp_path / name, frame)


def counted(texts: list[str], log: str = "", seconds: float = 0) -> list[list[int]]:
    """A tokenizer that notes in a file that it was called, in whatever process."""
    with open(log, "a") as file:
        file.write(f"{len(texts)}\n")
    time.sleep(seconds)
    return [ids_of(text) for text in texts]


def kept(log: Path, seconds: float = 0) -> Text:
    return Text(
        functools.partial(counted, log=str(log), seconds=seconds), pad_token_id=0, identity="letters 1"
    )


# ------------------------------------------------------------------ the same batches, without the tokenizer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_is_what_the_tokenizer_gave(save: Save, tmp_path: Path, form: str, seed: int) -> None:
    rng = random.Random(f"{form} {seed}")
    frame, options, cache = frame_of(rng, 60, rng.random() < 0.5), padding_options(rng), tmp_path / "t.cache"
    wide = rng.choice([0, 300, 1 << 33])  # of each size that ids are kept in

    class Wide(Tokenizer):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            made = super().__call__(*args, **kwargs)
            return made | {"input_ids": [[i + wide for i in row] for row in made["input_ids"]]}

    path, names = save(f"t.{form}", frame), rng.sample(["review", "place"], 2)
    label = rng.choice(["label", None])

    def opened(cache: Path | None) -> tuple[TableDataset, Wide]:
        tokenizer = Wide()
        text = {"review": Text(tokenizer, identity="wide", **options), "place": None}
        return TableDataset(
            path, text={name: text[name] for name in names}, label=label, cache=cache
        ), tokenizer

    want, _ = opened(None)
    first, _ = opened(cache)
    built = stamp(cache)
    second, tokenizer = opened(cache)
    assert stamp(cache) == built and tokenizer.seen == []
    gofast.verify(str(cache))
    order = torch.randperm(60).tolist()
    for ds in (first, second):
        assert_same(ds[:], want[:])
        assert_same(ds[order[0]], want[order[0]])
        assert ds.texts("place") == frame["place"].tolist()
        assert ds.text_lengths().tolist() == want.text_lengths().tolist()
        for one, other in zip(
            gofast.DataLoader(ds, 7, sampler=order), gofast.DataLoader(want, 7, sampler=order), strict=True
        ):
            assert_same(one, other)
    assert str(gofast.explain(second)) == str(gofast.explain(want))


def test_tables_without_rows_features_or_ids(save: Save, tmp_path: Path) -> None:
    frame = frame_of(random.Random(1), 8, True)
    path = save("t.parquet", frame)
    none = Text(lambda texts: [[] for _ in texts], pad_token_id=0, identity="none")
    bytes_only = Text(lambda texts: [[1] for _ in texts], pad_token_id=0, identity="ones")
    cases: list[dict[str, Any]] = [
        {"text": {"review": none}, "columns": []},
        {"text": {"review": bytes_only, "place": none}, "columns": [], "label": None},
        {"text": {"place": bytes_only}, "columns": ["a"], "label": "review"},
        {"text": ["place", "review"], "label": ["label", "b"]},
    ]
    for k, options in enumerate(cases):
        cache = tmp_path / f"{k}.cache"
        if k == 1:  # their names are alike
            options["text"]["place"] = Text(
                lambda texts: {"place_input_ids": [[] for _ in texts]}, pad_token_id=0, identity="none"
            )
        for _ in range(2):
            assert_same(TableDataset(path, **options, cache=cache)[:], TableDataset(path, **options)[:])
        gofast.verify(str(cache))
        assert len(np.load(cache / "labels.npy")) == 8
        assert np.load(cache / "texts_0_ends.npy").dtype == np.int64
    empty = save("e.parquet", frame[:0].astype({"review": "str", "place": "str"}))
    for _ in range(2):
        ds = TableDataset(
            empty,
            text={"review": Text(Tokenizer(), identity="letters"), "place": None},
            cache=tmp_path / "e.cache",
        )
        assert len(ds) == 0 and ds[[]]["place"] == []


# ------------------------------------------------------------------ which cache is whose


def test_another_tokenizer_or_option_makes_it_anew(save: Save, tmp_path: Path) -> None:
    path, cache = (
        save("t.csv", pd.DataFrame({"review": ["ab", "cde", None], "n": [1, 2, 3]})),
        tmp_path / "t.cache",
    )
    options: dict[str, Any] = {"missing": "", "identity": "letters 1"}
    changes: list[tuple[bool, dict[str, Any]]] = [
        (True, {}),
        (False, {}),
        (True, {"identity": "letters 2"}),
        (True, {"truncation": True}),
        (True, {"max_length": 3}),
        (False, {"pad_to_multiple_of": 8}),
        (False, {"padding_side": "left"}),
        (False, {"pad_token_id": 77}),
        (True, {"padding": "max_length"}),
        (True, {"missing": "other"}),
    ]
    before = None
    for anew, change in changes:
        options |= change
        tokenizer = Tokenizer()
        ds = TableDataset(path, label=None, text={"review": Text(tokenizer, **options)}, cache=cache)
        assert (stamp(cache) != before) == anew and bool(tokenizer.seen) == anew, change
        before = stamp(cache)
        assert_same(ds[:], TableDataset(path, label=None, text={"review": Text(Tokenizer(), **options)})[:])
    TableDataset(path, label=None, text={"review": Text(missing="other")}, cache=cache)
    assert stamp(cache) != before
    before = stamp(cache)
    TableDataset(path, label=None, exclude="review", cache=cache)
    assert stamp(cache) != before
    before = stamp(cache)
    path.write_text(path.read_text() + "new,4\n")
    ds = TableDataset(path, label=None, text={"review": Text(missing="")}, cache=cache)
    assert ds[-1]["review"] == "new"


def test_a_tokenizer_that_nothing_tells_needs_a_name(save: Save, tmp_path: Path) -> None:
    path, cache = save("t.csv", pd.DataFrame({"review": ["ab", "c"], "n": [1, 2]})), tmp_path / "t.cache"
    for tokenizer in (
        Tokenizer(),
        ids_of,
        functools.partial(Tokenizer(), truncation=True),
        Fast("{}").__call__,
    ):
        with pytest.raises(errors.OptionError, match="identity="):
            TableDataset(path, text={"review": tokenizer}, cache=cache)
    assert not cache.exists()
    with pytest.raises(errors.OptionError, match="identity="):
        Text(Tokenizer(), identity=3)  # type: ignore[arg-type]


class Fast(Tokenizer):
    """With what a fast tokenizer of transformers tells of itself."""

    is_fast = True
    truncation_side = "right"

    def __init__(self, told: str) -> None:
        super().__init__()
        self._tokenizer = types.SimpleNamespace(to_str=lambda: told)

    @property
    def backend_tokenizer(self) -> Any:
        return self._tokenizer


Fast.__module__ = "transformers.models.fast"


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    made = {"transformers": "5.0", "tokenizers": "0.23"}
    monkeypatch.setattr(importlib.metadata, "version", made.__getitem__)
    return made


def test_a_fast_tokenizer_is_known_by_its_content(
    save: Save,
    tmp_path: Path,
    versions: dict[str, str],
) -> None:
    path, cache = save("t.csv", pd.DataFrame({"review": ["ab", "c"], "n": [1, 2]})), tmp_path / "t.cache"

    def anew(told: str, wrap: Any = lambda tokenizer: tokenizer, **attributes: Any) -> bool:
        tokenizer = Fast(told)
        vars(tokenizer).update(attributes)
        TableDataset(path, label=None, text={"review": wrap(tokenizer)}, cache=cache)
        return bool(tokenizer.seen)

    def short(tokenizer: Any) -> Any:
        return functools.partial(tokenizer, truncation=True, max_length=3)

    assert anew('{"vocab": 1}') and not anew('{"vocab": 1}')
    assert not anew('{"truncation": {"max_length": 3}, "padding": 8, "vocab": 1}')  # of the last call
    assert anew('{"vocab": 2}') and not anew('{"vocab": 2}')
    for attribute, value in {
        "truncation_side": "left",
        "model_max_length": 8,
        "split_special_tokens": True,
        "padding_side": "left",
        "model_input_names": ["input_ids"],
        "_src_lang": "de",
    }.items():
        assert anew('{"vocab": 2}', **{attribute: value}) and not anew('{"vocab": 2}', **{attribute: value})
    assert anew('{"vocab": 2}', short) and not anew('{"vocab": 2}', short)
    assert anew('{"vocab": 2}', lambda t: functools.partial(t, truncation=True, max_length=4))
    versions["tokenizers"] = "0.24"
    assert anew('{"vocab": 2}', short)

    def patched(*args: Any) -> None: ...

    def custom() -> str:
        raise RuntimeError("Custom PreTokenizer cannot be serialized")

    for attributes in (
        {"_encode_plus": patched},
        {"_tokenizer": types.SimpleNamespace(to_str=custom)},
        {"own": object()},
    ):
        with pytest.raises(errors.OptionError, match="identity="):
            anew('{"vocab": 2}', **attributes)

    class Own(Fast):
        pass

    with pytest.raises(errors.OptionError, match="identity="):
        TableDataset(path, label=None, text={"review": Own("{}")}, cache=cache)


def test_real_fast_tokenizers(save: Save, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    frame = pd.DataFrame({"review": ["a b", "b", "a a a"], "n": [1, 2, 3]})
    path, cache = save("t.csv", frame), tmp_path / "t.cache"

    def made(**more: int) -> Any:
        words = tokenizers.models.WordLevel(
            {"[UNK]": 0, "[PAD]": 1, "a": 2, "b": 3} | more, unk_token="[UNK]"
        )
        own = tokenizers.Tokenizer(words)
        own.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=own, pad_token=tokenizers.AddedToken("[PAD]", special=True), unk_token="[UNK]"
        )

    before = None
    for anew, tokenizer in [(True, made()), (False, made()), (True, made(a=3, b=2)), (True, made())]:
        ds = TableDataset(path, label=None, text={"review": tokenizer}, cache=cache)
        assert (stamp(cache) != before) == anew
        before = stamp(cache)
        want = tokenizer(
            frame["review"].tolist(), padding=True, truncation=True, max_length=2, return_tensors="pt"
        )
        want = tokenizer(frame["review"].tolist(), padding=True, return_tensors="pt")
        for name, value in want.items():
            assert torch.equal(ds[:][name], value)
        TableDataset(
            path, label=None, text={"review": tokenizer}, cache=cache
        )  # a call has changed its state
        assert stamp(cache) == before


def test_a_cache_alone_is_no_table_with_texts(save: Save, tmp_path: Path) -> None:
    path, cache = save("t.csv", pd.DataFrame({"review": ["ab", "c"], "n": [1, 2]})), tmp_path / "t.cache"
    TableDataset(path, label="n", text="review", cache=cache)
    for options in ({}, {"text": "review"}):
        with pytest.raises(errors.OptionError, match="open its sources"):
            TableDataset(cache, label="n", **options)  # type: ignore[arg-type]
    TableDataset(path, label=None, exclude="review", cache=tmp_path / "u.cache")
    with pytest.raises(errors.OptionError, match="has no texts"):
        TableDataset(tmp_path / "u.cache", label=None, text="review")


# ------------------------------------------------------------------ damage


def test_each_flipped_byte_is_found(save: Save, tmp_path: Path) -> None:
    path, cache = save("t.csv", frame_of(random.Random(4), 30, True)), tmp_path / "t.cache"
    text = {"review": Text(Tokenizer(), identity="letters"), "place": None}
    want = TableDataset(path, text=text, cache=cache)[:]
    names = {"texts_0_ends", "texts_0_0", "texts_0_1", "texts_1_ends", "texts_1_0"}
    assert {one.stem for one in cache.iterdir()} == names | {"features", "labels", "arrays"}
    assert np.load(cache / "labels.npy").shape == (30, 3)
    for name in (*names, "labels"):
        file = cache / f"{name}.npy"
        whole = file.read_bytes()
        for at in range(0, len(whole), max(len(whole) // 60, 1)):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            with pytest.raises(errors.DamagedError):
                gofast.verify(str(cache))
        file.write_bytes(whole)
    file.write_bytes(whole[:-1])
    assert_same(TableDataset(path, text=text, cache=cache)[:], want)


@pytest.mark.parametrize("array", ["labels", "texts_0_ends", "texts_1_ends"])
def test_numbers_that_would_address_other_memory_mean_rebuild(save: Save, tmp_path: Path, array: str) -> None:
    path, cache = save("t.csv", frame_of(random.Random(4), 30, True)), tmp_path / "t.cache"
    text = {"review": Text(Tokenizer(), identity="letters"), "place": None}
    want = TableDataset(path, text=text, cache=cache)[:]
    file = cache / f"{array}.npy"
    whole = file.read_bytes()
    start = len(whole) - np.load(file).nbytes
    for at, byte in ((start + 16, 0xFF), (start + 16 + 7, 0x80), (len(whole) - 8, 0xFF)):
        file.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
        tokenizer = Tokenizer()
        ds = TableDataset(path, text=text | {"review": Text(tokenizer, identity="letters")}, cache=cache)
        assert_same(ds[:], want)
        assert tokenizer.seen


# ------------------------------------------------------------------ processes


def _looked(rows: list[Any], cache: Path) -> Any:
    """A batch, and what its worker has mapped of the cache, and of memory that arrays lie in."""
    with open("/proc/self/maps") as maps:
        mapped = {int(line.split()[4]) for line in maps if str(cache) in line or "gofast-array" in line}
    return default_collate(rows), mapped


@pytest.mark.parametrize("context", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_share_the_file(save: Save, tmp_path: Path, context: str) -> None:
    frame, log = frame_of(random.Random(6), 40, True), tmp_path / "log"
    cache = tmp_path / "t.cache"
    ds = TableDataset(save("t.csv", frame), text={"review": kept(log), "place": None}, cache=cache)
    collate = functools.partial(_looked, cache=cache)
    loader = DataLoader(ds, 9, num_workers=1, multiprocessing_context=context, collate_fn=collate)
    for k, (batch, mapped) in enumerate(loader):
        assert_same(batch, ds[9 * k : 9 * k + 9])
        files = {one.stat().st_ino for one in cache.glob("*.npy")}
        assert files & mapped and (context == "fork" or mapped <= files)
    for k, batch in enumerate(gofast.DataLoader(ds, 9, num_workers=2)):
        assert_same(batch, ds[9 * k : 9 * k + 9])
    assert_same(pickle.loads(pickle.dumps(ds))[:], ds[:])
    assert len(log.read_text().splitlines()) == 1


def _open(path: Path, log: Path, cache: Path) -> None:
    ds = TableDataset(path, text={"review": kept(log, 0.5), "place": None}, cache=cache)
    assert len(ds) == 40
    os._exit(0)


def test_one_process_tokenizes_and_others_wait(save: Save, tmp_path: Path) -> None:
    path, log, cache = (
        save("t.csv", frame_of(random.Random(6), 40, True)),
        tmp_path / "log",
        tmp_path / "t.cache",
    )
    started = [
        multiprocessing.get_context("fork").Process(target=_open, args=(path, log, cache)) for _ in range(3)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0, 0, 0]
    assert len(log.read_text().splitlines()) == 1


def test_a_tokenizer_that_fails_leaves_nothing(save: Save, tmp_path: Path) -> None:
    path, cache = save("t.csv", pd.DataFrame({"review": ["ab", "c"], "n": [1, 2]})), tmp_path / "t.cache"

    def failing(texts: list[str]) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TableDataset(
            path, text={"review": Text(failing, pad_token_id=0, identity="a")}, label=None, cache=cache
        )
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]
    log = tmp_path / "log"
    assert TableDataset(path, text={"review": kept(log)}, label=None, cache=cache)[:]["input_ids"].shape == (
        2,
        2,
    )

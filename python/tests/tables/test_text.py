"""text=: columns of text, as they are and as ids of a tokenizer, beside pandas and plain Python's padding."""

from __future__ import annotations

import copy
import functools
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset

import gofast
from gofast import TableDataset, errors
from gofast.tokens import Text
from reference import assert_same

FORMS = ["csv", "csv.gz", "parquet", "plain.parquet"]
WORDS = [
    "",
    "a",
    "Zürich",
    "it's",
    'so "it" is',
    "x,y",
    "line\nbreak",
    "tab\t",
    " spaced ",
    "日本語",
    "\U0001f600",
    "7",
]


def write(path: Path, frame: pd.DataFrame) -> Path:
    if path.name.endswith("plain.parquet"):
        frame.to_parquet(path, index=False, use_dictionary=False, row_group_size=7)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False, row_group_size=7)
    else:
        frame.to_csv(path, index=False)
    return path


def reviews(rng: random.Random, rows: int) -> list[str]:
    """Texts of which some are equal; none is empty, which pandas would read as missing."""
    texts = []
    for _ in range(rows):
        words = rng.choices(WORDS, k=rng.choice([1, 2, 3, rng.randrange(1, 60)]))
        texts.append(" ".join(words) if words != [""] else "one")
    return [rng.choice(texts) if rng.random() < 0.3 else text for text in texts]


def ids_of(text: str) -> list[int]:
    return [ord(letter) % 251 + 3 for letter in text]


class Tokenizer:
    """One with the attributes and the results of Hugging Face's, of letters."""

    pad_token_id = 1
    pad_token_type_id = 2
    padding_side = "right"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: list[str], truncation: bool = False, max_length: int | None = None) -> Any:
        assert isinstance(texts, list)
        self.seen += texts
        most = max_length if truncation else None
        ids = [[0, *ids_of(text)[: None if most is None else most - 2], 2] for text in texts]
        return {
            "input_ids": ids,
            "token_type_ids": [[i % 2 for i in range(len(row))] for row in ids],
            "attention_mask": [[1] * len(row) for row in ids],
        }


def padded(rows: list[list[int]], blank: int, width: int, left: bool = False) -> torch.Tensor:
    """What tokenizer.pad makes of rows."""
    rest = [[blank] * (width - len(row)) for row in rows]
    whole = [fill + row if left else row + fill for row, fill in zip(rows, rest, strict=True)]
    return torch.tensor(whole, dtype=torch.int64).reshape(len(rows), width)


def frame_of(rng: random.Random, rows: int, numbers: bool) -> pd.DataFrame:
    columns: dict[str, Any] = {"review": reviews(rng, rows)}
    if numbers:
        columns |= {"a": range(rows), "b": [i / 4 for i in range(rows)]}
    columns |= {"place": [rng.choice(["n", "s"]) for _ in range(rows)], "label": [i % 3 for i in range(rows)]}
    return pd.DataFrame(columns)


Save = Callable[[str, pd.DataFrame], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    return lambda name, frame: write(tmp_path / name, frame)


# ------------------------------------------------------------------ texts as they are


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("numbers", [True, False])
def test_texts_are_those_of_the_file(save: Save, form: str, numbers: bool) -> None:
    frame = frame_of(random.Random(form), 50, numbers)
    ds = TableDataset(save(f"t.{form}", frame), text=["place", "review"])
    assert len(ds) == 50 and ds.columns == (["a", "b"] if numbers else [])
    order = torch.randperm(50).tolist()
    for loader in (
        DataLoader(ds, 8, sampler=order),
        gofast.DataLoader(ds, 8, sampler=order),
        DataLoader(ds, 8, sampler=order, num_workers=2),
        gofast.DataLoader(ds, 8, sampler=order, num_workers=2),
    ):
        batches = list(loader)
        assert [len(batch["review"]) for batch in batches] == [8] * 6 + [2]
        for k, batch in enumerate(batches):
            rows = frame.iloc[order[8 * k : 8 * k + 8]]
            want: dict[str, Any] = (
                {"features": torch.tensor(rows[["a", "b"]].to_numpy("f4"))} if numbers else {}
            )
            want["label"] = torch.tensor(rows["label"].to_numpy())
            assert_same(batch, want | {name: rows[name].tolist() for name in ("place", "review")})
    for row in (0, 49, -1):
        sample = ds[row]
        assert sample["review"] == frame["review"].iloc[row] and sample["label"] == frame["label"].iloc[row]
        assert ("features" in sample) == numbers
    assert ds[[]]["review"] == []


def test_files_and_subsets_are_joined(save: Save) -> None:
    rng = random.Random(1)
    frames = [frame_of(rng, rows, True) for rows in (9, 1, 12)]
    paths = [save(f"{i}.csv", frame) for i, frame in enumerate(frames)]
    whole = pd.concat(frames)["review"].tolist()
    options: dict[str, Any] = {"text": {"review": Tokenizer(), "place": None}}
    one = TableDataset(paths, **options)
    several: ConcatDataset[Any] = ConcatDataset([TableDataset(path, **options) for path in paths])
    tenth = Subset(several, list(range(21, -1, -2)))
    want = [ids_of(text) for text in whole]
    for ds, rows in ((one, range(22)), (several, range(22)), (tenth, range(21, -1, -2))):
        at = list(rows)
        for k, batch in enumerate(gofast.DataLoader(ds, 5)):
            part = [[0, *want[i], 2] for i in at[5 * k : 5 * k + 5]]
            width = max(map(len, part))
            assert torch.equal(batch["input_ids"], padded(part, 1, width))
            assert len(batch["place"]) == len(part)
    assert "torch's own" not in str(gofast.explain(tenth))


# ------------------------------------------------------------------ ids


def padding_options(rng: random.Random) -> dict[str, Any]:
    """Options of gofast.tokens.Text, some of them."""
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["pad_to_multiple_of"] = rng.choice([1, 8, 7])
    if rng.random() < 0.5:
        options |= {"truncation": True, "max_length": rng.choice([2, 20, 300])}
        options["padding"] = rng.choice(["longest", "max_length"])
    if rng.random() < 0.5:
        options["padding_side"] = rng.choice(["left", "right"])
    if rng.random() < 0.5:
        options["pad_token_id"] = rng.choice([0, 1 << 40, -7])
    return options


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_ids_are_padded_as_the_tokenizer_pads_them(save: Save, form: str, seed: int) -> None:
    rng = random.Random(seed)
    frame = frame_of(rng, 60, rng.random() < 0.5)
    options = padding_options(rng)
    blank = options.get("pad_token_id", 1)
    tokenizer = Tokenizer()
    ds = TableDataset(save(f"t.{form}", frame), text={"review": Text(tokenizer, **options)}, exclude="place")
    assert sorted(tokenizer.seen) == sorted(set(frame["review"]))  # each text once
    cut = {name: options[name] for name in ("truncation", "max_length") if options.get("truncation")}
    left = options.get("padding_side") == "left"
    for loader in (
        gofast.DataLoader(ds, 7, shuffle=False),
        DataLoader(ds, 7),
        gofast.DataLoader(ds, 7, num_workers=1),
    ):
        for k, batch in enumerate(loader):
            made = Tokenizer()(frame["review"].iloc[7 * k : 7 * k + 7].tolist(), **cut)
            width = max(map(len, made["input_ids"]))
            if options.get("padding") == "max_length":
                width = options["max_length"]
            width = -(-width // options.get("pad_to_multiple_of", 1)) * options.get("pad_to_multiple_of", 1)
            for name, fill in (("input_ids", blank), ("token_type_ids", 2), ("attention_mask", 0)):
                want = padded(made[name], fill, width, left)
                assert batch[name].dtype == torch.int64 and torch.equal(batch[name], want), (name, options)


def test_a_sample_is_as_long_as_it_is_and_rows_of_a_batch_are_padded(save: Save) -> None:
    frame = pd.DataFrame({"review": ["one", "three words here"], "label": [0, 1]})
    path = save("t.csv", frame)
    ds = TableDataset(path, text={"review": Tokenizer()})
    assert [len(ds[i]["input_ids"]) for i in (0, 1)] == [5, 18]
    assert list(ds[1]) == ["label", "input_ids", "token_type_ids", "attention_mask"]
    assert [len(row["input_ids"]) for row in ds.__getitems__([0, 1])] == [18, 18]
    assert [len(row["input_ids"]) for row in next(iter(DataLoader(ds, 2, collate_fn=list)))] == [18, 18]
    seven = TableDataset(path, text={"review": Text(Tokenizer(), pad_to_multiple_of=7)})
    assert [len(seven[i]["attention_mask"]) for i in (0, 1)] == [7, 21]
    assert seven[0]["attention_mask"].tolist() == [1] * 5 + [0] * 2
    doubled = TableDataset(path, text={"review": Tokenizer()}, target_transform=lambda label: 2 * label)
    for loader in (DataLoader(doubled, 2), gofast.DataLoader(doubled, 2)):
        (batch,) = loader
        assert batch["label"].tolist() == [0, 2] and batch["input_ids"].shape == (2, 18)


@pytest.mark.arrives("device", "copied")
@pytest.mark.parametrize("numbers", [True, False])
def test_texts_arrive_where_batches_do(save: Save, numbers: bool) -> None:
    frame = frame_of(random.Random(7), 40, numbers)
    ds = TableDataset(save("t.csv", frame), text={"review": Tokenizer(), "place": None})
    order = torch.randperm(40).tolist()
    for k, batch in enumerate(gofast.DataLoader(ds, 6, sampler=order)):
        assert_same(batch, ds[order[6 * k : 6 * k + 6]])


def test_any_callable_gives_ids(save: Save) -> None:
    path = save("t.parquet", pd.DataFrame({"review": ["ab", "c"], "other": ["x", "yz"]}))
    plain = Text(lambda texts: [ids_of(text) for text in texts], pad_token_id=0)
    ds = TableDataset(path, label=None, text={"review": plain, "other": None})
    assert_same(
        ds[:],
        {
            "input_ids": padded([ids_of("ab"), ids_of("c")], 0, 2),
            "attention_mask": torch.tensor([[1, 1], [1, 0]]),
            "other": ["x", "yz"],
        },
    )
    wide = [1 << 40, -(1 << 40)]
    huge = TableDataset(
        path,
        label=None,
        exclude="other",
        text={"review": Text(lambda texts: [wide] * len(texts), pad_token_id=-1)},
    )
    assert huge[:]["input_ids"].tolist() == [wide, wide]
    with pytest.raises(errors.OptionError, match="pad_token_id"):
        TableDataset(path, label=None, exclude="other", text={"review": lambda texts: [[1]] * len(texts)})
    bound = TableDataset(
        path,
        label=None,
        exclude="other",
        text={"review": functools.partial(Tokenizer(), truncation=True, max_length=3)},
    )
    assert bound[:]["input_ids"].tolist() == [[0, ids_of("a")[0], 2], [0, ids_of("c")[0], 2]]


def test_masks_and_arrays_of_the_tokenizer_count(save: Save) -> None:
    path = save("t.csv", pd.DataFrame({"review": ["ab", "c"]}))

    def fixed(texts: list[str]) -> dict[str, Any]:  # one that pads already
        ids = torch.tensor([[*ids_of(text), 0][:2] for text in texts])
        return {"x_input_ids": ids, "x_attention_mask": (ids > 0).numpy()}

    ds = TableDataset(path, label=None, text={"review": Text(fixed, pad_token_id=0)})
    assert ds[:]["x_attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert list(ds[0]) == ["x_input_ids", "x_attention_mask"]


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("tokenizer", "said"),
    [
        (lambda texts: [[1.5] for _ in texts], "whole numbers"),
        (lambda texts: [["a"] for _ in texts], "whole numbers"),
        (lambda texts: [1 for _ in texts], "whole numbers"),
        (lambda texts: [[1 << 64] for _ in texts], "whole numbers"),
        (lambda texts: [[1]], "1 rows"),
        (lambda texts: {"ids": [[1] for _ in texts]}, "input_ids"),
        (lambda texts: {"input_ids": [[1] for _ in texts], "attention_mask": [[] for _ in texts]}, "lengths"),
        (lambda texts: {"input_ids": [[1] for _ in texts], "offset_mapping": [[1] for _ in texts]}, "offset"),
    ],
)
def test_results_that_are_no_ids_are_errors(save: Save, tokenizer: Any, said: str) -> None:
    path = save("t.csv", pd.DataFrame({"review": ["ab", "c"]}))
    with pytest.raises(errors.GofastError, match=said):
        TableDataset(path, label=None, text={"review": Text(tokenizer, pad_token_id=0)})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"padding": "max_length"}, "max_length="),
        ({"max_length": 3}, "truncation"),
        ({"padding": "short"}, "padding"),
        ({"pad_to_multiple_of": 0}, "pad_to_multiple_of"),
        ({"padding_side": "up"}, "padding_side"),
        ({"missing": 3}, "missing"),
        ({"tokenizer": "bert"}, "callable"),
    ],
)
def test_options_that_make_no_sense_are_errors(options: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.OptionError, match=said):
        Text(**options)


def test_datasets_that_cannot_have_texts_are_errors(save: Save) -> None:
    path = save("t.csv", pd.DataFrame({"review": ["ab", "c"], "other": ["x", "y"], "n": [1, 2]}))
    token = Tokenizer()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"text": "no"}, "no"),
        ({"text": 3}, "text="),
        ({"text": ["review", "review"]}, "different names"),
        ({"text": "review"}, "other"),  # a text that nobody takes
        ({"text": ["review", "other"], "output": "tuple"}, "dict"),
        ({"text": ["review", "other"], "columns": [], "transform": len}, "features"),
        ({"text": {"review": token, "other": token}}, "input_ids"),
        ({"text": "review", "label": "review"}, "label"),
        ({"text": "review", "columns": ["review"]}, "text"),
        ({"text": ["review", "other"], "keys": ("review", "y")}, "review"),
        (
            {"text": {"review": Text(token, padding="max_length", max_length=3)}, "exclude": "other"},
            "max_length=3",
        ),
    ]
    for options, said in cases:
        with pytest.raises(errors.GofastError, match=said):
            TableDataset(path, **{"label": None, **options})
    numbers = save("n.parquet", pd.DataFrame({"review": [1, 2], "n": [1, 2]}))
    with pytest.raises(errors.SchemaError, match="integers"):
        TableDataset(numbers, label=None, text="review")


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_text_is_an_error_or_stands_for_another(save: Save, form: str) -> None:
    path = save(f"t.{form}", pd.DataFrame({"review": ["ab", None, "c", None], "label": [0, 1, 0, 1]}))
    with pytest.raises(errors.MissingValueError, match="missing") as caught:
        TableDataset(path, text="review")
    assert caught.value.row == 1 and caught.value.column == "review"
    for stand_in in ("", "ab"):
        ds = TableDataset(path, text={"review": Text(missing=stand_in)})
        assert ds[:]["review"] == ["ab", stand_in, "c", stand_in]
    empty = TableDataset(
        path, text={"review": Text(lambda texts: [ids_of(t) for t in texts], pad_token_id=0, missing="")}
    )
    assert empty[1]["input_ids"].shape == (0,) and empty[:]["attention_mask"].tolist() == [
        [1, 1],
        [0, 0],
        [1, 0],
        [0, 0],
    ]


def test_texts_keep_within_the_limit_of_memory(save: Save) -> None:
    path = save("t.csv", pd.DataFrame({"review": [str(i) * 400 for i in range(3000)]}))
    with pytest.raises(errors.LimitError, match="texts"):
        TableDataset(path, label=None, text="review", limits={"memory": 3 << 20}, threads=1)


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"review,label\nab,1\n\xff\xfe,2\n")
    with pytest.raises(errors.BadValueError, match="the text is not UTF-8"):
        TableDataset(tmp_path / "t.csv", text="review")


def test_numbers_and_truth_are_texts_too(save: Save) -> None:
    path = save(
        "t.csv", pd.DataFrame({"a": ["1", "02", "x"], "b": ["True", "no", "1e5"], "c": [1.5, 2.0, 3.0]})
    )
    ds = TableDataset(path, label="c", text=["a", "b"])
    assert ds[:]["a"] == ["1", "02", "x"] and ds[:]["b"] == ["True", "no", "1e5"]
    assert ds.targets.tolist() == [1.5, 2.0, 3.0] and ds.columns == []


@pytest.mark.parametrize("classes", [None, {0: 5, 1: 6, 2: 7}])
def test_labels_and_classes_stay_what_they_are(save: Save, classes: Any) -> None:
    frame = frame_of(random.Random(3), 30, True)
    path = save("t.parquet", frame)
    ds = TableDataset(path, text=["review", "place"], classes=classes)
    plain = TableDataset(path, exclude=["review", "place"], classes=classes)
    assert torch.equal(ds.targets, plain.targets) and torch.equal(ds[:]["label"], plain[:]["label"])
    words = TableDataset(path, text="review", label="place", exclude="label", one_hot=2)
    assert words.classes == ["n", "s"] and words[:]["label"].shape == (30, 2)


# ------------------------------------------------------------------ copies, processes


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_pickles_and_other_processes_have_the_texts(method: str, save: Save) -> None:
    ds = TableDataset(
        save("t.csv", frame_of(random.Random(2), 20, False)), text={"review": Tokenizer(), "place": None}
    )
    want = ds[:]
    for made in (pickle.loads(pickle.dumps(ds)), copy.copy(ds), copy.deepcopy(ds)):
        assert_same(made[:], want)
    local = TableDataset(
        ds._source.path,
        text={"review": Text(lambda texts: [ids_of(t) for t in texts], pad_token_id=0), "place": None},
    )
    (batch,) = DataLoader(
        local, 20, num_workers=1, multiprocessing_context=method
    )  # a lambda cannot be pickled
    assert_same(batch, local[:])


def test_explain_tells_of_the_texts(save: Save) -> None:
    frame = pd.DataFrame({"review": ["one", "three words here"], "place": ["a", "a"], "label": [0, 1]})
    ds = TableDataset(
        save("t.csv", frame), text={"review": Text(Tokenizer(), pad_to_multiple_of=8), "place": None}
    )
    said = str(gofast.explain(ds))
    assert (
        "2 different texts of 5 to 18 ids, 11.5 on average, padded to the longest of a batch, a multiple of 8"
        in said
    )
    assert "'place': 1 different texts, as str" in said


# ------------------------------------------------------------------ rows of similar lengths


def test_lengths_are_those_of_the_rows(save: Save) -> None:
    frame = frame_of(random.Random(5), 25, True)
    ds = TableDataset(save("t.csv", frame), text={"review": Tokenizer(), "place": None})
    assert ds.text_lengths().tolist() == [len(text) + 2 for text in frame["review"]]
    assert ds.text_lengths("review").tolist() == ds.text_lengths().tolist()
    for column in ("place", "no"):
        with pytest.raises(errors.OptionError, match=column):
            ds.text_lengths(column)


@pytest.mark.parametrize(("rows", "batch_size"), [(1, 4), (7, 2), (130, 4), (5000, 8), (5003, 3)])
def test_the_order_is_that_of_transformers(rows: int, batch_size: int) -> None:
    """As its documentation says: each 50 batches, or a quarter of all rows, sorted; the longest row first."""
    lengths = [random.Random(rows).randrange(3, 90) for _ in range(rows)]
    sampler = gofast.tokens.LengthGroupedSampler(
        batch_size, lengths=lengths, generator=torch.Generator().manual_seed(4)
    )
    drawn = torch.randperm(rows, generator=torch.Generator().manual_seed(4)).tolist()
    many = max(min(rows // (batch_size * 4), 50), 1) * batch_size
    parts = [
        sorted(drawn[i : i + many], key=lambda i: lengths[i], reverse=True) for i in range(0, rows, many)
    ]
    firsts = [lengths[part[0]] for part in parts]
    at = firsts.index(max(firsts))
    parts[0][0], parts[at][0] = parts[at][0], parts[0][0]
    assert list(sampler) == [i for part in parts for i in part] and len(sampler) == rows
    assert sorted(sampler) == list(range(rows))


def test_similar_lengths_are_less_padding(save: Save) -> None:
    rng = random.Random(8)
    frame = pd.DataFrame({"review": ["x" * rng.randrange(1, 200) for _ in range(400)]})
    ds = TableDataset(save("t.csv", frame), label=None, text={"review": Tokenizer()})
    sampler = gofast.tokens.LengthGroupedSampler(8, ds)
    shares = []
    for loader in (gofast.DataLoader(ds, 8, shuffle=True), gofast.DataLoader(ds, 8, sampler=sampler)):
        masks = [batch["attention_mask"] for batch in loader]
        shares.append(1 - sum(int(m.sum()) for m in masks) / sum(m.numel() for m in masks))
        assert loader.stats()["epoch"]["padding"] == pytest.approx(shares[-1], abs=1e-12)
    assert shares[1] < shares[0] / 3
    with pytest.raises(errors.OptionError, match="lengths"):
        gofast.tokens.LengthGroupedSampler(8, ds, lengths=[1, 2])
    with pytest.raises(errors.OptionError, match="text="):
        gofast.tokens.LengthGroupedSampler(8)

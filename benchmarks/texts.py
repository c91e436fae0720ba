"""Texts whose ids are kept, padded to the longest of each batch: gofast's cache against Hugging Face's.

    python -m benchmarks.texts [--rounds 3] [--rows 200000]

It needs `datasets` and `transformers` beside gofast. All sides have tokenized before, in a run that does not
count: datasets keeps an Arrow file, gofast an .npz. Each side has a process of its own in each round, and
sides take turns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import tokenizers
import transformers
from torch.utils.data import DataLoader

import gofast
from benchmarks.client import ROOT
from benchmarks.data import CACHE

BATCH, WORDS = 32, 20_000
SIDES = ("datasets", "datasets, 2 workers", "gofast")


def reviews(rows: int) -> str:
    """A CSV file of reviews of some 130 words, as Yelp's are, of words as frequent as in English."""
    path = CACHE / f"reviews-{rows}.csv"
    if not path.exists():
        random = np.random.default_rng(0)
        lengths = np.clip(random.lognormal(4.6, 0.75, rows), 4, 800).astype(int)
        numbers = np.minimum(random.zipf(1.2, lengths.sum()), WORDS) - 1
        words = np.array([f"w{i:x}" for i in range(WORDS)], object)[numbers]
        ends = np.cumsum(lengths)
        texts = [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
        frame = pd.DataFrame({"review": texts, "label": random.integers(0, 5, rows)})
        frame.to_csv(path, index=False)
    return str(path)


def tokenizer() -> Any:
    """A fast tokenizer of whole words: its speed does not count."""
    vocabulary = {"[UNK]": 0, "[PAD]": 1, **{f"w{i:x}": i + 2 for i in range(WORDS)}}
    own = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    own.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    options: dict[str, Any] = {"pad_token": "[PAD]", "unk_token": "[UNK]", "model_max_length": 512}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=own, **options)


def loader(side: str, path: str) -> Iterable[Any]:
    """The side's loader, of ids that are kept."""
    own = tokenizer()
    if side == "gofast":
        text = {"review": gofast.Text(own, truncation=True)}
        ours = gofast.TableDataset(path, text=text, cache=path.replace(".csv", ".npz"))
        return gofast.DataLoader(ours, BATCH, shuffle=True)

    def tokenized(rows: Any) -> Any:
        return own(rows["review"], truncation=True)

    folder = str(CACHE / "datasets")
    table: Any = datasets.load_dataset("csv", data_files=path, split="train", cache_dir=folder)
    made = table.map(tokenized, batched=True, remove_columns=["review"])
    collate: Any = transformers.DataCollatorWithPadding(own)
    return DataLoader(made, BATCH, shuffle=True, collate_fn=collate, num_workers=2 if "2" in side else 0)


def child(side: str, path: str) -> tuple[float, float, int]:
    """The seconds until the loader is there, and of the second epoch; and how many ids the first one had."""
    _ = tokenizer(), transformers.DataCollatorWithPadding, gofast.TableDataset  # imports do not count
    begun = time.perf_counter()
    batches = loader(side, path)
    opened = time.perf_counter() - begun
    ids = sum(int(batch["attention_mask"].sum()) for batch in batches)
    begun = time.perf_counter()
    for _ in batches:
        pass
    return opened, time.perf_counter() - begun, ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(child(*asked.child)))
        return
    Path(CACHE).mkdir(parents=True, exist_ok=True)
    path = reviews(asked.rows)
    took: dict[str, list[tuple[float, float, int]]] = {side: [] for side in SIDES}
    for turn, side in itertools.product(range(asked.rounds + 1), SIDES):
        command = [sys.executable, "-m", "benchmarks.texts", "--child", side, path]
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        if turn:  # the first tokenizes
            took[side].append(tuple(json.loads(ended.stdout.splitlines()[-1])))
    assert len({ids for side in SIDES for _, _, ids in took[side]}) == 1, "sides have different ids"
    print("| side | open, s | an epoch, s | times as fast |\n|---|---|---|---|")
    base = statistics.median(epoch for _, epoch, _ in took[SIDES[0]])
    for side in SIDES:
        opened, epoch = (statistics.median(one[k] for one in took[side]) for k in (0, 1))
        print(f"| {side} | {opened:.2f} | {epoch:.2f} | {base / epoch:.1f} |")


if __name__ == "__main__":
    main()

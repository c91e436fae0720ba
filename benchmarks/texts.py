"""Texts whose ids are kept, padded to the longest of each batch: the case of datasets and transformers.

datasets keeps an Arrow file, gofast an .npz: only the first epoch of the first round tokenizes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import tokenizers
import transformers
from torch.utils.data import DataLoader

import gofast
from benchmarks.environments import MADE
from benchmarks.turns import Epoch

BATCH, WORDS = 32, 20_000


def make(path: Path, rows: int) -> None:
    """A CSV file of reviews of some 130 words, as Yelp's are, of words as frequent as in English."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(4.6, 0.75, rows), 4, 800).astype(int)
    numbers = np.minimum(random.zipf(1.2, lengths.sum()), WORDS) - 1
    words = np.array([f"w{i:x}" for i in range(WORDS)], object)[numbers]
    ends = np.cumsum(lengths)
    texts = [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    pd.DataFrame({"review": texts, "label": random.integers(0, 5, rows)}).to_csv(path, index=False)


def tokenizer() -> Any:
    """A fast tokenizer of whole words: its speed does not count."""
    vocabulary = {"[UNK]": 0, "[PAD]": 1, **{f"w{i:x}": i + 2 for i in range(WORDS)}}
    own = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    own.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    options: dict[str, Any] = {"pad_token": "[PAD]", "unk_token": "[UNK]", "model_max_length": 512}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=own, **options)


def epochs(side: str, path: str) -> Epoch:
    """The side's epochs, of ids that are kept."""
    own = tokenizer()
    if side == "gofast":
        text = {"review": gofast.tokens.Text(own, truncation=True)}
        ours = gofast.TableDataset(path, text=text, cache=path.replace(".csv", ".cache"))
        return gofast.DataLoader(ours, BATCH, shuffle=True).__iter__

    def tokenized(rows: Any) -> Any:
        return own(rows["review"], truncation=True)

    folder = str(MADE / "datasets")
    table: Any = datasets.load_dataset("csv", data_files=path, split="train", cache_dir=folder)
    made = table.map(tokenized, batched=True, remove_columns=["review"])
    collate: Any = transformers.DataCollatorWithPadding(own)
    workers = 2 if "2" in side else 0
    return DataLoader(made, BATCH, shuffle=True, collate_fn=collate, num_workers=workers).__iter__

"""ImageFiles.from_table: pictures by a path column, with the other values of their rows, as both apart."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms as T

import gofast
from gofast import ImageFiles, TableDataset, errors
from gofast.tokens import Text
from reference import assert_same

ROWS = 14
TRANSFORMS = {
    "certain": T.Compose([T.Resize((24, 20)), T.ToTensor()]),
    "drawn": T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()]),
    "python": T.Compose([T.Resize((24, 20)), T.ToTensor(), T.Lambda(lambda x: x * 2)]),
}


def words(texts: list[str]) -> list[list[int]]:
    return [[len(word) for word in text.split()] for text in texts]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("houses")
    rng = np.random.default_rng(0)
    for i in range(ROWS):
        pixels = rng.integers(0, 256, (30 + i, 40, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{i}.{'png' if i % 3 else 'jpg'}")
    frame = pd.DataFrame(
        {
            "path": [f"{i}.{'png' if i % 3 else 'jpg'}" for i in range(ROWS)],
            "advert": [" ".join(["word"] * (1 + i % 5)) for i in range(ROWS)],
            "rooms": range(ROWS),
            "area": [i / 2 for i in range(ROWS)],
            "label": [i % 4 for i in range(ROWS)],
        }
    )
    frame.to_parquet(folder / "houses.parquet", index=False)
    return folder / "houses.parquet"


def rows_of(table: Path, **options: Any) -> TableDataset:
    text = {"path": None, "advert": Text(words, pad_token_id=-1)}
    return TableDataset(table, **{"text": text, **options})


def wanted(table: Path, rows: list[int], transform: Any) -> dict[str, Any]:
    """The batch as pictures and rows apart give it."""
    names = pd.read_parquet(table)["path"]
    pictures = ImageFiles([str(table.parent / names[i]) for i in rows], transform=transform)
    return {"image": torch.stack([pictures[k] for k in range(len(rows))]), **rows_of(table)[rows]}


@pytest.mark.parametrize("kind", list(TRANSFORMS))
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_pictures_and_rows(table: Path, kind: str, workers: int) -> None:
    transform = TRANSFORMS[kind]
    ds = ImageFiles.from_table(rows_of(table), "path", table.parent, transform)
    order = torch.randperm(ROWS).tolist()
    for loader in (gofast.DataLoader, DataLoader):
        if kind == "drawn" and workers:
            continue  # a worker's generator draws; the loaders' own tests compare them
        torch.manual_seed(3)
        batches = list(loader(ds, 5, sampler=order, num_workers=workers))
        torch.manual_seed(3)
        torch.empty((), dtype=torch.int64).random_()  # the loader's seed for its workers
        for k, batch in enumerate(batches):
            assert_same(batch, wanted(table, order[5 * k : 5 * k + 5], transform))
    native = "Python" not in str(gofast.explain(ds)).splitlines()[-1]
    assert native == (kind != "python")


def test_samples_subsets_and_copies(table: Path) -> None:
    transform = TRANSFORMS["certain"]
    ds = ImageFiles.from_table(rows_of(table), "path", table.parent, transform)
    assert list(ds[2]) == ["image", "features", "label", "path", "input_ids", "attention_mask"]
    assert ds[2]["input_ids"].tolist() == [4] * 3 and ds[-1]["path"] == "13.png"
    assert ds.targets == [i % 4 for i in range(ROWS)] and len(ds) == ROWS
    two = ConcatDataset([ds, pickle.loads(pickle.dumps(rebuilt(table, transform)))])
    rows = [27, 3, 14, 0, 13]
    for some in (Subset(two, rows), Subset(Subset(two, list(range(28))), rows)):
        (batch,) = gofast.DataLoader(some, 8)
        assert_same(batch, wanted(table, [i % ROWS for i in rows], transform))
    (listed,) = gofast.DataLoader(ds, 3, sampler=[4, 1, 0], collate_fn=list)
    assert [row["path"] for row in listed] == ["4.png", "1.png", "0.jpg"]
    assert listed[2]["input_ids"].tolist() == [4, -1, -1, -1, -1]


def rebuilt(table: Path, transform: Any) -> ImageFiles:
    """One that can be pickled."""
    text = {"path": None, "advert": Text(words, pad_token_id=-1)}
    return ImageFiles.from_table(TableDataset(table, text=text), "path", table.parent, transform)


def test_index_path_and_bad_samples(table: Path, tmp_path: Path) -> None:
    frame = pd.read_parquet(table)
    frame.loc[3, "path"] = "broken.png"
    (table.parent / "broken.png").write_bytes(b"no picture")
    frame.rename(columns={"path": "file"}).to_parquet(tmp_path / "t.parquet", index=False)
    rows = TableDataset(tmp_path / "t.parquet", text=["file", "advert"])
    options: dict[str, Any] = {"return_index": True, "return_path": True, "on_error": "replace"}
    ds = ImageFiles.from_table(rows, "file", table.parent, TRANSFORMS["certain"], **options)
    with pytest.warns(Warning, match="broken"):
        (batch,) = gofast.DataLoader(ds, 3, sampler=[2, 3, 5])
    index = batch["index"].tolist()
    assert index[0] == 2 and index[2] == 5 and 3 not in index
    for image, i in zip(batch["image"], index, strict=True):
        assert torch.equal(
            image, TRANSFORMS["certain"](Image.open(table.parent / frame["path"][i]).convert("RGB"))
        )
    for name in ("file", "path", "label"):
        want = {"file": frame["path"].tolist(), "path": [str(table.parent / p) for p in frame["path"]]}
        have = batch[name] if name != "label" else batch[name].tolist()
        assert have == [want.get(name, frame["label"].tolist())[i] for i in index]
    assert list(ds[2]) == ["image", "index", "path", "features", "label", "file", "advert"]


def test_what_does_not_join_is_refused(table: Path) -> None:
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (rows_of(table), {"image": "area"}, "area"),
        (rows_of(table), {"image": "advert"}, "advert"),
        (rows_of(table), {"output": "tuple"}, "output="),
        (rows_of(table), {"keys": ("path", "label")}, "path"),
        (rows_of(table), {"return_path": True}, "path"),
        (rows_of(table, target_transform=float), {}, "target_transform"),
        ([1, 2], {}, "TableDataset"),
    ]
    for rows, options, said in cases:
        with pytest.raises(errors.OptionError, match=said):
            ImageFiles.from_table(rows, **{"image": "path", **options})


def test_options_of_the_table_that_change_later_change_nothing(table: Path) -> None:
    rows = rows_of(table)
    ds = ImageFiles.from_table(rows, "path", table.parent, TRANSFORMS["certain"])
    rows.target_transform = float
    assert_same(next(iter(DataLoader(ds, 4))), wanted(table, [0, 1, 2, 3], TRANSFORMS["certain"]))

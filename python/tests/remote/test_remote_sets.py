"""A preprocessed set behind a URL: the samples and batches of the local folder, or an error that names it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler
from torchvision import transforms as T

import gofast
from buckets import copied
from gofast import errors
from gofast._core.remote_files import local_files
from image_data import make_folder
from same import batches, difference
from served import Served, serving

TRAIN = T.Compose([T.RandomCrop(8), T.RandomHorizontalFlip(), T.ToTensor()])
NAMES = ["arrays.jsonl", "image.npy", "label.npy"]
open_set: Callable[..., Any] = gofast.ArrayDataset.open


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "1GB")
    return tmp_path / "kept"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A set on the disk."""
    photos = gofast.ImageFolder(make_folder(tmp_path / "photos", 23), T.Resize((12, 12)))
    gofast.preprocess(photos, tmp_path / "photos.set")
    return tmp_path / "photos.set"


@pytest.fixture
def web(whole: Path) -> Iterator[Served]:
    """The same behind HTTP."""
    with serving() as made:
        made.put(**{path.name: path.read_bytes() for path in whole.iterdir()})
        yield made


@pytest.mark.parametrize("scheme", ["http", "s3", "memory"])
def test_batches_are_those_of_the_disk(scheme: str, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = open_set(whole, transform=TRAIN)
    with copied(whole, scheme, monkeypatch) as url:
        got = open_set(url + "/", transform=TRAIN)
        assert repr(open_set(url)) == repr(open_set(whole)).replace(str(whole), url)
        again = pickle.loads(pickle.dumps(got))
        if scheme != "http":
            gofast.verify(url + "/")  # a copy, which a listing brings
    for name in ("classes", "class_to_idx", "made_of", "made_with", "keys"):
        assert getattr(got, name) == getattr(want, name) is not None, name
    assert difference([*got.tensors], [*want.tensors]) == "" == difference([*again.tensors], [*want.tensors])
    weights = torch.arange(1.0, 1 + len(want)).tolist()
    for options in ({"shuffle": True}, {"sampler": WeightedRandomSampler(weights, 40)}):
        torch_s = batches(DataLoader(want, 5, **options))  # type: ignore[arg-type]
        for kind in (gofast.DataLoader, DataLoader):
            assert difference(batches(kind(got, 5, **options)), torch_s) == "", (kind, options)


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_ask_nobody(method: str, web: Served, whole: Path) -> None:
    dataset = open_set(web.url + "set")
    asked = sum(web.asked.values())
    loader = DataLoader(dataset, 5, num_workers=2, multiprocessing_context=method)
    assert difference([*loader], [*DataLoader(open_set(whole), 5)]) == ""
    assert sum(web.asked.values()) == asked


def test_it_comes_once_and_stays(web: Served, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_set(web.url + "set")
    open_set(web.url + "set/")
    assert set(web.whole.values()) == {1}
    assert sorted(path.name[33:] for path in kept.iterdir() if path.name != "lock") == NAMES
    web.put(**{"large.bin": bytes(5000)})
    there = sum(path.stat().st_size for path in kept.iterdir() if path.name != "lock")
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(there + 100))
    with pytest.raises(errors.LimitError, match="beside what is in use"):
        local_files(web.url + "large.bin")
    assert dataset[0][1] == 0


def test_it_must_fit(web: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "9kB")
    with pytest.raises(errors.LimitError, match=r"image\.npy.* are asked for together.*raise cache_limit="):
        open_set(web.url + "set")
    assert not web.whole["image.npy"]


def refused(web: Served, kind: type[errors.GofastError], said: str) -> errors.GofastError:
    with pytest.raises(kind, match=said) as error:
        open_set(web.url + "set")
    return error.value


def test_what_is_wrong_is_said(web: Served, tmp_path: Path) -> None:
    good = dict(web.files)
    told, picture = good["arrays.jsonl"], good["image.npy"]
    for name, data, kind, said in (
        ("arrays.jsonl", None, errors.NotFoundError, "404.*no set is there: copy a folder"),
        ("arrays.jsonl", told[:-3], errors.DamagedError, r"set/arrays\.jsonl: its checksum"),
        ("arrays.jsonl", b"[" * 99_999, errors.DamagedError, r"set/arrays\.jsonl"),
        ("image.npy", None, errors.NotFoundError, r"set/image\.npy.*404"),
        ("image.npy", picture[:-1], errors.DamagedError, r"set/image\.npy: it has \d+ bytes"),
        ("image.npy", b"\x93MUMPY" + picture[6:], errors.DamagedError, r"set/image\.npy: its header"),
    ):
        web.files = {key: one for key, one in (good | {name: data}).items() if one is not None}
        error = refused(web, kind, said)
        assert error.path is not None and error.path.startswith(web.url + "set"), said
    table = tmp_path / "t.csv"
    table.write_text("a,label\n1,0\n2,1\n")
    gofast.TableDataset(table, label="label", cache=tmp_path / "t.cache")
    web.put(**{path.name: path.read_bytes() for path in (tmp_path / "t.cache").iterdir()})
    refused(web, errors.FormatError, "set: it is no set")
    with pytest.raises(errors.UnsupportedError, match="fsspec"):
        open_set("nobody-knows://host/set")


def test_what_changes_while_it_comes(web: Served, whole: Path) -> None:
    good = dict(web.files)

    def changing(name: str) -> None:
        """Behind the first question what it is."""

        def change(request: Any, number: int) -> bool:
            if request.path.endswith(name) and number == 2:
                web.files[name] = other[name]
            return False

        web.files, web.spoil = dict(good), change
        web.asked.clear()

    nearest = T.Resize((12, 12), T.InterpolationMode.NEAREST)
    gofast.preprocess(gofast.ImageFolder(whole.parent / "photos", nearest), whole.parent / "other")
    other = {path.name: path.read_bytes() for path in (whole.parent / "other").iterdir()}
    assert other["image.npy"] != good["image.npy"]
    changing("image.npy")
    assert "image.npy" in str(refused(web, errors.ChangedError, "another one by now"))
    changing("arrays.jsonl")  # it is here by now: the second question comes behind the arrays
    refused(web, errors.ChangedError, "set was made anew while it was opened")
    web.spoil, web.files = None, good
    pickled = pickle.dumps(open_set(web.url + "set"))
    web.files = other
    with pytest.raises(errors.ChangedError, match="another set than when it was pickled"):
        pickle.loads(pickled)


def test_a_signature_stays_secret(web: Served) -> None:
    web.files = {f"{name}?sign=SECRET": data for name, data in web.files.items()}
    dataset = open_set(web.url + "set/?sign=SECRET")
    assert len(dataset) == 23 and "SECRET" not in repr(dataset) + str(gofast.explain(dataset))
    del web.files["image.npy?sign=SECRET"]
    for url in ("set?sign=SECRET", "set?sign=SECRET2"):
        with pytest.raises(errors.NotFoundError) as error:
            open_set(web.url + url)
        assert "SECRET" not in f"{error.value} {error.value.path}"


def test_a_set_is_not_written_to_a_url() -> None:
    numbers = gofast.ArrayDataset(np.arange(6.0), np.arange(6))
    for url in ("s3://bkt/out", "https://none.invalid/out"):
        with pytest.raises(errors.OptionError, match=f"{url}' is a URL: write the set into a folder here"):
            gofast.preprocess(numbers, url + "?SECRET", overwrite=url[0] == "s")

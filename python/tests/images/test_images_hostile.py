"""Pictures that the core does not read: torchvision's pixels or its verdict; never a crash, never a hang.

Then what becomes of bad samples: every policy in every way that a sample is made.
"""

from __future__ import annotations

import copy
import errno
import gc
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import PIL
import pytest
import torch
import torchvision
from PIL import Image, ImageFile
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._images.bad_samples import stand_ins
from gofast.images import ImageFolder
from image_data import make_folder, photograph
from picture_files import broken, jpeg_header, pillows_kinds, png_header, saved, webp_header
from same import difference


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropped after an error, torch's iterators wait so long for each worker, whatever the dataset: 5 s."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.5)


Verdict = tuple[Any, None] | tuple[None, Exception]

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
VALID = T.Compose([T.Resize((16, 16)), T.ToTensor()])
REST = T.Compose([T.Resize(24), T.RandomCrop(20), T.ElasticTransform(20.0, 0.0), T.ToTensor()])


def OWN(image: Any) -> torch.Tensor:
    """Somebody's own code, for which pictures are lazy."""
    return T.functional.to_tensor(T.functional.hflip(T.functional.resize(image, [24, 28])))


def verdict(dataset: Any, index: int) -> Verdict:
    """A sample's picture, or what was raised."""
    torch.manual_seed(index)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's words about odd files
        try:
            return dataset[index][0], None
        except Exception as error:
            return None, error


def disagreement(ours: Verdict, theirs: Verdict) -> str:
    """In what two verdicts differ; empty where in nothing."""
    (picture, error), (their_picture, their_error) = ours, theirs
    if their_error is None:
        return difference(picture, their_picture) if error is None else f"raised {error!r}"
    if not isinstance(error, type(their_error)):
        return f"{error!r} instead of {their_error!r}"
    return "" if str(their_error) in str(error) else f"{str(error)!r} does not say {str(their_error)!r}"


def compare(root: Path, transform: Callable[[Any], Any] | None) -> tuple[ImageFolder, int]:
    """Compares every sample with torchvision's: the dataset, and how many samples raised."""
    ours = ImageFolder(root, transform)
    theirs = torchvision.datasets.ImageFolder(root, transform)
    assert len(ours) == len(theirs) > 0
    wrong, raised = [], 0
    for i in range(len(theirs)):
        expected = verdict(theirs, i)
        raised += expected[1] is not None
        said = disagreement(verdict(ours, i), expected)
        if said:
            wrong.append(f"{Path(theirs.samples[i][0]).name}: {said}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:20])
    return ours, raised


# ------------------------------------------------------------------ Pillow's kinds, whole and broken


KINDS = pytest.mark.xdist_group("Pillow's kinds")  # which are made once, for 3 s of a processor


@pytest.fixture(scope="module")
def kinds() -> list[tuple[str, bytes]]:
    return list(pillows_kinds())


@KINDS
@pytest.mark.daily(1)
@pytest.mark.parametrize("transform", [None, TRAIN], ids=["pictures", "train"])
def test_every_kind_that_pillow_writes(
    tmp_path: Path, kinds: list[tuple[str, bytes]], transform: Callable[[Any], Any] | None
) -> None:
    (tmp_path / "c").mkdir()
    for name, data in kinds:
        (tmp_path / "c" / f"{name}.png").write_bytes(data)  # of the wrong name, most of them
    ours, raised = compare(tmp_path, transform)
    assert len(ours) > 500 and raised < 60
    assert 300 < ours._fallbacks < 480
    assert f"by Pillow: {ours._fallbacks} pictures so far" in gofast.explain(ours)
    assert f"raise: {raised} bad samples so far" in gofast.explain(ours)
    assert gofast.engine_stats()["pillow"] >= ours._fallbacks


def _damage(root: Path, files: list[tuple[str, bytes]], seed: int, each: int) -> None:
    (root / "c").mkdir()
    for i, (name, data) in enumerate(files):
        for what, made in broken(data, seed + i, each):
            (root / "c" / f"{name}-{what}.jpg").write_bytes(made)


AT_LENGTH = [pytest.mark.soak, pytest.mark.timeout(1200)]
LENGTHS = pytest.mark.parametrize("long", [False, pytest.param(True, marks=AT_LENGTH)])


@KINDS
@LENGTHS
@pytest.mark.parametrize("transform", [None, TRAIN, VALID], ids=["pictures", "train", "valid"])
def test_damaged_files(
    tmp_path: Path, kinds: list[tuple[str, bytes]], transform: Callable[[Any], Any] | None, long: bool
) -> None:
    native = [(n, d) for n, d in kinds if n.lower().startswith(("jpeg", "png", "webp", "apng", "mpo"))]
    others = [kind for kind in kinds if kind not in native]
    some = others if long else random.Random(5).sample(others, 30)
    _damage(tmp_path, native + some, 1000 if long else 3, 30 if long else 5)
    ours, raised = compare(tmp_path, transform)
    assert 100 < raised < len(ours) - 100


def _photographs() -> list[Path]:
    folder = os.environ.get("GOFAST_TEST_DATA")
    found = sorted(Path(folder, "imagenet-500").glob("*/*.JPEG")) if folder else []
    if not found:
        pytest.skip("no photographs: set GOFAST_TEST_DATA to a folder that has imagenet-500")
    return found


@LENGTHS
@pytest.mark.parametrize("transform", [None, TRAIN, VALID, OWN], ids=["pictures", "train", "valid", "own"])
def test_damaged_photographs(tmp_path: Path, transform: Callable[[Any], Any] | None, long: bool) -> None:
    paths = _photographs()[:: 1 if long else 25]
    _damage(tmp_path, [(p.stem, p.read_bytes()) for p in paths], 90 if long else 9, 10 if long else 4)
    compare(tmp_path, transform)


# ------------------------------------------------------------------ files that are no pictures


@pytest.mark.parametrize("transform", [TRAIN, OWN], ids=["train", "own"])
def test_odd_files(tmp_path: Path, transform: Callable[[Any], Any]) -> None:
    folder = tmp_path / "c"
    (folder / "folder.jpg").mkdir(parents=True)
    good = saved(photograph(1, 40, 30), "JPEG") or b""
    (folder / "folder.jpg" / "inside.jpg").write_bytes(good)
    (folder / "tail.jpg").write_bytes(good + b"a film")
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "zeros.png").write_bytes(bytes(1000))
    (folder / "magic.webp").write_bytes(b"RIFF")
    (folder / "text.jpg").write_text("no picture\n")
    (folder / "link.jpg").symlink_to(folder / "folder.jpg" / "inside.jpg")
    ours, raised = compare(tmp_path, transform)
    assert raised == 4 and len(ours) == 7


def test_files_that_vanish_or_become_something_else(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, 6, 1) / "class 0"
    ours, theirs = ImageFolder(tmp_path, TRAIN), torchvision.datasets.ImageFolder(tmp_path, TRAIN)
    names = [Path(path) for path, _ in theirs.samples]
    names[0].unlink()
    names[1].unlink()
    names[1].mkdir()
    names[2].write_bytes(names[2].read_bytes()[:100])
    names[3].unlink()
    names[3].symlink_to(folder / "nowhere")
    for i, kind in enumerate((FileNotFoundError, IsADirectoryError, OSError, FileNotFoundError)):
        ours_said, theirs_said = verdict(ours, i), verdict(theirs, i)
        assert disagreement(ours_said, theirs_said) == "" and isinstance(theirs_said[1], kind)
        assert isinstance(ours_said[1], errors.BadImageError)
        assert ours_said[1].errno == theirs_said[1].errno
        assert (ours_said[1].path, ours_said[1].index) == (str(names[i]), i)
    names[4].unlink()
    os.mkfifo(names[4])
    error = verdict(ours, 4)[1]  # torchvision would wait for ever
    assert isinstance(error, OSError) and "not a regular file" in str(error)


def test_a_file_that_nobody_may_read() -> None:
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        make_folder(Path(root), 2, 1)
        ours, theirs = ImageFolder(root, TRAIN), torchvision.datasets.ImageFolder(root, TRAIN)
        os.chmod(theirs.samples[0][0], 0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # root may read everything
        try:
            said, expected = verdict(ours, 0), verdict(theirs, 0)
        finally:
            os.seteuid(user)
    assert disagreement(said, expected) == "" and isinstance(said[1], PermissionError)


@pytest.mark.parametrize("kind", ["JPEG", "GIF"])
def test_a_picture_that_gets_another_size(tmp_path: Path, kind: str) -> None:
    """What was drawn for the old one does not hold: it is drawn again, as torchvision would have drawn."""
    (tmp_path / "c").mkdir()
    file = tmp_path / "c" / "0.jpg"
    file.write_bytes(saved(photograph(1, 100, 80), kind) or b"")
    train, valid = ImageFolder(tmp_path, TRAIN), ImageFolder(tmp_path, VALID)
    assert verdict(train, 0)[1] is verdict(valid, 0)[1] is None
    file.write_bytes(saved(photograph(1, 90, 85), kind) or b"")
    for ours, transform in ((train, TRAIN), (valid, VALID)):
        theirs = torchvision.datasets.ImageFolder(tmp_path, transform)
        assert disagreement(verdict(ours, 0), verdict(theirs, 0)) == ""


def test_what_is_too_large_for_the_core_is_the_transforms_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise errors.UnsupportedError("resized to 20000x20000 pixels")

    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "0.jpg").write_bytes(saved(photograph(1, 100, 80), "GIF") or b"")
    monkeypatch.setattr("gofast._images.pillow.make_sample", refuse)
    compare(tmp_path, VALID)
    last = ImageFolder(tmp_path, VALID, channels_last=True)[0][0]
    assert torch.equal(last, ImageFolder(tmp_path, VALID)[0][0])
    with pytest.raises(errors.UnsupportedError, match=r"sample 0: .*0\.jpg: resized to 20000x20000"):
        ImageFolder(tmp_path, TRAIN)[0]  # what was drawn cannot be handed over


# ------------------------------------------------------------------ Pillow's settings


def _headers(root: Path) -> None:
    (root / "c").mkdir()
    for width, height in ((60_000, 60_000), (65_500, 3), (33, 20)):
        for make in (png_header, jpeg_header, webp_header):
            (root / "c" / f"{make.__name__}-{width}x{height}.jpg").write_bytes(make(width, height))
    gif = bytearray(saved(photograph(1, 33, 20), "GIF") or b"")
    gif[6:10] = b"\x60\xea\x60\xea"  # a canvas of 60,000 x 60,000
    (root / "c" / "gif.jpg").write_bytes(gif)
    for i, kind in enumerate(("PNG", "JPEG", "WEBP", "BMP")):
        (root / "c" / f"good{i}.jpg").write_bytes(saved(photograph(i, 40, 30), kind) or b"")


def test_headers_of_enormous_pictures(tmp_path: Path) -> None:
    _headers(tmp_path)
    ours, raised = compare(tmp_path, TRAIN)
    assert raised >= 6
    bombs = [verdict(ours, i)[1] for i in range(len(ours))]
    assert sum(isinstance(e, Image.DecompressionBombError) for e in bombs) == 4


@pytest.mark.parametrize("limit", [1199, 1200, 600, 599, 300, 0, None])
def test_the_users_limit_of_pixels_is_followed(
    tmp_path: Path, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures of 1,200 pixels give Pillow's error at any time, and its warnings but those of its crop."""
    (tmp_path / "c").mkdir()
    for i, kind in enumerate(("PNG", "JPEG", "WEBP", "GIF")):
        (tmp_path / "c" / f"{i}.jpg").write_bytes(saved(photograph(i, 40, 30), kind) or b"")
    ours, theirs = ImageFolder(tmp_path, VALID), torchvision.datasets.ImageFolder(tmp_path, VALID)
    before = ours._fallbacks
    for value in (1200, limit, 1200):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", value)
        for i in range(4):
            assert disagreement(verdict(ours, i), verdict(theirs, i)) == ""
            with warnings.catch_warnings(record=True) as expected:
                warnings.simplefilter("always")
                _attempt(theirs, i)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                _attempt(ours, i)
            assert {str(w.message) for w in said} == {str(w.message) for w in expected}
    gifs = 3 * 2
    assert (ours._fallbacks - before > gifs) == (limit in (1199, 600))  # that Pillow reads with a warning


def _attempt(dataset: Any, index: int) -> None:
    try:
        dataset[index]
    except Image.DecompressionBombError:
        pass


@KINDS
def test_truncated_images_are_loaded_where_the_user_says_so(
    tmp_path: Path, kinds: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c").mkdir()
    for name, data in kinds:
        if name.lower().startswith(("jpeg", "png", "webp", "bmp-rgb", "gif-")):
            for cut in (len(data) // 2, len(data) - 5, len(data) - 20):
                (tmp_path / "c" / f"{name}-{cut}.jpg").write_bytes(data[:cut])
    strict = compare(tmp_path, TRAIN)[1]
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert compare(tmp_path, TRAIN)[1] < strict - 100
    compare(tmp_path, None)


def test_plugins_that_the_user_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Plugin(ImageFile.ImageFile):
        format, format_description = "GOFASTTEST", "a line of grey"

        def _open(self) -> None:
            assert self.fp is not None
            self._size, self._mode = (int(self.fp.read(6)[4:]), 8), "L"
            self.tile = [ImageFile._Tile("raw", (0, 0, *self.size), 6, ("L", 0, 1))]

    for name in ("OPEN", "ID", "EXTENSION"):
        monkeypatch.setattr(Image, name, getattr(Image, name).copy())
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "own.png").write_bytes(b"GFTX30" + bytes(range(240)))
    assert compare(tmp_path, TRAIN)[1] == 1
    Image.register_open("GOFASTTEST", Plugin, lambda head: head.startswith(b"GFTX"))
    ours, raised = compare(tmp_path, TRAIN)
    assert raised == 0 and ours._fallbacks == 1


# ------------------------------------------------------------------ policies

BAD = (4, 11, 12, 13)  # samples that cannot be read; 11 has a good header


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 pictures in 3 classes, four of which are broken, two GIFs."""
    folder = make_folder(tmp_path_factory.mktemp("pictures") / "pictures", 24, 3)
    files = [Path(path) for path, _ in torchvision.datasets.ImageFolder(folder).samples]
    files[BAD[0]].write_bytes(b"")
    files[BAD[1]].write_bytes(files[BAD[1]].read_bytes()[:-60])
    files[BAD[2]].write_bytes(b"\xff\xd8\xff\xe0" + bytes(50))
    files[BAD[3]].write_bytes(png_header(50, 50))
    for i in (0, 20):
        files[i].write_bytes(saved(photograph(i, 50, 40), "GIF") or b"")
    return folder


@pytest.fixture
def root(written: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(written, tmp_path / "pictures"))


def _open(path: str) -> Image.Image:
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


def _next(index: int, _: Exception) -> int:
    return index + 1


def _grey(_index: int, _error: Exception) -> Image.Image:
    return Image.new("L", (90, 70), 128)


POLICIES: dict[str, Any] = {"replace": "replace", "zero": "zero", "next": _next, "grey": _grey}


def folder(root: Path, transform: Any, policy: Any, **options: Any) -> ImageFolder:
    return ImageFolder(root, transform, on_error=policy, **options)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("transform", [TRAIN, VALID, REST], ids=["train", "valid", "rest"])
@pytest.mark.filterwarnings("ignore:sample 4:RuntimeWarning")
def test_policies_give_the_same_in_every_way_that_samples_are_made(
    root: Path, policy: str, transform: Any
) -> None:
    def batches(loader: Callable[..., Any], workers: int) -> list[Any]:
        torch.manual_seed(1)
        dataset = folder(root, transform, POLICIES[policy])
        made = list(loader(dataset, batch_size=5, num_workers=workers))
        assert set(dataset.bad_samples()) == {dataset._files.path(i) for i in BAD}
        return made

    plain = batches(DataLoader, 0)
    assert [tuple(x.shape) for x, _ in plain] == [(5, *plain[0][0].shape[1:])] * 4 + [
        (4, *plain[0][0].shape[1:])
    ]
    assert difference(batches(gofast.DataLoader, 0), plain) == ""
    workers = batches(DataLoader, 2)
    assert difference(batches(gofast.DataLoader, 2), workers) == ""
    labels, samples = torch.cat([y for _, y in plain]), torch.cat([x for x, _ in plain])
    own = torch.tensor(folder(root, None, "raise")._files.targets)
    for i in BAD:
        replacement = next(other for other in stand_ins(i, 24) if other not in BAD)
        used = {"replace": replacement, "next": i + 1 if i == 4 else 14}.get(policy, i)
        assert labels[i] == own[used]
        if policy == "zero":
            assert not samples[i].any()
        if transform is VALID:
            expected = folder(root, VALID, "raise")[used][0] if policy in ("replace", "next") else None
            expected = VALID(_grey(0, OSError()).convert("RGB")) if policy == "grey" else expected
            assert expected is None or torch.equal(samples[i], expected)
    torch.manual_seed(1)
    if transform is not TRAIN:
        return
    dataset = folder(root, transform, POLICIES[policy])
    torch.empty((), dtype=torch.int64).random_()  # the loader's base seed
    singles = [dataset[i] for i in range(24)]
    assert difference(torch.stack([x for x, _ in singles]), samples) == ""


@pytest.mark.filterwarnings("ignore:sample 4:RuntimeWarning")
@pytest.mark.parametrize("transform", [VALID, REST], ids=["valid", "rest"])
def test_index_and_path_are_those_of_what_stands_in(root: Path, transform: Any) -> None:
    for loader, workers in ((DataLoader, 0), (DataLoader, 1), (gofast.DataLoader, 0), (gofast.DataLoader, 1)):
        dataset = folder(root, transform, _next, return_index=True, return_path=True)
        _, labels, indices, paths = next(iter(loader(dataset, batch_size=24, num_workers=workers)))
        expected = [{4: 5, 11: 14, 12: 14, 13: 14}.get(i, i) for i in range(24)]
        assert indices.tolist() == expected
        assert [(path, int(label)) for path, label in zip(paths, labels, strict=True)] == [
            dataset.samples[i] for i in expected
        ]


def test_good_samples_are_torchvisions_beside_bad_ones(root: Path) -> None:
    good = [i for i in range(24) if i not in BAD]
    ours, theirs = folder(root, VALID, "zero"), torchvision.datasets.ImageFolder(root, VALID)
    with pytest.warns(RuntimeWarning, match="bad_samples"):
        images = torch.cat([x for x, _ in DataLoader(ours, batch_size=24)])
    assert torch.equal(images[good], torch.stack([theirs[i][0] for i in good]))


def test_stand_ins_are_a_function_of_index_and_attempt() -> None:
    for count in (1, 2, 3, 10, 101):
        for sample in range(count):
            found = list(stand_ins(sample, count))
            assert sorted([*found, sample])[:count] == sorted({*found, sample})
            assert len(found) == min(count - 1, 100)
    assert list(stand_ins(3, 8)) == list(stand_ins(3, 8)) == [0, 5, 2, 7, 4, 1, 6]


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_with_a_loader_of_the_users(root: Path, policy: str) -> None:
    # What stands in for a picture of a user's loader goes to the transform as it is.
    given = POLICIES[policy] if policy != "grey" else lambda *bad: _grey(*bad).convert("RGB")
    dataset = folder(root, VALID, given, loader=_open)
    with pytest.warns(RuntimeWarning, match="said once"):
        images, labels = next(iter(DataLoader(dataset, batch_size=24)))
    reference = folder(root, VALID, POLICIES[policy])
    with pytest.warns(RuntimeWarning, match="said once"):
        expected, expected_labels = next(iter(DataLoader(reference, batch_size=24)))
    assert torch.equal(images, expected) and torch.equal(labels, expected_labels)
    assert set(dataset.bad_samples()) == set(reference.bad_samples())


def test_a_callable_may_raise_and_is_not_asked_for_ever(root: Path) -> None:
    def refuse(index: int, error: Exception) -> Any:
        raise KeyError(f"{index} {type(error).__name__}")

    with pytest.warns(RuntimeWarning), pytest.raises(KeyError, match="4 BadImageError"):
        folder(root, TRAIN, refuse)[4]
    asked: list[int] = []

    def in_circles(index: int, _: Exception) -> int:
        asked.append(index)
        return BAD[len(asked) % 4]

    with pytest.warns(RuntimeWarning), pytest.raises(errors.BadImageError, match="sample 4: "):
        folder(root, TRAIN, in_circles)[4]
    assert len(asked) == 100
    with pytest.warns(RuntimeWarning), pytest.raises(errors.OptionError, match="an index or a PIL image"):
        folder(root, TRAIN, lambda *_: None)[4]
    with pytest.warns(RuntimeWarning), pytest.raises(errors.RowIndexError, match="there are 24 samples"):
        folder(root, TRAIN, lambda *_: 24)[4]


@pytest.mark.filterwarnings("ignore:sample 4:RuntimeWarning")
def test_a_stand_in_has_its_own_info(root: Path) -> None:
    for policy in ("replace", "next", "zero", "grey"):
        dataset = folder(root, None, POLICIES[policy], return_path=True)
        for picture, _, path in (dataset[i] for i in BAD):
            assert picture.info == (_open(path).info if policy in ("replace", "next") else {})


def test_nothing_readable_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for i in range(3):
        (tmp_path / "c" / f"{i}.jpg").write_bytes(b"")
    with pytest.warns(RuntimeWarning), pytest.raises(errors.BadImageError, match="sample 1: "):
        folder(tmp_path, TRAIN, "replace")[1]
    with pytest.warns(RuntimeWarning):
        assert not folder(tmp_path, TRAIN, "zero")[1][0].any()


def test_options_are_checked(root: Path) -> None:
    for options in ({"on_error": "skip"}, {"on_error": None}, {"max_bad": -1}, {"max_bad": 1.5}):
        with pytest.raises(errors.OptionError):
            ImageFolder(root, TRAIN, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------ errors and the account


def test_the_error_says_where_and_why(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = ImageFolder(root, TRAIN)
    with pytest.raises(PIL.UnidentifiedImageError, match="cannot identify image file") as caught:
        dataset[4]
    assert isinstance(caught.value, errors.BadImageError) and caught.value.index == 4
    assert f"{type(caught.value).__module__}.{type(caught.value).__name__}" == "gofast.errors.BadImageError"
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value) and again.index == 4
    derived = type("Derived", (type(caught.value),), {"__module__": __name__})
    monkeypatch.setitem(globals(), "Derived", derived)
    assert type(pickle.loads(pickle.dumps(derived("text")))) is derived
    with pytest.raises(
        OSError, match=r"image file is truncated \(\d+ bytes not processed\) \(at byte \d+"
    ) as cut:
        DataLoader(dataset, batch_size=24)._get_iterator()._dataset_fetcher.fetch([10, 11])
    assert isinstance(cut.value, errors.BadImageError)
    assert cut.value.path == dataset._files.path(11) and cut.value.offset is not None
    assert f"sample 11: {cut.value.path}" in str(cut.value)
    assert {path: bad.count for path, bad in dataset.bad_samples().items()} == {
        dataset._files.path(4): 1,
        dataset._files.path(11): 1,
    }


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_the_error_of_a_missing_file_keeps_its_number(root: Path, again: Callable[[Any], Any]) -> None:
    dataset = ImageFolder(root, TRAIN)
    Path(dataset._files.path(4)).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        dataset[4]
    copied = again(again(caught.value))
    assert (copied.errno, copied.strerror) == (errno.ENOENT, os.strerror(errno.ENOENT))
    assert copied.filename == dataset._files.path(4) and vars(copied) == vars(caught.value)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform", [TRAIN, REST], ids=["train", "rest"])
def test_who_catches_an_error_goes_on_as_with_torchvision(root: Path, transform: Any, workers: int) -> None:
    def forgiving(kind: Any) -> Any:
        class Forgiving(kind):  # type: ignore[misc]
            def __getitem__(self, index: int) -> Any:
                try:
                    return super().__getitem__(index)
                except OSError:
                    return self[index + 1]

        return Forgiving(root, transform)

    def batches(dataset: Any) -> list[Any]:
        torch.manual_seed(2)
        loader, seen = iter(DataLoader(dataset, 5, num_workers=workers)), []
        for _ in range(5):
            try:
                seen.append(next(loader))
            except OSError:
                seen.append("bad")
        return [*seen, torch.rand(3)]

    for make in (forgiving, lambda kind: kind(root, transform)):
        ours, theirs = batches(make(ImageFolder)), batches(make(torchvision.datasets.ImageFolder))
        assert not difference(ours, theirs)
        assert ("bad" in theirs) is (make is not forgiving)


@pytest.mark.arrives("copied")
@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("transform", [TRAIN, VALID, REST], ids=["train", "valid", "rest"])
def test_errors_come_with_their_batch_and_the_loader_goes_on(
    root: Path, transform: Any, workers: int
) -> None:
    loader = gofast.DataLoader(ImageFolder(root, transform), batch_size=4, num_workers=workers)
    for _ in range(2):
        iterator, seen = iter(loader), []
        for _batch in range(6):
            try:
                seen.append(len(next(iterator)[1]))
            except OSError as error:
                seen.append(0)
                assert isinstance(error, errors.BadImageError)
        assert seen == [4, 0, 0, 0, 4, 4]
        with pytest.raises(StopIteration):
            next(iterator)


@pytest.mark.filterwarnings("ignore:sample 4:RuntimeWarning")
@pytest.mark.parametrize("transform", [TRAIN, VALID], ids=["train", "valid"])
def test_an_index_out_of_range_beside_what_pillow_decodes(root: Path, transform: Any) -> None:
    for batch in ([0, 24, 1], [4, -25, 1]):
        loader = gofast.DataLoader(folder(root, transform, "zero"), batch_sampler=[batch, [0, 1, 2]])
        iterator = iter(loader)
        with pytest.raises(errors.RowIndexError, match=f"index {batch[1]} is out of range"):
            next(iterator)
        assert len(next(iterator)[1]) == 3


def test_errors_cross_from_workers_with_their_class(root: Path) -> None:
    iterator = iter(DataLoader(ImageFolder(root, TRAIN), batch_size=3, num_workers=2))
    next(iterator)
    with pytest.raises(PIL.UnidentifiedImageError) as caught:
        next(iterator)
    assert isinstance(caught.value, errors.BadImageError)


@pytest.mark.parametrize("context", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.soak)])
def test_the_account_has_what_workers_met(root: Path, context: str) -> None:
    dataset = folder(root, VALID, "replace")
    loader = DataLoader(dataset, batch_size=4, num_workers=2, multiprocessing_context=context)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a test that ends while a worker says it on stderr
        for _ in range(3 if context == "fork" else 1):
            assert len(list(loader)) == 6
    times = 3 if context == "fork" else 1
    account = dataset.bad_samples()
    assert list(account) == [dataset._files.path(i) for i in BAD]
    assert all(bad.count >= times for bad in account.values())
    assert "image file is truncated" in account[dataset._files.path(11)].reason
    assert dataset._fallbacks >= 2 * times


@pytest.mark.parametrize("workers", [0, 2])
def test_too_many_bad_samples_stop_the_run(root: Path, workers: int) -> None:
    dataset = folder(root, TRAIN, "zero", max_bad=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(errors.LimitError, match="4 bad samples are more than max_bad=3; the last: "):
            list(DataLoader(dataset, batch_size=4, num_workers=workers))
        assert len(list(DataLoader(folder(root, TRAIN, "zero", max_bad=4), batch_size=4))) == 6


def test_it_is_said_once(root: Path) -> None:
    dataset = folder(root, TRAIN, "zero")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            list(DataLoader(dataset, batch_size=4))
    assert len([w for w in said if issubclass(w.category, RuntimeWarning)]) == 1
    assert {bad.count for bad in dataset.bad_samples().values()} == {2}


def test_without_pillow_the_core_is_the_judge(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    dataset = ImageFolder(root, VALID)
    with pytest.raises(errors.UnsupportedError, match=r"sample 0: .*; install Pillow"):
        dataset[0]
    with pytest.raises(errors.BadImageError, match=r"sample 11: .*image file is truncated"):
        dataset[11]


# ------------------------------------------------------------------ what it costs


def test_pillow_is_not_imported_where_nobody_needs_it(root: Path) -> None:
    files = torchvision.datasets.ImageFolder(root).samples
    for i in (0, *BAD, 20):
        Path(files[i][0]).unlink()
    code = f"""
        import sys, gofast
        from gofast.images import ImageFolder
        dataset = ImageFolder({str(root)!r})
        batch = dataset._here().batcher.batch(__import__("array").array("q", range(len(dataset))))
        assert dataset.bad_samples() == {{}} and len(dataset) == 18
        sys.exit("PIL.Image was imported" if "PIL.Image" in sys.modules else 0)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _fail(fetch: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        with pytest.raises(OSError):
            fetch()


@pytest.mark.daily(1)
@pytest.mark.parametrize("transform", [VALID, T.Lambda(lambda picture: picture)], ids=["tensors", "pictures"])
def test_batches_that_fail_leave_nothing_behind(tmp_path: Path, transform: Any) -> None:
    """2,000 batches; of the pictures alone each would leave 100 kB."""
    (tmp_path / "c").mkdir()
    for i in range(4):
        (tmp_path / "c" / f"{i}.jpg").write_bytes(saved(photograph(i, 100, 64), "JPEG") or b"")
    (tmp_path / "c" / "9.jpg").write_bytes(b"\xff\xd8\xff")
    dataset = ImageFolder(tmp_path, transform)
    _fail(lambda: dataset.__getitems__([0, 1, 2, 3, 4]), 300)
    gc.collect()
    before, descriptors = _resident(), _descriptors()
    _fail(lambda: dataset.__getitems__([0, 1, 2, 3, 4]), 1700)
    gc.collect()
    assert _descriptors() <= descriptors  # fewer, when an earlier test's workers are gone
    assert _resident() - before < 8 << 20
    assert len(dataset.__getitems__([0, 1, 2, 3])) == 4


@pytest.mark.daily(1)
@pytest.mark.parametrize("transform", [None, VALID], ids=["pictures", "tensors"])
def test_an_enormous_picture_leaves_no_memory_behind(tmp_path: Path, transform: Any) -> None:
    """A thread keeps none of its 120 MB: a folder may hold one such file, and a machine many threads."""
    path = tmp_path / "0.png"
    Image.new("RGB", (10_000, 4_000)).save(path, compress_level=1)
    dataset = gofast.ImageFiles([path, path], transform=transform)
    before = _resident()
    for _ in range(2):
        assert dataset[0] is not None
        assert len(dataset.__getitems__([0, 1])) == 2  # by the engine's threads
        gc.collect()
        assert _resident() - before < 64 << 20


def test_an_epoch_of_errors_leaves_nothing_behind(root: Path) -> None:
    shutil.rmtree(root / "class 2")
    loader = gofast.DataLoader(ImageFolder(root, TRAIN), batch_size=2, num_workers=2)

    def epoch() -> None:
        iterator: Iterator[Any] = iter(loader)
        for _ in range(8):
            try:
                next(iterator)
            except OSError:
                continue

    for _ in range(10):
        epoch()
    gc.collect()
    before, descriptors = _resident(), _descriptors()
    for _ in range(100):
        epoch()
    gc.collect()
    assert _descriptors() <= descriptors  # fewer, when an earlier test's workers are gone
    assert _resident() - before < 8 << 20

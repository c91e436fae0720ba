"""ImageFiles.from_tar: the samples that tarfile, Pillow and torchvision make of the same files."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._core import warn
from gofast._core.braces import braces
from picture_files import contents
from tars import grouped, tar_bytes, write_tar

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def reference(paths: list[Path]) -> list[tuple[bytes, int]]:
    """What is in them, by tarfile, and as webdataset groups it."""
    samples = [sample for path in paths for sample in grouped(path.read_bytes())[0]]
    return [(sample.get("jpg") or sample["png"], int(sample["cls"])) for sample in samples]


@pytest.mark.parametrize("kind", FORMATS)
def test_batches_are_those_of_tarfile_and_torchvision(tmp_path: Path, kind: str) -> None:
    pictures, stem = contents(13), "ä" * 20 + "/" + "b" * (60 if kind == "ustar" else 300) + "/"
    paths = [tmp_path / "0.tar", tmp_path / "1.tar"]
    samples = [
        {"txt": b"", "JPG" if i % 2 else "png": picture, "seg.png": b"other", "cls": b" %d\n" % (i * 3 - 7)}
        for i, picture in enumerate(pictures)
    ]
    write_tar(paths[0], samples[:6], FORMATS[kind], stem)
    write_tar(paths[1], samples[6:], FORMATS[kind], "a.b/c")
    with tarfile.open(paths[0], "a") as tar:
        for name, form in [
            ("folder.jpg", tarfile.DIRTYPE),
            ("link.jpg", tarfile.SYMTYPE),
            ("none", tarfile.REGTYPE),
        ]:
            member = tarfile.TarInfo(name)
            member.type = form
            tar.addfile(member)
    dataset = gofast.ImageFiles.from_tar(paths, "jpg;png", transform=TRAIN)
    plain = reference(paths)
    assert len(dataset) == len(plain) == 13
    told = gofast.explain(gofast.DataLoader(dataset, 13), step=0)
    assert told.files == [f"{paths[i >= 6]}[{i - 6 * (i >= 6)}]" for i in range(13)]
    torch.manual_seed(5)
    got = list(gofast.DataLoader(dataset, batch_size=4, shuffle=True))
    torch.manual_seed(5)
    made = [
        (TRAIN(Image.open(io.BytesIO(plain[i][0])).convert("RGB")), plain[i][1])
        for i in DataLoader(range(13), batch_size=None, shuffle=True)  # type: ignore[arg-type]
    ]
    want = list(DataLoader(made, batch_size=4))  # type: ignore[arg-type]
    for (picture, label), (wanted, number) in zip(got, want, strict=True):
        assert torch.equal(picture, wanted) and torch.equal(label, number)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path, picture = tmp_path / "a.tar", contents(1)[0]
    write_tar(path, [{"jpg": picture, "cls": b"dog"}])
    with pytest.raises(errors.SchemaError, match="dog"):
        gofast.ImageFiles.from_tar(path)
    assert len(gofast.ImageFiles.from_tar(path, label=None)) == 1
    write_tar(path, [{"jpg": picture, "cls": b"1"}, {"cls": b"1"}])
    with pytest.raises(errors.MissingValueError, match=re.escape(f"{path}[1]")):
        gofast.ImageFiles.from_tar(path)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(errors.DamagedError, match="ends after 188") as error:
        gofast.ImageFiles.from_tar(path)
    assert error.value.path == str(path) and error.value.offset == 512


@pytest.mark.parametrize(
    ("label", "want", "batch"),
    [
        ("txt", ["a ä", "b"], ("a ä", "b")),
        ("json", [{"x": {"y": 4}}, {"x": {"y": 5}}], {"x": {"y": torch.tensor([4, 5])}}),
        ("json:x.y", [4, 5], torch.tensor([4, 5])),
        (["cls", "txt"], [(1, "a ä"), (2, "b")], [torch.tensor([1, 2]), ("a ä", "b")]),
        ("id;cls", [1, 2], torch.tensor([1, 2])),
    ],
)
def test_labels_are_what_their_suffix_says(tmp_path: Path, label: Any, want: list[Any], batch: Any) -> None:
    picture, path = contents(1)[0], tmp_path / "a.tar"
    rows = [(b"1", "a ä", b'{"x": {"y": 4}}'), (b"2\n", "b", b'{"x": {"y": 5}}')]
    write_tar(path, [{"jpg": picture, "cls": c, "txt": t.encode(), "json": j} for c, t, j in rows])
    dataset = gofast.ImageFiles.from_tar(path, label=label, transform=T.ToTensor())
    assert [dataset[i][1] for i in range(2)] == want
    _, labels = next(iter(gofast.DataLoader(dataset, batch_size=2)))
    assert repr(labels) == repr(batch)


def test_wrong_labels_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(
        path, [{"jpg": b"", "json": b'{"x": 1}', "txt": b"\xff"}, {"jpg": b"", "json": b"{", "txt": b""}]
    )
    for label, said in (
        ("json", "Expecting"),
        ("json:y", "KeyError"),
        ("txt", "xff"),
        (["txt;cls", "json"], "xff"),
    ):
        with pytest.raises(errors.SchemaError, match=said) as error:
            gofast.ImageFiles.from_tar(path, label=label)
        assert f"{path}[" in str(error.value)
    for wrong in (3, ["cls", 3]):
        with pytest.raises(errors.OptionError):
            gofast.ImageFiles.from_tar(path, label=wrong)


def test_damage_is_a_warning_where_errors_are_replaced(tmp_path: Path) -> None:
    """The samples before it are there, and those of other files."""
    picture = contents(1)[0]
    samples = [{"jpg": picture, "cls": b"%d" % i} for i in range(4)]
    whole = tar_bytes(samples)
    each = 1024 + 512 * (1 + -(-len(picture) // 512))
    contents_of = {"cut": whole[: 2 * each + 700], "broken": bytearray(whole), "two": whole + whole}
    contents_of["broken"][3 * each] ^= 1
    for name, (content, left) in zip(
        contents_of, zip(contents_of.values(), (2, 3, 4), strict=True), strict=True
    ):
        (tmp_path / "1.tar").write_bytes(content)
        paths = tmp_path / "0.tar", tmp_path / "1.tar", tmp_path / "2.tar"
        write_tar(paths[0], samples[:1])
        write_tar(paths[2], samples[:1])
        with pytest.raises(errors.DamagedError) as error:
            gofast.ImageFiles.from_tar(paths)
        assert error.value.path == str(paths[1]) and error.value.offset is not None
        warn._said.clear()
        with pytest.warns(errors.GofastWarning, match=f"{paths[1]}.*{left} samples before") as said:
            dataset = gofast.ImageFiles.from_tar(paths, on_error="zero")
        assert f"offset {error.value.offset}" in str(said[0].message), name
        assert [label for _, label in dataset] == [0, *range(left), 0]


def test_names_have_braces(tmp_path: Path) -> None:
    for i in range(3):
        write_tar(tmp_path / f"a-{i:03}.tar", [{"jpg": contents(1)[0], "cls": b"%d" % i}])
    for pattern, want in {
        "a-{002..000}": [2, 1, 0],
        "a-00{0,2}": [0, 2],
        "{b,a}-*": [],
        "a-{000..003}": [],
    }.items():
        given = f"{tmp_path}/{pattern}.tar"
        if want:
            assert [label for _, label in gofast.ImageFiles.from_tar(given)] == want
        else:
            with pytest.raises(errors.NotFoundError):
                gofast.ImageFiles.from_tar(given)
    (tmp_path / "{0,1}.tar").write_bytes((tmp_path / "a-001.tar").read_bytes())
    assert len(gofast.ImageFiles.from_tar(tmp_path / "{0,1}.tar")) == 1


@pytest.mark.parametrize(
    ("pattern", "want"),
    [
        ("a{1..3}", "a1 a2 a3"),
        ("{07..10}", "07 08 09 10"),
        ("{a..g..2}", "a c e g"),
        ("{4..1}", "4 3 2 1"),
        ("{2..-1}", "2 1 0 -1"),
        ("{2.{5..7},3.{2,3}}", "2.5 2.6 2.7 3.2 3.3"),
        ("i{,.b}", "i i.b"),
        (r"{1\{2,3}", "1{2 3"),
        ("{a}{}", "{a}{}"),
        ("{-05..05..5}", "-05 000 005"),
        ("{c..a}", "c b a"),
        ("{{1,2}}", "{1} {2}"),
        ("{0..0}", "0"),
        ("x", "x"),
        ("", ""),
        ("{00..1}{a,b}", "00a 00b 01a 01b"),
        ("{1..3..0}", "1 2 3"),
        (r"\{1,2\}", "{1,2}"),
    ],
)
def test_braces_are_bashs(pattern: str, want: str) -> None:
    assert braces(pattern) == want.split(" ")
    braceexpand = pytest.importorskip("braceexpand", reason="compared with the package where it is installed")
    assert braces(pattern) == list(braceexpand.braceexpand(pattern))


@pytest.mark.parametrize("pattern", ["{a", "a}", "{1{2,3}"])
def test_braces_that_do_not_match(pattern: str) -> None:
    with pytest.raises(errors.OptionError, match="do not match"):
        braces(pattern)

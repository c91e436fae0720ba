"""ImageFiles.from_tar: the samples that tarfile, Pillow and torchvision make of the same files."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from picture_files import contents
from tars import write_tar

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")  # webdataset's


def reference(paths: list[Path]) -> list[tuple[bytes, int]]:
    """What is in them, by tarfile, and as webdataset groups it."""
    found: list[dict[str, bytes]] = []
    for path in paths:
        key = None
        with tarfile.open(path) as tar:
            for member in tar:
                divided = KEY.match(member.name)
                if not member.isreg() or divided is None:
                    continue
                if divided[1] != key:
                    found.append({})
                    key = divided[1]
                file = tar.extractfile(member)
                assert file is not None
                found[-1][divided[2].lower()] = file.read()
    return [(sample.get("jpg") or sample["png"], int(sample["cls"])) for sample in found]


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

"""PGM and PPM files: Pillow's pixels and Pillow's verdict, of whatever kind they are and however damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
import torchvision
from torchvision import transforms as T

from gofast.images import ImageFolder
from picture_files import broken
from same import difference

HEADERS = {
    "P5": (b"P5 13 7 255\n", 1),
    "P6": (b"P6\n13 7\n255\n", 3),
    "P6-spaces": (b"P6 \t\r\n13 \v\f 7\r255\t", 3),
    "P6-zeros": (b"P6 0013 007 0255\n", 3),
}
OTHERS = {
    "P5-comment": (b"P5 # a comment\n13 7 255\n", 1),
    "P6-comment-in-number": (b"P6 1#\n3 7 255\n", 3),
    "P6-comment-behind": (b"P6 13 7 255# no\n", 3),
    "P5-4-bits": (b"P5 13 7 15\n", 1),
    "P6-100": (b"P6 13 7 100\n", 3),
    "P5-16-bits": (b"P5 13 7 65535\n", 2),
    "P6-1000": (b"P6 13 7 1000\n", 6),
    "P4": (b"P4 13 7\n", 1),
    "P7": (b"P7\nWIDTH 13\nHEIGHT 7\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n", 3),
    "Py": (b"PyP\n13 7\n255\n", 3),
    "P0CMYK": (b"P0CMYK\n13 7\n255\n", 4),
    "no-space": (b"P513 7 255\n", 1),
    "maxval-0": (b"P5 13 7 0\n", 1),
    "width-0": (b"P5 0 7 255\n", 1),
    "negative": (b"P5 -13 7 255\n", 1),
    "underscore": (b"P5 1_3 7 255\n", 1),
    "plus": (b"P5 +13 7 255\n", 1),
    "long-number": (b"P5 00000000013 7 255\n", 1),
    "ten-digits": (b"P5 0000000013 7 255\n", 1),
}
TRANSFORMS = {
    "pictures": None,
    "train": T.Compose([T.RandomResizedCrop(8), T.RandomHorizontalFlip(), T.ToTensor()]),
    "centre": T.Compose([T.CenterCrop(5), T.ToTensor()]),
}


def compare(root: Path, kind: str) -> tuple[ImageFolder, int]:
    """Compares every sample with torchvision's: the dataset, and how many samples raised."""
    transform = TRANSFORMS[kind]
    ours, theirs = ImageFolder(root, transform), torchvision.datasets.ImageFolder(root, transform)
    assert len(ours) == len(theirs) > 0
    raised = 0
    for i, (path, _) in enumerate(theirs.samples):
        torch.manual_seed(i)
        try:
            expected = theirs[i][0]
        except Exception as error:
            raised += 1
            with pytest.raises(type(error)):
                ours[i]
            continue
        torch.manual_seed(i)
        assert difference(ours[i][0], expected) == "", path
    return ours, raised


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_kinds(tmp_path: Path, kind: str) -> None:
    (tmp_path / "c").mkdir()
    rng = random.Random(1)
    for name, (header, size) in (HEADERS | OTHERS).items():
        (tmp_path / "c" / f"{name}.ppm").write_bytes(header + rng.randbytes(13 * 7 * size))
    (tmp_path / "c" / "P3.ppm").write_text("P3 2 1 255 1 2 3 4 5 6\n")
    ours, raised = compare(tmp_path, kind)
    assert 0 < ours._fallbacks <= len(OTHERS) + 1 - raised < len(ours) - len(HEADERS)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_damaged(tmp_path: Path, kind: str) -> None:
    (tmp_path / "c").mkdir()
    rng = random.Random(2)
    for i, (name, (header, size)) in enumerate((HEADERS | OTHERS).items()):
        data = header + rng.randbytes(13 * 7 * size)
        for what, made in broken(data, i, 15):
            (tmp_path / "c" / f"{name}-{what}.ppm").write_bytes(made)
    ours, raised = compare(tmp_path, kind)
    assert 50 < raised < len(ours) - 50


def test_whole_files_are_decoded_natively(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for name, (header, size) in HEADERS.items():
        (tmp_path / "c" / f"{name}.jpg").write_bytes(header + bytes(13 * 7 * size) + b"more")
    ours, raised = compare(tmp_path, "train")
    assert (ours._fallbacks, raised) == (0, 0)

"""Samples that are ranges of an object: none reaches beyond it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torchvision import transforms as T

from gofast import errors
from gofast._core.memory import address_of
from gofast._images.picture_files import PictureFiles
from gofast.images import ImageFiles
from image_data import photograph
from picture_files import saved


@pytest.mark.parametrize("kind", ["file", "memory"])
@pytest.mark.parametrize("reach", [(-10, 11), (1, -1)])
def test_a_range_outside_its_object_is_an_error(
    kind: str, reach: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytes(512) + (saved(photograph(1, 30, 40), "JPEG") or b"")  # a whole object is no picture
    (tmp_path / "0.jpg").write_bytes(content)
    whole = PictureFiles.addresses
    for offset, length in ((len(content) + reach[0], reach[1]), (-1, 10)):
        extents = np.array([(0, offset, length)], np.int64)  # gf_extent: the object's number fills one word
        with monkeypatch.context() as patched:
            more = {"extents": address_of(extents)}
            patched.setattr(PictureFiles, "addresses", lambda *a, more=more: whole(*a) | more)
            options = {"transform": T.ToTensor()}
            made = (
                ImageFiles.from_bytes([content], **options)
                if kind == "memory"
                else ImageFiles([tmp_path / "0.jpg"], **options)
            )
            with pytest.raises((errors.GofastError, OSError)):
                made[0]

"""`make demo` in short: its photographs, and its pipelines' promise of equal batches; and `gofast demo`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from gofast._command import before_after, main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def demo() -> Iterator[ModuleType]:
    pytest.importorskip("torchvision")
    sys.path.insert(0, str(EXAMPLES))
    try:
        import demo_images

        yield demo_images
    finally:
        sys.path.remove(str(EXAMPLES))


def test_the_photographs_are_few_small_and_of_three_classes(demo: ModuleType) -> None:
    files = sorted(demo.PHOTOS.glob("*/*.jpg"))
    assert [file.parent.name for file in files] == ["coast"] * 12 + ["forest"] * 12 + ["town"] * 12
    assert sum(file.stat().st_size for file in files) < 1_500_000


@pytest.mark.full
def test_every_pipeline_gives_the_batches_of_the_one_it_names(demo: ModuleType) -> None:
    ways = demo.pipelines(str(demo.PHOTOS))
    assert [way.equals for way in ways] == [0, 1, 0, 1, 1]
    for way in ways[2:]:
        assert demo.same_batches(ways[way.equals], way) == 36


def test_batches_that_differ_stop_the_demo(demo: ModuleType) -> None:
    ways = demo.pipelines(str(demo.PHOTOS))
    with pytest.raises(SystemExit, match="batch 0 differs"):
        demo.same_batches(ways[0], ways[1])


def test_all_sides_of_the_command_have_one_thread_of_torchs() -> None:
    threads = torch.get_num_threads()
    seen = []

    def epoch() -> Iterator[list[torch.Tensor]]:
        seen.append(torch.get_num_threads())
        yield [torch.zeros(1, 1), torch.zeros(1, dtype=torch.int64)]

    class Loader:
        def __iter__(self) -> Iterator[list[torch.Tensor]]:
            return epoch()

    torch.set_num_threads(3)
    try:
        made = before_after._compared("", lambda: torch.nn.Linear(1, 1), [("", Loader), ("", Loader)])
        assert made["batches"] == 1 and all(0 < way["waiting"] < way["epoch"] for way in made["ways"])
        assert seen == [1] * 6 and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(np, "savetxt", full)
    assert main.main(["demo"]) == 1
    said = capsys.readouterr()
    assert f"{tmp_path} is full" in said.err and "TMPDIR" in said.err
    assert list(tmp_path.iterdir()) == []

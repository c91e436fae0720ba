"""What is drawn for a batch: the sizes of its pictures, and records of them."""

from __future__ import annotations

import signal
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision import transforms as T

import gofast
from gofast._core import engine
from gofast._images.fallback import ANY_SIDE
from gofast._images.picture_draws import draw, find_sizes
from image_data import photograph
from picture_files import png_header

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])


ViewOf = Callable[..., Any]


@pytest.fixture
def view_of(monkeypatch: pytest.MonkeyPatch) -> ViewOf:
    """Makes a view of files whose headers so many threads read; 0: the caller's alone."""

    def made(paths: list[str], threads: int, **options: Any) -> Any:
        dataset = gofast.ImageFiles(paths, transform=TRAIN, **options)
        monkeypatch.setattr(engine, "helpers", lambda: (engine.crew() if threads else 0, threads))
        return dataset._here().view.keep(dataset)

    return made


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """Pictures of the core's, of Pillow's, and of nobody's."""
    for i, kind in enumerate(["JPEG", "PNG", "WEBP", "GIF", "JPEG", "BMP"]):
        photograph(i, 40 + i, 30 + 2 * i).save(tmp_path / f"{i}.png", kind)
    (tmp_path / "6.png").write_bytes(b"no picture")
    (tmp_path / "7.png").write_bytes(png_header(0, 0))
    return [str(tmp_path / f"{i}.png") for i in range(9)]  # the last is not there


@pytest.mark.parametrize("threads", [0, 2])
def test_sizes_are_found_whoever_can_tell(view_of: ViewOf, paths: list[str], threads: int) -> None:
    view = view_of(paths, threads)
    indices = array("q", [*range(len(paths)), 3, 0, -9])
    found = torch.tensor(find_sizes(view, indices)).view(-1, 2).tolist()
    wanted = [[40 + i, 30 + 2 * i] for i in range(6)] + 3 * [[ANY_SIDE, ANY_SIDE]]
    assert found == [wanted[i] for i in indices]
    sizes = view.datasets[0]._files.sizes
    assert sizes.tolist() == wanted[:6] + 3 * [[0, 0]], "what is known is kept"


@pytest.mark.parametrize("rng", ["torch", "stateless"])
def test_an_index_that_is_none(view_of: ViewOf, paths: list[str], rng: str) -> None:
    view, indices = view_of(paths, 0, rng=rng), array("q", [1, len(paths)])
    with pytest.raises(gofast.errors.RowIndexError, match=f"index {len(paths)} is out of range"):
        draw(view, indices, array("i", bytes(16)), 0)


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_before_a_bad_index_draw(paths: list[str], workers: int) -> None:
    """torch's fetcher asks for one sample after another."""
    pictures = gofast.ImageFiles(paths[:6], transform=TRAIN)
    plain = torch.utils.data.StackDataset(pictures)  # of which torch knows nothing but __getitem__
    batches = [[0, 1], [2, 3, 9], [-7, 1], [4, 5], [0, 2]]
    seen: list[list[Any]] = []
    for data, loader in ((plain, torch.utils.data.DataLoader), (pictures, torch.utils.data.DataLoader),
                         (pictures, gofast.DataLoader)):  # fmt: skip
        torch.manual_seed(3)
        iterator, made = iter(loader(data, batch_sampler=batches, num_workers=workers)), []
        for _ in batches:
            try:
                batch = next(iterator)
                made.append((batch[0] if data is plain else batch).tolist())
            except IndexError:
                made.append("IndexError")
        seen.append([*made, torch.rand(1).item()])
    assert seen[0].count("IndexError") == 2 and seen[0] == seen[1] == seen[2]


def test_streams_know_what_came_before_in_the_batch(view_of: ViewOf, paths: list[str]) -> None:
    view = view_of(paths, 0, rng="stateless", seed=7)
    words = view.record_words

    def drawn(*indices: int) -> list[list[int]]:
        records = draw(view, array("q", indices), array("i", bytes(8 * len(indices))), 0)
        return [list(records[i : i + words]) for i in range(0, len(records), words)]

    twice = drawn(1, 2, 1, 1 - len(paths))
    assert [twice[0], twice[1]] == [*drawn(1), *drawn(2)]
    assert len({tuple(record) for record in (twice[0], twice[2], twice[3])}) == 3
    assert drawn(2, 1, 1, 1)[1:] == [twice[0], twice[2], twice[3]]
    together = drawn(*range(6), *range(6))
    assert together == [*drawn(*range(6)), *(drawn(i, i)[1] for i in range(6))]


@pytest.mark.parametrize("threads", [0, 1])
def test_ctrl_c_comes_while_headers_are_read(view_of: ViewOf, tmp_path: Path, threads: int) -> None:
    photograph(0, 40, 30).save(tmp_path / "0.jpg")
    view = view_of([str(tmp_path / "0.jpg")] * 200_000, threads)  # seconds of one thread

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            find_sizes(view, array("q", range(len(view))))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not view.datasets[0]._files.sizes[-1].any(), "all headers were read first"

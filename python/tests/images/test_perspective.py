"""RandomPerspective, natively: torchvision's corners, torch's least squares and Pillow's pixels."""

from __future__ import annotations

import os
import random
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as f1

import gofast
from beside_torchvision import same_folder, stays_in_python, tensor
from gofast._core import perspective_coefficients
from gofast._images import compose_calls
from gofast._plan import perspective as plan_of_perspective
from gofast._plan.compile import compile
from picture_chains import scene
from same import difference

SEEN = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
SIZES = [(2, 2), (3, 9), (64, 64), (65, 40), (30, 97), (128, 128), (300, 200)]
FILLS = (None, 0, 77, [9, 250, 130], (1.5, 2, 254.9), (9,))
VERSIONS = pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
PHOTOGRAPHS = os.environ.get("GOFAST_TEST_DATA", "")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("perspective")
    (folder / "all").mkdir()
    for i, size in enumerate(SIZES):
        scene(*size, seed=i).save(folder / "all" / f"{i}.png", dpi=(72, 72))
    return folder


@pytest.mark.daily(3)
@VERSIONS
@pytest.mark.parametrize("seen", SEEN, ids=str)
def test_of_pictures(root: Path, m: Any, seen: InterpolationMode) -> None:
    """Of any size, by every filter and kind of colour, near and far."""
    d = random.Random(3)
    for turn in range(24):
        step = m.RandomPerspective(d.choice((0, 0.2, 0.5, 0.8)), d.choice((0.5, 1)), seen, FILLS[turn % 6])
        behind = d.choice(([], [m.RandomCrop(5, pad_if_needed=True)], [m.Resize(20)]))
        same_folder(root, [step, *behind, *([tensor(m)] if turn % 4 else [])], turn)


@VERSIONS
def test_as_far_as_corners_may_move(root: Path, m: Any) -> None:
    """They may nearly lie on one line there: the picture is what torch's numbers make of it."""
    for turn in range(12):
        seen, size = SEEN[turn % 3], (12 + turn, 40)
        same_folder(root, [m.Resize(size), m.RandomPerspective(1, 1, seen, 7), tensor(m)], turn)


@VERSIONS
def test_grey_pictures_and_random_apply(root: Path, m: Any) -> None:
    inner = [m.RandomPerspective(0.6, 0.7, fill=(3, 4, 5)), v2.RandomHorizontalFlip(), v1.RandomPerspective()]
    for turn in range(6):
        chain = [m.RandomApply(inner, 0.6), m.RandomCrop(33, pad_if_needed=True), v1.RandomPerspective(0.9)]
        same_folder(root, [*chain, v1.ToTensor(), m.RandomErasing()], turn)
        same_folder(
            root, [m.Grayscale(1), m.RandomPerspective(fill=9), m.Resize((20, 24)), v1.ToTensor()], turn
        )


@pytest.mark.daily(2)
@pytest.mark.skipif(not PHOTOGRAPHS, reason="GOFAST_TEST_DATA has real photographs")
@VERSIONS
@pytest.mark.parametrize("seen", SEEN, ids=str)
def test_of_photographs(m: Any, seen: InterpolationMode) -> None:
    root = Path(PHOTOGRAPHS, "imagenet-500")
    for first, p in ((m.Resize((224, 224)), 1.0), (m.RandomResizedCrop(176), 0.5)):
        same_folder(root, [first, m.RandomPerspective(0.5, p, seen), tensor(m)], 5, few=40)
    same_folder(root, [m.RandomPerspective(0.4, 1.0, seen, 128), m.CenterCrop(200), tensor(m)], 6, few=20)


@pytest.mark.daily(2)
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@VERSIONS
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_in_loaders(root: Path, m: Any, workers: int) -> None:
    """Where torch solves in worker processes, of one thread each, and where it does so here, with all."""
    chain = v1.Compose(
        [m.RandomPerspective(p=0.8), m.RandomResizedCrop(24), m.RandomPerspective(), tensor(m)]
    )
    made = []
    for folder, loader in (
        (datasets.ImageFolder, DataLoader),
        (gofast.ImageFolder, DataLoader),
        (gofast.ImageFolder, gofast.DataLoader),
    ):
        torch.manual_seed(4)
        batches = loader(folder(root, chain), 3, shuffle=True, num_workers=workers)
        made.append(([[images for images, _ in batches] for _ in range(3)], torch.get_rng_state()))
    assert not difference(made[1], made[0])
    assert not difference(made[2], made[0])


def corners(d: random.Random, width: int, height: int, scale: float) -> Any:
    right, bottom, x, y = width - 1, height - 1, int(scale * (width // 2)), int(scale * (height // 2))
    moved = [(d.randint(0, x), d.randint(0, y)) for _ in range(4)]
    starts = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
    return starts, [[abs(u - dx), abs(v - dy)] for (u, v), (dx, dy) in zip(starts, moved, strict=True)]


@pytest.mark.parametrize("threads", [1, 2])
def test_coefficients_of_many_are_torchvisions_of_each(threads: int) -> None:
    """Bit for bit, also where torch has several threads there and one here, and where corners nearly lie on
    one line."""
    d, before = random.Random(8), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        sizes, moved, wanted = [], [], []
        while len(sizes) < 600:
            width, height = d.choice(
                [(224, 224), (9, 9), (32768, 17), (d.randint(5, 900), d.randint(5, 900))]
            )
            starts, ends = corners(d, width, height, d.choice([0, 0.3, 0.5, 1]))
            try:
                wanted.append(f1._get_perspective_coeffs(starts, ends))
            except torch.linalg.LinAlgError:
                continue
            sizes.append((width, height))
            moved.append(ends)
        made = perspective_coefficients.coefficients(torch.tensor(sizes), torch.tensor(moved))
        assert made.numpy().tobytes() == np.array(wanted, np.float32).tobytes()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("rng", ["torch", "stateless"])
def test_records_have_torchs_coefficients(root: Path, rng: Any) -> None:
    """Those of the core, which are there without torch, are near them."""
    chain = v1.Compose([v1.Resize((60, 90)), v1.RandomApply([v1.RandomPerspective()]), v1.ToTensor()])
    view = gofast.ImageFolder(root, chain, rng=rng)._here().view
    assert view is not None
    indices = array("q", [i % len(SIZES) for i in range(60)])

    def drawn() -> torch.Tensor:
        torch.manual_seed(3)
        return torch.tensor(view.new_draws(None)(indices), dtype=torch.int32).view(60, -1)[
            :, :-2
        ]  # and the size

    records = drawn()
    view.torch_words = []
    own = drawn()
    assert torch.equal(records[:, :11], own[:, :11])
    warped = records[:, 1] != 0
    assert 5 < warped.sum() < 30 and not records[~warped, 1:].any()
    for record, near in zip(records[warped], own[warped], strict=True):
        width, height, *ends = record[1:11].tolist()
        assert (width, height) == (90, 60)
        starts = [[0, 0], [89, 0], [89, 59], [0, 59]]
        wanted = torch.tensor(f1._get_perspective_coeffs(starts, [ends[i : i + 2] for i in (0, 2, 4, 6)]))
        numbers = record[11:].view(torch.float32)
        assert torch.equal(numbers, wanted)
        assert torch.allclose(near[11:].view(torch.float32), wanted, rtol=1e-5, atol=1e-6)


@VERSIONS
def test_too_small_a_picture_raises_what_torch_raises(root: Path, m: Any) -> None:
    chain = v1.Compose([m.Resize((9, 1)), m.RandomPerspective(p=1), tensor(m)])
    told = []
    for folder in (datasets.ImageFolder, gofast.ImageFolder):
        with pytest.raises(torch.linalg.LinAlgError) as raised:
            folder(root, chain)[0]
        told.append(str(raised.value))
    assert told[0] == told[1]
    with pytest.raises(ValueError, match="the corners of a perspective lie on one line"):
        gofast.ImageFolder(root, chain, rng="stateless")[0]


@VERSIONS
def test_of_late_pictures_and_in_a_decoder(root: Path, m: Any) -> None:
    chain = m.Compose([m.RandomPerspective(p=0.7), m.RandomResizedCrop(30), m.RandomPerspective(), tensor(m)])
    paths = sorted(root.glob("*/*"))

    def made(opener: Any) -> Any:
        torch.manual_seed(2)
        return [chain(opener(path).convert("RGB")) for path in paths], torch.get_rng_state()

    wanted = made(Image.open)
    with gofast.install():
        before = compose_calls.counts["native"]
        assert not difference(made(gofast.open), wanted)
        assert compose_calls.counts["native"] - before == len(paths)
    torch.manual_seed(2)
    batch = gofast.Decoder(chain)([path.read_bytes() for path in paths])
    assert torch.equal(batch, torch.stack([*wanted[0]])) and torch.equal(torch.get_rng_state(), wanted[1])


@VERSIONS
def test_a_tensor_stays_in_python(m: Any) -> None:
    chain = [m.Resize((9, 9)), tensor(m), m.RandomPerspective()]
    stays_in_python(chain, "transforms a tensor with torch's own arithmetic")


@VERSIONS
def test_other_coefficients_are_noticed(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home = plan_of_perspective._HOMES["v1" if m is v1 else "v2"]
    chain = [m.RandomPerspective(), m.CenterCrop(9), tensor(m)]
    assert compile(m.Compose(chain)).native
    monkeypatch.setattr(
        f"{home}._get_perspective_coeffs",
        lambda starts, ends: (
            [1.0000001 * c for c in f1._get_perspective_coeffs(starts, ends)] if m is v2 else [1.0] * 8
        ),
    )
    stays_in_python(chain, "other coefficients")
    monkeypatch.delattr(f"{home}._get_perspective_coeffs")
    stays_in_python(chain, "are made elsewhere")


def test_a_file_that_was_too_small_and_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "0.png"
    Image.new("RGB", (1, 5)).save(path)
    transform = v1.Compose([v1.RandomPerspective(0.5, 1.0), v1.Resize((8, 8)), v1.ToTensor()])
    ours = gofast.ImageFolder(tmp_path, transform)
    with pytest.raises(torch.linalg.LinAlgError):
        ours[0]
    scene(31, 25, 3).save(path)
    theirs = datasets.ImageFolder(tmp_path, transform)
    made = []
    for get in (lambda: ours[0], lambda: ours.__getitems__([0])[0], lambda: theirs[0]):
        torch.manual_seed(4)
        made.append((get(), torch.rand(1)))
    assert difference(made[0], made[2]) == "" and difference(made[1], made[2]) == ""

"""A transform that begins in Python is native from its conversion to a tensor on."""

from __future__ import annotations

import io
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image, ImageOps
from torchvision import transforms as v1
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import gofast
from gofast._images import conversions, lazy_program
from gofast._plan import timm_transforms
from gofast._plan.compile import compile
from image_data import photograph
from same import difference

PICTURES = 8  # of `folder`
NORMALIZE = ([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])


def cut(image: Any) -> Any:
    """A crop of somebody's own, which stays late; it draws from all three generators."""
    left, top = random.randrange(4), int(np.random.randint(4))
    return image.crop((left, top, left + 20, top + 16)) if torch.rand(1) < 0.9 else image.resize((20, 16))


def ends() -> dict[str, list[Any]]:
    return {
        "float": [v1.ToTensor(), v1.Normalize(*NORMALIZE)],
        "bytes": [v1.PILToTensor()],
        "drawing": [v1.ToTensor(), v1.Normalize(*NORMALIZE), v1.RandomErasing(0.7)],
        "half": [v1.PILToTensor(), v1.ConvertImageDtype(torch.float16)],
        "on": [v1.ToTensor(), lambda x: x + torch.rand(1), v1.Normalize(*NORMALIZE)],
        "v2": [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*NORMALIZE)],
        "preset": [torchvision.models.ResNet18_Weights.DEFAULT.transforms(crop_size=12, resize_size=14)],
    }


def starts() -> dict[str, Callable[[Any], Any]]:
    return {
        "late": cut,
        "loaded": lambda image: ImageOps.invert(cut(image)),
        "grey": lambda image: cut(image).convert("L"),
        "pixel": lambda image: _with_a_red_pixel(cut(image)),
        "array": lambda image: np.array(cut(image)),
        "as it is": lambda image: image,
    }


def _with_a_red_pixel(image: Any) -> Any:
    image.putpixel((3, 2), (255, 0, 0))
    return image


def seeded() -> None:
    torch.manual_seed(3)
    random.seed(4)
    np.random.seed(5)


def drawn() -> tuple[float, float, float]:
    return torch.rand(1).item(), random.random(), float(np.random.rand())


def outcome(dataset: Any) -> list[Any]:
    seeded()
    try:
        return [*(dataset[i] for i in range(len(dataset))), drawn()]
    except (TypeError, ValueError, RuntimeError) as error:
        return [type(error), str(error)]


pytestmark = pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")


class Counted:
    """How many samples programs made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.samples = 0
        # Others' samples, which were looked at one by one, leave small pictures of Pillow's to torchvision.
        monkeypatch.setattr(conversions, "_conversions", {})
        for name, several in (("sample", False), ("finish", False), ("finish_all", True), ("begin", True)):
            own: Callable[..., Any] = getattr(lazy_program.LazyProgram, name)

            def count(
                program: Any, first: Any, *more: Any, own: Any = own, several: bool = several, **named: Any
            ) -> Any:
                made = own(program, first, *more, **named)
                if made is not None or own.__name__ != "begin":  # where nothing is begun, it is made later
                    self.samples += len(first) if several else 1
                return made

            monkeypatch.setattr(lazy_program.LazyProgram, name, count)


@pytest.mark.parametrize("end", ends())
@pytest.mark.parametrize("start", starts())
def test_same_as_torchvision(folder: Path, start: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transform = v1.Compose([starts()[start], *ends()[end]])
    want = outcome(torchvision.datasets.ImageFolder(folder, transform))
    counted = Counted(monkeypatch)
    assert difference(outcome(gofast.ImageFolder(folder, transform)), want) == ""
    native = start != "array"
    assert counted.samples == 8 * native or start == "grey"  # of which JPEGs are certain

    class Own:  # a dataset of the user's, whose Compose is given lazy images
        samples = torchvision.datasets.ImageFolder(folder).samples

        def __len__(self) -> int:
            return len(self.samples)

        def __getitem__(self, i: int) -> Any:
            path, target = self.samples[i]
            return transform(gofast.open(path).convert("RGB")), target

    assert difference(outcome(Own()), want) == ""
    assert counted.samples == 16 * native or start == "grey"


def test_follows_changes(folder: Path) -> None:
    normalize = v1.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])
    transform = v1.Compose([cut, v1.ToTensor(), normalize])
    ours, theirs = gofast.ImageFolder(folder, transform), torchvision.datasets.ImageFolder(folder, transform)
    for change in (lambda: None, lambda: normalize.mean.append(0.0) or normalize.mean.pop(0), lambda: None):
        change()
        assert difference(outcome(ours), outcome(theirs)) == ""
    normalize.std[1] = 7.0
    assert difference(outcome(ours), outcome(theirs)) == ""


def test_many_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    (tmp_path / "a").mkdir()
    for i in range(12):
        photograph(i, 20 + i, 30 - i).save(tmp_path / "a" / f"{i:02}.png")
    transform = v1.Compose([lambda image: image.copy(), v1.ToTensor()])
    ours, theirs = (
        gofast.ImageFolder(tmp_path, transform),
        torchvision.datasets.ImageFolder(tmp_path, transform),
    )
    assert difference(outcome(ours), outcome(theirs)) == ""
    assert counted.samples == 12


def test_nothing_is_a_result_too(folder: Path) -> None:
    calls: list[Any] = []
    transform = v1.Compose([cut, v1.ToTensor(), calls.append])
    image = gofast.open(next(folder.rglob("*.jpg")))
    assert transform(image.convert("RGB")) is None
    assert len(calls) == 1


# -- what a look at the transforms must not miss -------------------------------------


class Mine(v1.Compose):
    """A subclass."""


def with_a_name(compose: Any) -> Any:
    compose.name = "train"
    return compose


def hooked(module: torch.nn.Module) -> torch.nn.Module:
    module.register_forward_hook(lambda *_: None)
    return module


def opened(path: str) -> Any:
    return gofast.open(path).convert("RGB")


UNOPENED: dict[str, Callable[[], Any]] = {
    "subclass": lambda: Mine([cut, v1.ToTensor()]),
    "named": lambda: with_a_name(v1.Compose([cut, v1.ToTensor()])),
    "hooked": lambda: hooked(v2.Compose([cut, v2.ToImage()])),
    "tuple": lambda: v1.Compose(dict.fromkeys([cut, v1.ToTensor()])),  # type: ignore[arg-type]
    "preset": lambda: with_a_name(torchvision.models.ResNet18_Weights.DEFAULT.transforms(crop_size=12)),
    "inside": lambda: v1.Compose([Mine([cut]), v1.ToTensor()]),
    "applied": lambda: v1.Compose([v1.RandomApply([Mine([cut])], 0.5), v1.ToTensor()]),
    "converting": lambda: v1.Compose([Mine([cut, v1.ToTensor()]), v1.Normalize(*NORMALIZE)]),
}


@pytest.mark.parametrize("kind", UNOPENED)
def test_a_compose_that_cannot_be_opened(folder: Path, kind: str) -> None:
    transform = UNOPENED[kind]()
    theirs = torchvision.datasets.ImageFolder(folder, transform)
    want = outcome(theirs)
    lazy = torchvision.datasets.ImageFolder(folder, transform, loader=opened)
    assert difference(outcome(lazy), want) == ""
    assert difference(outcome(gofast.ImageFolder(folder, transform)), want) == ""


class Schedule:
    """Changes a later transform while the chain is called."""

    def __init__(self, change: Callable[[int], object]) -> None:
        self.calls, self.change = 0, change

    def __call__(self, image: Any) -> Any:
        self.calls += 1
        self.change(self.calls)
        return image


def scheduled(kind: str) -> Any:
    normalize, erasing = v1.Normalize([0.1, 0.2, 0.3], [0.5] * 3), v1.RandomErasing(0.0)
    array = np.array([0.1, 0.2, 0.3])
    tensor = torch.tensor([0.1, 0.2, 0.3])
    if kind in ("array", "tensor"):
        normalize.mean = array if kind == "array" else tensor

    def change(calls: int) -> None:
        if kind == "erasing":
            erasing.p = float(calls % 2)
        elif kind == "list":
            normalize.mean[0] = 0.1 * calls
        elif kind == "new":
            normalize.mean = [0.1 * calls] * 3
        else:
            (array if kind == "array" else tensor.numpy())[:] = 0.1 * calls

    return v1.Compose([Schedule(change), v1.ToTensor(), normalize, erasing])


@pytest.mark.parametrize("kind", ["erasing", "list", "new", "array", "tensor"])
def test_changes_in_the_middle_of_a_call(folder: Path, kind: str) -> None:
    want = outcome(torchvision.datasets.ImageFolder(folder, scheduled(kind)))
    assert difference(outcome(gofast.ImageFolder(folder, scheduled(kind))), want) == ""
    lazy = torchvision.datasets.ImageFolder(folder, scheduled(kind), loader=opened)
    assert difference(outcome(lazy), want) == ""


def test_a_module_of_the_users_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gofast._images import conversions

    class Doubled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    compiled: list[Any] = []
    own = conversions.compile_chain
    monkeypatch.setattr(conversions, "_conversions", {})
    monkeypatch.setattr(conversions, "compile_chain", lambda *a, **k: compiled.append(a) or own(*a, **k))
    transform = v1.Compose([lambda image: image.resize((9, 8)), v1.ToTensor(), Doubled()])
    want = outcome(torchvision.datasets.ImageFolder(folder, transform))
    assert difference(outcome(gofast.ImageFolder(folder, transform)), want) == ""
    assert len(compiled) == 1


@pytest.mark.parametrize("size", [(40_000, 2), (1, 33_000), (0, 0)])
def test_unusual_sizes(size: tuple[int, int]) -> None:
    transform = v1.Compose([lambda image: Image.new("RGB", size, (1, 2, 3)), v1.ToTensor()])
    small = photograph(1, 8, 8)
    file = io.BytesIO()
    small.save(file, "png")
    assert difference(transform(gofast.open(file.getvalue())), transform(small)) == ""


# -- timm's classes ------------------------------------------------------------------

CLASS = """
class {name}:
    def __call__(self, pic) -> torch.Tensor:
        \"\"\"Converts.\"\"\"
        {body}
"""
USUAL = "if isinstance(pic, torch.Tensor):\n            return pic\n        return F.{}(pic)"


def module(monkeypatch: pytest.MonkeyPatch, name: str, body: str, imports: str = "") -> Any:
    made = types.ModuleType(timm_transforms.MODULE)
    imports = imports or "import torch\nimport torchvision.transforms.functional as F"
    exec(imports + CLASS.format(name=name, body=body), vars(made))
    monkeypatch.setitem(sys.modules, timm_transforms.MODULE, made)
    return made


@pytest.mark.parametrize(
    ("name", "called"), [("MaybeToTensor", "to_tensor"), ("MaybePILToTensor", "pil_to_tensor")]
)
def test_relatives(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, called: str) -> None:
    convert = getattr(module(monkeypatch, name, USUAL.format(called)), name)()
    transform = v1.Compose([v1.Resize((12, 14)), convert])
    assert compile(transform).native
    theirs = torchvision.datasets.ImageFolder(folder, transform)
    assert difference(outcome(gofast.ImageFolder(folder, transform)), outcome(theirs)) == ""


@pytest.mark.parametrize(
    ("name", "body", "imports"),
    [
        ("MaybeToTensor", USUAL.format("pil_to_tensor"), ""),
        ("Other", USUAL.format("to_tensor"), ""),
        ("MaybeToTensor", USUAL.format("to_tensor") + " * 2", ""),
        ("MaybeToTensor", USUAL.format("to_tensor").replace("Tensor)", "Size)"), ""),
        (
            "MaybeToTensor",
            USUAL.format("to_tensor"),
            "import torch\nimport numpy as F\nF.to_tensor = F.array",
        ),
        ("MaybeToTensor", USUAL.format("to_tensor"), "import torch, test_suffix as F\n"),
    ],
)
def test_no_relatives(monkeypatch: pytest.MonkeyPatch, name: str, body: str, imports: str) -> None:
    monkeypatch.setattr(np, "to_tensor", None, raising=False)
    made = module(monkeypatch, name, body, imports)
    transform = getattr(made, name)()
    assert timm_transforms.relative_of(type(transform)) is None
    assert compile(transform).rest == [transform]


def test_replaced_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    made = module(monkeypatch, "MaybeToTensor", USUAL.format("to_tensor"))
    transform = made.MaybeToTensor()
    assert compile(transform).native
    made.F = types.ModuleType("F")
    made.F.to_tensor = F.pil_to_tensor
    assert not compile(transform).native
    made.F, made.MaybeToTensor = F, object
    assert not compile(transform).native


def test_a_side_beyond_the_cores_is_torchs(tmp_path: Path) -> None:
    """Of a picture 500 times as high as wide, a resize makes 36,500 rows."""
    (tmp_path / "a").mkdir()
    photograph(1, 2, 1000).crop((0, 0, 1, 500)).save(tmp_path / "a" / "thin.png")
    transform = v2.Compose([v2.ToImage(), v2.Resize([73]), v2.ToDtype(torch.float32, scale=True)])
    made, want = (
        kind(str(tmp_path), transform)[0] for kind in (gofast.ImageFolder, torchvision.datasets.ImageFolder)
    )
    assert want[0].shape[-2] == 36_500 and not difference(made, want, True)

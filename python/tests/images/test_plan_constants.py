"""C, Go and Python mean the same by a plan's words and numbers."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from gofast._core import gaussian
from gofast._images import picture_draws, pillow
from gofast._plan import (
    angles,
    augment,
    augmix,
    blur,
    containers,
    crops,
    perspective,
    pictures,
    tensors,
    transforms,
    v2_transforms,
    values,
)

STEPS = Path(__file__).resolve().parents[3] / "gofast" / "image" / "steps"


def constant(header: str, name: str) -> int:
    """A number of a header's enum."""
    found = re.search(rf"\b{name} = (\d+)(?: << (\d+))?", (STEPS / header).read_text())
    assert found is not None, name
    return int(found[1]) << int(found[2] or 0)


def words(name: str) -> set[str]:
    """The words of a field, which are an array in operation.c."""
    text = (STEPS / "operation.c").read_text()
    found = re.search(rf"\bgf_{name}_names\[\] = \{{(.*?)\}};", text, re.DOTALL)
    assert found is not None, name
    return set(re.findall(r'"(\w+)"', found[1]))


def test_limits() -> None:
    assert constant("step.h", "GF_MOST_SIDE") == values._MOST_SIDE
    assert constant("step.h", "GF_MOST_NESTED") == transforms.MOST_NESTED
    assert constant("step.h", "GF_MOST_MEMBERS") == containers._MOST_MEMBERS
    assert constant("step.h", "GF_MOST_SIDES") == v2_transforms._MOST_SIDES
    assert constant("step.h", "GF_MOST_ERASURES") == tensors._MOST_ERASURES
    assert constant("../pixel/pixel.h", "GF_MOST_KERNEL") == gaussian.MOST_KERNEL
    assert constant("step.h", "GF_MOST_FACTOR") >= values.WIDEST
    assert constant("augment.h", "GF_MOST_MAGNITUDES") == augment._MOST_BINS
    assert constant("augment.h", "GF_MOST_POLICIES") == augment._MOST_POLICIES


def test_augmentations() -> None:
    listed = (STEPS / "augment.h").read_text().partition("};")[0]
    header = re.findall(r"GF_AUGMENT_([A-Z_]+)\b", listed.replace("= GF_AUGMENT_SPACE", ""))
    names = [name.replace("_", "").lower() for name in header if name != "SPACE"]
    assert names == [name.lower() for name in augment._NUMBERS]
    text = (STEPS / "augmix.h").read_text().partition("};")[0]
    header = re.findall(r"GF_AUGMIX_([A-Z_]+)\b(?! = )", text)
    header.insert(augmix._WITHOUT_ALL, "BRIGHTNESS")
    names = [name.replace("_", "").lower() for name in header if name not in ("PART", "ALL")]
    assert names == [name.lower() for name in augmix.OPERATIONS]
    assert constant("words.h", "GF_MOST_DIRICHLET") == augmix._MOST_CHAINS
    assert constant("augmix.h", "GF_AUGMIX_DEPTH") == augmix._MOST_DEPTH


def test_names_of_steps() -> None:
    modules = (
        angles,
        augment,
        augmix,
        blur,
        containers,
        crops,
        v2_transforms,
        perspective,
        pictures,
        tensors,
    )
    source = "".join(inspect.getsource(module) for module in modules)
    made = set(re.findall(r'"op": "(\w+)"|(?:flip|whether)\("(\w+)"', source))
    native = set(re.findall(r"^    STEP\((\w+)\)", (STEPS / "step.h").read_text(), re.MULTILINE))
    assert len(native) >= 12
    assert {a or b for a, b in made} == native | {"to_float", "to_uint8", "normalize"}


def test_filters_and_modes() -> None:
    assert words("filter") == {*values._FILTERS, "torch_bilinear", "torch_bicubic"}
    assert words("seen") == {"nearest", "bilinear", "bicubic"}
    assert words("edge") == set(values._PADDING_MODES)
    spec = (STEPS.parents[1] / "numbers" / "spec.go").read_text()
    scales = re.search(r"^var scales = \[...\]string\{(.*)\}", spec, re.MULTILINE)
    assert scales is not None
    assert set(re.findall(r'"(\w+)"', scales[1])) == {"divide", "multiply", "cast"}


def test_draws() -> None:
    assert constant("draw.h", "GF_DRAW_STATE_BYTES") == picture_draws._STATE_BYTES
    codes = re.findall(r"^    GF_DRAW_(OK|ASK|RAISES|INVALID),", (STEPS / "draw.h").read_text(), re.MULTILINE)
    assert [codes.index("OK"), codes.index("ASK"), codes.index("RAISES")] == [
        picture_draws._OK,
        picture_draws._ASK,
        picture_draws._RAISES,
    ]


def test_info() -> None:
    flags = [constant("canvas.h", f"GF_INFO_{name}") for name in ("PADDED", "GREYED", "LOST")]
    assert flags == [pillow._PADDED, pillow._GREYED, pillow.LOST]

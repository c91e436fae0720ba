"""What test_docs.py finds on a page, and the folder in which its code runs."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import shlex
import shutil
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import gofast
from records import example, framed
from tars import write_tar

ROOT = Path(__file__).resolve().parents[2]
PHOTOS = ROOT / "examples" / "data" / "photos"
DIGITS = ROOT / "examples" / "data" / "digits.parquet"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->\n\Z")


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, its text, and the reason why it is not run, if any."""

    page: str
    line: int
    language: str
    text: str
    not_run: str

    def compiled(self) -> Any:
        """Its code, whose lines are those of the page."""
        return compile("\n" * self.line + self.text, self.page, "exec")


def pages() -> list[Path]:
    """README and every page of the site."""
    return [
        ROOT / "README.md",
        *sorted(p for p in (ROOT / "docs").rglob("[a-z]*.md") if p.parent.name != "generating"),
    ]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0, f"{page}: a fence is open"
    found = []
    for match in _FENCE.finditer(text):
        reason = _NOT_RUN.search(text[: match.start()])
        line = text[: match.start()].count("\n") + 1
        found.append(
            Block(str(page.relative_to(ROOT)), line, match[1], match[2], reason[1] if reason else "")
        )
    return found


def prepare(folder: Path) -> None:
    """Small real files under the names that pages use."""
    import pandas as pd

    for split in ("train", "val"):
        shutil.copytree(PHOTOS, folder / "photos" / split)
    good = PHOTOS / "coast" / "coast00.jpg"
    (folder / "photos" / "broken" / "coast").mkdir(parents=True)
    shutil.copy(good, folder / "photos" / "broken" / "coast" / "0.jpg")
    (folder / "photos" / "broken" / "coast" / "1.jpg").write_bytes(b"no picture")
    for name in ("a.jpg", "b.jpg", "cat.jpg"):
        shutil.copy(good, folder / name)
    shutil.copy(DIGITS, folder / "train.parquet")
    digits = pd.read_parquet(DIGITS)
    digits[:300].to_csv(folder / "train.csv", index=False)
    digits[300:400].to_csv(folder / "test.csv", index=False)
    names = [path.relative_to(PHOTOS) for path in sorted(PHOTOS.rglob("*.jpg"))]
    labels = pd.DataFrame({"filename": map(str, names), "place": [name.parts[0] for name in names]})
    labels.to_csv(folder / "labels.csv", index=False)
    pictures = pd.DataFrame({"image": [good.read_bytes()], "label": [0]})
    pictures.to_parquet(folder / "pictures.parquet")
    record = {"image/encoded": [good.read_bytes()], "image/class/label": [3], "x": [0.5, 1.5], "y": [3]}
    write_tar(folder / "train-0.tar", [{"jpg": good.read_bytes(), "cls": b"1"}])
    (folder / "train-0.tfrecord").write_bytes(framed([example(record)] * 4))
    (folder / "flowers.csv").write_text(
        "name,colour,seen,height,species\nx,red,2024-01-31,1.5,rose\ny,blue,2024-02-01,,iris\n"
    )
    (folder / "damaged.csv").write_text("a,b\n1,2\nx,3\n")
    (folder / "train.py").write_text(SCRIPT)


SCRIPT = """
import argparse
import torch
import torchvision
from torchvision import transforms as T

arguments = argparse.ArgumentParser()
arguments.add_argument("--epochs", type=int, default=1)
transform = T.Compose([T.RandomResizedCrop(64), T.ToTensor()])
train = torchvision.datasets.ImageFolder("photos/train", transform)
loader = torch.utils.data.DataLoader(train, batch_size=12, shuffle=True)
if __name__ == "__main__":
    for epoch in range(arguments.parse_args().epochs):
        print(epoch, sum(len(labels) for _, labels in loader))
"""


# -- what is not run


def check_names(block: Block) -> None:
    """Every name of gofast's that the block uses is there, and takes the arguments that it is given."""
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Attribute):
            _resolve(node)
        elif isinstance(node, ast.Call) and (called := _resolve(node.func)) is not None:
            known = inspect.signature(called).parameters
            if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
                continue
            for keyword in node.keywords:
                assert keyword.arg is None or keyword.arg in known, f"{block.page}: {ast.unparse(node)}"


def _resolve(node: ast.expr) -> Any:
    """What gofast.a.b is; None for whatever does not begin with gofast."""
    if isinstance(node, ast.Name):
        return gofast if node.id == "gofast" else None
    if isinstance(node, ast.Attribute) and (owner := _resolve(node.value)) is not None:
        with suppress(ModuleNotFoundError):  # what a framework has a say in, which is not here
            return getattr(owner, node.attr)
    return None


# -- lines for a shell


def commands(block: Block) -> list[list[str]]:
    """The words of each line, without comments, and without whoever reads its output.

    Lines with && are two; a backslash at the end joins them.
    """
    text = block.text.replace("\\\n", " ")
    lines = [shlex.split(part, comments=True) for line in text.splitlines() for part in line.split("&&")]
    return [list(takewhile(lambda word: word not in ("|", ">"), words)) for words in lines if words]


def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def bench_words() -> set[str]:
    """The sub-commands and options of gofast-bench, as its sources define them."""
    sources = "".join(
        path.read_text() for path in sorted((ROOT / "benchmarks" / "gofast-bench").glob("*.go"))
    )
    options = re.findall(r'(?:Bool|Int|Int64|Uint64|Float64|String)(?:Var\(&[\w.]+, |\()"([a-z-]+)"', sources)
    return {*re.findall(r'Use: +"([a-z]+)', sources), *(f"--{option}" for option in options)}

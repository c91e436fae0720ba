"""The documents are right: their code runs, their commands are there, no public name is missing."""

from __future__ import annotations

import doctest
import functools
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import docs_pages
import fresh
import gofast
from docs_pages import ROOT, Block
from gofast._command import main as command_line
from gofast._doctor import diagnosis
from gofast.errors import BadSampleWarning

PAGES = docs_pages.pages()
RUN = [
    page for page in PAGES if any(b.language == "python" and not b.not_run for b in docs_pages.blocks(page))
]
SHELL = [b for page in PAGES for b in docs_pages.blocks(page) if b.language == "sh" and not b.not_run]
LANGUAGES = {"python", "sh", "go", "text"}

pytestmark = pytest.mark.xdist_group("docs")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    docs_pages.prepare(folder)
    return folder


@pytest.fixture
def folder(files: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> Iterator[Path]:
    """The folder in which a page's code runs."""
    monkeypatch.chdir(files)
    kept = torch.get_rng_state()
    yield files
    torch.set_rng_state(kept)


def _names(page: Path) -> dict[str, Any]:
    """What a page's code may use: nothing; README shows fragments that follow from its text."""
    if page.name != "README.md":
        return {"__name__": "__main__"}
    from torchvision import transforms as T

    transform = T.Compose([T.RandomResizedCrop(224), T.ToTensor()])
    path = "photos/train/coast/coast00.jpg"
    return {"__name__": "__main__", "path": path, "transform": transform, "table": {"image": [path, path]}}


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_a_page_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = _names(page)
    # One round of trials is enough to see that the page's code runs.
    monkeypatch.setattr(diagnosis, "diagnose", functools.partial(diagnosis.diagnose, rounds=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BadSampleWarning)  # what troubleshooting is about
        for block in docs_pages.blocks(page):
            if block.language == "python" and not block.not_run:
                exec(block.compiled(), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_that_is_not_run_names_what_is_there(page: Path) -> None:
    for block in docs_pages.blocks(page):
        assert block.language in LANGUAGES, f"{block.page}:{block.line}: which language?"
        if block.language == "python":
            block.compiled()
            docs_pages.check_names(block)


@pytest.mark.parametrize("block", SHELL, ids=lambda block: f"{block.page}:{block.line}")
def test_commands_can_be_run(block: Block) -> None:
    for words in docs_pages.commands(block):
        _check_command(words)


def _arguments(words: list[str]) -> tuple[str, ...]:
    """Those of python in this command; README's is a long run."""
    return tuple("2" if word == "90" else word for word in words[1:])


def test_python_commands_do_what_pages_say(files: Path) -> None:
    asked = [words for block in SHELL for words in docs_pages.commands(block) if words[0] == "python"]
    unlike = dict.fromkeys(map(_arguments, asked))
    assert any("train.py" in words for words in unlike) and any("-c" in words for words in unlike)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(gofast.__file__).parents[1]), str(files)])}
    for words in unlike:
        done = fresh.run(words, cwd=files, env=env)
        assert done.returncode == 0, (words, done.stderr)
        first, *more = done.stderr.splitlines()
        assert first.startswith("gofast: native: "), (words, done.stderr)
        assert all(line.startswith("gofast: batches were waited for ") for line in more), (words, done.stderr)
        if "train" in " ".join(words):
            assert done.stdout.split() == ["0", "36", "1", "36"], (words, done.stdout)


def _check_command(words: list[str]) -> None:
    if words[0] == "make":
        assert set(words[1:]) <= docs_pages.targets(), words
    elif words[0] == "go":
        assert shutil.which("go") is None or words[1] in ("doc", "run", "install"), words
        for path in (word for word in words if word.startswith(("./", "examples/"))):
            assert (ROOT / path).exists(), words
    elif words[:2] == ["pip", "install"]:
        assert all(word in (".", "dist/gofast_torch-*.whl") for word in words[2:]), words
    elif words[0] == "gofast":
        assert words[1] == "run" or command_line.parser().parse_args(words[1:]), words
    elif words[0] == "gofast-bench":
        known = docs_pages.bench_words()
        assert all(word in known for word in words[1:] if word == words[1] or word.startswith("--")), words
    else:
        assert words[:3] == ["python", "-m", "gofast"], f"no check knows {words}"


def test_generated_pages_are_fresh(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    for name, text in generate.pages().items():
        assert text == (ROOT / "docs" / name).read_text(), "run python docs/generate.py"


def test_reference_has_every_public_name() -> None:
    there = {
        name
        for page in (ROOT / "docs" / "api").glob("*.md")
        for name in re.findall(r"^::: gofast\.(\w+)(?:\.\1)?$", page.read_text(), re.MULTILINE)
    }
    assert there == {*gofast.__all__, "typing"}  # which a star import leaves out


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES[1:]:
        assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in navigation, page


def test_the_first_page_links_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in PAGES[1:]:
        path = page.relative_to(ROOT / "docs").as_posix()
        assert path == "index.md" or f"({path})" in index, page


def test_pages_that_are_templates_say_so() -> None:
    for page in PAGES[1:]:
        text = page.read_text()
        made = re.search(r"^(:::|<!-- include: )", text, re.MULTILINE)
        assert bool(made) == ("<!-- template -->" in text), page


# -- docstrings

PUBLIC = [
    "ArrayDataset",
    "ArrayDataset.open",
    "DataLoader",
    "Decoder",
    "ImageFiles",
    "ImageFiles.from_bytes",
    "ImageFiles.from_csv",
    "ImageFiles.from_table",
    "ImageFiles.from_tar",
    "ImageFolder",
    "Sampler",
    "TFRecordDataset",
    "TFRecordDataset.images",
    "TableDataset",
    "convert",
    "downloads.keep",
    "engine_stats",
    "explain",
    "install",
    "open",
    "prefetch",
    "preprocess",
    "tokens.LengthGroupedSampler",
    "tokens.Text",
    "uninstall",
    "verify",
    "version",
    "webdataset.WebDataset",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_of_docstrings_run(name: str, folder: Path) -> None:
    import numpy as np
    import pandas
    import torchvision
    from torchvision import transforms as T

    names = {"gofast": gofast, "torch": torch, "np": np, "T": T, "pandas": pandas, "torchvision": torchvision}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner(optionflags=flags)
    thing = functools.reduce(getattr, name.split("."), gofast)
    said: list[str] = []
    tests = [test for test in finder.find(thing, name, globs=names) if test.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)

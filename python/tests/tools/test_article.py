"""The article, run as a notebook on few rows and pictures; the guides; and what they measure with."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def tools() -> Iterator[ModuleType]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        import article_tools

        yield article_tools
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.mark.full
@pytest.mark.filterwarnings("default")  # what a notebook's kernel warns of is not ours
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torchvision")
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    pandas = pytest.importorskip("pandas")
    table = tmp_path / "small.parquet"
    digits = pandas.read_parquet(EXAMPLES / "data" / "digits.parquet").head(150)
    digits.rename(columns={"label": "digit"}).to_parquet(table)
    photos = tmp_path / "photos"
    for folder in ("coast", "town"):
        (photos / folder).mkdir(parents=True)
        for file in sorted((EXAMPLES / "data" / "photos" / folder).iterdir())[:4]:
            (photos / folder / file.name).symlink_to(file)
    monkeypatch.setenv(
        "ARTICLE",
        f"--table {table} --label digit --pictures {photos} --passes 1 --batch 5 --epochs 1 --workers 2",
    )
    notebook = jupytext.read(EXAMPLES / "article.py")
    client = nbclient.NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(EXAMPLES)}})
    client.execute()
    said = "".join(
        output.text
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stdout"
    )
    assert "a table, an epoch of 150 rows" in said
    assert "a folder of pictures, an epoch of 8 pictures" in said
    rows = [line for line in said.splitlines() if line.endswith("█")]
    assert sum(line.startswith("gofast.") and " equal " in line for line in rows) >= 4
    assert all(" equal " in line or line.startswith("tf.data") for line in rows)
    assert len(rows) >= 11


@pytest.mark.daily(1)
@pytest.mark.parametrize("guide", sorted(EXAMPLES.glob("guide_*.py")), ids=lambda path: path.stem)
def test_a_guide_runs_with_equal_batches(
    guide: Path, tools: ModuleType, one_thread: None, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torchvision")
    pytest.importorskip("pandas")
    runpy.run_path(str(guide), run_name="__main__")  # ends with an error if batches differ
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith("█")]
    assert len(rows) >= 2 and all(" equal " in row for row in rows) and rows[-1].startswith("gofast.")
    assert f"/{guide.name})" in (EXAMPLES.parent / "docs" / "guides.md").read_text()


def batches(first: float = 0.0, label: int = 1) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.full((2, 3), first), torch.tensor([label, 2])), (torch.ones(1, 3), torch.tensor([3]))]


def test_a_comparison_says_what_differs(tools: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = tools.Comparison("a test", "rows", 1)
    comparison.add("first", "Why it\n is  so.", batches)
    comparison.add("other pixels", "", lambda: batches(0.25))
    comparison.missing("third", "it is not there")
    assert [result.batches for result in comparison.results] == ["equal", "off by 0.25"]
    assert [comparison.count, *capsys.readouterr().out.splitlines()[:2]] == [
        3,
        "1. first",
        "   Why it is so.",
    ]
    assert "third: not measured: it is not there" in comparison.text()
    with pytest.raises(SystemExit, match="first way's: other pixels"):
        comparison.show_equal()
    with pytest.raises(ValueError, match="another order"):
        comparison.add("other rows", "", lambda: batches(label=2))
    with pytest.raises(ValueError, match="1 batches instead of 2"):
        comparison.add("too few", "", lambda: batches()[:1])

"""What a user meets first: the import, what completes behind the dot, progress, and where warnings point."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import transforms as T

import fresh
import gofast
from gofast import errors
from gofast._core import progress
from image_data import make_folder

SOURCE = str(Path(gofast.__file__).parents[1])

# -- import -------------------------------------------------------------------------

WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed
import gofast
"""


@pytest.mark.parametrize("missing", ["torch", "numpy"])
def test_import_without_it_is_one_sentence(missing: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"ImportError: gofast needs {missing}, which is not installed here: pip install {missing}"
    assert "During handling" not in done.stderr


def test_completion_shows_what_is_public() -> None:
    gofast.ImageFolder, gofast.explain, gofast.convert  # noqa: B018  what is imported late is there too
    names = [name for name in dir(gofast) if not name.startswith("__")]
    assert names == sorted(gofast.__all__) and len(names) <= 23  # who has one more looks for one to go
    assert all(getattr(gofast, name) is not None for name in names)
    assert "__version__" in dir(gofast) and not {"Any", "annotations", "TYPE_CHECKING"} & set(dir(gofast))
    with pytest.raises(AttributeError, match="has no attribute 'Imagefolder'"):
        gofast.Imagefolder  # noqa: B018


# -- progress -----------------------------------------------------------------------


class Kernel:
    kernel = object()


def shown(monkeypatch: pytest.MonkeyPatch, shell: Any, tqdm: bool) -> str:
    """What is written of work that is half done, where IPython's shell is this one."""
    screen = io.StringIO()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    if not tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with progress.Progress("reading\x1b[31m train.csv") as bar:
        bar.update(0.5)
    return screen.getvalue()


@pytest.mark.parametrize("tqdm", [True, False])
def test_a_notebook_shows_progress(monkeypatch: pytest.MonkeyPatch, tqdm: bool) -> None:
    if tqdm:
        pytest.importorskip("tqdm")
    said = shown(monkeypatch, Kernel(), tqdm)
    assert "train.csv" in said and "50%" in said and "\x1b[31m" not in said
    assert "100%" in said[said.rindex("train.csv") :]  # done is done


@pytest.mark.parametrize("shell", [None, object()])
def test_what_is_no_notebook_shows_nothing(monkeypatch: pytest.MonkeyPatch, shell: Any) -> None:
    assert shown(monkeypatch, shell, True) == ""


# -- where a bad sample's warning points -------------------------------------------------


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    make_folder(tmp_path, count=6, classes=1)
    (tmp_path / "class 0" / "999.jpg").write_bytes(b"\xff\xd8\xff nothing")
    return tmp_path


@pytest.mark.parametrize("make", [DataLoader, gofast.DataLoader, None])
@pytest.mark.parametrize("rest", [[], [T.Lambda(lambda picture: picture)]], ids=["native", "rest"])
def test_a_bad_sample_is_said_at_the_users_line(pictures: Path, make: Any, rest: list[Any]) -> None:
    transform = T.Compose([T.Resize((8, 8)), *rest, T.ToTensor()])
    ours = gofast.ImageFolder(pictures, transform, on_error="zero")
    with pytest.warns(errors.BadSampleWarning, match=r"999\.jpg.*on_error: zero") as caught:
        if make is None:
            ours[len(ours) - 1]
        else:
            list(make(ours, 4))
    assert [w.filename for w in caught if w.category is errors.BadSampleWarning] == [__file__]
    assert issubclass(errors.BadSampleWarning, RuntimeWarning)  # what it was


IN_A_WORKER = """
import sys, warnings
import gofast, torch
from torchvision import transforms as T
ours = gofast.ImageFolder(sys.argv[1], T.Compose([T.Resize((8, 8)), T.ToTensor()]), on_error="zero")
for _ in torch.utils.data.DataLoader(ours, 7, num_workers=1, multiprocessing_context="fork"):  # line 5
    pass
"""


def test_a_forked_worker_points_at_the_line_that_started_it(pictures: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(IN_A_WORKER.lstrip())
    done = fresh.run([script, pictures], check=True, env={**os.environ, "PYTHONPATH": SOURCE})
    assert "script.py:5: BadSampleWarning" in done.stderr, done.stderr


def test_an_error_filter_raises_it(pictures: Path) -> None:
    ours = gofast.ImageFolder(pictures, T.Compose([T.Resize((8, 8)), T.ToTensor()]), on_error="replace")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(errors.BadSampleWarning):
            ours[len(ours) - 1]
    assert isinstance(ours[len(ours) - 1][0], torch.Tensor)

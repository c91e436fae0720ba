"""gofast.install and python -m gofast: scripts that name nothing of gofast."""

from __future__ import annotations

import abc
import copy
import functools
import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Generic, TypeVar

import PIL.Image
import pytest
import torch
import torch.utils.data
import torchvision
from PIL import ImageFile
from torch.utils.data import DataLoader as TorchDataLoader
from torchvision import transforms as T

import fresh
import gofast
from gofast._lazy.lazy_image import LazyImage
from same import difference

PICTURES = 15  # of `folder`
OWN_OPEN, OWN_FOLDER = PIL.Image.open, torchvision.datasets.ImageFolder
OWN_INIT, OWN_SIGNATURE = TorchDataLoader.__init__, inspect.signature(TorchDataLoader)
Item = TypeVar("Item")


def batches(root: Path) -> list[Any]:
    transform = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])
    data = torchvision.datasets.ImageFolder(str(root), transform)
    torch.manual_seed(1)
    return [*torch.utils.data.DataLoader(data, 4, shuffle=True), torch.get_rng_state()]


def test_everything_is_the_same_and_put_back(folder: Path) -> None:
    want = batches(folder)
    with gofast.install():
        assert not difference(batches(folder), want, True)
        data = torchvision.datasets.ImageFolder(str(folder), T.ToTensor())
        assert isinstance(data, gofast.ImageFolder) and isinstance(data, OWN_FOLDER)
        assert pickle.loads(pickle.dumps(data)).samples == data.samples
        loader = torch.utils.data.DataLoader(data)
        assert isinstance(loader, gofast.DataLoader)
        assert isinstance(pickle.loads(pickle.dumps(loader)), gofast.DataLoader)
        with gofast.install():
            pass  # takes back only itself
        path = str(next(folder.glob("*/*.jpg")))
        assert isinstance(PIL.Image.open(path), LazyImage)
        assert isinstance(PIL.Image.open(path.encode()), LazyImage)  # bytes are a path for Pillow
        parser = ImageFile.Parser()
        parser.feed(Path(path).read_bytes())
        assert parser.close().tobytes() == OWN_OPEN(path).tobytes()
    assert PIL.Image.open is OWN_OPEN
    assert type(TorchDataLoader(data)) is TorchDataLoader and TorchDataLoader.__init__ is OWN_INIT
    assert type(OWN_FOLDER(str(folder))) is OWN_FOLDER
    gofast.uninstall()


class ByName(TorchDataLoader):  # type: ignore[type-arg]
    def __init__(self, *args: Any) -> None:
        TorchDataLoader.__init__(self, *args, batch_size=3)

    def __iter__(self) -> Any:
        yield from TorchDataLoader.__iter__(self)


class WithABase(TorchDataLoader, abc.ABC):  # type: ignore[type-arg]
    pass


class Marked(type):
    pass


class WithAMetaclass(TorchDataLoader, metaclass=Marked):  # type: ignore[type-arg]
    pass


class OfItems(TorchDataLoader[Item], Generic[Item]):
    pass


class FolderByName(OWN_FOLDER, abc.ABC):  # type: ignore[misc]
    def __init__(self, *args: Any) -> None:
        OWN_FOLDER.__init__(self, *args)

    def __getitem__(self, index: int) -> Any:
        return *OWN_FOLDER.__getitem__(self, index), index


def test_classes_are_derived_from_as_torchs_own(folder: Path) -> None:
    """Subclasses stay torch's, and all of Python's ways to use a class work."""
    values: Any = torch.arange(7)
    kinds: list[Any] = [ByName, WithABase, WithAMetaclass, OfItems]
    want = [[batch.tolist() for batch in kind(values)] for kind in kinds]
    transform = T.ToTensor()
    samples = [*FolderByName(str(folder), transform)]
    with gofast.install():
        for kind, batches in zip(kinds, want, strict=True):
            loader = kind(values)
            assert [batch.tolist() for batch in loader] == batches
            assert type(loader) is kind and isinstance(loader, TorchDataLoader)
            assert type(pickle.loads(pickle.dumps(loader))) is kind
        annotated = TorchDataLoader[int](values)
        assert isinstance(annotated, gofast.DataLoader)
        assert [*TorchDataLoader.__iter__(annotated)] == [*annotated]
        assert inspect.signature(TorchDataLoader) == OWN_SIGNATURE
        assert not difference([*FolderByName(str(folder), transform)], samples, True)
        assert isinstance(copy.copy(TorchDataLoader(values)), gofast.DataLoader)
        with pytest.raises(TypeError, match="unexpected keyword argument 'batches'"):
            TorchDataLoader(values, batches=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_patched_method_counts(wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    own = TorchDataLoader._get_iterator

    def patched(self: Any) -> Any:
        return iter(["patched"])

    now = functools.wraps(own)(patched) if wrapped else patched
    monkeypatch.setattr(TorchDataLoader, "_get_iterator", now)
    with gofast.install():
        assert [*TorchDataLoader(torch.arange(3))] == ["patched"]  # type: ignore[arg-type]


SCRIPT = """
import multiprocessing, sys
import helper
from PIL import Image

class Mine:
    pass

def work(path, out):
    im = Image.open(path)
    out.put((hasattr(im, "_making"), im.crop((1, 1, 4, 4)).tobytes(), __name__, type(Mine()).__module__))

if __name__ == "__main__":
    from torch.utils.data import DataLoader
    print(sys.argv, __file__, sys.path[0], helper.value, type(DataLoader([1])).__module__)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        out = context.Queue()
        child = context.Process(target=work, args=(sys.argv[1], out))
        child.start()
        print(out.get(timeout=100))
        child.join()
    if sys.argv[2] == "raise":
        raise ValueError("the script's own")
    sys.exit(int(sys.argv[2]))
"""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(gofast.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-m", "gofast", *arguments], cwd=cwd, env=env, capture_output=True, text=True
    )


def quick(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in a process that has torch, where a test is not about the start."""
    return fresh.run(["-m", "gofast", *arguments], cwd=cwd)


def test_a_script_runs_as_python_runs_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "train.py"
    script.write_text(SCRIPT)
    (tmp_path / "scripts" / "helper.py").write_text("value = 5\n")
    path = str(next(folder.glob("*/*.jpg")))
    pixels = OWN_OPEN(path).crop((1, 1, 4, 4)).tobytes()
    done = run("scripts/train.py", path, "raise", cwd=tmp_path)
    first, forked, spawned = done.stdout.splitlines()
    assert first == f"{['scripts/train.py', path, 'raise']} {script} {script.parent} 5 gofast.loader"
    assert forked == str((True, pixels, "__main__", "__main__"))
    assert spawned == str((True, pixels, "__mp_main__", "__mp_main__"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[:3] == [
        "Traceback (most recent call last):",
        f'  File "{script}", line 24, in <module>',
        '    raise ValueError("the script\'s own")',
    ]
    said = "gofast: native: 2 of 2 pictures, 0 of 1 loaders; not native: torch's own machinery: list is"
    assert done.stderr.splitlines()[-1].startswith(said), done.stderr


HEADER = """
from dataclasses import dataclass, fields
from typing import NamedTuple
def f(a: int) -> str: ...
@dataclass
class Options:
    rate: float = 0.1
class Point(NamedTuple):
    x: float
count: int = 3
inside = {}
exec("def g(a: int): ...", inside)
print(f.__annotations__, fields(Options)[0].type, Point.__annotations__, inside["g"].__annotations__)
print([str(globals()[key]) for key in ("__name__", "__doc__", "__package__", "__spec__", "__annotations__")])
print(list(globals()), type(__loader__), __builtins__)
"""


@pytest.mark.parametrize("how", ["script", "command"])
def test_a_script_has_the_namespace_that_python_gives_it(how: str, tmp_path: Path) -> None:
    """No ``from __future__`` of ours reaches it, and ``__main__`` holds what CPython's does."""
    (tmp_path / "script.py").write_text(HEADER)
    arguments = ["script.py"] if how == "script" else ["-c", HEADER]
    plain = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    done = run(*arguments, cwd=tmp_path)
    # Addresses differ, and a script's path is absolute here.
    addressless = [
        re.sub(r" at 0x\w+", "", out).replace(f"{tmp_path}/", "") for out in (done.stdout, plain.stdout)
    ]
    assert addressless[0] == addressless[1]
    assert done.stderr.startswith("gofast: native: nothing;") and done.stderr.count("\n") == 1


LAUNCHER = """
import multiprocessing, runpy, sys

def early():
    pass

if __name__ == "__main__":
    server = multiprocessing.get_context("forkserver").Process(target=early)
    server.start()
    server.join()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
LAUNCHED = """
import multiprocessing, sys

def leaf(out):
    main = sys.modules["__main__"]
    from torch.utils.data import DataLoader
    out.put((__name__, main.__file__, str(main.__spec__), type(DataLoader([1])).__module__, sys.path[-1][:1]))

def work(out):
    child = multiprocessing.get_context("spawn").Process(target=leaf, args=(out,))
    child.start()
    child.join()

if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        out = context.Queue()
        child = context.Process(target=work, args=(out,))
        child.start()
        print(*out.get(timeout=100))
        child.join()
"""


@pytest.mark.full
def test_a_launcher_runs_a_script_that_spawns(tmp_path: Path) -> None:
    """A spawned process imports what is ``__main__`` at its start, in the second generation too."""
    (tmp_path / "launch.py").write_text(LAUNCHER)
    (tmp_path / "train.py").write_text(LAUNCHED)
    done = run("launch.py", str(tmp_path / "train.py"), cwd=tmp_path)
    expected = f"__mp_main__ {tmp_path / 'train.py'} None gofast.loader /\n"
    assert done.stdout == 2 * expected, done.stderr


OWN_LOADER = """
import gofast
[*gofast.DataLoader([1, 2])]
"""


def test_what_the_line_does_not_count_is_said(folder: Path, tmp_path: Path) -> None:
    assert "speak for themselves: torchrun -m gofast train.py" in quick("-c", "", cwd=tmp_path).stderr
    done = quick("-c", OWN_LOADER, cwd=tmp_path)
    assert done.stderr.startswith("gofast: native: what gofast.explain says") and "(epochs: 1)" in done.stderr
    (tmp_path / "a").mkdir()
    for path in ("x.bmp", "a/x.bmp"):
        OWN_OPEN(next(folder.glob("*/*.jpg"))).save(tmp_path / path)
    script = "from torchvision.datasets import *; from torchvision.transforms import *\n"
    done = quick("-c", f"{script}ImageFolder('.', ToTensor())[0]", cwd=tmp_path)
    assert done.stderr.startswith("gofast: native: 0 of 1 pictures; not native: picture: "), done.stderr
    done = quick("-c", "from PIL import Image; Image.open('x.bmp').load()", cwd=tmp_path)
    said = "gofast: native: 0 of 1 pictures; not native: picture: BMP, mode RGB: Pillow decodes it\n"
    assert done.stderr == said


SLOW = """
import sys, time, gofast
from PIL import Image
from torch.utils.data import DataLoader
from torchvision.transforms import Compose, Lambda, Resize, ToTensor

def slow(picture):
    time.sleep(0.06)
    return picture.rotate(1)

class Own:
    made = Compose([Resize((8, 8)), Lambda(slow), ToTensor(), Lambda(lambda x: time.sleep(0.03) or x)])
    def __len__(self): return 4
    def __getitem__(self, i): return self.made(Image.open(sys.argv[1]).convert("RGB"))

loader = DataLoader(Own(), 2, num_workers=int(sys.argv[2]))
for _ in loader: pass
print(gofast.explain(loader))
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_left_to_python_is_named_with_its_cost(workers: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SLOW)
    done = quick("train.py", str(next(folder.glob("*/*.jpg"))), workers, cwd=tmp_path)
    named = re.compile(r"(?:gofast:|  so far .* Python) +Lambda runs in Python: your own code \((\d+) ms\)")
    costs = [int(cost) for cost in named.findall(done.stderr + done.stdout)]
    assert len(costs) == 1 + (workers == "0"), done  # explain is asked where nothing was done
    assert all(360 <= cost < 3000 for cost in costs)


def test_commands_exit_codes_and_usage(tmp_path: Path) -> None:
    done = quick("-c", "import sys; print(sys.argv, repr(sys.path[0])); sys.exit(7)", "a", "-b", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "['-c', 'a', '-b'] ''\n")
    (tmp_path / "unit.py").write_text("import sys; print(__name__, sys.argv[1:])")
    done = quick("-m", "unit", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "__main__ ['x']\n")

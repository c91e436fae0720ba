"""The wheel: what is in it, and where it works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

import pytest

from gofast._core import engine
from wheel_matrix import find_python, without_tools

# One wheel is built for all of these: 200 s where nothing was compiled before, more on a busy machine.
pytestmark = [pytest.mark.full, pytest.mark.xdist_group("wheel"), pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[3]
SMOKE = Path(__file__).parents[1] / "wheel_smoke.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made by pip from the sdist, as for a user who has only that."""
    folder = tmp_path_factory.mktemp("dist")
    make = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    tree = folder / "tree"  # setuptools writes an egg-info folder beside the sources
    elsewhere = (".*", "build", "dist", "benchmarks", "examples", "__pycache__")
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*elsewhere))
    subprocess.run([sys.executable, "-c", make], cwd=tree, check=True, capture_output=True)
    shutil.rmtree(tree)
    (sdist,) = folder.glob("gofast_torch-*.tar.gz")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(sdist)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


def test_wheel_contents(wheel: Path) -> None:
    assert re.fullmatch(r"gofast_torch-\d+\.\d+\.\d+-cp310-abi3-linux_\w+\.whl", wheel.name)
    sources = sorted((ROOT / "python" / "gofast").glob("**/*.py*"))
    wanted = {str(path.relative_to(ROOT / "python")) for path in sources if path.suffix in (".py", ".pyi")}
    wanted |= {"gofast/py.typed", "gofast/_native.abi3.so"}
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == wanted
    for file in ("LICENSE", "THIRD_PARTY_NOTICES.txt"):
        assert any(name.endswith(f".dist-info/licenses/{file}") for name in names), file


def test_wheel_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode().splitlines()
    assert "Name: gofast-torch" in lines  # "gofast" on the index is another project
    assert "Requires-Python: >=3.10" in lines
    needed = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    assert needed == [
        "torch>=2.4",
        "numpy",
        "pillow",
        'tqdm; extra == "progress"',
        'torchvision>=0.19; extra == "vision"',
    ]


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    zipfile.ZipFile(wheel).extractall(folder)
    return folder / "gofast"


def test_library_needs_only_libc(unpacked: Path) -> None:
    library = unpacked / "_native.abi3.so"
    done = subprocess.run(["readelf", "-d", str(library)], check=True, capture_output=True, text=True)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
    # libdl and libpthread are parts of libc since glibc 2.34; manylinux counts on them on older machines.
    libc = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"}
    assert set(needed) <= libc | {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, needed
    built_in = f"{tempfile.gettempdir()}/pip-".encode()  # pip unpacks the sdist there
    for path in (built_in, sysconfig.get_paths()["include"].encode(), str(Path.home()).encode() + b"/"):
        assert path not in library.read_bytes(), "the library names a folder of the machine that built it"


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_library_loads_everywhere(unpacked: Path, version: str) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    program = "import _native; print(_native.pybind_Call('about', '{}'))"
    done = subprocess.run([str(python), "-c", program], cwd=unpacked, capture_output=True, text=True)
    said = engine.native().pybind_Call("about", "{}")
    assert (done.returncode, done.stdout.strip()) == (0, said), done.stderr


def test_wheel_works_without_tools(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment that borrows torch and its kin; `make test-wheel` does it on other Pythons."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    borrowed = Path(pytest.__file__).parents[1]  # appended to the path: what the wheel brought comes first
    (site / "borrowed.pth").write_text(f"{borrowed}\n")
    with without_tools() as env:
        done = subprocess.run(
            [str(python), str(SMOKE)], cwd=tmp_path, env=env, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(site) in done.stdout.splitlines()[0]

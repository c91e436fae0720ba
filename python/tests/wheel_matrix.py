"""Runs wheel_smoke.py against the wheel in dist/ on several Pythons: `wheel_matrix.py 3.10@2.4.0 3.12`.

Each gets an environment .venv-wheel-<name> with that torch, or the newest that it supports (some GB, kept for
the next run), and the wheel, and runs with an empty PATH.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("wheel_smoke.py")


def works(python: Path, version: str) -> bool:
    """Whether this really is that Python: version managers leave names on PATH that only print an error."""
    command = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() == version


def find_python(version: str) -> Path | None:
    """An interpreter of this version on PATH or under ~/.pyenv."""
    named = shutil.which(f"python{version}")
    candidates = [Path(named)] if named else []
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return next((python for python in candidates if works(python, version)), None)


def find_wheel() -> Path:
    """The one wheel in dist/ for this processor."""
    wheels = sorted((ROOT / "dist").glob(f"gofast_torch-*_{platform.machine()}.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"expected one wheel in dist/, found {[w.name for w in wheels]}: run `make wheel`")
    return wheels[0]


def pip(inside: Path, *arguments: str) -> None:
    """pip of an environment."""
    subprocess.run([str(inside), "-m", "pip", *arguments], check=True)


def environment(target: str, torch: str, python: Path) -> Path:
    """The environment's interpreter, made with torch the first time."""
    folder = ROOT / f".venv-wheel-{target}"
    inside = folder / "bin" / "python"
    stamp = folder / ".torch-installed"
    if not stamp.exists():
        print(f"Python {target}: installing torch into {folder.name} (some GB, once)", flush=True)
        subprocess.run([str(python), "-m", "venv", "--clear", str(folder)], check=True)
        pip(inside, "install", "--quiet", f"torch=={torch}" if torch else "torch", "numpy", "pillow")
        stamp.touch()
    return inside


@contextlib.contextmanager
def without_tools() -> Iterator[dict[str, str]]:
    """An environment of a machine without Go, compiler or sources: PATH is an empty folder."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GO", "CGO"))}
    with tempfile.TemporaryDirectory() as folder:
        yield {**env, "PATH": folder}


def try_wheel(inside: Path, wheel: Path) -> None:
    """Installs the wheel and runs the smoke test away from the sources."""
    pip(inside, "install", "--quiet", "--force-reinstall", "--no-deps", str(wheel))
    pip(inside, "check")
    with without_tools() as env:
        subprocess.run([str(inside), str(SMOKE)], cwd=env["PATH"], env=env, check=True, timeout=600)


def main(targets: list[str]) -> int:
    """0 when every target that is here passed, and at least one is. A target is a Python, or Python@torch."""
    wheel = find_wheel()
    passed, absent = [], []
    for target in targets:
        version, _, torch = target.partition("@")
        python = find_python(version)
        if python is None:
            print(f"Python {version}: ABSENT on this machine, not tested")
            absent.append(target)
            continue
        try_wheel(environment(target, torch, python), wheel)
        passed.append(target)
    listed = {"passed on": passed, "not tested on": absent}
    print(
        f"{wheel.name}: " + "; ".join(f"{what} {', '.join(on) or 'nothing'}" for what, on in listed.items())
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

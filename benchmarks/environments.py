"""The environments that peers run in. Most share .venv-bench, which runs the benchmark; some would bring
other versions of what the others use, and have their own. `make bench-images` makes all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE = ROOT / "build" / "benchmarks"  # files that benchmarks make
OWN = {"ffcv_": ".venv-bench-ffcv", "tfdata": ".venv-bench-tensorflow"}  # a peer's module -> its environment
REASONS = "not-installed"  # in an environment: "requirement: reason", a line each


def python(module: str, root: Path = ROOT) -> str:
    """The interpreter for a peer's module. Raises ImportError if its environment was not made."""
    if module not in OWN:
        return sys.executable
    found = root / OWN[module] / "bin" / "python"
    if not found.exists():
        raise ImportError(f"there is no {OWN[module]}: `make {OWN[module]}/.stamp` makes it")
    return str(found)


def libjpeg() -> dict[str, str]:
    """The variable that makes gofast-bench decode with Pillow's libjpeg; empty if the wheel has none."""
    from gofast._core import codecs  # a peer's own environment has no gofast

    found = sorted(path for folder in codecs.folders() for path in Path(folder).glob("libjpeg-*.so.62*"))
    return {"GOFAST_LIBJPEG": str(found[-1])} if found else {}


def folders(root: Path = ROOT) -> list[Path]:
    """The environments that are there: the one that runs this, then those of single peers."""
    return [Path(sys.prefix), *(root / name for name in OWN.values() if (root / name).is_dir())]


def packages(root: Path = ROOT) -> list[str]:
    """Where installed packages lie, in all of them."""
    own = [str(path) for folder in folders(root)[1:] for path in folder.glob("lib/python*/site-packages")]
    return [*sys.path, *own]


def not_installed(root: Path = ROOT) -> dict[str, str]:
    """What could not be installed, each with pip's reason."""
    lines = [
        line
        for folder in folders(root)
        if (folder / REASONS).exists()
        for line in (folder / REASONS).read_text(encoding="utf-8").splitlines()
    ]
    return {requirement: reason for requirement, _, reason in (line.partition(": ") for line in lines)}

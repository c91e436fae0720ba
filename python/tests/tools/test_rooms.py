"""Which module imports which: no circle, and rooms that look one way. Every import counts: also those inside
functions, and those that only a type checker sees."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import gofast

PACKAGE = Path(gofast.__file__).parent

# The rooms that each one may look into. What stands in no room (the public modules) may look into all.
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "_core": {"errors"},
    "_loader": {"errors", "_core"},
    "_tables": {"errors", "_core", "_loader"},
    "_plan": {"errors", "_core", "_loader"},
    "_lazy": {"errors", "_core", "_loader"},
    "_images": {"errors", "_core", "_loader", "_plan", "_lazy"},
    "_device": {"errors", "_core", "_loader"},
    "_sets": {"errors", "_core", "_loader", "_tables", "_plan", "_images", ""},  # "" for its DataLoader
    "_webdataset": {"errors", "_core", ""},  # "" for its lazy images
    "_doctor": {"errors", "_core", "_loader", ""},  # it tries the public classes instead of the user's
    "_command": {"", "errors", "_core", "_tables", "_images", "_doctor"},  # "" is the public modules
}

Graph = Mapping[str, set[str]]


def names(package: Path) -> dict[str, Path]:
    """The modules of a package by name: "gofast", "gofast._core.engine"."""
    made = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        made[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return made


def imports(package: Path) -> Graph:
    """What each module of a package imports of it."""
    modules = names(package)
    return {name: imported(name, path, modules) - {name} for name, path in modules.items()}


def imported(name: str, path: Path, modules: Mapping[str, Path]) -> set[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            # A name may be a module of the package, or something that the package itself has.
            within = [f"{source}.{alias.name}" for alias in node.names]
            found += [whole if whole in modules else source for whole in within]
    return {module for module in found if module in modules}


def circle(graph: Graph) -> list[str]:
    """Modules that import each other, the first one again at the end; empty without any."""
    done: set[str] = set()

    def search(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph[module]):
            if found := search(other, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := search(module, []))), [])


def room(module: str) -> str:
    """ "_core", "errors", or "" for the public modules."""
    part = module.split(".")[1] if "." in module else ""
    return part if part in ARROWS else ""


def wrong_arrows(graph: Graph) -> list[str]:
    """Imports that leave a room for one that it may not look into."""
    return [
        f"{module} imports {other}"
        for module, others in sorted(graph.items())
        if (here := room(module))
        for other in sorted(others)
        if room(other) not in ARROWS[here] | {here}
    ]


def test_no_circle() -> None:
    assert circle(imports(PACKAGE)) == []


def test_rooms_look_one_way() -> None:
    assert wrong_arrows(imports(PACKAGE)) == []


def test_a_planted_circle_and_a_planted_wrong_arrow_are_seen(tmp_path: Path) -> None:
    files = {"_core/a.py": "def f():\n    from . import b", "_core/b.py": "from .a import f"}
    files |= {"_plan/a.py": "from .._tables import rows", "_tables/rows.py": ""}
    for name, text in files.items():
        path = tmp_path / "gofast" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    graph = imports(tmp_path / "gofast")
    assert circle(graph) == ["gofast._core.a", "gofast._core.b", "gofast._core.a"]
    assert wrong_arrows(graph) == ["gofast._plan.a imports gofast._tables.rows"]


def test_every_room_is_known_and_packed() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == set(ARROWS) - {"errors"}
    pyproject = PACKAGE.parents[1] / "pyproject.toml"
    listed = pyproject.read_text().split("packages = [")[1].split("]")[0]
    assert {part.strip(' "\n') for part in listed.split(",")} - {""} == {
        "gofast",
        *(f"gofast.{name}" for name in rooms),
    }


def named_in(page: Path) -> list[str]:
    """The source files that a page names."""
    return re.findall(r"`([\w/*.-]+\.(?:py|go|c|h|cu))`", page.read_text())


def test_each_room_has_a_readme_that_names_its_files() -> None:
    """Files that are gone, or that have other names now, send a newcomer astray."""
    root = PACKAGE.parents[1]
    if not (root / "gofast").is_dir():
        pytest.skip("the sources are not here")
    tops = [root / name for name in ("gofast", "pybind", "python", "benchmarks", "docs", "examples")]
    for page in (page for top in tops for page in top.rglob("README.md")):
        for name in named_in(page):
            assert any([*place.glob(name)] for place in (page.parent, PACKAGE, root)), f"{page}: {name}"
    for folder in {path.parent for top in tops for path in top.rglob("*.py")}:
        own = {path.name for path in folder.glob("*.py") if not path.name.startswith(("__", "test_"))}
        if folder.parent == PACKAGE or len(own) > 3:
            assert own <= {*named_in(folder / "README.md")}, folder
    known = [root, *(folder for top in tops[:3] for folder in (top, *top.rglob("*")) if folder.is_dir())]
    for name in named_in(root / "ARCHITECTURE.md"):
        assert any([*folder.glob(name)] for folder in known), name

"""The native build: its border's types, what is in it, what it says when a tool is missing."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gofast._core import engine, native, operation, process_operations

ROOT = Path(__file__).resolve().parents[3]
BUILDER = ROOT / "pybind" / "build_native.py"


def load_builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_native", BUILDER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


builder = load_builder()


# ---------------------------------------------------------------- the border's types, and the version

PYTHON_TYPES = {"string": "str", "int": "int", "float64": "float"}


OPERATIONS = [
    importlib.import_module(f"gofast._core.{path.stem}")
    for path in sorted(Path(engine.__file__).parent.glob("*_operations.py"))
]


def signatures(protocol: type) -> dict[str, inspect.Signature]:
    """The functions of a module as Python's side describes them."""
    return {
        name: inspect.signature(function)
        for name, function in vars(protocol).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }


def public(module: object) -> set[str]:
    return {name for name in dir(module) if not name.startswith("__")}


def test_native_is_what_the_exports_are() -> None:
    """gopy gets other results than one value, or a value and an error, wrong."""
    described = signatures(native.Native)
    exports = {f"pybind_{name}": signature for name, signature in builder.exports().items()}
    assert public(engine.native()) == exports.keys() == described.keys()
    for name, signature in exports.items():
        found = re.fullmatch(r"\((.*?)\) \(\w+ (\w+), err error\)", signature)
        assert found is not None, f"{name}: {signature}"
        parameters: dict[str, str] = {}
        kind = ""
        for group in reversed(found[1].split(", ")):  # Go writes `a, b int`: the type stands with the last
            word, *given = group.split()
            kind = given[0] if given else kind
            parameters = {word: PYTHON_TYPES[kind], **parameters}
        here = described[name]
        taken = {word: p.annotation for word, p in here.parameters.items() if word != "self"}
        assert (taken, here.return_annotation) == (parameters, PYTHON_TYPES[found[2]]), name


def test_capsule_is_what_the_library_has() -> None:
    described = signatures(native.Capsule)
    assert public(engine.capsule()) == described.keys()
    for name, signature in described.items():
        parameters = list(signature.parameters.values())[1:]
        most = "1 to 9" if parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL else f"{len(parameters)} "
        with pytest.raises(TypeError, match=f"takes .*{most}"):
            getattr(engine.capsule(), name)(*[[]] * 20)


@pytest.mark.parametrize(
    ("kind", "name", "file"),
    [
        (native.Request, "gf_request", "gofast/engine/crew.h"),
        (native.DrawRequest, "gf_draw_request", "pybind/capsule/images.c"),
        (native.CutMixShape, "gf_cutmix_shape", "gofast/image/pixel/mixing.h"),
    ],
)
def test_structs_are_what_c_has(kind: type[ctypes.Structure], name: str, file: str) -> None:
    body = (ROOT / file).read_text().partition(f"}} {name};")[0].rpartition("typedef struct {")[2]
    fields = []
    for line in re.sub("//.*", "", body).split(";"):
        first, *others = line.split(",")
        assert not first.strip() or "*" in first or first.split()[0] == "int64_t", f"not 8 bytes: {line}"
        fields += [word.split("*")[-1].split()[-1] for word in (first, *others) if word.strip()]
    assert fields == [field[0] for field in kind._fields_] and ctypes.sizeof(kind) == 8 * len(fields)


def test_calls_take_no_more_than_six_arguments() -> None:
    """What takes more takes a struct: its fields have names, and an address in the wrong place is a crash."""
    for name, signature in {**signatures(native.Native), **signatures(native.Capsule)}.items():
        fixed = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_POSITIONAL]
        assert len(fixed) - 1 <= 6, name


def test_operations_are_what_go_has() -> None:
    tables = {operation.Call: ("call.go", "with"), operation.Task: ("task.go", "working")}
    here = [value for module in OPERATIONS for value in vars(module).values()]
    for kind, (file, maker) in tables.items():
        text = (ROOT / "pybind" / file).read_text()
        names = set(re.findall(rf'^\t"(\w+)": +{maker}\(', text, re.MULTILINE))
        described = [made.name for made in here if isinstance(made, kind)]
        # Those two are the engine module's own.
        assert sorted(names - {"start", "close"}) == sorted(described)


def test_one_version() -> None:
    import gofast

    assert process_operations.about({})["version"] == gofast.__version__


# ---------------------------------------------------------------- the edits of gopy's output


@pytest.mark.parametrize("edit", ["edit_go", "edit_script", "edit_c"])
def test_edit_that_finds_nothing_fails(edit: str) -> None:
    edited = {"edit_go": "native.go", "edit_script": "build.py", "edit_c": "native.c"}[edit]
    text = (builder.GENERATED / edited).read_text()
    with pytest.raises(builder.BuildError, match=r"gopy's output changed: found nothing to edit for"):
        getattr(builder, edit)(text)  # edited once already


def test_only_our_exports_are_left() -> None:
    exports = re.findall(r"^//export (\w+)$", (builder.GENERATED / "native.go").read_text(), re.MULTILINE)
    assert exports == sorted(f"pybind_{name}" for name in builder.exports())


# ---------------------------------------------------------------- one sentence that says what to install


def say_what_is_missing(tmp_path: Path, tools: dict[str, str]) -> str:
    """What the builder prints when PATH has only these tools: name -> script, or "" for the real one."""
    for name, script in tools.items():
        if script:
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        else:
            real = shutil.which(name)
            assert real is not None
            (tmp_path / name).symlink_to(real)
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, str(BUILDER), "--out", str(out)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == "" and not out.exists()
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({}, ["needs Go >= 1.26 to build from source: install it from https://go.dev/dl or use a wheel"]),
        ({"go": "echo go1.22.5"}, ["needs Go >= 1.26", "go1.22.5"]),
        (
            {"go": "echo 'go: go.mod requires go >= 1.26.0' >&2; exit 1"},
            ["needs Go >= 1.26", "go.mod requires go >= 1.26.0"],
        ),
        ({"go": ""}, ["needs a C compiler", "apt install gcc"]),
    ],
    ids=["no Go", "an old Go", "a Go that refuses the module", "no compiler"],
)
def test_what_is_missing_is_said(tools: dict[str, str], said: list[str], tmp_path: Path) -> None:
    line = say_what_is_missing(tmp_path, tools)
    assert line.startswith("gofast needs") and all(part in line for part in said), line


def test_all_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    """Before `make` downloads gigabytes."""
    command = [sys.executable, str(BUILDER), "--check", "1e9"]
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    go, compiler, disk = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs Go >= 1.26" in go and "apt install gcc" in compiler and "GB left: make room" in disk
    assert subprocess.run([*command[:-1], "0"], capture_output=True).returncode == 0


def test_without_headers_or_pybindgen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(builder.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(builder.BuildError, match=r"^gofast needs Python's C headers .* python3-dev"):
        builder.check_headers()
    with pytest.raises(builder.BuildError, match=r"^gofast needs PyBindGen .* pip install pybindgen"):
        builder.check_pybindgen()


def test_library_misses_no_function() -> None:
    """The linker lets a shared library go without functions: what is missing is Python's or libc's."""
    command = ["nm", "-D", "--undefined-only", str(engine._LIBRARY)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    missing = [line.split() for line in done.stdout.splitlines()]
    assert [name for kind, name in missing if kind == "U" and not re.match(r"_?Py|.*@GLIBC_", name)] == []

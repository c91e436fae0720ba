"""Builds gofast's one native module, _native.abi3.so, from the Go package beside this file.

gopy generates the glue for every export of package pybind; the glue is edited so that one library serves
every CPython >= 3.10; cgo and the Go linker make the library. Only the standard library and PyBindGen are
needed, because pip runs this file in an otherwise empty environment.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "pybind" / "build"
# The go command skips folders that begin with an underscore: `go vet ./...` must not need Python's headers.
GENERATED = WORK / "_native"
LIBRARY = "_native.abi3.so"
PACKAGE = ROOT / "python" / "gofast"
GO_VERSION = (1, 26)
LIMITED_API = "0x030a0000"
# Nothing here resolves host names or users: Go's own code for that needs no libc.
TAGS = "-tags=python,netgo,osusergo"
# Before glibc 2.34 the symbols of old_glibc.h were in these two, which are nearly empty now.
OLD_GLIBC = (
    "-Wl,--wrap=fstat -Wl,--wrap=stat "
    "-Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state"
)


class BuildError(Exception):
    """One sentence that says what is missing or went wrong."""


# ---------------------------------------------------------------- what the machine must have


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Runs a command and returns its output; a failure is a BuildError with what it printed."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, text=True, capture_output=True)
    if done.returncode != 0:
        shown = " ".join(str(c) for c in command[:3])
        raise BuildError(f"`{shown} ...` failed while building gofast:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def compile(*arguments: str | Path, cwd: Path = ROOT, env: dict[str, str]) -> None:
    """`go build` with these arguments, which says on stderr which package it compiles, of how many."""
    *flags, package = [str(argument) for argument in arguments]
    listed = [flag for at, flag in enumerate(flags) if "-o" not in (flag, flags[at - 1])]
    stale = run(
        "go", "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", *listed, package, cwd=cwd, env=env
    )
    progress, said = Progress(len(stale.split())), list[str]()
    with subprocess.Popen(
        ["go", "build", "-v", *flags, package],
        cwd=cwd,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as building:
        assert building.stdout is not None
        for line in building.stdout:
            if re.fullmatch(r"[\w.~/-]+", line.strip()):  # a package; what the compilers say has more words
                progress.at(line.strip())
            else:
                said.append(line)
    progress.end()
    if building.returncode != 0:
        raise BuildError(f"`go build {package}` failed while building gofast:\n{''.join(said)}".rstrip())


class Progress:
    """What is compiled now, on stderr: one line of a terminal, or one every few seconds."""

    EVERY = 5.0  # seconds, where it is no terminal

    def __init__(self, total: int) -> None:
        self._total, self._count, self._told = total, 0, float("-inf")
        self._live = sys.stderr.isatty()

    def at(self, package: str) -> None:
        """A package begins."""
        self._count += 1
        self._total = max(self._total, self._count)
        said = f"compiling {self._count} of {self._total}: {package}"
        if self._live:
            print(f"\r\033[K{said}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._told >= self.EVERY:
            self._told = time.monotonic()
            print(said, file=sys.stderr, flush=True)

    def end(self) -> None:
        """All are compiled."""
        if self._live and self._count:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def check_go() -> str:
    """Go's version, which must be new enough."""
    need, hint = (
        "gofast needs Go >= 1.26 to build from source",
        "install it from https://go.dev/dl or use a wheel",
    )
    if shutil.which("go") is None:
        raise BuildError(f"{need}: {hint}")
    try:
        version = run("go", "env", "GOVERSION").strip()
    except BuildError as error:
        said = " ".join(str(error).splitlines()[1:])
        raise BuildError(f"{need} and this one refuses go.mod: {hint} ({said})") from None
    found = re.match(r"go(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < GO_VERSION:
        raise BuildError(f"{need} and found {version}: {hint}")
    return version


def check_compiler() -> str:
    """The C compiler that cgo will call."""
    compiler = run("go", "env", "CC").strip() if shutil.which("go") else os.environ.get("CC", "gcc")
    if not compiler or shutil.which(compiler.split()[0]) is None:
        raise BuildError(
            f"gofast needs a C compiler to build from source and {compiler or 'gcc'} is not on PATH: "
            "install gcc (Debian and Ubuntu: apt install gcc libc6-dev) or use a wheel"
        )
    return compiler


def check_headers() -> str:
    """The folder of Python.h."""
    include = sysconfig.get_paths()["include"]
    if not Path(include, "Python.h").is_file():
        raise BuildError(
            f"gofast needs Python's C headers to build from source and {include}/Python.h does not exist: "
            "install them (Debian and Ubuntu: apt install python3-dev) or use a wheel"
        )
    return include


def missing(free_gb: float) -> list[str]:
    """All that this machine lacks for a build: a sentence each."""
    found = []
    for check in (check_go, check_compiler, check_headers):
        try:
            check()
        except BuildError as error:
            found.append(str(error))
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < free_gb:
        found.append(
            f"gofast's environment takes {free_gb:g} GB and {ROOT} has {free:.1f} GB left: make room"
        )
    return found


def check_pybindgen() -> None:
    """PyBindGen, which gopy's output imports."""
    if importlib.util.find_spec("pybindgen") is None:
        raise BuildError(
            "gofast needs PyBindGen to build from source: pip install pybindgen==0.22.1, or use a wheel"
        )


# ---------------------------------------------------------------- what the library is made of


def sources() -> list[Path]:
    """Every file that the library depends on."""
    files = [ROOT / "go.mod", ROOT / "go.sum", Path(__file__).resolve()]
    for folder in (ROOT / "gofast", ROOT / "pybind"):
        for path in folder.rglob("*"):
            if (
                path.suffix in (".go", ".c", ".h", ".cu")
                and not path.name.endswith("_test.go")
                and "testdata" not in path.parts  # an sdist has none
                and WORK not in path.parents
            ):
                files.append(path)
    return sorted(files)


def digest(files: list[Path], *settings: str) -> str:
    """A hash of the files' names and contents and of the settings."""
    h = hashlib.sha256(json.dumps(settings).encode())
    for path in files:
        h.update(f"\0{path.relative_to(ROOT)}\0".encode())
        h.update(path.read_bytes())
    return h.hexdigest()


def exports() -> dict[str, str]:
    """The exported functions of package pybind: name -> signature."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "pybind").glob("*.go")):
        if not path.name.endswith("_test.go"):
            found.update(re.findall(r"^func ([A-Z]\w*)(\(.*) \{", path.read_text(), re.MULTILINE))
    return found


# ---------------------------------------------------------------- generate and edit


def edit(text: str, pattern: str, replacement: str, what: str) -> str:
    """Replaces the one place that matches; gopy's output has changed when there is none."""
    text, count = re.subn(pattern, lambda _: replacement, text, count=1, flags=re.DOTALL | re.MULTILINE)
    if count == 0:
        raise BuildError(
            f"gopy's output changed: found nothing to edit for {what!r} (see pybind/build_native.py)"
        )
    return text


GO_PREAMBLE = """#cgo CFLAGS: -Wall
#include <stdlib.h>
#include <Python.h>

*/
"""


def edit_go(text: str) -> str:
    """native.go with only what the exports of package pybind need.

    gopy adds handles, complex numbers and 17 slice types. They need symbols outside the limited API, and
    its bytes() of an empty slice aborts the process; our border has only numbers and strings.
    """
    # cgo names symbols by a hash of the text, and this line has paths.
    text = edit(text, r"^gopy gen [^\n]*\n", "", "gopy's command line")
    text = edit(text, r"^#cgo CFLAGS:.*?^\*/\n", GO_PREAMBLE, "the C preamble")
    text = edit(text, r'^\t"github.com/go-python/gopy/gopyh"[^\n]*$', '\t"unsafe"', "the handle import")
    text = edit(
        text, r"^// initialization functions.*?(?=^// ---- Package: pybind ---)", "", "handles and slices"
    )
    head, *functions = re.split(r"(?=^//export )", text, flags=re.MULTILINE)
    return head + "\n\n".join(sorted(f.rstrip() for f in functions)) + "\n"  # gopy's order is not stable


def edit_script(text: str) -> str:
    """build.py, gopy's description of the exports for PyBindGen, without the exports that were cut."""
    text = edit(
        text, r"^mod\.add_function\('GoPyInit'.*?\n(?=[^\n]*'pybind_)", "", "handle and slice functions"
    )
    lines = text.splitlines(keepends=True)
    calls = [i for i, line in enumerate(lines) if "'pybind_" in line]
    for i, call in zip(calls, sorted(lines[i] for i in calls), strict=True):
        lines[i] = call
    return "".join(lines)


def edit_c(text: str) -> str:
    """native.c without the one type that the limited API hides."""
    return edit(text, r"^typedef PyAsyncMethods\* cmpfunc;$", "typedef void* cmpfunc;", "cmpfunc")


def host(env: dict[str, str]) -> dict[str, str]:
    """The environment without another machine's names: what is generated is the same for 64 bits."""
    return {name: value for name, value in env.items() if name not in ("GOOS", "GOARCH", "CC")}


def generate(include: str, env: dict[str, str]) -> None:
    """Writes native.go, native.c and the header that joins them to GENERATED."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    # The same objects serve the check and gopy, in whatever folder pip unpacked the sources.
    trimmed = {**env, "GOFLAGS": f"{env.get('GOFLAGS', '')} -trimpath".strip()}
    compile("./pybind", env=trimmed)  # gopy only warns about code that does not compile
    tools = WORK / "bin"
    compile("-o", tools / "gopy", "github.com/go-python/gopy", env=trimmed)
    output = GENERATED.relative_to(ROOT)
    run(
        tools / "gopy",
        "gen",
        f"-vm={sys.executable}",
        f"-output={output}",
        "-name=native",
        "-no-make=true",
        "./pybind",
        env=trimmed,
    )
    for name in ("__init__.py", "go.py", "pybind.py"):
        (GENERATED / name).unlink(
            missing_ok=True
        )  # gopy's wrappers change the working directory of the process

    native_go, script = GENERATED / "native.go", GENERATED / "build.py"
    native_go.write_text(edit_go(native_go.read_text()))
    script.write_text(edit_script(script.read_text()))
    made = set(re.findall(r"^//export pybind_(\w+)$", native_go.read_text(), re.MULTILINE))
    if made != exports().keys():
        odd = ", ".join(sorted(made ^ exports().keys()))
        raise BuildError(f"gopy did not generate the exports of package pybind as they are, look at: {odd}")

    run(sys.executable, "build.py", cwd=GENERATED, env=env)
    native_c = GENERATED / "native.c"
    native_c.write_text(edit_c(native_c.read_text()))
    objects = GENERATED / "_obj"
    objects.mkdir()
    run("go", "tool", "cgo", "-objdir", f"{objects}/", "-exportheader", "native_go.h", "--",
        f"-I{include}", f"-DPy_LIMITED_API={LIMITED_API}", "native.go", cwd=GENERATED, env=env)  # fmt: skip
    shutil.rmtree(objects)


# ---------------------------------------------------------------- compile


def build(out: Path, debug: bool = False, force: bool = False) -> bool:
    """Puts the library into folder out; False when it was there already, up to date."""
    go, compiler, include = check_go(), check_compiler(), check_headers()
    check_pybindgen()
    settings = (go, compiler, run("go", "env", "GOARCH").strip(), include, LIMITED_API)
    stamp = WORK / "stamp.json"
    try:
        stamps = json.loads(stamp.read_text())
    except (OSError, ValueError):
        stamps = {}

    border = [ROOT / "go.mod", Path(__file__).resolve(), *sorted((ROOT / "pybind").glob("*.go"))]
    generated = digest(border, *settings)
    built = digest(sources(), *settings, str(debug))
    library = WORK / LIBRARY
    target = out / LIBRARY

    env = {**os.environ, "CGO_ENABLED": "1"}
    # Package capsule includes C headers of other packages, which the go command does not watch: their hash in
    # the flags makes it compile capsule again when one changes, or another Python is used.
    python = Path(include, "patchlevel.h").read_text()
    headers = digest([path for path in sources() if path.suffix == ".h"], python)[:16]
    flags = env.get("CGO_CFLAGS", "-O2 -g")
    env["CGO_CFLAGS"] = (
        f"{flags} -DPy_LIMITED_API={LIMITED_API} -DGOFAST_HEADERS=0x{headers} -include old_glibc.h"
    )
    # Not as flags: cgo names symbols by a hash of the flags, and each folder would give another library.
    folders = [str(ROOT / "pybind"), include, *filter(None, [env.get("CPATH")])]
    env["CPATH"] = os.pathsep.join(folders)
    env["CC"] = compiler
    fresh = stamps.get("built") == built and library.is_file() and not force
    if not fresh:
        stamp.unlink(missing_ok=True)
        if stamps.get("generated") != generated or not (GENERATED / "native_go.h").is_file() or force:
            generate(include, host(env))
        link = f"-ldflags={'-s=false ' if debug else '-s -w '}'-extldflags={OLD_GLIBC}'"
        compile("-buildmode=c-shared", TAGS, "-trimpath", "-buildvcs=false", link,
                "-o", library, ".", cwd=GENERATED, env=env)  # fmt: skip
        stamp.write_text(json.dumps({"generated": generated, "built": built}))
    if fresh and target.is_file() and target.read_bytes() == library.read_bytes():
        return False
    out.mkdir(parents=True, exist_ok=True)
    # A new file under the old name: processes that have the old library mapped keep it.
    temporary = out / f".{LIBRARY}.{os.getpid()}"
    shutil.copyfile(library, temporary)
    temporary.chmod(0o755)
    temporary.replace(target)
    return True


# ---------------------------------------------------------------- the command line


def main() -> int:
    """The command line; `make build` calls it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=PACKAGE, help="folder for the library (default: the package)"
    )
    parser.add_argument("--debug", action="store_true", help="keep symbols, for gdb")
    parser.add_argument("--force", action="store_true", help="build even when nothing changed")
    parser.add_argument(
        "--check",
        type=float,
        metavar="GB",
        help="build nothing; say what this machine lacks, free disk included",
    )
    options = parser.parse_args()
    if options.check is not None:
        lacking = missing(options.check)
        print(*lacking, sep="\n", end="\n" * bool(lacking), file=sys.stderr)
        return len(lacking) > 0
    try:
        changed = build(options.out, options.debug, options.force)
        print(f"{LIBRARY} {'built' if changed else 'is up to date'}")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Plants the faults of `faults.txt` one at a time into a copy of the sources, and says which test notices.

A fault in that file is a name, checks, and hunks as in a diff: each line of a hunk begins with a space, - or
+. What a hunk replaces must be in its file exactly once. `or` begins another form of the fault, for another
state of the sources. The checks are `go`, `tsan` (go with C under the thread sanitizer) or `py`, and what go
test or pytest is given. They run in their order, up to the first that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 400  # of one check; a hang is noticed too
BUILD_SECONDS = 900
TSAN = {
    "CGO_CFLAGS": "-g -O1 -fsanitize=thread",
    "CGO_LDFLAGS": "-fsanitize=thread",
    "TSAN_OPTIONS": "halt_on_error=1",
}


class UnusableError(Exception):
    """The fault is not in the sources, or they do not build with it."""


@dataclass
class Hunk:
    """Lines of a file, and those that they become."""

    file: str
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class Fault:
    """One fault, in all its forms."""

    name: str
    checks: list[str] = field(default_factory=list)
    forms: list[list[Hunk]] = field(default_factory=lambda: [[]])


def faults() -> list[Fault]:
    """Those of faults.txt."""
    found: list[Fault] = []
    for line in Path(__file__).with_name("faults.txt").read_text().splitlines():
        if line.startswith("= "):
            found.append(Fault(line[2:]))
        elif line == "or":
            found[-1].forms.append([])
        elif line.startswith("@ "):
            found[-1].forms[-1].append(Hunk(line[2:]))
        elif line[:1] in (" ", "-", "+"):
            hunk = found[-1].forms[-1][-1]
            if line[0] != "+":
                hunk.old.append(line[1:])
            if line[0] != "-":
                hunk.new.append(line[1:])
        elif line and line[0] != "#":
            found[-1].checks.append(line)
    return found


class Copy:
    """A copy of a checkout, in which things are broken.

    Args:
        tree: the checkout.
        folder: where the copy lies. What is there already and is the same stays, so that builds are warm.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder
        listing = ["git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
        files = {name for name in listed if name and (tree / name).is_file()}
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if (
                path.suffix in (".py", ".go", ".c", ".h")
                and name not in files
                and "pybind/build/" not in name
            ):
                path.unlink()
        for name in sorted(files):
            target = folder / name
            if not target.is_file() or target.read_bytes() != (tree / name).read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, target)
        self.python = (tree / ".venv" / "bin" / "python").absolute()
        sources = str(folder / "python")
        self.environment = {**os.environ, "PYTHONPATH": sources, "OMP_WAIT_POLICY": "passive"}

    def run(self, *command: object, seconds: float = SECONDS, **more: str) -> tuple[int | None, str]:
        """The exit status, None if the time was up, and all that was said."""
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=self.folder,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=self.environment | more,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                status = None
            said.seek(0)
            return status, said.read()

    def build(self, kind: str, *rest: str) -> None:
        """Builds what a check needs: a fault that does not compile must not look as if it was noticed."""
        command = ["go", "build", *(word for word in rest if word.startswith("./"))]
        if kind == "py":
            command = [str(self.python), "pybind/build_native.py"]
        status, said = self.run(*command, seconds=BUILD_SECONDS)
        if status != 0:
            raise UnusableError(f"does not build: {said[-600:]}")

    def check(self, kind: str, *rest: str) -> str | None:
        """Runs one check: the test that failed, or None."""
        self.build(kind, *rest)
        if kind == "py":
            status, said = self.run(
                self.python, "-m", "pytest", "-xq", "-m", "not soak", "-p", "no:cacheprovider", *rest
            )
            if status == 5:
                raise UnusableError(f"no test matches {rest}")
            found = re.search(r"^(?:FAILED|ERROR) \S*?(test_\w+\.py::\S+)", said, re.MULTILINE)
            found = found or re.search(r'File "\S+/(test_\w+\.py", line \d+ in test_\w+)', said)
        else:
            options = ["-short"] if kind == "tsan" else []
            go = ["go", "test", "-vet=off", "-failfast", "-count=1", "-timeout=300s", *options]
            status, said = self.run(*go, *rest, **(TSAN if kind == "tsan" else {}))
            if "[build failed]" in said:
                raise UnusableError(f"its tests do not build: {said[:600]}")
            found = re.search(r"^\s*--- FAIL: (\S+)", said, re.MULTILINE)
            found = found or re.search(r"running tests:\s+(\w+)", said)
            found = found or re.search(r"\.((?:Test|Fuzz)\w+)\(", said)
        if status == 0:
            return None
        test = found[1] if found else f"{kind} {rest[0]}"
        how = "a race" if "ThreadSanitizer: data race" in said else "a hang" if status is None else ""
        how = how or ("a hang" if re.search("test timed out|Timeout", said) else "")
        how = how or ("a crash" if re.search("SIG[A-Z]{3,}|Fatal Python error", said) else "")
        return f"{test} ({how})" if how else test

    def plant(self, fault: Fault) -> dict[Path, str]:
        """Changes the files. Returns what was in them before."""
        why = []
        for form in fault.forms:
            before: dict[Path, str] = {}
            after: dict[Path, str] = {}
            for hunk in form:
                path = self.folder / hunk.file
                text = after.get(path) or (path.read_text() if path.is_file() else "")
                old, new = ("\n".join(["", *lines, ""]) for lines in (hunk.old, hunk.new))
                if (times := f"\n{text}".count(old)) != 1:
                    why.append(f"{hunk.file} has {hunk.old[0].strip()!r} ... {times} times")
                    break
                before.setdefault(path, text)
                after[path] = f"\n{text}".replace(old, new)[1:]
            else:
                for path, text in after.items():
                    path.write_text(text)
                return before
        raise UnusableError("; ".join(why))

    def look(self, checks: list[str], fault: Fault | None = None) -> str | None:
        """The first test that fails, with the fault or without any."""
        before = self.plant(fault) if fault else {}
        try:
            return next((noticed for check in checks if (noticed := self.check(*check.split()))), None)
        finally:
            for path, text in before.items():
                path.write_text(text)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="names' beginnings, with commas")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to copy, tests too")
    parser.add_argument("--scratch", type=Path, help="where its copy is kept")
    parser.add_argument("--json", type=Path, help="a file for the result")
    parser.add_argument("--clean", action="store_true", help="no faults: all checks must pass")
    options = parser.parse_args()
    tree = options.tree.resolve()
    copy = Copy(tree, options.scratch or Path(tempfile.gettempdir(), f"gofast-faults-{tree.name}"))
    chosen = [f for f in faults() if f.name.startswith(tuple(options.only.split(",")))]
    planned: dict[str, tuple[list[str], Fault | None]] = {f.name: (f.checks, f) for f in chosen}
    if options.clean:
        planned = {check: ([check], None) for f in chosen for check in f.checks}
    results: dict[str, str] = {}
    bad = 0
    for name, (checks, fault) in planned.items():
        start = time.monotonic()
        try:
            noticed = copy.look(checks, fault)
            bad += (noticed is None) != options.clean
            results[name] = noticed or ("passes" if options.clean else "NOT NOTICED")
        except UnusableError as error:
            bad += 1
            results[name] = f"UNUSABLE: {error}"
        print(f"{name:36} {time.monotonic() - start:4.0f} s  {results[name]}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(planned) - bad} of {len(planned)} {'pass' if options.clean else 'were noticed'}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

"""Counts what keeps this house small: one mechanism for each question, one meaning for each name.

    python python/tests/census.py

`make lint` prints it, and `tools/test_census.py` fails where a figure has grown. Whoever lowers one lowers
its line in MOST.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/gofast"

Places = dict[str, list[str]]  # what was found, and in which files

# The most that each figure may be.
MOST = {
    "public names": 22,
    "class names that mean two things": 0,
    "file names that mean two things": 5,
    "makers of batches": 1,
    "is this file still the same?": 2,
    "is this dataset still the same?": 2,
    "why not native?": 1,
    "formats on disk": 2,
    "orders": 1,
    "lines: library": 82_284,
    "lines: tests": 69_037,
    "lines: benchmarks": 8_773,
}

# Objects that were kept are compared, by identity, with those that a dataset has now. `sample_memory.py`
# compares the rows of a batch, which is another question.
UNCHANGED = r"map\(operator\.is_, (?!rows)|\ba is b\b|is dataset\.\w|is not (value|then)\b"

# What a second answer to a question looks like in a source. A file counts once.
ANSWERS = {
    "makers of batches": r"capsule\.(fill|submit)\(|_submit\(self\._crew",
    "is this file still the same?": r"st_mtime_ns|st_ctime|\.ModTime\(\)|\bCtim\b",
    "is this dataset still the same?": UNCHANGED,
    "why not native?": r"^class \w*(Refusal|NotNative|NotCopied|Uncopied|Reason)\b",
    "formats on disk": r'^(const |\t)?(magic|MAGIC|FORMAT)\s*=\s*(b?"gofast|\d\b)',
    # A base of its own, or another cut for ranks and workers. What derives from Order is of the family.
    "orders": r"^class \w*(Order|Listed|Slice)\b(?!\(Order\)|.*Protocol)"
    r"|^ *def (?!__init__).*\b(rank|worker): int, (world|workers): int",
}


def sources(*endings: str) -> Iterator[tuple[str, str]]:
    """The files of the library that end so, without tests: (path, text)."""
    for path in listed():
        if kind(path) == "library" and path.endswith(endings):
            yield path, (ROOT / path).read_text()


def listed() -> list[str]:
    """The files that git knows, and that are there."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [path for path in names.splitlines() if (ROOT / path).is_file()]


def public_names() -> list[str]:
    """`gofast.__all__`, without importing it."""
    for node in ast.parse((PACKAGE / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    raise AssertionError("gofast/__init__.py has no __all__")


def twice(found: Iterable[tuple[str, str]]) -> Places:
    """The names that stand in more than one file."""
    places = defaultdict(list)
    for name, path in found:
        places[name].append(path)
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def class_names() -> Places:
    """Public class names of the Python package that mean two things."""
    return twice(
        (node.name, path)
        for path, text in sources(".py")
        if path.startswith("python/gofast/")
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def file_names() -> Places:
    """Names of modules of the Python package that mean two things."""
    paths = [path for path, _ in sources(".py") if path.startswith("python/gofast/")]
    return twice((Path(path).name, path) for path in paths if not path.endswith("__init__.py"))


def answers(pattern: str) -> Places:
    """The files that answer a question."""
    found = re.compile(pattern, re.M)
    return {path: [path] for path, text in sources(".py", ".go") if found.search(text)}


def kind(path: str) -> str:
    """What a file is counted as."""
    if path.startswith("benchmarks/"):
        return "benchmarks"
    if re.search(r"test|fuzz", path.lower()):
        return "tests"
    return "library" if path.startswith(("gofast/", "pybind/", "python/gofast/")) else "other"


def lines() -> dict[str, int]:
    """Lines of code by kind: neither blank, nor comment, nor docstring."""
    counts: dict[str, int] = defaultdict(int)
    for path in listed():
        if path.endswith((".go", ".c", ".h", ".cu", ".py")):
            text = (ROOT / path).read_text(errors="replace")
            counts[kind(path)] += (_python_lines if path.endswith(".py") else _c_lines)(text)
    return counts


_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _python_lines(text: str) -> int:
    """The lines that hold a token, of which only texts have several: half of the time of `tokenize`."""
    each = text.splitlines()
    found = {number for number, line in enumerate(each, 1) if line.strip() and line.lstrip()[0] != "#"}
    docstrings = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr) and node.lineno != node.end_lineno:
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                inside = range(node.lineno, (node.end_lineno or 0) + 1)
                found.update(number for number in inside if each[number - 1].strip())
        elif isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(found - docstrings)


def _c_lines(text: str) -> int:
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), text, flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//"))


@cache
def figures() -> dict[str, int]:
    """All figures by name."""
    counted = lines()
    return {
        "public names": len(public_names()),
        "class names that mean two things": len(class_names()),
        "file names that mean two things": len(file_names()),
        **{question: len(answers(pattern)) for question, pattern in ANSWERS.items()},
        **{f"lines: {name}": counted[name] for name in ("library", "tests", "benchmarks")},
    }


def places(name: str) -> Places:
    """What a figure counts, and in which files."""
    named = {"class names that mean two things": class_names, "file names that mean two things": file_names}
    if name in named:
        return named[name]()
    return answers(ANSWERS[name]) if name in ANSWERS else {}


def main() -> None:
    """Prints the figures; with --files also where they come from."""
    for name, value in figures().items():
        print(f"{name:34}{value:>8,}, at most {MOST[name]:,}")
        for what, paths in places(name).items() if "--files" in sys.argv else ():
            print(f"    {what}: {', '.join(paths)}" if paths != [what] else f"    {what}")


if __name__ == "__main__":
    main()

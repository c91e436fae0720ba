"""What sub-commands share: exit statuses, and how results are printed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any, TypeAlias

from .._core.progress import printable
from .._tables.label_option import DEFAULT_LABEL

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
PIPE_CLOSED = 141  # as a shell shows a program that SIGPIPE ended

# Adds a sub-command to the parser; its function gets the arguments and returns the exit status.
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]


def add(parsers: Parsers, name: str, run: Run, help: str, description: str, examples: str) -> Any:
    """A sub-command's parser. Its errors show its own usage; its description is as wide as the terminal."""
    wide = min(shutil.get_terminal_size().columns, 110) - 2
    parser = parsers.add_parser(
        name,
        help=help,
        description="\n\n".join(
            textwrap.fill(" ".join(one.split()), wide) for one in description.split("\n\n")
        ),
        epilog="examples:\n" + "".join(f"  {line}\n" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, refuse=parser.error)
    return parser


def add_paths(parser: argparse.ArgumentParser) -> None:
    """What a command looks at."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        default=["."],
        help="a file, a folder or a pattern (default: this folder)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option --json."""
    parser.add_argument("--json", action="store_true", help="print JSON on stdout")


def positive(text: str) -> int:
    """The value of --threads and the like."""
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 1 on")
    return int(text)


def print_json(value: Any) -> None:
    """Prints a result for programs. Names of files that are not UTF-8 are written as \\udcXX."""
    _write(json.dumps(value, indent=2) + "\n")


def print_text(text: str) -> None:
    """Prints a result for people, also where the terminal does not know all characters."""
    encoding = sys.stdout.encoding or "utf-8"
    _write(text.encode(encoding, "replace").decode(encoding))


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"cannot write to standard output: {error.strerror}") from error


def flush() -> None:
    """Writes out what was printed. Python would do it at its end, and show a traceback where that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OSError(f"cannot write to standard output: {error.strerror}") from error


def note(text: str) -> None:
    """Says something beside the result."""
    if sys.stderr is not None:
        text = text.encode(errors="backslashreplace").decode()  # names need not be UTF-8
        print("gofast: " + "\n".join(map(printable, text.split("\n"))), file=sys.stderr)


def add_table(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what a table's columns and cells are."""
    parser.add_argument(
        "--label", help="the label column; '' for none (default: one called label, if it is there)"
    )
    parser.add_argument(
        "--delimiter", help="what stands between the cells of a text file (default: recognised)"
    )
    parser.add_argument(
        "--header", choices=("auto", "yes", "no"), default="auto", help="whether the first line names columns"
    )
    parser.add_argument("--decimal", default=".", help="what stands for the decimal point (default: .)")
    parser.add_argument("--thousands", help="what stands between thousands (default: nothing)")
    parser.add_argument("--encoding", default="utf-8", help="of a text file (default: utf-8)")
    parser.add_argument("--skiprows", metavar="LINES", type=int, default=0, help="lines before the header")
    parser.add_argument(
        "--columns", metavar="COLUMN", action="append", help="a feature column, of several; may be repeated"
    )
    parser.add_argument(
        "--exclude", metavar="COLUMN", action="append", help="a column to leave out; may be repeated"
    )
    parser.add_argument(
        "--fill-value", metavar="NUMBER", type=float, help="what stands for missing cells; nan keeps them"
    )
    parser.add_argument(
        "--label-type", choices=("auto", "int", "float", "text"), default="auto", help="the labels' type"
    )


def table_options(given: argparse.Namespace) -> dict[str, Any]:
    """These options, by the names that they have in Python."""
    named = ["delimiter", "decimal", "thousands", "encoding", "skiprows"]
    named += ["columns", "exclude", "fill_value", "label_type"]
    return {
        "label": DEFAULT_LABEL if given.label is None else given.label or None,
        "header": {"yes": True, "no": False}.get(given.header, "auto"),
        **{name: getattr(given, name) for name in named},
    }

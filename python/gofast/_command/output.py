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
        print("gofast: " + "\n".join(map(printable, text.split("\n"))), file=sys.stderr)

"""What sub-commands share: exit statuses, and how results are printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from .._core.units import size as size

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

# Adds a sub-command to the parser; its function gets the arguments and returns the exit status.
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]


def add(parsers: Parsers, name: str, run: Run, help: str, description: str, examples: str) -> Any:
    """A sub-command's parser."""
    parser = parsers.add_parser(
        name,
        help=help,
        description=description,
        epilog="examples:\n" + "".join(f"  {line}\n" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option --json."""
    parser.add_argument("--json", action="store_true", help="print JSON on stdout")


def positive(text: str) -> int:
    """The value of --threads and the like."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give 1 or more")
    return int(text)


def print_json(value: Any) -> None:
    """Prints a result for programs. Names of files that are not UTF-8 are written as \\udcXX."""
    json.dump(value, sys.stdout, indent=2)
    print()


def print_text(text: str) -> None:
    """Prints a result for people, also where the terminal does not know all characters."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def note(text: str) -> None:
    """Says something beside the result."""
    print(f"gofast: {text}", file=sys.stderr)

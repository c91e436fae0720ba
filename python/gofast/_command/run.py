"""gofast run: python -m gofast under another name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import errors
from .._about import __version__
from . import output

OPTIONS = {"--cache": "memory|FOLDER", "--cache-limit": "BYTES"}  # of gofast; they stand before the script
_DESCRIPTION = """Runs a script that knows nothing of gofast, with gofast installed: PIL.Image.open,
torchvision's ImageFolder and torch's DataLoader give gofast's. At the end, up to three lines on stderr say
what ran natively, of how many, whose the loops' time was, and what there is most to gain from.

Options of gofast's stand before the script; all that follows is the script's own."""


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "run",
        run,
        "run an unmodified script with gofast inside, as python -m gofast does",
        _DESCRIPTION,
        """gofast run train.py --epochs 90
gofast run --cache memory train.py --epochs 90
gofast run -m package.train --epochs 90""",
    )
    _add_options(parser)


def alone(called: str) -> argparse.ArgumentParser:
    """The same as a command of its own."""
    made = argparse.ArgumentParser(
        called, description=_DESCRIPTION, epilog="gofast --help lists other commands."
    )
    _add_options(made)
    return made


def _add_options(parser: Any) -> None:
    """What stands before the script, and the script, for help and for shells: `options` takes them apart."""
    parser.add_argument("--version", action="version", version=f"gofast {__version__}")
    form = f"{parser.prog} [--cache memory|FOLDER] [--cache-limit BYTES]"
    parser.usage = f"""{form} SCRIPT [ARGUMENT ...]
       {form} -m MODULE [ARGUMENT ...]
       {form} -c COMMAND [ARGUMENT ...]"""
    parser.add_argument("script", metavar="SCRIPT", nargs="?", help="a file, as python takes it")
    parser.add_argument("-m", metavar="MODULE", help="run a module instead of a file")
    parser.add_argument("-c", metavar="COMMAND", help="run a command instead of a file")
    parser.add_argument(
        "--cache",
        metavar=OPTIONS["--cache"],
        help="keep what transforms make of pictures before they draw, for later epochs: in memory, or in a "
        "folder, for later runs too (see gofast.install)",
    )
    parser.add_argument("--cache-limit", metavar="BYTES", help='how much is kept at most, such as "20GB"')


def run(given: argparse.Namespace) -> int:
    """Says how it is used: `main` calls `execute` where there is a script."""
    given.refuse("give a script, or -m and a module")
    return output.USAGE


def execute(arguments: Sequence[str]) -> NoReturn:
    """Becomes the Python that runs the script. argparse would take the script's options for its own."""
    os.execv(sys.executable, [sys.executable, "-m", "gofast", *arguments])


def options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """What is said before the script, as ``--cache memory`` or ``--cache=memory``, and the rest.

    Raises:
        OptionError: an option is none of gofast's, or has no value.
    """
    rest, given = [*words], dict[str, str]()
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-h", "--help", "--version"):
        name, equals, value = rest.pop(0).partition("=")
        if name not in OPTIONS:
            raise errors.OptionError(f"unknown option {name}: the script's own stand behind its name")
        if not equals and not rest:
            raise errors.OptionError(f"argument expected for {name}: {OPTIONS[name]}")
        given[name] = value if equals else rest.pop(0)
    return given, rest

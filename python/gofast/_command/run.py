"""gofast run: python -m gofast under another name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from . import output


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "run",
        run,
        "run an unmodified script with gofast inside, as python -m gofast does",
        "Runs a script that knows nothing of gofast. At the end, one line on stderr says what "
        "ran natively, of how many, and the first reason for what did not.",
        """gofast run train.py --epochs 90
gofast run -m package.train --epochs 90""",
    )
    parser.usage = """gofast run SCRIPT [ARGUMENT ...]
       gofast run -m MODULE [ARGUMENT ...]
       gofast run -c COMMAND [ARGUMENT ...]"""


def run(given: argparse.Namespace) -> int:
    """Says how it is used: `main` calls `execute` where there is a script."""
    given.refuse("give a script, or -m and a module")
    return output.USAGE


def execute(arguments: Sequence[str]) -> NoReturn:
    """Becomes the Python that runs the script. argparse would take the script's options for its own."""
    os.execv(sys.executable, [sys.executable, "-m", "gofast", *arguments])

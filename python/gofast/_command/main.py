"""gofast: what is damaged, what is slow; conversions, caches, and facts for bug reports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import _interrupts, errors
from .._about import __version__
from . import cache, completion, convert, demo, doctor, info, man, output, run, shard, verify

_COMMANDS = (verify, doctor, convert, shard, run, cache, info, demo, completion, man)
NAMES = [command.__name__.rpartition(".")[2] for command in _COMMANDS]

_DESCRIPTION = "PyTorch input pipelines, the same batches many times faster."
_EPILOG = """examples:
  gofast verify photos/ train.parquet    decodes everything, lists what is damaged
  gofast doctor photos/                  why loading these pictures is slow, and what helps
  gofast doctor train.py --epochs 1      the same of the loaders of a script
  gofast convert train.csv train.parquet
  gofast shard photos/train out/train-{:06d}.tar --shuffle 0
  gofast run train.py --epochs 90        an unmodified script with gofast inside
  gofast info                            what a bug report needs

exit status: 0 done, 1 failed or something is damaged, 2 wrong command line, 130 interrupted,
141 when the output is not read to its end"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="gofast",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"gofast {__version__}")
    parsers = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(parsers)
    for one in parsers.choices.values():
        one.set_defaults(whole=made)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line. Returns its exit status; argparse exits with 2 where it is wrong."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:
        output.note("standard output is closed: give it a file, or /dev/null")
        return output.FAILED
    try:
        try:
            _interrupts.raised()
            if words[:1] == ["run"] and words[1:] and words[1] not in ("-h", "--help"):
                run.execute(words[1:])
            given, unknown = parser().parse_known_args(words)
            if unknown:
                given.refuse(f"unrecognized arguments: {' '.join(unknown)}")
            status: int = given.run(given)
            return status
        finally:
            output.flush()
    except KeyboardInterrupt:
        output.note("interrupted")
        return output.INTERRUPTED
    except BrokenPipeError:  # who reads has seen enough
        return output.PIPE_CLOSED
    except errors.OptionError as error:
        output.note(str(error))
        return output.USAGE
    except (errors.GofastError, OSError, ImportError) as error:
        output.note(str(error))
        return output.FAILED

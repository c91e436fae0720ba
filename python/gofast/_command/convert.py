"""gofast convert: a table in another format."""

from __future__ import annotations

import argparse
import os
import re
from inspect import signature

from .. import errors
from .._core.units import size
from ..convert import convert
from . import output


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "convert",
        run,
        "write a table in another format",
        "Reads a table (CSV, Parquet, Arrow, npy, npz; several files are one table), or datasets of an HDF5 "
        "file, and writes it as the ending of DST says: .parquet, .npz, .npy or .h5. DST gets its name when "
        "it is complete, and then replaces a file of that name. gofast.convert in Python has more options.",
        """gofast convert train.csv train.parquet
gofast convert 'shards/*.csv.gz' all.npz --label target
gofast convert prices.csv prices.npy --label '' --delimiter ';' --fill-value nan
gofast convert packed.h5 plain.h5 --columns images --label labels""",
    )
    parser.add_argument("src", metavar="SRC", nargs="+", help="a file, a folder or a pattern")
    parser.add_argument("dst", metavar="DST", help="the file to write")
    output.add_table(parser)
    parser.add_argument("--threads", type=output.positive, help="threads that read (default: all allowed)")
    output.add_json(parser)


# "give fill_value=", "say header=True", not a path "label=3/x.csv".
_ADVISED = re.compile(r"(?<=[ (])(\w+)=(True|False|)(?=[ ,;:.){]|$)")
_WORDS = {"True": " yes", "False": " no", "": ""}


def _in_the_shell(error: errors.GofastError, given: argparse.Namespace) -> None:
    """Names the options of this command in an error; those that it lacks are Python's."""
    lacking: dict[str, None] = {}

    def option(found: re.Match[str]) -> str:
        if found[1] in vars(given):
            return "--" + found[1].replace("_", "-") + _WORDS[found[2]]
        if found[1] in signature(convert).parameters:  # text= is TableDataset's alone
            lacking[found[0]] = None
        return found[0]

    said = _ADVISED.sub(option, str(error))
    error.args = (said + (f" (in Python, gofast.convert has {', '.join(lacking)})" if lacking else ""),)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    try:
        _convert(given)
    except errors.GofastError as error:
        _in_the_shell(error, given)
        raise
    written = os.path.getsize(given.dst)
    if given.json:
        output.print_json({"path": given.dst, "bytes": written})
    else:
        output.note(f"{given.dst}: {size(written)}")
    return output.DONE


def _convert(given: argparse.Namespace) -> None:
    src = given.src if len(given.src) > 1 else given.src[0]
    convert(src, given.dst, **output.table_options(given), threads=given.threads)

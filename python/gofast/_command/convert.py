"""gofast convert: a table in another format."""

from __future__ import annotations

import argparse
import os

from .._core.units import size
from .._tables.label import DEFAULT_LABEL
from ..convert import convert
from . import output


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "convert",
        run,
        "write a table in another format",
        "Reads a table (CSV, Parquet, npy, npz; several files are one table) and writes it as the ending of "
        "DST says: .parquet, .npz or .npy. DST gets its name when it is complete, and then replaces a file "
        "of that name. Messages name the options of gofast.convert: fill_value= is --fill-value here.",
        """gofast convert train.csv train.parquet
gofast convert 'shards/*.csv.gz' all.npz --label target
gofast convert prices.csv prices.npy --label '' --delimiter ';' --fill-value nan""",
    )
    parser.add_argument("src", metavar="SRC", nargs="+", help="a file, a folder or a pattern")
    parser.add_argument("dst", metavar="DST", help="the file to write")
    parser.add_argument(
        "--label", help="the label column; '' for none (default: one called label, if it is there)"
    )
    parser.add_argument(
        "--delimiter", help="what stands between the cells of a text file (default: recognised)"
    )
    parser.add_argument(
        "--header", choices=("auto", "yes", "no"), default="auto", help="whether the first line names columns"
    )
    parser.add_argument(
        "--exclude", metavar="COLUMN", action="append", help="a column to leave out; may be repeated"
    )
    parser.add_argument(
        "--fill-value", metavar="NUMBER", type=float, help="what stands for missing cells; nan keeps them"
    )
    parser.add_argument("--threads", type=output.positive, help="threads that read (default: all allowed)")
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    header: bool | str = {"yes": True, "no": False}.get(given.header, "auto")
    convert(
        given.src if len(given.src) > 1 else given.src[0],
        given.dst,
        label=DEFAULT_LABEL if given.label is None else given.label or None,
        header=header,  # type: ignore[arg-type]
        delimiter=given.delimiter,
        exclude=given.exclude,
        fill_value=given.fill_value,
        threads=given.threads,
    )
    written = os.path.getsize(given.dst)
    if given.json:
        output.print_json({"path": given.dst, "bytes": written})
    else:
        output.note(f"{given.dst}: {size(written)}")
    return output.DONE

"""gofast scan: what lies in files, by their headers."""

from __future__ import annotations

import argparse

from .._core import command_operations, engine
from . import found, output

_DESCRIPTION = """Reads the headers of pictures and tables, and decodes nothing.

Of pictures: formats, colours, widths and heights, chroma subsampling, progressive files, those that Exif
data turns, classes. Of tables: columns, types, rows, row groups, codecs; ranges and missing values where the
file's metadata says so. Of all: files that are broken, or probably cut, with the reason, and duplicates by
content. Exit status 1 if a file is broken."""


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "scan",
        run,
        "say what lies in files: formats, sizes, classes, columns, broken files, duplicates",
        _DESCRIPTION,
        """gofast scan photos/
gofast scan train.parquet 'shards/*.csv.gz'
gofast scan photos/ --json | jq -r '.broken[].path'""",
    )
    output.add_paths(parser)
    parser.add_argument("--threads", type=output.positive, help="threads that read (default: all allowed)")
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    config: command_operations.Inspection = {"paths": given.paths, "threads": engine.threads(given.threads)}
    report = command_operations.scan(config, "scanning")
    if given.json:
        output.print_json(report)
    else:
        output.print_text(found.scan_text(report))
    return output.FAILED if report["broken"] or report["unreadable_folders"] else output.DONE

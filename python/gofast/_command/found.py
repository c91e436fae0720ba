"""What scan and verify have found, as text. Of long lists it shows the beginning; --json has all of them."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any

from .._core.command_operations import Problem, Verification
from .._core.progress import printable
from .._core.units import duration, many, size

_TABLES, _COLUMNS, _DUPLICATES, _CLASSES = 20, 12, 10, 12  # that are shown
_Report = dict[str, Any]  # see inspect.Report


def scan_text(report: _Report) -> str:
    """The text of a scan. Every broken file is named."""
    return _aligned(_scanned(report))


def verify_text(found: Verification) -> str:
    """The text of a verification. Every damaged file is named, and every one that was not checked."""
    return _aligned(_verified(found))


def _aligned(lines: Iterator[str]) -> str:
    """The lines, whose parts stand below each other in neighbours that have several, parted by tabs."""
    text = ""
    for several, some in itertools.groupby(lines, lambda line: "\t" in line):
        rows = [line.split("\t") for line in some]
        width = max(len(row[0]) for row in rows)
        for name, *rest in rows:
            text += "  ".join([name.ljust(width) if several else name, *rest]).rstrip() + "\n"
    return text


def _scanned(report: _Report) -> Iterator[str]:
    yield f"{many(report['files'], 'file')} in {size(report['bytes'])}, {duration(report['seconds'])}"
    yield from _pictures(report.get("pictures"))
    yield from _classes(report["classes"])
    for table in report["tables"][:_TABLES]:
        yield from _table(table)
    if len(report["tables"]) > _TABLES:
        yield f"... and {many(len(report['tables']) - _TABLES, 'table')} more: --json lists them"
    if others := report.get("others"):
        yield f"neither picture nor table\t{_counts(others['endings'])}\t({size(others['bytes'])})"
    yield from _duplicates(report["duplicates"])
    yield from _problems("probably cut", report["suspects"], "\tverify says whether they are")
    yield from _problems("broken", report["broken"])
    yield from _folders(report["unreadable_folders"])


def _pictures(found: _Report | None) -> Iterator[str]:
    if not found:
        return
    yield f"pictures\t{found['count']}\t({size(found['bytes'])})"
    if kinds := found["formats"]:
        left = {True: "", False: " (left to Pillow)"}
        yield "  format\t" + ", ".join(f"{one['name']} {one['count']}{left[one['native']]}" for one in kinds)
    if colours := found["colours"]:
        yield f"  colour\t{_counts(colours)}"
    if "width" in found:
        for side in ("width", "height"):
            yield f"  {side}\t{_spread(found[side])}"
        yield f"  megapixels\t{found['megapixels']:.3g} on average"
        for which in ("smallest", "largest"):
            one = found[which]
            yield f"  {which}\t{one['width']}x{one['height']}\t{printable(one['path'])}"
    if chroma := found.get("jpeg_subsampling"):
        yield f"  chroma of JPEG\t{_counts(chroma)}"
    if found["progressive"]:
        yield f"  progressive\t{found['progressive']}"
    if turned := found["exif_rotated"]:
        yield f"  turned by Exif\t{turned}\t(viewers turn them, training sees them as they are stored)"


def _spread(of: _Report) -> str:
    if of["min"] == of["max"]:
        return f"all {of['min']}"
    return f"{of['min']} to {of['max']}, median {of['median']}, 90 % from {of['p5']} to {of['p95']}"


def _classes(classes: list[_Report]) -> Iterator[str]:
    if not classes:
        return
    ordered = sorted(classes, key=lambda one: -int(one["pictures"]))
    most, middle, least = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    yield (
        f"classes\t{len(classes)}\tmedian {middle['pictures']} pictures, from {least['pictures']} "
        f"({printable(least['name'])}) to {most['pictures']} ({printable(most['name'])})"
    )
    for one in classes if len(classes) <= _CLASSES else ():
        yield f"  {printable(one['name'])}\t{one['pictures']}"


def _table(table: _Report) -> Iterator[str]:
    head = f"table\t{printable(table['path'])}\t{table['format']}, {size(table['bytes'])}"
    if unusable := table.get("unusable"):
        yield f"{head}: gofast cannot open it: {printable(unusable)}"
        return
    rows = "an unknown number of rows" if table["rows"] is None else many(table["rows"], "row")
    about = "about " if table.get("rows_estimated") else ""
    groups = f", {many(table['row_groups'], 'row group')}" if table.get("row_groups") else ""
    yield f"{head}, {about}{rows} x {many(table['column_count'], 'column')}{groups}"
    columns = table["columns"]
    shown = columns if len(columns) <= _COLUMNS + 1 else columns[:_COLUMNS]
    for column in shown:
        yield f"  {printable(column['name'])}\t{_column(column)}"
    if rest := columns[len(shown) :]:
        types = collections.Counter(column["type"] for column in rest).most_common()
        yield f"  ...\t{len(rest)} more: " + ", ".join(f"{printable(name)} {count}" for name, count in types)


def _column(column: _Report) -> str:
    said = column["type"] + (str(column["shape"]) if "shape" in column else "")
    if "min" in column:
        said += f", {column['min']} to {column['max']}"
    if column.get("nulls"):
        said += f", {column['nulls']} missing"
    if "codec" in column:
        said += f", {column['codec']}"
    return printable(said + (f" ({column['unusable']})" if "unusable" in column else ""))


def _duplicates(found: _Report) -> Iterator[str]:
    if not found["files"]:
        return
    yield f"duplicates\t{many(found['files'], 'file')} could be left out\t({size(found['bytes'])})"
    for group in found["groups"][:_DUPLICATES]:
        names, more = [printable(path) for path in group["paths"][:3]], len(group["paths"]) - 3
        yield "  " + " = ".join([*names, *([f"{more} more"] if more > 0 else [])])
    if len(found["groups"]) > _DUPLICATES:
        yield f"  ... and {many(len(found['groups']) - _DUPLICATES, 'group')} more: --json lists them"


def _verified(found: Verification) -> Iterator[str]:
    yield (
        f"{many(found['files'], 'file')} in {size(found['bytes'])} read in {duration(found['seconds'])}: "
        f"{many(found['pictures'], 'picture')}, {many(found['tables'], 'table')}, "
        + f"{many(found['records'], 'file')} of cache= of pictures, " * bool(found["records"])
        + f"{many(found['tfrecords'], 'TFRecord file')}, " * bool(found["tfrecords"])
        + f"{many(len(found['hdf5']), 'HDF5 file')}, " * bool(found["hdf5"])
        + f"{found['others']} of other kinds"
    )
    for _, why in sorted(found.get("missing_libraries", {}).items()):
        yield f"a library is missing\t{printable(why)}"
    yield from _problems("not checked", found["unchecked"])
    yield from _problems("damaged", found["damaged"])
    yield from _folders(found["unreadable_folders"])
    if not found["damaged"]:
        yield "nothing is damaged" + " of what was checked" * bool(found["unchecked"])


def _problems(what: str, problems: list[Problem], more: str = "") -> Iterator[str]:
    if problems:
        yield f"{what}\t{len(problems)}{more}"
    for one in problems:
        yield f"  {printable(one['path'])}: {printable(one['reason'])}"


def _folders(folders: list[str]) -> Iterator[str]:
    if folders:
        yield f"folders that cannot be listed\t{len(folders)}"
    for folder in folders:
        yield f"  {printable(folder)}"


def _counts(counts: list[_Report]) -> str:
    return ", ".join(f"{printable(one['name']) or 'no ending'} {one['count']}" for one in counts)

"""gofast cache: what gofast keeps on disk, and clearing it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import errors
from .._core.kept import user_cache
from .._core.progress import printable
from .._core.units import many, size
from .._tables.cache import open_cache
from . import output

_DESCRIPTION = """Lists or clears what gofast keeps on disk: lists of large picture folders, indexes of
TFRecord files and compiled GPU kernels, in the user's cache folder, and caches of tables in the folders that
are given. All of it is made again when it is needed. Caches of tables are known by their content, and only
whole ones; no other file is touched."""

_KINDS = {
    "folders": "list of a picture folder",
    "kernels": "compiled GPU kernel",
    "tfrecord": "index of TFRecord files",
}


@dataclass(frozen=True)
class Kept:
    """A file that gofast keeps."""

    path: str
    kind: str
    bytes: int


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "cache",
        run,
        "list or clear what gofast keeps on disk",
        _DESCRIPTION,
        """gofast cache list
gofast cache list data/ experiments/
gofast cache clear
gofast cache clear data/ --yes""",
    )
    parser.add_argument("action", choices=("list", "clear"))
    parser.add_argument(
        "folders",
        metavar="FOLDER",
        nargs="*",
        default=[],  # without it, argparse says that FOLDER is required
        help="where to look for caches of tables, with all below (default: nowhere)",
    )
    parser.add_argument("--yes", action="store_true", help="clear without asking")
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    for folder in given.folders:
        if not os.path.isdir(folder):
            raise errors.OptionError(f"{folder} is not a folder")
    unreadable: list[OSError] = []
    found = [*_own(), *(one for folder in given.folders for one in _tables(folder, unreadable))]
    kept = list({os.path.realpath(one.path): one for one in found}.values())  # a folder may lie in another
    for error in unreadable:
        output.note(f"{error.filename}: {error.strerror}")
    failed = bool(unreadable)
    if given.action == "clear":
        if kept and not given.yes and not _agreed(kept):
            return output.FAILED
        kept, incomplete = _clear(kept)
        failed = failed or incomplete
    total = sum(one.bytes for one in kept)
    if given.json:
        files = [asdict(one) for one in kept]
        output.print_json({"action": given.action, "files": files, "bytes": total})
    else:
        for one in kept:
            name = printable(one.path)
            output.print_text(f"{size(one.bytes):>9}  {one.kind:<24}  {name}\n")
        what = "removed" if given.action == "clear" else "kept"
        print(f"{what}: {many(len(kept), 'file')}, {size(total)}")
    return output.FAILED if failed else output.DONE


def home() -> Path:
    """The folder in the user's cache."""
    return Path(user_cache())


def _own() -> Iterator[Kept]:
    for folder, kind in _KINDS.items():
        for path in sorted((home() / folder).glob("*")):
            if path.is_file() and not path.is_symlink():
                yield Kept(str(path), kind, path.stat().st_size)


def _tables(folder: str, unreadable: list[OSError]) -> Iterator[Kept]:
    for place, _, names in sorted(os.walk(folder, onerror=unreadable.append)):
        for name in sorted(names):
            path = Path(place, name)
            if _is_table(path):
                yield Kept(str(path), "cache of a table", path.stat().st_size)


def _is_table(path: Path) -> bool:
    """Whether it is a whole cache: a user's array that has the name of ours must not be taken for one."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                return False
        found = open_cache(str(path), None)
    except (OSError, errors.ReadError):
        return False
    if found is None:
        return False
    os.close(found.fd)
    return True


def _agreed(kept: list[Kept]) -> bool:
    for one in kept:
        output.note(f"{one.path} ({size(one.bytes)})")
    # Not by input(), which asks on stdout: that may be a pipe that waits for JSON.
    print(f"remove {many(len(kept), 'file')}? [y/N] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if answer.strip().lower() not in ("y", "yes"):
        output.note("nothing was removed: say --yes to remove them")
        return False
    return True


def _clear(kept: list[Kept]) -> tuple[list[Kept], bool]:
    """Removes files. Returns those that are gone, and whether one could not be removed."""
    gone, failed = [], False
    for one in kept:
        try:
            os.unlink(one.path)
            gone.append(one)
        except OSError as error:
            output.note(f"{one.path}: {error.strerror}")
            failed = True
    return gone, failed

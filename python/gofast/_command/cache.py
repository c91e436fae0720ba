"""gofast cache: what gofast keeps on disk, what it is worth, and clearing it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import errors
from .._core.cache_folder import user_cache
from .._core.progress import printable
from .._core.units import many, size
from .._images.cache_option import made_by
from .._images.cache_sets import set_at
from .._tables import array_folder
from . import output, verify

_DESCRIPTION = """Lists or clears what gofast keeps on disk: lists of large picture folders, indexes of
TFRecord files and compiled GPU kernels, in the user's cache folder, or the caches of tables and pictures
(cache=) in the folders that are given. All of it is made again when it is needed. Caches are known by their
content, and those of tables only if they are whole; no other file is touched.

info says more of pictures: which steps were done to how many, how many files are the same as then, and
whether this gofast with this torch and Pillow uses what was made. verify is gofast verify: it compares all
checksums. An epoch of your own loader, which alone knows your transform, fills a cache of pictures."""

_ACTIONS = {
    "list": "say what is there",
    "info": "list it, and say more of pictures",
    "verify": "compare all checksums",
    "clear": "remove it",
}
_PICTURES, _TABLE = "cache of pictures", "cache of a table"
_KINDS = {
    "folders": "list of a picture folder",
    "kernels": "compiled GPU kernel",
    "sizes": "sizes of a folder's pictures",
    "tfrecord": "index of TFRecord files",
}


@dataclass(frozen=True)
class CacheEntry:
    """A file or a folder that gofast keeps."""

    path: str
    kind: str
    bytes: int


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "cache",
        run,
        "list, verify or clear what gofast keeps on disk",
        _DESCRIPTION,
        """gofast cache list
gofast cache list data/ experiments/
gofast cache info data/pixels
gofast cache verify data/pixels
gofast cache clear
gofast cache clear data/ --yes""",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    for name, what in _ACTIONS.items():
        action = actions.add_parser(name, help=what, description=what)
        action.add_argument(
            "folders",
            metavar="FOLDER",
            nargs="+" if name == "verify" else "*",
            help="where caches of tables and pictures lie, here or below (default: the user's cache)",
        )
        output.add_json(action)
        action.set_defaults(refuse=action.error)
        if name == "clear":
            action.add_argument("--yes", action="store_true", help="without asking")


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    if given.action == "verify":
        plain = argparse.ArgumentParser()  # a cache says itself what its columns are
        output.add_table(plain)
        asked = argparse.Namespace(paths=given.folders, threads=None, json=given.json, one_table=False)
        return verify.run(plain.parse_args([], asked))
    for folder in given.folders:
        if not os.path.isdir(folder):
            raise errors.OptionError(f"{folder} is not a folder")
    unreadable: list[OSError] = []
    within = (one for folder in given.folders for one in _caches(folder, unreadable))
    found = within if given.folders else _own()
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
        more = (
            {"sets": [_told(one.path) for one in kept if one.kind == _PICTURES]}
            if given.action == "info"
            else {}
        )
        output.print_json({"action": given.action, "files": files, "bytes": total, **more})
    else:
        for one in kept:
            name = printable(one.path)
            output.print_text(f"{size(one.bytes):>9}  {one.kind:<24}  {name}\n")
            if given.action == "info" and one.kind == _PICTURES:
                output.print_text(_text(_told(one.path)))
        what = "removed" if given.action == "clear" else "kept"
        print(f"{what}: {_count(kept)}, {size(total)}")
    return output.FAILED if failed else output.DONE


def _count(kept: list[CacheEntry]) -> str:
    counts = {kind: sum(one.kind == kind for one in kept) for kind in (_TABLE, _PICTURES)}
    files = len(kept) - sum(counts.values())
    said = [many(count, "cache") + kind.removeprefix("cache") for kind, count in counts.items() if count]
    return " and ".join([many(files, "file")] * bool(files or not said) + said)


def _told(path: str) -> dict[str, Any]:
    """What is to be said of a cache of pictures."""
    found = set_at(path)
    assert found is not None
    here = made_by()
    differs = [name for name in here if found.made_for.get(name) != here[name]]
    return {
        "path": path,
        "root": found.made_for["root"],
        "steps": found.made_for["steps"],
        "lazy": found.is_lazy,
        "pictures": found.fits(),
        "differs": differs,
    }


def _text(told: dict[str, Any]) -> str:
    pictures = told["pictures"]
    steps = ", ".join(_step(dict(step)) for step in told["steps"]) or "decoding only"
    if told["lazy"]:
        steps = "those of each Compose"
    state = (
        f"{many(sum(pictures.values()), 'picture')}, of which {pictures['changed']} have changed since, and "
    )
    others = ", ".join(told["differs"])
    lines = (
        f"pictures of  {'scripts that opened them' if told['lazy'] else printable(told['root'])}",
        f"steps        {printable(steps)}",
        f"records of   {state}{pictures['gone']} are gone",
        f"used here    {f'no: it was made with another {others}' if others else 'yes'}",
    )
    return "".join(f"{'':11}{line}\n" for line in lines)


def _step(step: dict[str, Any]) -> str:
    name = step.pop("op", "")
    return f"{name}({', '.join(f'{key}={value}' for key, value in step.items())})"


def home() -> Path:
    """The folder in the user's cache."""
    return Path(user_cache())


def _own() -> Iterator[CacheEntry]:
    for folder, kind in _KINDS.items():
        for path in sorted((home() / folder).glob("*")):
            if path.is_file() and not path.is_symlink():
                yield CacheEntry(str(path), kind, path.stat().st_size)


def _caches(folder: str, unreadable: list[OSError]) -> Iterator[CacheEntry]:
    for place, _, names in sorted(os.walk(folder, onerror=unreadable.append)):
        pictures = set_at(place)
        if pictures is not None:
            yield CacheEntry(place, _PICTURES, pictures.bytes)
        elif array_folder.WHOLE in names and (table := _table_at(place)) is not None:
            yield CacheEntry(place, _TABLE, array_folder.size_of(table))


def _table_at(path: str) -> array_folder.Description | None:
    """The whole cache of a table that lies there, perhaps a damaged one; None for any other folder."""
    with contextlib.suppress(errors.GofastError):
        return array_folder.read(path, array_folder.TABLE)
    return None


def _agreed(kept: list[CacheEntry]) -> bool:
    for one in kept:
        output.note(f"{one.path} ({size(one.bytes)})")
    # Not by input(), which asks on stdout: that may be a pipe that waits for JSON.
    print(f"remove {_count(kept)}? [y/N] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if answer.strip().lower() not in ("y", "yes"):
        output.note("nothing was removed: say --yes to remove them")
        return False
    return True


def _clear(kept: list[CacheEntry]) -> tuple[list[CacheEntry], bool]:
    """Removes files. Returns those that are gone, and whether one could not be removed."""
    gone, failed = [], False
    for one in kept:
        try:
            pictures = set_at(one.path) if one.kind == _PICTURES else None
            table = _table_at(one.path) if one.kind == _TABLE else None
            if pictures is not None:
                pictures.remove()
            elif table is not None:
                array_folder.remove(table)
            else:
                os.unlink(one.path)
            gone.append(one)
        except OSError as error:
            output.note(f"{one.path}: {error.strerror}")
            failed = True
    return gone, failed

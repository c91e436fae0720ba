"""gofast verify: decodes everything, and lists what is damaged."""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import itertools
import os
import queue
import threading
import warnings
from collections.abc import Iterator, Sequence

from .. import errors
from .._core import codecs, command_operations, engine
from .._core.progress import Progress
from .._core.unpacked_files import unpacked_files
from .._images import pillow
from .._tables import array_folder
from .._tables.column_options import verified
from . import output
from .findings import verify_text
from .found_indexes import FoundIndexes, problem_of

_DESCRIPTION = """Decodes every picture to its last row and reads every table whole, as training would: it
says what gofast.TableDataset would say, with these options. Columns of text are not checked, and are named.
TFRecord files: all checksums are compared and all Examples read. Tar files, compressed
ones too, and MDS and litData shards with their index.json: all that they say of samples is read, and all
pictures in them decoded. HDF5 files, which h5py opens: all datasets of numbers are read.

Pictures that gofast does not decode, and those that it finds damaged, are decoded by Pillow, whose word
counts in training too. gofast's caches, and preprocessed sets that are named: all checksums are compared.
Exit status 1 if anything is damaged."""


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "verify",
        run,
        "decode everything, and list what is damaged",
        _DESCRIPTION,
        """gofast verify photos/
gofast verify train.parquet train.cache
gofast verify prices.csv --decimal , --fill-value nan
gofast verify 'shards/*.csv' --one-table
gofast verify 'train-*.tar'
gofast verify photos/ --json | jq -r '.damaged[].path' > damaged.txt""",
    )
    output.add_paths(parser)
    output.add_table(parser)
    parser.add_argument(
        "--one-table", action="store_true", help="the tables are files of one, as TableDataset takes a list"
    )
    parser.add_argument("--threads", type=output.positive, help="threads that decode (default: all allowed)")
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    codecs.load()  # Pillow's libraries, as in training
    threads = engine.threads(given.threads)
    table = verified(**output.table_options(given))
    listed = FoundIndexes.of(given.paths)
    found = command_operations.verify_files(
        {
            "paths": given.paths,
            "shards": listed.shards,
            "threads": threads,
            "table": table,
            "one_table": given.one_table,
        },
        "verifying",
    )
    found["others"] -= listed.read
    asked = ask_pillow(found, threads)
    found["damaged"] += [*listed.damaged, *_damaged_folders(given.paths)]
    found["unchecked"] += listed.unchecked
    _verify_hdf5(found, threads)
    if given.json:
        output.print_json({**found, "by_pillow": asked})
    else:
        output.print_text(verify_text(found) + (f"decoded by Pillow  {asked}\n" if asked else ""))
    return output.FAILED if found["damaged"] or found["unreadable_folders"] else output.DONE


def _damaged_folders(paths: Sequence[str]) -> Iterator[command_operations.Problem]:
    """The tables' caches and preprocessed sets, here or below, whose values are not as they were written."""
    for path, _, names in itertools.chain(*map(os.walk, paths)):
        if array_folder.WHOLE in names:
            try:
                array_folder.verify(path)
            except errors.GofastError as error:
                yield {"path": error.path or path, "kind": "Damaged", "reason": str(error)}


def _verify_hdf5(found: command_operations.Verification, threads: int) -> None:
    """Reads the HDF5 files, and notes what is wrong with them."""
    if found["hdf5"]:
        from .._tables import hdf5_verify  # which needs torch
    for path in found["hdf5"]:
        try:
            error = hdf5_verify.verify(path, threads)
        except errors.GofastError as raised:
            error = raised
        if error is not None:
            whole = isinstance(error, (errors.UnsupportedError, errors.SchemaError, errors.LimitError))
            found["unchecked" if whole else "damaged"].append(problem_of(path, error))


def ask_pillow(found: command_operations.Verification, threads: int) -> int:
    """Lets Pillow decode what the core leaves to it or finds damaged; its verdict replaces the core's.

    Returns:
        How many pictures it decoded. Without Pillow, 0.
    """
    if not pillow.available():
        return 0
    asked, places = [], []
    for problem in (*found["damaged"], *found["unchecked"]):
        if problem.get("picture"):
            try:
                places.append(_place(problem))
                asked.append(problem)
            except errors.GofastError:
                problem["picture"] = False  # a compressed shard that is not unpacked: the core's word counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of large pictures, of odd metadata: training goes on, too
        reasons = _verdicts(places, threads)
    found["damaged"] = [p for p in found["damaged"] if not p.get("picture")]
    found["unchecked"] = [p for p in found["unchecked"] if not p.get("picture")]
    for problem, reason in zip(asked, reasons, strict=True):
        if reason is None:
            continue
        if problem["kind"] in ("Unsupported", "Limit"):
            problem["kind"] = "Damaged"
            named = "member" in problem
            where = f"{problem['member']} at offset {problem['offset']}: " if named else ""
            problem["reason"] = f"{where}Pillow: {reason}"
        found["damaged"].append(problem)
    found["damaged"].sort(key=lambda problem: (problem["path"], problem.get("offset", 0)))
    found.pop("missing_libraries", None)  # Pillow has its own
    return reasons.count(None)


_Place = tuple[str, int, int]  # path, offset and bytes; of all of a file these are -1


def _place(problem: command_operations.Problem) -> _Place:
    """Where Pillow reads it: compressed shards are unpacked for that."""
    if "member" not in problem:
        return problem["path"], -1, -1
    return unpacked_files([problem["path"]])[0], problem["offset"], problem["bytes"]


def _verdicts(asked: Sequence[_Place], threads: int) -> list[str | None]:
    """What Pillow says against each picture; None if it decodes it.

    In daemon threads: an executor's are waited for at exit, and Pillow can take hours for a hostile file.
    """
    verdicts: list[str | None] = [None] * len(asked)
    left, done = collections.deque(range(len(asked))), queue.SimpleQueue[int]()

    def work() -> None:
        with contextlib.suppress(IndexError):  # nothing is left
            while True:
                number = left.popleft()
                verdicts[number] = _verdict(asked[number])
                done.put(number)

    for _ in range(min(threads, len(asked))):
        threading.Thread(target=work, daemon=True).start()
    try:
        with Progress("verifying with Pillow") as bar:
            finished = 0
            while finished < len(asked):
                bar.update(finished / len(asked))
                with contextlib.suppress(queue.Empty):
                    done.get(timeout=0.1)  # a signal that another thread gets wakes no one here
                    finished += 1
    finally:
        left.clear()
    return verdicts


def _verdict(place: _Place) -> str | None:
    """What Pillow says against a picture; None if it decodes it."""
    path, offset, size = place
    try:
        pillow.open_rgb(path if size < 0 else _part(path, offset, size))
    except BaseException as error:  # a panic of a plugin's in Rust is no Exception
        return str(error) or type(error).__name__
    return None


def _part(path: str, offset: int, size: int) -> io.BytesIO:
    with open(path, "rb") as file:
        file.seek(offset)
        return io.BytesIO(file.read(size))

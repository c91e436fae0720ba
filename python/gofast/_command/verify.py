"""gofast verify: decodes everything, and lists what is damaged."""

from __future__ import annotations

import argparse
import concurrent.futures
import warnings
from typing import Any

from .._core import codecs, engine, operations
from .._core.progress import Progress
from .._images import pillow
from . import output

_DESCRIPTION = """Decodes every picture to its last row and reads every table whole, as training would.

Pictures that gofast does not decode, and those that it finds damaged, are decoded by Pillow, whose word
counts in training too. Of gofast's caches all checksums are compared. Exit status 1 if anything is
damaged."""


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "verify",
        run,
        "decode everything, and list what is damaged",
        _DESCRIPTION,
        """gofast verify photos/
gofast verify train.parquet train.cache.npz
gofast verify photos/ --json | jq -r '.damaged[].path' > damaged.txt""",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, a folder or a pattern")
    parser.add_argument("--threads", type=output.positive, help="threads that decode (default: all allowed)")
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    codecs.load()  # Pillow's libraries, as in training
    threads = engine.threads(given.threads)
    found = operations.verify_files({"paths": given.paths, "threads": threads}, "verifying")
    asked = ask_pillow(found, threads)
    if given.json:
        output.print_json({**found, "by_pillow": asked})
    else:
        output.print_text(operations.verify_text(found))
        if asked:
            print(f"decoded by Pillow  {asked}")
    return output.FAILED if found["damaged"] or found["unreadable_folders"] else output.DONE


def ask_pillow(found: operations.Verification, threads: int) -> int:
    """Lets Pillow decode what the core leaves to it or finds damaged; its verdict replaces the core's.

    Returns:
        How many pictures it decoded. Without Pillow, 0.
    """
    if not pillow.available():
        return 0
    asked = [p for p in (*found["damaged"], *found["unchecked"]) if p.get("picture")]
    decoded = 0
    with (
        warnings.catch_warnings(),
        concurrent.futures.ThreadPoolExecutor(threads) as pool,
        Progress("verifying with Pillow") as bar,
    ):
        warnings.simplefilter("ignore")  # of large pictures, of odd metadata: training goes on, too
        found["damaged"] = [p for p in found["damaged"] if not p.get("picture")]
        found["unchecked"] = [p for p in found["unchecked"] if not p.get("picture")]
        work = {pool.submit(_verdict, problem["path"]): problem for problem in asked}
        try:
            for done, future in enumerate(concurrent.futures.as_completed(work), 1):
                bar.update(done / len(work))
                problem, reason = work[future], future.result()
                if reason is None:
                    decoded += 1
                    continue
                if problem["kind"] in ("Unsupported", "Limit"):
                    problem["kind"] = "Damaged"
                    problem["reason"] = f"Pillow: {reason}"
                found["damaged"].append(problem)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    found["damaged"].sort(key=lambda problem: problem["path"])
    found.pop("missing_libraries", None)  # Pillow has its own
    return decoded


def _verdict(path: str) -> str | None:
    """What Pillow says against a picture; None if it decodes it."""
    try:
        pillow.open_rgb(path)
    except Exception as error:
        return _text(error)
    return None


def _text(error: Any) -> str:
    return str(error) or type(error).__name__

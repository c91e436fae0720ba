"""gofast demo: before and after, on pictures and a table that it makes itself."""

from __future__ import annotations

import argparse
import errno
import os
from typing import Any

from .._core.temporary_folder import temporary_folder
from . import output


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "demo",
        run,
        "before and after, on data that it makes itself",
        "Makes a folder of pictures and a CSV table in a temporary folder and trains a small model with each "
        "by what scripts have, at its best too, and by gofast. All batches are compared, value by value.",
        "gofast demo",
    )
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    with temporary_folder("gofast-demo-") as folder:
        try:
            results = _results(folder)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            full = os.path.dirname(folder)
            raise OSError(f"{full} is full: the demo needs 20 MB there, or where TMPDIR says") from error
    if given.json:
        output.print_json(results)
        return output.DONE
    for result in results:
        after = result["ways"][-1]
        print(f"{result['what']}: {result['batches']} equal batches\n  an epoch of training  of it waiting")
        for way in result["ways"]:
            gain = "" if way is after else f": {way['epoch'] / after['epoch']:.1f} times as long"
            print(f"  {way['epoch']:18.3f} s {way['waiting']:11.3f} s   {way['how']}{gain}")
    return output.DONE


def _results(folder: str) -> list[dict[str, Any]]:
    from . import before_after

    results = [before_after.table(folder)]
    try:
        import torchvision  # noqa: F401
    except ImportError:
        output.note("without torchvision there is no demo of pictures: pip install torchvision")
    else:
        results.append(before_after.pictures(folder))
    return results

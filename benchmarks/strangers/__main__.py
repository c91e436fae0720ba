"""Measures other people's code, a case a line: `python -m benchmarks.strangers`, or `make bench-strangers`.

What gofast gives is compared with what the code gives without it before it is timed.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from benchmarks import run, sides
from benchmarks.strangers import ROWS, case
from benchmarks.strangers_report import PLAIN, STRANGERS, SWAPPED, UNMODIFIED, WORKERS

QUICK_TURN = 0.1
ROUNDS = int(os.environ.get("ROUNDS", "5"))


class StrangersRun(sides.SidesRun):
    """One run over cases."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(STRANGERS, options, QUICK_TURN)
        self.different: dict[str, str] = {}

    def process(self, side: str) -> str:
        return side.partition(",")[0]

    def opened(self, section: str, side: str, answer: dict[str, Any]) -> None:
        if answer["different"]:
            self.different[self.named(section, side)] = answer["different"]
            self.say(f"{section}, {side}: NOT EQUAL: {answer['different']}")

    def case(self, name: str) -> None:
        """Measures one."""
        try:
            found = case(name)
        except ImportError as error:
            self.is_missing(name, str(error))
            return
        ways = (PLAIN, UNMODIFIED, *(SWAPPED,) * (found.swapped is not None))
        names = [f"{way}, {workers} workers" for workers in WORKERS for way in ways]
        self.measure(name, names, self.folder(found.pictures, every=25).path)


def main() -> None:
    """Measures, then writes the JSON and the page's table."""
    parser = run.parser("strangers", __doc__, ROUNDS, f"cases of: {','.join(ROWS)}", ROWS)
    parser.add_argument("--folder", help="<class>/<picture> (default: imagenet-500 under GOFAST_TEST_DATA)")
    strangers = StrangersRun(parser.parse_args())
    folder = strangers.folder(1, every=25)
    try:
        for name in strangers.only or ROWS:
            strangers.case(name)
    except BaseException:
        strangers.partial = True  # what was measured is kept, and not published
        raise
    finally:
        strangers.finish(
            {"name": folder.name, "pictures": folder.pictures, "bytes a picture": folder.bytes},
            **{
                "unit": "seconds a picture",
                "different": strangers.different,
                "missing": strangers.missing,
            },
        )


if __name__ == "__main__":
    main()

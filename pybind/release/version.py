"""The version: `gofast.Version` in gofast/doc.go is its one source.

`python -m pybind.release.version` prints it. `python -m pybind.release.version v0.1.0` prints what
CHANGELOG.md says of it, and exits with 1 if it says nothing, or if this is not its tag.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version() -> str:
    """The version of the Go and the Python package."""
    found = re.search(r'^const Version = "(.*)"$', (ROOT / "gofast" / "doc.go").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("gofast/doc.go has no Version")
    return found[1]


def notes(tag: str) -> str:
    """The section of CHANGELOG.md for the release with this tag. SystemExit says why there is none."""
    if tag != f"v{version()}":
        raise SystemExit(f"the tag is {tag}, and gofast/doc.go says {version()}: they must agree")
    changes = (ROOT / "CHANGELOG.md").read_text()
    heading = rf"^## {re.escape(version())} - \d{{4}}-\d\d-\d\d\n+"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section `## {version()} - <date>`: say what a user notices")
    return found[1].strip()


if __name__ == "__main__":
    print(notes(sys.argv[1]) if len(sys.argv) > 1 else version())

"""The version: `gofast.Version` in gofast/doc.go is its one source.

`python -m pybind.release.version` prints it. `python -m pybind.release.version v0.1.0` exits with 1 unless
this is its tag and CHANGELOG.md has a section for it.
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


def wrong_with(tag: str) -> str | None:
    """Why this tag cannot be released, in one sentence."""
    if tag != f"v{version()}":
        return f"the tag is {tag}, and gofast/doc.go says {version()}: they must agree"
    changes = (ROOT / "CHANGELOG.md").read_text()
    if not re.search(rf"^## {re.escape(version())} - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        return f"CHANGELOG.md has no section `## {version()} - <date>`: say what a user notices"
    return None


def main(arguments: list[str]) -> int:
    """Prints the version, or checks a tag."""
    if not arguments:
        print(version())
        return 0
    said = wrong_with(arguments[0])
    if said:
        print(said, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

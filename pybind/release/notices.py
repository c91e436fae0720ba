"""Writes THIRD_PARTY_NOTICES.txt: the licences of all that is linked into the extension.

`python -m pybind.release.notices` writes it, and `python -m pybind.release.notices --check` exits with 1
when it is stale.
"""

from __future__ import annotations

import sys

from .linked import ROOT, Module, modules

FILE = ROOT / "THIRD_PARTY_NOTICES.txt"
HEAD = """\
Third-party notices of gofast

gofast is under the Apache License 2.0, see LICENSE. Its extension module contains the software below, each
under its own licence. This file is made by `make notices` from what the go command links in.
"""
RULE = "=" * 100


def notices(linked: list[Module]) -> str:
    """The whole file. Modules that share a text share a section."""
    users: dict[str, list[str]] = {}
    for module in linked:
        for text in module.texts:
            # The version of Go's library is that of whoever builds; its licence is the same.
            users.setdefault(text, []).append(
                module.path if module.version.startswith("go") else f"{module.path} {module.version}"
            )
    sections = ["\n".join([RULE, *names, RULE, "", text, ""]) for text, names in users.items()]
    return "\n".join([HEAD, *sections])


def main(arguments: list[str]) -> int:
    """Writes the file, or with --check says whether it is right."""
    wanted = notices(modules())
    if arguments == ["--check"]:
        if not FILE.is_file() or FILE.read_text() != wanted:
            print(f"{FILE.name} does not name what is linked in: run `make notices`", file=sys.stderr)
            return 1
        return 0
    FILE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

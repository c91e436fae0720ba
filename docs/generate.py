"""Writes the pages that the code itself knows best: docs/native.md and docs/errors.md.

    python docs/generate.py            writes them
    python docs/generate.py --check    exit status 1 if they are stale

Nothing is listed here by hand: every transform of torchvision is given to gofast's compiler, every format to
TableDataset, every kind of loader to gofast.explain, and what they answer is written down.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

DOCS = Path(__file__).resolve().parent
HEAD = "<!-- Made by docs/generate.py: change that, or the code, and run it. -->\n"


def pages() -> dict[str, str]:
    """The text of each page, by its file name."""
    from generating import errors_page, loaders, tables, transforms

    native = (DOCS / "generating" / "native.md").read_text(encoding="utf-8")
    for name, part in (("transforms", transforms), ("tables", tables), ("loaders", loaders)):
        native = native.replace(f"<!-- {name} -->", part.markdown())
    return {"native.md": HEAD + native, "errors.md": HEAD + errors_page.markdown()}


def main() -> int:
    """Writes the pages, or says which are stale."""
    stale = []
    for name, text in pages().items():
        file = DOCS / name
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(file.relative_to(DOCS.parent)))
        if "--check" not in sys.argv:
            file.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"{', '.join(stale)}: stale; run python docs/generate.py", file=sys.stderr)
        return 1
    print("\n".join(f"wrote {name}" for name in stale) or "the pages are as the code says", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What mkdocs does beyond Markdown: parts of the repository's papers, and links to its files.

A page says `<!-- include: ../ARCHITECTURE.md -->` for a whole paper without its title, or
`<!-- include: ../README.md bench:tables -->` for what stands between two marks there. So nothing is copied,
and the page stays plain Markdown in the repository. What stands between `<!-- template -->` marks tells those
who read the file there what it is, and the site leaves it out.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
_INCLUDE = re.compile(r"^<!-- include: (\S+)(?: (\S+))? -->$", re.MULTILINE)
_TEMPLATE = re.compile(r"^<!-- template -->$.*?^<!-- /template -->$\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^( *)(```+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_PAPERS = {"README.md": "docs/index.md", "ARCHITECTURE.md": "docs/how-it-works.md"}
_ELSEWHERE = ("https:", "http:", "mailto:", "#")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Puts in what a page includes, and makes links into the repository ones that a site can have."""
    links = _Links(page.file.src_uri, config, files)

    def included(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(links.folder, match[1]))
        return links.of(_part(path, match[2]), posixpath.dirname(path))

    return _INCLUDE.sub(included, links.of(_TEMPLATE.sub("", markdown), links.folder))


def _part(path: str, mark: str | None) -> str:
    """The text of a paper of the repository, or of one part of it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if mark is None:
        return re.sub(r"\A# .*\n", "", text)
    found = re.search(rf"^<!-- {re.escape(mark)} -->$(.*?)^<!-- /{re.escape(mark)} -->$", text, re.M | re.S)
    if found is None:
        raise PluginError(f"{path} has no part {mark}")
    return found[1]


class _Links:
    """The links of one page."""

    def __init__(self, page: str, config: Any, files: Any) -> None:
        self.folder = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page)))
        self.page, self.config, self.files = page, config, files

    def of(self, text: str, base: str) -> str:
        """A text of the folder `base` of the repository, with its links as this page needs them."""
        parts, at = [], 0
        for fence in _FENCE.finditer(text):
            parts += [_LINK.sub(lambda m: self._one(m, base), text[at : fence.start()]), fence[0]]
            at = fence.end()
        return "".join([*parts, _LINK.sub(lambda m: self._one(m, base), text[at:])])

    def _one(self, match: re.Match[str], base: str) -> str:
        image, title, target = match.groups()
        if target.startswith(_ELSEWHERE):
            return match[0]
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(base, path))
        if not (ROOT / path).exists():
            return match[0]  # mkdocs says that there is no such page
        if path in _PAPERS:
            path = _PAPERS[path]
        elif image and not path.startswith("docs/"):
            path = self._copied(path)
        if not path.startswith("docs/"):
            return f"{title} (`{path}`)" if title.strip("`") != path else f"`{path}`"
        there = posixpath.relpath(path, self.folder)
        return f"{image}[{title}]({there}{anchor and '#'}{anchor})"

    def _copied(self, path: str) -> str:
        """A picture of the repository, put into the site."""
        there = f"pictures/{posixpath.basename(path)}"
        if self.files.get_file_from_path(there) is None:
            self.files.append(File.generated(self.config, there, abs_src_path=str(ROOT / path)))
        return f"docs/{there}"

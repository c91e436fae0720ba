"""The Go modules that are linked into the extension, as the go command lists them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TAGS = "python,netgo,osusergo"  # those of pybind/build_native.py: test_release.py compares them
PLATFORMS = ("amd64", "arm64")
# Its templates are in the library: it writes the functions that Python calls.
GENERATOR = "github.com/go-python/gopy"
LICENCE_FILE = re.compile(r"(?i)(licen[cs]e|copying|notice|patents)(\.(txt|md))?")


@dataclass
class Module:
    """A module with the files that say how it may be used."""

    path: str
    version: str
    licences: set[Path] = field(default_factory=set)

    @property
    def texts(self) -> list[str]:
        """What these files say, each text once."""
        return list(dict.fromkeys(path.read_text().strip() for path in sorted(self.licences)))


def go(*arguments: str, **env: str) -> str:
    """What the go command prints."""
    command = ["go", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"`{' '.join(command[:4])} ...` failed:\n{done.stderr}".rstrip())
    return done.stdout


def modules() -> list[Module]:
    """The modules by name: Go's standard library, those linked in on any platform, and the generator."""
    found = {
        "std": Module("Go's standard library and runtime", go("env", "GOVERSION").strip()),
    }
    goroot = Path(go("env", "GOROOT").strip())
    for architecture in PLATFORMS:
        listing = ("list", "-deps", "-json=Module,Dir,Standard", "-tags", TAGS, "./pybind")
        for package in _documents(go(*listing, GOARCH=architecture, CGO_ENABLED="1")):
            about = package.get("Module")
            if about is not None and about.get("Main"):
                continue
            folder = Path(package["Dir"])
            if about is None:
                found["std"].licences |= _licences(folder, goroot)
            else:
                module = found.setdefault(about["Path"], Module(about["Path"], about["Version"]))
                module.licences |= _licences(folder, Path(about["Dir"]))
    about = json.loads(go("list", "-m", "-json", GENERATOR))
    if "Dir" not in about:  # not downloaded yet
        about = json.loads(go("mod", "download", "-json", GENERATOR))
    found[GENERATOR] = Module(GENERATOR, about["Version"], _licences(Path(about["Dir"]), Path(about["Dir"])))
    for module in found.values():
        if not module.licences:
            raise SystemExit(f"{module.path} has no licence file: look at it before it is linked in")
    return sorted(found.values(), key=lambda module: module.path)


def _licences(folder: Path, top: Path) -> set[Path]:
    """The licence files of a package: in its folder and in those above it, up to the module's."""
    files = [path for up in (folder, *folder.parents) if up.is_relative_to(top) for path in up.iterdir()]
    return {path for path in files if LICENCE_FILE.fullmatch(path.name) and path.is_file()}


def _documents(text: str) -> list[dict[str, Any]]:
    """The JSON objects that stand one behind the other."""
    decoder, at = json.JSONDecoder(), 0
    found: list[dict[str, Any]] = []
    while at < len(text):
        document, end = decoder.raw_decode(text, at)
        found.append(document)
        at = end + 1
    return found

"""The native part of the build; everything else is said in pyproject.toml."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
NAME = "gofast-org/gofast"


class BuildPython(build_py):
    """Starts from an empty folder: setuptools would ship modules that an earlier build left in build/lib."""

    def run(self) -> None:
        """Copies the sources."""
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib, "gofast"), ignore_errors=True)
        super().run()


class BuildNative(build_ext):
    """Has pybind/build_native.py make the one extension."""

    def build_extension(self, ext: Extension) -> None:
        """Puts the library where setuptools wants it: beside the sources for an editable install."""
        target = Path(self.get_ext_fullpath(ext.name))
        script = HERE / "pybind" / "build_native.py"
        if subprocess.run([sys.executable, str(script), "--out", str(target.parent)]).returncode != 0:
            raise SystemExit(1)  # the script has said why in one sentence


def long_description(readme: str, version: str) -> str:
    """README as an index shows it: what it names in the repository is found there, as of this version."""

    def absolute(found: re.Match[str]) -> str:
        site = f"raw.githubusercontent.com/{NAME}" if found[1] else f"github.com/{NAME}/blob"
        return f"{found[1]}[{found[2]}](https://{site}/v{version}/{found[3]})"

    # A text may go over several lines; what has a scheme or is an anchor stays.
    return re.sub(r"(!?)\[([^\[\]]+)\]\((?![a-z]+:|#)([^()\s]+)\)", absolute, readme)


version = re.search(r'^const Version = "(.*)"$', (HERE / "gofast" / "doc.go").read_text(), re.MULTILINE)
if version is None:
    raise SystemExit("gofast/doc.go has no Version")

setup(
    version=version[1],
    long_description=long_description((HERE / "README.md").read_text(encoding="utf-8"), version[1]),
    long_description_content_type="text/markdown",
    ext_modules=[Extension("gofast._native", sources=[], py_limited_api=True)],
    cmdclass={"build_py": BuildPython, "build_ext": BuildNative},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)

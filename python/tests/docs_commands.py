"""Runs command lines of `python` that pages show: `docs_commands.py` with a list of lists of words on stdin, as JSON.

Each runs in a fork of this process, which has imported torch and torchvision once for all of them: that takes
longer than everything else. Prints what each printed, by its words.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile

import torch  # noqa: F401
import torchvision.datasets
import torchvision.transforms  # noqa: F401


def main() -> None:
    said = []
    for words in json.load(sys.stdin):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                return _become(words)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            said.append((status, out.read().decode(), err.read().decode()))
    json.dump(said, sys.stdout)
    return None


def _become(words: list[str]) -> None:
    """`python -m module ...`, to its end: what a module does at exit is done too."""
    option, module, *arguments = words
    assert option == "-m", words
    sys.path[0] = os.getcwd()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

"""Runs command lines of `python` that pages show: a list of lists of words on stdin, as JSON.

Each runs in a fork of this process, which has imported what all of them need and loaded nothing native: to
begin and to end a process with torch takes longer than what they do. Prints the exit status, stdout and
stderr of each, in their order.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
import tempfile
import traceback
from typing import NoReturn

import torch
import torchvision
from torchvision.transforms import v2

import gofast
from gofast import images, installed, loader
from gofast._loader import explain

IMPORTED = (torch, torchvision, v2, gofast, images, installed, loader, explain)


def main() -> None:
    said = []
    for words in json.load(sys.stdin):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                _become(words)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            said.append((status, out.read().decode(), err.read().decode()))
    json.dump(said, sys.stdout)


def _become(words: list[str]) -> NoReturn:
    """`python -m module ...`, to its end: what a module does at exit is done too."""
    option, module, *arguments = words
    assert option == "-m", words
    sys.path[0] = os.getcwd()
    sys.argv = [module, *arguments]
    status = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()

"""Runs command lines of `python` that pages show: a list of lists of words on stdin, as JSON.

Each runs in a fork of this process, which has imported what all need, which is slow.
Nothing native is loaded by it. Prints the exit status, stdout and stderr of each, in their order.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile

import torch
import torchvision
from torchvision.transforms import v2

import gofast
from gofast import images, installed, loader
from gofast._batches import explain

IMPORTED = (torch, torchvision, v2, gofast, images, installed, loader, explain)


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

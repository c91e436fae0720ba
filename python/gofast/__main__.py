"""python -m gofast train.py: runs a script that knows nothing of gofast, with gofast installed.

At the end, up to three lines on stderr say what ran natively, of how many, whose the loops' time was, and
what there is most to gain from.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import os
import runpy
import sys
import types
from typing import Any

from . import _interrupts, errors, running
from ._command import run
from ._command.output import INTERRUPTED


def main() -> None:
    """Runs what the command line says, as python itself would."""
    _interrupts.raised()
    try:
        said, arguments = run.options(sys.argv[1:])
    except errors.OptionError as error:
        run.alone("python -m gofast").error(str(error))
    options = [said.get(name) for name in run.OPTIONS]
    if not arguments or arguments[0] in ("-h", "--help", "--version"):
        run.alone("python -m gofast").parse_args(arguments)  # which ends with what was asked for
        run.alone("python -m gofast").error("give a script, or -m and a module")
    kind = arguments[0] if arguments[0] in ("-m", "-c") else ""
    if kind and len(arguments) < 2:
        run.alone("python -m gofast").error(f"argument expected for the {kind} option")
    what = arguments[1] if kind else arguments[0]
    sys.argv = [kind, *arguments[2:]] if kind else arguments
    sys.excepthook = _without_our_frames
    if kind == "-m":
        _begin(*options)
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif kind == "-c":
        _begin(*options)
        sys.path[0] = ""
        _execute(what, "<string>", _new_main(None))
    else:
        _run_file(what, *options)


def _begin(*options: str | None) -> None:
    """Until the script runs, Ctrl-C shows no lines of ours."""
    try:
        running.begin(*options)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except errors.OptionError as error:
        print(f"python -m gofast: {error}", file=sys.stderr)
        sys.exit(2)


def _run_file(path: str, *options: str | None) -> None:
    given, path = path, os.path.abspath(path)
    if os.path.isdir(path) or path.endswith((".zip", ".pyz", ".egg")):
        _begin(*options)
        sys.path.pop(0)
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {path!r}: {error}", file=sys.stderr)
        from ._command.main import NAMES

        if given in NAMES:
            print(f"python -m gofast runs scripts; `gofast {given}` is a command of its own", file=sys.stderr)
        sys.exit(2)
    _begin(*options)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    _execute(text, path, _new_main(path))


def _new_main(path: str | None) -> types.ModuleType:
    """A fresh ``__main__``: what is pickled of it by name, and worker processes, look there."""
    module = types.ModuleType("__main__")
    module.__loader__ = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):
        module.__dict__.update(__annotations__={})
    module.__dict__.update(__builtins__=builtins)
    if path is not None:
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
        module.__dict__.update(__file__=path, __cached__=None)
    sys.modules["__main__"] = module
    return module


def _execute(text: str | bytes, name: str, module: types.ModuleType) -> None:
    """Runs the script; what this file imports from ``__future__`` is not the script's."""
    exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)


def _without_our_frames(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A traceback that begins with the script's own lines."""
    while trace is not None and (
        trace.tb_frame.f_code.co_filename == __file__ or "runpy" in trace.tb_frame.f_code.co_filename
    ):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


_first_main = sys.modules["__main__"]  # it must outlive the script's
if __name__ == "__main__":
    main()

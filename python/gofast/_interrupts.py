"""Ctrl-C before the command is ready: the signal ends it, as other tools, and no import shows a traceback.

The package imports this before anything else. It changes nothing for programs that import gofast: only where
this process is the command `gofast` or `python -m gofast`.
"""

from __future__ import annotations

import signal
import sys


def _is_command() -> bool:
    if sys.argv[:1] == ["-m"]:  # runpy still looks for the module, whose name stands before the arguments
        return sys.orig_argv[-len(sys.argv)].endswith("gofast")
    if not sys.argv or not sys.argv[0].endswith("/gofast"):
        return False
    try:
        # What pip writes; a script of that name that only imports gofast is another.
        with open(sys.argv[0], "rb") as file:
            return b"gofast._command" in file.read(4096)
    except OSError:
        return False


def raised() -> None:
    """From now on, Ctrl-C raises KeyboardInterrupt again."""
    global _ends
    if _ends:
        _ends = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Ignored stays ignored, as for what a shell runs in the background.
_ends = signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command()
if _ends:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

"""A temporary folder that SIGTERM does not leave behind."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_folders: dict[str, int] = {}  # and the processes that made them


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """A folder that is removed behind the block, and by a SIGTERM that would end this process.

    The signal raises nothing, as an exception may be lost; a handler of the user's stays.
    """
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        here = threading.current_thread() is threading.main_thread()
        outermost = here and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        _folders[folder] = os.getpid()
        if outermost:
            signal.signal(signal.SIGTERM, _end)
        try:
            yield folder
        finally:
            del _folders[folder]
            if outermost:
                _forget()


def _end(*_: object) -> None:
    for folder, maker in _folders.items():
        if maker == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _forget() -> None:
    if signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


os.register_at_fork(after_in_child=_forget)  # a child may hang, where no handler runs

"""A temporary folder that SIGTERM does not leave behind."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """A folder that is removed behind the block, and by a SIGTERM that would end this process.

    The signal raises nothing, as an exception may be lost; a handler of the user's stays.
    """
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        maker = os.getpid()

        def removed(*_: object) -> None:
            if os.getpid() == maker:
                shutil.rmtree(folder, ignore_errors=True)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)

        def at_once() -> None:  # in a child, which may hang
            if signal.getsignal(signal.SIGTERM) is removed:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

        here = threading.current_thread() is threading.main_thread()
        if here and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            os.register_at_fork(after_in_child=at_once)
            signal.signal(signal.SIGTERM, removed)
        try:
            yield folder
        finally:
            if here and signal.getsignal(signal.SIGTERM) is removed:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

"""Several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def together(*works: Callable[[], Any]) -> list[BaseException]:
    """Does all of that at once, each in a thread of its own; the errors that they end with."""
    errors: list[BaseException] = []

    def run(work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def in_threads(*works: Callable[[], Any]) -> None:
    """The same, which raises the first of the errors."""
    for error in together(*works):
        raise error

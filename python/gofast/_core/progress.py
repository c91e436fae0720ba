"""A progress bar for long work: tqdm's when it is installed, else one line."""

from __future__ import annotations

import re
import sys
import time
import warnings
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # seconds before anything is shown
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


class Progress:
    """Shows the progress of work that takes longer than a second.

    Nothing is shown without a label, or if standard error is neither a terminal nor a notebook's.
    """

    def __init__(self, label: str | None) -> None:
        seen = sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
        self._label = printable(label) if label is not None and seen else None
        self._start = time.monotonic()
        self._bar: Any = None
        self._plain = False

    def __enter__(self) -> Progress:
        return self

    def update(self, part: float) -> None:
        """Shows that a part from 0 to 1 is done."""
        if self._label is None or time.monotonic() - self._start < _PATIENCE:
            return
        if self._bar is None and not self._plain:
            try:
                with warnings.catch_warnings():  # tqdm warns if a notebook has no widgets, and shows text
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm

                self._bar = tqdm(
                    total=100, desc=self._label, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}"
                )
                self._bar.start_t -= time.monotonic() - self._start  # what is left is reckoned from the start
            except ImportError:
                self._plain = True
        self._show(part)

    def _show(self, part: float) -> None:
        if self._bar is not None:
            self._bar.n = round(part * 100, 1)
            self._bar.refresh()
        elif self._plain:
            print(f"\r{self._label}: {part:4.0%}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._show(1)
        if self._bar is not None:
            self._bar.close()
        elif self._plain:
            print(file=sys.stderr)


def printable(text: str) -> str:
    """A name or a message without what a terminal would obey, such as colours and new lines."""
    return _CONTROLS.sub("\ufffd", text)


def _in_notebook() -> bool:
    """Whether an IPython kernel runs this code. The notebook then shows standard error."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython is not None and getattr(get_ipython(), "kernel", None) is not None

"""A progress bar for long work: tqdm's when it is installed, else one line."""

from __future__ import annotations

import sys
import time
import warnings
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """Shows how far work has come, once it takes longer than a second.

    Nothing is shown without a label, or when standard error is neither a terminal nor a notebook's.
    """

    def __init__(self, label: str | None) -> None:
        seen = sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
        self._label = label if seen else None
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
                with warnings.catch_warnings():  # of a notebook without widgets: then it is text
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm

                self._bar = tqdm(
                    total=100, desc=self._label, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}"
                )
            except ImportError:
                self._plain = True
        if self._bar is not None:
            self._bar.n = round(part * 100, 1)
            self._bar.refresh()
        else:
            print(f"\r{self._label}: {part:4.0%}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._plain:
            print(file=sys.stderr)


def _in_notebook() -> bool:
    """Whether a kernel of IPython runs this: what goes to standard error is shown in the notebook."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython is not None and getattr(get_ipython(), "kernel", None) is not None

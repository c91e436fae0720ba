"""The page of errors, from the catalogue's docstrings."""

from __future__ import annotations

import inspect
from pathlib import Path

from generating.markdown import table
from gofast import errors

_DO = "What to do: "


def markdown() -> str:
    """The whole page."""
    text = (Path(__file__).parent / "errors.md").read_text(encoding="utf-8")
    kinds = [getattr(errors, name) for name in errors.__all__]
    raised = [kind for kind in kinds if not issubclass(kind, Warning) and kind is not errors.GofastError]
    warned = [kind for kind in kinds if issubclass(kind, Warning)]
    text = text.replace(
        "<!-- errors -->", table(["error", "is also", "when", "what to do"], map(_row, raised))
    )
    return text.replace(
        "<!-- warnings -->", table(["warning", "is also", "when", "what to do"], map(_row, warned))
    )


def _row(kind: type[BaseException]) -> list[str]:
    when, _, advice = (inspect.getdoc(kind) or "").partition(_DO)
    if not advice:
        raise SystemExit(f"{kind.__name__}: its docstring says no {_DO.strip()!r}")
    also = [base for base in kind.__bases__ if base.__module__ == "builtins"]
    named = ", ".join(f"`{base.__name__}`" for base in also) or f"`{kind.__bases__[0].__name__}`"
    return [f"`{kind.__name__}`", named, _line(when), _line(advice)]


def _line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())

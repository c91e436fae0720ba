"""gofast man: the manual page, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from .._about import __version__
from . import output


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    output.add(
        parsers,
        "man",
        run,
        "print the manual page",
        "Prints the manual page of all commands, for man.",
        """gofast man | man -l -
gofast man > ~/.local/share/man/man1/gofast.1""",
    )


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    print("\n".join(page(given.whole)))
    return output.DONE


def page(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The page, in man's language, line by line."""
    yield f'.TH GOFAST 1 "" "gofast {__version__}" "gofast"'
    yield from (".SH NAME", f"gofast \\- {_text(parser.description or '')}")
    yield from (".SH SYNOPSIS", ".nf", _text(_usage(parser)), ".fi")
    yield from (".SH OPTIONS", *_options(parser), ".SH COMMANDS")
    yield from _below(parser)
    yield from _last(parser)


def _below(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        for one in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from (f".SS {one.prog}", ".nf", f"\\fB{_text(_usage(one))}\\fR", ".fi")
            for part in (one.description or "").split("\n\n"):
                yield from (".PP", _text(part))
            yield from (*_options(one), *_below(one), *_last(one))


def _last(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Examples and exit statuses."""
    if parser.epilog:
        yield from (".PP", ".nf", _text(parser.epilog.rstrip()), ".fi")


def _usage(parser: argparse.ArgumentParser) -> str:
    return parser.format_usage().removeprefix("usage: ").rstrip()


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help is argparse.SUPPRESS:
            continue
        value = "" if action.nargs == 0 else str(action.metavar or "|".join(map(str, action.choices or ())))
        if action.option_strings:
            value = value or ("" if action.nargs == 0 else action.dest.upper())
        names = ", ".join(action.option_strings)
        named = f"\\fB{_text(names)}\\fR {_text(value)}" if names else f"\\fI{_text(value)}\\fR"
        yield from (".TP", named.rstrip(), _text(action.help or ""))


def _text(said: str) -> str:
    """A text in which no backslash, hyphen or point means something to man."""
    lines = said.replace("\\", "\\e").replace("-", "\\-").replace("%%", "%").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)

"""gofast completion: what a shell needs to complete command lines, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import output

_BASH = """_gofast() {
    local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" at="" word words=""
    [ "$cur" = "=" ] && cur=""
    [ "$before" = "=" ] && before="${COMP_WORDS[COMP_CWORD-2]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
@PATHS@
    done
@VALUES@
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _gofast gofast
"""
_ZSH = """#compdef gofast
_gofast() {
    local cur="$PREFIX" before="${words[CURRENT-1]}" at="" word said=("${words[@]}") words=""
    for word in "${said[@]:1:CURRENT-2}"; do
@PATHS@
    done
@VALUES@
    if [ -n "$words" ]; then compadd -- ${=words}; else _files; fi
}
compdef _gofast gofast
"""


class Command(NamedTuple):
    """A command that a line may name.

    Attributes:
        path: its words, behind "gofast".
        help: what it does.
        options: of it: what may be said, and which words may follow; None: it has no value.
        words: of which the next one may be: commands below it, or values of an argument.
        help_of: of each of both.
    """

    path: str
    help: str
    options: dict[str, list[str] | None]
    words: list[str]
    help_of: dict[str, str]


def commands(parser: argparse.ArgumentParser, path: str = "", help: str = "") -> Iterator[Command]:
    """A parser's command, and those below it."""
    options: dict[str, list[str] | None] = {}
    words, help_of, below = list[str](), dict[str, str](), list[Command]()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {one.dest: one.help or "" for one in action._choices_actions}
            words, help_of = [*action.choices], {**help_of, **said}
            for name, one in action.choices.items():
                below += commands(one, f"{path} {name}".strip(), said.get(name, ""))
            continue
        kinds = str(action.metavar or "").split("|")  # memory|FOLDER: a word, or a path
        choices = [*map(str, action.choices or filter(str.islower, kinds))]
        for name in action.option_strings:
            options[name] = None if action.nargs == 0 else choices
            help_of[name] = action.help or ""
        if not action.option_strings:
            words = words or choices
    yield Command(path, help, options, words, help_of)
    yield from below


def shell(template: str, found: list[Command]) -> str:
    """A function of bash or zsh: both know `case`."""
    paths = "|".join(f'"{one.path}"' for one in found if one.path)
    names = f'        case "${{at:+$at }}$word" in {paths}) at="${{at:+$at }}$word" ;; esac'
    lines = ['    case "$at $before" in']
    for one in found:
        for name, values in one.options.items():
            if values is not None:
                lines.append(f'        "{one.path} {name}") words="{" ".join(values)}" ;;')
    lines += ["        *)", '            case "$at:$cur" in']
    for one in found:
        lines.append(f'                "{one.path}:-"*) words="{" ".join(one.options)}" ;;')
        if one.words:
            lines.append(f'                "{one.path}:"*) words="{" ".join(one.words)}" ;;')
    lines += ["            esac ;;", "    esac"]
    return template.replace("@PATHS@", names).replace("@VALUES@", "\n".join(lines))


def fish(found: list[Command]) -> str:
    """Lines for fish."""
    lines = ["function __gofast_at", "    set -l at", "    for word in (commandline -opc)[2..-1]"]
    paths = " ".join(f"'{one.path}'" for one in found if one.path)
    lines += [f'        contains -- (string join " " $at $word) {paths}; and set at $at $word', "    end"]
    lines += ['    test (string join " " $at) = "$argv"', "end"]
    for one in found:
        here = f"complete -c gofast -n '__gofast_at {one.path}'"
        lines += [f"{here} -f -a {word}{_said(one.help_of.get(word))}" for word in one.words]
        for name, values in one.options.items():
            kind = "-l" if name.startswith("--") else "-s"
            follows = "" if values is None else f" -x -a '{' '.join(values)}'" if values else " -r"
            lines.append(f"{here} {kind} {name.lstrip('-')}{follows}{_said(one.help_of[name])}")
    return "\n".join(lines) + "\n"


def _said(help: str | None) -> str:
    text = (help or "").replace("\\", "\\\\").replace("'", "\\'")
    return f" -d '{text}'" if text else ""


_SHELLS: dict[str, Callable[[list[Command]], str]] = {
    "bash": lambda found: shell(_BASH, found),
    "fish": fish,
    "zsh": lambda found: shell(_ZSH, found),
}


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "completion",
        run,
        "print what a shell needs to complete command lines",
        "Prints a script for bash, zsh or fish, which completes commands, options and their values.",
        """gofast completion bash > ~/.local/share/bash-completion/completions/gofast
gofast completion fish > ~/.config/fish/completions/gofast.fish""",
    )
    parser.add_argument("shell", choices=sorted(_SHELLS), help="whose script is wanted")


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    print(_SHELLS[given.shell]([*commands(given.whole)]), end="")
    return output.DONE

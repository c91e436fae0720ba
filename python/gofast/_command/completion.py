"""gofast completion: what a shell needs to complete command lines."""

from __future__ import annotations

import argparse

from . import output

COMMANDS = "scan verify doctor convert run cache info demo completion"
_SHELLS = {
    "bash": f"""_gofast() {{
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{COMMANDS} --help --version" -- "${{COMP_WORDS[1]}}"))
    else
        COMPREPLY=($(compgen -W "--help --json --threads" -- "${{COMP_WORDS[COMP_CWORD]}}"))
    fi
}}
complete -o default -F _gofast gofast
""",
    "zsh": f"""#compdef gofast
_arguments '1:command:({COMMANDS})' '*:file:_files' '--json[print JSON]' '--help[help]'
""",
    "fish": f"""complete -c gofast -n __fish_use_subcommand -f -a "{COMMANDS}"
complete -c gofast -l json -d "print JSON"
""",
}


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "completion",
        run,
        "print what a shell needs to complete command lines",
        "Prints a script for bash, zsh or fish.",
        """gofast completion bash > ~/.local/share/bash-completion/completions/gofast
gofast completion fish > ~/.config/fish/completions/gofast.fish""",
    )
    parser.add_argument("shell", choices=sorted(_SHELLS))


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    print(_SHELLS[given.shell], end="")
    return output.DONE

"""A measuring process's end of the line to its parent: a JSON command a line in, a JSON answer a line out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

Commands = dict[str, Callable[..., dict[str, Any]]]


def serve(greeting: dict[str, Any], commands: Commands) -> None:
    """Answers commands until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    print(json.dumps(greeting), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = commands[command.pop("do")](**command)
        print(json.dumps(answer), file=answers, flush=True)

"""C, Go and Python number the faults of samples alike."""

from __future__ import annotations

import re
from pathlib import Path

from gofast._core.faults import Code

FAULT = Path(__file__).resolve().parents[3] / "gofast" / "internal" / "fault"


def listed(file: str, block: str, name: str) -> list[str]:
    """The names of the constants that a file counts from 0."""
    found = re.search(block, (FAULT / file).read_text(), re.DOTALL)
    assert found is not None
    return [n.upper() for n in re.findall(name, found[1], re.MULTILINE)]


def test_codes() -> None:
    assert [code.value for code in Code] == [*range(len(Code))]
    names = [code.name for code in Code]
    assert listed("fault.h", r"enum \{(.*?)\};", r"^    GF_FAULT_(\w+),") == names
    assert listed("fault.go", r"const \(\n(.*?)\n\)", r"^\t(\w+)") == names

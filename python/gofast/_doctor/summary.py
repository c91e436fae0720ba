"""A report's content: what text and page are made of."""

from __future__ import annotations

import dataclasses
from typing import Any

from .verdicts import Remedy, Verdict


class Summary:
    """The figures of an examination, as `to_dict` gives them, and the parts of them that have a type."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self._figures = figures
        self.code = Verdict(figures["code"])
        self.healthy: bool = figures["healthy"]
        self.verdict: str = figures["verdict"]
        self.evidence: list[str] = figures["evidence"]
        self.remedies = [_remedy(fields) for fields in figures["remedies"]]
        self.also = [Verdict(code) for code in figures["also"]]
        self.notes: list[str] = figures["notes"]

    @property
    def advised(self) -> list[Remedy]:
        """The changes that helped in every round."""
        return [remedy for remedy in self.remedies if remedy.helps and not remedy.shows_cost]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in what json can write: texts, numbers, lists and dicts. Times are in seconds."""
        return dict(self._figures)


def _remedy(fields: dict[str, Any]) -> Remedy:
    return Remedy(**{each.name: fields[each.name] for each in dataclasses.fields(Remedy)})

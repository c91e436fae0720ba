"""The report's content, and its text: the verdict, what speaks for it, what helps."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

from .._core.units import duration, size
from .verdicts import Remedy, Verdict

_WIDTH = 100


class Summary:
    """The figures of an examination, as `to_dict` gives them, and the parts of them that have a type."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self._figures = figures
        self.code = Verdict(figures["code"])
        self.healthy: bool = figures["healthy"]
        self.verdict: str = figures["verdict"]
        self.evidence: list[str] = figures["evidence"]
        names = [each.name for each in dataclasses.fields(Remedy)]
        self.remedies = [Remedy(**{name: told[name] for name in names}) for told in figures["remedies"]]
        self.also = [Verdict(code) for code in figures["also"]]
        self.notes: list[str] = figures["notes"]

    @property
    def advised(self) -> list[Remedy]:
        """The changes that helped in every round."""
        return [remedy for remedy in self.remedies if remedy.helps and not remedy.shows_cost]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in what json can write: texts, numbers, lists and dicts. Times are in seconds."""
        return dict(self._figures)


def text(report: Summary) -> str:
    """The whole report, lines of 100 characters at most but for those to be pasted."""
    lines = [f"gofast.doctor: {report.code}", *_wrapped(f"{report.verdict} {lead(report)}"), ""]
    lines += [line for said in said_of(report) for line in _wrapped(said, "- ")]
    for title, remedies in groups(report):
        lines += ["", f"{title}:"]
        width = max(len(gain(remedy)) for remedy in remedies) + 2
        for remedy in remedies:
            lines.append(f"  {gain(remedy):<{width}}{remedy.title}" if width > 2 else f"  {remedy.title}")
            lines += _wrapped(remedy.untried or remedy.caution, indent=width + 2)
            if remedy.helps or remedy.untried:  # to be pasted: a line that is cut is no line of Python
                lines += textwrap.indent(remedy.code, " " * (width + 2)).splitlines()
    if report.notes:
        lines += ["", *(line for note in report.notes for line in _wrapped(f"Note: {note}."))]
    return printable("\n".join(lines))


def _wrapped(said: str, bullet: str = "", indent: int = 0) -> list[str]:
    after = " " * max(len(bullet), indent)
    return textwrap.wrap(said, _WIDTH, initial_indent=bullet or after, subsequent_indent=after)


def printable(said: str) -> str:
    """What every file of UTF-8 takes: names of files may hold bytes that are no text."""
    return said.encode("utf-8", "backslashreplace").decode()


def lead(report: Summary) -> str:
    """What comes behind the verdict: how much of the loop is waiting, or why nothing is known."""
    figures = report.to_dict()
    loop = figures["loop"]
    if report.code in (Verdict.EMPTY, Verdict.FAILED) or not loop["batches"]:
        return str(figures["error"])
    kind = "simulated step" if loop["simulated_step"] else "step"
    return (
        f"The loop waits {duration(loop['wait'])} for each batch, and its {kind} takes "
        f"{duration(loop['step'])}: loading is {loop['share_of_waiting']:.0%} of the time."
    )


def said_of(report: Summary) -> list[str]:
    """The evidence, and for a loader that is not fine, what else is worth knowing."""
    figures, said = report.to_dict(), [*report.evidence]
    stages: dict[str, float] = figures["stages"]
    workers: list[dict[str, float]] = figures["workers"]
    if report.healthy or not stages:
        return said
    total = sum(stages.values())
    shares = sorted(((took / total, name) for name, took in stages.items() if total > 0), reverse=True)
    if shares:
        said.append(
            "a batch's time: " + ", ".join(f"{name} {share:.0%}" for share, name in shares if share >= 0.01)
        )
    if workers:
        asked = figures["loader"]["num_workers"] or len(
            workers
        )  # short epochs start them again: all were seen
        mean = {key: sum(each[key] for each in workers) / len(workers) for key in workers[0]}
        said.append(
            f"{asked} worker{'s' * (asked != 1)}: computing {min(mean['computing'], 1):.0%}, waiting for a "
            f"processor {mean['waiting_for_processor']:.0%}, idle {mean['idle']:.0%} of the time; "
            f"{size(mean['pss'] or mean['rss'])} of memory each"
        )
    return said


def groups(report: Summary) -> list[tuple[str, list[Remedy]]]:
    """The remedies under their headings; empty ones left out."""
    costs = [remedy for remedy in report.remedies if remedy.shows_cost and remedy.gain is not None]
    rest = [remedy for remedy in report.remedies if remedy not in report.advised and remedy not in costs]
    named = (
        ("What to change (samples a second, tried here)", report.advised),
        ("What it costs (tried here)", costs),
        ("Tried, without a gain beyond noise", [remedy for remedy in rest if remedy.gain is not None]),
        ("Not tried", [remedy for remedy in rest if remedy.gain is None]),
    )
    return [(title, remedies) for title, remedies in named if remedies]


def gain(remedy: Remedy) -> str:
    """The ratio with its interval; "" if it was not tried."""
    interval = f" ({remedy.low:.2f} to {remedy.high:.2f})" if remedy.rounds > 1 else ""
    return "" if remedy.gain is None else f"{remedy.gain:.2f}x{interval}"

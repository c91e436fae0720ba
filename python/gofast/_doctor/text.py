"""The report as text: the verdict, what speaks for it, what helps."""

from __future__ import annotations

import textwrap

from .._core.units import duration, size
from .summary import Summary
from .verdicts import Remedy, Verdict

_WIDTH = 100


def text(report: Summary) -> str:
    """The whole report, lines of 100 characters at most."""
    lines = [f"gofast.doctor: {report.code}", *_wrapped(headline(report)), ""]
    lines += [line for said in (*report.evidence, *facts(report)) for line in _wrapped(said, "- ")]
    for title, remedies in groups(report):
        lines += ["", f"{title}:"]
        for remedy in remedies:
            lines += _remedy(remedy)
    if report.notes:
        lines += ["", *(line for note in report.notes for line in _wrapped(f"Note: {note}."))]
    return printable("\n".join(lines))


def printable(said: str) -> str:
    """What every file of UTF-8 takes: names of files may hold bytes that are no text."""
    return said.encode("utf-8", "backslashreplace").decode()


def headline(report: Summary) -> str:
    """The first sentences."""
    figures = report.to_dict()
    loop = figures["loop"]
    if report.code in (Verdict.EMPTY, Verdict.FAILED) or not loop["batches"]:
        return report.verdict + (f" {figures['error']}" if figures["error"] else "")
    wait, step, share = loop["wait"], loop["step"], loop["share_of_waiting"]
    kind = "simulated step" if loop["simulated_step"] else "step"
    waits = (
        f"The loop waits {duration(wait)} for each batch, and its {kind} takes {duration(step)}: "
        f"loading is {share:.0%} of the time."
    )
    return f"{report.verdict} {waits}"


def facts(report: Summary) -> list[str]:
    """What is worth knowing besides the evidence, for a loader that is not fine."""
    figures = report.to_dict()
    said: list[str] = []
    workers: list[dict[str, float]] = figures["workers"]
    if report.healthy or not figures["stages"]:
        return said
    shares = _shares(figures["stages"])
    if shares:
        said.append(f"a batch's time: {shares}")
    if workers:
        count = len(workers)
        asked = figures["loader"]["num_workers"] or count  # short epochs start them again, and all were seen
        mean = {key: sum(each[key] for each in workers) / count for key in workers[0]}
        busy = min(mean["computing"], 1.0)
        said.append(
            f"{asked} worker{'s' * (asked != 1)}: computing {busy:.0%}, waiting for a processor "
            f"{mean['waiting_for_processor']:.0%}, idle {mean['idle']:.0%} of the time; "
            f"{size(mean['pss'] or mean['rss'])} of memory each"
        )
    return said


def _shares(stages: dict[str, float]) -> str:
    total = sum(stages.values())
    if total <= 0:
        return ""
    names = sorted(stages, key=lambda name: -stages[name])
    return ", ".join(f"{name} {stages[name] / total:.0%}" for name in names if stages[name] >= 0.01 * total)


def groups(report: Summary) -> list[tuple[str, list[Remedy]]]:
    """The remedies under their headings; empty ones left out."""
    costs = [remedy for remedy in report.remedies if remedy.shows_cost and remedy.gain is not None]
    rest = [r for r in report.remedies if r not in report.advised and r not in costs]
    tried = [remedy for remedy in rest if remedy.gain is not None]
    named = (
        ("What to change (samples a second, tried here)", report.advised),
        ("What it costs (tried here)", costs),
        ("Tried, without a gain beyond noise", tried),
        ("Not tried", [remedy for remedy in rest if remedy not in tried]),
    )
    return [(title, remedies) for title, remedies in named if remedies]


def gain(remedy: Remedy) -> str:
    """The ratio with its interval."""
    if remedy.gain is None:
        return ""
    interval = f" ({remedy.low:.2f} to {remedy.high:.2f})" if remedy.rounds > 1 else ""
    return f"{remedy.gain:.2f}x{interval}"


def _remedy(remedy: Remedy) -> list[str]:
    head = f"  {gain(remedy):<24}{remedy.title}" if remedy.gain is not None else f"  {remedy.title}"
    lines = [head]
    indent = " " * (26 if remedy.gain is not None else 4)
    more = [remedy.code if remedy.helps else "", remedy.untried or remedy.caution]
    for said in filter(None, more):
        lines += textwrap.wrap(said, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    return lines


def _wrapped(said: str, bullet: str = "") -> list[str]:
    return textwrap.wrap(said, _WIDTH, initial_indent=bullet, subsequent_indent=" " * len(bullet))

"""The report as one HTML page that needs nothing else, light or dark as its reader likes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from .._core.units import duration
from . import plots, text
from .text import Summary
from .verdicts import Remedy

STYLE = """
:root { --paper: #ffffff; --ink: #1c2127; --faint: #5b6673; --rule: #d9dee4; --card: #f5f7f9;
  --loading: #c8553d; --step: #2f7d63; --quiet: #6b7683; --waiting: #94650f; --on: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181c; --ink: #e6eaee; --faint: #9aa7b4; --rule: #323a43; --card: #1d2329;
    --loading: #e0755d; --step: #4fae8d; --quiet: #76828f; --waiting: #dcb25c; --on: #14181c; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.code { font: 0.85rem ui-monospace, monospace; color: var(--faint); }
.lead { font-size: 1.1rem; } li { margin: .2rem 0; }
.plot { overflow-x: auto; } svg { width: 100%; min-width: 36rem; height: auto; display: block; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg text.on { fill: var(--on); } svg .axis { stroke: var(--faint); stroke-width: 1; }
.legend span { margin-right: 1.2rem; color: var(--faint); font-size: .9rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: 2px; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: .6rem .9rem;
  margin: .5rem 0; } .card b { margin-right: .6rem; } .card code { display: block; white-space: pre-wrap;
  margin-top: .2rem;
  overflow-wrap: anywhere; } .card small { color: var(--faint); display: block; }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .85rem; border-top: 1px solid var(--rule);
  padding-top: .6rem; }
"""


def page(report: Summary) -> str:
    """The whole page. All texts are escaped: names of files and classes may hold anything."""
    figures = report.to_dict()
    kind = figures["loader"]
    title = f"gofast.doctor: {report.code}"
    about = f"{kind['class']} of {kind['dataset']}" if kind["dataset"] else kind["class"]
    about += f", batch_size={kind['batch_size']}, num_workers={kind['num_workers']}"
    data = json.dumps(figures).replace("<", "\\u003c")
    return text.printable(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f"<style>{STYLE}</style></head><body>"
        f'<p class="code">{escape(title)}</p><h1>{escape(report.verdict)}</h1>'
        f"<p>{escape(about)}</p>{''.join(_body(report, figures))}"
        f'<script type="application/json" id="figures">{data}</script></body></html>\n'
    )


def _body(report: Summary, figures: dict[str, Any]) -> Iterator[str]:
    yield f'<p class="lead">{escape(text.lead(report))}</p>'
    if said := text.said_of(report):
        yield f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in said)}</ul>"
    yield from _loop(figures["loop"])
    for title, remedies in text.groups(report):
        yield f"<h2>{escape(title)}</h2>{''.join(map(_card, remedies))}"
    tried = [remedy for remedy in report.remedies if remedy.gain is not None]
    if tried:
        rows = [(r.title, r.low, r.gain or 0.0, r.high, f"{r.gain:.2f}x") for r in tried]
        yield f"<h2>Gains with their range over the rounds</h2>{plots.intervals(rows, 'gains of changes')}"
    if not report.healthy:
        yield from _inside(figures)
    machine = figures["machine"]
    notes = [
        *report.notes,
        f"{machine['cores']} processors, torch {machine['torch']}, Python {machine['python']}",
    ]
    yield f"<footer>{''.join(f'<p>{escape(note)}</p>' for note in notes)}</footer>"


def _loop(loop: dict[str, Any]) -> Iterator[str]:
    if not loop["waits"]:
        return
    share = loop["share_of_waiting"]
    yield "<h2>The loop</h2>"
    yield plots.legend([("loading", "waiting for a batch"), ("step", "step")])
    yield plots.stacked([("time", [("loading", share), ("step", 1 - share)])], "shares of the loop")
    waits, steps = loop["waits"], loop["steps"]
    most = max(wait + step for wait, step in zip(waits, steps, strict=True))
    yield plots.timeline(waits, steps, "wait and step of each batch", duration(most))


def _inside(figures: dict[str, Any]) -> Iterator[str]:
    stages = {name: seconds for name, seconds in figures["stages"].items() if seconds > 0}
    if stages:
        yield "<h2>Where a batch's time goes</h2>"
        ordered = sorted(stages.items(), key=lambda item: -item[1])
        yield plots.bars([(name, value, duration(value)) for name, value in ordered], "stages of a batch")
    if len(figures["transform"]) > 1:
        yield "<h2>The transform, step by step (one worker's time)</h2>"
        steps = [(name, value, duration(value)) for name, value in figures["transform"].items()]
        yield plots.bars(steps[:12], "steps of the transform", "waiting")
    if figures["workers"]:
        yield "<h2>The workers</h2>"
        yield plots.legend([("step", "computing"), ("waiting", "waiting for a processor"), ("quiet", "idle")])
        keys = (("step", "computing"), ("waiting", "waiting_for_processor"), ("quiet", "idle"))
        rows = [
            (f"worker {at}", [(colour, each[key]) for colour, key in keys])
            for at, each in enumerate(figures["workers"][:16])
        ]
        yield plots.stacked(rows, "what workers do")


def _card(remedy: Remedy) -> str:
    head = f"<b>{escape(text.gain(remedy))}</b>" if remedy.gain is not None else ""
    code = f"<code>{escape(remedy.code)}</code>" if remedy.code else ""
    said = remedy.untried or remedy.caution
    more = f"<small>{escape(said)}</small>" if said else ""
    return f'<div class="card">{head}{escape(remedy.title)}{code}{more}</div>'

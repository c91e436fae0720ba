"""What Go does for the whole process: its version and counters, traces, libraries of codecs."""

from __future__ import annotations

from typing import TypedDict

from .operation import Call, Nothing


class About(TypedDict):
    """The library's version, and the names of the error catalogue."""

    version: str
    errors: list[str]


class Stats(TypedDict):
    """The engine's counters, as far as Python does not read them in memory; see engine.Stats."""

    threads: int
    age: int  # nanoseconds
    tickets: int
    rows: int


class TraceWanted(TypedDict):
    """Where a trace is written, and how many events of a thread are kept."""

    path: str
    events: int


class Span(TypedDict):
    """What a thread did elsewhere, by CLOCK_MONOTONIC, in nanoseconds."""

    thread: int
    name: str
    start: int
    ns: int


class Spans(TypedDict):
    """What a trace has beside what the core's threads did."""

    spans: list[Span]


class TraceSize(TypedDict):
    """How many events a trace has, and how many there was no room for."""

    events: int
    dropped: int


class Codecs(TypedDict):
    """Folders with libraries that are tried before the system's, and memory for marks."""

    folders: list[str]
    marks: int
    marks_size: int


class CodecsFound(TypedDict):
    """The formats that the core decodes, the JPEG library, and why other formats are left to Pillow."""

    native: list[str]
    jpeg: str
    missing: dict[str, str]


class Value(TypedDict):
    """One number that torch drew."""

    value: float


about: Call[Nothing, About] = Call("about")
stats: Call[Nothing, Stats] = Call("stats")
start_trace: Call[TraceWanted, Nothing] = Call("start_trace")
stop_trace: Call[Spans, TraceSize] = Call("stop_trace")
codecs: Call[Codecs, CodecsFound] = Call("codecs")
is_fused: Call[Value, int] = Call("is_fused")

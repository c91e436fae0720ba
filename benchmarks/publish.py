"""Where results go: a JSON, the plot beside it, and what docs/benchmarks.md and README say between markers.

`python -m benchmarks.publish RESULT.json` writes the plot and the table again from a stored result.
`python -m benchmarks.publish --check` fails when the page says otherwise than the results.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from benchmarks import report
from benchmarks.images_report import IMAGES
from benchmarks.report import Benchmark, Stored
from benchmarks.strangers_report import STRANGERS
from benchmarks.tables_report import TABLES

PAGE = report.ROOT / "docs" / "benchmarks.md"
README = report.ROOT / "README.md"  # shows a plot and a summary
PARTIAL = report.ROOT / "build" / "benchmarks"  # where results go that are not published
BENCHMARKS = {benchmark.name: benchmark for benchmark in (TABLES, IMAGES, STRANGERS)}


def markers(name: str) -> tuple[str, str]:
    """The lines of the page between which a benchmark's table stands."""
    return f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"


def blocks(page: Path, name: str) -> tuple[str, str, str]:
    """The page's text before a benchmark's table, the table, and the text after it; both markers have to be
    there."""
    start, end = markers(name)
    text = page.read_text(encoding="utf-8")
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise SystemExit(f"{page.name} needs one {start} and after it one {end}")
    head, rest = text.split(start)
    block, tail = rest.split(end)
    return head, block.strip("\n"), tail


def publish(path: Path, page: Path = PAGE, readme: Path = README) -> None:
    """Writes the plot beside a JSON, and the page's table; the file's name says which benchmark's it is."""
    stored: Stored = json.loads(path.read_text(encoding="utf-8"))
    benchmark = BENCHMARKS[path.name.partition("-")[0]]
    start, end = markers(benchmark.name)
    head, _, tail = blocks(page, benchmark.name)
    if benchmark.plot is not None:
        from benchmarks import plot

        plot.write(stored, path.with_suffix(".svg"), benchmark.plot)
    block = report.block(stored, benchmark, path.name)
    page.write_text(f"{head}{start}\n{block}\n{end}{tail}", encoding="utf-8")
    if benchmark.summary is not None:
        head, _, tail = blocks(readme, benchmark.name)
        readme.write_text(f"{head}{start}\n{benchmark.summary(stored)}\n{end}{tail}", encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_plots(benchmark.name).sub(path.stem, text), encoding="utf-8")


def _plots(name: str) -> re.Pattern[str]:
    """The names of a benchmark's plots, as README shows them."""
    return re.compile(rf"(?<=\(benchmarks/results/){name}-[\w.-]+(?=\.svg\))")


def named(block: str, name: str) -> str | None:
    """The file, under benchmarks/results, that a table says it was made from."""
    found = re.search(rf"`benchmarks/results/({name}-[\w.-]+\.json)`", block)
    return found[1] if found else None


def stale(page: Path = PAGE, results: Path = report.RESULTS, readme: Path = README) -> list[str]:
    """What the page and README say otherwise than the results that they name, a sentence each."""
    found = []
    for benchmark in BENCHMARKS.values():
        _, block, _ = blocks(page, benchmark.name)
        again = f"run python -m benchmarks.publish benchmarks/results/{benchmark.name}-*.json"
        source = named(block, benchmark.name)
        path = results / (source or "")
        if source is None or not path.exists():
            found.append(f"{benchmark.name}: the table names no result that is there: {again}")
            continue
        stored = json.loads(path.read_text(encoding="utf-8"))
        if block != report.block(stored, benchmark, path.name):
            found.append(f"{benchmark.name}: the table is not what {path.name} gives: {again}")
        if benchmark.plot is not None and not path.with_suffix(".svg").exists():
            found.append(f"{benchmark.name}: the plot of {path.name} is missing: {again}")
        others = sorted(
            other.name for other in results.glob(f"{benchmark.name}-*.*") if other.stem != path.stem
        )
        if set(_plots(benchmark.name).findall(readme.read_text(encoding="utf-8"))) - {path.stem}:
            found.append(f"{benchmark.name}: README shows the plot of another result: {again}")
        if benchmark.summary and blocks(readme, benchmark.name)[1] != benchmark.summary(stored):
            found.append(f"{benchmark.name}: README's summary is not what {path.name} gives: {again}")
        if others:  # the page shows one; a reader of the folder cannot know which
            found.append(
                f"{benchmark.name}: results that no table is made from: {', '.join(others)}: remove them"
            )
    return found


def finish(benchmark: Benchmark, stored: Stored, partial: bool, output: Path | None) -> None:
    """Keeps and shows a result. A whole one goes to benchmarks/results and into the page. A partial one, or
    one that output names, is only stored."""
    standard = report.standard_path(stored, benchmark.name)
    target = output or (PARTIAL / f"{benchmark.name}-partial.json" if partial else standard)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(report.text(stored, benchmark))
    if output is None and not partial:
        publish(target)
    print(f"written to {target}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publish", description=__doc__)
    parser.add_argument("result", type=Path, nargs="?", help="a JSON under benchmarks/results")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is stale")
    options = parser.parse_args()
    if options.check == (options.result is not None):
        parser.error("give either a result or --check")
    if options.result is not None:
        publish(options.result)
    elif found := stale():
        raise SystemExit("docs/benchmarks.md is stale\n" + "\n".join(found))


if __name__ == "__main__":
    main()

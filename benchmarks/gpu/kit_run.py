"""What the kit's run.sh does: parts, each a process with a time limit. What is done is written at once."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks import environments
from benchmarks.client import ROOT
from benchmarks.gpu import watched
from benchmarks.gpu.page import page

CORES = len(os.sched_getaffinity(0))
SECONDS = float(os.environ.get("GOFAST_KIT_SECONDS", 525))  # all of it, within 9 minutes
ALWAYS, WITH_GPU = "always", "with a GPU"
FAILED, NOT_FINISHED, NO_GPU = 1, 2, 3  # exit status


@dataclass(frozen=True)
class Part:
    """A process.

    Attributes:
        seconds: that it may take.
        command: behind the interpreter, or a program; OUT stands for the folder of results.
        tests: pytest, started again behind a test that ends it.
    """

    name: str
    seconds: float
    command: tuple[str, ...]
    where: str = WITH_GPU
    tests: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def pytest(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", *arguments)


def case(name: str, where: str = WITH_GPU, seconds: float = 75) -> Part:
    command = (sys.executable, "-m", "benchmarks.gpu", name, "--rounds", "5", "--json", f"OUT/{name}.json")
    return Part(name, seconds, command, where)


def engine(name: str, *more: str) -> tuple[str, ...]:
    """gofast-bench: the engine without Python."""
    counted = ",".join(str(n) for n in (1, 2, 4, 8, 16) if n <= CORES)
    photographs = str(ROOT / "data" / "imagenet-500")
    words = ["--transform", "randomresizedcrop=224,hflip,normalize=imagenet", "--order", "shuffle"]
    return (
        str(ROOT / "gofast-bench"),
        "run",
        photographs,
        "--threads",
        counted,
        *words,
        "--out",
        f"OUT/{name}",
        *more,
    )


# In the order of what one would miss most.
OTHERS = ("python/tests/device", "--ignore=python/tests/device/test_gpu.py")
STANDIN = {"GOFAST_STANDIN": str(ROOT / "libstandin.so")}
LIBJPEG = environments.libjpeg()
PARTS = [
    Part("tests", 180, pytest("python/tests/device/test_gpu.py"), WITH_GPU, True),
    *map(case, ("copies", "wire", "resident", "arriving", "training")),
    case("threads", ALWAYS, 100),
    case("strangers", ALWAYS, 150),
    Part("engine", 40, engine("engine"), ALWAYS, environment=LIBJPEG),
    Part("engine to the GPU", 40, engine("engine-gpu", "--device", "cuda"), WITH_GPU, environment=LIBJPEG),
    Part("tests on the stand-in", SECONDS, pytest(*OTHERS), ALWAYS, True, STANDIN),
]


def run(command: list[str], log: Any, seconds: float, environment: dict[str, str]) -> int | None:
    """Its exit status; None: it was ended."""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its workers too
            return None


def do(part: Part, out: Path, seconds: float) -> dict[str, Any]:
    """What became of a part."""
    begun = time.monotonic()
    end = begun + min(seconds, part.seconds)
    name = part.name.replace(" ", "-")
    results = out / f"{name}.jsonl"
    environment = {**os.environ, **part.environment, "GOFAST_KIT_RESULTS": str(results)}
    command = [word.replace("OUT/", f"{out}/") for word in part.command]
    status: int | None = None
    with (out / f"{name}.log").open("wb") as log:
        while (left := end - time.monotonic()) > 0:
            before = watched.noted(results)
            status = run(command, log, left, environment)
            after = watched.noted(results)
            # Where a test has ended the process, those behind it are left.
            if status is None or len(after) == len(before) or not hung(after):
                break
    done = {"part": part.name, "seconds": time.monotonic() - begun, "status": status}
    if not part.tests:
        return {**done, "became": "not finished" if status is None else "failed" if status else "done"}
    return {**done, **tests(watched.noted(results), status)}


def hung(noted: dict[str, dict[str, Any]]) -> bool:
    """Whether a test has begun and not ended."""
    return any(line["outcome"] == "begun" for line in noted.values())


def tests(noted: dict[str, dict[str, Any]], status: int | None) -> dict[str, Any]:
    """What became of tests."""
    by: dict[str, list[str]] = {}
    for name, line in noted.items():
        by.setdefault(line["outcome"], []).append(name)
    bad = [noted[name] for outcome in ("failed", "begun") for name in by.get(outcome, [])]
    passed = not bad and status in (0, 5) and by.get("passed")  # 5: nothing is left
    became = "not finished" if status is None else "done" if passed else "failed"
    return {"became": became, "counts": {outcome: len(names) for outcome, names in by.items()}, "bad": bad}


def machine(there: bool) -> dict[str, Any]:
    """Where this was measured."""
    return {
        "gpu": torch.cuda.get_device_name() if there else None,
        "processors": CORES,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


def main() -> int:
    """Runs all parts, or those chosen, into a folder; see run.sh for the status."""
    begun, out, chosen = time.monotonic(), Path(sys.argv[1]).resolve(), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    there = torch.cuda.is_available()
    summary: dict[str, Any] = {"machine": machine(there), "parts": []}
    if not there:
        print("there is no GPU here: its tests run on a stand-in, its benchmarks are skipped")
    for part in PARTS:
        if chosen and part.name not in chosen:
            continue
        left = begun + SECONDS - time.monotonic()
        if part.where == WITH_GPU and not there:
            done: dict[str, Any] = {"part": part.name, "seconds": 0, "became": "skipped: no GPU"}
        elif left < 5:
            done = {"part": part.name, "seconds": 0, "became": "not begun"}
        else:
            done = do(part, out, left)
        summary["parts"].append(done)
        print(f"{part.name}: {done['became']}, {done['seconds']:.0f} s {done.get('counts', '')}", flush=True)
        (out / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
        (out / "page.html").write_text(page(summary, out), encoding="utf-8")
    print(out / "page.html")
    became = [done["became"] for done in summary["parts"]]
    if "failed" in became:
        return FAILED
    if "not finished" in became or "not begun" in became:
        return NOT_FINISHED
    return 0 if there else NO_GPU


if __name__ == "__main__":
    sys.exit(main())

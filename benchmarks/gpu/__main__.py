"""Measures the cases, on a machine with a GPU: `make bench-gpu`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys

import torch

from benchmarks.gpu.cases import CASES, CORES


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument(
        "case", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; without any, all of them"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="a file for the results")
    options = parser.parse_args()
    if unknown := set(options.case) - set(CASES):
        parser.error(f"there is no {', '.join(sorted(unknown))}, but {', '.join(CASES)}")
    chosen = [CASES[name] for name in options.case or CASES]
    there = torch.cuda.is_available()
    if not there and any(case.on_gpu for case in chosen):
        sys.exit("there is no GPU here: make test-python runs the GPU path on a stand-in for the CUDA driver")
    name = torch.cuda.get_device_name() if there else "no GPU"
    print(f"{name}, {CORES} processors, torch {torch.__version__}")
    sections = []
    for case in chosen:
        for section in case.measure(options.rounds):
            sections.append(section)
            print(f"{section.title}, {section.unit}")
            for peer, values in section.peers.items():
                median, spread = statistics.median(values), f"{min(values):,.4g} to {max(values):,.4g}"
                print(f"  {peer:<30} {median:>12,.4g}   {spread}", flush=True)
            if options.json is not None:
                text = json.dumps([*map(dataclasses.asdict, sections)], indent=1)
                options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

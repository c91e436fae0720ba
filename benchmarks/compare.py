"""Two checkouts side by side: the speed of what people do, as a ratio with its interval.

    python benchmarks/compare.py ../base [--only tables,simclr] [--seconds 20]

Each side is a process of its own with its own native module. They take turns, and the one that begins changes
from pair to pair, so that what else the machine does meets both. A ratio above 1 says that this checkout is
faster. The exit status is 1 if an interval of 95 % is wholly below 0.98.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LEAST, MOST = 9, 101  # pairs
SLOWER = 0.98
ROWS = 60_000

# ---------------------------------------------------------------- one side


def table_file(folder: Path) -> Path:
    """A CSV of the shape of MNIST, a tenth as long."""
    path = folder / "table.csv"
    if not path.exists():
        import numpy as np

        cells = np.random.default_rng(0).integers(0, 256, (ROWS // 10, 785))
        cells[:, 0] %= 10
        header = ",".join(["label", *(f"p{i}" for i in range(784))])
        np.savetxt(path, cells, "%d", ",", header=header, comments="")
    return path


def pictures(folder: Path) -> Path:
    """A folder of photographs: GOFAST_TEST_DATA's, or made up."""
    data = os.environ.get("GOFAST_TEST_DATA")
    if data and (Path(data) / "imagenet-500").is_dir():
        return Path(data) / "imagenet-500"
    made = folder / "pictures"
    if not made.is_dir():
        import numpy as np
        from PIL import Image

        rng = np.random.default_rng(0)
        for i in range(200):
            small = rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)
            noise = rng.normal(0, 6, (375, 500, 3))
            smooth = np.asarray(Image.fromarray(small).resize((500, 375), Image.Resampling.BICUBIC), float)
            path = made / f"class{i % 4}" / f"{i:03}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((smooth + noise).clip(0, 255).astype(np.uint8)).save(path, quality=90)
    return made


def epochs(loader: Any, samples: int) -> Callable[[], int]:
    """What one turn does: epochs until so many samples have come."""

    def turn() -> int:
        seen = 0
        while seen < samples:
            for batch in loader:
                seen += len(batch[0] if isinstance(batch, (list, tuple)) else next(iter(batch.values())))
        return seen

    return turn


def table_case(folder: Path, ours: bool, batch_size: int, workers: int = 0) -> Callable[[], int]:
    """Shuffled batches of a table."""
    from torch.utils.data import DataLoader

    import gofast

    dataset = gofast.TableDataset(table_file(folder), label="label", shape=(1, 28, 28))
    kind = gofast.DataLoader if ours else DataLoader
    loader = kind(dataset, batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    return epochs(loader, 5 * ROWS if batch_size > 16 and ours else ROWS)


def csv_case(folder: Path) -> Callable[[], int]:
    """Opening a CSV."""
    import gofast

    path = table_file(folder)

    def turn() -> int:
        return len(gofast.TableDataset(path, label="label", shape=(1, 28, 28)))

    return turn


def transforms(name: str) -> Any:
    """Pipelines of torchvision."""
    from torchvision import transforms as t

    norm = [t.ToTensor(), t.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    jitter = t.RandomApply([t.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8)
    return t.Compose(
        {
            "train": [t.RandomResizedCrop(224), t.RandomHorizontalFlip(), *norm],
            "val": [t.Resize(256), t.CenterCrop(224), *norm],
            "simclr": [
                *(t.RandomResizedCrop(224), t.RandomHorizontalFlip(), jitter, t.RandomGrayscale(0.2)),
                *(t.RandomApply([t.GaussianBlur(23, (0.1, 2.0))], 0.5), *norm),
            ],
            "randaugment": [t.RandomResizedCrop(224), t.RandAugment(), *norm],
        }[name]
    )


def collate(rows: list[Any]) -> Any:
    """A function of the user's, which draws."""
    import torch

    batch = torch.utils.data.default_collate(rows)
    return [batch[0] * torch.rand(()), batch[1]]


def picture_case(folder: Path, name: str, collated: bool = False) -> Callable[[], int]:
    """Batches of pictures."""
    import gofast

    dataset = gofast.ImageFolder(pictures(folder), transforms(name))
    loader = gofast.DataLoader(
        dataset, 50, shuffle=True, num_workers=2, collate_fn=collate if collated else None
    )
    return epochs(loader, 200)


def late_case(folder: Path) -> Callable[[], int]:
    """Pictures that are opened in a dataset of the user's."""
    from torch.utils.data import Dataset

    import gofast

    paths, transform = sorted(pictures(folder).rglob("*.[jJ]*"))[:200], transforms("train")

    class Own(Dataset[Any]):
        def __len__(self) -> int:
            return len(paths)

        def __getitem__(self, index: int) -> Any:
            return transform(gofast.open(paths[index]).convert("RGB")), index

    return epochs(gofast.DataLoader(Own(), 50, shuffle=True), 200)


CASES: dict[str, Callable[[Path], Callable[[], int]]] = {
    "tables 512": lambda folder: table_case(folder, True, 512),
    "tables 16": lambda folder: table_case(folder, True, 16),
    "tables torch's 512": lambda folder: table_case(folder, False, 512, 2),
    "csv open": csv_case,
    "images train": lambda folder: picture_case(folder, "train"),
    "images val": lambda folder: picture_case(folder, "val"),
    "simclr": lambda folder: picture_case(folder, "simclr"),
    "randaugment": lambda folder: picture_case(folder, "randaugment"),
    "gofast.open": late_case,
    "collate": lambda folder: picture_case(folder, "train", collated=True),
}


def serve(folder: Path) -> None:
    """Does what the other end of the pipe says: a case's name to prepare it, an empty line for a turn."""
    import warnings

    warnings.simplefilter("ignore")
    turn: Callable[[], int] = int
    for line in sys.stdin:
        begun = time.perf_counter()
        if name := line.strip():
            turn = CASES[name](folder)
        turn()
        print(time.perf_counter() - begun, flush=True)


# ---------------------------------------------------------------- both


class Side:
    """A checkout's process, for one case."""

    def __init__(self, tree: Path, folder: Path, name: str) -> None:
        self._process = subprocess.Popen(
            [str(tree / ".venv/bin/python"), __file__, "--serve", str(folder)],
            env={
                **os.environ,
                "PYTHONPATH": str(tree / "python"),
                "PYTHONSAFEPATH": "1",
                "OMP_WAIT_POLICY": "passive",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        self.seconds(name)

    def seconds(self, line: str = "") -> float:
        """What the process took for a line."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(line, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline() or sys.exit("a side has died"))

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def pairs(this: Side, base: Side, seconds: float) -> Iterator[float]:
    """How many times as fast this side is, pair by pair."""
    for side in (this, base):
        side.seconds()  # once more, warm
    begun, n = time.monotonic(), 0
    while n < LEAST or (n < MOST and time.monotonic() - begun < seconds):
        took = {side: side.seconds() for side in ((this, base) if n % 2 else (base, this))}
        yield took[base] / took[this]
        n += 1


def interval(ratios: list[float]) -> tuple[float, float]:
    """Where their median lies with 95 %, by their order alone."""
    ratios, n = sorted(ratios), len(ratios)
    # The median lies below the k-th of them if fewer than k of n thrown coins show heads.
    k = max(k for k in range(1, n // 2 + 1) if sum(math.comb(n, i) for i in range(k)) <= 0.025 * 2**n)
    return ratios[k - 1], ratios[n - k]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base", type=Path, help="the other checkout, built, with a .venv")
    parser.add_argument("--only", default="", help="cases' beginnings, with commas")
    parser.add_argument("--seconds", type=float, default=25, help="of a case, without what prepares it")
    options = parser.parse_args()
    slower = []
    with tempfile.TemporaryDirectory() as folder:
        for name in (n for n in CASES if n.startswith(tuple(options.only.split(",")))):
            this, base = (Side(tree.resolve(), Path(folder), name) for tree in (ROOT, options.base))
            ratios = list(pairs(this, base, options.seconds))
            low, high = interval(ratios)
            middle = statistics.median(ratios)
            print(f"{name:20} {middle:6.3f}  [{low:.3f}, {high:.3f}]  {len(ratios)} pairs", flush=True)
            slower += [name] * (high < SLOWER)
            this.close()
            base.close()
    print(f"slower: {', '.join(slower)}" if slower else "nothing is slower")
    return bool(slower)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
    else:
        sys.exit(main())

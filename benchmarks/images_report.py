"""What image batches have to reach, and their text, plot and page table; report.py has what all share."""

from __future__ import annotations

from benchmarks import report
from benchmarks.figures import Ratio
from benchmarks.peers.images import BARE, DALI, DECODERS, FRESH, OWN, PIL, PLAIN, ROOFS
from benchmarks.peers.images.contract import KINDS, STD, TRAIN, VAL, WORKERS
from benchmarks.report import Stored, cpu, median

PACKAGES = (
    *("torch", "torchvision", "pillow", "nvidia-dali-cuda130", "opencv-python-headless"),
    *("spdl", "datago", "ffcv", "tensorflow-cpu", "grain"),
)
PILS = tuple(f"{PIL}, {n} workers" for n in WORKERS)
TWO, BARE_TWO = f"{OWN}, 2 threads", f"{BARE}, 2 threads"
FIRST, MEMORY = "first batch", "memory"


PROMISED = (
    Ratio("train, gofast.DataLoader, 2 threads", TRAIN, (BARE_TWO,), 0.92, 0.97, ours=TWO),
    Ratio("val, gofast.DataLoader, 2 threads", VAL, (BARE_TWO,), 0.92, 0.97, ours=TWO),
    Ratio("train, gofast.DataLoader, 2 threads", TRAIN, PILS, 3, 3.5, ours=TWO),
    Ratio("train, gofast.DataLoader, 2 threads", TRAIN, (DALI,), 1.85, 2.2, ours=TWO),
    Ratio("val, gofast.DataLoader, 2 threads", VAL, PILS, 3, 3.6, ours=TWO),
    Ratio("val, gofast.DataLoader, 2 threads", VAL, (DALI,), 2.3, 2.7, ours=TWO),
    Ratio("train, torch's DataLoader, num_workers=0", TRAIN, PILS, 2.5, 3.2, ours=PLAIN),
    Ratio(
        "train, torch's DataLoader, 2 workers",
        TRAIN,
        (f"{PIL}, 2 workers",),
        2.2,
        3,
        ours=f"{PLAIN}, 2 workers",
    ),
    Ratio("train, processor time, one thread", cpu(TRAIN), (PILS[0],), 2.1, 2.3, ours=f"{OWN}, 1 thread"),
    Ratio("val, processor time, one thread", cpu(VAL), (PILS[0],), 2.1, 2.3, ours=f"{OWN}, 1 thread"),
    Ratio("first batch of an epoch, gofast.DataLoader", FIRST, (FRESH,), 4, 6, ours=TWO),
)
LEVELS = 255 * sum(STD) / len(STD)  # of a byte, that 1 is after normalising
PLOT = report.Plot(
    "milliseconds a picture in training, of gofast and its peers",
    {"RandomResizedCrop, flip, normalise: milliseconds a picture": {TRAIN: ""}},
    "milliseconds",
    1e3,
    omitted=(PLAIN, f"{PLAIN}, 2 workers", f"{OWN}, 1 thread", *ROOFS, *DECODERS.values()),
)


def amount(section: str, value: float) -> str:
    """Pictures a second, processor milliseconds a picture, bytes, or a duration."""
    if section in KINDS:
        return f"{1 / value:,.0f} img/s"
    if section == MEMORY:
        return f"{value / 1e6:,.0f} MB"
    return f"{value * 1e3:.3f} ms" if section != FIRST else report.duration(value)


def remarks(stored: Stored) -> list[str]:
    """What could not be measured."""
    return [f"not measured: {peer}: {reason}" for peer, reason in stored["not measured"].items()]


def what(stored: Stored) -> str:
    """The data."""
    about = stored["data"]
    return (
        f"{report.pictures(about)}, {about['repeats']} times an epoch, in batches of {about['batch']}, "
        "float32, normalised"
    )


def cells(stored: Stored, name: str) -> list[str]:
    """A peer's columns: speed and processor time of each kind, memory, and how far its pixels are off."""
    row = []
    for kind in KINDS:
        seconds, used = median(stored, kind, name), median(stored, cpu(kind), name)
        each = f" ({used * 1e3:.2f} ms)" if used else ""
        row.append(f"{1 / seconds:,.0f}{each}" if seconds else "")
    memory = median(stored, MEMORY, name)
    off = stored["mean difference from torchvision"].get(f"{name}, {VAL}")
    row.append(amount(MEMORY, memory) if memory else "")
    row.append("" if off is None else "0" if off == 0 else f"{off * LEVELS:.2g}")
    return row


def peers(stored: Stored) -> list[str]:
    """A line a peer, the slowest first."""
    seconds = {  # of a picture, in the first kind that was measured
        name: values["median"]
        for kind in reversed(KINDS)
        for name, values in stored["sections"].get(kind, {}).items()
    }
    slowest = sorted(seconds, key=lambda name: -seconds[name])
    return [
        "| images/s (processor time each) | train | val | memory | pixels off |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join([name, *cells(stored, name)])} |" for name in slowest),
    ]


def roof(stored: Stored) -> list[str]:
    """What this machine could do at best, and how near gofast comes."""
    lines = [
        "decode alone: the user's libjpeg. The roof is the bare C pipeline: our own kernels, called without "
        "the engine and torch's loader."
    ]
    near = []
    for kind in KINDS:
        bare, ours = median(stored, kind, f"{BARE}, 2 threads"), median(stored, kind, TWO)
        if bare and ours:
            near.append(f"{bare / ours:.0%} in {kind}")
    return [*lines, *([f"Of its speed, {TWO}, reaches {' and '.join(near)}."] if near else [])]


def table(stored: Stored) -> list[str]:
    """The page's lines: what each gives, what was promised, and what there is to say about it."""
    lines = [
        *peers(stored),
        "",
        "| what | against | times faster |",
        "|---|---|---|",
    ]
    for row in stored["figures"]:
        if "unit" in row:  # older results have rows of another kind
            digits = 2 if row["aim"] < 1 else 1
            value = f"{row['value']:.{digits}f}"
            lines.append(f"| {row['what']} | {row['against']} | {value} |")
    lines += [
        "",
        *roof(stored),
        "memory: anonymous and shared, above `import torch`, at its peak in train, workers included. "
        "pixels off: how far val's are from torchvision's of PIL pictures, on average, in levels of 255.",
    ]
    lines += [f"{peer}: {note}." for peer, note in stored.get("notes", {}).items()]
    missing = "; ".join(f"{peer} ({reason})" for peer, reason in stored["not measured"].items())
    return [*lines, *([f"Not measured: {missing}."] if missing else [])]


IMAGES = report.Benchmark("images", amount, table, what, PACKAGES, PROMISED, remarks, PLOT)

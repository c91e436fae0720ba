"""What image batches have to reach: issue 4's table, on sections whose values are seconds a picture."""

from __future__ import annotations

from benchmarks.figures import Ratio
from benchmarks.peers.images import BARE, DALI, FRESH, OWN, PIL, PLAIN, WORKERS
from benchmarks.peers.images.contract import TRAIN, VAL

PILS = tuple(f"{PIL}, {n} workers" for n in WORKERS)
TWO, BARE_TWO = f"{OWN}, 2 threads", f"{BARE}, 2 threads"
FIRST, MEMORY = "first batch", "memory"


def cpu(kind: str) -> str:
    """The section of a kind's processor time."""
    return f"{kind} cpu"


RATIOS = (
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
    *(
        Ratio(
            f"{kind}, processor time, one thread",
            cpu(kind),
            (f"{PIL}, 0 workers",),
            2.1,
            2.3,
            ours=f"{OWN}, 1 thread",
        )
        for kind in (TRAIN, VAL)
    ),
    Ratio("first batch of an epoch, gofast.DataLoader", FIRST, (FRESH,), 4, 6, ours=TWO),
)

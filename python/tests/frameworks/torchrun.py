"""A rank under torchrun: python torchrun.py PICTURES PLACE SECONDS_A_STEP."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import programs
from programs import Log, Run


class Slow(Log):
    """Takes its time, so that ranks can be killed on the way."""

    def stop(self, half: float = 0.0) -> None:
        """Waits a little."""
        time.sleep(float(sys.argv[3]))


if __name__ == "__main__":
    programs.Log = Slow  # type: ignore[misc]
    pictures, place = sys.argv[1:3]
    world = int(os.environ["WORLD_SIZE"])
    programs.ddp(Run(pictures, place, world, 1, "stateless", None, (Path(place) / "0.pt").exists()))

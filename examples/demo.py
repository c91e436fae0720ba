"""The demo: two training scripts before and after gofast, on a table and on a folder of photographs.

`make demo` runs it, with all that it needs. By hand the photographs need torchvision, the table pandas.
"""

from __future__ import annotations

import os

# Read when torch is imported, and the same for all pipelines: torch's threads would wait for each other with
# the processor in use, which the data's threads and workers need.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import demo_images
import demo_tables
import torch
from demo_training import DEVICE


def main() -> None:
    where = (
        f"on {torch.cuda.get_device_name()}" if DEVICE.type == "cuda" else "on the CPU: there is no GPU here"
    )
    print(f"torch {torch.__version__}, training {where}\n")
    demo_tables.main()
    print()
    demo_images.main()


if __name__ == "__main__":
    main()

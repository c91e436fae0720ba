"""The demo: two training scripts before and after gofast, on a table and on a folder of photographs.

`make demo` runs it, with all that it needs. By hand the photographs need torchvision, the table pandas.
"""

from __future__ import annotations

import demo_images
import demo_tables
import torch


def main() -> None:
    print(f"torch {torch.__version__}\n")
    demo_tables.main()
    print()
    demo_images.main()


if __name__ == "__main__":
    main()

"""What a crop needs of a picture."""

from __future__ import annotations

from benchmarks.peers.images.contract import SHORT_SIDE, SIZE


def central(width: int, height: int) -> tuple[int, int, int, int]:
    """The part of a picture that Resize and CenterCrop need: x, y, width, height."""
    scale = min(width, height) / SHORT_SIDE
    wide, high = (int(side * SHORT_SIDE / min(width, height)) for side in (width, height))
    reach = max(scale, 1.0)  # the bilinear filter's, on each side
    box = []
    for side, resized in ((width, wide), (height, high)):
        first = round((resized - SIZE) / 2)
        start = max(0, int(first * side / resized - reach))
        end = min(side, int((first + SIZE) * side / resized + reach) + 1)
        box.append((start, end - start))
    return box[0][0], box[1][0], box[0][1], box[1][1]

"""The coefficients of a perspective, exactly."""

from __future__ import annotations

from fractions import Fraction


def coefficients(starts: list[list[int]], ends: list[list[int]]) -> list[float]:
    """What torchvision's least squares come to without rounding: eight equations, solved by elimination."""
    rows = []
    for (x, y), (u, v) in zip(ends, starts, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
    left = [[Fraction(value) for value in row] for row in rows]
    for i in range(8):
        first = next(row for row in left[i:] if row[i])
        left.remove(first)
        left = [[a - row[i] / first[i] * b for a, b in zip(row, first, strict=True)] for row in left]
        left.insert(i, [value / first[i] for value in first])
    return [float(row[8]) for row in left]

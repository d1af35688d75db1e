"""Writes kernels/lane_tables.h: the tables that lanes_avx512.h holds in registers.

A table has 32 columns, one a segment of the argument, and the rows center, value at the center, and the coefficients
of the powers of the distance from it. A center is moved until the function there is nearly a float32 (S. Gal,
"Computing elementary functions: a new approach for achieving high accuracy and good performance", 1986), so that the
value costs no rounding; the coefficients are a near-minimax fit of the relative error, by least squares at Chebyshev's
points.

    python tools/write_lane_tables.py
"""

import itertools
import textwrap
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
from numpy.typing import NDArray

HEADER = Path(__file__).parent.parent / "src/treadle/ndarray/kernels/lane_tables.h"
SEGMENTS = 32
DEGREE = 5
Function = Callable[[mpmath.mpf], mpmath.mpf]
Table = NDArray[np.float32]


def upper_tail(x: mpmath.mpf) -> mpmath.mpf:
    """The normal distribution's probability of a value above x."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def accurate_center(function: Function, center: float, reach: float) -> np.float32:
    """The float32 near the center where the function is nearest to a float32."""
    step = float(np.spacing(np.float32(center)))
    count = min(400, int(reach / step))
    best, least = np.float32(center), 1.0
    for offset in sorted(range(-count, count + 1), key=abs):
        candidate = np.float32(center + offset * step)
        value = function(mpmath.mpf(float(candidate)))
        distance = abs(float((value - mpmath.mpf(float(np.float32(float(value))))) / value)) * 2**24
        if distance < 0.9 * least:
            best, least = candidate, distance
        if least < 0.02:
            break
    return best


def fit(function: Function, low: float, high: float, center: np.float32) -> list[float]:
    """The value at the center, and the coefficients of the distance's powers up to DEGREE."""
    points = (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    points = points[np.abs(points - float(center)) > (high - low) * 1e-3]
    at_center = float(np.float32(float(function(mpmath.mpf(float(center))))))
    values = np.array([float(function(mpmath.mpf(float(point)))) for point in points])
    distances = points - float(center)
    columns = distances[:, None] ** np.arange(1, DEGREE + 1) / values[:, None]
    scale = np.abs(columns).max(axis=0)
    solution = np.linalg.lstsq(columns / scale, (values - at_center) / values, rcond=None)[0]
    return [at_center, *(solution / scale).tolist()]


def segment(function: Function, low: float, high: float) -> list[float]:
    """A column of a table. A segment that begins at or below 0 has its center there."""
    center = np.float32(0.0)
    if low > 0.0:
        center = accurate_center(function, float(np.float32((low + high) / 2)), (high - low) / 50)
    return [float(center), *fit(function, max(low, 0.0), high, center)]


def by_exponent(function: Function, scale: float, shift: float) -> Table:
    """Segments by the exponent and three further bits of y = scale x + shift, with y from shift to 16 shift.

    The first one is of the function less x.
    """
    first = int(np.float32(shift).view(np.uint32)) >> 20
    keys = np.arange(first, first + SEGMENTS + 1, dtype=np.uint32)
    bounds = ((keys << np.uint32(20)).view(np.float32).astype(np.float64) - shift) / scale
    table = np.array([segment(function, *pair) for pair in itertools.pairwise(bounds.tolist())])
    table[0, 2] -= 1.0
    return np.roll(table.astype(np.float32).T, first % SEGMENTS, axis=1)


def evenly(function: Function, width: float) -> Table:
    """Segment k lies around k width."""
    columns = [segment(function, (k - 0.5) * width, (k + 0.5) * width) for k in range(SEGMENTS)]
    return np.array(columns, np.float32).T


def logarithm_table() -> Table:
    """1 / c and log c, with c near the middle of the segments of [3/4, 3/2) by five bits of the fraction, or c = 1."""
    columns = []
    for key in range(SEGMENTS):
        lower = key >= SEGMENTS // 2
        middle = (1 + (key + 0.5) / SEGMENTS) / (2 if lower else 1)
        inverse = np.float32(1.0)
        if 0 < key < SEGMENTS - 1:
            inverse = accurate_center(lambda r: -mpmath.log(r), float(np.float32(1 / middle)), 1e-4)
        columns.append([float(inverse), float(-mpmath.log(mpmath.mpf(float(inverse))))])
    return np.array(columns, np.float32).T


def written(name: str, table: Table) -> str:
    rows = []
    for row in table:
        numbers = [f"{number:.9g}" for number in row.tolist()]
        numbers = [f"{number if any(c in number for c in '.e') else number + '.0'}f" for number in numbers]
        rows.append(textwrap.fill(f"{{{', '.join(numbers)}}},", 118, initial_indent="    ", subsequent_indent="     "))
    return f"static const float td_{name}_table[{len(table)}][{SEGMENTS}] = {{\n" + "\n".join(rows) + "\n};\n"


def main() -> None:
    mpmath.mp.prec = 120
    tables = {
        "tanh": by_exponent(mpmath.tanh, 1.0, 0.625),
        "erf": by_exponent(mpmath.erf, 2.34375, 0.625),
        "upper_tail": evenly(upper_tail, 0.125),
        "falling_sigmoid": evenly(lambda x: 1 / (1 + mpmath.exp(x)), 0.5),
        "log": logarithm_table(),
    }
    head = "/* Written by tools/write_lane_tables.py; lanes_avx512.h says what the rows are. */\n"
    HEADER.write_text(head + "\n".join(written(name, table) for name, table in tables.items()))


if __name__ == "__main__":
    main()

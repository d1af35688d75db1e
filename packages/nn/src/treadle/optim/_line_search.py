"""The search along a direction for a step that satisfies the strong Wolfe conditions.

Nocedal and Wright 2006, "Numerical optimization", algorithms 3.5 (bracketing) and 3.6 (zoom), with cubic interpolation
(equation 3.59).
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import treadle.ndarray as nd

__all__ = ["Point", "strong_wolfe"]

_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A step along the direction: its length, and there the value, the gradient, and the slope along the direction."""

    step: float
    value: float
    gradient: nd.NDArray
    slope: float


class _Search:
    def __init__(self, evaluate: Callable[[float], Point], start: Point, most: int) -> None:
        self.evaluate = evaluate
        self.start = start
        self.most = most
        self.trials = 0
        self.evaluations = 0

    def try_step(self, step: float) -> Point:
        self.evaluations += 1
        return self.evaluate(step)

    def is_too_high(self, point: Point) -> bool:
        """Whether the value decreased too little (3.6a)."""
        return point.value > self.start.value + _DECREASE * point.step * self.start.slope

    def is_flat(self, point: Point) -> bool:
        """Whether the slope is small enough (3.6b)."""
        return abs(point.slope) <= -_CURVATURE * self.start.slope


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, step: float, size: float, most: int, tolerance: float = 1e-9
) -> tuple[Point, int]:
    """The point that was found from a first ``step`` by at most ``most`` further trials, and the number of evaluations.

    ``size`` is the largest element of the direction; a bracket that moves no element by ``tolerance`` ends the search.
    """
    search = _Search(evaluate, start, most)
    bracket = _bracketed(search, step)
    found = bracket[0] if len(bracket) == 1 else _zoomed(search, bracket, size, tolerance)
    return found, search.evaluations


def _bracketed(search: _Search, step: float) -> list[Point]:
    """A point that satisfies the conditions, or two between which there is one."""
    before, point = search.start, search.try_step(step)
    while search.trials < search.most:
        if search.is_too_high(point) or (search.trials > 1 and point.value >= before.value):
            return [before, point]
        if search.is_flat(point):
            return [point]
        if point.slope >= 0.0:
            return [before, point]
        bounds = (point.step + 0.01 * (point.step - before.step), 10.0 * point.step)
        before, point = point, search.try_step(_cubic_minimum(before, point, bounds))
        search.trials += 1
    return [search.start, point]


def _zoomed(search: _Search, bracket: list[Point], size: float, tolerance: float) -> Point:
    stuck = False
    low = 0 if bracket[0].value <= bracket[1].value else 1
    while search.trials < search.most:
        nearest, farthest = sorted((bracket[0].step, bracket[1].step))
        if (farthest - nearest) * size < tolerance:
            break
        step = _cubic_minimum(bracket[0], bracket[1], (nearest, farthest))
        margin = 0.1 * (farthest - nearest)
        if min(farthest - step, step - nearest) < margin:  # the second time at an end of the bracket, step off it
            if stuck or step >= farthest or step <= nearest:
                step = farthest - margin if abs(step - farthest) < abs(step - nearest) else nearest + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = search.try_step(step)
        search.trials += 1
        if search.is_too_high(point) or point.value >= bracket[low].value:
            bracket[1 - low] = point
            low = 0 if bracket[0].value <= bracket[1].value else 1
            continue
        ended = search.is_flat(point)
        if not ended and point.slope * (bracket[1 - low].step - bracket[low].step) >= 0.0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
        if ended:
            break
    return bracket[low]


def _cubic_minimum(first: Point, second: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through two points, with their slopes, is least within ``bounds``, or their middle."""
    lowest, highest = bounds
    if first.step == second.step:
        return (lowest + highest) / 2.0
    left, right = (first, second) if first.step <= second.step else (second, first)
    bend = first.slope + second.slope - 3.0 * (first.value - second.value) / (first.step - second.step)
    square = bend * bend - first.slope * second.slope
    if square < 0.0:
        return (lowest + highest) / 2.0
    root = sqrt(square)
    rise, curvature = right.slope + root - bend, right.slope - left.slope + 2.0 * root
    if curvature == 0.0:  # a straight line, which is least at one of the ends
        return highest if rise < 0.0 else lowest
    share = rise / curvature
    return min(max(right.step - (right.step - left.step) * share, lowest), highest)

"""Elementwise ops with a fresh result, bound by calls at 1,000 elements and by memory at 10,000,000."""

from collections.abc import Mapping

from benchmarks.case import BEST, Case, Goal, case
from benchmarks.libraries import Draw, normal, uniform

__all__ = ["CASES"]

GOALS = (Goal(BEST, 1.0),)
SIZES = {1_000: "1e3", 1_000_000: "1e6", 10_000_000: "1e7"}


def _cases(size: int, threads: int = 1) -> list[Case]:
    def one(name: str, draws: Mapping[str, Draw], text: str, *, numpy: str = "", torch: str = "") -> Case:
        return case(f"{name}, {SIZES[size]}", draws, text, GOALS, threads=threads, numpy=numpy, torch=torch)

    x, xy = {"x": normal(size)}, {"x": normal(size), "y": normal(size)}
    return [
        one("add, float32", xy, "x + y"),
        one("multiply, float32", xy, "x * y"),
        one("where, float32", {"mask": normal(size, dtype="bool"), **xy}, "xp.where(mask, x, y)"),
        one("relu, float32", x, "xp.relu(x)", numpy="xp.maximum(x, 0)"),
        one("less, float32", xy, "x < y"),
        one("cast, float32 to float64", x, "x.astype(xp.float64)", torch="x.to(xp.float64)"),
        one(
            "cast, int32 to float32",
            {"x": uniform(size, low=-1e9, high=1e9, dtype="int32")},
            "x.astype(xp.float32)",
            torch="x.to(xp.float32)",
        ),
    ]


CASES = [
    *(each for size in SIZES for each in _cases(size)),
    *_cases(10_000_000, threads=2),
]

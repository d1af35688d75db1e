"""What a call costs on so few elements that nothing else counts: 0.35 and 0.8 of NumPy's time."""

from benchmarks.case import Goal, case
from benchmarks.libraries import normal

__all__ = ["CASES"]

VIEW = (Goal("numpy", 1 / 0.8),)

CASES = [
    case("a + b, 16 float32", {"a": normal(16), "b": normal(16)}, "a + b", (Goal("numpy", 1 / 0.35),)),
    case("a[1:3], 16 float32", {"a": normal(16)}, "a[1:3]", VIEW),
    case("a.reshape(4, 4), 16 float32", {"a": normal(16)}, "a.reshape(4, 4)", VIEW),
    case("a.T, 4 x 4 float32", {"a": normal(4, 4)}, "a.T", VIEW),
]

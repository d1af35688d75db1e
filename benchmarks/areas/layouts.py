"""Work bound by the order of memory: transposed copies and operands, broadcast rows and columns."""

from benchmarks.case import Goal, case
from benchmarks.libraries import normal

__all__ = ["CASES"]

BROADCAST = (Goal("numpy", 1.0),)

CASES = [
    case(
        "transposed copy, 4096 x 4096 float32",
        {"a": normal(4096, 4096)},
        "a.T.copy()",
        (Goal("numpy", 4.0),),
        numpy="xp.ascontiguousarray(a.T)",
        torch="a.T.contiguous()",
    ),
    case(
        "a + b.T, 2048 x 2048 float32",
        {"a": normal(2048, 2048), "b": normal(2048, 2048)},
        "a + b.T",
        (Goal("numpy", 3.0),),
    ),
    case("a + row, 4096 x 1024 float32", {"a": normal(4096, 1024), "b": normal(1024)}, "a + b", BROADCAST),
    case("a + column, 4096 x 1024 float32", {"a": normal(4096, 1024), "b": normal(4096, 1)}, "a + b", BROADCAST),
    case("a + row, 64 x 128 float32", {"a": normal(64, 128), "b": normal(128)}, "a + b", BROADCAST),
]

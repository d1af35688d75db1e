"""Reductions along every axis, scans and sorting, of 4096 x 1024 float32."""

from benchmarks.case import BEST, Case, Goal, case
from benchmarks.libraries import normal, uniform

__all__ = ["CASES"]

GOALS = (Goal(BEST, 1.0),)
DRAWS = {"a": normal(4096, 1024)}


def _reduction(name: str, axis: int | None, threads: int = 1) -> Case:
    text = f"xp.{name}(a, axis={axis})"
    torch = {
        "max": f"xp.amax(a, dim={() if axis is None else axis})",
        "var": f"xp.var(a, dim={axis}, correction=0)",
        "argmax": f"xp.argmax(a, dim={axis})",
    }
    other = torch.get(name, f"xp.{name}(a, dim={axis})")
    return case(f"{name}, axis {axis}, 4096 x 1024 float32", DRAWS, text, GOALS, threads=threads, torch=other)


CASES = [
    *(_reduction(name, axis) for name in ("sum", "max", "argmax", "mean", "var") for axis in (None, 0, 1)),
    *(_reduction("cumsum", axis) for axis in (0, 1)),
    case("sort, axis 1, 4096 x 1024 float32", DRAWS, "xp.sort(a, axis=1)", GOALS, torch="xp.sort(a, dim=1)"),
    case("sort, axis 0, 4096 x 1024 float32", DRAWS, "xp.sort(a, axis=0)", GOALS, torch="xp.sort(a, dim=0)"),
    case("sort, 1e6 float32", {"a": normal(1_000_000)}, "xp.sort(a)", GOALS),
    case("sort, 1e6 int32", {"a": uniform(1_000_000, low=-1e9, high=1e9, dtype="int32")}, "xp.sort(a)", GOALS),
    *(_reduction(name, axis, threads=2) for name in ("sum", "max", "var") for axis in (0, 1)),
]

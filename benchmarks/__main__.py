"""Print the table of ratios; ``--write`` keeps it in ``benchmarks/results/``."""

import argparse
import importlib
import json
import pkgutil
import platform
from pathlib import Path

from benchmarks import areas
from benchmarks.runner import Row, measure

__all__ = ["main"]

RESULTS = Path(__file__).parent / "results"
HEADINGS = ("area", "case", "treadle", "peer", "", "ratio", "quartiles", "goal", "reached")


def _time(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _cells(row: Row) -> tuple[str, ...]:
    goals = [] if row.goal is None else [f"<= {row.goal:.2f}x"]
    goals += [] if row.limit is None else [f"<= {_time(row.limit)}"]
    reached = "" if row.reached is None else "yes" if row.reached else "no"
    spread = f"{row.lower_quartile:.2f}-{row.upper_quartile:.2f}"
    times = _time(row.treadle_time), row.peer, _time(row.peer_time)
    return row.area, row.case, *times, f"{row.ratio:.2f}x", spread, ", ".join(goals), reached


def _markdown(rows: list[Row]) -> str:
    lines = [HEADINGS, ("---",) * len(HEADINGS), *map(_cells, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    """Measure the chosen areas."""
    names = [module.name for module in pkgutil.iter_modules(areas.__path__)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("areas", nargs="*", default=names, help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--rounds", type=int, default=11, help="interleaved pairs of bursts for each ratio")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a burst")
    parser.add_argument("--write", action="store_true", help="write results/latest.md and results/latest.json")
    arguments = parser.parse_args()
    unknown = set(arguments.areas) - set(names)
    if unknown:
        parser.error(f"no area {', '.join(sorted(unknown))}; there are {', '.join(names)}")

    heading = (
        f"{_processor()}, Python {platform.python_version()}; time and ratio are treadle / peer, medians of bursts"
    )
    print(heading)
    rows: list[Row] = []
    for area in arguments.areas:
        for case in importlib.import_module(f"benchmarks.areas.{area}").CASES:
            for row in measure(area, case, arguments.rounds, arguments.seconds):
                rows.append(row)
                print(
                    "  ".join(
                        f"{cell:<{width}}"
                        for cell, width in zip(_cells(row), (12, 46, 9, 6, 9, 7, 11, 9, 7), strict=True)
                    )
                )
    if arguments.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "latest.md").write_text(f"{heading}\n\n{_markdown(rows)}")
        (RESULTS / "latest.json").write_text(json.dumps([row.as_dict() for row in rows], indent=1) + "\n")
        print(f"written: {RESULTS / 'latest.md'}")


if __name__ == "__main__":
    main()

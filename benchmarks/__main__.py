"""Print the table of speeds; ``--write`` keeps it in ``benchmarks/results/``."""

import argparse
import importlib
import json
import os
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import areas
from benchmarks.case import BEST, Case
from benchmarks.machine import describe, heading, warnings
from benchmarks.rows import HEADINGS, Row, markdown
from benchmarks.runner import Workers, measure

__all__ = ["main", "select"]

RESULTS = Path(__file__).parent / "results"
LONGEST = {True: 1.0, False: 15.0}
"""Seconds after which a slow row takes no further rounds, quick and else."""
WIDTHS = (13, 44, 8, 8, 8, 30, 30, 20, 6)


def _arguments(names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("areas", nargs="*", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument(
        "-k", dest="having", action="append", default=[], metavar="TEXT", help="only rows with TEXT in 'area: work'"
    )
    parser.add_argument("--quick", action="store_true", help="few short bursts, against the peers of the goals alone")
    parser.add_argument("--rounds", type=int, help="rounds of bursts for each ratio (default: 15, quick: 5)")
    parser.add_argument("--seconds", type=float, help="length of a burst (default: 0.1, quick: 0.02)")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--write", action="store_true", help="write results/NAME.md and results/NAME.json")
    parser.add_argument("--name", default="latest", help="of the files that --write writes (default: latest)")
    arguments = parser.parse_args()
    if unknown := set(arguments.areas) - set(names):
        parser.error(f"no area {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    arguments.rounds = arguments.rounds or (5 if arguments.quick else 15)
    arguments.seconds = arguments.seconds or (0.02 if arguments.quick else 0.1)
    return arguments


def select(names: Sequence[str], having: Sequence[str], cpus: int) -> list[tuple[str, Case]]:
    """Modules and cases of these areas that have one of the texts, and as many CPUs as threads; by threads."""
    found = [
        (module, case)
        for module in (f"{areas.__name__}.{name}" for name in names)
        for case in importlib.import_module(module).CASES
        if case.threads <= cpus
    ]
    if having:
        found = [
            (module, case)
            for module, case in found
            if any(text in f"{module.rpartition('.')[2]}: {case.name}" for text in having)
        ]
    return sorted(found, key=lambda each: each[1].threads)


def _peers_of_goals(case: Case) -> set[str]:
    named = {goal.peer for goal in case.goals}
    return set(case.peers) if BEST in named else named


def _line(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _write(name: str, machine: dict[str, Any], rows: Sequence[Row], doubts: Sequence[str], quick: bool) -> None:
    RESULTS.mkdir(exist_ok=True)
    text = [heading(machine) + ".", *(f"{doubt[0].upper()}{doubt[1:]}." for doubt in doubts)]
    text.append(
        "Values are medians of bursts. Speed is the peer's time over treadle's, burst by burst: the median and, in "
        "brackets, the 10th and 90th percentile, and that of the least values; above 1 treadle is the faster one. "
        "`busy` marks rows of two threads during which other tasks took the processors: they decide nothing."
        + (" Measured with `--quick`: few short bursts." if quick else "")
    )
    (RESULTS / f"{name}.md").write_text("\n".join(text) + f"\n\n{markdown(rows)}")
    record = {"machine": machine, "quick": quick, "rows": [row.as_dict() for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"written: benchmarks/results/{name}.md and {name}.json")


def main() -> None:
    """Measure the chosen rows."""
    names = [module.name for module in pkgutil.iter_modules(areas.__path__)]
    arguments = _arguments(names)
    chosen = select(arguments.areas or names, arguments.having, len(os.sched_getaffinity(0)))
    if arguments.list:
        print("\n".join(f"{module.rpartition('.')[2]}: {case.name}" for module, case in chosen))
        return
    machine = describe()
    doubts = warnings(machine)
    print("\n".join([heading(machine), *(f"warning: {doubt}" for doubt in doubts), "", _line(HEADINGS)]))
    rows: list[Row] = []
    effort: dict[str, Any] = {
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "longest": LONGEST[arguments.quick],
    }
    with Workers() as workers, tqdm(chosen, unit="row", leave=False, dynamic_ncols=True, disable=None) as progress:
        for module, case in progress:
            progress.set_description(case.name[:40].ljust(40))
            peers = _peers_of_goals(case) if arguments.quick else None
            row = measure(workers, module, case, peers=peers, **effort)
            if row is None:
                progress.write(f"{module.rpartition('.')[2]}: {case.name}: not measured here. {case.note}")
                continue
            rows.append(row)
            progress.write(_line(row.cells()))
    decided = [row for row in rows if row.reached is not None and not row.busy]
    met, busy = sum(row.reached is True for row in decided), sum(row.busy for row in rows)
    aside = f"; {busy} more were measured while other tasks took the processors" if busy else ""
    print(f"\n{met} of {len(decided)} rows with a goal meet it{aside}")
    if arguments.write:
        _write(arguments.name, machine, rows, doubts, arguments.quick)


if __name__ == "__main__":
    main()

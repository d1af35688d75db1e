"""The speeds of a result file as a bar chart: ``python -m benchmarks.chart [NAME] [-k TEXT] [--out FILE]``.

Bars start at 1 (as fast as the peer) on a logarithmic axis: to the right treadle is faster. A whisker is the 10th to
the 90th percentile, a tick the goal.
"""

import argparse
import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from benchmarks.case import BEST
from benchmarks.machine import heading
from benchmarks.rows import PEERS, Row

__all__ = ["chart", "main"]

RESULTS = Path(__file__).parent / "results"
IMAGES = Path(__file__).parents[1] / "docs" / "images"

LABELS, PLOT, BAR, GAP, TOP = 360, 520, 9, 8, 66
LEAST, MOST = 1 / 8, 16.0
COLOURS = {"numpy": "#3b7dd8", "torch": "#e07b39"}
STYLE = "text{font:12px sans-serif;fill:#333}.small{font-size:11px;fill:#666}"


def _x(speed: float) -> float:
    part = math.log(min(max(speed, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LABELS + PLOT * part


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def _bar(row: Row, peer: str, y: float) -> str:
    speed = row.speeds[peer]
    left, right = sorted((_x(1.0), _x(speed.median)))
    middle = y + BAR / 2
    parts = [
        f'<rect class="bar {peer}" x="{left:.1f}" y="{y:.1f}" width="{max(right - left, 1):.1f}" height="{BAR}" '
        f'fill="{COLOURS[peer]}"><title>{PEERS[peer]}: {escape(str(speed))}</title></rect>',
        _line(_x(speed.low), middle, _x(speed.high), middle, "#333"),
    ]
    for goal in row.goals:
        if goal.peer in (peer, BEST):
            parts.append(_line(_x(goal.at_least), y - 1, _x(goal.at_least), y + BAR + 1, "#111", 2))
    return "".join(parts)


def _axis(bottom: float) -> str:
    parts = []
    for power in range(round(math.log2(LEAST)), round(math.log2(MOST)) + 1):
        x, label = _x(2.0**power), f"{2**power}x" if power >= 0 else f"1/{2**-power}x"
        parts.append(_line(x, TOP - 6, x, bottom, "#333" if power == 0 else "#ddd"))
        parts.append(f'<text class="small" x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{label}</text>')
    return "".join(parts)


def _legend() -> str:
    parts, x = [], LABELS
    for peer, name in PEERS.items():
        parts.append(f'<rect x="{x}" y="24" width="12" height="{BAR}" fill="{COLOURS[peer]}"/>')
        parts.append(f'<text class="small" x="{x + 18}" y="33">speed over {name}</text>')
        x += 150
    return "".join([*parts, _line(x, 22, x, 36, "#111", 2), f'<text class="small" x="{x + 8}" y="33">goal</text>'])


def chart(rows: Sequence[Row], title: str) -> str:
    """An SVG with a group of bars for each row that has a peer and was not disturbed."""
    y, groups = float(TOP), []
    for row in rows:
        peers = [] if row.busy else [peer for peer in PEERS if peer in row.speeds]
        height = len(peers) * BAR
        if peers:
            label = f'<text x="{LABELS - 8}" y="{y + height / 2 + 4:.1f}" text-anchor="end">{escape(row.case)}</text>'
            groups.append(label + "".join(_bar(row, peer, y + i * BAR) for i, peer in enumerate(peers)))
            y += height + GAP
    size = f'width="{LABELS + PLOT + 30}" height="{y:.0f}" viewBox="0 0 {LABELS + PLOT + 30} {y:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style><rect width="100%" height="100%" '
        f'fill="white"/><text class="small" x="8" y="14">{escape(title)}</text>'
    )
    return "\n".join([head, _legend(), _axis(y), *groups, "</svg>"]) + "\n"


def main() -> None:
    """Draw the chart of a result file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chart", description=__doc__)
    parser.add_argument("name", nargs="?", default="latest", help="of the result file (default: latest)")
    parser.add_argument("-k", dest="having", action="append", default=[], metavar="TEXT", help="only rows with TEXT")
    parser.add_argument(
        "--out", type=Path, default=IMAGES / "benchmarks.svg", help="default: docs/images/benchmarks.svg"
    )
    arguments = parser.parse_args()
    record = json.loads((RESULTS / f"{arguments.name}.json").read_text())
    rows = [Row.from_dict(each) for each in record["rows"]]
    chosen = [row for row in rows if not arguments.having or any(text in row.case for text in arguments.having)]
    arguments.out.write_text(chart(chosen, heading(record["machine"])))


if __name__ == "__main__":
    main()
